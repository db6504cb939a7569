//! What must go before a journal is published: engine ids, client ids, URLs, addresses, hosts, users.
//!
//! Two passes over the same bytes: an engine's id can stand in a text before any field names it.
//! The first learns [`Names`], of damaged lines too; the second writes the rows that can be read,
//! each redacted by a [`Redactor`], and leaves out and counts the rest. Memory grows with the
//! names, not with the journal.
//!
//! | what | where |
//! |---|---|
//! | which field holds what, by its name | [`fields`] |
//! | the strings of a line, good or damaged | [`strings`] |
//! | where words and names end in a text | [`tokens`] |
//! | URLs, addresses, hosts and users in a text | [`detect`], `dotted`, `wording` |
//! | names to be replaced, words that pseudonyms may not be | [`Names`] |
//! | pseudonyms, and texts without names | [`Redactor`], [`Key`] |
//! | a row with all its fields | `rows` |
//! | what a file still gives away | [`mod@check`] |

pub mod check;
pub mod detect;
mod dotted;
pub mod fields;
mod key;
mod keys;
mod likely;
mod names;
mod parts;
mod phrases;
mod redactor;
mod rows;
mod source;
pub mod strings;
pub mod tokens;
mod users;
mod wording;
mod words;

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

pub use key::{Key, MAX_KEY, MIN_KEY};
pub use names::{Names, PSEUDONYM};
pub use redactor::{CLIENT_PSEUDONYM, Redactor};
pub use source::Source;

use crate::failure::{Failure, Kind};
use crate::journal::compression::Rest;
use crate::journal::inputs::Input;
use crate::journal::lines::{Line, MAX_LINE};
use crate::journal::row::Row;
use crate::journal::segments::{Content, SegmentKind, read_line};
use crate::journal::write::write_row;

/// Whether a word can be a pseudonym that stands for an engine or a client.
fn is_pseudonym(word: &str) -> bool {
    check::is_engine_pseudonym(word) || check::is_client_pseudonym(word)
}

/// What became of one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputAccount {
    /// The input as the user named it.
    pub path: String,
    /// Lines read, blank ones too.
    pub lines: u64,
    /// Rows written.
    pub rows: u64,
    /// How many of them, or of the lines they stand on, were mended.
    pub repaired: u64,
    /// Lines, or parts of lines, that are no row.
    pub left_out: u64,
    /// The place and the reason of the first of those.
    pub first_left_out: Option<String>,
    /// What stands after it, when it is an archive.
    pub rest: Option<Rest>,
}

/// What a redaction did.
#[derive(Debug)]
pub struct Report {
    /// Each input, in the order read.
    pub accounts: Vec<InputAccount>,
    /// How many engines have a pseudonym.
    pub engines: usize,
    /// How many hosts were learned.
    pub hosts: usize,
}

/// Writes the rows of the inputs, redacted, in the order read.
///
/// # Errors
/// When an input cannot be read or is another in the second pass, the rows cannot be written, or
/// `stop` was set.
pub fn redact(inputs: &[Input], key: Key, out: &mut dyn Write, stop: &AtomicBool) -> Result<Report> {
    let mut sources = inputs.iter().map(Source::open).collect::<Result<Vec<_>>>()?;
    let mut names = Names::default();
    for source in &mut sources {
        source.read(&mut |line| {
            names.learn_line(line.bytes);
            go_on(stop)
        })?;
    }
    let redactor = Redactor::new(&names, key);
    let mut accounts = Vec::new();
    let mut buffer = Vec::new();
    for source in &mut sources {
        let mut account = InputAccount::of(source.label());
        source.read(&mut |line| {
            buffer.clear();
            redact_line(&redactor, line, &mut buffer, &mut account)?;
            out.write_all(&buffer).context("cannot write a row")?;
            go_on(stop)
        })?;
        account.rest = source.rest();
        accounts.push(account);
    }
    Ok(Report { accounts, engines: names.engines().len(), hosts: names.hosts().count() })
}

fn go_on(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::new(Kind::Interrupted, "interrupted: nothing was written").into());
    }
    Ok(())
}

fn redact_line(
    redactor: &Redactor,
    line: &Line<'_>,
    out: &mut Vec<u8>,
    account: &mut InputAccount,
) -> Result<()> {
    account.lines += 1;
    if line.is_oversized() {
        account.leave_out(line, 0, &format!("longer than {} MiB", MAX_LINE >> 20));
        return Ok(());
    }
    let mut write = |mut row: Row<'_>| {
        redactor.row(&mut row);
        write_row(out, &row)
    };
    match read_line(line.bytes) {
        Content::Blank => {}
        Content::Row(row) => {
            write(row)?;
            account.rows += 1;
        }
        Content::Segments(segments) => {
            for segment in segments {
                match segment.kind {
                    SegmentKind::Row(row) => {
                        write(row)?;
                        account.rows += 1;
                    }
                    SegmentKind::Repaired(_) => account.repaired += 1,
                    SegmentKind::Rejected(reason) => account.leave_out(line, segment.at, &reason),
                }
            }
        }
    }
    Ok(())
}

impl InputAccount {
    fn of(path: String) -> Self {
        Self { path, lines: 0, rows: 0, repaired: 0, left_out: 0, first_left_out: None, rest: None }
    }

    fn leave_out(&mut self, line: &Line<'_>, at: usize, reason: &str) {
        self.left_out += 1;
        self.first_left_out.get_or_insert_with(|| {
            format!("{}:{}:{}: {reason}", self.path, line.number, line.offset + at as u64)
        });
    }

    /// Whether there were lines and not one was a journal row.
    pub fn is_no_journal(&self) -> bool {
        self.lines > 0 && self.rows == 0
    }
}
