//! Where answers go, and what they leave alone: issue 13, by its points.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;

use crate::harness::{Lab, build, fixture, formats, gzip, has_program, project, say, terminal, zstd};

const RUN: &str = "1795977936-56e568d1";
const PROGRAM: &str = env!("CARGO_BIN_EXE_narwhal-jq");

/// A database of a sample with two runs, under `j.jsonl`.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.7.0-full.jsonl"));
    lab.ingest("j.jsonl");
    lab
}

/// Runs a script in the lab, the program as `$0`.
fn shell(lab: &Lab, script: &str) -> Output {
    let mut command = Command::new("bash");
    command.args(["-c", script, PROGRAM]).current_dir(lab.path("")).env("NO_COLOR", "1");
    command.env_remove("NARWHAL_JQ_DB").env_remove("COLUMNS").stdin(Stdio::null());
    command.output().expect("there is a shell")
}

fn said(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked"), "{said}");
    said
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

// ---------------------------------------------------------------- 1

/// Every way to write over `file`, which `at` leads to.
#[track_caller]
fn assert_stays(lab: &Lab, at: &str) {
    let before = fs::read(lab.path(at)).ok();
    let meant: [&[&str]; 7] = [
        &["query", "outcomes", "-o", at],
        &["sql", "select 1 as n", "--format", "csv", "-o", at],
        &["rejects", "-o", at],
        &["compare", "1795977814", "1795977820", "-o", at],
        &["export", "runs", "--xlsx", at],
        &["redact", "other.jsonl", "-o", at],
        &["rejects", "list", "--format", "json", "-o", at],
    ];
    for arguments in meant {
        lab.run(arguments).exits(2).says("name another file");
        assert_eq!(fs::read(lab.path(at)).ok(), before, "{arguments:?}");
    }
}

#[test]
fn point_1_no_answer_replaces_a_journal_that_was_or_was_not_read_nor_the_database() {
    let lab = Lab::new();
    let bytes = fixture("0.7.0-full.jsonl");
    lab.write("j.jsonl", &bytes);
    lab.write("other.jsonl", terminal(RUN, "o1", 1.0) + "\n");
    lab.ingest("j.jsonl");
    // What was read, by every way to it.
    symlink("j.jsonl", lab.path("soft")).unwrap();
    fs::hard_link(lab.path("j.jsonl"), lab.path("hard")).unwrap();
    lab.write("copy", &bytes);
    lab.write("copy.gz", gzip(&bytes));
    // What was not read.
    let event = format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \"event\": \"engine_ejected\", \
         \"action\": \"x\", \"at\": 1.0, \"iid\": \"p0\"}}\n"
    );
    lab.write("new.txt", terminal(RUN, "n1", 1.0) + "\n");
    lab.write("built", build("0.7.0") + "\n");
    lab.write("happened", &event);
    lab.write("packed.zst", zstd(event.as_bytes()));
    lab.write("unended", terminal(RUN, "n1", 1.0));
    lab.write("cut", format!("_id\": \"d0\", \"x\": 1}}\n\n{}\n", terminal(RUN, "n2", 1.0)));
    lab.write("later", "{\"schema\": \"narwhal.journal\", \"schema_version\": 9, \"run\": \"r\"}\n");
    for at in [
        "j.jsonl",
        "soft",
        "hard",
        "copy",
        "copy.gz",
        "new.txt",
        "built",
        "happened",
        "packed.zst",
        "unended",
        "cut",
        "later",
        "narwhal.db",
        "narwhal.db-wal",
        "narwhal.db-shm",
        "narwhal.db-journal",
    ] {
        assert_stays(&lab, at);
    }
    assert!(!lab.path("narwhal.db-wal").exists());
    // Within the folder of an export.
    for (file, what) in
        [("queries/runs.csv", "runs"), ("tables/runs.csv", "table:runs"), ("export.json", "runs")]
    {
        for link in ["j.jsonl", "new.txt", "narwhal.db"] {
            let folder = lab.path("out");
            fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
            symlink(lab.path(link), folder.join(file)).unwrap();
            let before = fs::read(lab.path(link)).unwrap();
            lab.run(&["export", "outcomes", what, "--dir", "out"]).exits(2).says("name another file");
            assert_eq!(fs::read(lab.path(link)).unwrap(), before);
            assert!(!folder.join("queries/outcomes.csv").exists(), "nothing else is written either");
            fs::remove_dir_all(folder).unwrap();
        }
    }
    lab.run(&["verify"]).exits(0);
}

#[test]
fn point_1_what_a_link_to_a_journal_leads_to_stays() {
    let lab = Lab::new();
    lab.write("live.jsonl", fixture("0.7.0-full.jsonl"));
    lab.write("other.jsonl", terminal(RUN, "o1", 1.0) + "\n");
    symlink("live.jsonl", lab.path("current")).unwrap();
    symlink("current", lab.path("latest")).unwrap();
    lab.ingest("latest");
    assert_stays(&lab, "live.jsonl");
    // Rotated: the router makes it anew any moment, and has.
    fs::rename(lab.path("live.jsonl"), lab.path("live.jsonl.1")).unwrap();
    for at in ["live.jsonl", "current", "latest", "live.jsonl.1"] {
        assert_stays(&lab, at);
    }
    lab.write("live.jsonl", "");
    fs::hard_link(lab.path("live.jsonl"), lab.path("hard")).unwrap();
    for at in ["live.jsonl", "current", "latest", "hard"] {
        assert_stays(&lab, at);
    }
}

