//! Exports as spreadsheets and programs read them.

use std::process::Command;

use serde_json::{Value as Json, json};

use crate::harness::{Lab, fixture, has_program, terminal};

/// Text that callers may send and that CSV or spreadsheets may take amiss.
const AWKWARD: [&str; 16] = [
    "plain",
    "a,b",
    "say \"hi\"",
    "two\nlines",
    "=1+1",
    "-5",
    "+a",
    "@x",
    "\tx",
    "\r=1",
    "naïve — 日本",
    "73928e05",
    "007",
    "'quoted",
    " =1",
    "a;b",
];

/// As a spreadsheet must find it: text that begins a formula has a leading apostrophe.
fn guarded(text: &str) -> String {
    match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_owned(),
    }
}

/// A database with one request for each text, and a negative number beside it.
fn awkward() -> Lab {
    let lab = Lab::new();
    let rows: Vec<String> = AWKWARD
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let more =
                format!("\"client_rid\": {}, \"ttft_s\": -0.5, \"input_len\": -7, \"terminal\"", json!(text));
            terminal("1795977936-56e568d1", &format!("r{at:02}"), at as f64).replace("\"terminal\"", &more)
        })
        .collect();
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    lab
}

fn csv_rows(bytes: &[u8], delimiter: u8) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).from_reader(bytes);
    reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn column(rows: &[Vec<String>], name: &str) -> Vec<String> {
    let at = rows[0].iter().position(|header| header == name).unwrap();
    rows[1..].iter().map(|row| row[at].clone()).collect()
}

#[test]
fn awkward_text_is_guarded_unless_raw_and_numbers_stay_numbers() {
    let lab = awkward();
    lab.run(&["export", "table:terminals", "--dir", "out"]).exits(0);
    lab.run(&["export", "table:terminals", "--dir", "raw", "--raw"]).exits(0);
    lab.run(&["export", "table:terminals", "--dir", "semi", "--raw", "--delimiter", ";", "--excel"]).exits(0);
    let guarded: Vec<String> = AWKWARD.iter().map(|text| guarded(text)).collect();
    let read = |path: &str| std::fs::read(lab.path(path)).unwrap();
    let rows = csv_rows(&read("out/tables/terminals.csv"), b',');
    assert_eq!(column(&rows, "client_rid"), guarded);
    assert_eq!(column(&rows, "ttft_s"), ["-0.5"; AWKWARD.len()]);
    assert_eq!(column(&rows, "input_len"), ["-7"; AWKWARD.len()]);
    assert_eq!(column(&rows, "output_len"), [""; AWKWARD.len()]);
    let rows = csv_rows(&read("raw/tables/terminals.csv"), b',');
    assert_eq!(column(&rows, "client_rid"), AWKWARD);
    let marked = read("semi/tables/terminals.csv");
    let rows = csv_rows(marked.strip_prefix(b"\xef\xbb\xbf").expect("a byte order mark"), b';');
    assert_eq!(column(&rows, "client_rid"), AWKWARD);
}

#[test]
fn pythons_csv_reads_the_same_cells() {
    if !has_program("pythons_csv_reads_the_same_cells", "python3") {
        return;
    }
    let lab = awkward();
    lab.run(&["export", "table:terminals", "--dir", "out"]).exits(0);
    let script = "import csv, json\n\
        with open('out/tables/terminals.csv', newline='', encoding='utf-8') as f:\n\
        \x20   print(json.dumps([row['client_rid'] for row in csv.DictReader(f)]))";
    let cells = python(&lab, script);
    let expected: Vec<String> = AWKWARD.iter().map(|text| guarded(text)).collect();
    assert_eq!(cells, json!(expected));
}

