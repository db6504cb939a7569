//! Where things lie: the database, files with odd names, temporary folders, streams; and what is said when
//! they are not there.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::harness::{Lab, build, terminal};

const RUN: &str = "1795977936-56e568d1";

fn journal() -> String {
    [build("0.7.0"), terminal(RUN, "a", 1.5), terminal(RUN, "b", 2.5)].join("\n") + "\n"
}

/// The names in a folder, sorted.
fn names(lab: &Lab) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(lab.path("")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().as_bytes().to_vec()).collect();
    names.sort();
    names
}

#[test]
fn point_2_a_database_is_a_path_whatever_its_name_looks_like() {
    let names_of_databases: [&[u8]; 10] = [
        b"file:x.db",
        b"file:u?mode=memory",
        b"file::memory:?cache=shared",
        b"file:%41.db",
        b"a?mode=ro.db",
        b"50%25.db",
        b"x#y.db",
        b"./:memory:",
        b"caf\xe9.db",
        b" ",
    ];
    for name in names_of_databases {
        for is_variable in [false, true] {
            let lab = Lab::new();
            lab.write("j.jsonl", journal());
            let shown = String::from_utf8_lossy(name).into_owned();
            let run = |arguments: &[&str]| {
                let mut command = lab.command(arguments);
                match is_variable {
                    true => command.env("NARWHAL_JQ_DB", OsStr::from_bytes(name)),
                    false => command.arg("--db").arg(OsStr::from_bytes(name)),
                };
                let output = command.output().unwrap();
                assert_eq!(output.status.code(), Some(0), "{shown}: {output:?}");
                String::from_utf8(output.stdout).unwrap()
            };
            run(&["ingest", "j.jsonl"]);
            let name = name.strip_prefix(b"./").unwrap_or(name);
            let mut expected = vec![b"j.jsonl".to_vec(), name.to_vec()];
            expected.sort();
            assert_eq!(names(&lab), expected, "{shown}");
            let database = fs::read(lab.path("").join(OsStr::from_bytes(name))).unwrap();
            assert!(database.starts_with(b"SQLite format 3\0"), "{shown}");
            let count = run(&["sql", "select count(*) as n from terminals", "--format", "csv"]);
            assert_eq!(count, "n\n2\n", "{shown}");
            run(&["status"]);
            run(&["verify"]);
            run(&["slo", "set", "--ttft", "1", "--tpot", "0.1"]);
            run(&["ingest", "j.jsonl"]);
            assert_eq!(names(&lab), expected, "{shown}");
            // Nor is it replaced by an answer.
            let answer = lab
                .command(&["query", "runs", "--db"])
                .args([OsStr::from_bytes(name), OsStr::new("-o"), OsStr::from_bytes(name)])
                .output()
                .unwrap();
            let code = if name == b":memory:" { 2 } else { answer.status.code().unwrap() };
            assert_eq!(code, 2, "{shown}: {answer:?}");
            assert!(
                fs::read(lab.path("").join(OsStr::from_bytes(name))).unwrap().starts_with(b"SQLite format")
            );
        }
    }
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    lab.run(&["ingest", "j.jsonl", "--db", ":memory:"])
        .exits(2)
        .says("a database in memory would keep nothing");
}

#[test]
fn point_23_what_is_wrong_with_the_place_of_a_database_is_said_as_it_is() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    lab.run(&["ingest", "j.jsonl"]).exits(0);
    std::os::unix::fs::symlink("loop.db", lab.path("loop.db")).unwrap();
    std::os::unix::fs::symlink("nothing.db", lab.path("dangling.db")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, lab.path("pipe.db"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let read = ["status"].as_slice();
    let write = ["ingest", "j.jsonl"].as_slice();
    for (arguments, database, said) in [
        (read, "no/x.db", "error: no database at no/x.db: there is no folder no"),
        (write, "no/x.db", "error: cannot make the database no/x.db: there is no folder no"),
        (read, "loop.db", "error: cannot read the database loop.db: Too many levels of symbolic links"),
        (write, "loop.db", "error: cannot read the database loop.db: Too many levels of symbolic links"),
        (read, "j.jsonl/x.db", "error: cannot read the database j.jsonl/x.db: Not a directory"),
        (write, "j.jsonl/x.db", "error: cannot read the database j.jsonl/x.db: Not a directory"),
        (
            read,
            "dangling.db",
            "error: no database at dangling.db: it is a link to nothing.db, which is not there",
        ),
        (read, "pipe.db", "error: pipe.db is no regular file"),
        (write, "pipe.db", "error: pipe.db is no regular file"),
        (write, "/dev/null", "error: /dev/null is no regular file"),
    ] {
        let run = lab.run(&[arguments, &["--db", database]].concat()).exits(1);
        assert!(run.stderr.starts_with(said), "{database}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
    lab.run(&["query", "runs", "-o", "no/x.csv"])
        .exits(1)
        .says("cannot write no/x.csv: there is no folder no\n");
}