#[test]
fn point_1_a_copy_of_a_journal_stays_however_it_is_wrapped() {
    let lab = Lab::new();
    lab.write("other.jsonl", terminal(RUN, "o1", 1.0) + "\n");
    lab.write("j.jsonl", fixture("0.7.0-full.jsonl"));
    lab.ingest("j.jsonl");
    let rows = [build("0.7.0"), terminal(RUN, "n1", 1.0)];
    let text = rows.join("\n") + "\n";
    let wide = |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    let indented =
        |row: &str| serde_json::to_string_pretty(&serde_json::from_str::<Json>(row).unwrap()).unwrap();
    let noise: Vec<u8> = (0..9000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    // So little of each that not one byte of it can be unpacked.
    let cut = |packed: Vec<u8>| packed[..packed.len().min(20)].to_vec();
    let cell = |row: &str| format!("2026-11-29,\"{}\"\n", row.replace('"', "\"\""));
    let logged = |row: &str| {
        serde_json::json!({"log": format!("{row}\n"), "stream": "stdout", "time": "2026-11-29T01:02:03Z"})
            .to_string()
    };
    let each = |wrap: &dyn Fn(&str) -> String| rows.iter().map(|row| wrap(row)).collect::<String>();
    let junk = "2026-11-29 01:02:03 INFO started\n".repeat(100_000);
    let copies: [(&str, Vec<u8>); 25] = [
        ("csv", each(&cell).into_bytes()),
        ("csv-with-header", format!("at,line\n{}", each(&cell)).into_bytes()),
        ("csv.gz", gzip(each(&cell).as_bytes())),
        ("docker", each(&|row| logged(row) + "\n").into_bytes()),
        ("docker-in-docker", each(&|row| logged(&logged(row)) + "\n").into_bytes()),
        ("docker-in-csv", each(&|row| cell(&logged(row))).into_bytes()),
        ("kubernetes", each(&|row| format!("2026-11-29T01:02:03Z stdout F {row}\n")).into_bytes()),
        ("python", each(&|row| format!("b'{row}'\n").replace('"', "\\x22")).into_bytes()),
        ("page", each(&|row| format!("<p>{}</p>", row.replace('"', "&quot;"))).into_bytes()),
        ("behind-3-mb", (junk.clone() + &text).into_bytes()),
        ("behind-3-mb.zst", zstd((junk.clone() + &text).as_bytes())),
        ("gz-in-gz", gzip(&gzip(text.as_bytes()))),
        ("zst-in-gz", gzip(&zstd(text.as_bytes()))),
        ("utf-16le", wide(u16::to_le_bytes)),
        ("utf-16be", wide(u16::to_be_bytes)),
        ("utf-16", [b"\xff\xfe", &wide(u16::to_le_bytes)[..]].concat()),
        ("array", format!("[{}]", rows.join(",")).into_bytes()),
        ("array-in-lines", format!("[\n{}\n]\n", rows.join(",\n")).into_bytes()),
        ("indented", (indented(&rows[0]) + "\n" + &indented(&rows[1])).into_bytes()),
        ("array.gz", gzip(format!("[{}]", rows.join(",")).as_bytes())),
        ("behind-noise", [&noise, text.as_bytes()].concat()),
        ("packed-in-no-known-way", noise.clone()),
        ("xz", b"\xfd7zXZ\0 and so on".to_vec()),
        ("cut.zst", cut(zstd(text.as_bytes()))),
        ("cut.gz", cut(gzip(text.as_bytes()))),
    ];
    for (name, bytes) in copies {
        lab.write(name, &bytes);
        assert_stays(&lab, name);
    }
    // What an answer may have been is replaced.
    for (name, bytes) in [("old.json", &b"[{\"schema\": \"mine\"}]"[..]), ("old.csv", b"caf\xe9,1\n2,3\n")] {
        lab.write(name, bytes);
        lab.run(&["query", "outcomes", "-o", name]).exits(0);
    }
    for (name, bytes) in [
        ("log", junk.into_bytes()),
        ("log.gz", gzip(&b"2026-11-29,1\n".repeat(300_000))),
        ("notes.md", b"# Notes\n\nnarwhal.journal has rows of three kinds.\n".to_vec()),
        ("log.json", br#"{"log": "{\"schema\": \"mine\"}\n"}"#.to_vec()),
    ] {
        lab.write(name, bytes);
        lab.run(&["query", "outcomes", "-o", name]).exits(0);
    }
}

#[test]
fn point_1_a_name_that_is_not_utf_8_is_guarded_too() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let lab = Lab::new();
    let name = OsStr::from_bytes(b"caf\xe9.jsonl");
    fs::write(lab.path("").join(name), terminal(RUN, "a", 1.0) + "\n").unwrap();
    lab.ingest(".");
    // Rotated away: the router makes it anew any moment.
    fs::remove_file(lab.path("").join(name)).unwrap();
    let arguments = ["query", "outcomes", "-o"].map(OsStr::new);
    let output = lab.command(&[&arguments[..], &[name]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(!lab.path("").join(name).exists());
}

#[test]
fn point_1_a_journal_that_was_not_read_stays_after_a_rotation() {
    let lab = Lab::new();
    lab.write("journal.jsonl", fixture("0.7.0-full.jsonl"));
    lab.ingest("journal.jsonl");
    fs::rename(lab.path("journal.jsonl"), lab.path("journal.jsonl.1")).unwrap();
    let new = terminal(RUN, "n1", 1.0) + "\n";
    lab.write("journal.jsonl", &new);
    lab.run(&["export", "journal", "--dir", "."]).exits(2).says("name another file");
    // Known by its new name only, and the new one has no row yet, or is not there yet.
    lab.write("more.jsonl", terminal(RUN, "m1", 1.0) + "\n");
    lab.run(&["ingest", "journal.jsonl.1", "more.jsonl"]).exits(0);
    lab.run(&["export", "journal", "--dir", "."]).exits(2).says("name another file");
    assert_eq!(fs::read_to_string(lab.path("journal.jsonl")).unwrap(), new);
    lab.write("journal.jsonl", "");
    lab.run(&["export", "journal", "--dir", "."]).exits(2).says("name another file");
    fs::remove_file(lab.path("journal.jsonl")).unwrap();
    lab.run(&["export", "journal", "--dir", "."]).exits(2).says("name another file");
    assert!(!lab.path("journal.jsonl").exists() && !lab.path("export.json").exists());
}

#[test]
fn point_1_a_journal_whose_first_row_is_still_being_written_stays() {
    let lab = lab();
    let sample = fs::read(project().join("samples/journal.jsonl")).unwrap();
    let rows: Vec<&[u8]> = sample.split(|byte| *byte == b'\n').collect();
    for (name, torn) in [
        ("build", &rows[0][..200]),
        ("row", &rows[1][..700]),
        ("whole", &rows[1][..rows[1].len() - 1]),
        ("words", &rows[1][..17]),
        ("meta", &rows[0][..11]),
        ("brace", &rows[1][..1]),
    ] {
        let path = lab.write(name, torn);
        lab.run(&["query", "runs", "-o", name]).exits(2).says("a journal");
        assert_eq!(fs::read(path).unwrap(), torn, "{name}");
    }
}

#[test]
fn point_1_an_own_export_is_replaced_until_somebody_else_writes_to_it() {
    let lab = lab();
    for more in [&[][..], &["--redact"]] {
        let arguments = [&["export", "journal", "--dir", "out"], more].concat();
        lab.run(&arguments).exits(0);
        lab.run(&arguments).exits(0);
        // Known by what stands beside it, too, where a file has no attributes.
        let copy = fs::read(lab.path("out/journal.jsonl")).unwrap();
        fs::remove_file(lab.path("out/journal.jsonl")).unwrap();
        lab.write("out/journal.jsonl", copy);
        lab.run(&arguments).exits(0);
    }
    lab.run(&["redact", "j.jsonl", "-o", "public.jsonl"]).exits(0);
    lab.run(&["redact", "j.jsonl", "-o", "public.jsonl"]).exits(0);
    for (file, arguments) in [
        ("out/journal.jsonl", &["export", "journal", "--dir", "out"][..]),
        ("public.jsonl", &["redact", "j.jsonl", "-o", "public.jsonl"]),
    ] {
        let longer = fs::read_to_string(lab.path(file)).unwrap() + &terminal(RUN, "n1", 1.0) + "\n";
        lab.write(file, &longer);
        lab.run(arguments).exits(2).says("none that narwhal-jq wrote and nobody changed");
        assert_eq!(fs::read_to_string(lab.path(file)).unwrap(), longer);
    }
    // Other answers are replaced as ever.
    for arguments in [
        &["query", "outcomes", "-o", "a"][..],
        &["sql", "select * from requests", "--format", "jsonl", "-o", "a"],
        &["rejects", "-o", "a"],
        &["export", "runs", "--xlsx", "a"],
        &["query", "outcomes", "--format", "csv", "-o", "a"],
    ] {
        lab.run(arguments).exits(0);
    }
    lab.write("key", "0123456789abcdef");
    lab.run(&["query", "runs", "--redact", "--key", "key", "-o", "key"]).exits(2).says("is the key, too");
    lab.write("q.sql", "select 1 as n");
    lab.run(&["sql", "-f", "q.sql", "-o", "q.sql"]).exits(2).says("is the SQL, too");
}

// ---------------------------------------------------------------- 4

#[test]
fn point_4_what_is_open_already_is_written_through() {
    let lab = lab();
    let csv = lab.run(&["query", "outcomes", "--format", "csv"]).exits(0).stdout;
    symlink("/dev/stdout", lab.path("out-link")).unwrap();
    symlink("/proc/self/fd/3", lab.path("three")).unwrap();
    for (way, opened) in [
        ("/dev/stdout", "1"),
        ("/dev/fd/1", "1"),
        ("/proc/self/fd/1", "1"),
        ("/proc/thread-self/fd/1", "1"),
        ("out-link", "1"),
        ("/dev/stderr", "2"),
        ("/dev/fd/3", "3"),
        ("three", "3"),
    ] {
        for open in [">", ">>"] {
            let script = format!(
                "echo old > f; exec {opened}{open}f; echo before >&{opened}
                 \"$0\" query outcomes --format csv -o {way} || exit
                 echo after >&{opened}"
            );
            let output = shell(&lab, &script);
            assert!(output.status.success(), "{way}: {}", said(&output));
            let old = if open == ">>" { "old\n" } else { "" };
            let found = fs::read_to_string(lab.path("f")).unwrap();
            assert_eq!(found, format!("{old}before\n{csv}after\n"), "{opened}{open}f, -o {way}");
        }
    }
    let output = shell(&lab, "\"$0\" query outcomes -o /dev/fd/9");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(said(&output), "error: cannot write /dev/fd/9: descriptor 9 is not open\n");
    // A journal that is open is one, too.
    let before = fs::read(lab.path("j.jsonl")).unwrap();
    assert_eq!(shell(&lab, "\"$0\" query outcomes -o /dev/fd/3 3>>j.jsonl").status.code(), Some(2));
    assert_eq!(fs::read(lab.path("j.jsonl")).unwrap(), before);
    // Pipes with a name and without, and devices; every writer.
    let output = shell(&lab, "mkfifo p; cat p > g & \"$0\" query outcomes --format csv -o p; wait");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::read_to_string(lab.path("g")).unwrap(), csv);
    assert!(fs::symlink_metadata(lab.path("p")).unwrap().file_type().is_fifo());
    let output = shell(&lab, "\"$0\" query outcomes --format csv -o >(cat > h; echo done); wait");
    assert!(output.status.success(), "{}", said(&output));
    for arguments in ["redact j.jsonl -o", "export runs --xlsx", "compare 1795977814 1795977820 -o"] {
        let output =
            shell(&lab, &format!("\"$0\" -q {arguments} /dev/stdout > k; \"$0\" -q {arguments} /dev/null"));
        assert!(output.status.success(), "{arguments}: {}", said(&output));
        assert!(fs::metadata(lab.path("k")).unwrap().len() > 100, "{arguments}");
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}

// ---------------------------------------------------------------- 6

/// Runs the program with nobody to read its standard output.
fn unread(lab: &Lab, arguments: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = lab.command(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    (output.status.code(), said(&output))
}

#[test]
fn point_6_a_closed_pipe_is_quiet_and_the_verdict_stays() {
    let lab = lab();
    lab.write("text", "no row\n");
    lab.write("nothing.jsonl", "");
    let verdicts: [&[&str]; 12] = [
        &["redact", "--check", "j.jsonl"],
        &["redact", "--check", "nothing.jsonl"],
        &["check", "--max-p99-ttft", "0.000001"],
        &["check", "--max-p99-ttft", "99"],
        &["query", "runs", "--ingest", "text"],
        &["query", "runs", "--ingest", "missing"],
        &["query", "runs"],
        &["ingest", "missing", "--format", "json"],
        &["ingest", "text", "--format", "json"],
        &["status"],
        &["query"],
        &["compare", "1795977814", "1795977820"],
    ];
    let mut codes = Vec::new();
    for arguments in verdicts {
        let whole = lab.run(arguments);
        let (code, said) = unread(&lab, arguments);
        assert_eq!(code, Some(whole.code), "{arguments:?}: {said}");
        assert!(!said.contains("pipe"), "{arguments:?}: {said}");
        codes.push(whole.code);
    }
    assert_eq!(codes, [1, 0, 6, 0, 1, 1, 0, 1, 1, 0, 0, 0]);
    // What was counted is not what is stored.
    let database = rusqlite::Connection::open(lab.path("narwhal.db")).unwrap();
    database.execute("update terminal_counts set requests = requests + 1", []).unwrap();
    drop(database);
    lab.run(&["verify"]).exits(1);
    assert_eq!(unread(&lab, &["verify"]).0, Some(1));
    // A file that another program reads.
    let output = shell(&lab, "\"$0\" redact j.jsonl -o >(:)");
    assert_eq!((output.status.code(), said(&output).contains("pipe")), (Some(0), false));
}

// ---------------------------------------------------------------- 9

#[test]
fn point_9_every_file_of_a_folder_is_traced_to_the_call_that_wrote_it() {
    let lab = lab();
    let sidecar =
        || -> Json { serde_json::from_slice(&fs::read(lab.path("out/export.json")).unwrap()).unwrap() };
    lab.run(&["export", "outcomes", "table:runs", "--dir", "out"]).exits(0);
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    lab.run(&["export", "attainment", "--dir", "out"]).exits(0);
    lab.write("more.jsonl", terminal(RUN, "m1", 1.0) + "\n");
    lab.ingest("more.jsonl");
    lab.run(&["export", "outcomes", "journal", "--run", "last", "--dir", "out"]).exits(0);
    let said = sidecar();
    let of = |place: &str| {
        let written = said["written"].as_array().unwrap();
        let found: Vec<&Json> = written.iter().filter(|one| one["place"] == place).collect();
        assert_eq!(found.len(), 1, "{place}: {said:#}");
        let call = &found[0]["call"];
        let calls = [&said].into_iter().chain(said["earlier"].as_array().unwrap());
        let calls: Vec<&Json> = calls.filter(|one| one["call"] == *call).collect();
        assert_eq!(calls.len(), 1, "{place}: {said:#}");
        (found[0], calls[0])
    };
    let (file, call) = of("tables/runs.csv");
    assert_eq!((&file["rows"], call["slos"].as_array().unwrap().len()), (&2.into(), 0));
    assert_eq!(call["sources"].as_array().unwrap().len(), 1);
    let (_, call) = of("queries/attainment.csv");
    assert_eq!((&call["slos"][0]["ttft_s"], call["sources"].as_array().unwrap().len()), (&0.8.into(), 1));
    let (file, call) = of("queries/outcomes.csv");
    assert_eq!((&file["selection"][0], call["sources"].as_array().unwrap().len()), (&"--run last".into(), 2));
    of("journal.jsonl");
    assert_eq!(said["written"].as_array().unwrap().len(), 4);
    for one in said["written"].as_array().unwrap() {
        let place = lab.path("out").join(one["place"].as_str().unwrap());
        assert_eq!(one["bytes"], fs::metadata(place).unwrap().len(), "{one}");
    }
    // When the last file of a call is replaced, the call is forgotten.
    lab.run(&["export", "attainment", "table:runs", "--dir", "out"]).exits(0);
    assert_eq!(sidecar()["earlier"].as_array().unwrap().len(), 1);
    // One of the first release has no numbers.
    lab.write(
        "out/export.json",
        r#"{"tool": "narwhal-jq", "version": "0.1.0", "written": [
            {"kind": "query", "name": "outcomes", "place": "here/queries/outcomes.csv", "rows": 1, "parameters": {}}]}"#,
    );
    lab.run(&["export", "attainment", "--dir", "out"]).exits(0);
    let said = sidecar();
    assert_eq!(said["written"][1]["place"], "queries/outcomes.csv");
    assert_eq!((&said["call"], &said["earlier"][0]["call"]), (&2.into(), &1.into()));
    // What is none of ours, or broken, stays, and so does everything else.
    for foreign in
        ["{\"name\": \"x\"}", "[]", "", "{\"tool\": \"narwhal-jq\", \"writ", "{\"tool\": \"narwhal-jq\"}"]
    {
        lab.write("out/export.json", foreign);
        fs::remove_file(lab.path("out/tables/runs.csv")).ok();
        lab.run(&["export", "table:runs", "--dir", "out"])
            .exits(2)
            .says("out/export.json is none that narwhal-jq");
        assert_eq!(fs::read_to_string(lab.path("out/export.json")).unwrap(), foreign);
        assert!(!lab.path("out/tables/runs.csv").exists());
    }
}

// ---------------------------------------------------------------- 12

#[test]
fn point_12_a_workbook_without_room_for_its_temporary_files_is_an_error() {
    let lab = lab();
    let output = shell(&lab, "ulimit -f 8; TMPDIR=. \"$0\" export table:requests --xlsx out.xlsx");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("a workbook needs temporary files in .: "), "{}", said(&output));
    assert!(said(&output).contains("TMPDIR names another folder"), "{}", said(&output));
    assert_eq!(names(&lab.path("")), ["j.jsonl", "narwhal.db"]);
    // Where there is no temporary folder, that of the workbook does.
    let output = shell(&lab, "TMPDIR=/missing \"$0\" export table:requests --xlsx out.xlsx");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(names(&lab.path("")), ["j.jsonl", "narwhal.db", "out.xlsx"]);
}

#[test]
fn point_12_a_workbook_onto_a_full_disk_is_one_error() {
    let lab = lab();
    // Files may have 4 KiB: as a disk that is full, and without one.
    for limited in [
        "trap '' XFSZ; ulimit -f 4; \"$0\" export table:terminals --xlsx x.xlsx",
        // Room for all but the workbook itself.
        "\"$0\" export table:terminals --xlsx /dev/full",
    ] {
        let output = shell(&lab, limited);
        assert_eq!(output.status.code(), Some(1), "{limited}");
        let said = said(&output);
        assert!(
            said.lines().all(|line| ["error: ", "note: ", "  "].iter().any(|begin| line.starts_with(begin))),
            "{said}"
        );
        assert_eq!(said.matches("error: ").count(), 1, "{said}");
        assert!(!lab.path("x.xlsx").exists());
    }
}

#[test]
fn point_12_every_command_does_without_threads_where_none_can_be_started() {
    let test = "point_12_every_command_does_without_threads";
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.7.0-full.jsonl"));
    lab.write("gz.jsonl.gz", gzip((terminal(RUN, "m1", 1.0) + "\n").as_bytes()));
    fs::copy(PROGRAM, lab.path("tool")).unwrap();
    for (name, mode) in [("", 0o777), ("tool", 0o755), ("j.jsonl", 0o644), ("gz.jsonl.gz", 0o644)] {
        fs::set_permissions(lab.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    // A user who is bound by the limit, and runs nothing else.
    let run = |script: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=64321", "--regid=64321", "--clear-groups", "--", "bash", "-c"]);
        command
            .arg(format!("ulimit -u 1 || exit 98; {script}"))
            .current_dir(lab.path(""))
            .env("NO_COLOR", "1");
        command.env_remove("NARWHAL_JQ_DB").stdin(Stdio::null()).output()
    };
    if !run("exec test -x ./tool").is_ok_and(|output| output.status.success()) {
        return say(&format!("{test}: did not run, no other user can be had"));
    }
    // The limit is one: no other process can be had, and so no thread.
    assert!(!run("(:); exit $?").unwrap().status.success(), "nothing is limited");
    for (arguments, code) in [
        ("ingest j.jsonl gz.jsonl.gz", 0),
        ("ingest - < j.jsonl", 0),
        ("query runs", 0),
        ("query runs --ingest j.jsonl -o answer", 0),
        ("check --max-p99-ttft 0.0001", 6),
        ("export runs --xlsx out.xlsx", 0),
        ("export --all --dir out", 0),
        ("redact j.jsonl -o public.jsonl", 0),
        ("show m1", 0),
        ("compare 1795977814 1795977820", 0),
        ("report -o page.html", 0),
        ("export lake --dir lake", 0),
        ("lake check lake", 0),
        ("status", 0),
        ("verify", 0),
        ("rejects retry", 0),
        ("forget --run 1795977936-56e568d1", 0),
        ("sql 'select 1'", 0),
    ] {
        let output = run(&format!("exec ./tool {arguments}")).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {}", said(&output));
    }
    assert_eq!(lab.number("select count(distinct run_id) from terminals"), 2);
}

// ---------------------------------------------------------------- 15

#[test]
fn point_15_a_long_table_takes_little_memory_and_begins_at_once() {
    let lab = lab();
    // Without an end: who waits for all of it waits for ever.
    let endless =
        "with recursive n(i) as (select 1 union all select i + 1 from n) select i, i * 0.5 as half from n";
    for format in formats() {
        let mut child = lab.command(&["sql", endless, "--format", &format]);
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "{format}");
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{format}");
    }
    // 200,000 rows of 200 bytes within an address space of 160 MB.
    let long = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) \
                select i, i * 0.001 as real, printf('%0200d', i) as long from n";
    let script = format!("ulimit -v 160000; \"$0\" sql \"{long}\" | awk 'END {{ print NR, $1, $2, NF }}'");
    let output = shell(&lab, &script);
    assert_eq!(said(&output), "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "200001 200000 200.0000 3\n");
}

// ---------------------------------------------------------------- 22 and 24

/// What a terminal of so many columns shows: Python has one.
pub(crate) fn on_terminal(lab: &Lab, columns: u16, arguments: &[&str]) -> String {
    let script = "import fcntl, os, pty, struct, subprocess, sys, termios\n\
        master, slave = pty.openpty()\n\
        attributes = termios.tcgetattr(slave)\n\
        attributes[1] &= ~termios.OPOST\n\
        termios.tcsetattr(slave, termios.TCSANOW, attributes)\n\
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))\n\
        child = subprocess.Popen(sys.argv[2:], stdout=slave, stderr=subprocess.DEVNULL)\n\
        os.close(slave)\n\
        while True:\n\
        \x20   try: part = os.read(master, 65536)\n\
        \x20   except OSError: break\n\
        \x20   if not part: break\n\
        \x20   sys.stdout.buffer.write(part)\n\
        sys.exit(child.wait())";
    let mut command = Command::new("python3");
    command.args(["-c", script, &columns.to_string(), PROGRAM]).args(arguments).current_dir(lab.path(""));
    command.env_remove("NARWHAL_JQ_DB").env_remove("COLUMNS").stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn point_22_two_columns_of_one_name_are_refused_as_json() {
    let lab = lab();
    for format in formats() {
        let asked = ["sql", "select 1 as n, 2 as m, 3 as n", "--format", &format];
        if format.starts_with("json") {
            lab.run(&[&asked[..], &["-o", "answer"]].concat()).exits(2).says("two columns are called \"n\"");
            assert!(!lab.path("answer").exists());
            continue;
        }
        let shown = lab.run(&asked).exits(0).stdout;
        let cells: Vec<&str> =
            shown.lines().last().unwrap().split([' ', ',', '|']).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells, ["1", "2", "3"], "{format}");
    }
}

#[test]
fn point_22_targets_in_milliseconds_are_warned_of() {
    let lab = lab();
    let ttft = "warning: a TTFT of 800 s: targets are in seconds, 800 ms are 0.8";
    let tpot = "warning: a TPOT of 30 s: targets are in seconds, 30 ms are 0.03";
    for arguments in [
        &["slo", "set", "--ttft", "800", "--tpot", "30"][..],
        &["query", "attainment", "--ttft", "800", "--tpot", "30"],
        &["compare", "1795977814", "1795977820", "--ttft", "800", "--tpot", "30"],
        &["check", "--min-attainment", "0", "--ttft", "800", "--tpot", "30"],
        &["export", "attainment", "--ttft", "800", "--tpot", "30", "--dir", "out"],
    ] {
        lab.run(arguments).exits(0).says(ttft).says(tpot);
    }
    lab.run(&["check", "--max-p99-ttft", "800"]).says(ttft);
    let run = lab.run(&["slo", "set", "--ttft", "100", "--tpot", "10"]).exits(0);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[test]
fn point_22_a_terminal_that_does_not_know_its_width_turns_no_table() {
    if !has_program("point_22_a_terminal_that_does_not_know_its_width_turns_no_table", "python3") {
        return;
    }
    let lab = lab();
    let arguments = ["query", "outcomes"];
    assert_eq!(on_terminal(&lab, 0, &arguments), lab.run(&arguments).exits(0).stdout);
    // And without one, as some start a program.
    let arguments = ["compare", "1795977814", "1795977820"];
    let unknown = lab.command(&arguments).env("COLUMNS", "0").output().unwrap();
    assert_eq!(said(&unknown), lab.run(&arguments).exits(0).stderr);
}

#[test]
fn point_24_answers_fit_a_terminal_of_80_columns() {
    if !has_program("point_24_answers_fit_a_terminal_of_80_columns", "python3") {
        return;
    }
    let lab = lab();
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    let shown = on_terminal(&lab, 80, &["query", "engine-failures"]);
    assert!(shown.starts_with("scope 1795977814-3f8e66b9\nengine  leg "), "{shown}");
    assert!(shown.contains("\n\nscope 1795977820-e0f86d89\nengine  leg "), "{shown}");
    // Counted and added up by a few lines of Python over the journal.
    let expected = "\
scope 1795977814-3f8e66b9
                                                              wasted_  backoff_
requests  retried  retry_rate  served_after_retry  attempts  attempts   s_total
      30        3      0.1000                   3        33         3    0.3258

scope 1795977820-e0f86d89
                                                              wasted_  backoff_
requests  retried  retry_rate  served_after_retry  attempts  attempts   s_total
      30        4      0.1333                   4        34         4    0.5207
";
    assert_eq!(on_terminal(&lab, 80, &["query", "retries"]), expected);
    let listed = lab.run(&["query"]).exits(0).stdout;
    let queries: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let (mut turned, mut told) = (Vec::new(), 0);
    for query in queries {
        let answer = lab.run(&["query", query, "--format", "json"]).exits(0).json();
        let rows = answer.as_array().unwrap().len();
        if rows == 0 {
            continue;
        }
        told += 1;
        let shown = on_terminal(&lab, 80, &["query", query]);
        // Turned, each row has a line for each column, and an empty one between.
        let columns = answer[0].as_object().unwrap().len();
        let lines = shown.lines().filter(|line| !line.starts_with("wall times of "));
        if lines.count() == rows * (columns + 1) - 1 {
            turned.push(query);
        } else {
            assert!(shown.lines().all(|line| line.chars().count() <= 80), "{query}:\n{shown}");
        }
        let is_exponent =
            |four: &[u8]| four[0].is_ascii_digit() && &four[1..3] == b"e-" && four[3].is_ascii_digit();
        let is_number = |word: &str| word.parse::<f64>().is_ok();
        let numbers = shown.split_whitespace().filter(|word| is_number(word));
        for number in numbers {
            assert!(!number.as_bytes().windows(4).any(is_exponent), "{query}: {number}");
        }
    }
    say(&format!("{} of {told} answers are turned at 80 columns: {turned:?}", turned.len()));
    assert_eq!(turned, [""; 0]);
}

#[test]
fn point_24_stretches_in_which_nothing_arrived_are_one_line_for_eyes_alone() {
    if !has_program("point_24_stretches_in_which_nothing_arrived_are_one_line_for_eyes_alone", "python3") {
        return;
    }
    let lab = Lab::new();
    // Two requests of one run, twenty minutes apart.
    lab.write(
        "j.jsonl",
        [build("0.7.0"), terminal(RUN, "a", 1.0), terminal(RUN, "b", 1201.0)].join("\n") + "\n",
    );
    lab.ingest("j.jsonl");
    let rates = |format: &str| lab.run(&["query", "rates", "--by", "1m", "--format", format]).exits(0);
    let rows = rates("json").json();
    let rows = rows.as_array().unwrap();
    let is_idle = |row: &&Json| row["offered"] == 0;
    let idle: Vec<&Json> = rows.iter().filter(is_idle).collect();
    assert!(idle.len() >= 18, "{rows:?}");
    let line = format!(
        "{} to {}: nothing arrived ({} stretches)",
        idle[0]["scope"].as_str().unwrap(),
        idle[idle.len() - 1]["scope"].as_str().unwrap(),
        idle.len()
    );
    for shown in [rates("table").stdout, on_terminal(&lab, 80, &["query", "rates", "--by", "1m"])] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
        assert!(shown.lines().count() < 12, "{shown}");
    }
    for (asked, line) in [
        (&["query", "rates", "--by", "run,1m"][..], format!("{RUN} +000000060s to {RUN} +000001140s")),
        (&["query", "attainment-over-time", "--ttft", "1", "--tpot", "1"], "60 to 1140".to_owned()),
    ] {
        let shown = lab.run(asked).exits(0).stdout;
        let line = format!("{line}: nothing arrived (19 stretches)");
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
        assert!(shown.lines().count() < 12, "{shown}");
    }
    assert_eq!(rates("csv").stdout.lines().count(), rows.len() + 1);
    assert_eq!(rates("markdown").stdout.lines().count(), rows.len() + 2);
}

#[test]
fn point_24_notes_and_help_wrap_between_words() {
    let lab = lab();
    for arguments in
        [&["query", "attainment"][..], &["--help"], &["query", "attainment", "--help"], &["query"]]
    {
        let mut command = lab.command(arguments);
        let output = command.env("COLUMNS", "60").output().unwrap();
        for line in [said(&output), String::from_utf8(output.stdout).unwrap()].concat().lines() {
            assert!(line.chars().count() <= 60, "{arguments:?}: {line}");
        }
    }
    let mut command = lab.command(&["compare", "1795977814", "1795977820"]);
    let output = command.env("COLUMNS", "50").output().unwrap();
    let wrapped = said(&output);
    assert!(wrapped.lines().all(|line| line.chars().count() <= 50), "{wrapped}");
    let whole = lab.run(&["compare", "1795977814", "1795977820"]).stderr;
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&wrapped), words(&whole));
    assert!(wrapped.lines().count() > whole.lines().count());
}