#[track_caller]
fn python(lab: &Lab, script: &str) -> Json {
    let output = Command::new("python3").args(["-c", script]).current_dir(lab.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_workbook_gives_back_every_cell_with_its_type() {
    let test = "a_workbook_gives_back_every_cell_with_its_type";
    let has_openpyxl = Command::new("python3").args(["-c", "import openpyxl"]).output();
    let lab = awkward();
    lab.run(&["export", "table:terminals", "outcomes", "--xlsx", "out.xlsx"]).exits(0);
    if !has_openpyxl.is_ok_and(|output| output.status.success()) {
        crate::harness::say(&format!("{test}: did not read the workbook, Python has no openpyxl"));
        return;
    }
    crate::harness::say(&format!("{test}: ran with openpyxl"));
    check_workbook(&lab, "out.xlsx");
    // The same after a spreadsheet program has read and written it.
    if has_program(test, "soffice") {
        convert(&lab, "out.xlsx", "xlsx:Calc MS Excel 2007 XML", "again");
        check_workbook(&lab, "again/out.xlsx");
    }
}

fn check_workbook(lab: &Lab, path: &str) {
    let script = format!(
        "import json, openpyxl\n\
         book = openpyxl.load_workbook('{path}')\n\
         sheet = book['table terminals']\n\
         rows = list(sheet.iter_rows())\n\
         names = [cell.value for cell in rows[0]]\n\
         def column(name):\n\
         \x20   at = names.index(name)\n\
         \x20   return [[row[at].data_type, row[at].value] for row in rows[1:]]\n\
         print(json.dumps({{'sheets': book.sheetnames, 'freeze': sheet.freeze_panes, 'filter': bool(sheet.auto_filter.ref),\n\
         \x20   'client_rid': column('client_rid'), 'ttft_s': column('ttft_s'), 'input_len': column('input_len'),\n\
         \x20   'output_len': column('output_len')}}))"
    );
    let found = python(lab, &script);
    assert_eq!(found["sheets"], json!(["table terminals", "outcomes"]), "{path}");
    assert_eq!(found["filter"], true, "{path}");
    // What LibreOffice writes is its own affair.
    if path == "out.xlsx" {
        assert_eq!(found["freeze"], "A2", "{path}");
    }
    // A carriage return is a line feed to XML readers unless escaped; tabs may be escaped, too.
    let texts: Vec<Json> = AWKWARD.iter().map(|text| json!(["s", text])).collect();
    let got: Vec<Json> = found["client_rid"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| {
            json!([
                cell[0],
                cell[1].as_str().unwrap_or_default().replace("_x000D_", "\r").replace("_x0009_", "\t")
            ])
        })
        .collect();
    assert_eq!(got, texts, "{path}");
    assert_eq!(found["ttft_s"], json!(vec![json!(["n", -0.5]); AWKWARD.len()]), "{path}");
    assert_eq!(found["input_len"], json!(vec![json!(["n", -7]); AWKWARD.len()]), "{path}");
    assert_eq!(found["output_len"], json!(vec![json!(["n", null]); AWKWARD.len()]), "{path}");
}

fn convert(lab: &Lab, file: &str, to: &str, folder: &str) {
    let profile = format!("-env:UserInstallation=file://{}", lab.path("office").display());
    let output = Command::new("soffice")
        .args([&profile, "--headless", "--convert-to", to, "--outdir", folder, file])
        .current_dir(lab.path(""))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn libreoffice_makes_no_formula_of_any_text() {
    if !has_program("libreoffice_makes_no_formula_of_any_text", "soffice") {
        return;
    }
    let lab = awkward();
    lab.run(&["export", "table:terminals", "--dir", "out"]).exits(0);
    convert(&lab, "out/tables/terminals.csv", "fods", "calc");
    let sheet = std::fs::read_to_string(lab.path("calc/terminals.fods")).unwrap();
    assert!(sheet.contains("say &quot;hi&quot;") || sheet.contains("say \"hi\""), "the sheet has the cells");
    assert!(!sheet.contains("table:formula"), "a cell became a formula");
    assert!(sheet.contains("office:value=\"-0.5\""), "negative numbers are numbers");
}

#[test]
fn an_export_of_all_has_every_table_and_query_and_says_where_it_comes_from() {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.7.0-full.jsonl"));
    lab.ingest("j.jsonl");
    lab.run(&["export", "--all", "--dir", "out"])
        .exits(0)
        .says("attainment: left out: no SLO \"default\" is saved");
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    lab.run(&["export", "--all", "journal", "--dir", "out"]).exits(0);
    let sidecar: Json = serde_json::from_slice(&std::fs::read(lab.path("out/export.json")).unwrap()).unwrap();
    assert_eq!(sidecar["tool"], "narwhal-jq");
    assert_eq!(sidecar["sources"][0]["path"], lab.path("j.jsonl").canonicalize().unwrap().to_str().unwrap());
    assert_eq!(sidecar["slos"][0]["ttft_s"], 0.8);
    assert_eq!(sidecar["runs"].as_array().unwrap().len(), 2);
    let written = sidecar["written"].as_array().unwrap();
    for table in ["runs", "terminals", "attempt_failures", "events", "builds", "sources", "rejects", "slos"] {
        let rows = lab.number(&format!("select count(*) from {table}"));
        let of_table = |one: &&Json| one["kind"] == "table" && one["name"] == table;
        assert_eq!(written.iter().find(of_table).unwrap()["rows"], rows, "{table}");
        let csv = csv_rows(&std::fs::read(lab.path(&format!("out/tables/{table}.csv"))).unwrap(), b',');
        assert_eq!(csv.len() as i64, rows + 1, "{table}");
    }
    let goodput = written.iter().find(|one| one["name"] == "goodput").unwrap();
    assert_eq!((&goodput["parameters"], &goodput["selection"]), (&json!({}), &json!([])));
    let listed = lab.run(&["query"]).stdout;
    let queries = listed.lines().filter(|line| line.starts_with("  ")).count();
    assert_eq!(written.iter().filter(|one| one["kind"] == "query").count(), queries);
    assert_eq!(written.iter().filter(|one| one["kind"] == "journal").count(), 1);
}

#[test]
fn a_bare_name_is_the_query_and_an_unknown_one_is_told() {
    let lab = awkward();
    lab.run(&["export", "runs", "table:runs", "table:requests", "--dir", "out"]).exits(0);
    for file in ["queries/runs.csv", "tables/runs.csv", "tables/requests.csv"] {
        assert!(lab.path("out").join(file).exists(), "{file}");
    }
    lab.run(&["export", "outcoms", "--dir", "none"])
        .exits(2)
        .says("no table or query \"outcoms\": the tables are runs, ");
    lab.run(&["export", "table:outcomes", "--dir", "none"])
        .exits(2)
        .says("no table or query \"table:outcomes\"");
    lab.run(&["export", "runs", "--ttft", "1", "--dir", "none"])
        .exits(2)
        .says("none of the exported queries has the parameter --ttft");
    lab.run(&["export", "attainment", "--dir", "none"])
        .exits(2)
        .says("the query attainment: no SLO \"default\" is saved");
    lab.run(&["export", "--dir", "none"]).exits(2).says("<NAME|table:NAME>");
    lab.run(&["export", "runs"]).exits(2).says("--dir");
    lab.run(&["export", "runs", "--dir", "none", "--delimiter", "ab"]).exits(2).says("is not one character");
    assert!(!lab.path("none").exists());
}

#[test]
fn more_rows_than_a_spreadsheet_opens_are_all_written_and_a_warning_names_the_limit() {
    let lab = awkward();
    std::fs::create_dir(lab.path("mine")).unwrap();
    lab.write(
        "mine/many.sql",
        "-- many: many rows\n-- Columns\n--   n | count | n\nwith recursive numbers as (\n\
         select 1 as n union all select n + 1 from numbers where n < 1048576)\nselect n from numbers\n",
    );
    let mut command = lab.command(&["export", "many", "--dir", "out"]);
    let output = command.env("NARWHAL_JQ_QUERIES", "mine").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains(
            "warning: out/queries/many.csv: 1048576 rows, and spreadsheets open only the first 1048575"
        ),
        "{said}"
    );
    let csv = std::fs::read(lab.path("out/queries/many.csv")).unwrap();
    assert_eq!(csv.iter().filter(|byte| **byte == b'\n').count(), 1_048_577);
    assert!(csv.ends_with(b"\n1048576\n"));
}

#[test]
fn a_failed_export_says_so_and_leaves_nothing_behind() {
    let lab = awkward();
    lab.write("in-the-way", "a file");
    lab.run(&["export", "runs", "--dir", "in-the-way"]).exits(1).says("cannot make the folder in-the-way");
    lab.run(&["export", "runs", "--xlsx", "missing/out.xlsx"]).exits(1).says("cannot write missing/out.xlsx");
    lab.run(&["export", "runs", "--xlsx", "/dev/full"]).exits(1).says("cannot write /dev/full");
    lab.run(&["query", "runs", "-o", "/dev/full"]).exits(1).says("No space left on device");
    use std::os::unix::fs::FileTypeExt;
    assert!(std::fs::metadata("/dev/full").unwrap().file_type().is_char_device(), "the device is still one");
    let mut names: Vec<_> = std::fs::read_dir(lab.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["in-the-way", "j.jsonl", "narwhal.db"]);
    // A run id that is not there is found out when the query is asked: no file is left of it.
    lab.run(&["export", "outcomes", "--run", "x", "--dir", "out"])
        .exits(1)
        .says("no run \"x\" in the database");
    assert!(!lab.path("out").exists());
}

/// Whether a name stands in a text as a token of its own.
fn has_token(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word))
}

