//! The program's own layer over the statements: flags, times as people read them, files, formats, messages.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

use chrono::DateTime;
use narwhal_jq::query::faster;
use narwhal_jq::query::written::written;
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use super::cases::{Case, RUN};
use super::{Chosen, Question, World, catalog, odd_questions, plain_questions, shipped_journals};
use crate::answer::{Answer, ask, query};
use crate::harness::{self, Lab, formats};

/// A time as the program writes it.
fn in_words(unix_s: f64) -> Value {
    let time = DateTime::from_timestamp_millis((unix_s * 1000.0 + 0.5).floor() as i64).unwrap();
    time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string().into()
}

/// What the program must answer: the rows of the library, times in words.
fn expected(question: &Question<'_>, rows: Vec<Vec<Sql>>) -> Answer {
    let columns = &question.query.columns;
    let cell = |(at, cell): (usize, Sql)| match cell {
        Sql::Real(unix_s) if columns[at].unit == "time" => in_words(unix_s),
        Sql::Null | Sql::Blob(_) => Value::Null,
        Sql::Integer(int) => int.into(),
        Sql::Real(real) => real.into(),
        Sql::Text(text) => text.into(),
    };
    let rows = rows.into_iter().map(|row| row.into_iter().enumerate().map(cell).collect()).collect();
    Answer { columns: columns.iter().map(|column| column.name.clone()).collect(), rows }
}

