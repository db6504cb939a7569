//! Journals in archives: the rows are those that `zcat` and `zstd` give.

use std::fs;
use std::process::Command;

use crate::harness::{Lab, fixture, gzip, has_program, terminal, zstd};

/// What a program makes of a file of the lab on standard output, and whether it was content.
fn given_by(lab: &Lab, program: &str, arguments: &[&str], file: &str) -> (Vec<u8>, bool) {
    let output = Command::new(program).args(arguments).arg(lab.path(file)).output().unwrap();
    (output.stdout, output.status.success())
}

fn lines(bytes: &[u8]) -> i64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as i64
}

/// Rows of builds, requests and events, and what was rejected.
fn stored(lab: &Lab) -> (i64, i64) {
    // Without content there is no database.
    if !lab.path("narwhal.db").exists() {
        return (0, 0);
    }
    let rows = ["builds", "terminals", "events"]
        .map(|table| lab.number(&format!("select count(*) from {table}")))
        .into_iter()
        .sum();
    (rows, lab.number("select count(*) from rejects"))
}

const PADDED: &str = "the archive is whole, and only zero bytes stand after it";

#[test]
fn issue_13_7_gzip_ends_as_zcat_says_zero_padding_is_a_note_and_garbage_is_named() {
    let test = "issue_13_7_gzip_ends_as_zcat_says_zero_padding_is_a_note_and_garbage_is_named";
    if !has_program(test, "zcat") {
        return;
    }
    let journal = fixture("given/five.jsonl");
    let halves = journal.split_at(journal.iter().position(|byte| *byte == b'\n').unwrap() + 1);
    let whole = gzip(&journal);
    let members = [gzip(halves.0), gzip(b""), gzip(halves.1)].concat();
    let zeros = |len: usize| vec![0; len];
    let cases: Vec<(&str, Vec<u8>, bool)> = vec![
        ("given", fixture("given/zero-padded.jsonl.gz"), false),
        ("one-zero", [&whole[..], &zeros(1)].concat(), false),
        ("tape", [&members[..], &zeros(1 << 20)].concat(), false),
        ("members", members.clone(), false),
        ("garbage", [&whole[..], b"garbage"].concat(), true),
        ("one-byte", [&members[..], b"\x1f"].concat(), true),
        ("zeros-and-garbage", [&whole[..], &zeros(512), b"x"].concat(), true),
        ("zeros-and-a-member", [&gzip(halves.0)[..], &zeros(512), &gzip(halves.1)].concat(), true),
    ];
    for (name, packed, is_told) in cases {
        let lab = Lab::new();
        let file = format!("{name}.gz");
        lab.write(&file, &packed);
        let (plain, is_content) = given_by(&lab, "zcat", &[], &file);
        assert_eq!(is_content, !is_told, "{name}");
        let run = lab.run(&["ingest", &file]).exits(0);
        let warning = format!(
            "warning: {file}: the archive is whole, and what stands after it in the file is no archive"
        );
        assert_eq!(run.stderr.contains(&warning), is_told, "{name}: {}", run.stderr);
        let is_padded = ["given", "one-zero", "tape"].contains(&name);
        let note = format!("note: {file}: {PADDED}");
        assert_eq!(run.stderr.contains(&note), is_padded, "{name}: {}", run.stderr);
        assert_eq!(stored(&lab), (lines(&plain), 0), "{name}");
        lab.run(&["ingest", &file]).exits(0).says("nothing new");
        assert!(lab.run(&["status"]).exits(0).stdout.contains("read"), "{name}");
        // By standard input, and into a redaction, the same.
        let other = Lab::new();
        other.run_with_stdin(&["ingest", "-"], &packed).exits(0);
        assert_eq!(stored(&other), (lines(&plain), 0), "{name}");
        lab.run(&["redact", &file, "-o", "out.jsonl"]).exits(0);
        assert_eq!(lines(&fs::read(lab.path("out.jsonl")).unwrap()), lines(&plain), "{name}");
    }
}

#[test]
fn issue_13_7_of_a_small_archive_that_is_cut_off_what_comes_before_the_cut_is_read() {
    let journal = [fixture("given/five.jsonl"), fixture("0.7.0-mixed-part.jsonl")].concat();
    let packed = gzip(&journal[..20_000]);
    let cut = &packed[..packed.len() * 3 / 4];
    let lab = Lab::new();
    lab.write("j.gz", cut);
    let (plain, _) = given_by(&lab, "zcat", &[], "j.gz");
    lab.run(&["ingest", "j.gz"]).exits(1).says("cut off");
    assert!(lines(&plain) > 0);
    assert_eq!(stored(&lab).0, lines(&plain));
}

