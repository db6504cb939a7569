//! Databases that older releases made are brought up to date by an ingest, and hold then what a new one does.

use std::fs;
use std::ops::Range;
use std::path::Path;

use narwhal_jq::store::schema::LATEST;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::harness::{Contents, Lab, fixture, project, set_modified};
use crate::journals::journal;

/// The schemas before this one.
const OLDER: Range<i64> = 1..LATEST;

/// What the journal holds, loaded now. The copy says nothing of when it was written.
fn fresh() -> Lab {
    let lab = Lab::new();
    lab.write("journal.jsonl", fixture("databases/journal.jsonl"));
    lab.ingest("journal.jsonl");
    lab
}

fn older(version: i64) -> Lab {
    let lab = Lab::new();
    lab.write("narwhal.db", fixture(&format!("databases/schema-{version}.db")));
    lab.write("journal.jsonl", fixture("databases/journal.jsonl"));
    lab
}

/// Makes the database that the next migration will find.
fn make(path: &Path) {
    let lab = fresh();
    let small = "pragma journal_mode = delete; pragma page_size = 1024; vacuum";
    Connection::open(lab.path("narwhal.db")).unwrap().execute_batch(small).unwrap();
    fs::copy(lab.path("narwhal.db"), path).unwrap();
}

/// The tables, views and indexes of a database, as they were made.
fn schema(path: &Path) -> Vec<(String, Option<String>)> {
    let connection = Connection::open(path).unwrap();
    let sql = "select name, sql from sqlite_schema where name not like 'sqlite_stat%' order by name";
    let mut find = connection.prepare(sql).unwrap();
    find.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn there_is_a_database_of_every_schema() {
    let path = |version: i64| project().join(format!("tests/fixtures/databases/schema-{version}.db"));
    let newest = path(LATEST);
    if std::env::var_os("NARWHAL_JQ_RENEW").is_some() && !newest.exists() {
        make(&newest);
    }
    for version in 1..=LATEST {
        let path = path(version);
        assert!(
            path.is_file(),
            "{} is not there. Run `tests/renew`: it makes the one of schema {LATEST}, an older one is in the history",
            path.display()
        );
        let connection = Connection::open(&path).unwrap();
        let of: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(of, version, "{}", path.display());
    }
    assert!(
        schema(&newest) == schema(&fresh().path("narwhal.db")),
        "{} has other tables than a new database: a migration was changed after it was made. One that others \
         may have run stays as it is; of one being written, remove this file and run `tests/renew`",
        newest.display()
    );
}

/// All rows, but for what the times of files say: an older release did not look at them. Tables that only a
/// later ingest fills are left out.
fn stored(lab: &Lab) -> Contents {
    let mut contents = lab.contents();
    contents.retain(|(name, _)| name != "runs");
    let runs = "select run_id, run, started_at, build_id, build_certainty, first_s, last_s, wall_low_s, wall_offset_s,
         wall_error_s, wall_lifecycle_low_s, wall_lifecycle_high_s, wall_basis, source_id from runs order by 1";
    contents.push(("runs".to_owned(), lab.rows(runs)));
    contents
}

#[test]
fn an_ingest_brings_a_database_of_every_older_schema_up_to_date() {
    let fresh = fresh();
    let expected = stored(&fresh);
    for version in OLDER {
        let lab = older(version);
        lab.run(&["query", "outcomes"])
            .exits(1)
            .says(&format!("the database has schema {version}, this narwhal-jq reads "));
        let summary = lab.ingest("journal.jsonl");
        assert_eq!(summary["total"]["lines"], 0, "schema {version}: all of it was read");
        for ((table, found), (_, expected)) in stored(&lab).iter().zip(&expected) {
            assert_eq!(found, expected, "schema {version}: {table}");
        }
        lab.run(&["verify"]).exits(0);
        let exported = lab.run(&["export", "journal", "--dir", "out"]).exits(0);
        drop(exported);
        fresh.run(&["export", "journal", "--dir", "out"]).exits(0);
        assert_eq!(
            fs::read(lab.path("out/journal.jsonl")).unwrap(),
            fs::read(fresh.path("out/journal.jsonl")).unwrap(),
            "schema {version}"
        );
    }
}

#[test]
fn an_older_database_goes_on_as_if_it_had_always_been_new() {
    let more = {
        let row = |arrived: f64| {
            format!(
                r#"{{"schema": "narwhal.journal", "schema_version": 1, "run": "1795979161-0000000a", "rid": "m{arrived}", "arrived": {arrived}, "duration_s": 0.25, "terminal": "completed"}}"#
            )
        };
        let event = r#"{"schema": "narwhal.journal", "schema_version": 1, "run": "1795979161-0000000a", "event": "engine_lifecycle", "at": 1795979180.0}"#;
        journal(&[row(2478.0), event.to_owned(), row(2480.0)])
    };
    let fresh = fresh();
    // One of this schema, made by a program before this one, too.
    let old: Vec<Lab> = (1..=LATEST).map(older).collect();
    for lab in old.iter().chain([&fresh]) {
        lab.ingest("journal.jsonl");
        lab.write("journal.jsonl", [fixture("databases/journal.jsonl"), more.clone()].concat());
        set_modified(&lab.path("journal.jsonl"), 1_796_000_000.25);
        assert_eq!(lab.ingest("journal.jsonl")["total"]["lines"], 3);
    }
    let expected = stored(&fresh);
    let last = fresh.rows(
        "select place_s between 2478.25 and 2480.25, written_before_s, written_after_s
         from events join event_gaps using (event_id) order by event_id desc limit 1",
    );
    assert_eq!(last, [[Value::Integer(1), Value::Real(2478.25), Value::Real(2480.25)]]);
    for (lab, version) in old.iter().zip(1..) {
        for ((table, found), (_, expected)) in stored(lab).iter().zip(&expected) {
            assert_eq!(found, expected, "schema {version}: {table}");
        }
        lab.run(&["verify"]).exits(0);
        // The run is forgotten and comes back, with all that is known of it.
        lab.run(&["forget", "--run", "1795979161-0000000a"]).exits(0);
        assert_eq!(
            lab.number("select count(*) from event_gaps where run_id not in (select run_id from runs)"),
            0
        );
        lab.run(&["forget", "--undo", "1795979161-0000000a"]).exits(0);
        lab.ingest("journal.jsonl");
        let places = "select run, event, at, place_s from events join runs using (run_id) order by run, events.source_id, byte_offset";
        assert_eq!(lab.rows(places), fresh.rows(places), "schema {version}");
    }
}