#[test]
fn a_redacted_export_has_every_number_and_no_name() {
    let lab = Lab::new();
    lab.write("journal-of-gpu7.jsonl", fixture("0.7.0-mixed-part.jsonl"));
    lab.ingest("journal-of-gpu7.jsonl");
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    lab.run(&["export", "--all", "journal", "--dir", "plain"]).exits(0);
    lab.run(&["export", "--all", "journal", "--dir", "out", "--redact"])
        .exits(0)
        .says("warning: rejects: left out: what could not be read cannot be redacted");

    // Names by plain JSON: engines, client ids, hosts with ports.
    let text = String::from_utf8(fixture("0.7.0-mixed-part.jsonl")).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for row in text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()) {
        for key in ["prefill_iid", "decode_iid", "iid", "client_rid"] {
            names.extend(row[key].as_str().map(str::to_owned));
        }
        for key in ["engines", "ejected", "quarantined"] {
            names.extend(row[key].as_array().into_iter().flatten().map(|id| id.as_str().unwrap().to_owned()));
        }
    }
    names.extend(["127.0.0.1", "http", "gpu7"].map(str::to_owned));
    assert!(names.len() > 8, "{names:?}");
    let mut files = 0;
    for folder in ["", "tables", "queries"] {
        for entry in std::fs::read_dir(lab.path("out").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                continue;
            }
            files += 1;
            let redacted = std::fs::read_to_string(&path).unwrap();
            for name in &names {
                assert!(!has_token(&redacted, name), "{name} stands in {}", path.display());
            }
            if path.extension().is_some_and(|extension| extension == "csv") {
                let plain = lab.path("plain").join(folder).join(path.file_name().unwrap());
                let (plain, redacted) =
                    (csv_rows(&std::fs::read(plain).unwrap(), b','), csv_rows(redacted.as_bytes(), b','));
                assert_eq!(plain.len(), redacted.len(), "{}", path.display());
                let is_number = |cell: &String| cell.parse::<f64>().is_ok();
                let numbers = |rows: &[Vec<String>]| -> Vec<String> {
                    let mut numbers: Vec<String> =
                        rows.iter().flatten().filter(|cell| is_number(cell)).cloned().collect();
                    numbers.sort();
                    numbers
                };
                assert_eq!(numbers(&plain), numbers(&redacted), "{}", path.display());
            }
        }
    }
    assert!(files > 30, "{files} files");

    let failures = lab.run(&["query", "engine-failures", "--redact", "--format", "csv"]).exits(0).stdout;
    assert!(failures.contains(",engine-1,") && failures.contains(",decode,"), "{failures}");
    lab.write("key", "0123456789abcdef");
    let keyed = || {
        lab.run(&["query", "engine-failures", "--redact", "--key", "key", "--format", "csv"]).exits(0).stdout
    };
    assert_eq!(keyed(), keyed());
    lab.run(&["query", "runs", "--key", "key"]).exits(2).says("--redact");
    lab.run(&["export", "table:rejects", "--dir", "out", "--redact"])
        .exits(2)
        .says("rejects cannot be redacted");
}

