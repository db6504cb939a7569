//! The user's own query files join the catalog, and a bad one is named and hides no other.

use crate::harness::{Lab, fixture};

const GOOD: &str = "\
-- long-prompts: prompts longer than some length
-- group: ours
--
-- Parameters
--   longer | seconds | 100 | tokens; the type only says that it is a number
--
-- Columns
--   run | text | run id
--   prompts | count | how many
select r.run as run, count(*) as prompts
from terminals as t
join runs as r on r.run_id = t.run_id
where t.input_len > coalesce(:longer, 100)
group by r.run_id
order by r.run
";

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.2.1-takeover.jsonl"));
    lab.ingest("j.jsonl");
    std::fs::create_dir(lab.path("mine")).unwrap();
    lab.write("mine/long-prompts.sql", GOOD);
    lab
}

#[test]
fn a_query_of_the_users_own_has_flags_help_and_a_place_in_the_catalog() {
    let lab = lab();
    // Prompts longer than 20 tokens, counted by plain JSON.
    let journal = String::from_utf8(fixture("0.2.1-takeover.jsonl")).unwrap();
    let mut expected = std::collections::BTreeMap::new();
    for line in journal.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        if row["terminal"].is_string() && row["input_len"].as_i64() > Some(20) {
            *expected.entry(row["run"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
    }
    assert!(!expected.is_empty());
    let rows: String = expected.iter().map(|(run, prompts)| format!("{run},{prompts}\n")).collect();
    let arguments = ["query", "long-prompts", "--longer", "20", "--format", "csv"];
    let asked = lab.run(&[&arguments[..], &["--queries", "mine"]].concat()).exits(0);
    assert_eq!(asked.stdout, format!("run,prompts\n{rows}"));
    let mut command = lab.command(&arguments);
    let by_environment = command.env("NARWHAL_JQ_QUERIES", "mine").output().unwrap();
    assert_eq!(String::from_utf8(by_environment.stdout).unwrap(), asked.stdout);

    let listed = lab.run(&["query", "--queries=mine"]).exits(0).stdout;
    let ours = listed.split("\nours\n").nth(1).unwrap();
    let words: Vec<&str> = ours.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(words.join(" "), "long-prompts prompts longer than some length");
    let help = lab.run(&["query", "--queries", "mine", "long-prompts", "--help"]).exits(0).stdout;
    assert!(help.contains("--longer <SECONDS>") && help.contains("prompts  how many (count)"), "{help}");
    lab.run(&["query", "long-prompts"]).exits(2).says("no query is called 'long-prompts'");
}

#[test]
fn a_query_file_that_cannot_be_used_is_named_with_its_line_and_hides_no_other() {
    for (name, text, message) in [
        ("bad.sql", b"select 1 as n".to_vec(), "line 1: the header begins with `bad: what it answers`"),
        ("bad.sql", b"-- bad: x\n-- Columns\n--   n | count | n\n-- \xff\nselect 1 as n".to_vec(), "line 4: not UTF-8"),
        (
            "bad.sql",
            b"-- bad: x\n-- Columns\n--   n | count | n\ndelete from runs".to_vec(),
            "this SQL does more than read",
        ),
        (
            "bad.sql",
            b"-- bad: x\n-- Columns\n--   n | count | n\nselect :x as n".to_vec(),
            "the statement has a parameter :x that the header does not declare",
        ),
        (
            "bad.sql",
            b"-- bad: x\n-- Parameters\n--   db | text | none | x\n-- Columns\n--   n | count | n\nselect :db as n".to_vec(),
            "line 3: --db is a flag of the tool: give the parameter another name",
        ),
        (
            "bad.sql",
            b"-- bad: x\n-- Columns\n--   n | count | n\nselect n from nowhere".to_vec(),
            "the SQL is wrong: no such table: nowhere",
        ),
        ("outcomes.sql", GOOD.into(), "narwhal-jq has a query of that name: rename the file"),
        ("Bad name.sql", GOOD.into(), "a query's name is of a-z, 0-9 and dashes"),
    ] {
        let lab = lab();
        lab.write(&format!("mine/{name}"), text);
        let said = format!("warning: mine/{name}: {message}");
        let listed = lab.run(&["query", "--queries", "mine"]).exits(0).says(&said);
        assert!(listed.stdout.contains("long-prompts"), "{name}");
        lab.run(&["query", "long-prompts", "--queries", "mine"]).exits(0).says(&said);
        if name == "bad.sql" {
            // With a header that can be read, it can be asked, and the database decides.
            let is_readable = !message.starts_with("line ");
            let asked = lab.run(&["query", "bad", "--queries", "mine"]).exits(if is_readable { 1 } else { 2 });
            asked.says(if is_readable { message } else { &said });
        }
    }
    lab()
        .run(&["query", "--queries", "nowhere"])
        .exits(1)
        .says("error: cannot read the queries in nowhere: No such");
}