// ---------------------------------------------------------------- 23

#[test]
fn point_23_a_link_that_leads_nowhere_stays_and_what_it_names_is_made() {
    let lab = lab();
    let csv = lab.run(&["query", "outcomes", "--format", "csv"]).exits(0).stdout;
    fs::create_dir(lab.path("far")).unwrap();
    symlink("far/two", lab.path("one")).unwrap();
    symlink("answer.csv", lab.path("far/two")).unwrap();
    lab.run(&["query", "outcomes", "--format", "csv", "-o", "one"]).exits(0);
    assert_eq!(fs::read_to_string(lab.path("far/answer.csv")).unwrap(), csv);
    assert!(fs::symlink_metadata(lab.path("one")).unwrap().is_symlink());
    assert!(fs::symlink_metadata(lab.path("far/two")).unwrap().is_symlink());
    symlink("gone/answer.csv", lab.path("lost")).unwrap();
    let lost = lab.run(&["query", "outcomes", "-o", "lost"]).exits(1);
    assert_eq!(lost.stderr, "error: cannot write lost: there is no folder gone\n");
    symlink("circle", lab.path("circle")).unwrap();
    lab.run(&["query", "outcomes", "-o", "circle"])
        .exits(1)
        .says("cannot write circle: its links lead in a circle");
}

