//! How wide the columns of a table are, how far their numbers are rounded, and in how many lines a row stands, so that a
//! screen shows it.

use unicode_width::UnicodeWidthStr;

use super::cell::Cell;
use super::numbers::Rounding;

/// So many decimals are given up before a table is turned: three digits of the larger numbers are left.
const MAX_COARSER: usize = 2;

/// Text is folded to no less.
const MIN_FOLD: usize = 16;

/// What stands between two columns.
pub(super) const GAP: usize = 2;

/// Before the second line of a row, and those after it.
pub(super) const INDENT: usize = 4;

/// A row of more lines is easier to read as a list of names and values.
const MAX_BANDS: usize = 6;

/// More headings above one row each are harder to read than rows of two lines.
const MAX_LONE_HEADINGS: usize = 12;

/// Columns that say which part of the answer a row belongs to. They come first, and hold one value for many rows:
/// as a heading they take no room beside the figures.
const HEADINGS: [&str; 2] = ["scope", "run"];

/// How the rows are written.
pub(super) struct Layout {
    /// So many of the first columns are headings.
    pub(super) headings: usize,
    pub(super) columns: Vec<ColumnLayout>,
    /// How many columns stand in each of the lines that a row takes; one number where one line is enough.
    pub(super) bands: Vec<usize>,
    /// Whether each row is written as lines of a name and a value.
    pub(super) is_turned: bool,
}

/// A column: how wide it is, and how its cells are written.
#[derive(Debug, Clone)]
pub(super) struct ColumnLayout {
    /// The lines of its name.
    pub(super) name: Vec<String>,
    /// The width of the widest cell seen.
    pub(super) cells: usize,
    /// Longer text goes on in the next line.
    pub(super) fold: Option<usize>,
    pub(super) is_numeric: bool,
    pub(super) rounding: Rounding,
}

impl Layout {
    /// A layout with one line a row.
    fn straight(headings: usize, columns: Vec<ColumnLayout>) -> Self {
        Self { headings, bands: vec![columns.len()], columns, is_turned: false }
    }

    /// With as many lines a row as the screen's width asks for, if those are few.
    fn in_bands(headings: usize, mut columns: Vec<ColumnLayout>, width: usize, most: usize) -> Option<Self> {
        let mut bands = vec![0];
        let mut used = 0;
        for column in &mut columns {
            let room = width.checked_sub(INDENT).filter(|room| *room >= MIN_FOLD)?;
            if column.width() > room {
                if column.is_numeric || column.width() > column.cells {
                    return None;
                }
                column.fold = Some(room);
            }
            let in_band = bands.last_mut()?;
            let needed = column.width() + if *in_band > 0 { GAP } else { 0 };
            if used + needed > width {
                bands.push(1);
                used = INDENT + column.width();
            } else {
                *in_band += 1;
                used += needed;
            }
        }
        (bands.len() <= most).then_some(Self { headings, columns, bands, is_turned: false })
    }

    /// What belongs to the columns, by the lines in which those stand, and how far each is indented.
    pub(super) fn banded<'c, T>(&self, cells: &'c [T]) -> impl Iterator<Item = (usize, &'c [T])> {
        let mut from = 0;
        let bands = self.bands.clone();
        bands.into_iter().enumerate().map(move |(at, len)| {
            let band = &cells[from..from + len];
            from += len;
            (if at == 0 { 0 } else { INDENT }, band)
        })
    }

    pub(super) fn of(
        names: &[String],
        sample: &[Vec<Cell>],
        is_whole: bool,
        width: Option<usize>,
        is_markdown: bool,
    ) -> Self {
        let columns_of = |coarser: usize| -> Vec<ColumnLayout> {
            let of = |(at, name): (usize, &String)| {
                ColumnLayout::of(name, sample.iter().map(|row| &row[at]), is_whole, coarser)
            };
            names.iter().enumerate().map(of).collect()
        };
        let leading = names.iter().take_while(|name| HEADINGS.contains(&name.as_str())).count();
        // Not every column: something must stand below a heading.
        let leading =
            if is_markdown || sample.is_empty() { 0 } else { leading.min(names.len().saturating_sub(1)) };
        let wanted =
            (0..=leading).rev().find(|headings| *headings == 0 || is_worth(*headings, sample)).unwrap_or(0);
        let width = width.filter(|_| !sample.is_empty());
        let fits = |columns: &[ColumnLayout]| width.is_none_or(|width| width_of(columns) <= width);
        let leading = if sample.len() > MAX_LONE_HEADINGS && wanted < leading { wanted } else { leading };
        for coarser in 0..=MAX_COARSER {
            let mut columns = columns_of(coarser);
            for headings in [wanted, leading] {
                if fits(&columns[headings..]) {
                    return Self::straight(headings, columns.split_off(headings));
                }
                let mut broken: Vec<ColumnLayout> =
                    columns[headings..].iter().map(ColumnLayout::with_broken_name).collect();
                if fits(&broken) {
                    let width = width.unwrap_or(usize::MAX);
                    widen(&mut broken, &columns[headings..], width);
                    return Self::straight(headings, broken);
                }
            }
        }
        let columns = columns_of(0);
        for headings in [wanted, leading] {
            let mut folded: Vec<ColumnLayout> =
                columns[headings..].iter().map(ColumnLayout::with_broken_name).collect();
            if width.is_some_and(|width| fold_widest(&mut folded, width)) {
                return Self::straight(headings, folded);
            }
        }
        let in_bands = |headings: usize| {
            let broken = columns[headings..].iter().map(ColumnLayout::with_broken_name).collect();
            Self::in_bands(headings, broken, width?, MAX_BANDS)
        };
        if let Some(layout) = in_bands(wanted).or_else(|| in_bands(leading)) {
            return layout;
        }
        Self { headings: 0, bands: vec![columns.len()], columns, is_turned: true }
    }
}

