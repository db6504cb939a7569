//! `sql` reads and nothing else; wrong usage of `query` and `slo` is told with the way out.

use crate::harness::{Lab, fixture, formats, terminal};

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.2.1-takeover.jsonl"));
    lab.ingest("j.jsonl");
    lab
}

#[test]
fn sql_answers_in_every_way_it_can_be_given() {
    let lab = lab();
    let sql = "select count(*) as n from terminals";
    lab.write("q.sql", format!("-- how many\n{sql};\n"));
    let given = [
        lab.run(&["sql", sql, "--format", "csv"]),
        lab.run(&["sql", "-f", "q.sql", "--format", "csv"]),
        lab.run_with_stdin(&["sql", "-", "--format", "csv"], sql.as_bytes()),
    ];
    for run in given {
        assert_eq!(run.exits(0).stdout, "n\n226\n");
    }
    lab.run(&["sql", "select 1 where 0"]).exits(0).says("note: no rows");
    lab.run(&[
        "sql",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3) select max(i) from n",
    ])
    .exits(0);
    for pragma in ["pragma table_info(runs)", "pragma user_version", "explain query plan select * from runs"]
    {
        lab.run(&["sql", pragma]).exits(0);
    }
}

#[test]
fn sql_that_does_more_than_read_is_refused_and_nothing_changes() {
    let lab = lab();
    let before = std::fs::read(lab.path("narwhal.db")).unwrap();
    for sql in [
        "delete from terminals",
        "insert into slos values ('a', 1, 1, 'now')",
        "update runs set run = 'x'",
        "create table t (x)",
        "create temp table t (x)",
        "drop table runs",
        "attach 'other.db' as other",
        "vacuum",
        "vacuum into 'copy.db'",
        "pragma journal_mode = wal",
        "pragma user_version = 9",
        "pragma writable_schema = 1",
        "pragma wal_checkpoint",
        "pragma optimize",
        "begin immediate",
        "savepoint s",
        "reindex",
        "analyze",
        "select load_extension('x')",
        "with x as (select 1) delete from runs",
    ] {
        let run = lab.run(&["sql", sql]).exits(1);
        assert_eq!(run.stdout, "", "{sql}");
        let run = run.says("error: this SQL does more than read: narwhal-jq runs only statements that read");
        assert!(run.stderr.contains("sqlite3 shell"), "{sql}");
    }
    assert_eq!(std::fs::read(lab.path("narwhal.db")).unwrap(), before);
    assert_eq!(std::fs::read_dir(lab.path("")).unwrap().count(), 2, "the journal and the database");
}

#[test]
fn wrong_sql_is_told_with_its_place() {
    let lab = lab();
    lab.run(&["sql", "select *\nfrom nowhere"])
        .exits(1)
        .says("error: the SQL is wrong: no such table: nowhere; there is archives, attainment, ");
    lab.run(&["sql", "select 1,\n  selec 2"]).exits(1).says("at line 2, column 9: near \"2\": syntax error");
    lab.run(&["sql", "select 1; select 2"])
        .exits(1)
        .says("error: more than one statement: give them one by one");
    lab.run(&["sql", "-- nothing"]).exits(1).says("the SQL is wrong: SQL is empty or comment only");
    lab.run(&["sql", ""]).exits(1).says("the SQL is wrong: SQL is empty or comment only");
    lab.run(&["sql", "-f", "missing.sql"]).exits(1).says("cannot read the SQL in missing.sql: No such file");
    lab.run(&["sql"]).exits(2).says("<SELECT>");
}

