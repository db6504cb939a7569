//! `query`: answer a canned question, or list them.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use rusqlite::Connection;

use super::guard::refuse_input;
use super::progress::AnswerProgress;
use super::{
    Shown, Teller, open_to_read, read_then_open, redactor, select, tell_no_rows, unread_selection,
    write_answer,
};
use crate::cli::query::{Ask, AskedQueries};
use crate::cli::{Global, SelectionFlags, Subcommand, Targets};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::intervals::{Style, WithIntervals};
use crate::output::json::write_json;
use crate::output::stdout::stdout;
use crate::output::{Format, screen};

use crate::query::datasette::metadata;
use crate::query::header::{self, AnswerColumn, Query};
use crate::query::intervals::{self, Measures};
use crate::query::parts::{self, Question};
use crate::query::run::{self, Signature};
use crate::query::whole::rows_of_all;
use crate::query::written::{written, written_for};
use crate::query::{buckets, caveats, faster, params};
use crate::selection::Selection;
use crate::text::{PathText, grouped, wrapped};

impl Subcommand for Ask {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn selection_mut(&mut self) -> Option<&mut SelectionFlags> {
        Some(&mut self.selection)
    }

    fn journals_mut(&mut self) -> Option<&mut Vec<PathBuf>> {
        Some(&mut self.ingest)
    }

    fn targets(&self) -> Targets {
        Targets::new(self.asked.target_s("ttft"), self.asked.target_s("tpot"))
    }

    fn queries_mut(&mut self) -> Option<&mut AskedQueries> {
        Some(&mut self.asked)
    }
}

fn run(global: &Global, ask: &Ask) -> Result<Exit> {
    let teller = Teller::new(global);
    for (path, fault) in &ask.asked.faults {
        teller.warn(&format!("{}: {fault:#}: left out", path.as_text()));
    }
    if ask.datasette {
        let stem = global.db.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        let metadata = metadata(&stem, &ask.asked.catalog);
        write_json(&mut stdout(), &metadata)?;
        return Ok(Exit::Done);
    }
    let Some(query) = ask.asked.query() else {
        list(&ask.asked.catalog)?;
        // Without a database there is nothing yet that they could be checked against.
        if ask.asked.catalog.iter().any(|query| query.file.is_some())
            && let Ok(mut connection) = open_to_read(global)
        {
            tell_own_faults(&mut connection, &ask.asked.catalog, None, teller);
        }
        return Ok(Exit::Done);
    };
    let (exit, Some(mut connection)) = read_then_open(global, &ask.ingest)? else {
        return Ok(Exit::Interrupted);
    };
    tell_own_faults(&mut connection, &ask.asked.catalog, Some(query), teller);
    let signature = own_signature(query, &mut connection)?;
    let mut chosen = ask.selection.clone();
    if signature.is_some_and(|signature| !signature.reads_selection) {
        if chosen.is_given() {
            return Err(unread_selection(&format!("the query {}", query.name)).into());
        }
        chosen = chosen.only_given();
    }
    check_by(query, &chosen)?;
    let selection = select(&mut connection, &chosen, teller)?;
    let bound = params::bind(&connection, query, |name| ask.asked.value(name).cloned())?;
    if ask.engine.is_some() && !ask.sql {
        let why = "--for names the engine that a statement is printed for: give --sql, too";
        return Err(Failure::usage(why).into());
    }
    if ask.sql {
        // Its parser does not see a conflict of flags on both sides of the query's name.
        if ask.output.output.is_some() || ask.privacy.redact || ask.intervals {
            let why =
                "--sql prints the statement, and -o, --redact and --intervals are about its answer: take one";
            return Err(Failure::usage(why).into());
        }
        let statement = match ask.engine {
            Some(engine) => {
                if query.file.is_some() {
                    teller.note(&format!(
                        "the query {} is your own: narwhal-jq does not know whether another engine reads it",
                        query.name
                    ));
                }
                written_for(engine, &connection, query, &selection, &bound)?
            }
            None => written(query, &selection, &bound)?,
        };
        writeln!(stdout(), "{statement};")?;
        return Ok(exit);
    }
    refuse_input(ask.output.output.as_deref(), ask.privacy.key.as_deref(), "the key, too")?;
    let caveats = caveats::of(&connection, query, &bound)?;
    let redactor = redactor(&connection, &ask.privacy)?;
    let sql = faster::statement(query, &selection);
    let progress = AnswerProgress::new(teller, &query.name);
    let open = || open_to_read(global);
    let question = Question {
        sql,
        bound: &bound,
        selection: &selection,
        jobs: jobs(ask),
        open: &open,
        progress: &|share| progress.tell(share),
        is_seen: progress.is_seen(),
    };
    let measures = ask.intervals.then(|| measures(query)).transpose()?;
    let mut order_notes = Vec::new();
    let kinds = query.kinds();
    let shown = Shown { kinds: &kinds, redactor: redactor.as_ref(), sql: &query.sql };
    let rows = write_answer(&mut connection, &ask.output, &shown, |connection, sink| {
        let sink = &mut progress.before(sink);
        if let Some(measures) = measures {
            let (columns, rows) = run::collect(connection, sql, &bound)?;
            let (ends, notes) = intervals::find(connection, measures, &bound, &columns, &rows)?;
            order_notes = notes;
            let style = Style::of(ask.output.format);
            let answer = WithIntervals {
                measured: measures.columns,
                columns: &columns,
                kinds: &kinds,
                rows: &rows,
                ends: &ends,
            };
            return answer.write(sink, style);
        }
        if query.file.is_none() && has_scopes(query) {
            parts::run(connection, &question, sink)
        } else {
            run::run(connection, sql, &bound, sink)
        }
    });
    progress.end();
    let rows = rows?;
    if rows == 0 {
        tell_no_rows(&selection, teller);
    }
    if rows > 0 && ask.output.format == Format::Table {
        tell_bases(query, &selection, teller);
    }
    if !global.quiet
        && let Some(all) = rows_of_all(&mut connection, query, &bound, rows)?
    {
        teller.note(&format!(
            "{} of {}: --limit N gives more, the flags of a selection and of this query others",
            grouped(rows),
            grouped(all)
        ));
    }
    if rows > 0
        && let Some(hint) = buckets::hint(&connection, query, &bound)?
    {
        teller.note(&hint);
    }
    for caveat in caveats.iter().chain(&order_notes) {
        teller.note(caveat);
    }
    if measures.is_some() && rows > 0 {
        teller.note(
            "the intervals (95 %) speak for conditions as in these windows; a burst or outage that they did not contain \
             is not in them, and with fewer than about 8 ups and downs in a window they are too narrow",
        );
    }
    Ok(exit)
}

