//! Where things lie: the database, files with odd names, temporary folders, streams; and what is said when
//! they are not there.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::harness::{Lab, build, copy_program, gzip, say, terminal};

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
            let path = lab.path("").join(OsStr::from_bytes(name));
            let mut answer = lab.command(&["query", "runs", "--db"]);
            let answer =
                answer.args([path.as_os_str(), OsStr::new("-o"), path.as_os_str()]).output().unwrap();
            assert_eq!(answer.status.code(), Some(2), "{shown}: {answer:?}");
            assert!(fs::read(path).unwrap().starts_with(b"SQLite format"));
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

/// Makes a pipe that has a name.
fn make_pipe(lab: &Lab, name: &str) {
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, lab.path(name), kind, 0o600.into(), 0).unwrap();
}

/// What a program gives, that must end soon.
#[track_caller]
fn ends(mut command: Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("it waits for ever: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// The program by way of the shell, which runs `$0 ...`.
fn shell(lab: &Lab, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_narwhal-jq")]).current_dir(lab.path(""));
    command.env_remove("NARWHAL_JQ_DB").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn point_11_what_looks_at_sources_does_not_wait_for_a_pipe_at_their_place() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    lab.write("k.jsonl", journal().replace(RUN, "1795977937-56e568d1"));
    lab.run(&["ingest", "j.jsonl", "k.jsonl"]).exits(0);
    lab.run(&["forget", "--run", RUN]).exits(0);
    fs::remove_file(lab.path("j.jsonl")).unwrap();
    make_pipe(&lab, "j.jsonl");
    let _listener = std::os::unix::net::UnixListener::bind(lab.path("s")).unwrap();
    fs::rename(lab.path("s"), lab.path("k.jsonl")).unwrap();
    let status = ends(lab.command(&["status"]));
    assert_eq!(text(&status.stdout).matches("cannot be read").count(), 2, "{status:?}");
    let verify = ends(lab.command(&["verify"]));
    assert_eq!(verify.status.code(), Some(0), "{verify:?}");
    assert!(text(&verify.stderr).contains("j.jsonl: cannot be read"), "{verify:?}");
    let undo = ends(lab.command(&["forget", "--undo", RUN]));
    assert_eq!(undo.status.code(), Some(0), "{undo:?}");
    assert!(text(&undo.stderr).contains("what stood in it does not come back"), "{undo:?}");
    let retry = ends(lab.command(&["rejects", "retry"]));
    assert_eq!(retry.status.code(), Some(0), "{retry:?}");
}

#[test]
fn point_11_what_the_shell_has_opened_is_read_as_standard_input_by_any_of_its_names() {
    for script in [
        "\"$0\" ingest /dev/stdin < j.jsonl",
        "\"$0\" ingest /dev/../dev/stdin < j.jsonl",
        "cat j.jsonl | \"$0\" ingest /dev/stdin",
        "cat j.jsonl | \"$0\" ingest /dev/fd/0",
        "\"$0\" ingest /dev/fd/3 3< j.jsonl",
        "\"$0\" ingest /proc/self/fd/3 3< j.jsonl",
        "gzip -c j.jsonl | \"$0\" ingest in.jsonl",
        "cat j.jsonl | { exec 3<&0; \"$0\" ingest /dev/fd/3 </dev/null; }",
    ] {
        let lab = Lab::new();
        lab.write("j.jsonl", journal());
        std::os::unix::fs::symlink("/dev/stdin", lab.path("in.jsonl")).unwrap();
        let output = ends(shell(&lab, script));
        assert_eq!(output.status.code(), Some(0), "{script}: {output:?}");
        assert_eq!(lab.number("select count(*) from terminals"), 2, "{script}");
        assert_eq!(lab.rows("select path from sources"), [[Value::Text("-".to_owned())]], "{script}");
        // Here standard input is a pipe that nobody writes to, nor closes.
        let mut status = lab.command(&["status"]);
        status.stdin(Stdio::piped());
        let status = ends(status);
        assert!(text(&status.stdout).contains("standard input"), "{script}: {status:?}");
        // The same file is known by its content.
        assert_eq!(lab.ingest("j.jsonl")["total"]["lines"], 0, "{script}");
    }
    // As an older release kept it.
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    lab.ingest("j.jsonl");
    for path in ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let database = Connection::open(lab.path("narwhal.db")).unwrap();
        database.execute("update sources set path = ?1", [path]).unwrap();
        drop(database);
        for command in [&["status"][..], &["verify"]] {
            let mut looks = lab.command(command);
            looks.stdin(Stdio::piped());
            let output = ends(looks);
            assert_eq!(output.status.code(), Some(0), "{path}: {output:?}");
        }
    }
}

#[test]
fn point_11_an_undo_that_waits_for_the_database_heeds_a_signal() {
    for arguments in [&["forget", "--undo", RUN][..], &["ingest", "k.jsonl"]] {
        let lab = Lab::new();
        lab.write("j.jsonl", journal());
        lab.write("k.jsonl", journal().replace(RUN, "1795977937-56e568d1"));
        lab.ingest("j.jsonl");
        lab.run(&["forget", "--run", RUN]).exits(0);
        let database = Connection::open(lab.path("narwhal.db")).unwrap();
        database.execute_batch("pragma journal_mode = wal; begin immediate").unwrap();
        let mut command = lab.command(arguments);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let id = child.id().to_string();
        std::thread::sleep(Duration::from_millis(500));
        let started = Instant::now();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        assert!(started.elapsed() < Duration::from_secs(10), "{arguments:?}");
        assert!(text(&output.stderr).contains("interrupted"), "{output:?}");
    }
}

#[test]
fn point_11_a_redaction_that_waits_for_a_pipe_heeds_a_signal() {
    for inputs in [&["pipe"][..], &["j.jsonl", "pipe"], &["-"]] {
        let lab = Lab::new();
        lab.write("j.jsonl", journal());
        make_pipe(&lab, "pipe");
        let mut command = lab.command(&[&["redact"], inputs, &["-o", "out.jsonl"]].concat());
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        // As long as this is open nobody ends the stream.
        let stream = child.stdin.take();
        let started = Instant::now();
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        drop(stream);
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        assert!(started.elapsed() < Duration::from_secs(10), "{inputs:?}");
        assert_eq!(text(&output.stderr), "error: interrupted: nothing was written\n");
        assert_eq!(names(&lab), [b"j.jsonl".to_vec(), b"pipe".to_vec()], "{inputs:?}");
    }
}

#[test]
fn point_13_a_missing_temporary_folder_is_done_without() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    lab.ingest("j.jsonl");
    let run = |script: &str| {
        let mut command = shell(&lab, script);
        command.env("TMPDIR", "/no/such/folder").env("SQLITE_TMPDIR", "/no/such/folder");
        let output = ends(command);
        assert_eq!(output.status.code(), Some(0), "{script}: {output:?}");
        output
    };
    // What was read before is spooled.
    let more = terminal(RUN, "c", 3.5);
    lab.write("more.jsonl", journal() + &more + "\n");
    run("\"$0\" ingest - < more.jsonl");
    assert_eq!(lab.number("select count(*) from terminals"), 3);
    run("cat more.jsonl | \"$0\" redact - -o redacted.jsonl");
    run("\"$0\" export runs --xlsx book.xlsx");
    run("\"$0\" forget --vacuum");
    assert_eq!(names(&lab).len(), 5, "no temporary file is left: {:?}", names(&lab));
}