#[track_caller]
fn compare(world: &World, chosen: &Chosen, questions: &[Question<'_>]) {
    let Chosen::Flags(flags) = chosen else { panic!("the program takes flags") };
    let mut connection = world.open();
    let selection = chosen.choose(world, &mut connection);
    for question in questions.iter().filter(|question| chosen.is_fit_for(question.query)) {
        let words = [&[question.query.name.clone()][..], &question.flags(), flags].concat();
        let rows = question.ask(&mut connection, faster::statement(question.query, &selection));
        ask(&world.lab, &words).equals(&expected(question, rows), &format!("{question} of {chosen:?}"));
    }
}

#[test]
fn the_program_answers_as_the_library() {
    let world = shipped_journals();
    let catalog = catalog();
    compare(&world, &Chosen::flags("--run last"), &plain_questions(&catalog, &world));
    let windows = world.selections().into_iter().find(|chosen| {
        matches!(chosen, Chosen::Flags(flags) if flags.contains(&"--since".to_owned()) && flags.contains(&"all".to_owned()))
    });
    compare(&world, &windows.unwrap(), &plain_questions(&catalog, &world));
    let odd: Vec<_> = odd_questions(&catalog, &world).into_iter().step_by(3).collect();
    compare(&world, &Chosen::flags("--from 2"), &odd);
}

#[test]
fn a_query_prints_its_statement_with_what_was_chosen() {
    let world = shipped_journals();
    let catalog = catalog();
    let mut connection = world.open();
    for flags in ["", "--from 1.5 --to 20"] {
        let chosen = Chosen::flags(flags);
        let selection = chosen.choose(&world, &mut connection);
        for question in plain_questions(&catalog, &world) {
            let expected = written(question.query, &selection, &question.bound(&connection)).unwrap();
            let Chosen::Flags(flags) = &chosen else { unreachable!() };
            let words =
                [&["query", &question.query.name, "--sql"].map(str::to_owned)[..], &question.flags(), flags]
                    .concat();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let printed = world.lab.run(&words).exits(0).stdout;
            assert_eq!(printed, format!("{expected};\n"), "{question}");
            assert!(!printed.contains(":tt") && !printed.contains(":bucket"), "{printed}");
        }
    }
}

#[test]
fn by_is_refused_where_rows_are_no_groups_and_no_other_flag_is() {
    let world = shipped_journals();
    for question in plain_questions(&catalog(), &world) {
        let is_group = question.query.columns[0].name == "scope";
        let words =
            [&["query", &question.query.name, "--by", "all"].map(str::to_owned)[..], &question.flags()]
                .concat();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = world.lab.run(&words);
        if is_group {
            run.exits(0);
        } else {
            run.exits(2).says("--by groups what is counted, and a row of");
        }
    }
    world
        .lab
        .run(&["query", "outcomes", "--by", "engine"])
        .exits(2)
        .says("run, all, release, source, folder");
}

// ---------------------------------------------------------------- a database without rows

#[test]
fn a_database_without_a_run_answers_every_query_with_no_rows() {
    let lab = Case::parse("").lab();
    lab.run(&["slo", "set", "--ttft", "1", "--tpot", "1"]).exits(0);
    for query in catalog() {
        let columns: Vec<&str> = query.columns.iter().map(|column| column.name.as_str()).collect();
        let run = lab.run(&["query", &query.name, "--format", "csv"]).exits(0).says("note: no rows");
        assert_eq!(run.stdout, columns.join(",") + "\n", "{}", query.name);
    }
}

#[test]
fn an_empty_selection_says_what_excluded_everything() {
    let world = shipped_journals();
    for (flags, why) in [
        ("--release 99", "note: no rows: --release 99 takes in no run: there is "),
        ("--source nothing-*", "note: no rows: --source nothing-* takes in no run: there is "),
        (
            "--since 2100-01-01T00:00Z",
            "note: no rows: --since 2100-01-01T00:00Z leaves nothing: the runs reach from ",
        ),
        ("--from 1e6", "note: no rows: --from 1000000 leaves nothing"),
    ] {
        for question in plain_questions(&catalog(), &world).iter().step_by(5) {
            let words = [&["query", &question.query.name].map(str::to_owned)[..], &question.flags()].concat();
            let words: Vec<&str> = words.iter().map(String::as_str).chain(flags.split(' ')).collect();
            world.lab.run(&words).exits(0).says(why);
        }
    }
}

// ---------------------------------------------------------------- formats

/// Text that CSV and Markdown must quote, nulls, integers and ratios.
fn refusals_to_quote() -> Lab {
    Case::parse(
        r#"
        {"rid": "a", "arrived": 1.0, "terminal": "refused", "refused_cause": "queue", "reason": "a,\"b\"|c", "input_len": 3}
        {"rid": "b", "arrived": 1.0, "terminal": "refused", "refused_cause": "queue", "reason": "line\nbreak"}
        {"rid": "c", "arrived": 1.0, "terminal": "refused", "refused_cause": "queue", "input_len": 5}
        "#,
    )
    .lab()
}

const REFUSAL_COLUMNS: &str = "scope cause reason requests share_of_refused share_of_offered input_len_p50";

#[test]
fn all_formats_of_a_query_agree() {
    let lab = refusals_to_quote();
    let third = 1.0 / 3.0;
    let expected = Answer::of(
        REFUSAL_COLUMNS,
        json!([
            [RUN, "queue", null, 1, third, third, 5],
            [RUN, "queue", "a,\"b\"|c", 1, third, third, 3],
            [RUN, "queue", "line\nbreak", 1, third, third, null],
        ]),
    );
    Answer::from_objects(&query(&lab, &["refusals"], "json").stdout).equals(&expected, "json");
    Answer::from_lines(&query(&lab, &["refusals"], "jsonl").stdout).equals(&expected, "jsonl");

    let csv = query(&lab, &["refusals"], "csv").stdout;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), expected.columns, "{csv}");
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    let cells: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().collect()).collect();
    let third = "0.3333333333333333";
    assert_eq!(
        cells,
        [
            [RUN, "queue", "", "1", third, third, "5"],
            [RUN, "queue", "a,\"b\"|c", "1", third, third, "3"],
            [RUN, "queue", "line\nbreak", "1", third, third, ""],
        ],
        "{csv}"
    );

    // For eyes: numbers are rounded, null is `-`, control characters are escaped.
    let markdown = query(&lab, &["refusals"], "markdown").stdout;
    let cells: Vec<Vec<String>> = markdown
        .lines()
        .map(|line| {
            let line = line.trim().trim_matches('|').replace("\\|", "\u{1}");
            line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
        })
        .collect();
    assert_eq!(cells.len(), 2 + 3, "{markdown}");
    assert_eq!(cells[0], expected.columns, "{markdown}");
    assert!(cells[1].iter().all(|cell| cell.trim_matches([':', '-']).is_empty()), "{markdown}");
    assert_eq!(
        cells[2..],
        [
            [RUN, "queue", "-", "1", "0.3333", "0.3333", "5"],
            [RUN, "queue", "a,\"b\"|c", "1", "0.3333", "0.3333", "3"],
            [RUN, "queue", "line\\nbreak", "1", "0.3333", "0.3333", "-"],
        ],
        "{markdown}"
    );

    let table = query(&lab, &["refusals"], "table").stdout;
    // A column that is the same in all rows stands above them.
    assert_eq!(table.lines().count(), 1 + 1 + 3, "{table}");
    assert_eq!(lab.run(&["query", "refusals"]).exits(0).stdout, table, "the table is the default");
}

