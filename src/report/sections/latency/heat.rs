//! TTFT against TPOT: a cell is the darker the more requests it has; the box is the SLO.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::figures::survey::{CELLS_ACROSS, CELLS_DOWN};
use crate::report::parts::{Drawing, dense, details, key, key_area};
use crate::report::plot::{Anchor, Line, Log, Scale, Svg, Tone, percent};
use crate::report::words::{count, plain, share, short_duration};

/// Cells of the heat map: at most so many across and down.
const MOST_ACROSS: i32 = 22;
const MOST_DOWN: i32 = 18;
const HEAT_PX: f64 = 252.0;
const OPACITIES: [f64; 7] = [0.1, 0.22, 0.36, 0.52, 0.7, 0.88, 1.0];

/// The cells that are drawn, by column and row from the low ends.
struct Cells {
    counts: Vec<Vec<u64>>,
    /// The number of the first column and row, and how many cells of the survey are one here.
    first: (i32, i32),
    merged: (i32, i32),
    /// The values that edges are multiples of.
    unit: (f64, f64),
}

impl Cells {
    fn of(figures: &Figures) -> Option<Self> {
        let cells = &figures.survey.cells;
        let total: u64 = cells.values().sum();
        if total == 0 {
            return None;
        }
        let axis = |read: fn(&(i32, i32)) -> i32, most: i32| {
            let mut sums: std::collections::BTreeMap<i32, u64> = std::collections::BTreeMap::new();
            for (cell, requests) in cells {
                *sums.entry(read(cell)).or_default() += requests;
            }
            let (mut seen, mut first, mut last) = (0, None, 0);
            for (number, requests) in &sums {
                // A value of 0 has no logarithm: it counts with the lowest.
                let is_beyond = seen as f64 > 0.9995 * total as f64;
                seen += requests;
                if *number == i32::MIN || is_beyond {
                    continue;
                }
                if seen as f64 > 0.0005 * total as f64 {
                    first = first.or(Some(*number));
                }
                last = *number;
            }
            let first = first.unwrap_or(0);
            let last = last.max(first);
            let mut merged = 1;
            while last.div_euclid(merged) - first.div_euclid(merged) + 1 > most {
                merged += 1;
            }
            (first.div_euclid(merged), last.div_euclid(merged), merged)
        };
        let across = axis(|cell| cell.0, MOST_ACROSS);
        let down = axis(|cell| cell.1, MOST_DOWN);
        let size = ((across.1 - across.0 + 1) as usize, (down.1 - down.0 + 1) as usize);
        let mut counts = vec![vec![0; size.1]; size.0];
        let place = |number: i32, (first, last, merged): (i32, i32, i32)| {
            let number = if number == i32::MIN { first } else { number.div_euclid(merged) };
            (number.clamp(first, last) - first) as usize
        };
        for ((x, y), requests) in cells {
            counts[place(*x, across)][place(*y, down)] += requests;
        }
        let unit = figures.targets().map_or((1.0, 0.1), |slo| (slo.ttft_s, slo.tpot_s));
        Some(Self { counts, first: (across.0, down.0), merged: (across.2, down.2), unit })
    }

    /// The lower edge of a column, and of a row.
    fn left(&self, column: usize) -> f64 {
        let number = (self.first.0 + column as i32) * self.merged.0;
        self.unit.0 * 10_f64.powf(f64::from(number) / CELLS_ACROSS)
    }

    fn lower(&self, row: usize) -> f64 {
        let number = (self.first.1 + row as i32) * self.merged.1;
        self.unit.1 * 10_f64.powf(f64::from(number) / CELLS_DOWN)
    }

    fn size(&self) -> (usize, usize) {
        (self.counts.len(), self.counts[0].len())
    }

    /// Where a value lies, in percent across and pixels from the upper edge.
    fn across(&self, ttft_s: f64) -> f64 {
        let cells = (ttft_s / self.left(0)).log10() * CELLS_ACROSS / f64::from(self.merged.0);
        100.0 * cells / self.size().0 as f64
    }

