//! The answers of the canned queries: equal to an independent reference, the same in the stock shell, the
//! same from the faster statements, and equal to what was worked out by hand.
//!
//! [`World`] has journals in a database, [`Chosen`] what is asked of, [`Question`] what is asked. Most of it is
//! asked through the library, where times are still numbers; `program.rs` asks the program.

mod cases;
mod catalog;
mod engines;
mod fast;
mod plans;
mod program;
mod reference;
mod shell;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Parser;
use narwhal_jq::cli::SelectionFlags;
use narwhal_jq::query::catalog::shipped;
use narwhal_jq::query::header::{Query, SAVED_SLO};
use narwhal_jq::query::run::{Bound, collect};
use narwhal_jq::query::{functions, params};
use narwhal_jq::selection::{self, OPEN_FROM, OPEN_TO, Row, Selection};
use narwhal_jq::store;
use rusqlite::Connection;
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use crate::harness::{self, Lab};
use crate::plain;

// ---------------------------------------------------------------- journals in a database

/// Journals in folders of a lab, and the database that has them.
pub(crate) struct World {
    lab: Lab,
    journals: Vec<PathBuf>,
    /// A minute after the last file changed.
    now: DateTime<Utc>,
}

/// What is known of a run, from the database.
struct Run {
    run: String,
    first_s: f64,
    last_s: f64,
    offset_s: f64,
}

impl World {
    /// Copies journals into folders and reads them. Each file gets the time at which its last row was written, as
    /// far as the ids of its runs tell.
    #[track_caller]
    fn of(journals: &[(&str, PathBuf)]) -> Self {
        let lab = Lab::new();
        let mut now = 0.0_f64;
        let mut copies = Vec::new();
        for (folder, journal) in journals {
            fs::create_dir_all(lab.path(folder)).unwrap();
            let copy = lab.path(folder).join(journal.file_name().unwrap());
            // The original may be read-only, and a copy would be.
            fs::write(&copy, fs::read(journal).unwrap()).unwrap();
            let written_s = written_s(journal);
            now = now.max(written_s);
            harness::set_modified(&copy, written_s);
            lab.run(&["ingest", copy.to_str().unwrap()]).exits(0);
            copies.push(copy);
        }
        let now = DateTime::from_timestamp(now as i64 + 60, 0).unwrap();
        Self { lab, journals: copies, now }
    }

    /// A connection as the program has one.
    fn open(&self) -> Connection {
        let connection = store::open_to_read(&self.lab.path("narwhal.db"), Duration::from_secs(30)).unwrap();
        functions::add(&connection).unwrap();
        connection
    }

