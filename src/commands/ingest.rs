//! `ingest`: read journals, tell what was read.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Teller, interrupt};
use crate::cli::ingest::{Ingest, SummaryFormat};
use crate::cli::{Global, Subcommand};
use crate::exit::{Exit, code_of};
use crate::failure::Failure;
use crate::ingest::{Counters, FileReport, FollowStanding, Options, Summary, Watcher, follow, ingest};
use crate::journal::inputs::{self, Depth, Found, Input};
use crate::output::stdout::stdout;
use crate::stdio;
use crate::text::{counted, json_escaped};

impl Subcommand for Ingest {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn heeds_signals(&self) -> bool {
        true
    }

    fn journals_mut(&mut self) -> Option<&mut Vec<PathBuf>> {
        Some(&mut self.paths)
    }

    fn needs_journals(&self) -> bool {
        true
    }
}

fn run(global: &Global, flags: &Ingest) -> Result<Exit> {
    let options =
        Options { is_final: flags.is_final, is_strict: flags.strict, busy_timeout: global.busy_timeout };
    let depth = if flags.recursive { Depth::Tree } else { Depth::Folder };
    let teller = Teller::new(global);
    let (summary, exit) = match flags.follow {
        true => read_on(global, (&flags.paths, depth), &options)?,
        false => read(global, (&flags.paths, depth), &options)?,
    };
    match flags.format {
        SummaryFormat::Text => tell(teller, &summary),
        SummaryFormat::Json => {
            let text = serde_json::to_string(&summary).map_err(io::Error::from)?;
            writeln!(stdout(), "{}", json_escaped(&text))?;
        }
    }
    Ok(exit)
}

/// Reads what is new before a query; only what is unusual is told.
pub(super) fn read_first(global: &Global, paths: &[PathBuf]) -> Result<Exit> {
    let options = Options { is_final: false, is_strict: false, busy_timeout: global.busy_timeout };
    let (summary, exit) = read(global, (paths, Depth::Folder), &options)?;
    if summary.total.rejected + summary.total.repaired > 0 {
        tell(Teller::new(global), &summary);
    }
    Ok(exit)
}

/// Reads what is new.
fn read(global: &Global, (paths, depth): (&[PathBuf], Depth), options: &Options) -> Result<(Summary, Exit)> {
    let teller = Teller::new(global);
    let signals = interrupt::Signals::heed()?;
    let (mut inputs, mut skipped) = (Vec::new(), Vec::new());
    let mut exit = Exit::Done;
    for path in paths {
        let found = inputs::find(path, depth).unwrap_or_else(Found::nothing);
        inputs.extend(found.inputs);
        skipped.extend(found.skipped);
        for error in found.failures {
            teller.error(&format!("{error:#}"));
            exit = Exit::Failed;
        }
    }
    if let Some(message) = inputs::skipped_in_words(&skipped) {
        teller.note(&message);
    }
    let mut progress = LoadProgress::new(teller, &inputs);
    let summary = ingest(&global.db, &inputs, options, &signals.stop, &mut progress)
        .or_else(|error| interrupted(error, &signals))?;
    progress.bar.finish_and_clear();
    // What follows, a query perhaps, has its own way to end.
    drop(signals);
    if !tell_unusual(teller, &summary) {
        exit = Exit::Failed;
    }
    if summary.is_interrupted {
        teller.warn("interrupted: what was whole is committed, the next ingest goes on from there");
        exit = Exit::Interrupted;
    }
    Ok((summary, exit))
}

/// Reads what is new, and goes on until it is interrupted, which is how this ends well.
fn read_on(
    global: &Global,
    (paths, depth): (&[PathBuf], Depth),
    options: &Options,
) -> Result<(Summary, Exit)> {
    if paths.iter().any(|path| !matches!(Input::named(path), Input::File(_))) {
        let message = "--follow is for files: standard input is read until it ends without it";
        return Err(Failure::usage(message).into());
    }
    let teller = Teller::new(global);
    let signals = interrupt::Signals::heed()?;
    teller.note("following, until Ctrl-C");
    let mut progress = LoadProgress::following(teller);
    let summary = follow(&global.db, (paths, depth), options, &signals.stop, &mut progress)
        .or_else(|error| interrupted(error, &signals))?;
    progress.bar.finish_and_clear();
    let exit = if tell_unusual(teller, &summary) { Exit::Done } else { Exit::Failed };
    Ok((summary, exit))
}

/// What was read when a signal ended the wait for another process: nothing, which is no failure.
fn interrupted(error: anyhow::Error, signals: &interrupt::Signals) -> Result<Summary> {
    if code_of(&error) == Exit::Busy && signals.stop.load(Ordering::Relaxed) {
        return Ok(Summary { is_interrupted: true, ..Summary::default() });
    }
    Err(error)
}

/// Says what failed and what is worth a word; whether nothing failed.
fn tell_unusual(teller: Teller, summary: &Summary) -> bool {
    let mut is_good = true;
    let mut failed = |message: &str| {
        teller.error(message);
        is_good = false;
    };
    for error in &summary.failures {
        failed(&format!("{error:#}"));
    }
    for file in &summary.files {
        if file.is_no_journal {
            let why = match file.counters.lines > 0 && file.counters.rejected == 0 {
                true => "there are only blank lines",
                false => "`narwhal-jq rejects` lists them with the reasons",
            };
            failed(&format!("{}: not one line is a journal row: {why}", file.path));
        }
        if file.is_empty {
            teller.note(&format!("{}: empty", file.path));
        }
    }
    for (note, count) in &summary.notes {
        teller.note(&note.in_words(*count));
    }
    is_good
}