#[test]
fn issue_13_7_zstd_frames_to_be_skipped_are_and_what_pzstd_writes_is_read() {
    let test = "issue_13_7_zstd_frames_to_be_skipped_are_and_what_pzstd_writes_is_read";
    if !has_program(test, "zstd") {
        return;
    }
    let journal = fixture("0.7.0-mixed-part.jsonl");
    let lab = Lab::new();
    lab.write("plain", &journal);
    let packed = given_by(&lab, "zstd", &["-c", "-q"], "plain").0;
    let skippable = |magic: u8, bytes: &[u8]| {
        let len = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        [&[magic, 0x2a, 0x4d, 0x18][..], &len, bytes].concat()
    };
    let halves = journal.split_at(journal.iter().position(|byte| *byte == b'\n').unwrap() + 1);
    let frame = |bytes: &[u8]| {
        lab.write("part", bytes);
        given_by(&lab, "zstd", &["-c", "-q"], "part").0
    };
    let mut cases: Vec<(String, Vec<u8>)> = vec![
        ("given".to_owned(), fixture("given/skippable-frame-first.jsonl.zst")),
        ("behind".to_owned(), [&packed[..], &skippable(0x53, b"{}\n")].concat()),
        ("empty".to_owned(), [&skippable(0x50, b"")[..], &packed].concat()),
        (
            "between".to_owned(),
            [&skippable(0x51, &[7; 200_000])[..], &frame(halves.0), &skippable(0x5f, b"x"), &frame(halves.1)]
                .concat(),
        ),
        ("nothing-else".to_owned(), skippable(0x5a, b"note")),
    ];
    cases.extend(
        (0x50..=0x5f).map(|magic| (format!("{magic:x}"), [&skippable(magic, b"size")[..], &packed].concat())),
    );
    if has_program(test, "pzstd") || Command::new("pzstd").arg("-V").output().is_ok() {
        cases.push(("pzstd".to_owned(), given_by(&lab, "pzstd", &["-c", "-q", "-p", "4"], "plain").0));
    }
    for (name, packed) in cases {
        let lab = Lab::new();
        // Known by its content, whatever it is called.
        lab.write("j.jsonl", &packed);
        let (plain, is_content) = given_by(&lab, "zstd", &["-dcq"], "j.jsonl");
        assert!(is_content, "{name}");
        lab.run(&["ingest", "j.jsonl"]).exits(0);
        assert_eq!(stored(&lab), (lines(&plain), 0), "{name}");
        let other = Lab::new();
        other.run_with_stdin(&["ingest", "-"], &packed).exits(0);
        assert_eq!(stored(&other), (lines(&plain), 0), "{name}");
    }
    let no_frame_at = |byte: usize| format!("damaged: what stands at byte {byte} after a frame is not one");
    // What is damaged or cut off says so, behind the rows before it.
    for (name, bytes, said) in [
        ("cut in a frame to be skipped", [&packed[..], &skippable(0x50, b"1234")[..10]].concat(), "cut off"),
        ("cut in a magic number", [&packed[..], b"\x28\xb5"].concat(), "cut off"),
        ("garbage", [&packed[..], b"garbage"].concat(), "damaged: what stands at byte"),
        ("zeros and garbage", [&packed[..], &[0; 512], b"x"].concat(), &no_frame_at(packed.len())),
        ("many zeros and garbage", [&packed[..], &[0; 300_000], b"x"].concat(), &no_frame_at(packed.len())),
        ("zeros and a frame", [&packed[..], &[0; 512], &packed].concat(), &no_frame_at(packed.len())),
    ] {
        let lab = Lab::new();
        lab.write("j.zst", &bytes);
        assert!(!given_by(&lab, "zstd", &["-dcq"], "j.zst").1, "{name}");
        lab.run(&["ingest", "j.zst"]).exits(1).says(said);
        assert_eq!(stored(&lab), (lines(&journal), 0), "{name}");
    }
}

