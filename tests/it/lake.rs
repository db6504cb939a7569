//! A lake: rows as Parquet that other readers find equal, the same bytes twice, days in whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::faults::{as_bound_user, set_mode};
use crate::harness::{Lab, copy_program, fixture, has_program, project, say, skip};
use crate::journals::Dice;
use crate::kills::kill_after;
use crate::plain;
use crate::redact::{Secrets, assert_gone};

/// Journals with builds, retries and events of every clock, and what the ids of their runs begin with instead of
/// `179597`: three days, and runs whose start is not known.
const FIXTURES: [(&str, &str); 4] = [
    ("0.2.1-takeover.jsonl", "179577"),
    ("0.6.0-takeover.jsonl", "179587"),
    ("0.7.0-full.jsonl", "179597"),
    ("0.7.0-killed.jsonl", "x"),
];

const DAYS: i64 = 4;

/// A journal's text, with other ids of its runs.
fn text_of(name: &str, begin: &str) -> String {
    let text = String::from_utf8(fixture(name)).unwrap();
    text.replace("\"run\": \"179597", &format!("\"run\": \"{begin}"))
}

/// A lab whose database holds them.
fn loaded() -> Lab {
    let lab = Lab::new();
    for (name, begin) in FIXTURES {
        lab.write(name, text_of(name, begin));
        lab.ingest(name);
    }
    assert_eq!(
        lab.number("select count(distinct coalesce(substr(started_at, 1, 10), 'unknown')) from runs"),
        DAYS
    );
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    lab
}