    /// The runs with a time, the earliest first.
    fn runs(&self) -> Vec<Run> {
        let database = self.lab.database();
        let mut find = database
            .prepare("select run, first_s, last_s, wall_offset_s from runs where first_s is not null order by first_s + wall_offset_s")
            .unwrap();
        find.query_map([], |row| {
            Ok(Run { run: row.get(0)?, first_s: row.get(1)?, last_s: row.get(2)?, offset_s: row.get(3)? })
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
    }

    /// The texts of a column, some of them.
    fn some(&self, sql: &str) -> Vec<String> {
        let rows = self.lab.rows(&format!("{sql} limit 2"));
        let text = |row: &Vec<Sql>| match &row[0] {
            Sql::Text(text) => Some(text.clone()),
            _ => None,
        };
        rows.iter().filter_map(text).collect()
    }

    /// Asks the reference all of it at once, beside the caller.
    fn ask_the_reference(&self, questions: Vec<Vec<String>>) -> thread::JoinHandle<Vec<Value>> {
        let journals = self.journals.clone();
        thread::spawn(move || {
            let batch: String = questions.iter().map(|question| format!("{}\n", json!(question))).collect();
            let answers = reference(&["--batch"], &journals, &batch);
            let answers: Vec<Value> =
                answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(answers.len(), questions.len());
            answers
        })
    }
}

/// When the last row of a journal was written: each run began at the second in its id.
fn written_s(journal: &Path) -> f64 {
    let (records, _) = plain::records(journal);
    let number = |row: &Value, name: &str| row.get(name).and_then(Value::as_f64);
    plain::runs(&records)
        .iter()
        .filter_map(|run| {
            let start_s: f64 = run.split('-').next()?.parse().ok()?;
            let times: Vec<f64> = records
                .iter()
                .filter(|row| row["run"] == **run && row["event"] != "engine_lifecycle")
                .filter_map(|row| match number(row, "arrived") {
                    Some(arrived) => Some(arrived + number(row, "duration_s").unwrap_or_default()),
                    None => number(row, "at"),
                })
                .collect();
            let arrivals =
                plain::terminals(&records, Some(run)).into_iter().filter_map(|row| number(row, "arrived"));
            let first_s = arrivals.chain(times.iter().copied()).reduce(f64::min)?;
            Some(start_s + times.into_iter().reduce(f64::max)? - first_s + 0.375)
        })
        .reduce(f64::max)
        .unwrap()
}

/// What `reference.py` writes.
#[track_caller]
pub(crate) fn reference<P: AsRef<Path>>(arguments: &[&str], journals: &[P], stdin: &str) -> String {
    let mut child = Command::new("python3")
        .arg(harness::project().join("tests/reference/reference.py"))
        .args(arguments)
        .args(journals.iter().map(AsRef::as_ref))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It reads all of it before it writes anything.
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "reference.py {arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// An old and a new journal of real routers, when they are there.
fn real(test: &str) -> Option<World> {
    let shared = harness::real_journals(test)?.join("journals");
    Some(World::of(&[("old", shared.join("0.2.1/mixed.jsonl")), ("new", shared.join("0.7.0/mixed.jsonl"))]))
}

/// The journals that ship with the project, in two folders.
fn shipped_journals() -> World {
    let journals: Vec<(&str, PathBuf)> = plain::shipped_journals()
        .into_iter()
        .enumerate()
        .map(|(at, path)| (["a", "b"][at % 2], path))
        .collect();
    World::of(&journals)
}

/// 20,000 generated rows of four runs, when the generator is there.
fn generated(test: &str) -> Option<World> {
    let shared = harness::real_journals(test)?;
    let lab = Lab::new();
    let journal = lab.path("generated.jsonl");
    let made = Command::new("python3")
        .arg(shared.join("tools/journalgen.py"))
        .args("--rows 20000 --runs 4 --release mixed --interleave --seed 7 --out".split(' '))
        .arg(&journal)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success(), "journalgen.py: {made}");
    Some(World::of(&[("generated", journal)]))
}

// ---------------------------------------------------------------- what is asked of

/// What a question is asked of: flags, or the rows of `selection` themselves.
#[derive(Debug, Clone)]
enum Chosen {
    Flags(Vec<String>),
    Rows(Vec<(String, String, f64, f64)>),
}

/// The flags as a program reads them.
#[derive(Debug, Parser)]
struct Flags {
    #[command(flatten)]
    selection: SelectionFlags,
}

impl Chosen {
    fn flags(text: &str) -> Self {
        Self::Flags(text.split_whitespace().map(str::to_owned).collect())
    }

    /// As the reference takes it.
    fn for_the_reference(&self, world: &World) -> Vec<String> {
        let now = ["--now".to_owned(), world.now.timestamp().to_string()];
        match self {
            Self::Flags(flags) => [&now[..], flags].concat(),
            Self::Rows(rows) => [&now[..], &["--rows".to_owned(), json!(rows).to_string()]].concat(),
        }
    }

    /// Makes it the selection of the connection.
    #[track_caller]
    fn choose(&self, world: &World, connection: &mut Connection) -> Selection {
        let chosen = match self {
            Self::Flags(flags) => {
                let words = std::iter::once("test").chain(flags.iter().map(String::as_str));
                let flags = Flags::try_parse_from(words).unwrap_or_else(|error| panic!("{flags:?}: {error}"));
                let asked = flags.selection.asked(world.now).unwrap();
                selection::choose(connection, &asked, world.now)
                    .unwrap_or_else(|error| panic!("{self:?}: {error:#}"))
            }
            Self::Rows(rows) => {
                let run_id = |run: &str| {
                    let sql = "select run_id from runs where run = ?1";
                    connection.query_row(sql, [run], |row| row.get(0)).unwrap()
                };
                let rows = rows
                    .iter()
                    .map(|(scope, run, from_s, to_s)| Row {
                        scope: scope.clone(),
                        run_id: run_id(run),
                        from_s: *from_s,
                        to_s: *to_s,
                    })
                    .collect();
                Selection { rows, ..Selection::default() }
            }
        };
        chosen.install(connection).unwrap();
        chosen
    }

    /// Whether a query takes it: groups mean nothing to one whose rows are no groups.
    fn is_fit_for(&self, query: &Query) -> bool {
        match self {
            Self::Flags(flags) => {
                query.columns[0].name == "scope" || !flags.iter().any(|flag| flag == "--by")
            }
            // A request in two scopes counts in both, and is still one row of a query whose rows are requests.
            Self::Rows(rows) => {
                let overlap = |one: &(String, String, f64, f64), other: &(String, String, f64, f64)| {
                    one.1 == other.1 && one.2 < other.3 && other.2 < one.3
                };
                let pairs = rows
                    .iter()
                    .enumerate()
                    .flat_map(|(at, row)| rows[at + 1..].iter().map(move |next| (row, next)));
                query.columns[0].name == "scope" || !pairs.into_iter().any(|(one, other)| overlap(one, other))
            }
        }
    }
}

impl std::fmt::Display for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flags(flags) => write!(f, "[{}]", flags.join(" ")),
            Self::Rows(rows) => write!(f, "{} rows", rows.len()),
        }
    }
}