    fn down(&self, tpot_s: f64) -> f64 {
        let cells = (tpot_s / self.lower(0)).log10() * CELLS_DOWN / f64::from(self.merged.1);
        HEAT_PX * (1.0 - cells / self.size().1 as f64)
    }
}

pub(super) fn heat(figures: &Figures) -> Markup {
    let title = "TTFT against TPOT";
    let Some(cells) = Cells::of(figures) else {
        return html! { h3 { (title) } p.note { "None: no completed request has both." } };
    };
    let largest = cells.counts.iter().flatten().copied().max().unwrap_or(1);
    let level = |requests: u64| {
        if largest <= 1 {
            return 6;
        }
        ((requests as f64).ln() / (largest as f64).ln() * 7.0).floor().min(6.0) as usize
    };
    let mut svg = Svg::default();
    svg.rect_with(0.0, 100.0, 0.0, HEAT_PX, Tone::Plot.fill(), None);
    let (columns, rows) = cells.size();
    svg.nested((0.0, 100.0), (0.0, HEAT_PX), (columns as f64, rows as f64), |svg| {
        for (at, opacity) in OPACITIES.iter().enumerate() {
            let opacity =
                if *opacity < 1.0 { format!(r#" fill-opacity="{opacity}""#) } else { String::new() };
            svg.group(&format!("{}{opacity}", Tone::Ok.fill()), |svg| {
                for (x, column) in cells.counts.iter().enumerate() {
                    for (y, requests) in
                        column.iter().enumerate().filter(|(_, n)| **n > 0 && level(**n) == at)
                    {
                        let d = format!("M{x} {}h1v1h-1z", rows - 1 - y);
                        svg.path(&d, "", Some(&told_cell(&cells, (x, y), *requests)));
                    }
                }
            });
        }
    });
    heat_axes(&mut svg, &cells);
    let quadrants = figures.survey.quadrants;
    let with_both: u64 = quadrants.iter().sum();
    if let Some(slo) = figures.targets() {
        quadrant_labels(&mut svg, figures, &cells, (slo.ttft_s, slo.tpot_s), with_both);
    }
    let legend = [(0, 0.1), (2, 0.36), (4, 0.7), (6, 1.0)].map(|(at, opacity)| {
        let least = (largest as f64).powf(at as f64 / 7.0).ceil().max(1.0) as i64;
        key_area(Tone::Ok, opacity, &format!("{}+", count(least)))
    });
    let mut entries = vec![html! { span.x { "requests a cell" } }];
    if largest > 1 {
        entries.extend(legend);
    }
    let caption = html! {
        (count(with_both as i64)) " completed requests with both; " (count(figures.survey.without_tpot as i64))
        " without a TPOT (fewer than two tokens, or not measured) are left out. "
        @if figures.targets().is_some() { "Cell edges are multiples of the SLO, so the box is exact. " }
        "What lies beyond the edges is in the border cells."
    };
    let figure = Drawing {
        id: "heat",
        title,
        key: key("", &entries),
        height: HEAT_PX + 36.0,
        picture: svg.into_text(),
        caption,
        above: true,
    };
    html! { (figure.markup()) (details("Numbers behind this plot", heat_table(figures, &cells, with_both))) }
}

fn told_cell(cells: &Cells, (x, y): (usize, usize), requests: u64) -> String {
    let short = |value: f64| short_duration(value);
    plain(&format!(
        "{}–{}, {}–{}: {}",
        short(cells.left(x)),
        short(cells.left(x + 1)),
        short(cells.lower(y)),
        short(cells.lower(y + 1)),
        count(requests as i64)
    ))
}

fn heat_axes(svg: &mut Svg, cells: &Cells) {
    let (columns, rows) = cells.size();
    let ends = |low: f64, high: f64, most: usize| -> Vec<f64> {
        let ticks = Log::of([low * 1.001, high * 0.999].into_iter(), most)
            .map(|scale| scale.ticks())
            .unwrap_or_default();
        ticks
            .into_iter()
            .map(|tick| tick.value)
            .filter(|value| *value >= low * 0.999 && *value <= high * 1.001)
            .collect()
    };
    let across = ends(cells.left(0), cells.left(columns), 8);
    let down = ends(cells.lower(0), cells.lower(rows), 4);
    for value in &across {
        let x = cells.across(*value);
        svg.line((x, HEAT_PX), (x, HEAT_PX + 4.0), Line::Axis, r#"stroke-width="1""#);
    }
    svg.group(r##"class="t" fill="#57606a""##, |svg| {
        for (number, value) in across.iter().enumerate() {
            let class = if number % 2 == 1 { "m" } else { "" };
            svg.text(
                &percent(cells.across(*value)),
                HEAT_PX + 15.0,
                Anchor::Middle,
                class,
                "",
                &short_duration(*value),
            );
        }
        for value in &down {
            svg.text("-6", cells.down(*value) + 3.8, Anchor::End, "", "", &short_duration(*value));
        }
        svg.text("50%", HEAT_PX + 30.0, Anchor::Middle, "ti", r##"fill="#16191d""##, "TTFT, log axis");
        svg.text("-46", -8.0, Anchor::Start, "ti", r##"fill="#16191d""##, "TPOT, log axis");
    });
}

const QUADRANTS: [&str; 4] = ["both within the SLO", "only TPOT over", "only TTFT over", "both over"];

fn quadrant_labels(
    svg: &mut Svg,
    figures: &Figures,
    cells: &Cells,
    (ttft_s, tpot_s): (f64, f64),
    with_both: u64,
) {
    let x = cells.across(ttft_s).clamp(0.0, 100.0);
    let y = cells.down(tpot_s).clamp(0.0, HEAT_PX);
    let slo = format!(r#"fill="none" {} stroke-width="2""#, Line::Slo.stroke());
    svg.rect_with(0.0, x, y, HEAT_PX - y, &slo, None);
    let part = |at: usize| share(figures.survey.quadrants[at] as f64 / with_both.max(1) as f64);
    let ink = r##"fill="#16191d""##;
    let bold = r##"fill="#16191d" font-weight="600""##;
    svg.text("6", HEAT_PX - 7.0, Anchor::Start, "ti halo", bold, &format!("SLO box: {}", part(0)));
    svg.text("6", 14.0, Anchor::Start, "ti halo", ink, &format!("TPOT over: {}", part(1)));
    let right = r##"dx="-4" fill="#16191d""##;
    svg.text("100%", 14.0, Anchor::End, "ti halo", right, &format!("both over: {}", part(3)));
    svg.text("100%", HEAT_PX - 7.0, Anchor::End, "ti halo m", right, &format!("TTFT over: {}", part(2)));
}

fn heat_table(figures: &Figures, cells: &Cells, with_both: u64) -> Markup {
    let quadrants = QUADRANTS.iter().zip(figures.survey.quadrants).map(|(name, requests)| {
        let part = share(requests as f64 / with_both.max(1) as f64);
        vec![(*name).to_owned(), count(requests as i64), part]
    });
    let (columns, rows) = cells.size();
    let names: Vec<String> = (0..columns).map(|column| short_duration(cells.left(column))).collect();
    let mut heads = vec![("TPOT from / TTFT from", true)];
    heads.extend(names.iter().map(|name| (name.as_str(), false)));
    let body = (0..rows).rev().map(|row| {
        let mut line = vec![short_duration(cells.lower(row))];
        line.extend((0..columns).map(|column| match cells.counts[column][row] {
            0 => String::new(),
            requests => requests.to_string(),
        }));
        line
    });
    html! {
        @if figures.targets().is_some() {
            (dense(&[("Quadrant", true), ("Requests", false), ("Share", false)], quadrants))
        }
        (dense(&heads, body))
    }
}
