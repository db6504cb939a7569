//! `redact`: a journal that can be published, and what one still gives away.

use std::fs::{self, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::guard::{self, Guard};
use super::{Teller, interrupt, open_to_read};
use crate::cli::redact::Redact;
use crate::cli::{Global, Subcommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::journal::compression::Rest;
use crate::journal::inputs::{self, Depth, Input};
use crate::output::stdout::stdout;
use crate::output::target::Target;
use crate::redact::check::check_line;
use crate::redact::{InputAccount, Key, Report, Source, redact};
use crate::text::{PathText, counted, escaped, json_string};

/// How much of a finding is shown, in characters.
const SHOWN: usize = 120;

impl Subcommand for Redact {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn heeds_signals(&self) -> bool {
        true
    }
}

fn run(global: &Global, flags: &Redact) -> Result<Exit> {
    let teller = Teller::new(global);
    match (&flags.check, &flags.output) {
        (Some(file), _) => check(teller, file),
        (None, Some(output)) => write(global, teller, flags, output),
        (None, None) => Err(Failure::usage("no output: name it with -o FILE").into()),
    }
}

fn write(global: &Global, teller: Teller, flags: &Redact, output: &Path) -> Result<Exit> {
    let inputs = find_inputs(teller, &flags.journals)?;
    refuse_to_overwrite(&inputs, flags.key.as_deref(), output)?;
    let key = flags.key.as_deref().map_or_else(Key::random, Key::from_file)?;
    let stop = interrupt::stop_on_signal(move || teller.error("interrupted: nothing was written"))?;
    let mut target = open_target(global, output)?;
    let report = redact(&inputs, key, target.writer(), &stop)
        .with_context(|| format!("cannot make {}", output.as_text()))?;
    let has_rows = report.accounts.iter().any(|account| account.rows > 0);
    let no_journals = report.accounts.iter().filter(|account| account.is_no_journal()).count();
    if has_rows || no_journals == 0 {
        target.finish()?;
    }
    tell(teller, &report, output);
    Ok(if no_journals > 0 { Exit::Failed } else { Exit::Done })
}

fn find_inputs(teller: Teller, paths: &[PathBuf]) -> Result<Vec<Input>> {
    let (mut inputs, mut skipped) = (Vec::new(), Vec::new());
    for path in paths {
        let found = inputs::find(path, Depth::Folder)?;
        inputs.extend(found.inputs);
        skipped.extend(found.skipped);
    }
    if let Some(message) = inputs::skipped_in_words(&skipped) {
        teller.note(&message);
    }
    Ok(inputs)
}

/// Opens the way to the output, unless it is a journal, or the database that these flags name.
fn open_target(global: &Global, output: &Path) -> Result<Target> {
    // One that cannot be read knows nothing here: what is a journal is told by its rows, too.
    let connection = global.db.exists().then(|| open_to_read(global).ok()).flatten();
    match &connection {
        Some(connection) => Guard::of(connection)?.open(Some(output)),
        None => Guard::without(&global.db).open(Some(output)),
    }
}

/// The output may not be an input under any name, nor the key.
fn refuse_to_overwrite(inputs: &[Input], key: Option<&Path>, output: &Path) -> Result<()> {
    let Ok(old) = fs::metadata(output) else {
        return Ok(());
    };
    let shown = output.as_text();
    if !old.is_file() {
        return Ok(());
    }
    let is_old = |other: io::Result<Metadata>| {
        other.is_ok_and(|other| (other.dev(), other.ino()) == (old.dev(), old.ino()))
    };
    let is_input = |input: &Input| match input {
        Input::File(path) | Input::Stream(path) => path == output || is_old(fs::metadata(path)),
        Input::Stdin => is_old(metadata_of_stdin()),
    };
    if let Some(input) = inputs.iter().find(|input| is_input(input)) {
        let message = format!("{shown} is the input {}, too: give another file to -o", input.label());
        return Err(Failure::usage(message).into());
    }
    guard::refuse_input(Some(output), key, "the key, too")
}

fn metadata_of_stdin() -> io::Result<Metadata> {
    fs::File::from(io::stdin().as_fd().try_clone_to_owned()?).metadata()
}

fn tell(teller: Teller, report: &Report, output: &Path) {
    for account in &report.accounts {
        if account.is_no_journal() {
            teller.error(&format!("{}: not one line is a journal row", account.path));
        } else if account.lines == 0 {
            teller.note(&format!("{}: empty", account.path));
        }
        tell_of_rest(teller, &account.path, account.rest);
        if let Some(first) = &account.first_left_out {
            teller.warn(&format!("left out, because it is no row: {first}{}", and_more(account.left_out)));
        }
    }
    let sum = |count: fn(&InputAccount) -> u64| report.accounts.iter().map(count).sum::<u64>();
    let rows = sum(|account| account.rows);
    if rows == 0 && report.accounts.iter().any(InputAccount::is_no_journal) {
        return;
    }
    teller.note(&format!(
        "{}: {}, {} repaired, {} left out; {}, {} renamed",
        output.as_text(),
        counted(rows, "row"),
        sum(|account| account.repaired),
        counted(sum(|account| account.left_out), "part"),
        counted(report.engines, "engine"),
        counted(report.hosts, "host")
    ));
}

fn tell_of_rest(teller: Teller, label: &str, rest: Option<Rest>) {
    match rest {
        Some(Rest::Zeros) => teller.note(&format!("{label}: {}", Rest::Zeros.said())),
        Some(Rest::Unread) => teller.warn(&format!("{label}: {}", Rest::Unread.said())),
        None => {}
    }
}

fn and_more(count: u64) -> String {
    if count > 1 { format!(" (and {} more of this file)", count - 1) } else { String::new() }
}

fn check(teller: Teller, path: &Path) -> Result<Exit> {
    let mut source = Source::open(&Input::named(path))?;
    let label = escaped(&source.label()).into_owned();
    let mut out = BufWriter::new(stdout());
    let (mut lines, mut found) = (0_u64, 0_u64);
    source.read(&mut |line| {
        lines += 1;
        for finding in check_line(line) {
            found += 1;
            let at = line.offset + finding.at as u64;
            let text: String = finding.text.chars().take(SHOWN).collect();
            writeln!(out, "{label}:{}:{at}: {}: {}", line.number, finding.what, json_string(&text))?;
        }
        Ok(())
    })?;
    out.flush()?;
    tell_of_rest(teller, &label, source.rest());
    if found > 0 {
        teller.warn(&format!("{label}: {found} found in {}", counted(lines, "line")));
        return Ok(Exit::Failed);
    }
    teller.note(&format!("{label}: nothing found in {}", counted(lines, "line")));
    Ok(Exit::Done)
}