impl World {
    /// Every kind of selection that there is.
    fn selections(&self) -> Vec<Chosen> {
        let runs = self.runs();
        let (first, last) = (&runs[0], &runs[runs.len() - 1]);
        // In whole seconds, which everybody writes alike.
        let time = |wall_s: f64| {
            DateTime::from_timestamp(wall_s as i64, 0).unwrap().format("%Y-%m-%dT%H:%M:%SZ").to_string()
        };
        let middle = |run: &Run| time((run.first_s + run.last_s) / 2.0 + run.offset_s);
        let longest_s = runs.iter().map(|run| run.last_s - run.first_s).fold(0.0, f64::max);
        let all_s = last.last_s + last.offset_s - first.first_s - first.offset_s;
        let across = format!("--since {} --until {}", middle(first), middle(last));
        let some = |length_s: f64| length_s.max(1.0) as u64;
        let texts = [
            String::new(),
            format!("--run {}", last.run),
            format!("--run {} --run {}", &first.run, &last.run[..last.run.len() - 2]),
            "--run last".to_owned(),
            across.clone(),
            format!("{across} --by all"),
            "--by all".to_owned(),
            "--by release".to_owned(),
            "--by source".to_owned(),
            "--by folder".to_owned(),
            format!("--by {}s", some(all_s / 40.0)),
            format!("{across} --by {}s", some(all_s / 7.0)),
            format!("--by run,{}s", some(longest_s / 9.0)),
            format!(
                "--by run,{}s --from {} --to {}",
                some(longest_s / 20.0),
                longest_s / 5.0,
                longest_s / 2.0
            ),
            format!("--last {} --by all", longest_s / 3.0),
            format!("--until {} --last {}", middle(last), longest_s / 2.0),
            "--settled".to_owned(),
            format!("--settled --run current --last {}", longest_s / 4.0),
            "--release 0.7 --by release".to_owned(),
            format!("--source *.jsonl --from {}", longest_s / 3.0),
            "--since 2100-01-01T00:00:00Z".to_owned(),
            "--release 99 --by all".to_owned(),
        ];
        let mut selections: Vec<Chosen> = texts.iter().map(|text| Chosen::flags(text)).collect();
        selections.push(Chosen::Rows(self.windows()));
        let apart = self
            .windows()
            .into_iter()
            .filter(|(scope, ..)| !["both", "whole", "late"].contains(&scope.as_str()));
        selections.push(Chosen::Rows(apart.collect()));
        selections
    }