/// What of a query has intervals.
fn measures(query: &Query) -> Result<Measures> {
    let found = intervals::of_query(&query.name).filter(|_| query.file.is_none());
    found.ok_or_else(|| {
        let there = intervals::queries().join(", ");
        Failure::usage(format!(
            "nothing in an answer of {} has an interval: --intervals is for {there}",
            query.name
        ))
        .into()
    })
}

/// Says what wall times that people read rest on; `runs` says it of each run.
fn tell_bases(query: &Query, selection: &Selection, teller: Teller) {
    let is_estimate = |column: &AnswerColumn| column.unit == "time" && column.name.starts_with("wall");
    if query.name == "runs" || selection.bases.is_empty() || !query.columns.iter().any(is_estimate) {
        return;
    }
    let bases = selection
        .bases
        .iter()
        .map(|(basis, runs)| format!("{basis} of {runs} {}", if *runs == 1 { "run" } else { "runs" }));
    teller.note(&format!("wall times with ~ are estimates, basis {}", bases.collect::<Vec<_>>().join(", ")));
}

/// A query of the user's own may read tables of its own: whether header and statement agree is known only now.
fn own_signature(query: &Query, connection: &mut Connection) -> Result<Option<Signature>> {
    let Some(file) = &query.file else { return Ok(None) };
    let checked = header::check(query, connection);
    checked.map(Some).with_context(|| format!("the query file {}", file.as_text()))
}

/// Whether each row of an answer belongs to a scope.
fn has_scopes(query: &Query) -> bool {
    query.columns.first().is_some_and(|column| column.name == "scope")
}

/// So many connections work at a large answer, when nothing else is said: more gained little.
const MAX_JOBS: usize = 4;

fn jobs(flags: &Ask) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from).min(MAX_JOBS);
    flags.jobs.map_or_else(processors, usize::from)
}

/// Groups mean nothing to a query whose rows are runs, requests, events or intervals.
fn check_by(query: &Query, flags: &SelectionFlags) -> Result<()> {
    if flags.by.is_some() && !has_scopes(query) && query.file.is_none() {
        let message =
            format!("--by groups what is counted, and a row of {} is no group: leave --by out", query.name);
        return Err(Failure::usage(message).into());
    }
    Ok(())
}

/// The catalog in groups, a line each.
fn list(catalog: &[Query]) -> Result<()> {
    let mut out = stdout();
    let width = catalog.iter().map(|query| query.name.len()).max().unwrap_or(0);
    let mut groups: Vec<&str> = Vec::new();
    for query in catalog {
        if !groups.contains(&query.group.as_str()) {
            groups.push(&query.group);
        }
    }
    for group in groups {
        writeln!(out, "{group}")?;
        for query in catalog.iter().filter(|query| query.group == group) {
            let line = format!("  {:width$}  {}", query.name, query.purpose);
            let line = match screen::width_of_stdout() {
                Some(columns) => wrapped(&line, columns, width + 4),
                None => line,
            };
            writeln!(out, "{line}")?;
        }
        writeln!(out)?;
    }
    writeln!(out, "`narwhal-jq query NAME --help` is the manual of a query.")?;
    Ok(())
}

/// Says which of the user's queries cannot be asked of the database, but for the one that is.
fn tell_own_faults(connection: &mut Connection, catalog: &[Query], asked: Option<&Query>, teller: Teller) {
    for query in catalog.iter().filter(|query| Some(*query) != asked) {
        let Some(file) = &query.file else { continue };
        if let Err(fault) = header::check(query, connection) {
            teller.warn(&format!("{}: {fault:#}: left out", file.as_text()));
        }
    }
}
