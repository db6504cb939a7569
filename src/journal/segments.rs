//! What one line holds: usually one row, on a bad day a torn part, several rows or nothing.
//!
//! The fast path is one whole row. Anything else goes to `cut`, which finds every whole row in
//! the line and accounts for every byte of it.

use super::fault::{Fault, Repair};
use super::row::{Row, read_row};

/// A row begins with one of these, wherever a kill or a full disk left it.
const BEGINNINGS: [&[u8]; 2] = [b"{\"schema\": ", b"{\"meta\": "];

/// What the reason of a torn part ends with.
const BEFORE_A_ROW: &str = ", before a whole row on the same line";
const AFTER_A_ROW: &str = ", after a whole row on the same line";

/// How databases of earlier releases have it.
const BEHIND_A_ROW: &str = ", behind a whole row on the same line";

/// Whether a reason is that of a part of a line. Read without the rest of the line, the part may give
/// another.
pub fn is_of_a_part(reason: &str) -> bool {
    [BEFORE_A_ROW, AFTER_A_ROW, BEHIND_A_ROW].iter().any(|end| reason.ends_with(end))
}

/// The content of a line.
#[derive(Debug)]
pub enum Content<'a> {
    /// Nothing but blanks.
    Blank,
    /// One good row, from the first byte of the line.
    Row(Row<'a>),
    /// Anything else, in the order of the bytes.
    Segments(Vec<Segment<'a>>),
}

/// A part of a line, and what became of it.
#[derive(Debug)]
pub struct Segment<'a> {
    /// Its first byte in the line.
    pub at: usize,
    /// Its length in bytes.
    pub len: usize,
    /// What it is.
    pub kind: SegmentKind<'a>,
}

/// What a [`Segment`] is.
#[derive(Debug)]
pub enum SegmentKind<'a> {
    /// A row to store.
    Row(Row<'a>),
    /// Bytes that are no row, with the reason.
    Rejected(String),
    /// Bytes that were read otherwise than they stand, with what was mended. Their rows come as
    /// segments of their own.
    Repaired(String),
}

/// Editors and some programs write it before the first line; copies that are joined have it in the middle.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a line, without its newline. A byte order mark before it says nothing.
pub fn read_line(line: &[u8]) -> Content<'_> {
    if let Ok(text) = std::str::from_utf8(line) {
        let from = if line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        match read_row(text, from) {
            Ok(reading) if reading.end == text.len() && reading.repairs.is_empty() => {
                if let Ok(row) = reading.row {
                    return Content::Row(row);
                }
            }
            _ if text[from..].trim_matches([' ', '\t', '\r']).is_empty() => return Content::Blank,
            _ => {}
        }
    }
    Content::Segments(cut(line))
}

/// Cuts a line into whole rows and what is none.
#[cold]
fn cut(line: &[u8]) -> Vec<Segment<'_>> {
    let mut cuts = Cuts { line, segments: Vec::new(), torn: None, rows: 0 };
    let (mut text_from, mut text) = (0, valid_text(line));
    let first = if line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let mut pos = first;
    while pos < line.len() {
        if pos >= text_from + text.len() {
            (text_from, text) = (pos, valid_text(&line[pos..]));
        }
        let fault = match read_row(text, pos - text_from) {
            Ok(reading) => match reading.row {
                Ok(row) => {
                    let end = text_from + reading.end;
                    cuts.row(pos, end, row, &repairs_in_words(&reading.repairs, text_from));
                    pos = end;
                    continue;
                }
                // Only the value that begins the line gives its reason as a row of its own; what
                // stands after a torn part may be the inside of the torn row.
                Err(reason) if pos == first && text_from + reading.end == line.len() => {
                    return vec![Segment {
                        at: first,
                        len: line.len() - first,
                        kind: SegmentKind::Rejected(reason),
                    }];
                }
                Err(reason) => reason,
            },
            Err(Fault::Shape { path, why }) => format!("{path} {why}"),
            Err(Fault::Syntax { at, why }) => {
                let is_cut_off = at == text.len() && text_from + at < line.len();
                let why = if is_cut_off { "invalid UTF-8" } else { &why };
                format!("{why} (byte {} of the line)", text_from + at)
            }
        };
        cuts.torn.get_or_insert((pos, fault));
        match next_beginning(line, pos + 1) {
            Some(next) => pos = next,
            None => break,
        }
    }
    cuts.finish()
}

/// The longest beginning of `bytes` that is UTF-8.
fn valid_text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Where the next row may begin: in a damaged line also after a torn one.
pub(crate) fn next_beginning(line: &[u8], from: usize) -> Option<usize> {
    memchr::memchr_iter(b'{', &line[from..])
        .map(|at| from + at)
        .find(|at| BEGINNINGS.iter().any(|beginning| line[*at..].starts_with(beginning)))
}

/// The segments found so far.
struct Cuts<'a> {
    line: &'a [u8],
    segments: Vec<Segment<'a>>,
    /// Where bytes that are no row began, and why they are none.
    torn: Option<(usize, String)>,
    rows: usize,
}

impl<'a> Cuts<'a> {
    fn row(&mut self, at: usize, end: usize, row: Row<'a>, mended: &str) {
        let behind_torn = self.torn.is_some();
        self.reject_torn(at, BEFORE_A_ROW);
        if behind_torn || !mended.is_empty() {
            let glued = if behind_torn { "row taken from behind a torn one; " } else { "" };
            let what = format!("{glued}{mended}").trim_end_matches("; ").to_owned();
            self.push(at, end - at, SegmentKind::Repaired(what));
        }
        self.rows += 1;
        self.push(at, end - at, SegmentKind::Row(row));
    }

    fn reject_torn(&mut self, end: usize, how: &str) {
        if let Some((from, why)) = self.torn.take() {
            self.push(from, end - from, SegmentKind::Rejected(format!("{why}{how}")));
        }
    }

    fn push(&mut self, at: usize, len: usize, kind: SegmentKind<'a>) {
        self.segments.push(Segment { at, len, kind });
    }

    fn finish(mut self) -> Vec<Segment<'a>> {
        let how = if self.rows == 0 { "" } else { AFTER_A_ROW };
        self.reject_torn(self.line.len(), how);
        if self.rows > 1 {
            self.name_the_glue();
        }
        self.segments
    }

    /// Says of a line with several rows that it has them, at its first row.
    fn name_the_glue(&mut self) {
        let (rows, len) = (self.rows, self.line.len());
        let glue = format!("{rows} rows on one line");
        let first = self.segments.iter().position(|segment| matches!(segment.kind, SegmentKind::Row(_)));
        let first = first.expect("there are several rows");
        let at = self.segments[first].at;
        let noted = self.segments[..first].iter_mut().find(|segment| segment.at == at);
        if let Some(Segment { kind: SegmentKind::Repaired(what), len: noted_len, .. }) = noted {
            *what = format!("{glue}; {what}");
            *noted_len = len - at;
        } else {
            let note = Segment { at, len: len - at, kind: SegmentKind::Repaired(glue) };
            self.segments.insert(first, note);
        }
    }
}

/// Up to three repairs in words, then how many more; `text_from` is the text's place in the line.
fn repairs_in_words(repairs: &[Repair], text_from: usize) -> String {
    let mut words: Vec<String> = repairs
        .iter()
        .take(3)
        .map(|repair| format!("{} (byte {} of the line)", repair.what, text_from + repair.at))
        .collect();
    if repairs.len() > 3 {
        words.push(format!("{} more", repairs.len() - 3));
    }
    words.join("; ")
}