    /// Two windows of one run in one scope, windows of two runs in another, an empty one, and one that goes on
    /// beyond its run.
    fn windows(&self) -> Vec<(String, String, f64, f64)> {
        let runs = self.runs();
        let at = |run: &Run, part: f64| run.first_s + (run.last_s - run.first_s) * part;
        let row = |scope: &str, run: &Run, from_s: f64, to_s: f64| {
            (scope.to_owned(), run.run.clone(), from_s, to_s)
        };
        let (one, two) = (&runs[0], &runs[runs.len() - 1]);
        vec![
            row("a scope's name, with \"quotes\" and 'others'", one, at(one, 0.1), at(one, 0.35)),
            row("a scope's name, with \"quotes\" and 'others'", one, at(one, 0.5), at(one, 0.9)),
            row("both", one, OPEN_FROM, at(one, 0.4)),
            row("both", two, at(two, 0.3), OPEN_TO),
            row("empty", one, at(one, 0.5), at(one, 0.5)),
            row("late", two, two.last_s + 1.0, two.last_s + 2.0),
            row("whole", two, OPEN_FROM, OPEN_TO),
        ]
    }
}

// ---------------------------------------------------------------- what is asked

/// A query and values for some of its parameters.
#[derive(Debug, Clone)]
struct Question<'q> {
    query: &'q Query,
    given: Vec<(&'static str, String)>,
}

impl<'q> Question<'q> {
    fn of(query: &'q Query) -> Self {
        Self { query, given: Vec::new() }
    }

    fn takes(&self, name: &str) -> bool {
        self.query.parameters.iter().any(|parameter| parameter.name == name)
    }

    fn with(&self, name: &'static str, value: impl ToString) -> Self {
        let mut given = self.given.clone();
        given.retain(|(known, _)| *known != name);
        given.push((name, value.to_string()));
        Self { query: self.query, given }
    }

    /// With the targets it needs.
    fn with_targets(self) -> Self {
        let question = if self.takes("ttft") { self.with("ttft", 0.8) } else { self };
        if question.takes("tpot") { question.with("tpot", 0.03) } else { question }
    }

    /// The parameters as flags.
    fn flags(&self) -> Vec<String> {
        self.given.iter().flat_map(|(name, value)| [format!("--{name}"), value.clone()]).collect()
    }

    fn for_the_reference(&self, world: &World, chosen: &Chosen) -> Vec<String> {
        let query = ["--query".to_owned(), self.query.name.clone()];
        [&query[..], &self.flags(), &chosen.for_the_reference(world)].concat()
    }

    /// The parameters as they are bound; the selection must be in place.
    #[track_caller]
    fn bound(&self, connection: &Connection) -> Vec<Bound> {
        let given =
            |name: &str| self.given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        params::bind(connection, self.query, given).unwrap_or_else(|error| panic!("{self}: {error:#}"))
    }

    /// What a statement of the query answers.
    #[track_caller]
    fn ask(&self, connection: &mut Connection, sql: &str) -> Vec<Vec<Sql>> {
        let bound = self.bound(connection);
        let (columns, rows) =
            collect(connection, sql, &bound).unwrap_or_else(|error| panic!("{self}: {error:#}"));
        let declared: Vec<&String> = self.query.columns.iter().map(|column| &column.name).collect();
        assert_eq!(columns.iter().collect::<Vec<_>>(), declared, "{self}");
        rows
    }
}

impl std::fmt::Display for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.query.name, self.flags().join(" "))
    }
}

fn catalog() -> Vec<Query> {
    shipped().unwrap()
}

/// Each query once, with the targets that it needs and buckets that its runs have some of.
fn plain_questions<'q>(catalog: &'q [Query], world: &World) -> Vec<Question<'q>> {
    let longest_s = world.runs().iter().map(|run| run.last_s - run.first_s).fold(0.0, f64::max);
    catalog
        .iter()
        .map(|query| {
            let question = Question::of(query).with_targets();
            if question.takes("bucket") { question.with("bucket", longest_s / 47.0) } else { question }
        })
        .collect()
}