#[test]
fn issue_13_7_a_dictionary_that_is_missing_is_named_with_the_way_out() {
    let test = "issue_13_7_a_dictionary_that_is_missing_is_named_with_the_way_out";
    if !has_program(test, "zstd") {
        return;
    }
    let journal = fixture("0.7.0-mixed-part.jsonl");
    let lab = Lab::new();
    lab.write("plain", &journal);
    let script = "split -n 40 plain part && zstd -q --train part* --maxdict=4096 --dictID=4711 -o words && \
                  zstd -q -D words plain -o j.zst";
    let made = Command::new("sh").args(["-c", script]).current_dir(lab.path("")).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    assert!(!given_by(&lab, "zstd", &["-dcq"], "j.zst").1);
    let run = lab.run(&["ingest", "j.zst"]).exits(1).says("made with a dictionary, number 4711");
    let way_out = "zstd -D DICTIONARY -dc FILE | narwhal-jq ingest -";
    assert!(run.stderr.contains(way_out), "{}", run.stderr);
    let script = way_out.replace("DICTIONARY", "words").replace("FILE", "j.zst").replace("narwhal-jq", "$0");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_narwhal-jq")]).current_dir(lab.path(""));
    assert!(shell.env_remove("NARWHAL_JQ_DB").status().unwrap().success());
    assert_eq!(stored(&lab), (lines(&journal), 0));
}

#[test]
fn issue_13_7_zero_bytes_after_zstd_frames_are_a_note_as_after_gzip() {
    let test = "issue_13_7_zero_bytes_after_zstd_frames_are_a_note_as_after_gzip";
    if !has_program(test, "dd") {
        return;
    }
    let journal = fixture("0.7.0-mixed-part.jsonl");
    let packed = zstd(&journal);
    let skippable = b"\x50\x2a\x4d\x18\x02\0\0\0{}";
    let of_tape = |packed: &[u8]| {
        let lab = Lab::new();
        lab.write("packed", packed);
        let script = "dd if=packed bs=10240 conv=sync status=none";
        let padded =
            Command::new("sh").args(["-c", script]).current_dir(lab.path("")).output().unwrap().stdout;
        assert_eq!(padded.len() % 10_240, 0);
        padded
    };
    for (name, padded, is_padded) in [
        ("whole", packed.clone(), false),
        ("one", [&packed[..], &[0]].concat(), true),
        ("three", [&packed[..], &[0; 3]].concat(), true),
        ("tape", of_tape(&packed), true),
        ("many", [&packed[..], &vec![0; 1 << 20]].concat(), true),
        ("skippable", [&packed[..], skippable, &[0; 512]].concat(), true),
    ] {
        let lab = Lab::new();
        lab.write("j.zst", &padded);
        let run = lab.run(&["ingest", "j.zst"]).exits(0);
        assert_eq!(
            run.stderr.contains(&format!("note: j.zst: {PADDED}")),
            is_padded,
            "{name}: {}",
            run.stderr
        );
        assert_eq!(stored(&lab), (lines(&journal), 0), "{name}");
        lab.run(&["ingest", "j.zst"]).exits(0).says("nothing new");
        let other = Lab::new();
        other.run_with_stdin(&["ingest", "-"], &padded).exits(0);
        assert_eq!(stored(&other), (lines(&journal), 0), "{name}");
        let redacted = lab.run(&["redact", "j.zst", "-o", "out.jsonl"]).exits(0);
        assert_eq!(redacted.stderr.contains(&format!("note: j.zst: {PADDED}")), is_padded, "{name}");
    }
}

#[test]
fn issue_13_7_a_window_that_is_too_large_is_named_with_the_way_out() {
    let test = "issue_13_7_a_window_that_is_too_large_is_named_with_the_way_out";
    if !has_program(test, "zstd") {
        return;
    }
    let lab = Lab::new();
    let journal = fixture("0.7.0-mixed-part.jsonl");
    // From standard input zstd does not know the size, so it writes the window that was asked for.
    let packed = |long: &str| {
        lab.write("plain", &journal);
        let script = format!("zstd -cq {long} < plain");
        let output = Command::new("sh").args(["-c", &script]).current_dir(lab.path("")).output().unwrap();
        assert!(output.status.success());
        output.stdout
    };
    lab.write("27.zst", packed("--long=27"));
    lab.run(&["ingest", "27.zst"]).exits(0);
    assert_eq!(stored(&lab), (lines(&journal), 0));
    for log in [28, 30] {
        let file = format!("{log}.zst");
        lab.write(&file, packed(&format!("--long={log}")));
        assert!(!given_by(&lab, "zstd", &["-dcq"], &file).1, "zstd needs --long, too");
        let lab_of = Lab::new();
        fs::copy(lab.path(&file), lab_of.path(&file)).unwrap();
        lab_of
            .run(&["ingest", &file])
            .exits(1)
            .says(&format!(
                "the archive was made with `zstd --long={log}`: its window of {} MiB",
                1 << (log - 20)
            ))
            .says(&format!("`zstd -d --long={log} -c FILE | narwhal-jq ingest -` reads it"));
        let way_out =
            format!("zstd -d --long={log} -c {file} | {} ingest -", env!("CARGO_BIN_EXE_narwhal-jq"));
        let run = Command::new("sh").args(["-c", &way_out]).current_dir(lab_of.path("")).status().unwrap();
        assert!(run.success());
        assert_eq!(stored(&lab_of), (lines(&journal), 0));
    }
}