#[test]
fn what_a_redacted_answer_was_asked_of_and_grouped_by_names_nobody() {
    let lab = Lab::new();
    for host in ["gpu7-rack", "mars"] {
        std::fs::create_dir(lab.path(host)).unwrap();
    }
    let row = |run: &str, client: &str| {
        let row = terminal(run, "a", 1.0);
        row.replace("\"arrived\"", &format!("\"client_rid\": \"{client}\", \"arrived\"")) + "\n"
    };
    lab.write("gpu7-rack/j.jsonl", row("1795977784-3db97941", "alice-of-acme"));
    lab.write("mars/j.jsonl", row("1795977785-3db97942", "bob"));
    lab.run(&["ingest", "gpu7-rack", "mars"]).exits(0);
    let source = format!("{}*", lab.path("gpu7-rack").display());
    lab.run(&[
        "export",
        "requests",
        "--dir",
        "out",
        "--client",
        "alice-of-acme",
        "--source",
        &source,
        "--redact",
    ])
    .exits(0);
    let text = std::fs::read_to_string(lab.path("out/export.json")).unwrap();
    let sidecar: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(sidecar["written"][0]["rows"], 1, "{text}");
    assert_eq!(sidecar["written"][0]["selection"], json!(["--source <path>"]));
    assert!(sidecar["written"][0]["parameters"]["client"].is_string(), "{text}");
    for name in ["gpu7", "alice", "acme"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
    for by in ["source", "folder"] {
        let asked = ["query", "outcomes", "--by", by, "--redact", "--format", "json"];
        let rows = lab.run(&asked).exits(0).json();
        let scopes: std::collections::BTreeSet<&str> =
            rows.as_array().unwrap().iter().map(|row| row["scope"].as_str().unwrap()).collect();
        assert_eq!(scopes.len(), 2, "they are still told apart: {rows}");
        assert!(scopes.iter().all(|scope| scope.starts_with("path-") && scope.len() == 21), "{rows}");
    }
}

#[test]
fn issue_13_8_full_width_formulas_and_leading_line_feeds_are_guarded() {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("given/formula-characters.jsonl"));
    lab.ingest("j.jsonl");
    let text = String::from_utf8(fixture("given/formula-characters.jsonl")).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let clients: Vec<String> = rows.filter_map(|row| row["client_rid"].as_str().map(str::to_owned)).collect();
    assert!(clients.len() > 4, "{clients:?}");
    lab.run(&["export", "table:terminals", "--dir", "out"]).exits(0);
    let rows = csv_rows(&std::fs::read(lab.path("out/tables/terminals.csv")).unwrap(), b',');
    let mut shown = column(&rows, "client_rid");
    shown.retain(|cell| !cell.is_empty());
    // `unicodedata.normalize('NFKC', c)` makes ASCII of each first character.
    let expected: Vec<String> = clients.iter().map(|client| format!("'{client}")).collect();
    assert_eq!(shown, expected);
    lab.run(&["export", "table:terminals", "--dir", "raw", "--raw"]).exits(0);
    let rows = csv_rows(&std::fs::read(lab.path("raw/tables/terminals.csv")).unwrap(), b',');
    let mut raw = column(&rows, "client_rid");
    raw.retain(|cell| !cell.is_empty());
    assert_eq!(raw, clients);
}