/// A script in a place where nothing can be written but the folder, and `full` has 64 KiB.
pub(crate) fn in_a_container(test: &str, lab: &Lab, script: &str) -> Option<Command> {
    let can =
        Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|output| output.status.success());
    if !can {
        say(&format!("{test}: did not run, no file system can be mounted here"));
        return None;
    }
    fs::create_dir_all(lab.path("full")).unwrap();
    let prepare = "mount -t tmpfs -o size=64k none full && for folder in /tmp /var/tmp /usr/tmp; do
        [ ! -d $folder ] || mount -t tmpfs -o ro none $folder; done";
    let mut command = Command::new("unshare");
    let script = format!("({prepare}) || exit 99; {script}");
    // The program may lie in one of those folders.
    let tool = lab.path("tool");
    if !tool.exists() {
        copy_program(&tool);
    }
    command.args(["-m", "sh", "-c", &script]).arg(tool).current_dir(lab.path(""));
    command.env_remove("NARWHAL_JQ_DB").env_remove("TMPDIR").env("NO_COLOR", "1").stdin(Stdio::null());
    Some(command)
}

/// A statement that sorts more than SQLite keeps in memory.
const SORT: &str = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 60000)
    select count(*) as n from (select i, hex(randomblob(40)) as x from n order by x limit -1 offset 1)";

