//! How long requests took: distributions, TTFT against TPOT, percentiles.

use maud::{Markup, html};

use crate::report::figures::survey::{CELLS_ACROSS, CELLS_DOWN, Measure, OfEngine};
use crate::report::figures::{Figures, fleet::natural};
use crate::report::parts::{
    Col, Figure, STARS, Table, dense, details, key, key_area, key_line, section, source, starred,
};
use crate::report::plot::{Anchor, Line, Log, Scale, Svg, Tone, number, percent};
use crate::report::words::{self, count, duration, maybe_duration, plain, share, short_duration};

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    section(
        "latency",
        "Latency",
        html! {
            div.grid {
                div { (distribution(figures, 0)) }
                div { (distribution(figures, 1)) }
            }
            div.grid {
                div { (heat(figures)) }
                div { (percentiles(figures)) (handoff(figures)) }
            }
        },
    )
}

const NAMES: [&str; 2] = ["TTFT", "TPOT"];
const METRICS: [&str; 2] = ["ttft_s", "tpot_s"];
const HEIGHT: f64 = 190.0;
const TOP: f64 = 18.0;
/// Engines with fewer values have no line, and so many have one.
const FEWEST: usize = 100;
const MOST_LINES: usize = 24;

/// The cumulative distribution of a metric, with a line for each engine.
fn distribution(figures: &Figures, at: usize) -> Markup {
    let values = if at == 0 { &figures.survey.ttft } else { &figures.survey.tpot };
    let title = format!("{} of completed requests", NAMES[at]);
    let id = ["cdf1", "cdf2"][at];
    let mut sorted: Vec<f32> = values.iter().map(|(_, value)| *value).collect();
    sorted.sort_by(f32::total_cmp);
    let low = sorted.get(sorted.len() / 1000).copied().map(f64::from);
    let high = sorted.last().copied().map(f64::from);
    let target_s = figures.targets().map(|slo| if at == 0 { slo.ttft_s } else { slo.tpot_s });
    let scale = low.zip(high).and_then(|(low, high)| Log::of([low, high].into_iter().chain(target_s), 8));
    let Some(scale) = scale else {
        return html! { h3 { (title) } p.note { "None: no completed request has a " (NAMES[at]) "." } };
    };
    let points = points(&scale);
    let all = counts(&sorted, &points);
    let lines = engine_lines(figures, at, values, &points);
    let picture = picture(figures, at, &scale, (&all, sorted.len()), &lines, target_s);
    let role = ["prefill", "decode"][at];
    let mut entries = vec![key_line(Line::Ok, 2.4, "", "all")];
    if lines.iter().any(|line| !line.is_worst) {
        entries.push(key_line(Line::Off, 1.0, "", &format!("each {role} engine")));
    }
    if let Some(worst) = lines.iter().find(|line| line.is_worst) {
        let name = format!("{}, the largest p99", words::outside(&worst.name, words::ENGINE));
        entries.push(key_line(Line::Away, 1.8, "5 2", &name));
    }
    let left_out = engines_with_values(figures, at).saturating_sub(lines.len());
    let figure = Figure {
        id,
        title: &title,
        key: key("", &entries),
        height: TOP + HEIGHT + 20.0,
        picture,
        caption: html! {
            "Share of " (count(sorted.len() as i64)) " requests at or below; log axis. Engines with " (FEWEST)
            " requests or more have a line"
            @if left_out > 0 { ", " (MOST_LINES) " at most; " (left_out) " have none" }
            ". " (source(&["query latency --by all", "query engine-latency --by all"]))
        },
        above: false,
    };
    html! { (figure.markup()) (details("Percentiles behind this plot", behind(figures, at))) }
}

/// 101 points even in the logarithm.
fn points(scale: &Log) -> Vec<f64> {
    (0..=100).map(|step| scale.value(f64::from(step) / 100.0)).collect()
}

/// How many of sorted values lie at or below each point.
fn counts(sorted: &[f32], points: &[f64]) -> Vec<usize> {
    points
        .iter()
        .map(|point| sorted.partition_point(|value| f64::from(*value) <= point * (1.0 + 1e-7)))
        .collect()
}

