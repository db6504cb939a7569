//! How SQLite goes about each statement that the program runs, over a chosen selection. The plans are kept in
//! `tests/cases/plans`, so that a change of one is seen: `tests/renew` writes them anew.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

use narwhal_jq::query::faster::{self, Answers, FASTER};
use narwhal_jq::query::functions;
use narwhal_jq::selection::{self, OPEN_FROM, OPEN_TO, Row};
use rusqlite::Connection;

use super::catalog;
use crate::harness::{self, Lab, fixture, project};

/// The statements that the program runs, by the name of their file.
fn statements() -> BTreeMap<String, String> {
    let mut statements = BTreeMap::new();
    for query in catalog() {
        let of = |answers: Answers| {
            FASTER.iter().find(|faster| faster.name == query.name && faster.answers == answers)
        };
        if let Some(whole) = of(Answers::WholeRuns) {
            statements.insert(format!("{}-whole", query.name), whole.sql.to_owned());
        }
        let any = of(Answers::Any).map_or(query.sql.as_str(), |faster| faster.sql);
        statements.insert(query.name.clone(), any.to_owned());
    }
    // The report's own, and what it reads in order.
    for (folder, is_read) in [("report", true), ("ordered", false)] {
        for entry in fs::read_dir(project().join("queries").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if is_read || ["latencies", "waits"].contains(&name.as_str()) {
                statements.insert(format!("{folder}-{name}"), fs::read_to_string(&path).unwrap());
            }
        }
    }
    statements
}

/// A database that has every kind of row, and two windows chosen in it.
fn database(lab: &Lab) -> Connection {
    lab.write("j.jsonl", fixture("0.7.0-full.jsonl"));
    lab.ingest("j.jsonl");
    let mut connection = Connection::open(lab.path("narwhal.db")).unwrap();
    functions::add(&connection).unwrap();
    let row = |scope: &str, from_s, to_s| Row { scope: scope.to_owned(), run_id: 1, from_s, to_s };
    selection::install(&mut connection, &[row("a", OPEN_FROM, 10.0), row("b", 20.0, OPEN_TO)]).unwrap();
    connection
}

fn plan(connection: &Connection, sql: &str) -> String {
    let mut explain = connection.prepare(&format!("explain query plan {sql}")).unwrap();
    let mut steps = explain.raw_query();
    let mut depths = HashMap::from([(0, 0)]);
    let mut plan = String::new();
    while let Some(step) = steps.next().unwrap() {
        let (id, parent): (i64, i64) = (step.get(0).unwrap(), step.get(1).unwrap());
        let depth = depths[&parent];
        depths.insert(id, depth + 1);
        plan.push_str(&"    ".repeat(depth));
        plan.push_str(&step.get::<_, String>(3).unwrap());
        plan.push('\n');
    }
    plan
}

/// What each name in a statement stands for: a stored table, or something named in it.
fn names(sql: &str) -> BTreeMap<String, BTreeSet<String>> {
    let code: Vec<&str> = sql.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let words: Vec<&str> =
        code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for words in words.windows(4).filter(|words| ["from", "join"].contains(&words[0])) {
        let name = if words[2] == "as" { words[3] } else { words[1] };
        names.entry(name.to_owned()).or_default().insert(words[1].to_owned());
    }
    names
}