fn tell(teller: Teller, summary: &Summary) {
    if teller.is_quiet {
        return;
    }
    let mut lines: Vec<String> = summary.files.iter().map(file_line).collect();
    if summary.files.len() > 1 {
        lines.push(format!("{} files: {}", summary.files.len(), counts(&summary.total)));
    }
    let Counters { lines: read, bytes, rejected, repaired, .. } = summary.total;
    if read > 0 {
        let seconds = summary.seconds.max(1e-9);
        lines.push(format!(
            "{seconds:.2} s, {:.0} lines/s, {:.1} MB/s",
            read as f64 / seconds,
            bytes as f64 / 1e6 / seconds
        ));
    }
    if rejected + repaired > 0 {
        lines.push("`narwhal-jq rejects` lists what was rejected or repaired".to_owned());
    }
    for line in lines {
        // Nothing can be done when stderr is closed.
        let _ = writeln!(stdio::stderr(), "{}", crate::text::escaped(&line));
    }
}

fn file_line(file: &FileReport) -> String {
    let from = match file.resumed_at {
        0 => String::new(),
        offset => format!(" (from byte {offset})"),
    };
    format!("{}{from}: {}", file.path, counts(&file.counters))
}

/// The counts that are not 0, in words.
fn counts(counters: &Counters) -> String {
    if counters.lines == 0 {
        return match counters.pending_bytes {
            0 => "nothing new".to_owned(),
            _ => format!("nothing new; {}", waiting(counters)),
        };
    }
    let mut parts = vec![counted(counters.lines, "line")];
    for (count, what) in [
        (counters.builds, "build"),
        (counters.terminals, "terminal"),
        (counters.attempt_failures, "attempt failure"),
        (counters.events, "event"),
        (counters.duplicates, "duplicate"),
    ] {
        if count > 0 {
            parts.push(counted(count, what));
        }
    }
    for (count, what) in [
        (counters.rejected, "rejected"),
        (counters.repaired, "repaired"),
        (counters.forgotten, "of forgotten runs"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    if counters.pending_bytes > 0 {
        parts.push(waiting(counters));
    }
    parts.join(", ")
}

fn waiting(counters: &Counters) -> String {
    match counters.pending_bytes {
        1 => "1 byte of an unfinished line waits".to_owned(),
        bytes => format!("{bytes} bytes of an unfinished line wait"),
    }
}

/// A bar with bytes, rate and time left, when a terminal shows it.
struct LoadProgress {
    bar: ProgressBar,
    teller: Teller,
}

impl LoadProgress {
    fn new(teller: Teller, inputs: &[Input]) -> Self {
        if teller.is_quiet || !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), teller };
        }
        let sizes: Option<u64> = inputs
            .iter()
            .map(|input| match input {
                Input::File(path) => path.metadata().ok().map(|metadata| metadata.len()),
                Input::Stdin | Input::Stream(_) => None,
            })
            .sum();
        match sizes {
            Some(bytes) => {
                let template = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
                Self { bar: ProgressBar::new(bytes).with_style(style(template)), teller }
            }
            None => Self::unending(teller),
        }
    }

    /// The bar of what has no known end.
    fn unending(teller: Teller) -> Self {
        if teller.is_quiet || !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), teller };
        }
        let bar = ProgressBar::new_spinner().with_style(style("{spinner} {bytes}, {bytes_per_sec}"));
        Self { bar, teller }
    }

    /// What stands on a terminal while journals are followed: whether requests come, and whether they are read.
    fn following(teller: Teller) -> Self {
        let Self { bar, teller } = Self::unending(teller);
        Self { bar: bar.with_style(style("{spinner} {msg}")), teller }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well formed")
}

impl Watcher for LoadProgress {
    fn advanced(&mut self, bytes: u64) {
        self.bar.inc(bytes);
    }

    fn skipped(&mut self, bytes: u64) {
        if let Some(expected) = self.bar.length() {
            self.bar.set_length(expected.saturating_sub(bytes));
        }
    }

    fn warn(&mut self, message: &str) {
        self.bar.suspend(|| self.teller.warn(message));
    }

    fn note(&mut self, message: &str) {
        self.bar.suspend(|| self.teller.note(message));
    }

    fn stands(&mut self, standing: &FollowStanding) {
        if self.bar.is_hidden() {
            return;
        }
        let FollowStanding { files, requests, behind_bytes, waits_for } = standing;
        let mut parts = vec![format!("{} from {}", counted(*requests, "request"), counted(*files, "file"))];
        parts.push(match behind_bytes {
            0 => "nothing behind".to_owned(),
            bytes => format!("{} behind", counted(*bytes, "byte")),
        });
        if *waits_for > 0 {
            parts.push(format!("{waits_for} waited for"));
        }
        self.bar.set_message(parts.join(", "));
        self.bar.tick();
    }
}