#[test]
fn issue_13_20_times_are_dates_and_ratios_are_percent_in_a_workbook() {
    let test = "issue_13_20_times_are_dates_and_ratios_are_percent_in_a_workbook";
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.7.0-killed.jsonl"));
    lab.ingest("j.jsonl");
    std::fs::create_dir(lab.path("own")).unwrap();
    lab.write(
        "own/when.sql",
        "-- when: when what happened\n-- group: own\n--\n-- Columns\n\
         --   at | time | Unix seconds\n--   share | ratio | of all\n--   n | count | a number\n\
         --\n-- Reading it\n--   As it stands.\n\
         select column1 as at, column2 as share, column3 as n from (values (1795977782.25, 0.4375, 1), \
         (null, 0.525253, 2), (0, 1, 3), (253402300800.0, null, 4), (-9000000000, 0.0, 5))\n",
    );
    let own = |arguments: &[&str]| {
        let output = lab.command(arguments).env("NARWHAL_JQ_QUERIES", "own").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    // `date -u -d @1795977782.25 +%FT%T.%3NZ`
    assert_eq!(
        own(&["query", "when", "--format", "csv"]),
        "at,share,n\n2026-11-29T18:43:02.250Z,0.4375,1\n,0.525253,2\n1970-01-01T00:00:00.000Z,1,3\n\
         253402300800.0,,4\n1684-10-19T08:00:00.000Z,0.0,5\n"
    );
    assert!(
        own(&["query", "when", "--format", "jsonl"]).starts_with("{\"at\": \"2026-11-29T18:43:02.250Z\", ")
    );
    own(&["export", "when", "runs", "table:runs", "outcomes", "--xlsx", "out.xlsx"]);
    let has_openpyxl = Command::new("python3").args(["-c", "import openpyxl"]).output();
    if !has_openpyxl.is_ok_and(|output| output.status.success()) {
        crate::harness::say(&format!("{test}: did not read the workbook, Python has no openpyxl"));
        return;
    }
    let script = "import json, openpyxl\n\
         book = openpyxl.load_workbook('out.xlsx')\n\
         def cells(sheet, name):\n\
         \x20   rows = list(book[sheet].iter_rows())\n\
         \x20   at = [cell.value for cell in rows[0]].index(name)\n\
         \x20   return [[row[at].data_type, str(row[at].value), row[at].number_format] for row in rows[1:]]\n\
         print(json.dumps({'at': cells('when', 'at'), 'share': cells('when', 'share'), 'n': cells('when', 'n'),\n\
         \x20   'started': cells('runs', 'started_at'), 'table': cells('table runs', 'started_at'),\n\
         \x20   'shares': cells('outcomes', 'share')}))";
    let found = python(&lab, script);
    let date = "yyyy-mm-dd hh:mm:ss.000";
    assert_eq!(
        found["at"],
        json!([
            ["d", "2026-11-29 18:43:02.250000", date],
            ["n", "None", "General"],
            ["d", "1970-01-01 00:00:00", date],
            ["s", "253402300800.0", "General"],
            ["s", "1684-10-19T08:00:00.000Z", "General"],
        ])
    );
    assert_eq!(
        found["share"],
        json!([
            ["n", "0.4375", "0.00##%"],
            ["n", "0.525253", "0.00##%"],
            ["n", "1", "0.00##%"],
            ["n", "None", "General"],
            ["n", "0", "0.00##%"],
        ])
    );
    assert_eq!(found["n"][0], json!(["n", "1", "General"]));
    // A run's id begins with the Unix second of its start.
    for run in lab.rows("select run, started_at from runs") {
        let rusqlite::types::Value::Text(at) = &run[1] else { panic!("{run:?}") };
        let shown = json!(["d", at.replace('T', " ").trim_end_matches('Z'), date]);
        for sheet in ["started", "table"] {
            assert!(found[sheet].as_array().unwrap().contains(&shown), "{shown}: {}", found[sheet]);
        }
    }
    for share in found["shares"].as_array().unwrap() {
        assert_eq!(share[2], "0.00##%");
    }
}