#[test]
fn an_answer_goes_to_a_file_as_it_goes_to_stdout() {
    let lab = refusals_to_quote();
    for format in formats() {
        let to_stdout = query(&lab, &["refusals"], &format);
        let to_file = query(&lab, &["refusals", "-o", "answer"], &format);
        assert_eq!(to_file.stdout, "", "{format}");
        assert_eq!(to_file.stderr, to_stdout.stderr, "{format}");
        assert_eq!(fs::read_to_string(lab.path("answer")).unwrap(), to_stdout.stdout, "{format}");
    }
}

#[test]
fn an_empty_answer_is_a_header_and_a_note() {
    let lab = Case::parse(r#"{"rid": "a", "arrived": 1.0, "terminal": "completed"}"#).lab();
    let columns: Vec<&str> = REFUSAL_COLUMNS.split_whitespace().collect();
    for format in formats() {
        let answer = query(&lab, &["refusals"], &format);
        assert_eq!(answer.stderr, "note: no rows\n", "{format}");
        let lines = match format.as_str() {
            "csv" => {
                assert_eq!(answer.stdout, format!("{}\n", columns.join(",")));
                continue;
            }
            "json" => {
                assert_eq!(answer.stdout, "[]\n");
                continue;
            }
            "jsonl" => {
                assert_eq!(answer.stdout, "");
                continue;
            }
            "table" => 1,
            "markdown" => 2,
            _ => panic!("what is an answer without rows as {format}?"),
        };
        assert_eq!(answer.stdout.lines().count(), lines, "{}", answer.stdout);
        let header = answer.stdout.lines().next().unwrap().replace('|', " ");
        assert_eq!(header.split_whitespace().collect::<Vec<_>>(), columns);
    }
    // Rows: no note.
    assert_eq!(query(&lab, &["outcomes"], "csv").stderr, "");
}

// ---------------------------------------------------------------- messages

#[test]
fn parameters_of_the_wrong_kind_are_told_with_what_is_wanted() {
    let lab = Case::parse(r#"{"rid": "a", "arrived": 100.0, "terminal": "completed"}"#).lab();
    for (query, name, value, wanted) in [
        ("throughput", "bucket", "0", "a number of seconds above 0"),
        ("throughput", "bucket", "-60", "a number of seconds above 0"),
        ("attainment-over-time", "bucket", "inf", "a number of seconds above 0"),
        ("goodput", "bucket", "minute", "a number of seconds above 0"),
        ("goodput", "band", "0", "a number above 0"),
        ("goodput", "band", "nan", "a number above 0"),
        ("slo-frontier", "wanted", "1.5", "a share from 0 to 1"),
        ("requests", "limit", "0", "a whole number from 1"),
        ("requests", "limit", "2.5", "a whole number from 1"),
        ("requests", "retried", "yes", "0 or 1"),
        ("requests", "order", "rid", "one of arrived, ttft_s, tpot_s, first_byte_s, duration_s"),
        ("latency", "of", "all", "one of completed, offers"),
    ] {
        lab.run(&["query", query, &format!("--{name}"), value])
            .exits(2)
            .says(&format!("--{name} is {wanted}, not {value:?}"));
    }
    for name in ["attainment", "attainment-misses", "attainment-over-time", "goodput"] {
        let refused = lab.run(&["query", name]).exits(2);
        assert_eq!(refused.stdout, "");
        let refused = refused
            .says("no SLO \"default\" is saved: give --ttft SECONDS and --tpot SECONDS")
            .says("narwhal-jq slo set --ttft SECONDS --tpot SECONDS");
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
        // One target is not enough.
        lab.run(&["query", name, "--ttft", "1"]).exits(2).says("give --tpot SECONDS, or save");
    }
    lab.run(&["query", "attainment", "--slo", "none"]).exits(2).says("no SLO \"none\" is saved");
}

#[test]
fn unavailable_accounting_is_said_where_targets_are_asked_for() {
    let lab = Case::parse(
        r#"{"rid": "a", "arrived": 100.0, "terminal": "completed", "ttft_s": 0.5, "duration_s": 1, "token_accounting": "unavailable"}"#,
    )
    .lab();
    for name in ["attainment", "attainment-misses", "attainment-over-time", "goodput"] {
        let targets = ["query", name, "--ttft", "1", "--tpot", "1"];
        lab.run(&targets).exits(0).says(&format!(
            "note: run {RUN}: token accounting is unavailable, so the output of 1 completed request is unknown"
        ));
        let run = lab.run(&[&targets[..], &["--policy", "router"]].concat()).exits(0);
        assert_eq!(run.stderr.matches("accounting").count(), 0, "{name}");
    }
}

#[test]
fn a_sum_beyond_64_bits_is_said_and_the_row_is_found() {
    let case = format!(
        r#"
        {{"rid": "a", "arrived": 1.0, "terminal": "completed", "input_len": {}, "duration_s": 0.5}}
        {{"rid": "b", "arrived": 1.0, "terminal": "completed", "input_len": 7, "duration_s": 0.5}}
        "#,
        i64::MAX
    );
    let lab = Case::parse(&case).lab();
    let stderr = lab.run(&["query", "throughput"]).exits(1).stderr;
    assert!(stderr.starts_with("error: the query failed: a sum is beyond 64 bits signed"), "{stderr}");
    let sql = stderr.split('\'').nth(1).expect("it says how to find the row");
    let found = lab.run(&["sql", sql, "--format", "csv"]).exits(0).stdout;
    assert_eq!(found.lines().count(), 2, "{found}");
    assert!(found.contains(&i64::MAX.to_string()), "{found}");
}

// ---------------------------------------------------------------- the database file

#[test]
fn what_an_ingest_leaves_is_one_plain_file() {
    let lab = Lab::new();
    let journals = crate::plain::shipped_journals();
    for journal in [&journals[0], &journals[1], &journals[1]] {
        lab.run(&["ingest", journal.to_str().unwrap()]).exits(0);
        assert_plain(&lab);
    }
    lab.run(&["slo", "set", "--ttft", "1", "--tpot", "1"]).exits(0);
    assert_plain(&lab);
    lab.run(&["query", "attainment"]).exits(0);
    assert_plain(&lab);
}

/// No file of a write-ahead log, and a header that asks for none: bytes 18 and 19 are the versions
/// needed to write and to read, 1 for rollback mode (https://sqlite.org/fileformat.html).
#[track_caller]
fn assert_plain(lab: &Lab) {
    let mut files: Vec<String> = fs::read_dir(lab.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["narwhal.db"]);
    let mut header = [0; 20];
    fs::File::open(lab.path("narwhal.db")).unwrap().read_exact(&mut header).unwrap();
    assert_eq!(header[18..], [1, 1]);
}

#[test]
fn a_read_only_folder_answers_the_program_and_the_shell() {
    let test = "a_read_only_folder_answers_the_program_and_the_shell";
    if !harness::has_program(test, "sqlite3") {
        return;
    }
    let lab = Lab::new();
    let journal = lab.path("journal.jsonl");
    fs::copy(&crate::plain::shipped_journals()[0], &journal).unwrap();
    // A journal that was just written is said to be still growing.
    harness::set_modified(&journal, 1_795_980_000.0);
    lab.run(&["ingest", "journal.jsonl"]).exits(0);
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    let questions: [&[&str]; 4] =
        [&["runs"], &["attainment"], &["latency", "--by", "all"], &["outcomes", "--from", "2"]];
    let expected: Vec<Answer> = questions.iter().map(|question| ask(&lab, question)).collect();
    let sealed = lab.path("sealed");
    fs::create_dir(&sealed).unwrap();
    fs::copy(lab.path("narwhal.db"), sealed.join("narwhal.db")).unwrap();
    harness::copy_program(&sealed.join("tool"));
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&sealed.join("tool"), 0o555);
    mode(&sealed.join("narwhal.db"), 0o444);
    mode(&sealed, 0o555);
    mode(&lab.path(""), 0o755);

    // Modes do not bind root, so root asks as nobody; any other user asks as itself.
    let is_root = fs::metadata(&sealed).unwrap().uid() == 0;
    let as_reader = |program: &Path| {
        let mut command = if is_root {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(&sealed).env("NO_COLOR", "1").env_remove("NARWHAL_JQ_DB").stdin(Stdio::null());
        command
    };
    let can_read = as_reader(Path::new("test")).args(["-r", "narwhal.db", "-a", "!", "-w", "."]).output();
    if can_read.is_ok_and(|output| output.status.success()) {
        for (question, expected) in questions.iter().zip(&expected) {
            let run = |arguments: &[&str]| {
                let output = as_reader(&sealed.join("tool")).args(arguments).output().unwrap();
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{question:?}");
                String::from_utf8(output.stdout).unwrap()
            };
            let asked = [&["query"], *question].concat();
            Answer::from_objects(&run(&[&asked[..], &["--format", "json"]].concat()))
                .equals(expected, &format!("{question:?}, the program"));
            let sql = run(&[&asked[..], &["--sql"]].concat());
            for database in ["narwhal.db", "file:narwhal.db?mode=ro"] {
                let said = as_reader(Path::new("sqlite3"))
                    .args(["-batch", "-bail", "-json", database, &sql])
                    .output()
                    .unwrap();
                let stdout = String::from_utf8(said.stdout).unwrap();
                let rows = Answer::from_objects(&stdout);
                assert_eq!(rows.rows.len(), expected.rows.len(), "{question:?}, the shell: {stdout}");
            }
        }
    } else {
        harness::skip(test, "no user here is bound by modes");
    }
    let left = fs::read_dir(&sealed).unwrap().count();
    mode(&sealed, 0o755); // so that the folder can be removed
    assert_eq!(left, 2, "the database and the program");
}

#[test]
fn wall_times_are_right_in_every_year() {
    let lab = Case::parse(r#"{"event": "engine_lifecycle", "at": 0.0}"#).lab();
    let database = rusqlite::Connection::open(lab.path("narwhal.db")).unwrap();
    // From the first second of the year 1 to beyond 9999, every 61 days and some.
    database
        .execute_batch(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
             insert into events (run_id, source_id, byte_offset, event, at, clock, detail, digest)
             select 1, 1, i * 1000, 'engine_lifecycle', -62135596800 + (i - 1) * 5302432.4375, 'wall', '{}', hex(randomblob(8))
             from n",
        )
        .unwrap();
    let rows = lab.run(&["query", "events", "--format", "json"]).exits(0).json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 60_001);
    let mut years = std::collections::BTreeSet::new();
    for row in rows {
        let at = row["at"].as_f64().unwrap();
        let expected = in_words(at);
        match row["wall"].as_str() {
            Some(wall) => {
                // Half a millisecond may go either way.
                let shown = DateTime::parse_from_rfc3339(wall).unwrap().timestamp_millis() as f64;
                assert!((shown - at * 1000.0).abs() < 0.51, "{wall} and {expected}");
                years.insert(wall[..4].to_owned());
            }
            None => assert!(expected.as_str().unwrap().starts_with('+'), "{expected} has a date"),
        }
    }
    assert_eq!(years.len(), 9999);
}
