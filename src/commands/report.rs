//! `report`: one page to read and to pass on.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};

use super::guard::refuse_input;
use super::{Teller, open_target, read_then_open, redactor};
use crate::cli::report::{Report, ReportFormat};
use crate::cli::{Global, SelectionFlags, Subcommand, Targets};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::query::params::targets;
use crate::query::scoring::Policy;
use crate::report::{ReportOptions, report};
use crate::selection::By;
use crate::text::PathText;

impl Subcommand for Report {
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
        self.targets.given()
    }
}

fn run(global: &Global, flags: &Report) -> Result<Exit> {
    let now = written_at()?;
    if flags.selection.by.is_some_and(|by| by != By::Run) {
        let message = "the page shows everything by run and over time: leave --by out, or give --bucket";
        return Err(Failure::usage(message).into());
    }
    refuse_input(flags.output.as_deref(), flags.privacy.key.as_deref(), "the key, too")?;
    let (exit, Some(mut connection)) = read_then_open(global, &flags.ingest)? else {
        return Ok(Exit::Interrupted);
    };
    let teller = Teller::new(global);
    let redactor = redactor(&connection, &flags.privacy)?;
    let asked = ReportOptions {
        selection: flags.selection.asked(now)?,
        targets: targets(&connection, flags.targets.slo.as_deref(), flags.targets.ttft, flags.targets.tpot)?,
        policy: Policy::named(&flags.policy).context("the policy was checked")?,
        goal: flags.min_attainment,
        bucket_s: flags.bucket,
        title: flags.title.clone(),
        command: command(flags),
        now,
    };
    // Before the work, so that a target that is no good is said at once.
    let kept = kept_file(flags)?;
    let file = kept.as_deref().or(flags.output.as_deref()).filter(|file| *file != Path::new("-"));
    let mut target = open_target(&connection, file)?;
    let made = report(&mut connection, asked, redactor.as_ref())?;
    let text = match flags.format {
        ReportFormat::Html => made.html(),
        ReportFormat::Markdown => made.markdown(),
    };
    let written = target.writer().write_all(text.as_bytes()).and_then(|()| target.writer().flush());
    written.map_err(|error| target.explain(error.into()))?;
    target.finish()?;
    if let Some(why) = made.emptied_by() {
        teller.note(&format!("no rows: {why}"));
    } else if made.requests() == 0 {
        teller.note("no rows: no request arrived in what is selected");
    }
    for caveat in made.caveats() {
        teller.note(caveat);
    }
    if flags.open
        && let Some(file) = file
    {
        open(file, teller);
    }
    Ok(exit)
}

/// When it is written: SOURCE_DATE_EPOCH, if that is set, so that the same database gives the same bytes.
pub(super) fn written_at() -> Result<DateTime<Utc>> {
    let Some(epoch) = std::env::var_os("SOURCE_DATE_EPOCH").filter(|epoch| !epoch.is_empty()) else {
        return Ok(Utc::now());
    };
    let seconds = epoch.to_str().and_then(|epoch| epoch.parse::<i64>().ok());
    let time = seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    time.with_context(|| format!("SOURCE_DATE_EPOCH is {epoch:?}, and no number of seconds since 1970"))
}

/// The command line as the page names it: what decides on its numbers, without paths.
fn command(flags: &Report) -> String {
    let mut words = vec!["narwhal-jq report".to_owned()];
    let mut flag = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name} {}", crate::text::shell_word(&value))));
    };
    flag("min-attainment", flags.min_attainment.map(|share| share.to_string()));
    flag("ttft", flags.targets.ttft.map(|ttft| ttft.to_string()));
    flag("tpot", flags.targets.tpot.map(|tpot| tpot.to_string()));
    flag("slo", flags.targets.slo.clone());
    flag("policy", Some(flags.policy.clone()).filter(|policy| policy != "journal"));
    flag("bucket", flags.bucket.map(|bucket| bucket.to_string()));
    let selection = &flags.selection;
    for run in &selection.run {
        flag("run", Some(run.clone()));
    }
    for release in &selection.release {
        flag("release", Some(release.clone()));
    }
    flag("since", selection.since.clone());
    flag("until", selection.until.clone());
    for (name, length_s) in [("from", selection.from), ("to", selection.to), ("last", selection.last)] {
        flag(name, length_s.map(|length_s| length_s.to_string()));
    }
    if !selection.source.is_empty() {
        words.push("--source …".to_owned());
    }
    if selection.settled {
        words.push("--settled".to_owned());
    }
    if flags.privacy.redact {
        words.push("--redact".to_owned());
    }
    words.join(" ")
}

/// Where a page goes that is only shown: a file of its own that stays, because a browser reads it later.
fn kept_file(flags: &Report) -> Result<Option<std::path::PathBuf>> {
    if flags.output.is_some() {
        return Ok(None);
    }
    let suffix = match flags.format {
        ReportFormat::Html => ".html",
        ReportFormat::Markdown => ".md",
    };
    let made = tempfile::Builder::new().prefix("narwhal-jq-report-").suffix(suffix).tempfile();
    let (_, path) = made
        .context("cannot make a file to show: name one with -o")?
        .keep()
        .context("cannot keep the file")?;
    Ok(Some(path))
}

/// Shows a file in the browser, where there is one; says where it is otherwise.
fn open(file: &Path, teller: Teller) {
    let shown = file.as_text();
    let openers: &[&str] =
        if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open", "gio open", "wslview"] };
    let chosen =
        std::env::var("BROWSER").ok().filter(|browser| !browser.is_empty() && !browser.contains('%'));
    let is_opened = chosen.iter().map(String::as_str).chain(openers.iter().copied()).any(|opener| {
        let mut words = opener.split(' ');
        let Some(program) = words.next() else { return false };
        let started = Command::new(program)
            .args(words)
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        started.is_ok_and(|status| status.success())
    });
    if is_opened {
        teller.note(&format!("{shown} is shown in the browser"));
    } else {
        teller.warn(&format!("no browser was found to show it: open {shown}"));
    }
}