#[test]
fn point_23_a_file_that_may_grow_no_further_is_an_error_without_temporary_names_or_files() {
    let lab = lab();
    let before = names(&lab.path(""));
    for arguments in [
        "sql 'select * from requests' --format csv -o out.csv",
        "sql 'select * from requests' --format jsonl -o out.csv",
        "redact j.jsonl -o out.jsonl",
        "export table:terminals --dir .",
        "export journal --dir sub",
    ] {
        let output = shell(&lab, &format!("mkdir -p sub tables; ulimit -f 8; \"$0\" {arguments}"));
        let told = said(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {told}");
        assert!(told.contains("File too large") && !told.contains(".narwhal-jq-"), "{arguments}: {told}");
        for folder in ["sub", "tables"] {
            assert_eq!(names(&lab.path(folder)), [""; 0], "{arguments}");
            fs::remove_dir(lab.path(folder)).unwrap();
        }
        assert_eq!(names(&lab.path("")), before, "{arguments}");
    }
}

#[test]
fn point_14_help_and_version_are_written_as_answers_are() {
    let lab = Lab::new();
    for asked in ["--help", "--version", "query --help", "query attainment --help", "help ingest"] {
        let full = shell(&lab, &format!("\"$0\" {asked} >/dev/full"));
        assert_eq!(full.status.code(), Some(1), "{asked}");
        assert_eq!(
            said(&full),
            "error: cannot write to standard output: No space left on device (os error 28)\n"
        );
        // `head` is gone when the rest is written.
        let closed = shell(&lab, &format!("\"$0\" {asked} | true; echo ${{PIPESTATUS[0]}}"));
        assert_eq!(
            (String::from_utf8_lossy(&closed.stdout).trim(), said(&closed).as_str()),
            ("0", ""),
            "{asked}"
        );
    }
    // A pipe in non-blocking mode that is read late.
    if has_program("point_14_help_and_version_are_written_as_answers_are", "python3") {
        let script = "import fcntl, os, subprocess, sys, time\n\
            r, w = os.pipe()\n\
            fcntl.fcntl(w, 1031, 4096)\n\
            os.set_blocking(w, False)\n\
            p = subprocess.Popen([sys.argv[1], 'query', 'latency', '--help'], stdout=w, stderr=w)\n\
            os.close(w)\n\
            time.sleep(0.5)\n\
            text = open(r, 'rb').read()\n\
            p.wait()\n\
            sys.stdout.buffer.write(text)\n\
            sys.exit(p.returncode)";
        let mut command = Command::new("python3");
        command.args(["-c", script, PROGRAM]).env("NO_COLOR", "1").env_remove("COLUMNS");
        let late = command.output().unwrap();
        let whole = lab.run(&["query", "latency", "--help"]).exits(0).stdout;
        assert!(whole.len() > 4096);
        assert_eq!((late.status.code(), String::from_utf8_lossy(&late.stdout)), (Some(0), whole.into()));
    }
    // What was typed drives no terminal.
    let typed = shell(&lab, "\"$0\" query $'x\\e[2J\\a'");
    assert_eq!(typed.status.code(), Some(2));
    assert!(!typed.stderr.contains(&0x1b) && !typed.stderr.contains(&7), "{:?}", said(&typed));
}

#[test]
fn point_23_names_reach_messages_as_a_shell_reads_them_and_drive_no_terminal() {
    let lab = lab();
    let name = "n\\xff\\e[2J\\x85x";
    let asked = [
        format!("--db $'{name}.db' query runs"),
        format!("--db $'{name}.db' ingest $'{name}.jsonl'"),
        format!("--db narwhal.db query outcomes -o $'{name}/a.csv'"),
        format!("--db narwhal.db export runs --dir $'{name}d'"),
        format!("--db narwhal.db export lake --dir $'{name}l'"),
        format!("--db narwhal.db export runs --xlsx $'{name}/a.xlsx'"),
        format!("--db narwhal.db sql -f $'{name}.sql'"),
        format!("--db narwhal.db query --queries $'{name}'"),
        format!("lake check $'{name}'"),
        format!("redact $'{name}.jsonl' -o x.jsonl"),
        format!("redact --check $'{name}.jsonl'"),
        format!("redact j.jsonl -o $'{name}.out'"),
        format!("redact j.jsonl --key $'{name}.key' -o x.jsonl"),
        format!("--config $'{name}.toml' status"),
        format!("--db $'{name}.db' status"),
        format!("--db $'{name}.db' config"),
        format!("ingest $'{name}.db-dir'"),
    ];
    for asked in asked {
        let output = shell(&lab, &format!("\"$0\" {asked}"));
        let both = [&output.stdout[..], &output.stderr[..]].concat();
        let text = String::from_utf8(both).expect("it is text");
        assert!(
            !text.contains('\u{fffd}') && !text.contains('\u{1b}') && !text.contains('\u{85}'),
            "{asked}: {text:?}"
        );
        assert!(text.contains("n\\xFF\\u{1b}[2J\\x85x"), "{asked}: {text}");
    }
    // Where findings are, too, and what a journal says.
    let row = terminal(RUN, "r\\u001b[2J", 1.0)
        .replace("\"terminal\"", "\"error\": \"host='gpu7\\u001b[2J'\", \"terminal\"");
    lab.write("j2.jsonl", row + "\n");
    let looked = shell(
        &lab,
        "cp j2.jsonl $'a\\e[31mb.jsonl'; \"$0\" redact --check $'a\\e[31mb.jsonl'; \"$0\" ingest $'a\\e[31mb.jsonl'; \
         \"$0\" query requests; \"$0\" show r; \"$0\" status; \"$0\" verify",
    );
    assert!(!looked.stdout.contains(&0x1b) && !looked.stderr.contains(&0x1b), "{looked:?}");
}

#[test]
fn point_24_the_lines_of_check_and_show_wrap_between_words() {
    if !has_program("point_24_the_lines_of_check_and_show_wrap_between_words", "python3") {
        return;
    }
    let lab = lab();
    let rid = lab.rows("select rid from terminals where attempt_failures > 0 limit 1");
    let rusqlite::types::Value::Text(rid) = &rid[0][0] else { panic!("a rid is text") };
    for asked in
        [format!("show {rid} --ttft 1 --tpot 1"), "check --min-attainment 0.5 --ttft 1 --tpot 1".to_owned()]
    {
        let plain = shell(&lab, &format!("\"$0\" {asked} 2>/dev/null"));
        let plain = String::from_utf8_lossy(&plain.stdout).into_owned();
        assert!(plain.lines().any(|line| line.chars().count() > 80), "{plain}");
        let seen = on_terminal(&lab, 80, &asked.split(' ').collect::<Vec<_>>());
        assert!(seen.lines().all(|line| line.chars().count() <= 80), "{seen}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&seen), words(&plain), "nothing of it is lost");
    }
}

#[test]
fn a_part_of_the_requests_says_of_how_many() {
    // As `jq -r 'select(.terminal) | .rid' | wc -l` counts them.
    let lab = Lab::new();
    let rows: Vec<String> = (0..1189).map(|at| terminal("100-a", &format!("r{at}"), f64::from(at))).collect();
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    lab.run(&["query", "requests"]).exits(0).says("note: 100 of 1,189: --limit N gives more");
    lab.run(&["query", "requests", "--limit", "7", "--from", "1000"]).exits(0).says("note: 7 of 189: ");
    let all = lab.run(&["query", "requests", "--limit", "1189"]).exits(0);
    assert!(!all.stderr.contains(" of 1,189"), "{}", all.stderr);
    let few = lab.run(&["query", "requests", "--from", "1150"]).exits(0);
    assert!(!few.stderr.contains("--limit"), "{}", few.stderr);
}

#[test]
fn buckets_that_hide_a_burst_are_told_of_with_those_that_suit() {
    let lab = Lab::new();
    // 40 s, then 400 s: a bucket of 60 s takes in all of the one, and a seventh of the other.
    for (run, seconds) in [("100-a", 40), ("200-b", 400)] {
        let rows: Vec<String> =
            (0..=40).map(|at| terminal(run, &format!("r{at}"), f64::from(at * seconds) / 40.0)).collect();
        lab.write(&format!("{run}.jsonl"), rows.join("\n") + "\n");
        lab.ingest(&format!("{run}.jsonl"));
    }
    for query in ["throughput", "goodput", "attainment-over-time"] {
        let ask = |more: &[&str]| {
            let targets: &[&str] = if query == "throughput" { &[] } else { &["--ttft", "1", "--tpot", "1"] };
            lab.run(&[&["query", query], targets, more].concat()).exits(0)
        };
        ask(&["--run", "100"])
            .says("buckets of 60 s hide a burst: what is selected lasts 40 s, `--bucket 2` shows when");
        for quiet in [&["--run", "200"][..], &["--run", "100", "--bucket", "10"]] {
            let said = ask(quiet).stderr;
            assert!(!said.contains("hide a burst"), "{said}");
        }
    }
}