#[test]
fn point_13_a_container_without_room_for_temporary_files_reads_and_answers() {
    let test = "point_13_a_container_without_room";
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    lab.ingest("j.jsonl");
    let rows: String =
        (0..3000).map(|at| terminal(RUN, &format!("r{at}"), 3.0 + f64::from(at)) + "\n").collect();
    lab.write("more.jsonl", journal() + &rows);
    for (at, folder) in ["", "TMPDIR=$PWD/full ", "TMPDIR=/tmp "].into_iter().enumerate() {
        fs::copy(lab.path("narwhal.db"), lab.path("copy.db")).unwrap();
        for script in [
            // Twice: what was read before is more than there is room for.
            format!("{folder}\"$0\" --db copy.db ingest - < more.jsonl"),
            format!("cat more.jsonl | {folder}\"$0\" --db copy.db ingest -"),
            format!("{folder}\"$0\" --db copy.db sql '{SORT}'"),
            format!("cd / && {folder}\"$0\" --db \"$OLDPWD/copy.db\" sql '{SORT}'"),
            format!("{folder}\"$0\" --db copy.db forget --vacuum"),
            format!("{folder}\"$0\" --db copy.db export terminals --xlsx book-{at}.xlsx"),
            format!("cat more.jsonl | {folder}\"$0\" redact - -o redacted.jsonl"),
        ] {
            let Some(mut command) = in_a_container(test, &lab, &script) else { return };
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{script}: {output:?}");
        }
        let copy = Connection::open(lab.path("copy.db")).unwrap();
        let count: i64 = copy.query_row("select count(*) from terminals", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 3002);
    }
    // Where it fills up while it is needed it is named.
    let script = "mount -t tmpfs -o size=34m none full; TMPDIR=$PWD/full \"$0\" sql \"$SORT\"";
    let Some(mut command) = in_a_container(test, &lab, script) else { return };
    let output = command.env("SORT", SORT.replace("60000", "400000")).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(
        said.contains("temporary files in ") && said.contains("/full: TMPDIR names another folder"),
        "{said}"
    );
}