/// Each query with each of its parameters.
fn odd_questions<'q>(catalog: &'q [Query], world: &World) -> Vec<Question<'q>> {
    let mut questions = Vec::new();
    for plain in plain_questions(catalog, world) {
        let name = plain.query.name.as_str();
        let mut vary = |name: &'static str, values: &[&str]| {
            if plain.takes(name) {
                questions.extend(values.iter().map(|value| plain.with(name, value)));
            }
        };
        let texts = |texts: &[String]| texts.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let kinds = texts(&world.some("select distinct event from events order by 1 desc"));
        let engines = texts(
            &world.some("select distinct decode_iid from terminals where decode_iid is not null order by 1"),
        );
        let clients = texts(
            &world.some("select distinct substr(client_rid, 1, 3) from terminals where client_rid <> ''"),
        );
        let reasons =
            world.some("select distinct cancelled_phase from terminals where cancelled_phase is not null");
        let reasons = texts(
            &[
                reasons,
                world.some("select distinct refused_cause from terminals where refused_cause is not null"),
            ]
            .concat(),
        );
        let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        vary("policy", &words("offers router"));
        vary("bucket", &words("60 7.5"));
        vary("band", &words("0.3 100"));
        vary("wanted", &words("0 0.5 0.9 1"));
        vary("of", &words("completed offers"));
        vary("event", &kinds.lines().chain(["no_such_event"]).collect::<Vec<_>>());
        vary("engine", &engines.lines().chain(["nobody"]).collect::<Vec<_>>());
        vary("terminal", &words("completed refused"));
        vary("miss", &words("ttft ttft+tpot refused output_unmeasured"));
        vary("client", &clients.lines().chain([""]).collect::<Vec<_>>());
        vary("reason", &reasons.lines().collect::<Vec<_>>());
        vary("retried", &words("0 1"));
        vary("order", &words("arrived ttft_s tpot_s first_byte_s duration_s"));
        vary("limit", &words("1 3000"));
        if plain.takes("ttft") {
            questions.push(plain.with("ttft", 0.1).with("tpot", 0.01));
        }
        let needs_targets = plain.query.parameters.iter().any(|parameter| parameter.default == SAVED_SLO);
        if plain.takes("tpot") && !needs_targets {
            let mut without = plain.clone();
            without.given.retain(|(known, _)| !["ttft", "tpot"].contains(known));
            questions.push(without.clone());
            questions.push(without.with(if name == "slo-frontier" { "wanted" } else { "tpot" }, 0.02));
        }
        if plain.takes("order") {
            questions
                .push(plain.with("policy", "offers").with("miss", "cancelled").with("order", "duration_s"));
        }
    }
    questions
}

// ---------------------------------------------------------------- comparing

/// How far apart two floats of a column may be: absolute, relative.
fn tolerance(query: &Query, column: usize) -> (f64, f64) {
    let column = &query.columns[column];
    // A wall time is no finer than a quarter of a microsecond, and what is computed from several differs by some.
    if column.unit == "time" {
        (1e-6, 0.0)
    } else if query.name == "rates" {
        (1e-6, 1e-6)
    } else if ["selection", "monitoring"].contains(&query.name.as_str()) {
        (1e-6, 1e-12)
    } else {
        (0.0, 1e-12)
    }
}

fn is_near(one: f64, other: f64, (absolute, relative): (f64, f64)) -> bool {
    one == other || (one - other).abs() <= absolute.max(relative * one.abs().max(other.abs()))
}

