//! The table for eyes: aligned, numbers to the right and rounded alike in a column, null as `-`.
//!
//! The first rows tell how wide the columns are and how far their numbers are rounded; the rest is written as it
//! comes, so that a long answer takes no memory and begins at once. A later cell that is wider than its column moves
//! those after it to the right, on its own line.

use std::io::Write;
use std::iter::repeat_n;

use anyhow::Result;
use rusqlite::types::ValueRef;
use unicode_width::UnicodeWidthStr;

use super::cell::Cell;
use super::idle::{bucket_column, idle_of};
use super::layout::{ColumnLayout, GAP, Layout};
use super::moments::Moments;
use super::numbers::Rounding;
use super::screen;
use crate::query::kind::ColumnKind;
use crate::query::run::Sink;
use crate::text;

/// Longer text is cut: an error message must not push the other columns out of sight.
const MAX_CELL: usize = 80;

/// So many rows, or bytes of them, tell how wide the columns are.
const SAMPLE_ROWS: usize = 1000;
const SAMPLE_BYTES: usize = 512 << 10;

/// Up to so many stretches in which nothing arrived are rows of their own.
const MIN_IDLE: usize = 2;

pub(super) struct Table<'w> {
    out: &'w mut dyn Write,
    is_markdown: bool,
    /// The columns that the terminal has, when one shows the table.
    width: Option<usize>,
    names: Vec<String>,
    kinds: Vec<ColumnKind>,
    moments: Moments,
    sample: Vec<Vec<Cell>>,
    sample_bytes: usize,
    layout: Option<Layout>,
    /// The heading above the row written last.
    heading: Option<Vec<String>>,
    rows: u64,
    /// Stretches of time in which nothing arrived, not written yet.
    idle: Vec<Vec<Cell>>,
    /// And how many there are between the last two of those.
    skipped: u64,
}

impl<'w> Table<'w> {
    pub(super) fn aligned(out: &'w mut dyn Write, is_terminal: bool) -> Self {
        let width = if is_terminal { screen::width_of_stdout() } else { None };
        Self { width, is_markdown: false, ..Self::markdown(out) }
    }

    pub(super) fn markdown(out: &'w mut dyn Write) -> Self {
        Self {
            out,
            is_markdown: true,
            width: None,
            names: Vec::new(),
            kinds: Vec::new(),
            moments: Moments::default(),
            sample: Vec::new(),
            sample_bytes: 0,
            layout: None,
            heading: None,
            rows: 0,
            idle: Vec::new(),
            skipped: 0,
        }
    }

    fn shown(&self, bytes: &[u8]) -> String {
        let text = text::from_bytes(bytes);
        let shown = text::escaped(&text);
        let shown = text::cut(&shown, MAX_CELL);
        if self.is_markdown { shown.replace('|', "\\|") } else { shown.into_owned() }
    }

    /// Decides on the layout, if that was not done, and writes what it was drawn from.
    fn begin(&mut self, is_whole: bool) -> Result<()> {
        if self.layout.is_some() {
            return Ok(());
        }
        let mut sample = std::mem::take(&mut self.sample);
        if !self.is_markdown {
            self.moments.find_day(&sample);
        }
        sample.iter_mut().for_each(|row| self.moments.show(row));
        let layout = Layout::of(&self.names, &sample, is_whole, self.width, self.is_markdown);
        if let Some(title) = self.moments.title() {
            writeln!(self.out, "{title}")?;
        }
        if layout.headings == 0 && !layout.is_turned {
            self.write_names(&layout)?;
        }
        self.layout = Some(layout);
        sample.iter().try_for_each(|row| self.take(row))
    }