/// The files of a lake with their bytes.
fn files(lake: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![lake.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(lake).unwrap().to_string_lossy().into_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Whether Python has what reads a lake.
#[track_caller]
fn has_readers(test: &str) -> bool {
    if !has_program(test, "python3") {
        return false;
    }
    let found = Command::new("python3").args(["-c", "import duckdb, pandas, pyarrow"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return true;
    }
    skip(test, "python3 has no duckdb, pandas or pyarrow");
    false
}

/// Asserts that other readers find the rows of the database in a lake.
#[track_caller]
fn assert_equal_rows(lab: &Lab, lake: &str) {
    let output = Command::new("python3")
        .arg(project().join("tests/lake/rows.py"))
        .args([lab.path("narwhal.db"), lab.path(lake)])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().count(), 7, "{said}");
}

#[test]
fn rows_of_every_table_are_equal_and_of_the_right_type_in_duckdb_and_pandas() {
    if !has_readers("rows_of_every_table_are_equal") {
        return;
    }
    let lab = loaded();
    lab.run(&["export", "lake", "--dir", "lake"]).exits(0);
    assert_equal_rows(&lab, "lake");
}

#[test]
fn the_same_rows_give_the_same_bytes_and_a_second_call_writes_nothing() {
    let lab = loaded();
    lab.run(&["export", "lake", "--dir", "one"]).exits(0);
    lab.run(&["export", "lake", "--dir", "other"]).exits(0);
    let one = files(&lab.path("one"));
    assert!(one.len() > 10, "{:?}", one.keys());
    assert_eq!(one, files(&lab.path("other")));
    let written = |name: &str| fs::metadata(lab.path(&format!("one/{name}"))).unwrap().modified().unwrap();
    let before: Vec<_> = one.keys().map(|name| written(name)).collect();
    lab.run(&["export", "lake", "--dir", "one"]).exits(0).says(&format!("{DAYS} days unchanged"));
    assert_eq!(before, one.keys().map(|name| written(name)).collect::<Vec<_>>());
    assert_eq!(one, files(&lab.path("one")));
}

/// Exports everything.
#[track_caller]
fn export(lab: &Lab, lake: &str) {
    lab.run(&["export", "lake", "--dir", lake]).exits(0);
}

/// The run with the least name, and the day in which it stands.
fn a_run(lab: &Lab) -> String {
    let rows = lab.rows("select run from runs order by run limit 1");
    let [rusqlite::types::Value::Text(run)] = &rows[0][..] else { panic!("{rows:?}") };
    run.clone()
}

#[test]
fn a_selection_takes_whole_runs_in_and_leaves_the_others_as_they_are() {
    let lab = loaded();
    let run = a_run(&lab);
    lab.run(&["export", "lake", "--dir", "lake", "--run", &run, "--from", "1"])
        .exits(0)
        .says("a lake holds whole runs");
    let check = lab.run(&["lake", "check", "lake"]).exits(0);
    assert!(check.stderr.contains("7 runs of the database are not in the lake"), "{}", check.stderr);
    // One after the other, in whatever order, they give what all give at once.
    for row in lab.rows("select run from runs order by run desc") {
        let [rusqlite::types::Value::Text(run)] = &row[..] else { panic!() };
        lab.run(&["export", "lake", "--dir", "lake", "--run", run]).exits(0);
    }
    export(&lab, "whole");
    assert_eq!(files(&lab.path("lake")), files(&lab.path("whole")));
}

#[test]
fn only_days_that_changed_are_written_again() {
    let lab = loaded();
    export(&lab, "lake");
    let (name, begin) = FIXTURES[1];
    let text = text_of(name, begin);
    let more = text
        .lines()
        .rfind(|line| line.contains("\"terminal\""))
        .unwrap()
        .replace("\"rid\": \"", "\"rid\": \"more-");
    lab.write(name, format!("{text}{more}\n"));
    assert_eq!(lab.ingest(name)["total"]["terminals"], 1, "{more}");
    let check = lab.run(&["lake", "check", "lake"]).exits(0);
    assert!(check.stderr.contains("1 run has more rows in the database now"), "{}", check.stderr);
    let said = lab.run(&["export", "lake", "--dir", "lake"]).exits(0).stderr;
    assert_eq!(said.matches(" rows, ").count(), 1, "{said}");
    assert!(said.contains("3 days unchanged"), "{said}");
    export(&lab, "fresh");
    assert_eq!(files(&lab.path("lake")), files(&lab.path("fresh")));
}

#[test]
fn a_redacted_lake_holds_no_name_of_its_journal_and_keeps_its_key() {
    let test = "a_redacted_lake_holds_no_name";
    if !has_readers(test) {
        return;
    }
    let lab = loaded();
    lab.write("key", "0123456789abcdef");
    let redact =
        |lake: &str, key: &str| lab.run(&["export", "lake", "--dir", lake, "--redact", "--key", key]);
    redact("lake", "key").exits(0);
    redact("lake", "key").exits(0).says("4 days unchanged");
    let decoded = Command::new("python3")
        .arg(project().join("tests/lake/decode.py"))
        .arg(lab.path("lake"))
        .output()
        .unwrap();
    assert!(decoded.status.success(), "{}", String::from_utf8_lossy(&decoded.stderr));
    let rows = lab.number("select (select count(*) from terminals) + (select count(*) from events)");
    assert!(i64::try_from(String::from_utf8_lossy(&decoded.stdout).lines().count()).unwrap() > rows);
    lab.write("decoded.jsonl", &decoded.stdout);
    for (name, _) in FIXTURES {
        let (records, _) = plain::records(&lab.path(name));
        let secrets = Secrets::of(&records);
        assert_gone(&secrets, &lab.path("decoded.jsonl"), name);
        let manifest = fs::read_to_string(lab.path("lake/manifest.json")).unwrap();
        assert!(!manifest.contains(name), "the manifest names {name}");
    }
    lab.write("other", "another key, as long");
    redact("lake", "other").exits(2).says("was redacted with another key");
    lab.run(&["export", "lake", "--dir", "lake"]).exits(2).says("is redacted");
    export(&lab, "plain");
    redact("plain", "key").exits(2).says("with the names in it");
    let run = a_run(&lab);
    lab.run(&["forget", "--run", &run, "--into", "lake"]).exits(2).says("nothing was forgotten");
}

#[test]
fn an_export_killed_at_any_moment_leaves_every_day_whole_and_the_next_one_finishes() {
    const KILLS: u32 = 20;
    let test = "an_export_killed_at_any_moment";
    let (mut dice, seed) = Dice::of(test);
    let lab = Lab::new();
    for (name, begin) in FIXTURES {
        let text = text_of(name, begin);
        let half: Vec<&str> = text.lines().take(text.lines().count() / 2).collect();
        lab.write(name, half.join("\n") + "\n");
        lab.ingest(name);
    }
    export(&lab, "old");
    for (name, begin) in FIXTURES {
        lab.write(name, text_of(name, begin));
        lab.ingest(name);
    }
    let started = Instant::now();
    export(&lab, "new");
    let taken = started.elapsed();
    let (old, new) = (files(&lab.path("old")), files(&lab.path("new")));
    // The files of a folder, by its name.
    let folders = |files: &BTreeMap<String, Vec<u8>>| {
        let mut folders: BTreeMap<String, Vec<(String, Vec<u8>)>> = BTreeMap::new();
        for (name, bytes) in
            files.iter().filter(|(name, _)| name.ends_with(".parquet") && !name.starts_with(".new"))
        {
            let (folder, file) = name.rsplit_once('/').unwrap();
            folders.entry(folder.to_owned()).or_default().push((file.to_owned(), bytes.clone()));
        }
        folders
    };
    let (old_folders, new_folders) = (folders(&old), folders(&new));
    let (mut killed, mut mixed, mut resumed) = (0, 0, 0);
    for kill in 0..KILLS {
        let lake = format!("lake-{kill}");
        let copied = Command::new("cp").arg("-r").args([lab.path("old"), lab.path(&lake)]).status().unwrap();
        assert!(copied.success());
        let moment = taken.mul_f64(1.05 * (f64::from(kill) + dice.share()) / f64::from(KILLS));
        let child = lab
            .command(&["-q", "export", "lake", "--dir", &lake])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        killed += u32::from(kill_after(child, moment));
        let what = format!("NARWHAL_JQ_SEED={seed}, kill {kill} after {moment:?} of {taken:?}");
        let left = files(&lab.path(&lake));
        let found = folders(&left);
        assert_eq!(found.keys().collect::<Vec<_>>(), new_folders.keys().collect::<Vec<_>>(), "{what}");
        let is_new = |folder: &String| found[folder] == new_folders[folder];
        for folder in found.keys() {
            assert!(is_new(folder) || found[folder] == old_folders[folder], "{what}: {folder} is neither");
        }
        // A day is of one piece, but for the microseconds in which its folders change places: its note is there then.
        let days: BTreeSet<&str> =
            found.keys().filter_map(|folder| Some(folder.split_once('/')?.1)).collect();
        for day in days.iter().filter(|day| !left.contains_key(&format!(".new/{day}.json"))) {
            let of_day = found.keys().filter(|folder| folder.ends_with(day));
            let news: BTreeSet<bool> =
                of_day.filter(|folder| old_folders[*folder] != new_folders[*folder]).map(is_new).collect();
            assert!(news.len() <= 1, "{what}: {day} is half new");
        }
        let news = found.keys().filter(|folder| is_new(folder)).count();
        mixed += u32::from(news > 0 && news < found.len());
        resumed += u32::from(left.keys().any(|name| name.starts_with(".new/") && name.ends_with(".json")));
        export(&lab, &lake);
        assert!(files(&lab.path(&lake)) == new, "{what}: the next call did not finish it");
        lab.run(&["lake", "check", &lake]).exits(0);
    }
    say(&format!(
        "{test}: {killed} of {KILLS} killed, {mixed} between two days, {resumed} with a day to go on with"
    ));
    assert!(killed > 0);
}

#[test]
fn a_day_that_was_made_and_not_yet_put_in_its_place_is_put_there_by_the_next_call() {
    let lab = loaded();
    export(&lab, "lake");
    let whole = files(&lab.path("lake"));
    let manifest: serde_json::Value = serde_json::from_slice(&whole["manifest.json"]).unwrap();
    // What a call leaves that dies after each step: the note is there, and so many folders have changed places.
    for steps in 0..=3 {
        let day = manifest["days"][0]["name"].as_str().unwrap();
        let new = lab.path("lake/.new");
        fs::create_dir_all(new.join(day)).unwrap();
        for (at, table) in ["terminals", "attempt_failures", "events"].into_iter().enumerate() {
            let place = lab.path(&format!("lake/{table}/{day}"));
            let staged = new.join(day).join(table);
            if at >= steps {
                fs::rename(&place, &staged).unwrap();
                fs::create_dir(&place).unwrap();
                fs::write(place.join("part-00000.parquet"), "old").unwrap();
            } else {
                fs::create_dir(&staged).unwrap();
                fs::write(staged.join("part-00000.parquet"), "old").unwrap();
            }
        }
        fs::write(new.join(format!("{day}.json")), manifest["days"][0].to_string()).unwrap();
        let mut before = manifest.clone();
        before["days"].as_array_mut().unwrap().remove(0);
        fs::write(lab.path("lake/manifest.json"), before.to_string()).unwrap();
        lab.run(&["lake", "check", "lake"]).exits(1);
        export(&lab, "lake");
        assert!(files(&lab.path("lake")) == whole, "after {steps} steps");
    }
}

#[test]
fn what_is_no_lake_or_another_one_or_in_use_is_refused_with_the_way_out() {
    let lab = loaded();
    let refused = |lake: &str, code: i32, says: &str| {
        let before = files(&lab.path(lake));
        lab.run(&["export", "lake", "--dir", lake]).exits(code).says(says).says("another folder");
        assert!(files(&lab.path(lake)) == before, "{lake} was changed");
    };
    fs::create_dir(lab.path("foreign")).unwrap();
    lab.write("foreign/notes.txt", "mine");
    refused("foreign", 2, "is no lake");

    export(&lab, "unknown");
    fs::create_dir(lab.path("unknown/terminals/day=2020-01-01")).unwrap();
    lab.write("unknown/terminals/day=2020-01-01/part-00000.parquet", "PAR1");
    refused("unknown", 2, "terminals/day=2020-01-01");
    let said = lab.run(&["lake", "check", "unknown"]).exits(1);
    assert!(said.stdout.contains("the manifest does not know it"), "{}", said.stdout);

    export(&lab, "beside");
    lab.write("beside/runs/part-00001.parquet", "PAR1");
    refused("beside", 2, "runs/part-00001.parquet");

    export(&lab, "newer");
    let manifest = fs::read_to_string(lab.path("newer/manifest.json")).unwrap();
    lab.write("newer/manifest.json", manifest.replace("\"lake\": 1", "\"lake\": 2"));
    refused("newer", 5, "newer narwhal-jq");
    lab.run(&["lake", "check", "newer"]).exits(5);

    for damaged in ["{}", "", "{\"tool\": \"narwhal-jq\", \"lake\": 1}"] {
        fs::create_dir_all(lab.path("damaged")).unwrap();
        lab.write("damaged/manifest.json", damaged);
        refused("damaged", 2, "damaged/manifest.json");
    }

    let other = Lab::new();
    other.write("j.jsonl", text_of("0.7.0-full.jsonl", "179577"));
    other.ingest("j.jsonl");
    export(&other, "lake");
    let theirs = other.path("lake");
    let before = files(&theirs);
    lab.run(&["export", "lake", "--dir", theirs.to_str().unwrap()]).exits(2).says("of another database");
    assert!(files(&theirs) == before);

    export(&lab, "busy");
    let lock = fs::File::open(lab.path("busy")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    refused("busy", 4, "another export is writing into busy");
    drop(lock);
    export(&lab, "busy");

    for (flags, says) in [
        (&["outcomes"][..], "by itself"),
        (&["--all"], "by itself"),
        (&["--raw"], "about CSV"),
        (&["--by", "all"], "has no groups"),
        (&["--ttft", "1"], "no answers"),
    ] {
        lab.run(&[&["export", "lake", "--dir", "flags"], flags].concat()).exits(2).says(says);
        assert!(!lab.path("flags").exists());
    }
    lab.run(&["export", "lake", "--xlsx", "book.xlsx"]).exits(2).says("--dir DIR");
    lab.run(&["lake", "check", "nowhere"]).exits(2).says("there is no lake in nowhere");
}

#[test]
fn issue_13_1_a_journal_that_stands_in_a_lake_is_not_replaced() {
    let lab = loaded();
    let journal = fixture("given/five.jsonl");
    export(&lab, "lake");
    let part = files(&lab.path("lake")).into_keys().find(|name| name.starts_with("terminals/")).unwrap();
    for name in ["views/duckdb.sql", "runs/part-00000.parquet", &part] {
        let path = format!("lake/{name}");
        let before = fs::read(lab.path(&path)).unwrap();
        lab.write(&path, &journal);
        let run = lab.run(&["export", "lake", "--dir", "lake"]).exits(2);
        assert!(run.stderr.contains("name another file"), "{}", run.stderr);
        lab.run(&["forget", "--run", &a_run(&lab), "--into", "lake"]).exits(2);
        assert!(fs::read(lab.path(&path)).unwrap() == journal, "{path} was replaced");
        fs::write(lab.path(&path), before).unwrap();
    }
    // What is no journal is written anew, and a journal beside the tables stays where it is.
    lab.write("lake/views/duckdb.sql", "mine");
    fs::create_dir(lab.path("lake/journals")).unwrap();
    lab.write("lake/journals/five.jsonl", &journal);
    export(&lab, "lake");
    assert_ne!(fs::read(lab.path("lake/views/duckdb.sql")).unwrap(), b"mine");
    assert!(fs::read(lab.path("lake/journals/five.jsonl")).unwrap() == journal);
}

#[test]
fn a_check_finds_what_was_changed_and_an_export_writes_it_anew() {
    let lab = loaded();
    export(&lab, "lake");
    let whole = files(&lab.path("lake"));
    let file = whole.keys().find(|name| name.starts_with("terminals/")).unwrap();
    let path = lab.path("lake").join(file);
    let says = |says: &str| {
        let said = lab.run(&["lake", "check", "lake"]).exits(1);
        assert!(said.stdout.contains(file) && said.stdout.contains(says), "{}", said.stdout);
    };
    let mut bytes = whole[file].clone();
    bytes[100] ^= 1;
    fs::write(&path, &bytes).unwrap();
    says("other ones than were written");
    fs::write(&path, &bytes[..1000]).unwrap();
    says("has 1000 bytes");
    lab.run(&["export", "lake", "--dir", "lake"]).exits(0).says("missing or changed");
    fs::remove_file(&path).unwrap();
    says("not there");
    lab.run(&["export", "lake", "--dir", "lake"]).exits(0).says("missing or changed");
    assert!(files(&lab.path("lake")) == whole);
    lab.run(&["lake", "check", "lake"]).exits(0).says("all as they should be");
    // Counts that the database does not have.
    let run = a_run(&lab);
    lab.run(&["lake", "check", "lake", "--db", "none.db"]).exits(0).says("were not compared");
    lab.run(&["forget", "--run", &run]).exits(0);
    lab.run(&["lake", "check", "lake"]).exits(0).says("1 run stands in the lake alone");
}

#[test]
fn runs_that_moved_out_stay_in_the_lake_whatever_is_exported_later() {
    let lab = loaded();
    export(&lab, "whole");
    let whole = files(&lab.path("whole"));
    let rows = |lab: &Lab| lab.number("select count(*) from terminals");
    let before = rows(&lab);
    // The first is alone in the lake then; the others come into its day later.
    for row in lab.rows("select run from runs order by run desc") {
        let [rusqlite::types::Value::Text(run)] = &row[..] else { panic!() };
        let had = rows(&lab);
        lab.run(&["forget", "--run", run, "--into", "lake"])
            .exits(0)
            .says("rows read back, all as in the database")
            .says("forgotten");
        assert!(rows(&lab) < had, "{run}");
    }
    assert!(before > 0);
    assert_eq!(rows(&lab), 0);
    export(&lab, "lake");
    lab.run(&["lake", "check", "lake"]).exits(0).says("8 runs stand in the lake alone");
    let lake = files(&lab.path("lake"));
    let parquet = |files: &BTreeMap<String, Vec<u8>>| {
        files
            .iter()
            .filter(|(name, _)| name.ends_with(".parquet"))
            .map(|(name, bytes)| (name.clone(), bytes.clone()))
            .collect::<Vec<_>>()
    };
    assert!(parquet(&lake) == parquet(&whole), "rows changed on their way");
}

#[test]
fn nothing_is_forgotten_that_was_not_read_back() {
    let lab = loaded();
    let run = a_run(&lab);
    let stored = lab.contents();
    let unchanged = |what: &str| assert!(lab.contents() == stored, "{what}: something was forgotten");

    // A full disk, as far as one can be had: no file may have more than 10 KiB.
    let script = "ulimit -f 20; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_narwhal-jq"), "forget", "--run", &run, "--into", "full"])
        .current_dir(lab.path(""))
        .env_remove("NARWHAL_JQ_DB")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("nothing was forgotten") && said.contains("into full"), "{said}");
    unchanged("a full disk");
    lab.run(&["export", "lake", "--dir", "full"]).exits(0);

    // A file that changed after it was written.
    export(&lab, "changed");
    let day =
        fs::read_dir(lab.path("changed/terminals")).unwrap().map(|day| day.unwrap().path()).min().unwrap();
    let path = day.join("part-00000.parquet");
    let mut bytes = fs::read(&path).unwrap();
    bytes[200] ^= 1;
    fs::write(&path, &bytes).unwrap();
    lab.run(&["forget", "--run", &run, "--into", "changed"])
        .exits(1)
        .says("nothing was forgotten")
        .says("is not what was written");
    unchanged("a changed file");

    // A manifest that agrees with the changed file does not help: the rows themselves are compared.
    let other = Lab::new();
    other.write(
        "j.jsonl",
        text_of(FIXTURES[0].0, FIXTURES[0].1).replace("\"input_len\": 1", "\"input_len\": 2"),
    );
    other.ingest("j.jsonl");
    export(&other, "lake");
    export(&lab, "lying");
    let manifest = |lab: &Lab, lake: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(lab.path(&format!("{lake}/manifest.json"))).unwrap()).unwrap()
    };
    let (mut lying, theirs) = (manifest(&lab, "lying"), manifest(&other, "lake"));
    let name = theirs["days"][0]["name"].as_str().unwrap().to_owned();
    let at = lying["days"].as_array().unwrap().iter().position(|day| day["name"] == name.as_str()).unwrap();
    lying["days"][at]["files"] = theirs["days"][0]["files"].clone();
    lab.write("lying/manifest.json", lying.to_string());
    for table in ["terminals", "attempt_failures", "events"] {
        let file = format!("lake/{table}/{name}/part-00000.parquet");
        fs::copy(other.path(&file), lab.path(&file.replacen("lake", "lying", 1))).unwrap();
    }
    lab.run(&["forget", "--run", &run, "--into", "lying"])
        .exits(1)
        .says("nothing was forgotten")
        .says("are not those of the database");
    unchanged("other rows");

    lab.run(&["forget", "--vacuum", "--into", "lake"]).exits(2).says("--run or --before");
    lab.run(&["forget", "--undo", &run, "--into", "lake"]).exits(2);
    unchanged("wrong flags");

    // A folder that cannot be written.
    let tool = lab.path("tool");
    copy_program(&tool);
    set_mode(&tool, 0o555);
    fs::create_dir(lab.path("sealed")).unwrap();
    set_mode(&lab.path("sealed"), 0o555);
    set_mode(&lab.path("narwhal.db"), 0o666);
    set_mode(&lab.path(""), 0o777);
    let Some(mut forget) = as_bound_user("nothing_is_forgotten", &lab.path(""), &tool) else { return };
    let output = forget.args(["forget", "--run", &run, "--into", "sealed"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    set_mode(&lab.path("sealed"), 0o755);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("nothing was forgotten") && said.contains("cannot write into sealed"), "{said}");
    unchanged("a sealed folder");
    assert_eq!(fs::read_dir(lab.path("sealed")).unwrap().count(), 0);
}

#[test]
fn a_database_without_runs_gives_tables_without_rows() {
    let lab = Lab::new();
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    export(&lab, "lake");
    assert!(lab.path("lake/terminals/day=unknown/part-00000.parquet").exists());
    lab.run(&["lake", "check", "lake"]).exits(0);
    lab.write("b.jsonl", text_of("0.7.0-full.jsonl", "179597"));
    lab.ingest("b.jsonl");
    export(&lab, "lake");
    lab.run(&["lake", "check", "lake"]).exits(0);
}