#[test]
fn a_wrong_query_is_told_with_the_way_out() {
    let lab = lab();
    lab.run(&["query", "outcoms"])
        .exits(2)
        .says("error: no query is called 'outcoms': `narwhal-jq query` lists them\n\n  tip: like it is called: outcomes\n");
    let unlike = lab.run(&["--quiet", "query", "xyz"]).exits(2);
    assert!(!unlike.stderr.contains("tip:") && !unlike.stderr.contains("subcommand"), "{}", unlike.stderr);
    // A flag that is another one's: what is hardly like it is no tip.
    for (command, usage) in [
        (&["sql", "select 1"][..], "Usage: narwhal-jq sql "),
        (&["compare", "a", "b"], "Usage: narwhal-jq compare "),
        (&["slo", "solve"], "Usage: narwhal-jq slo solve "),
    ] {
        let wrong = lab.run(&[command, &["--ingest", "j.jsonl"]].concat()).exits(2).says(usage);
        assert!(
            wrong.stderr.starts_with("error: unexpected argument '--ingest' found\n"),
            "{}",
            wrong.stderr
        );
        assert!(!wrong.stderr.contains("--quiet"), "{}", wrong.stderr);
    }
    lab.run(&["query", "outcomes", "--rum", "x"]).exits(2).says("a similar argument exists: '--run'");
    lab.run(&["query", "outcomes", "--run", "x"]).exits(1).says(
        "error: no run \"x\" in the database: `narwhal-jq query runs` lists them, `last` is the newest",
    );
    lab.run(&["query", "outcomes", "--from", "noon"])
        .exits(2)
        .says("\"noon\" is no length of time: write seconds, or numbers with units as in 90s, 5m, 1h30m, 7d");
    lab.run(&["query", "outcomes", "--last", "-5"]).exits(2).says("\"-5\" is no length of time");
    lab.run(&["query", "attainment", "--ttft", "0", "--tpot", "1"])
        .exits(2)
        .says("--ttft is a number of seconds above 0, not \"0\"");
    lab.run(&["query", "attainment", "--ttft", "nan", "--tpot", "1"]).exits(2).says("--ttft is a number");
    lab.run(&["query", "attainment", "--ttft", "1", "--tpot", "1", "--policy", "mine"])
        .exits(2)
        .says("--policy is one of journal, offers, router, not \"mine\"");
    lab.run(&["query", "attainment", "--ttft", "2"]).exits(2).says(
        "error: no SLO \"default\" is saved: give --tpot SECONDS, or save targets with \
         `narwhal-jq slo set --ttft SECONDS --tpot SECONDS`",
    );
    lab.run(&["query", "attainment", "--slo", "chat"])
        .exits(2)
        .says("give --ttft SECONDS and --tpot SECONDS, or save targets with `narwhal-jq slo set chat --ttft");
}

#[test]
fn targets_are_saved_shown_and_removed() {
    let lab = lab();
    lab.run(&["slo", "show"]).exits(0).says("note: no SLO is saved");
    lab.run(&["slo", "set", "--ttft", "0", "--tpot", "1"])
        .exits(2)
        .says("is not a number of seconds above 0");
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    lab.run(&["slo", "set", "chat", "--ttft", "2", "--tpot", "0.1"]).exits(0);
    let shown = lab.run(&["slo", "show"]).exits(0).stdout;
    let words: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().take(3).collect()).collect();
    assert_eq!(words, [["name", "ttft_s", "tpot_s"], ["chat", "2.0", "0.10"], ["default", "0.8", "0.03"]]);
    lab.run(&["slo", "clear", "chat"]).exits(0);
    lab.run(&["slo", "clear", "chat"])
        .exits(1)
        .says("error: no SLO \"chat\" is saved: `narwhal-jq slo show` lists them");
    assert_eq!(lab.number("select count(*) from slos"), 1);
}

#[test]
fn a_closed_pipe_is_quiet_success_and_a_full_disk_an_error() {
    let lab = lab();
    let shell = |script: &str| {
        let program = env!("CARGO_BIN_EXE_narwhal-jq");
        std::process::Command::new("sh")
            .args(["-c", script, program])
            .current_dir(lab.path(""))
            .output()
            .expect("there is a shell")
    };
    let many =
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) select i from n";
    for format in formats() {
        let output = shell(&format!("{{ \"$0\" sql '{many}' --format {format}; echo $? >&2; }} | head -1"));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "0\n", "{format}");
    }
    let output = shell(&format!("\"$0\" sql '{many}' --format csv > /dev/full"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    let output = shell(&format!("\"$0\" sql '{many}' -o missing/answer.csv"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("error: cannot write missing/answer.csv"));
}

#[test]
fn the_schema_says_what_columns_of_tables_and_views_mean() {
    let lab = Lab::new();
    lab.write("j.jsonl", terminal("r", "a", 1.0) + "\n");
    lab.ingest("j.jsonl");
    let meaning = |table: &str, column: &str| {
        let found = lab.run(&["schema", table, "--format", "json"]).exits(0).json();
        let row = found.as_array().unwrap().iter().find(|row| row["column"] == column);
        row.unwrap_or_else(|| panic!("no {column} in {found}"))["meaning"].as_str().map(str::to_owned)
    };
    // As docs/journal.md says of the field, and a view has it from its table.
    let ttft = "s; arrival to prefill completion; null when prefill did not complete";
    for table in ["terminals", "requests"] {
        assert_eq!(meaning(table, "ttft_s").as_deref(), Some(ttft));
    }
    // Of a request the reason is what the client saw; that of an event is its own.
    assert_eq!(meaning("timeline", "reason"), None);
    assert_eq!(meaning("timeline", "iid").as_deref(), Some("the one engine"));
}
