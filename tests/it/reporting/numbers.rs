//! Every table of the page against the query named under it. A table that nothing here looks at fails, and so does one
//! whose cells nobody read.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Index;

use std::process::Command;

use chrono::DateTime;
use rusqlite::types::Value as Cell;
use serde_json::Value;

use super::page::{Table, check_form, count, is_duration, is_share, tables};
use super::{TARGETS, query, report, sample};
use crate::harness::{Lab, build, fixture, has_program, real_journals, terminal};

/// The tables of a page, and which of their cells were looked at.
struct Page {
    text: String,
    tables: Vec<Table>,
    /// `query runs`, in the order of the page.
    runs: Vec<Value>,
    seen: RefCell<BTreeSet<(usize, usize)>>,
}

/// A row of a table; its cells are named by the heads of their columns.
#[derive(Clone, Copy)]
struct Row<'p> {
    page: &'p Page,
    table: usize,
    cells: &'p [String],
}

impl Row<'_> {
    /// The cell so many columns right of the one under a head. Heads as `p90` stand several times in one table.
    #[track_caller]
    fn after(&self, head: &str, columns: usize) -> &str {
        let heads = &self.page.tables[self.table].rows[0];
        let at = heads.iter().position(|known| known == head);
        let at = at.unwrap_or_else(|| panic!("no column {head:?} in {heads:?}")) + columns;
        self.page.seen.borrow_mut().insert((self.table, at));
        &self.cells[at]
    }

    #[track_caller]
    fn is_share(&self, head: &str, value: &Value) {
        assert!(is_share(&self[head], value), "{head} of {:?} is not {value}", self.cells);
    }

    #[track_caller]
    fn is_count(&self, head: &str, value: &Value) {
        let expected = if value.is_null() { "–".to_owned() } else { count(value) };
        assert_eq!(self[head], expected, "{head} of {:?}", self.cells);
    }

    #[track_caller]
    fn is_duration(&self, head: &str, value: &Value) {
        assert!(is_duration(&self[head], value), "{head} of {:?} is not {value}", self.cells);
    }

    /// Lengths under heads that are called as the columns of the answer.
    #[track_caller]
    fn are_durations(&self, answer: &Value, columns: &[&str]) {
        columns.iter().for_each(|column| self.is_duration(column, &answer[*column]));
    }
}

impl Index<&str> for Row<'_> {
    type Output = str;

    #[track_caller]
    fn index(&self, head: &str) -> &str {
        self.after(head, 0)
    }
}

impl Page {
    fn of(lab: &Lab, more: &[&str]) -> Self {
        let text = report(lab, &[&TARGETS[..], &["--min-attainment", "0.9"], more].concat());
        check_form(&text, "a page");
        let tables = tables(&text);
        Self { text, tables, runs: query(lab, &["runs"]), seen: RefCell::default() }
    }

    /// The rows, without the heads, of each table under a heading, behind a summary that is or begins so.
    fn each(&self, heading: &str, is_summary: impl Fn(&str) -> bool) -> Vec<Vec<Row<'_>>> {
        let tables = self.tables.iter().enumerate();
        tables
            .filter(|(_, table)| table.heading == heading && is_summary(&table.summary))
            .map(|(at, table)| {
                table.rows[1..].iter().map(|cells| Row { page: self, table: at, cells }).collect()
            })
            .collect()
    }

    /// Those of the one table that is so; none where there is none.
    #[track_caller]
    fn rows(&self, heading: &str, summary: &str) -> Vec<Row<'_>> {
        let mut found =
            self.each(heading, |known| known.starts_with(summary) && known.is_empty() == summary.is_empty());
        assert!(found.len() < 2, "{heading:?} {summary:?} stands {} times", found.len());
        found.pop().unwrap_or_default()
    }

    /// The number of a run on the page, from 1 on.
    fn number_of(&self, run: &Value) -> String {
        (self.runs.iter().position(|known| known["run"] == *run).expect("the run is known") + 1).to_string()
    }

    /// Columns with a head and words in a cell that nothing was compared with.
    fn not_seen(&self) -> Vec<String> {
        let seen = self.seen.borrow();
        let mut left = Vec::new();
        for (at, table) in self.tables.iter().enumerate() {
            for (column, head) in table.rows[0].iter().enumerate() {
                let is_empty =
                    table.rows[1..].iter().all(|cells| cells.get(column).is_none_or(String::is_empty));
                if !is_empty && !seen.contains(&(at, column)) {
                    left.push(format!("{} {}: {head}", table.heading, table.summary));
                }
            }
        }
        left
    }

    /// The words of the query that stands under a figure, from the one with this beginning.
    /// That of all runs together stands under other figures and is not meant.
    fn asked(&self, beginning: &str) -> Option<Vec<&str>> {
        let named =
            self.text.split("<code>query ").skip(1).map(|behind| behind.split_once("</code>").unwrap().0);
        let found =
            named.filter(|query| query.starts_with(beginning)).find(|query| !query.ends_with("--by all"));
        found.map(|query| query.split(' ').collect())
    }
}

fn by_all(lab: &Lab, name: &str) -> Vec<Value> {
    query(lab, &[name, "--by", "all"])
}

fn with_targets(lab: &Lab, words: &[&str]) -> Vec<Value> {
    query(lab, &[words, &TARGETS[..]].concat())
}