/// Asserts what must hold of a plan.
#[track_caller]
fn assert_sound(connection: &Connection, name: &str, sql: &str, is_analyzed: bool) {
    let plan = plan(connection, sql);
    let tables = "select name from sqlite_schema where type = 'table'";
    let mut find = connection.prepare(tables).unwrap();
    let tables: BTreeSet<String> =
        find.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let names = names(sql);
    let columns = |sql: &str, of: &str| -> BTreeSet<String> {
        let mut find = connection.prepare(sql).unwrap();
        find.query_map([of], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    // A name can stand for a table here and for something else there. An index that is made is then over the table
    // when the table has its columns, and nothing that finds rows by the first of them.
    let is_over = |line: &str, table: &str| {
        let by = line
            .split_once('(')
            .map_or("", |(_, by)| by.trim_end_matches(" LEFT-JOIN").trim_end_matches(')'));
        let mut by = by.split(" AND ").map(|column| column.trim_end_matches(['=', '?', '<', '>']));
        let there = columns("select name from pragma_table_info(?1)", table);
        let first = columns(
            "select c.name from pragma_index_list(?1) as i, pragma_index_info(i.name) as c where c.seqno = 0",
            table,
        );
        by.all(|column| there.contains(column) && !first.contains(column))
    };
    let stands_for =
        |name: &str| names.get(name).cloned().unwrap_or_else(|| BTreeSet::from([name.to_owned()]));
    for line in plan.lines().map(str::trim) {
        let of = stands_for(line.split(' ').nth(1).unwrap_or_default());
        if line.contains("AUTOMATIC") {
            let is_sure = of.len() == 1;
            let found = of.iter().find(|of| tables.contains(*of) && (is_sure || is_over(line, of)));
            assert!(found.is_none(), "{name} makes an index over a table: {line}\n{plan}");
        }
        // A window is a range of an index: nothing reads all rows from end to end, unless statistics say that all of
        // them are of the runs asked for.
        let rows = ["terminals", "attempt_failures", "events"];
        let is_scan = line.starts_with("SCAN ")
            && !line.contains("VIRTUAL TABLE")
            && of.iter().all(|of| rows.contains(&of.as_str()));
        assert!(!is_scan || is_analyzed, "{name} reads all of a table: {line}\n{plan}");
    }
    let lines: Vec<&str> = plan.lines().map(str::trim).collect();
    if lines.contains(&"USE TEMP B-TREE FOR GROUP BY") {
        let is_fine = !["attainment", "latency", "outcomes", "outcomes-whole"].contains(&name);
        assert!(is_fine, "{name} sorts for its groups\n{plan}");
    }
}

#[test]
fn queries_go_about_it_as_they_did() {
    let lab = Lab::new();
    let connection = database(&lab);
    let folder = project().join("tests/cases/plans");
    if std::env::var_os("NARWHAL_JQ_RENEW").is_some() {
        // Those of statements that are gone go.
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir_all(&folder).unwrap();
    }
    let statements = statements();
    for (name, sql) in &statements {
        harness::assert_approved(&format!("plans/{name}.txt"), &plan(&connection, sql));
    }
    let files = fs::read_dir(&folder).unwrap().count();
    assert_eq!(files, statements.len(), "a plan for each statement, and no other");
}

#[test]
fn no_plan_indexes_or_reads_a_whole_table_also_after_analyze() {
    let lab = Lab::new();
    let connection = database(&lab);
    for (name, sql) in statements() {
        assert_sound(&connection, &name, &sql, false);
    }
    connection.execute_batch("analyze").unwrap();
    for (name, sql) in statements() {
        assert_sound(&connection, &name, &sql, true);
    }
    // What was gathered of a tiny table says nothing of a large one.
    connection
        .execute_batch(
            "update sqlite_stat1 set stat = '5000000' || substr(stat, length(cast(cast(stat as int) as text)) + 1)
             where tbl in ('terminals', 'events', 'attempt_failures');
             analyze sqlite_schema;",
        )
        .unwrap();
    for (name, sql) in statements() {
        assert_sound(&connection, &name, &sql, true);
    }
}

#[test]
fn the_faster_statement_is_taken_where_it_answers() {
    let whole = selection::Selection { rows: vec![selection::of_run("a", 1)], ..Default::default() };
    let cut = selection::Selection {
        rows: vec![Row { to_s: 5.0, ..selection::of_run("a", 1) }],
        ..Default::default()
    };
    for query in catalog() {
        for (chosen, answers) in [(&whole, Answers::WholeRuns), (&cut, Answers::Any)] {
            let is_fit = |faster: &&faster::Faster| faster.name == query.name && faster.answers == answers;
            if let Some(faster) = FASTER.iter().find(is_fit) {
                assert_eq!(faster::statement(&query, chosen), faster.sql, "{}", query.name);
            }
        }
    }
}
