//! `man`: the manual pages, made from the command line as it is parsed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::{Global, Subcommand, man, shipped_command};
use crate::exit::Exit;
use crate::text::PathText;

impl Subcommand for man::Man {
    fn execute(&self, _: &Global) -> Result<Exit> {
        run(self)
    }
}

fn run(flags: &man::Man) -> Result<Exit> {
    let folder = &flags.dir;
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.as_text()))?;
    let mut command = shipped_command()?.disable_help_subcommand(true);
    command.build();
    write_pages(&command, None, folder)?;
    Ok(Exit::Done)
}

/// Writes the page of a command and of each below it.
fn write_pages(command: &Command, above: Option<&Command>, folder: &Path) -> Result<()> {
    let path = folder.join(Man::new(command.clone()).get_filename());
    let mut page = Vec::new();
    render(command, above, &mut page)
        .and_then(|()| fs::write(&path, page))
        .with_context(|| format!("cannot write {}", path.as_text()))?;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, Some(command), folder)?;
    }
    Ok(())
}

fn render(command: &Command, above: Option<&Command>, page: &mut dyn Write) -> io::Result<()> {
    let source = format!("narwhal-jq {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(source).manual("narwhal-jq manual");
    man.render_title(page)?;
    man.render_name_section(page)?;
    synopsis(command).to_writer(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(page)?;
    }
    if let Some(text) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        after_help(&text.to_string()).to_writer(page)?;
    }
    if let Some(above) = above {
        let name = above.get_display_name().unwrap_or_else(|| above.get_name());
        let mut roff = Roff::default();
        roff.control("SH", ["SEE ALSO"]).text([roman(format!("{name}(1)"))]);
        roff.to_writer(page)?;
    }
    Ok(())
}

/// How it is called, as its help says.
fn synopsis(command: &Command) -> Roff {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage:").unwrap_or(&usage);
    let mut roff = Roff::default();
    roff.control("SH", ["SYNOPSIS"]).control("nf", []);
    for line in usage.lines().map(str::trim).filter(|line| !line.is_empty()) {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

/// Longer lines are prose, which the reader's terminal breaks.
const WIDEST: usize = 110;

/// What stands after the flags in a help: a line that begins at the margin and ends with a colon heads what follows,
/// which keeps its lines.
fn after_help(text: &str) -> Roff {
    let mut roff = Roff::default();
    let is_heading = |line: &str| line.ends_with(':') && !line.starts_with(' ');
    if text.lines().next().is_some_and(|line| !is_heading(line)) {
        roff.control("SH", ["NOTES"]).control("nf", []);
    }
    for line in text.lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|_| is_heading(line)) {
            roff.control("fi", []).control("SH", [heading.to_uppercase().as_str()]).control("nf", []);
        } else if line.len() > WIDEST {
            roff.control("fi", []).text([roman(line.trim())]).control("nf", []);
        } else {
            roff.text([roman(line)]);
        }
    }
    roff.control("fi", []);
    roff
}
