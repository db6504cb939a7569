//! Panels over a common axis of columns: grounds, grid, curves, labels, and what tells the numbers of a column on hover.

use super::mark::{Line, Tone};
use super::svg::{Anchor, Svg, number, percent};
use super::ticks::TimeTick;

/// A column: a stretch of the axis with its buckets.
#[derive(Debug, Clone)]
pub(in crate::report) struct Column {
    /// Its left edge and width, in percent.
    pub x: f64,
    pub width: f64,
    /// How many buckets it has.
    pub buckets: usize,
    /// What stands over it, the shortest first: `3`, `Run `, the rest.
    pub head: Head,
}

/// What stands over a column.
#[derive(Debug, Clone, Default)]
pub(in crate::report) struct Head {
    pub word: String,
    pub number: String,
    pub rest: Vec<String>,
}

/// Which buckets of a column are hatched: from, and how many.
pub(in crate::report) type Band = (usize, usize);

/// A curve, or an area, in every column.
#[derive(Debug, Clone)]
pub(in crate::report) struct Curve {
    /// The path in each column, a unit a bucket, in pixels of the panel.
    pub paths: Vec<String>,
    /// Its colour and width.
    pub attributes: String,
}

impl Curve {
    /// A line of a width.
    pub(in crate::report) fn line(line: Line, width: f64, paths: Vec<String>) -> Self {
        let attributes = format!(
            r#"{} stroke-width="{}" fill="none" vector-effect="non-scaling-stroke""#,
            line.stroke(),
            number(width, 1)
        );
        Self { paths, attributes }
    }

    /// An area, more or less opaque.
    pub(in crate::report) fn area(tone: Tone, opacity: f64, paths: Vec<String>) -> Self {
        let opacity =
            if opacity < 1.0 { format!(r#" fill-opacity="{}""#, number(opacity, 2)) } else { String::new() };
        Self { paths, attributes: format!("{}{opacity}", tone.fill()) }
    }
}

/// A line across a panel: a goal, a target.
#[derive(Debug, Clone)]
pub(in crate::report) struct Rule {
    pub y: f64,
    pub line: Line,
    pub is_dashed: bool,
}

/// A panel.
#[derive(Debug, Clone, Default)]
pub(in crate::report) struct Panel {
    /// Its name, and what is said beside it where there is room; a panel without a name lies close to the one before.
    pub title: String,
    pub note: String,
    pub height: f64,
    /// Ticks of the axis down: pixels from its upper edge, label. An empty label is a line alone.
    pub ticks: Vec<(f64, String)>,
    pub curves: Vec<Curve>,
    /// By column.
    pub hatched: Vec<Vec<Band>>,
    pub rules: Vec<Rule>,
    /// Names of lines, right of it: pixels from its upper edge, name, whether it stands out.
    pub names: Vec<(f64, String, bool)>,
    /// Said in the middle, in place of curves.
    pub words: Option<String>,
}

/// What is told of a stretch of buckets on hover.
#[derive(Debug, Clone)]
pub(in crate::report) struct Hit {
    pub from: usize,
    pub buckets: usize,
    pub title: String,
}

/// A figure of panels.
#[derive(Debug)]
pub(in crate::report) struct Panels<'p> {
    pub columns: &'p [Column],
    pub ticks: &'p [TimeTick],
    pub panels: Vec<Panel>,
    /// By column.
    pub hits: Vec<Vec<Hit>>,
    /// Thin lines over the columns: from, to in percent.
    pub lifetimes: Vec<(f64, f64, String)>,
}

const HEAD_PX: f64 = 16.0;
const GAP_PX: f64 = 6.0;
const TITLE_PX: f64 = 16.0;
/// Names of lines are so far apart.
const NAMES_APART_PX: f64 = 11.0;

impl Panels<'_> {
    /// The upper edge of each panel.
    pub(in crate::report) fn tops(&self) -> Vec<f64> {
        let mut y = HEAD_PX + 4.0 * self.lifetimes.len() as f64;
        let mut tops = Vec::with_capacity(self.panels.len());
        for panel in &self.panels {
            y += GAP_PX + if panel.title.is_empty() { 0.0 } else { TITLE_PX };
            tops.push(y);
            y += panel.height;
        }
        tops
    }

    fn bottom(&self, tops: &[f64]) -> f64 {
        tops.last().zip(self.panels.last()).map_or(HEAD_PX, |(top, panel)| top + panel.height)
    }