/// Whether a cell is what JSON says.
fn is_same(query: &Query, column: usize, ours: &Sql, theirs: &Value, tolerance: (f64, f64)) -> bool {
    match (ours, theirs) {
        (Sql::Null, Value::Null) => true,
        (Sql::Text(ours), Value::String(theirs)) if query.columns[column].name == "detail" => {
            without_nulls(ours) == without_nulls(theirs)
        }
        (Sql::Text(ours), Value::String(theirs)) => ours == theirs,
        (Sql::Integer(ours), Value::Number(theirs)) if theirs.is_i64() => theirs.as_i64() == Some(*ours),
        (Sql::Integer(ours), Value::Number(theirs)) => {
            theirs.as_f64().is_some_and(|theirs| theirs == *ours as f64)
        }
        (Sql::Real(ours), Value::Number(theirs)) => {
            // Where a count is due an integer is.
            !["count", "tokens", "flag"].contains(&query.columns[column].unit.as_str())
                && theirs.as_f64().is_some_and(|theirs| is_near(*ours, theirs, tolerance))
        }
        _ => false,
    }
}

fn without_nulls(detail: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|_, value| !value.is_null());
                map.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(detail).expect("detail is JSON");
    strip(&mut value);
    value
}

/// What is not as it should be, so that all of it is seen at once.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    /// Compares an answer with one in JSON, whose rows are arrays.
    fn compare(
        &mut self,
        query: &Query,
        ours: &[Vec<Sql>],
        theirs: &[Value],
        tolerance: impl Fn(usize) -> (f64, f64),
        what: &str,
    ) {
        for (at, (our_row, their_row)) in ours.iter().zip(theirs).enumerate() {
            let cells = their_row.as_array().expect("a row is an array");
            if cells.len() != our_row.len() {
                self.0.push(format!("{what}: {} columns and {}", our_row.len(), cells.len()));
                return;
            }
            let differs = |column: &usize| {
                !is_same(query, *column, &our_row[*column], &cells[*column], tolerance(*column))
            };
            if let Some(column) = (0..cells.len()).find(differs) {
                let name = &query.columns[column].name;
                self.0.push(format!("{what}: row {at}, {name}\n  {}\n  {their_row}", shown(our_row)));
                return;
            }
        }
        if ours.len() != theirs.len() {
            let at = ours.len().min(theirs.len());
            let next = ours.get(at).map(|row| shown(row)).or(theirs.get(at).map(Value::to_string));
            self.0.push(format!(
                "{what}: {} rows and {}, the next is {}",
                ours.len(),
                theirs.len(),
                next.unwrap_or_default()
            ));
        }
    }

    /// Compares the answers of two statements.
    fn compare_statements(&mut self, query: &Query, ours: &[Vec<Sql>], theirs: &[Vec<Sql>], what: &str) {
        let same = |one: &Sql, other: &Sql| match (one, other) {
            (Sql::Real(one), Sql::Real(other)) => is_near(*one, *other, (0.0, 1e-12)),
            _ => one == other,
        };
        let differs = |(ours, theirs): (&Vec<Sql>, &Vec<Sql>)| {
            ours.len() != theirs.len() || ours.iter().zip(theirs).any(|(ours, theirs)| !same(ours, theirs))
        };
        if let Some(at) = ours.iter().zip(theirs).position(differs) {
            self.0.push(format!(
                "{what}: row {at} of {}\n  {}\n  {}",
                query.name,
                shown(&ours[at]),
                shown(&theirs[at])
            ));
        } else if ours.len() != theirs.len() {
            self.0.push(format!("{what}: {} rows and {}", ours.len(), theirs.len()));
        }
    }

    #[track_caller]
    fn end(self) {
        let shown: Vec<&str> = self.0.iter().take(30).map(String::as_str).collect();
        assert!(self.0.is_empty(), "{} differences\n{}", self.0.len(), shown.join("\n"));
    }
}

fn shown(row: &[Sql]) -> String {
    let cells: Vec<String> = row
        .iter()
        .map(|cell| match cell {
            Sql::Null => "null".to_owned(),
            Sql::Integer(int) => int.to_string(),
            Sql::Real(real) => format!("{real:?}"),
            Sql::Text(text) => format!("{text:?}"),
            Sql::Blob(_) => "a blob".to_owned(),
        })
        .collect();
    format!("[{}]", cells.join(","))
}