/// Makes the widest text as narrow as the screen wants it; whether that is enough.
fn fold_widest(columns: &mut [ColumnLayout], width: usize) -> bool {
    let missing = width_of(columns).saturating_sub(width);
    let widest = columns.iter_mut().filter(|column| !column.is_numeric).max_by_key(|column| column.cells);
    let Some(widest) = widest else { return false };
    let fold = widest.cells.saturating_sub(missing);
    let fits = fold >= MIN_FOLD && widest.width() == widest.cells;
    widest.fold = fits.then_some(fold);
    fits && width_of(columns) <= width
}

/// Whether these columns hold one value for several rows, on the whole, and no value comes back later.
fn is_worth(headings: usize, sample: &[Vec<Cell>]) -> bool {
    let mut groups: Vec<&[Cell]> = sample.iter().map(|row| &row[..headings]).collect();
    groups.dedup();
    let is_again = groups.iter().enumerate().any(|(at, group)| groups[..at].contains(group));
    sample.len() >= 2 * groups.len() && !is_again
}

fn width_of(columns: &[ColumnLayout]) -> usize {
    columns.iter().map(|column| column.width() + GAP).sum::<usize>().saturating_sub(GAP)
}

/// Gives names back their one line where there is room for it.
fn widen(broken: &mut [ColumnLayout], whole: &[ColumnLayout], width: usize) {
    for at in 0..broken.len() {
        let more = whole[at].width() - broken[at].width();
        if width_of(broken) + more <= width {
            broken[at].name.clone_from(&whole[at].name);
        }
    }
}

impl ColumnLayout {
    /// With so many decimals less than its numbers deserve.
    fn of<'c>(
        name: &str,
        cells: impl Iterator<Item = &'c Cell> + Clone,
        is_whole: bool,
        coarser: usize,
    ) -> Self {
        let reals = cells.clone().filter_map(|cell| match cell {
            Cell::Real(real) => Some(*real),
            _ => None,
        });
        let rounding = Rounding::of(name, reals, is_whole).coarser(coarser);
        Self {
            name: vec![name.to_owned()],
            cells: cells.clone().map(|cell| cell.shown(&rounding).width()).max().unwrap_or(0),
            fold: None,
            is_numeric: cells.clone().all(|cell| !matches!(cell, Cell::Text(_))),
            rounding,
        }
    }

    pub(super) fn width(&self) -> usize {
        let cells = self.fold.map_or(self.cells, |fold| fold.min(self.cells));
        self.name.iter().map(|line| line.width()).max().unwrap_or(0).max(cells)
    }

    /// With its name broken after underscores, in as few lines as take no more room than its cells, or than its
    /// longest word.
    fn with_broken_name(&self) -> Self {
        let words: Vec<&str> = self.name.iter().flat_map(|name| name.split_inclusive(['_', ' '])).collect();
        let width = words.iter().map(|word| word.width()).max().unwrap_or(0).max(self.cells);
        let mut name = vec![String::new()];
        for word in words {
            match name.last_mut() {
                Some(line) if line.width() + word.width() <= width => line.push_str(word),
                _ => name.push(word.to_owned()),
            }
        }
        Self { name, ..self.clone() }
    }
}