    /// The height of the picture.
    pub(in crate::report) fn height(&self) -> f64 {
        self.bottom(&self.tops()) + 20.0
    }

    /// The picture; `marks` draws what lies over it.
    pub(in crate::report) fn draw(&self, marks: impl FnOnce(&mut Svg, &[f64])) -> String {
        let mut svg = Svg::default();
        let tops = self.tops();
        let bottom = self.bottom(&tops);
        for (panel, top) in self.panels.iter().zip(&tops) {
            self.ground(&mut svg, panel, *top);
        }
        self.grid(&mut svg, &tops, bottom);
        for (panel, top) in self.panels.iter().zip(&tops) {
            self.curves(&mut svg, panel, *top);
        }
        for (from, to, title) in &self.lifetimes {
            let y = HEAD_PX
                + 1.0
                + 4.0 * self.lifetimes.iter().position(|one| one.2 == *title).unwrap_or(0) as f64;
            svg.rect_with(*from, (to - from).max(0.2), y, 2.0, Tone::Off.fill(), Some(title));
        }
        self.labels(&mut svg, &tops, bottom);
        let first = tops.first().copied().unwrap_or(HEAD_PX);
        svg.group(r#"class="hit" fill="none" pointer-events="all""#, |svg| {
            for (column, hits) in self.columns.iter().zip(&self.hits) {
                let (across, down) = ((column.x, column.width), (first, bottom - first));
                svg.nested(across, down, (column.buckets as f64, 1.0), |svg| {
                    for hit in hits {
                        let d = format!("M{} 0h{}v1h-{}", hit.from, hit.buckets, hit.buckets);
                        svg.path(&d, "", Some(&hit.title));
                    }
                });
            }
        });
        marks(&mut svg, &tops);
        svg.into_text()
    }

    fn ground(&self, svg: &mut Svg, panel: &Panel, top: f64) {
        svg.group(Tone::Plot.fill(), |svg| {
            for column in self.columns {
                svg.rect_with(column.x, column.width, top, panel.height, "", None);
            }
        });
        svg.group(Tone::Hatch.fill(), |svg| {
            for (column, bands) in self.columns.iter().zip(&panel.hatched) {
                for (from, buckets) in bands {
                    let one = column.width / column.buckets as f64;
                    let x = column.x + one * *from as f64;
                    svg.rect_with(x, one * *buckets as f64, top, panel.height, "", None);
                }
            }
        });
    }

    fn grid(&self, svg: &mut Svg, tops: &[f64], bottom: f64) {
        let Some(first) = tops.first() else { return };
        svg.group(Line::Grid.stroke(), |svg| {
            for tick in self.ticks {
                tick.line(svg, *first, bottom);
            }
            for (panel, top) in self.panels.iter().zip(tops) {
                for (y, _) in &panel.ticks {
                    let y = number(top + y, 1);
                    svg.raw(&format!(r#"<line x2="100%" y1="{y}" y2="{y}"/>"#));
                }
            }
        });
        svg.group(Tone::Page.fill(), |svg| {
            for two in self.columns.windows(2) {
                let x = two[0].x + two[0].width;
                let (x, width) = (percent(x), percent(two[1].x - x));
                let height = number(bottom - first, 1);
                svg.raw(&format!(
                    r#"<rect x="{x}" width="{width}" y="{}" height="{height}"/>"#,
                    number(*first, 1)
                ));
            }
            for (two, panel) in tops.windows(2).zip(&self.panels) {
                let end = two[0] + panel.height;
                let (y, height) = (number(end, 1), number(two[1] - end, 1));
                svg.raw(&format!(r#"<rect y="{y}" width="100%" height="{height}"/>"#));
            }
        });
    }

    fn curves(&self, svg: &mut Svg, panel: &Panel, top: f64) {
        for (at, column) in self.columns.iter().enumerate() {
            let units = (column.buckets as f64, panel.height);
            svg.nested((column.x, column.width), (top, panel.height), units, |svg| {
                for curve in &panel.curves {
                    svg.path(curve.paths.get(at).map_or("", String::as_str), &curve.attributes, None);
                }
            });
        }
        for rule in &panel.rules {
            let y = top + rule.y;
            let dashes = if rule.is_dashed { r#" stroke-dasharray="4 3""# } else { "" };
            let width = if rule.is_dashed { "1.3" } else { "1" };
            svg.line((0.0, y), (100.0, y), rule.line, &format!(r#"stroke-width="{width}"{dashes}"#));
        }
        if let Some(words) = &panel.words {
            svg.text(
                "50%",
                top + panel.height / 2.0 + 4.0,
                Anchor::Middle,
                "t",
                r##"fill="#57606a""##,
                words,
            );
        }
    }

    fn labels(&self, svg: &mut Svg, tops: &[f64], bottom: f64) {
        svg.group(r##"class="t" fill="#57606a""##, |svg| {
            let down = number(bottom + 14.0, 1);
            svg.group(&format!(r#"text-anchor="middle" transform="translate(0 {down})""#), |svg| {
                self.ticks.iter().for_each(|tick| tick.text(svg));
            });
            for column in self.columns {
                head(svg, column);
            }
            for (panel, top) in self.panels.iter().zip(tops) {
                if !panel.title.is_empty() {
                    let note = if panel.note.is_empty() {
                        String::new()
                    } else {
                        format!(
                            r##"<tspan class="m t" fill="#57606a" font-weight="400"> {}</tspan>"##,
                            maud::html! { (panel.note) }.into_string()
                        )
                    };
                    let title = maud::html! { (panel.title) }.into_string();
                    let y = number(top - 6.0, 1);
                    svg.raw(&format!(
                        r##"<text class="ti" fill="#16191d" y="{y}" font-weight="600">{title}{note}</text>"##
                    ));
                }
                for (y, label) in panel.ticks.iter().filter(|(_, label)| !label.is_empty()) {
                    svg.text("-6", top + y + 3.8, Anchor::End, "", "", label);
                }
                for (y, name, stands_out) in spread(&panel.names, panel.height) {
                    let (class, more) =
                        if stands_out { ("ti", r##"dx="5" fill="#16191d""##) } else { ("", r#"dx="5""#) };
                    svg.text("100%", top + y + 3.8, Anchor::Start, class, more, &name);
                }
            }
        });
    }
}

/// Names pushed apart, from the upper one down, and back up where they would leave the panel.
fn spread(names: &[(f64, String, bool)], height: f64) -> Vec<(f64, String, bool)> {
    let mut names = names.to_vec();
    names.sort_by(|one, other| one.0.total_cmp(&other.0));
    for at in 1..names.len() {
        names[at].0 = names[at].0.max(names[at - 1].0 + NAMES_APART_PX);
    }
    let mut limit = height;
    for name in names.iter_mut().rev() {
        name.0 = name.0.min(limit);
        limit = name.0 - NAMES_APART_PX;
    }
    names
}

/// What stands over a column, as much of it as there is room for.
fn head(svg: &mut Svg, column: &Column) {
    let pixels = |width: f64| column.width / 100.0 * width;
    let Head { word, number, rest } = &column.head;
    if word.is_empty() && rest.is_empty() && number.is_empty() {
        return;
    }
    let escaped = |text: &str| maud::html! { (text) }.into_string();
    let mut text = String::new();
    let word_px = 6.5 * (word.chars().count() + number.chars().count()) as f64 + 6.0;
    if pixels(1040.0) >= word_px {
        let class = match (pixels(480.0) >= word_px, pixels(300.0) >= word_px) {
            (true, true) => "",
            (true, false) => r#" class="m""#,
            _ => r#" class="w""#,
        };
        text.push_str(&format!("<tspan{class}>{}</tspan>", escaped(word)));
    }
    text.push_str(&escaped(number));
    let mut used = word_px;
    for part in rest {
        used += 6.2 * (part.chars().count() + 1) as f64;
        if pixels(1040.0) >= used {
            text.push_str(&format!(
                r##"<tspan class="t w" fill="#57606a" font-weight="400"> {}</tspan>"##,
                escaped(part)
            ));
        }
    }
    let class = if pixels(300.0) < 9.0 { "ti m" } else { "ti" };
    svg.raw(&format!(
        r##"<text class="{class}" fill="#16191d" x="{}" y="10" font-weight="600">{text}</text>"##,
        percent(column.x)
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_lines_do_not_lie_on_each_other() {
        let names = [
            (80.0, "p50".to_owned(), false),
            (78.0, "p90".to_owned(), false),
            (10.0, "p99".to_owned(), false),
        ];
        let places: Vec<(f64, String)> =
            spread(&names, 84.0).into_iter().map(|(y, name, _)| (y, name)).collect();
        assert_eq!(places, [(10.0, "p99".to_owned()), (73.0, "p90".to_owned()), (84.0, "p50".to_owned())]);
    }
}