    fn write_names(&mut self, layout: &Layout) -> Result<()> {
        if self.is_markdown {
            let names: Vec<&str> =
                layout.columns.iter().map(|column| column.name.first().map_or("", String::as_str)).collect();
            self.write_markdown(layout, &names)?;
            for column in &layout.columns {
                write!(self.out, "|{}", "-".repeat(column.width() + 2))?;
            }
            return Ok(writeln!(self.out, "|")?);
        }
        for (indent, columns) in layout.banded(&layout.columns) {
            let lines = columns.iter().map(|column| column.name.len()).max().unwrap_or(1);
            for line in 0..lines {
                // Names stand on the figures, so those with fewer lines begin further down.
                let names: Vec<&str> = columns
                    .iter()
                    .map(|column| {
                        let missing = lines - column.name.len();
                        line.checked_sub(missing).map_or("", |line| column.name[line].as_str())
                    })
                    .collect();
                self.write_line(indent, columns, &names)?;
            }
        }
        Ok(())
    }

    fn write_markdown<S: AsRef<str>>(&mut self, layout: &Layout, cells: &[S]) -> Result<()> {
        for (column, cell) in layout.columns.iter().zip(cells) {
            let (cell, pad) = (cell.as_ref(), column.width().saturating_sub(cell.as_ref().width()));
            let pad = " ".repeat(pad);
            if column.is_numeric {
                write!(self.out, "| {pad}{cell} ")?
            } else {
                write!(self.out, "| {cell}{pad} ")?
            }
        }
        Ok(writeln!(self.out, "|")?)
    }

    /// Writes cells below each other, each at its place or as near to it as those before it leave.
    fn write_line<S: AsRef<str>>(
        &mut self,
        indent: usize,
        columns: &[ColumnLayout],
        cells: &[S],
    ) -> Result<()> {
        let mut line = String::new();
        let (mut at, mut from) = (0, indent);
        for (column, cell) in columns.iter().zip(cells) {
            let (cell, width) = (cell.as_ref(), cell.as_ref().width());
            let begin = if column.is_numeric { (from + column.width()).saturating_sub(width) } else { from };
            let begin = begin.max(if at == 0 { indent } else { at + GAP });
            if !cell.is_empty() {
                line.extend(repeat_n(' ', begin - at));
                line.push_str(cell);
                at = begin + width;
            }
            from += column.width() + GAP;
        }
        Ok(writeln!(self.out, "{}", line.trim_end())?)
    }

    /// Writes a row, or keeps it back while it may be one of many stretches in which nothing arrived.
    fn take(&mut self, row: &[Cell]) -> Result<()> {
        if !self.is_markdown
            && let Some(of) = idle_of(&self.names, row)
        {
            if self.idle.first().is_some_and(|first| idle_of(&self.names, first).as_ref() != Some(&of)) {
                self.write_idle()?;
            }
            // Of those between, nothing is shown.
            if self.idle.len() > MIN_IDLE {
                self.idle.pop();
                self.skipped += 1;
            }
            self.idle.push(row.to_vec());
            return Ok(());
        }
        self.write_idle()?;
        self.write(row)
    }

    /// Writes the stretches that were kept back: in one line when they are many.
    fn write_idle(&mut self) -> Result<()> {
        let idle = std::mem::take(&mut self.idle);
        let count = idle.len() as u64 + std::mem::take(&mut self.skipped);
        let [first, .., last] = idle.as_slice() else {
            return idle.iter().try_for_each(|row| self.write(row));
        };
        if idle.len() <= MIN_IDLE {
            return idle.iter().try_for_each(|row| self.write(row));
        }
        let at = bucket_column(&self.names).unwrap_or(0);
        let headings = self.layout.as_ref().map_or(0, |layout| layout.headings);
        let heads: Vec<String> =
            first[..headings].iter().map(|cell| cell.shown(&Rounding::default())).collect();
        // Buckets stand under the heading of their run, which the first of them brings.
        if at > 0 && headings > 0 && self.heading.as_ref() != Some(&heads) {
            return idle.iter().try_for_each(|row| self.write(row));
        }
        let (from, to) = (first[at].shown(&Rounding::default()), last[at].shown(&Rounding::default()));
        if at == 0 && headings > 0 && self.rows > 0 {
            writeln!(self.out)?;
        }
        self.rows += 1;
        Ok(writeln!(self.out, "{from} to {to}: nothing arrived ({count} stretches)")?)
    }