/// A pipe of which one end is in non-blocking mode.
fn set_non_blocking(end: &impl AsFd) {
    let flags = rustix::fs::fcntl_getfl(end).unwrap();
    rustix::fs::fcntl_setfl(end, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
}

#[test]
fn point_14_streams_in_non_blocking_mode_are_waited_for() {
    let lab = Lab::new();
    let rows: String = (0..3000).map(|at| terminal(RUN, &format!("r{at}"), f64::from(at)) + "\n").collect();
    // Standard input, written slowly.
    let (reader, mut writer) = std::io::pipe().unwrap();
    set_non_blocking(&reader);
    let mut command = lab.command(&["ingest", "-"]);
    let child = command.stdin(reader).stderr(Stdio::piped()).spawn().unwrap();
    drop(command);
    for part in rows.as_bytes().chunks(rows.len() / 4 + 1) {
        std::thread::sleep(Duration::from_millis(100));
        writer.write_all(part).unwrap();
    }
    drop(writer);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(lab.number("select count(*) from terminals"), 3000);
    // Standard output, read slowly: by a query, a table, the SQL on standard input, an export of a check.
    lab.write("r.jsonl", &rows);
    for arguments in [
        &["sql", "select * from terminals", "--format", "csv"][..],
        &["sql", "select rid, arrived, terminal from terminals"],
        &["redact", "--check", "r.jsonl"],
    ] {
        let expected = lab.run(arguments);
        let (mut reader, writer) = std::io::pipe().unwrap();
        set_non_blocking(&writer);
        let mut command = lab.command(arguments);
        let mut child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        drop(command);
        std::thread::sleep(Duration::from_millis(300));
        let mut found = String::new();
        reader.read_to_string(&mut found).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(expected.code), "{arguments:?}");
        assert!(
            found == expected.stdout,
            "{arguments:?}: {} bytes, not {}",
            found.len(),
            expected.stdout.len()
        );
    }
    // Standard error, of many files.
    fs::create_dir(lab.path("logs")).unwrap();
    for at in 0..1200 {
        lab.write(&format!("logs/a-journal-with-a-name-that-is-long-{at:04}.jsonl"), "");
    }
    let (mut reader, writer) = std::io::pipe().unwrap();
    set_non_blocking(&writer);
    let mut command = lab.command(&["ingest", "logs"]);
    let mut child = command.stderr(writer).spawn().unwrap();
    drop(command);
    std::thread::sleep(Duration::from_millis(500));
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(said.matches(": empty\n").count(), 1200);
}