/// The line of an engine.
struct EngineLine {
    name: String,
    n: usize,
    p50: Option<f64>,
    p99: Option<f64>,
    counts: Vec<usize>,
    is_worst: bool,
}

fn engines_with_values(figures: &Figures, at: usize) -> usize {
    figures.engines.roles[at].iter().filter(|engine| engine.n > 0).count()
}

fn engine_lines(figures: &Figures, at: usize, values: &[OfEngine], points: &[f64]) -> Vec<EngineLine> {
    let mut of_engine = vec![Vec::new(); figures.survey.engines.len()];
    for (engine, value) in values {
        if let Some(values) = of_engine.get_mut(*engine as usize) {
            values.push(*value);
        }
    }
    let mut order: Vec<usize> =
        (0..of_engine.len()).filter(|engine| of_engine[*engine].len() >= FEWEST).collect();
    order.sort_by_key(|engine| std::cmp::Reverse(of_engine[*engine].len()));
    order.truncate(MOST_LINES);
    let mut lines: Vec<EngineLine> = order
        .into_iter()
        .filter_map(|engine| {
            let name = figures.names.get(engine)?.clone();
            let known = figures.engines.roles[at].iter().find(|known| known.name == name)?;
            let mut sorted = std::mem::take(&mut of_engine[engine]);
            sorted.sort_by(f32::total_cmp);
            let counts = counts(&sorted, points);
            Some(EngineLine {
                name,
                n: sorted.len(),
                p50: known.p50,
                p99: known.p99,
                counts,
                is_worst: false,
            })
        })
        .collect();
    if lines.len() > 1 {
        let worst = lines.iter_mut().max_by(|one, other| {
            one.p99
                .unwrap_or(0.0)
                .total_cmp(&other.p99.unwrap_or(0.0))
                .then_with(|| natural(&other.name, &one.name))
        });
        if let Some(worst) = worst {
            worst.is_worst = true;
        }
    }
    // The worst one lies over the others.
    lines.sort_by_key(|line| line.is_worst);
    lines
}

/// A path through the shares at each point, thinned where it hardly bends.
fn path(counts: &[usize], n: usize) -> String {
    let y = |at: usize| HEIGHT * (1.0 - counts[at] as f64 / n.max(1) as f64);
    let mut d = format!("M0 {}", number(y(0), 1));
    let mut drawn = y(0);
    for at in 1..counts.len() {
        let is_last = at + 1 == counts.len();
        if (y(at) - drawn).abs() >= 0.4 || is_last {
            d.push_str(&format!("L{} {}", at * 10, number(y(at), 1)));
            drawn = y(at);
        }
    }
    d
}