#[track_caller]
fn find<'p>(rows: &[Row<'p>], head: &str, name: &str) -> Row<'p> {
    *rows.iter().find(|row| &row[head] == name).unwrap_or_else(|| {
        panic!("no {head} {name:?} in {:?}", rows.iter().map(|row| row.cells).collect::<Vec<_>>())
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("–")
}

fn verdict(lab: &Lab, page: &Page) {
    let runs = with_targets(lab, &["attainment", "--intervals"]);
    let total = with_targets(lab, &["attainment", "--intervals", "--by", "all"]);
    let rows = page.rows("Attainment by run", "");
    assert_eq!(rows.len(), if runs.len() < 2 { 0 } else { 1 + runs.len() });
    for (row, answer) in rows.iter().zip(total.iter().chain(&runs)) {
        let name = match answer["scope"].as_str() {
            Some("all") => "All runs".to_owned(),
            Some(run) => format!("Run {} {run}", page.number_of(&answer["scope"])),
            None => panic!("{answer}"),
        };
        assert!(row["Run"].starts_with(&name), "{:?} {name}", row.cells);
        if name != "All runs" {
            let start = page.runs.iter().find(|known| known["run"] == answer["scope"]).unwrap();
            let start = start["wall_from"].as_str().map_or("–", |wall| &wall[11..16]);
            assert!(row["Start, UTC"].ends_with(start), "{:?} {start}", row.cells);
        }
        row.is_share("Attainment", &answer["attainment"]);
        let (low, high) = row["95 % interval"].split_once(" to ").unwrap();
        assert!(is_share(low, &answer["attainment_low"]), "{:?} {answer}", row.cells);
        assert!(is_share(high, &answer["attainment_high"]), "{:?} {answer}", row.cells);
        for (head, column) in [("Met", "met"), ("Scored", "scored"), ("Excluded", "excluded")] {
            row.is_count(head, &answer[column]);
        }
    }
}

/// A bucket: of which run, if the runs stand beside each other, and its begin: into the run, or in UTC.
type Bucket = (Option<String>, String);

fn bucket_of(page: &Page, scope: &Value) -> Bucket {
    let scope = text(scope);
    if let Some((run, begin)) = scope.rsplit_once(" +") {
        let seconds: u64 = begin.strip_suffix('s').unwrap().parse().unwrap();
        return (Some(page.number_of(&run.into())), seconds.to_string());
    }
    let time = DateTime::parse_from_rfc3339(scope).unwrap_or_else(|error| panic!("{scope}: {error}"));
    (None, time.format("%-d %b %H:%M:%S").to_string())
}

fn over_time(lab: &Lab, page: &Page) {
    let heading = "Engines out of service, floor breaches and controller decisions";
    let rows = page.rows(heading, "Numbers behind the plots over time");
    let attainment = page.asked("attainment --by ").expect("the plots over time name their query");
    let (by, width) = (&attainment[1..], attainment[2].rsplit(',').next().unwrap());
    let is_wall = !attainment[2].starts_with("run,");
    let of = |name: &str, more: &[&str]| -> BTreeMap<Bucket, Vec<Value>> {
        let mut found: BTreeMap<Bucket, Vec<Value>> = BTreeMap::new();
        for answer in query(lab, &[&[name], by, more].concat()) {
            found.entry(bucket_of(page, &answer["scope"])).or_default().push(answer);
        }
        found
    };
    let width_s = seconds_of(width);
    let completed: BTreeMap<Bucket, i64> = match page.asked("throughput ") {
        None => BTreeMap::new(),
        Some(words) => query(lab, &words)
            .iter()
            .map(|answer| {
                let begin_s = answer["bucket_s"].as_f64().unwrap();
                (
                    (Some(page.number_of(&answer["run"])), begin_s.to_string()),
                    answer["completed"].as_i64().unwrap(),
                )
            })
            .collect(),
    };
    let attainment = of("attainment", &TARGETS);
    let (outcomes, latency, waits) = (of("outcomes", &[]), of("latency", &[]), of("queue-waits", &[]));
    let legs = failed_legs(lab, page, is_wall, width);
    let mut found = BTreeSet::new();
    for row in &rows {
        let bucket = match is_wall {
            true if row["Time"].matches(':').count() == 1 => (None, format!("{}:00", &row["Time"])),
            true => (None, row["Time"].to_owned()),
            false => (Some(row["Run"].to_owned()), row["+ s"].to_owned()),
        };
        if !is_wall {
            row.after("Time", 0); // the wall time of the same bucket; tests/it/wall_clock.rs is about that
        }
        if row["Offered"].starts_with("no requests") {
            continue;
        }
        let Some(scored) = attainment.get(&bucket).map(|answers| &answers[0]) else {
            panic!("{bucket:?} is not in {:?}", attainment.keys())
        };
        for (head, column) in [("Offered", "offered"), ("Scored", "scored"), ("Met", "met")] {
            assert_eq!(row[head], scored[column].to_string(), "{head} of {bucket:?}");
        }
        let shown =
            scored["attainment"].as_f64().map_or("–".to_owned(), |met| format!("{:.1}", 100.0 * met));
        assert_eq!(row["Met, %"], shown, "{bucket:?}");
        // A bucket is divided by its whole width, the last one too.
        let rate = scored["offered"].as_f64().unwrap() / width_s as f64;
        assert_eq!(row["/s"], format!("{rate:.1}"), "{bucket:?}");
        let ended = |terminals: &[&str]| {
            let rows = outcomes.get(&bucket).into_iter().flatten();
            let rows = rows.filter(|row| terminals.contains(&text(&row["terminal"])));
            rows.map(|row| row["requests"].as_i64().unwrap()).sum::<i64>().to_string()
        };
        // By end there, by arrival where it is wall time; each is said under the figure.
        let completed = match is_wall {
            true => ended(&["completed"]),
            false => completed.get(&bucket).copied().unwrap_or(0).to_string(),
        };
        assert_eq!(
            [&row["Completed"], &row["Away"], &row["Failed"]],
            [completed, ended(&["refused", "rejected", "expired"]), ended(&["failed"])],
            "{bucket:?}"
        );
        let percentiles = |answers: &BTreeMap<Bucket, Vec<Value>>, kind: &str, name: &str| {
            let answers = answers.get(&bucket).into_iter().flatten();
            answers.clone().find(|answer| answer[kind] == name).cloned().unwrap_or(Value::Null)
        };
        let tell = |shown: &str, answer: &Value, column: &str, unit: f64| {
            let least = BTreeMap::from([("p50", 1), ("p90", 10), ("p99", 100)])[column];
            let value = answer[column].as_f64().filter(|_| answer["n"].as_i64().unwrap() >= least);
            let told: Option<f64> = shown.parse().ok();
            assert_eq!(told.is_some(), value.is_some(), "{column} of {bucket:?}: {shown} {answer}");
            if let Some((told, value)) = told.zip(value) {
                assert!((told - value * unit).abs() <= 0.0051 * value * unit, "{bucket:?}: {shown} {answer}");
            }
        };
        for (head, metric, unit) in [("TTFT p50, s", "ttft_s", 1.0), ("TPOT p50, ms", "tpot_s", 1e3)] {
            let answer = percentiles(&latency, "metric", metric);
            for (columns, column) in ["p50", "p90", "p99"].into_iter().enumerate() {
                tell(row.after(head, columns), &answer, column, unit);
            }
        }
        for head in page.tables[row.table].rows[0].iter().filter(|head| head.starts_with("Wait: ")) {
            let stage = head.trim_start_matches("Wait: ").trim_end_matches(" p99, ms");
            tell(&row[head.as_str()], &percentiles(&waits, "stage", stage), "p99", 1e3);
        }
        let legs = |leg: &str| legs.get(&(bucket.clone(), leg.to_owned())).copied().unwrap_or(0).to_string();
        let head = "Failed legs: prefill";
        assert_eq!([row.after(head, 0), row.after(head, 1)], [legs("prefill"), legs("decode")], "{bucket:?}");
        found.insert(bucket);
    }
    let asked: BTreeSet<Bucket> = attainment
        .into_iter()
        .filter(|(_, answers)| answers[0]["offered"] != 0)
        .map(|(bucket, _)| bucket)
        .collect();
    assert_eq!(
        asked.difference(&found).collect::<Vec<_>>(),
        Vec::<&Bucket>::new(),
        "buckets that no row has"
    );
}

/// A width as `--by` has it, in seconds.
fn seconds_of(width: &str) -> i64 {
    let (number, unit) = width.split_at(width.len() - 1);
    number.parse::<i64>().unwrap() * BTreeMap::from([("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)])[unit]
}

/// Failed legs by the bucket of the failure, counted by SQL.
fn failed_legs(lab: &Lab, page: &Page, is_wall: bool, width: &str) -> BTreeMap<(Bucket, String), i64> {
    let width = seconds_of(width);
    let at = if is_wall { "f.at + r.wall_offset_s" } else { "f.at - r.first_s" };
    let rows = lab.rows(&format!(
        "select r.run, f.phase, {width} * cast(({at}) / {width} as integer), count(*)
         from attempt_failures f join terminals t using (terminal_id) join runs r using (run_id)
         where f.attributed = 1 and case f.phase when 'prefill' then f.prefill_iid when 'decode' then f.decode_iid end
             is not null
         group by 1, 2, 3"
    ));
    let mut legs = BTreeMap::new();
    for row in rows {
        let [Cell::Text(run), Cell::Text(leg), Cell::Integer(begin), Cell::Integer(failed)] = &row[..] else {
            panic!("{row:?}")
        };
        let bucket = if is_wall {
            (None, DateTime::from_timestamp(*begin, 0).unwrap().format("%-d %b %H:%M:%S").to_string())
        } else {
            (Some(page.number_of(&run.as_str().into())), begin.to_string())
        };
        *legs.entry((bucket, leg.clone())).or_insert(0) += failed;
    }
    legs
}

fn fleet(lab: &Lab, page: &Page) {
    let heading = "Engines out of service, floor breaches and controller decisions";
    let rows = page.rows(heading, "Intervals behind this plot");
    let (downtime, breaches) = (query(lab, &["engine-downtime"]), query(lab, &["floor-breaches"]));
    let mut named = Vec::new();
    for answer in downtime.iter().chain(&breaches) {
        let what = match answer["kind"].as_str() {
            Some("ejected") => "ejected".to_owned(),
            Some(kind) => format!("{kind} hold"),
            None => format!("floor: {} live, {} needed", answer["live_prefill"], answer["min_prefill"]),
        };
        let from_s = answer["from_s"].as_f64().map_or("–".to_owned(), |from_s| format!("{from_s:.1}"));
        let open = if answer["open"] == 1 { "open" } else { "" };
        let run = page.number_of(&answer["run"]);
        let wall = answer["wall_from"].as_str().map_or("–", |wall| &wall[11..19]);
        let at = rows.iter().position(|row| {
            [&row["Run"], &row["What"], &row["Engine"], &row["Cause"], &row["Into the run, s"], &row["Open"]]
                == [&run, &what, text(&answer["engine"]), text(&answer["cause"]), &from_s, open]
                && is_duration(&row["Length"], &answer["duration_s"])
                && row["From"].ends_with(wall)
        });
        named.push(at.unwrap_or_else(|| {
            panic!("{answer} is not in {:?}", rows.iter().map(|row| row.cells).collect::<Vec<_>>())
        }));
    }
    let others = rows.iter().enumerate().filter(|(at, _)| !named.contains(at));
    for (_, row) in others {
        assert!(row["What"].starts_with("monitoring: "), "{:?} is in no query", row.cells);
    }
}

/// So many kinds stand in a table.
const MOST: usize = 12;

fn losses(lab: &Lab, page: &Page) {
    let misses = with_targets(lab, &["attainment-misses", "--by", "all"]);
    let names = BTreeMap::from([
        ("ttft+tpot", "TTFT and TPOT over target"),
        ("tpot", "TPOT over target"),
        ("ttft", "TTFT over target"),
        ("output_unmeasured", "output not measured"),
        ("ttft_unmeasured", "TTFT not measured"),
        ("cancelled", "cancelled before it was measured"),
    ]);
    let misses: Vec<_> = misses.iter().filter(|answer| answer["requests"] != 0).collect();
    let rows = page.rows("Misses by kind", "");
    assert_eq!(rows.len(), if misses.is_empty() { 0 } else { misses.len() + 1 });
    for answer in &misses {
        let miss = text(&answer["miss"]);
        let row = find(&rows, "Kind", names.get(miss).copied().unwrap_or(miss));
        row.is_count("Requests", &answer["requests"]);
        row.is_share("Of scored", &answer["share"]);
    }
    if let Some(total) = rows.last() {
        let all = &with_targets(lab, &["attainment", "--by", "all"])[0];
        let (scored, met) = (all["scored"].as_i64().unwrap(), all["met"].as_i64().unwrap());
        assert_eq!(&total["Kind"], "All misses");
        total.is_count("Requests", &(scored - met).into());
        total.is_share("Of scored", &((scored - met) as f64 / scored as f64).into());
    }
    let outcomes = by_all(lab, "outcomes");
    let rows = page.rows("How requests ended", "");
    assert_eq!(rows.len(), outcomes.len());
    let known = ["completed", "refused", "rejected", "expired", "failed", "invalid", "cancelled"];
    for answer in outcomes {
        let terminal = text(&answer["terminal"]);
        let more = if known.contains(&terminal) { "" } else { " (unknown to this version)" };
        let row = find(&rows, "Terminal", &format!("{terminal}{more}"));
        row.is_count("Requests", &answer["requests"]);
        row.is_share("Of offered", &answer["share"]);
    }
    refusals(lab, page);
    retries(lab, page);
    messages(lab, page);
}

fn refusals(lab: &Lab, page: &Page) {
    let mut refusals = by_all(lab, "refusals");
    refusals.sort_by_key(|answer| -answer["requests"].as_i64().unwrap());
    let rows = page.rows("Refusals by cause", "");
    assert_eq!(rows.len(), refusals.len().min(MOST));
    let told = |answer: &Value| {
        let (cause, reason) = (answer["cause"].as_str().unwrap_or("-"), answer["reason"].as_str());
        let reason = reason.filter(|reason| *reason != cause);
        reason.map_or(cause.to_owned(), |reason| format!("{cause} {reason}"))
    };
    for row in rows {
        let answer = refusals.iter().find(|answer| told(answer) == row["Cause"]);
        let answer = answer.unwrap_or_else(|| panic!("{:?} is in no query", row.cells));
        row.is_count("Requests", &answer["requests"]);
        row.is_share("Of refused", &answer["share_of_refused"]);
        row.is_share("Of offered", &answer["share_of_offered"]);
    }
}

fn retries(lab: &Lab, page: &Page) {
    let rows = page.rows("Retries and cancellations", "");
    let (retries, waste) = (&by_all(lab, "retries")[0], &by_all(lab, "wasted-work")[0]);
    let of = |part: &str, whole: &str| match retries[whole].as_f64() {
        Some(whole) if whole > 0.0 => (retries[part].as_f64().unwrap() / whole).into(),
        _ => Value::Null,
    };
    for (name, column, share, words) in [
        ("Retried requests", "retried", retries["retry_rate"].clone(), ""),
        ("Served after a retry", "served_after_retry", of("served_after_retry", "retried"), " of retried"),
        ("Attempts that failed", "wasted_attempts", of("wasted_attempts", "attempts"), " of attempts"),
    ] {
        let row = find(&rows, "What", name);
        row.is_count("Count", &retries[column]);
        let shown = row["Share"].strip_suffix(words).unwrap_or(&row["Share"]);
        assert!(is_share(shown, &share), "{:?}: {share}", row.cells);
    }
    let row = find(&rows, "What", "Output tokens nobody received");
    row.is_count("Count", &waste["tokens_discarded"]);
    match row["Share"].strip_suffix(" of observed") {
        Some(part) => assert!(is_share(part, &waste["discarded_share"]), "{part} {waste}"),
        None => {
            assert!(&row["Share"] == "not known" && waste["discarded_share"].is_null(), "{:?}", row.cells)
        }
    }
    let cancellations = by_all(lab, "cancellations");
    let sum = |column: &str| cancellations.iter().map(|answer| answer[column].as_i64().unwrap()).sum::<i64>();
    let row = find(&rows, "What", "Cancelled by clients");
    row.is_count("Count", &sum("requests").into());
    let most = cancellations.iter().map(|answer| answer["requests"].as_i64().unwrap()).max();
    let is_told = cancellations.iter().any(|answer| {
        let with_output = count(&sum("with_output").into());
        answer["requests"].as_i64() == most
            && row["Share"] == format!("most in {}, {with_output} with output", text(&answer["phase"]))
    });
    assert!(is_told || (most.is_none() && &row["Share"] == "none"), "{:?} {cancellations:?}", row.cells);
}

/// What failed attempts said, by type and phase, against `failure-causes`; the pattern against the messages themselves.
fn messages(lab: &Lab, page: &Page) {
    let mut expected: BTreeMap<(String, String), i64> = BTreeMap::new();
    for answer in by_all(lab, "failure-causes") {
        let key = (text(&answer["error_type"]).to_owned(), text(&answer["phase"]).to_owned());
        *expected.entry(key).or_default() += answer["failures"].as_i64().unwrap();
    }
    let all: i64 = expected.values().sum();
    let rows = page.rows("What failed attempts said", "");
    assert_eq!(rows.is_empty(), all == 0);
    let mut found: BTreeMap<(String, String), i64> = BTreeMap::new();
    for row in &rows {
        let failures: i64 = row["Failures"].replace(',', "").parse().unwrap();
        row.is_share("Share", &(failures as f64 / all as f64).into());
        *found.entry((row["Type"].to_owned(), row["Phase"].to_owned())).or_default() += failures;
        let said = lab.rows(&format!(
            "select f.error_message, f.retry_scheduled, t.rid from attempt_failures f join terminals t using (terminal_id)
             where coalesce(f.error_type, '–') = '{}' and coalesce(f.phase, '–') = '{}'",
            &row["Type"], &row["Phase"]
        ));
        let pattern = &row["Message, numbers as # and addresses as URL"];
        let alike: Vec<_> = said.iter().filter(|row| is_of_pattern(pattern, &row[0])).collect();
        assert_eq!(alike.len() as i64, failures, "{:?}", row.cells);
        let retried = alike.iter().filter(|row| row[1] == Cell::Integer(1)).count() as f64;
        row.is_share("Retried", &(retried / failures as f64).into());
        let example = &row["For example"];
        let is_it = |row: &&&Vec<Cell>| matches!(&row[2], Cell::Text(rid) if rid.starts_with(example));
        assert!(alike.iter().any(|row| is_it(&row)), "{:?}", row.cells);
    }
    if rows.len() < 10 {
        assert_eq!(found, expected);
    }
}

/// Whether a message becomes a pattern when its numbers and addresses are left out.
fn is_of_pattern(pattern: &str, message: &Cell) -> bool {
    let message = match message {
        Cell::Text(message) if !message.is_empty() => message.as_str(),
        _ => return pattern == "(no message)",
    };
    let words = message.split(' ').map(|word| match word.find("http://") {
        Some(at) => format!("{}URL", &word[..at]),
        None => word.to_owned(),
    });
    let mut plain = String::new();
    for c in words.collect::<Vec<_>>().join(" ").chars() {
        match c.is_ascii_digit() || (c == '.' && plain.ends_with('#')) {
            true if plain.ends_with('#') => {}
            true => plain.push('#'),
            false => plain.push(c),
        }
    }
    plain == pattern
}

fn latency(lab: &Lab, page: &Page) {
    const NAMES: [(&str, &str); 6] = [
        ("TTFT", "ttft_s"),
        ("TPOT", "tpot_s"),
        ("First byte", "first_byte_s"),
        ("TPOT from first byte", "decode_tpot_s"),
        ("Waits in all", "queue_wait_s"),
        ("Duration", "duration_s"),
    ];
    let metrics = BTreeMap::from(NAMES);
    let latencies = by_all(lab, "latency");
    let rows = page.rows("Percentiles by metric", "");
    assert_eq!(rows.len(), latencies.len());
    let wide = ["p50", "p90", "p95", "p99", "max"];
    for row in rows {
        let answer = latencies.iter().find(|answer| answer["metric"] == metrics[&row["Metric"]]).unwrap();
        row.is_count("n", &answer["n"]);
        row.are_durations(answer, &wide);
    }
    let columns = ["p50", "p90", "p99", "max"];
    for (heading, name, head, kind) in [
        ("Waits by stage", "queue-waits", "Stage", "stage"),
        ("From prefill done to the first byte", "handoff", "Decode on", "kind"),
    ] {
        let answers = by_all(lab, name);
        let rows = page.rows(heading, "");
        assert_eq!(rows.len(), answers.len(), "{name}");
        for row in rows {
            let called = match &row[head] {
                "another engine: transfer, decode queue" => "crossed",
                "same engine: decode queue" => "local",
                stage => stage,
            };
            let answer = answers.iter().find(|answer| answer[kind] == called).unwrap();
            row.is_count("n", &answer["n"]);
            row.are_durations(answer, &columns);
        }
    }
    let engines = by_all(lab, "engine-latency");
    for (heading, metric) in
        [("TTFT of completed requests", "ttft_s"), ("TPOT of completed requests", "tpot_s")]
    {
        let rows = page.rows(heading, "Percentiles behind this plot");
        let of_all = latencies.iter().filter(|answer| answer["metric"] == metric);
        let expected: Vec<_> =
            of_all.chain(engines.iter().filter(|answer| answer["metric"] == metric)).collect();
        let expected: Vec<_> = expected.into_iter().filter(|answer| answer["n"] != 0).collect();
        assert_eq!(rows.len(), expected.len());
        for answer in expected {
            let row = find(&rows, "Of", answer["engine"].as_str().unwrap_or("all"));
            row.is_count("n", &answer["n"]);
            row.are_durations(answer, &columns);
        }
    }
    by_run(lab, page, ("Percentiles by metric", "Metric"), ("latency", "metric"), &wide, &metrics);
    by_run(lab, page, ("Waits by stage", "Stage"), ("queue-waits", "stage"), &columns, &BTreeMap::new());
    heat(lab, page);
}

fn by_run(
    lab: &Lab,
    page: &Page,
    (heading, head): (&str, &str),
    (name, kind): (&str, &str),
    columns: &[&str],
    called: &BTreeMap<&str, &str>,
) {
    let answers = query(lab, &[name]);
    let rows = page.rows(heading, "By run");
    let runs = &page.runs;
    assert_eq!(rows.len(), if runs.len() < 2 { 0 } else { answers.len() }, "{name}");
    for row in rows {
        let run = &runs[row["Run"].parse::<usize>().unwrap() - 1]["run"];
        let of = called.get(&row[head]).copied().unwrap_or(&row[head]);
        let answer = answers.iter().find(|answer| answer["scope"] == *run && answer[kind] == of);
        let answer = answer.unwrap_or_else(|| panic!("{:?} is in no query", row.cells));
        row.is_count("n", &answer["n"]);
        row.are_durations(answer, columns);
    }
}

/// TTFT against TPOT, counted by SQL.
fn heat(lab: &Lab, page: &Page) {
    let where_both =
        "from terminals where terminal = 'completed' and ttft_s is not null and tpot_s is not null";
    let both = lab.number(&format!("select count(*) {where_both}"));
    if both == 0 {
        return;
    }
    let mut tables = page.each("TTFT against TPOT", |summary| summary == "Numbers behind this plot");
    let (Some(cells), Some(quadrants), None) = (tables.pop(), tables.pop(), tables.pop()) else {
        panic!("two tables are behind the heat map")
    };
    let [ttft, tpot] = [TARGETS[1], TARGETS[3]];
    for (name, is_ttft, is_tpot) in [
        ("both within the SLO", "<=", "<="),
        ("only TPOT over", "<=", ">"),
        ("only TTFT over", ">", "<="),
        ("both over", ">", ">"),
    ] {
        let row = find(&quadrants, "Quadrant", name);
        let found = lab.number(&format!(
            "select count(*) {where_both} and ttft_s {is_ttft} {ttft} and tpot_s {is_tpot} {tpot}"
        ));
        row.is_count("Requests", &found.into());
        row.is_share("Share", &(found as f64 / both as f64).into());
    }
    // Cell by cell, by the edges that stand in the heads; what lies beyond the ends is in the outermost cells.
    let heads = page.tables[cells[0].table].rows[0].clone();
    let edge = |text: &str| -> f64 {
        let (number, unit) = text.split_once(' ').unwrap();
        number.parse::<f64>().unwrap() * BTreeMap::from([("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)])[unit]
    };
    let right_of = |target: &str, shown: f64, per_decade: f64| {
        let target: f64 = target.parse().unwrap();
        target * 10_f64.powf(((shown / target).log10() * per_decade).round() / per_decade)
    };
    let mut all = 0;
    let mut rows = Vec::new();
    for row in &cells {
        let counts: Vec<i64> = (1..heads.len())
            .map(|column| row.after(&heads[0], column).replace(',', "").parse().unwrap_or(0))
            .collect();
        all += counts.iter().sum::<i64>();
        rows.push((edge(row.after(&heads[0], 0)), counts));
    }
    assert_eq!(all, both);
    let (ttfts, tpots): (Vec<f64>, Vec<f64>) =
        (heads[1..].iter().map(|head| edge(head)).collect(), rows.iter().map(|row| row.0).collect());
    let is_fine = heads.len() <= 23 && rows.len() <= 18;
    for (at, (_, counts)) in rows.iter().enumerate().filter(|_| is_fine) {
        let sum: i64 = counts.iter().sum();
        let low = right_of(tpot, tpots[at], 10.0);
        let upper = (at > 0).then(|| format!("and tpot_s <= {}", right_of(tpot, tpots[at - 1], 10.0)));
        let lower = (at + 1 < rows.len()).then(|| format!("and tpot_s > {low}"));
        let bounds = [upper, lower].into_iter().flatten().collect::<Vec<_>>().join(" ");
        assert_eq!(lab.number(&format!("select count(*) {where_both} {bounds}")), sum, "{bounds}");
    }
    for (at, _) in ttfts.iter().enumerate().filter(|_| is_fine) {
        let sum: i64 = rows.iter().map(|row| row.1[at]).sum();
        let lower = (at > 0).then(|| format!("and ttft_s > {}", right_of(ttft, ttfts[at], 6.0)));
        let upper = ttfts.get(at + 1).map(|next| format!("and ttft_s <= {}", right_of(ttft, *next, 6.0)));
        let bounds = [upper, lower].into_iter().flatten().collect::<Vec<_>>().join(" ");
        assert_eq!(lab.number(&format!("select count(*) {where_both} {bounds}")), sum, "{bounds}");
    }
}

fn load(lab: &Lab, page: &Page) {
    goodput(lab, page);
    price(lab, page);
    let prompts = with_targets(lab, &["prompt-sizes", "--by", "all"]);
    let rows: Vec<_> = page.each("By prompt size", |_| true).into_iter().flatten().collect();
    assert_eq!(rows.len(), prompts.len());
    for answer in &prompts {
        let to = answer["input_to"].as_i64().unwrap() - 1;
        let row = find(
            &rows,
            "Prompt tokens",
            &format!("{} to {}", count(&answer["input_from"]), count(&to.into())),
        );
        row.is_count("Requests", &answer["offered"]);
        row.is_share("Attainment", &answer["attainment"]);
        row.is_duration("TTFT p50", &answer["ttft_p50"]);
        row.is_duration("p99", &answer["ttft_p99"]);
    }
}

/// By `goodput` where the runs follow each other; where they overlap, by the buckets of all routers together.
fn goodput(lab: &Lab, page: &Page) {
    let heading = "Attainment against offered rate";
    let rows = page.rows(heading, "Numbers behind this plot");
    let edges = |row: &Row<'_>| {
        let (from, to) = row["Requests/s"].split_once(" to ").unwrap();
        [from, to].map(|edge| edge.replace(',', "").parse::<f64>().unwrap())
    };
    let answers: Vec<Value> = match page.asked("goodput ") {
        Some(words) => with_targets(lab, &words),
        None => {
            let attainment = page.asked("attainment --by ").unwrap();
            let width_s = seconds_of(attainment[2]) as f64;
            let [from, to] = edges(&rows[0]);
            let width = to - from;
            let mut bands: BTreeMap<i64, [i64; 3]> = BTreeMap::new();
            for answer in with_targets(lab, &attainment).iter().filter(|answer| answer["offered"] != 0) {
                let band = (answer["offered"].as_f64().unwrap() / width_s / width).floor() as i64;
                let counts = [1, answer["scored"].as_i64().unwrap(), answer["met"].as_i64().unwrap()];
                let sums = bands.entry(band).or_default();
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
            let of = |(band, [buckets, scored, met]): (i64, [i64; 3])| {
                serde_json::json!({"rate_from": band as f64 * width, "rate_to": (band + 1) as f64 * width,
                    "buckets": buckets, "scored": scored, "met": met, "attainment": met as f64 / scored as f64})
            };
            bands.into_iter().map(of).collect()
        }
    };
    let answers: Vec<_> = answers.iter().filter(|answer| answer["scored"] != 0).collect();
    assert_eq!(rows.len(), answers.len());
    for (row, answer) in rows.iter().zip(answers) {
        for (shown, column) in edges(row).into_iter().zip(["rate_from", "rate_to"]) {
            let value = answer[column].as_f64().unwrap();
            assert!((shown - value).abs() <= 0.005 * value, "{:?} {answer}", row.cells);
        }
        for (head, column) in [("Buckets", "buckets"), ("Scored", "scored"), ("Met", "met")] {
            row.is_count(head, &answer[column]);
        }
        row.is_share("Attainment", &answer["attainment"]);
        // No query gives this interval: at least it holds the share and is one.
        if let Some((low, high)) = row["95 % interval"].split_once(" to ") {
            let part = |text: &str| text.trim_end_matches(" %").parse::<f64>().unwrap() / 100.0;
            let attainment = answer["attainment"].as_f64().unwrap();
            assert!(part(low) <= attainment + 0.001 && attainment <= part(high) + 0.001, "{:?}", row.cells);
        }
    }
}

/// The price of admission against TTFT, by bands of the requests themselves; in all those of `admission-price`.
fn price(lab: &Lab, page: &Page) {
    let mut bands: BTreeMap<i32, Vec<f64>> = BTreeMap::new();
    let sql = "select price_s, ttft_s from terminals where terminal = 'completed' and price_s > 0 and ttft_s is not null";
    for row in lab.rows(sql) {
        let real = |at: usize| match row[at] {
            Cell::Real(real) => real,
            ref other => panic!("{other:?}"),
        };
        bands.entry((real(0).log10() * 6.0).floor() as i32).or_default().push(real(1));
    }
    let priced: usize = bands.values().map(Vec::len).sum();
    let answers = by_all(lab, "admission-price");
    let named = answers.iter().find(|answer| answer["outcome"] == "completed");
    assert_eq!(priced as i64, named.map_or(0, |answer| answer["n"].as_i64().unwrap()));
    bands.retain(|_, values| values.len() >= 20);
    let rows = page.rows("Admission price against observed TTFT", "Numbers behind this plot");
    assert_eq!(rows.len(), bands.len());
    for (row, (band, values)) in rows.iter().zip(&mut bands) {
        values.sort_by(f64::total_cmp);
        let (from, to) = row["Price"].split_once(" to ").unwrap();
        for (shown, edge) in [(from, *band), (to, band + 1)] {
            assert!(is_duration(shown, &10_f64.powf(f64::from(edge) / 6.0).into()), "{:?}", row.cells);
        }
        row.is_count("n", &values.len().into());
        for (head, percent) in [("TTFT p10", 10), ("p50", 50), ("p90", 90)] {
            row.is_duration(head, &values[(values.len() * percent).div_ceil(100) - 1].into());
        }
    }
}

fn engines(lab: &Lab, page: &Page) {
    let failures = by_all(lab, "engine-failures");
    let latencies = by_all(lab, "engine-latency");
    let downtime = query(lab, &["engine-downtime"]);
    for (heading, leg, metric) in [("Prefill", "prefill", "ttft_s"), ("Decode", "decode", "tpot_s")] {
        let legs: Vec<_> =
            failures.iter().filter(|answer| answer["leg"] == leg && !answer["engine"].is_null()).collect();
        let all: i64 = legs.iter().map(|answer| answer["attempts"].as_i64().unwrap()).sum();
        let rows = page.rows(heading, "");
        assert_eq!(rows.len(), legs.len());
        let name = if leg == "prefill" { "TTFT" } else { "TPOT" };
        for answer in legs {
            let row = find(&rows, "Engine", text(&answer["engine"]));
            row.is_share("Share", &(answer["attempts"].as_f64().unwrap() / all as f64).into());
            row.is_share("Failed", &answer["failure_rate"]);
            let told = format!("{} of {}", count(&answer["failures"]), count(&answer["attempts"]));
            assert_eq!(row["Legs"], told);
            let is_it = |known: &&Value| known["metric"] == metric && known["engine"] == answer["engine"];
            let latency = latencies.iter().find(is_it).unwrap_or(&Value::Null);
            row.is_duration(&format!("{name} p50"), &latency["p50"]);
            row.is_duration(&format!("{name} p99"), &latency["p99"]);
            let own = downtime.iter().filter(|known| known["engine"] == answer["engine"]);
            let (ejected, holds): (Vec<_>, Vec<_>) = own.partition(|known| known["kind"] == "ejected");
            let ejected_s: f64 = ejected.iter().filter_map(|known| known["duration_s"].as_f64()).sum();
            row.is_duration("Ejected", &if ejected_s > 0.0 { ejected_s.into() } else { Value::Null });
            assert_eq!(row["Holds"], holds.len().to_string());
        }
    }
}

fn router(lab: &Lab, page: &Page) {
    let mut decisions: BTreeMap<(String, String), i64> = BTreeMap::new();
    for answer in by_all(lab, "controller") {
        let word = |column: &str| answer[column].as_str().unwrap_or("-").to_owned();
        *decisions.entry((word("result"), word("reason"))).or_default() +=
            answer["decisions"].as_i64().unwrap();
    }
    let rows = page.rows("Controller", "");
    assert_eq!(rows.len(), decisions.len().min(MOST));
    for row in rows {
        let found = decisions.get(&(row["Result"].to_owned(), row["Reason"].to_owned()));
        assert_eq!(Some(&row["Decisions"].replace(',', "").parse().unwrap()), found, "{:?}", row.cells);
    }
    let monitoring = by_all(lab, "monitoring");
    let rows = page.rows("Controller", "Monitoring: ");
    assert_eq!(rows.len(), monitoring.len().min(MOST));
    for row in rows {
        let is_it = |answer: &&Value| answer["stage"] == row["Stage"] && answer["class"] == row["Class"];
        let answer =
            monitoring.iter().find(is_it).unwrap_or_else(|| panic!("{:?} is in no query", row.cells));
        row.is_count("Failures", &answer["failures"]);
        row.is_count("Longest streak", &answer["longest_streak"]);
        row.is_count("Degraded", &answer["degraded"]);
        row.is_duration("for", &answer["degraded_s"]);
    }
    let cache = &by_all(lab, "cache")[0];
    let rows = page.rows("Controller", "Prompt cache");
    let with = format!("{} of {}", count(&cache["with_cached"]), count(&cache["requests"]));
    assert_eq!(find(&rows, "What", "Requests with cached tokens")["Value"], with);
    find(&rows, "What", "Cached tokens found").is_count("Value", &cache["cached_tokens"]);
    find(&rows, "What", "Cached on the engine chosen").is_count("Value", &cache["placed_cached"]);
    find(&rows, "What", "Prefill saved, as predicted").is_duration("Value", &cache["saved_prefill_s"]);
}

fn worst(lab: &Lab, page: &Page) {
    let number = |value: &Value| if value.is_null() { "–".to_owned() } else { count(value) };
    for (heading, order) in [("By TTFT", "ttft_s"), ("By TPOT", "tpot_s")] {
        let asked = page.asked(&format!("requests --order {order}")).expect("the query is named");
        let answers = query(lab, &asked);
        let rows = page.rows(heading, "");
        assert_eq!(rows.len(), answers.len());
        for (row, answer) in rows.iter().zip(&answers) {
            assert_eq!([&row["Request"], &row["Ended"]], [text(&answer["rid"]), text(&answer["terminal"])]);
            assert_eq!(row["Run"], page.number_of(&answer["run"]));
            row.is_duration("TTFT", &answer["ttft_s"]);
            row.is_duration("TPOT", &answer["tpot_s"]);
            row.is_duration("Duration", &answer["duration_s"]);
            let tokens = format!("{} → {}", number(&answer["input_len"]), number(&answer["output_len"]));
            let engines = format!("{} → {}", text(&answer["prefill_iid"]), text(&answer["decode_iid"]));
            assert_eq!([&row["Tokens in → out"], &row["Prefill → decode"]], [tokens, engines]);
            row.is_count("Attempts", &answer["attempts"]);
        }
    }
    let failed = lab.rows(
        "select t.rid, r.run, coalesce(t.error_type || ': ', '') || coalesce(t.error, ''), coalesce(t.prefill_iid, '–')
             || ' → ' || coalesce(t.decode_iid, '–'), cast(t.attempts as text),
             strftime('%H:%M:%S', t.arrived + t.duration_s + r.wall_offset_s, 'unixepoch')
         from terminals t join runs r using (run_id) where t.terminal = 'failed'
         order by r.started_at desc, r.run desc, t.arrived + coalesce(t.duration_s, 0) desc, t.rid limit 8",
    );
    let rows = page.rows("Latest failures", "");
    assert_eq!(rows.len(), failed.len());
    for (row, expected) in rows.iter().zip(failed) {
        let words = expected.iter().map(|cell| match cell {
            Cell::Text(text) => text.clone(),
            Cell::Null => String::new(),
            other => panic!("{other:?}"),
        });
        let words: Vec<String> = words.collect();
        assert_eq!(
            [&row["Request"], &row["Run"], &row["Prefill → decode"], &row["Attempts"]],
            [&words[0], &page.number_of(&words[1].as_str().into()), &words[3], &words[4]]
        );
        // A long error is cut in the middle.
        let (begin, end) = row["Error"].split_once('…').unwrap_or((&row["Error"], ""));
        assert!(words[2].starts_with(begin) && words[2].ends_with(end), "{:?} {:?}", row.cells, words[2]);
        assert!(row["Ended, UTC"].ends_with(&words[5]), "{:?} {words:?}", row.cells);
    }
}

fn provenance(lab: &Lab, page: &Page) {
    let runs = &page.runs;
    let rows = page.rows("Runs and builds", "");
    assert_eq!(rows.len(), runs.len());
    for (at, (row, answer)) in rows.iter().zip(runs).enumerate() {
        assert_eq!(row["Run"], (at + 1).to_string());
        for (head, column) in [
            ("Id", "run"),
            ("Release", "version"),
            ("Git", "git"),
            ("Build", "build_certainty"),
            ("Accounting", "token_accounting"),
            ("Admission", "admission_mode"),
        ] {
            let long = text(&answer[column]);
            assert_eq!(
                &row[head],
                if head == "Git" { &long[..long.len().min(10)] } else { long },
                "{column}"
            );
        }
        let source = text(&answer["source"]);
        let source = source.strip_prefix("sha256:").unwrap_or(source);
        assert_eq!(row["Source"], source.chars().take(10).collect::<String>());
        let start =
            answer["wall_from"].as_str().map_or("–".to_owned(), |wall| wall[..19].replace('T', " "));
        assert_eq!(row["Started, UTC"], start);
        row.is_count("Requests", &answer["terminals"]);
        row.is_count("Events", &answer["events"]);
        row.is_duration("Span", &answer["span_s"]);
        let (basis, error) = row["Wall clock"].split_once(", ").unwrap_or((&row["Wall clock"], ""));
        assert_eq!(basis, answer["wall_basis"].as_str().unwrap_or("unknown"));
        if let Some(error) = error.strip_prefix("± ") {
            assert!(is_duration(error, &answer["wall_error_s"]), "{:?} {answer}", row.cells);
        }
    }
    let files = lab.rows("select path, lines, offset_bytes from sources order by path");
    let rows = page.rows("Files", "");
    assert_eq!(rows.len(), files.len());
    for file in files {
        let [Cell::Text(path), Cell::Integer(lines), Cell::Integer(bytes)] = &file[..] else {
            panic!("{file:?}")
        };
        let row = find(&rows, "File", path.rsplit('/').next().unwrap());
        row.is_count("Lines", &(*lines).into());
        row.is_count("Bytes", &(*bytes).into());
    }
    let bad = lab.rows(
        "select reason, kind, count(*), min(line_no), count(distinct source_id) from rejects group by kind, reason",
    );
    let rows: Vec<_> = page.each("What was not read", |_| true).into_iter().flatten().collect();
    assert_eq!(rows.len(), bad.len());
    for cells in bad {
        let [
            Cell::Text(reason),
            Cell::Text(kind),
            Cell::Integer(lines),
            Cell::Integer(first),
            Cell::Integer(files),
        ] = &cells[..]
        else {
            panic!("{cells:?}")
        };
        let row = find(&rows, "Reason", reason);
        assert_eq!(&row["What became of it"], if kind == "repaired" { "mended" } else { "not read" });
        row.is_count("Lines", &(*lines).into());
        assert!(
            *files > 1 || row["First place"].ends_with(&format!(", line {}", count(&(*first).into()))),
            "{:?}",
            row.cells
        );
    }
}

fn compare_everything(lab: &Lab, page: &Page) {
    verdict(lab, page);
    over_time(lab, page);
    fleet(lab, page);
    losses(lab, page);
    latency(lab, page);
    load(lab, page);
    engines(lab, page);
    router(lab, page);
    worst(lab, page);
    provenance(lab, page);
    assert_eq!(page.not_seen(), Vec::<String>::new(), "nothing compares these with anything");
}

#[test]
fn numbers_of_the_tables_are_those_of_the_queries_named_under_them() {
    let lab = sample();
    let page = Page::of(&lab, &[]);
    compare_everything(&lab, &page);
    assert!(page.tables.len() >= 30, "{}", page.tables.len());
}

#[test]
fn numbers_of_a_real_journal_are_those_of_the_queries() {
    for name in ["0.7.0-full.jsonl", "0.2.1-takeover.jsonl"] {
        let lab = Lab::new();
        lab.write("real.jsonl", fixture(name));
        lab.ingest("real.jsonl");
        compare_everything(&lab, &Page::of(&lab, &[]));
    }
}

#[test]
fn numbers_of_a_generated_journal_are_those_of_the_queries() {
    let test = "numbers_of_a_generated_journal_are_those_of_the_queries";
    let Some(shared) = real_journals(test) else { return };
    if !has_program(test, "python3") {
        return;
    }
    let lab = Lab::new();
    let made = Command::new("python3")
        .arg(shared.join("tools/journalgen.py"))
        .args("--rows 6000 --runs 2 --seed 11 --hostile 2 --out generated.jsonl".split(' '))
        .current_dir(lab.path(""))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    lab.run(&["ingest", "generated.jsonl"]);
    let page = Page::of(&lab, &[]);
    compare_everything(&lab, &page);
    assert!(page.asked("goodput ").is_some(), "its runs follow each other");
}

#[test]
fn numbers_of_a_page_with_bad_lines_and_one_run_are_those_of_the_queries() {
    let lab = Lab::new();
    let rows: Vec<String> =
        (0..300).map(|at| terminal("1795000000-a", &format!("r{at}"), f64::from(at) * 0.7)).collect();
    lab.write("one.jsonl", format!("{}\n{{\"torn\n{}\n[]\n", build("0.7.0"), rows.join("\n")));
    lab.run(&["ingest", "one.jsonl"]);
    let page = Page::of(&lab, &[]);
    compare_everything(&lab, &page);
}