    fn write(&mut self, row: &[Cell]) -> Result<()> {
        let layout = self.layout.take().expect("a layout is decided on before a row is written");
        let written = self.write_in(&layout, row);
        self.layout = Some(layout);
        self.rows += 1;
        written
    }

    fn write_in(&mut self, layout: &Layout, row: &[Cell]) -> Result<()> {
        let (heads, cells) = row.split_at(layout.headings);
        let cells: Vec<String> =
            layout.columns.iter().zip(cells).map(|(column, cell)| cell.shown(&column.rounding)).collect();
        if self.is_markdown {
            return self.write_markdown(layout, &cells);
        }
        let heading: Vec<String> = heads.iter().map(|cell| cell.shown(&Rounding::default())).collect();
        let is_new = layout.headings > 0 && self.heading.as_ref() != Some(&heading);
        if (is_new || layout.is_turned) && self.rows > 0 {
            writeln!(self.out)?;
        }
        if is_new {
            let heads = self.names.iter().zip(&heading).map(|(name, value)| format!("{name} {value}"));
            writeln!(self.out, "{}", heads.collect::<Vec<_>>().join(", "))?;
            self.heading = Some(heading);
            self.write_names(layout)?;
        }
        if !layout.is_turned {
            let folded: Vec<Vec<String>> =
                layout.columns.iter().zip(cells).map(|(column, cell)| folded(cell, column.fold)).collect();
            let bands = layout.banded(&layout.columns).zip(layout.banded(&folded));
            for ((indent, columns), (_, folded)) in bands {
                let lines = folded.iter().map(Vec::len).max().unwrap_or(0);
                for line in 0..lines {
                    let cells: Vec<&str> =
                        folded.iter().map(|cell| cell.get(line).map_or("", String::as_str)).collect();
                    self.write_line(indent, columns, &cells)?;
                }
            }
            return Ok(());
        }
        let names: Vec<String> = layout.columns.iter().map(|column| column.name.concat()).collect();
        let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
        for (name, cell) in names.iter().zip(&cells) {
            writeln!(self.out, "{name}{}  {cell}", " ".repeat(width - name.width()))?;
        }
        Ok(())
    }
}

/// The lines of a cell: between words, and within those that are longer than a line.
fn folded(cell: String, fold: Option<usize>) -> Vec<String> {
    let Some(fold) = fold.filter(|fold| cell.width() > *fold) else { return vec![cell] };
    let mut lines = Vec::new();
    for line in text::wrapped(&cell, fold, 0).lines() {
        let characters: Vec<char> = line.chars().collect();
        lines.extend(characters.chunks(fold).map(|part| part.iter().collect::<String>()));
    }
    lines
}