fn picture(
    figures: &Figures,
    at: usize,
    scale: &Log,
    (all, n): (&[usize], usize),
    lines: &[EngineLine],
    target_s: Option<f64>,
) -> String {
    let mut svg = Svg::default();
    svg.rect_with(0.0, 100.0, TOP, HEIGHT, Tone::Plot.fill(), None);
    let ticks = scale.ticks();
    let bottom = TOP + HEIGHT;
    let quarters = [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| (part, bottom - HEIGHT * part));
    svg.group(Line::Grid.stroke(), |svg| {
        for (_, y) in quarters {
            svg.raw(&format!(r#"<line x2="100%" y1="{y}" y2="{y}"/>"#));
        }
        for tick in &ticks {
            let x = percent(100.0 * tick.at);
            svg.raw(&format!(r#"<line x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}"/>"#));
        }
    });
    svg.nested((0.0, 100.0), (TOP, HEIGHT), (1000.0, HEIGHT), |svg| {
        let line = |line: Line, more: &str| {
            format!(r#"{} {more} fill="none" vector-effect="non-scaling-stroke""#, line.stroke())
        };
        for engine in lines {
            let attributes = if engine.is_worst {
                line(Line::Away, r#"stroke-width="1.8" stroke-dasharray="5 2""#)
            } else {
                line(Line::Off, r#"stroke-width="1" stroke-opacity=".55""#)
            };
            let title = format!(
                "{}: n {}, p50 {}, p99 {}",
                words::outside(&engine.name, words::ID),
                count(engine.n as i64),
                maybe_duration(engine.p50),
                maybe_duration(engine.p99)
            );
            svg.path(&path(&engine.counts, engine.n), &attributes, Some(&plain(&title)));
        }
        svg.path(&path(all, n), &line(Line::Ok, r#"stroke-width="2.4""#), Some("all engines"));
    });
    if let Some(target_s) = target_s {
        let x = 100.0 * scale.at(target_s);
        svg.line((x, TOP), (x, bottom), Line::Slo, r#"stroke-width="1.4" stroke-dasharray="4 3""#);
    }
    let row = figures.all.find("latency", "metric", METRICS[at]);
    let marks = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)]
        .into_iter()
        .filter_map(|(name, part)| Some((name, part, row.and_then(|row| row.real(name))?)))
        .collect::<Vec<_>>();
    for (_, part, value) in &marks {
        let dot = r##"class="f-ok lbg" fill="#1f66b0" stroke="#fff""##;
        svg.dot(100.0 * scale.at(*value), bottom - HEIGHT * part, 3.5, dot, None);
    }
    svg.group(r##"class="t" fill="#57606a""##, |svg| {
        for (part, y) in quarters {
            svg.text("-6", y + 3.8, Anchor::End, "", "", &words::goal(part));
        }
        for (number, tick) in ticks.iter().enumerate() {
            let class = if number % 2 == 1 { "m" } else { "" };
            svg.text(
                &percent(100.0 * tick.at),
                bottom + 14.0,
                Anchor::Middle,
                class,
                "",
                &short_duration(tick.value),
            );
        }
        if let Some(target_s) = target_s {
            let x = 100.0 * scale.at(target_s);
            let anchor = if x > 50.0 { Anchor::End } else { Anchor::Start };
            let within = figures.survey.within[at] as f64 / n.max(1) as f64;
            let text = format!("SLO {}: {} within", short_duration(target_s), share(within));
            svg.text(&percent(x), 12.0, anchor, "ti", r##"fill="#16191d" font-weight="600""##, &text);
        }
        let mut last_y = f64::NEG_INFINITY;
        for (name, part, value) in marks.iter().rev() {
            let x = 100.0 * scale.at(*value);
            let y = (bottom - HEIGHT * part + 14.0).max(last_y + 12.0);
            last_y = y;
            let (anchor, dx) = if x > 75.0 { (Anchor::End, "-8") } else { (Anchor::Start, "7") };
            let more = format!(r##"dx="{dx}" fill="#16191d""##);
            svg.text(&percent(x), y, anchor, "ti halo", &more, &format!("{name} {}", duration(*value)));
        }
    });
    svg.into_text()
}

/// The numbers of a distribution.
fn behind(figures: &Figures, at: usize) -> Markup {
    let heads = [("Of", true), ("n", false), ("p50", false), ("p90", false), ("p99", false), ("max", false)];
    let mut rows = Vec::new();
    if let Some(row) = figures.all.find("latency", "metric", METRICS[at]) {
        let value = |column: &str| maybe_duration(row.real(column));
        rows.push(vec![
            "all".to_owned(),
            count(row.int("n")),
            value("p50"),
            value("p90"),
            value("p99"),
            value("max"),
        ]);
    }
    let engines = figures.all.rows("engine-latency").filter(|row| row.text("metric") == METRICS[at]);
    for row in engines.take(crate::report::figures::fleet::ENGINE_ROWS) {
        let value = |column: &str| maybe_duration(row.real(column));
        let name = words::outside(&row.text("engine"), words::ENGINE);
        rows.push(vec![name, count(row.int("n")), value("p50"), value("p90"), value("p99"), value("max")]);
    }
    dense(&heads, rows.into_iter())
}

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

fn heat(figures: &Figures) -> Markup {
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
    let figure = Figure {
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

/// What the metrics are called.
const METRIC_NAMES: [(&str, &str); 6] = [
    ("ttft_s", "TTFT"),
    ("tpot_s", "TPOT"),
    ("first_byte_s", "First byte"),
    ("decode_tpot_s", "TPOT from first byte"),
    ("queue_wait_s", "Waits in all"),
    ("duration_s", "Duration"),
];

fn metric_name(metric: &str) -> &str {
    METRIC_NAMES.iter().find(|(known, _)| *known == metric).map_or(metric, |(_, name)| name)
}

fn percentiles(figures: &Figures) -> Markup {
    let mut table = Table::new(&[
        Col("Metric", ""),
        Col("n", "n s"),
        Col("p50", "n"),
        Col("p90", "n"),
        Col("p95", "n s"),
        Col("p99", "n"),
        Col("max", "n"),
    ]);
    let mut is_any_open = false;
    for (at, row) in figures.all.rows("latency").enumerate() {
        let mut cell = |percent: u32| {
            let is_open = figures.survey.is_open(Measure::Metric(at), percent);
            is_any_open |= is_open;
            starred(maybe_duration(row.real(&format!("p{percent}"))), is_open)
        };
        let cells = [50, 90, 95, 99].map(&mut cell);
        let [p50, p90, p95, p99] = cells;
        let n = html! { (count(row.int("n"))) };
        let max = html! { (maybe_duration(row.real("max"))) };
        table.row(vec![html! { (metric_name(&row.text("metric"))) }, n, p50, p90, p95, p99, max]);
    }
    html! {
        h3 id="h-ltab" { "Percentiles by metric" }
        (table.markup())
        p.note {
            "Completed requests" @if figures.runs.len() > 1 { " of all runs" } ". "
            @if is_any_open { (STARS) " " }
            (source(&["query latency --by all"]))
        }
        @if figures.runs.len() > 1 { (details("By run", by_run(figures, "latency", "metric", &["p50", "p90", "p95", "p99", "max"]))) }
    }
}

/// So many runs stand in a table of percentiles.
const MOST_RUNS: usize = 12;

/// A table of percentiles by run: of the latest runs.
pub(super) fn by_run(figures: &Figures, query: &str, of: &str, columns: &[&str]) -> Markup {
    let first = figures.runs.len().saturating_sub(MOST_RUNS);
    let title = if of == "metric" { "Metric" } else { "Stage" };
    let mut heads = vec![(title, true), ("Run", false), ("n", false)];
    heads.extend(columns.iter().map(|column| (*column, false)));
    let mut kinds: Vec<String> = Vec::new();
    for row in figures.each.rows(query) {
        let kind = row.text(of);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut rows = Vec::new();
    for kind in &kinds {
        for (at, run) in figures.runs.iter().enumerate().skip(first) {
            let row =
                figures.each.rows(query).find(|row| row.text("scope") == run.run && row.text(of) == *kind);
            let Some(row) = row else { continue };
            let mut cells = vec![metric_name(kind).to_owned(), (at + 1).to_string(), count(row.int("n"))];
            cells.extend(columns.iter().map(|column| maybe_duration(row.real(column))));
            rows.push(cells);
        }
    }
    let name = format!("query {query}");
    html! {
        (dense(&heads, rows.into_iter()))
        p.note {
            @if first > 0 { "The latest " (MOST_RUNS) " of " (figures.runs.len()) " runs. " }
            (source(&[&name]))
        }
    }
}

fn handoff(figures: &Figures) -> Markup {
    let mut table = Table::new(&[
        Col("Decode on", ""),
        Col("n", "n s"),
        Col("p50", "n"),
        Col("p90", "n"),
        Col("p99", "n"),
        Col("max", "n s"),
    ]);
    for row in figures.all.rows("handoff") {
        let crossed = row.text("kind") == "crossed";
        let cell = |percent: u32| {
            let is_open = figures.survey.is_open(Measure::Handoff { crossed }, percent);
            starred(maybe_duration(row.real(&format!("p{percent}"))), is_open)
        };
        let name =
            if crossed { "another engine: transfer, decode queue" } else { "same engine: decode queue" };
        table.row(vec![
            html! { (name) },
            html! { (count(row.int("n"))) },
            cell(50),
            cell(90),
            cell(99),
            html! { (maybe_duration(row.real("max"))) },
        ]);
    }
    html! {
        h3 { "From prefill done to the first byte" }
        @if table.rows.is_empty() { p.note { "None: no request has both times. " (source(&["query handoff --by all"])) } }
        @else {
            (table.markup())
            p.note { (source(&["query handoff --by all"])) }
        }
    }
}