#[test]
fn issue_13_7_nothing_that_begins_as_an_archive_does_is_read_as_text() {
    for (magic, said) in [
        (&b"\x04\x22\x4d\x18rest of it"[..], "lz4cat FILE"),
        (b"\x50\x2a\x4d\x18\x01\0\0\0x\x04\x22\x4d\x18 lz4 behind a frame to be skipped", "lz4cat FILE"),
        (b"\x1f\x9d\x90 compress", "zcat FILE"),
        (b"LZIP\x01 lzip", "lzip -dc FILE"),
        (b"\x5d\0\0\x80\0 lzma alone", "xz --format=lzma"),
        (b"7z\xbc\xaf\x27\x1c 7z", "7z x -so"),
        (b"\x25\xb5\x2f\xfd zstd 0.5", "zstd -dc FILE"),
        // As `pigz -z` writes it.
        (b"\x78\x5e zlib", "pigz -dc FILE"),
        (b"\x1f\x8b", "cut off"),
    ] {
        let lab = Lab::new();
        lab.write("j.jsonl", magic);
        lab.run(&["ingest", "j.jsonl"]).exits(1).says(said);
        assert_eq!(stored(&lab), (0, 0), "{said}");
    }
}

#[test]
fn an_archive_is_read_to_its_end_beside_a_longer_journal_that_begins_alike() {
    let lab = Lab::new();
    let rows = |range: std::ops::Range<u32>| -> String {
        range.map(|n| terminal("1795977784-3db97941", &format!("rid-{n}"), f64::from(n)) + "\n").collect()
    };
    let copy = rows(0..60) + &terminal("1795977784-3db97941", "the last", 60.0);
    lab.write("copy.jsonl", &copy);
    lab.write("journal.jsonl", rows(0..90));
    // The longer one goes on with what is known of the copy, which is then read as a source of its own.
    while lab.run(&["ingest", "copy.jsonl", "journal.jsonl", "--format", "json"]).json()["total"]["lines"]
        != 0
    {}
    assert_eq!(lab.number("select count(*) from sources"), 2);
    assert_eq!(lab.number("select count(*) from terminals where rid = 'the last'"), 0, "its line may go on");
    lab.write("copy.jsonl.gz", gzip(copy.as_bytes()));
    lab.run(&["ingest", "copy.jsonl.gz"]).exits(0);
    assert_eq!(lab.number("select count(*) from terminals where rid = 'the last'"), 1);
}

#[test]
fn issue_13_7_packed_bytes_are_one_message_with_the_way_out_and_no_rejects() {
    let test = "issue_13_7_packed_bytes_are_one_message_with_the_way_out_and_no_rejects";
    if !["zcat", "zstd", "iconv", "xz", "pigz"].iter().all(|program| has_program(test, program)) {
        return;
    }
    let journal = fixture("given/five.jsonl");
    let noise: Vec<u8> = (0..30_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let zlib = {
        use std::io::Write;
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&journal).unwrap();
        encoder.finish().unwrap()
    };
    let wide: Vec<u8> =
        String::from_utf8(journal.clone()).unwrap().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n";
    let way = |program: &str| format!("give `{program} FILE` to `narwhal-jq ingest -`");
    // A file, what is said of it, and whether that way gives its rows.
    let cases: Vec<(&str, Vec<u8>, String, bool)> = vec![
        ("j.gz", gzip(&gzip(&journal)), way("zcat"), true),
        ("j.zst", zstd(&gzip(&journal)), way("zstd -dc"), true),
        ("j.zst", zstd(&zstd(&journal)), way("zstd -dc"), true),
        ("j.zz", zlib, way("pigz -dc"), true),
        (
            "j.jsonl",
            [&head[..], &gzip(&journal)].concat(),
            way(&format!("tail -c +{}", head.len() + 1)),
            true,
        ),
        ("j.jsonl", [&b"\xff\xfe"[..], &wide].concat(), way("iconv -f UTF-16 -t UTF-8"), true),
        ("j.jsonl", noise.clone(), "its bytes are no text".to_owned(), false),
        ("j.zst", noise[..100].to_vec(), "its bytes are no text".to_owned(), false),
        ("j.zst", zstd(&noise), "its bytes are no text".to_owned(), false),
    ];
    for (file, bytes, says, has_way) in cases {
        let lab = Lab::new();
        lab.write(file, &bytes);
        let run = lab.run(&["ingest", file]).exits(1).says(&format!("cannot read {file}: ")).says(&says);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert_eq!(stored(&lab), (0, 0), "{file}: {says}");
        lab.run_with_stdin(&["ingest", "-"], &bytes).exits(1).says(&says);
        if has_way {
            let way = run.stderr.split('`').nth(1).unwrap().replace("FILE", file);
            let mut program = way.split(' ');
            let given =
                Command::new(program.next().unwrap()).args(program).current_dir(lab.path("")).output();
            lab.run_with_stdin(&["ingest", "-"], &given.unwrap().stdout).exits(0);
            assert_eq!(stored(&lab), (lines(&journal), 0), "{way}");
        }
    }
    // Damage at the beginning keeps nothing of what is behind it from being read.
    let lab = Lab::new();
    lab.write("j.jsonl", [&noise[..], b"\n", &journal].concat());
    lab.run(&["ingest", "j.jsonl"]).exits(0);
    assert_eq!(stored(&lab), (lines(&journal), 1));
}