#[test]
fn point_14_names_that_are_not_utf_8_are_found_and_known() {
    let lab = Lab::new();
    fs::create_dir(lab.path("logs")).unwrap();
    let path = |name: &[u8]| lab.path("logs").join(OsStr::from_bytes(name));
    // One that looks like the text of another.
    let names: [(&[u8], &str); 3] = [
        (b"caf\xe9.jsonl", "logs/caf\\xE9.jsonl"),
        (b"caf\\xE9.jsonl", "logs/caf\\x5CxE9.jsonl"),
        (b"\xff\xfe.jsonl.1", "logs/\\xFF\\xFE.jsonl.1"),
    ];
    for (at, (name, _)) in names.iter().enumerate() {
        let run = format!("179597793{at}-56e568d1");
        let rows =
            [terminal(&run, "a", 1.5), "nonsense".to_owned(), terminal(&run, "b", 2.5)].join("\n") + "\n";
        fs::write(path(name), rows).unwrap();
    }
    let summary = lab.ingest("logs");
    assert_eq!(summary["total"]["terminals"], 6, "{summary}");
    let paths = lab.rows("select path from sources order by path");
    let mut expected: Vec<String> =
        names.iter().map(|(_, text)| lab.path("").to_str().unwrap().to_owned() + text).collect();
    expected.sort();
    assert_eq!(paths, expected.iter().map(|path| [Value::Text(path.clone())]).collect::<Vec<_>>());
    let status = lab.run(&["status"]).exits(0);
    assert_eq!(status.stdout.matches("  read").count(), 3, "{}", status.stdout);
    let verify = lab.run(&["verify"]).exits(0);
    assert_eq!(verify.stderr, "", "all of them are found");
    // Chosen as the shell gives them, as a pattern of it, and as they are shown.
    for glob in [&b"caf\xe9.jsonl"[..], b"logs/caf\xe9.jsonl", b"*f\xe9.*", b"caf\\xE9.jsonl"] {
        let mut command = lab.command(&["query", "runs", "--format", "csv", "--source"]);
        let output = command.arg(OsStr::from_bytes(glob)).output().unwrap();
        let runs = text(&output.stdout);
        let runs: Vec<&str> = runs.lines().skip(1).filter_map(|row| row.split(',').next()).collect();
        assert_eq!(runs, ["1795977930-56e568d1"], "{}: {output:?}", String::from_utf8_lossy(glob));
    }
    lab.run(&["rejects", "retry"]).exits(0).says("3 retried, 3 still rejected");
    lab.run(&["forget", "--run", "1795977930-56e568d1"]).exits(0);
    let undo = lab.run(&["forget", "--undo", "1795977930-56e568d1"]).exits(0);
    assert!(
        undo.stderr.ends_with(&format!("note: {}logs/caf\\xE9.jsonl\n", lab.path("").display())),
        "{}",
        undo.stderr
    );
    assert_eq!(lab.ingest("logs")["total"]["terminals"], 2);
    // Renamed, it goes on; named alone, too.
    fs::rename(path(names[0].0), path(b"caf\xe8.jsonl")).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(path(b"caf\xe8.jsonl")).unwrap();
    writeln!(file, "{}", terminal("1795977930-56e568d1", "c", 3.5)).unwrap();
    let mut ingest = lab.command(&["ingest", "--format", "json"]);
    let output = ingest.arg(path(b"caf\xe8.jsonl")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(lab.number("select count(*) from sources"), 3);
    assert_eq!(lab.number("select count(*) from sources where path like '%caf\\xE8.jsonl'"), 1);
    // Of a huge line only the beginning is kept: the rest is read from the file.
    let run = "1795977940-56e568d1";
    let mut huge = "x".repeat(100 << 10) + "\n";
    huge.push_str(&(terminal(run, "a", 1.5) + "\n"));
    fs::write(path(b"huge\xe9.jsonl"), huge).unwrap();
    lab.run(&["ingest", "logs"]).exits(0);
    let retry = lab.run(&["rejects", "retry"]).exits(0).says("4 retried, 4 still rejected");
    assert!(!retry.stderr.contains("cannot be read again"), "{}", retry.stderr);
}

#[test]
fn point_16_small_files_share_a_commit() {
    let lab = Lab::new();
    fs::create_dir(lab.path("logs")).unwrap();
    for at in 0..400 {
        let run = format!("{}-56e568d1", 1_795_970_000 + at);
        let rows = [build("0.7.0"), terminal(&run, "a", 1.5), terminal(&run, "b", 2.5)].join("\n") + "\n";
        lab.write(&format!("logs/j-{at:04}.jsonl"), rows);
    }
    let summary = lab.ingest("logs");
    assert_eq!(summary["total"]["terminals"], 800);
    assert_eq!(summary["files"].as_array().unwrap().len(), 400);
    // Bytes 24 to 27 of the file count its commits; a new one is written without a log.
    let database = fs::read(lab.path("narwhal.db")).unwrap();
    let commits = u32::from_be_bytes(database[24..28].try_into().unwrap());
    assert!(commits < 300, "{commits} commits");
    lab.run(&["verify"]).exits(0);
    assert_eq!(lab.ingest("logs")["total"]["lines"], 0);
}

#[test]
fn point_16_a_bad_line_of_a_strict_ingest_undoes_its_file_and_no_other() {
    let lab = Lab::new();
    fs::create_dir(lab.path("logs")).unwrap();
    for at in 0..30 {
        let run = format!("{}-56e568d1", 1_795_970_000 + at);
        let bad = if at == 20 { "nonsense\n" } else { "" };
        let rows = [build("0.7.0"), terminal(&run, "a", 1.5)].join("\n") + "\n" + bad;
        lab.write(&format!("logs/j-{at:04}.jsonl"), rows);
    }
    lab.run(&["ingest", "--strict", "logs"]).exits(3).says("nothing of this file was kept");
    assert_eq!(lab.number("select count(*) from terminals"), 20);
    assert_eq!(lab.number("select count(*) from sources"), 20);
    assert_eq!(lab.number("select count(*) from runs"), 20);
    lab.run(&["verify"]).exits(0);
    let summary = lab.ingest("logs");
    assert_eq!((&summary["total"]["terminals"], &summary["total"]["rejected"]), (&10.into(), &1.into()));
    lab.run(&["verify"]).exits(0);
}

#[test]
fn point_23_python_s_rotation_is_read_in_the_order_of_its_dates() {
    let lab = Lab::new();
    fs::create_dir(lab.path("logs")).unwrap();
    let names = [
        "router.jsonl.2026-11-28",
        "router.jsonl-20261129",
        "router.jsonl.2026-11-29_13",
        "router.jsonl.2026-12-01.gz",
        "router.jsonl",
    ];
    for (at, name) in names.iter().enumerate() {
        let row = terminal(RUN, &format!("r{at}"), at as f64) + "\n";
        let bytes = if name.ends_with(".gz") { gzip(row.as_bytes()) } else { row.into_bytes() };
        lab.write(&format!("logs/{name}"), bytes);
    }
    let summary = lab.run(&["ingest", "logs", "--format", "json"]).exits(0);
    assert_eq!(summary.stderr, "");
    let files = summary.json()["files"].clone();
    let read: Vec<&str> =
        files.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(read, names.map(|name| format!("logs/{name}")));
}

#[test]
fn point_27_folders_inside_folders_are_read_when_asked_for_and_told_of_otherwise() {
    let lab = Lab::new();
    fs::create_dir_all(lab.path("logs/a/deep")).unwrap();
    fs::create_dir_all(lab.path("logs/b")).unwrap();
    let row = |at: u32| terminal(RUN, &format!("r{at}"), f64::from(at)) + "\n";
    lab.write("logs/a/deep/j.jsonl", row(1));
    lab.write("logs/b/j.jsonl", row(2));
    for at in 0..5 {
        lab.write(&format!("logs/b/notes-{at}.txt"), "");
    }
    // A way back up: not read for ever.
    std::os::unix::fs::symlink("..", lab.path("logs/b/up")).unwrap();
    let run = lab.run(&["ingest", "logs"]).exits(1);
    assert_eq!(
        run.stderr,
        "error: no journal in the folder logs, but in folders inside it, as logs/b/j.jsonl: `--recursive` reads those\n"
    );
    let run = lab.run(&["ingest", "--recursive", "logs", "--format", "json"]).exits(0);
    assert_eq!(
        run.stderr,
        "note: 5 files skipped, not journals by their names: logs/b/notes-0.txt, logs/b/notes-1.txt, \
         logs/b/notes-2.txt, ...\n"
    );
    assert_eq!(run.json()["total"]["terminals"], 2);
    fs::create_dir(lab.path("empty")).unwrap();
    lab.run(&["ingest", "--recursive", "empty"])
        .exits(1)
        .says("no journal in the folder empty: looked for *.jsonl, ");
}

#[test]
fn point_27_check_export_and_show_read_journals_first() {
    for (arguments, what) in [
        (&["check", "--max-p99-ttft", "9", "--ingest", "j.jsonl"][..], "checked"),
        (&["show", "b", "--ingest", "j.jsonl"], "shown"),
        (&["export", "table:terminals", "--dir", "out", "--ingest", "j.jsonl"], "exported"),
    ] {
        let lab = Lab::new();
        let row = |rid: &str, arrived: f64| {
            terminal(RUN, rid, arrived).replace("\"terminal\"", "\"ttft_s\": 0.5, \"terminal\"")
        };
        lab.write("j.jsonl", row("a", 1.0) + "\n" + &row("b", 2.0) + "\n");
        let run = lab.run(arguments).exits(0);
        assert_eq!(lab.number("select count(*) from terminals"), 2, "{what}");
        match what {
            "exported" => {
                let csv = fs::read_to_string(lab.path("out/tables/terminals.csv")).unwrap();
                // The header, and a line a request.
                assert_eq!(csv.lines().count(), 3, "{csv}");
            }
            "shown" => assert!(run.stdout.contains("completed"), "{}", run.stdout),
            _ => assert!(run.stdout.contains("holds"), "{}", run.stdout),
        }
        lab.write("more.jsonl", terminal(RUN, "c", 3.0) + "\n");
        let more: Vec<&str> =
            arguments.iter().map(|word| if *word == "j.jsonl" { "more.jsonl" } else { word }).collect();
        lab.run(&more).exits(0);
        assert_eq!(lab.number("select count(*) from terminals"), 3, "{what}");
    }
}