impl Sink for Table<'_> {
    fn kinds(&mut self, kinds: &[ColumnKind]) {
        self.kinds = kinds.to_vec();
    }

    fn columns(&mut self, names: &[String]) -> Result<()> {
        self.names = names.iter().map(|name| self.shown(name.as_bytes())).collect();
        self.moments = Moments::of(&self.names, &self.kinds);
        Ok(())
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        let mut row: Vec<Cell> = cells
            .iter()
            .map(|cell| match cell {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(int) => Cell::Int(*int),
                ValueRef::Real(real) => Cell::Real(*real),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Text(self.shown(bytes)),
            })
            .collect();
        if self.layout.is_some() {
            self.moments.show(&mut row);
            return self.take(&row);
        }
        self.sample_bytes += row.iter().map(Cell::len).sum::<usize>();
        self.sample.push(row);
        if self.sample.len() == SAMPLE_ROWS || self.sample_bytes > SAMPLE_BYTES {
            self.begin(false)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.begin(true)?;
        self.write_idle()?;
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(width: Option<usize>, names: &[&str], rows: &[Vec<ValueRef<'_>>]) -> String {
        let mut out = Vec::new();
        let mut table = Table::aligned(&mut out, false);
        table.width = width;
        let mut write = || {
            table.columns(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())?;
            rows.iter().try_for_each(|row| table.row(row))?;
            table.end()
        };
        write().expect("memory can be written");
        String::from_utf8(out).expect("it is text")
    }

    fn text(text: &str) -> ValueRef<'_> {
        ValueRef::Text(text.as_bytes())
    }

    #[test]
    fn a_table_wider_than_the_terminal_breaks_its_names_and_is_turned_at_last() {
        let names = ["engine", "ttft_p99_s"];
        let rows = [vec![text("p0"), ValueRef::Real(0.25)], vec![text("p1"), ValueRef::Null]];
        let straight = "engine  ttft_p99_s\np0            0.25\np1               -\n";
        assert_eq!(written(None, &names, &rows), straight);
        assert_eq!(written(Some(18), &names, &rows), straight);
        let broken = "        ttft_\n         p99_\nengine     s\np0      0.25\np1         -\n";
        let broken = broken.replace("         p99_\nengine     s", "engine  p99_s");
        assert_eq!(
            written(Some(17), &names, &rows),
            broken.replace("p0      0.25", "p0       0.25").replace("p1         -", "p1          -")
        );
        let turned = "engine      p0\nttft_p99_s  0.25\n\nengine      p1\nttft_p99_s  -\n";
        assert_eq!(written(Some(12), &names, &rows), turned);
        assert_eq!(written(Some(1), &names, &[]), "engine  ttft_p99_s\n");
    }

    #[test]
    fn a_run_that_fills_its_column_is_a_heading() {
        let row = |run, engine, n| vec![text(run), text(engine), ValueRef::Integer(n)];
        let rows = [row("r1", "p0", 1), row("r1", "p1", 20), row("r2", "p0", 3), row("r2", "p1", 4)];
        let names = ["run", "engine", "n"];
        let expected =
            "run r1\nengine   n\np0       1\np1      20\n\nrun r2\nengine   n\np0       3\np1       4\n";
        assert_eq!(written(None, &names, &rows), expected);
        // One row each is no reason, unless there is no room.
        let rows = [row("r1", "p0", 1), row("r2", "p0", 3)];
        assert_eq!(written(None, &names, &rows), "run  engine  n\nr1   p0      1\nr2   p0      3\n");
        assert_eq!(
            written(Some(9), &names, &rows),
            "run r1\nengine  n\np0      1\n\nrun r2\nengine  n\np0      3\n"
        );
    }

    #[test]
    fn long_text_is_folded_between_words_and_nothing_of_it_is_lost() {
        let rows = [
            vec![text("one two three four"), ValueRef::Integer(1)],
            vec![text("abcdefghijklmnopqrs"), ValueRef::Integer(2)],
        ];
        let expected = "reason            n\none two three     1\nfour\nabcdefghijklmnop  2\nqrs\n";
        assert_eq!(written(Some(19), &["reason", "n"], &rows), expected);
    }

    #[test]
    fn a_wide_cell_behind_the_sample_moves_only_its_own_line() {
        let long = "x".repeat(20);
        let mut rows = vec![vec![text("p0"), ValueRef::Integer(1), ValueRef::Integer(2)]; SAMPLE_ROWS];
        rows.push(vec![text(&long), ValueRef::Integer(1), ValueRef::Integer(2)]);
        rows.push(vec![text("p1"), ValueRef::Integer(1), ValueRef::Integer(1_000_000)]);
        let written = written(None, &["engine", "n", "m"], &rows);
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!(lines[SAMPLE_ROWS], "p0      1  2");
        assert_eq!(lines[SAMPLE_ROWS + 1], format!("{long}  1  2"));
        assert_eq!(lines[SAMPLE_ROWS + 2], "p1      1  1000000");
    }
}