#[test]
fn issue_13_7_an_archive_behind_rows_is_one_reject_that_says_how_to_read_it() {
    let (first, second) = (fixture("given/five.jsonl"), fixture("0.7.0-full.jsonl"));
    let lab = Lab::new();
    // Read in two parts: the second begins within the archive.
    let row = terminal("1795977936-56e568d1", "n1", 1.0) + "\n";
    let both = [&first[..], &gzip(&second), b"\n", row.as_bytes()].concat();
    let middle = first.len() + gzip(&second).len() / 2;
    lab.write("j.jsonl", &both[..middle]);
    lab.ingest("j.jsonl");
    lab.write("j.jsonl", &both);
    lab.ingest("j.jsonl");
    let rejects = lab
        .run(&[
            "sql",
            "select reason, byte_offset, byte_offset + len_bytes as ends from rejects",
            "--format",
            "json",
        ])
        .exits(0)
        .json();
    let from = first.len() + 1;
    let [reject] = rejects.as_array().unwrap().as_slice() else { panic!("{rejects}") };
    assert_eq!(
        reject["reason"],
        format!("packed bytes, no text, an archive: `tail -c +{from} FILE | narwhal-jq ingest -` reads it")
    );
    assert_eq!(reject["byte_offset"], first.len());
    assert_eq!(reject["ends"], both.len() - row.len() - 1);
    assert_eq!(stored(&lab).0, lines(&first) + 1);
    lab.run(&["rejects", "retry"]).exits(0).says("1 still rejected");
    lab.run(&["verify"]).exits(0);
}

#[test]
fn issue_13_7_short_lines_within_an_archive_are_part_of_its_one_reject() {
    // What a large archive has by chance: lines of a letter, and of letters alone.
    let first = fixture("given/five.jsonl");
    let noise: Vec<u8> =
        (0..4000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8 | 0x80).collect();
    let lab = Lab::new();
    let packed =
        [b"\x1f\x8b\x08\0", &noise[..], b"\ne\nLm\n", &noise[..], b"\n}9*\n", &noise[..], b"\n"].concat();
    lab.write("j.jsonl", [&first[..], &packed, b"{bad\n", &first[..]].concat());
    lab.ingest("j.jsonl");
    let rejects = lab.rows("select byte_offset, len_bytes, raw from rejects order by byte_offset");
    assert_eq!(rejects.len(), 2, "{rejects:?}");
    assert_eq!(rejects[0][0], rusqlite::types::Value::Integer(first.len() as i64));
    assert_eq!(rejects[0][1], rusqlite::types::Value::Integer(packed.len() as i64 - 1));
    assert_eq!(rejects[1][2], rusqlite::types::Value::Blob(b"{bad".to_vec()));
}

#[test]
fn issue_13_7_redact_says_what_ingest_says_of_what_stands_behind_an_archive() {
    let lab = Lab::new();
    lab.write("j.jsonl.gz", [&gzip(&fixture("given/five.jsonl"))[..], b"garbage"].concat());
    let warning = "warning: j.jsonl.gz: the archive is whole, and what stands after it in the file is no archive: that was not read";
    lab.run(&["ingest", "j.jsonl.gz"]).exits(0).says(warning);
    lab.run(&["redact", "j.jsonl.gz", "-o", "out.jsonl"]).exits(0).says(warning);
    let checked = lab.run(&["redact", "--check", "j.jsonl.gz"]).exits(1);
    assert!(checked.stderr.contains(warning), "{}", checked.stderr);
    assert_eq!(std::fs::read_to_string(lab.path("out.jsonl")).unwrap().lines().count(), 5);
}
