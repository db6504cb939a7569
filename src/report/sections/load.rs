//! Attainment by offered rate, TTFT by price, prompts by size.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::figures::load::Band;
use crate::report::figures::survey::{Measure, PRICE_BANDS};
use crate::report::parts::{
    Col, Figure, STARS, Table, bar, dense, details, key, key_area, key_line, section, source, starred,
};
use crate::report::plot::{Anchor, Line, Linear, Log, Scale, Svg, Tone, attainment_floor, number, percent};
use crate::report::words::{
    self, count, duration, goal, many, maybe_duration, maybe_share, plain, share, short_duration,
};
use crate::text::rounded;

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    section(
        "load",
        "Load",
        html! {
            div.grid {
                @if figures.targets().is_some() { div { (goodput(figures)) } }
                div { (price(figures)) }
            }
            (prompts(figures))
        },
    )
}

const HEIGHT: f64 = 170.0;
/// Where the histogram of buckets lies.
const BARS_TOP: f64 = 194.0;
const BARS_BOTTOM: f64 = 238.0;
/// A band of fewer buckets is hollow.
const FEW: i64 = 3;

fn goodput(figures: &Figures) -> Markup {
    let title = "Attainment against offered rate";
    let bands: Vec<&Band> = figures.load.bands.iter().filter(|band| band.attainment.is_some()).collect();
    if bands.is_empty() {
        return html! { h3 { (title) } p.note { "None: no bucket is wholly selected and has a scored request." } };
    }
    let ends: Vec<Option<(f64, f64)>> =
        bands.iter().map(|band| band.interval(&figures.survey.by_band)).collect();
    let picture = goodput_picture(figures, &bands, &ends);
    let width = figures.axis.width();
    let by = figures.axis.by();
    let sources = if figures.axis.is_wall {
        vec![format!("query attainment {by}")]
    } else {
        vec![format!(
            "query goodput --by all --bucket {} --band {}",
            figures.axis.bucket_s,
            rounded(figures.load.width)
        )]
    };
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let caption = html! {
        "All " @if figures.axis.is_wall { "routers" } @else { "runs" } " together, bands of " (rounded(figures.load.width))
        " requests/s over buckets of " (width) ", with 95\u{a0}% intervals. Hollow: fewer than three buckets. "
        @if !figures.axis.is_wall { "A bucket that a run ends in counts with the rate left to it. " }
        (source(&sources))
    };
    let figure = Figure { id: "good", title, key: html! {}, height: 272.0, picture, caption, above: false };
    let heads = [
        ("Requests/s", false),
        ("Buckets", false),
        ("Scored", false),
        ("Met", false),
        ("Attainment", false),
        ("95 % interval", false),
    ];
    let rows = bands.iter().zip(&ends).map(|(band, ends)| {
        vec![
            format!("{} to {}", rounded(band.from), rounded(band.to)),
            count(band.buckets),
            count(band.scored),
            count(band.met),
            maybe_share(band.attainment),
            ends.map_or_else(
                || words::NONE.to_owned(),
                |(low, high)| format!("{} to {}", share(low), share(high)),
            ),
        ]
    });
    html! { (figure.markup()) (details("Numbers behind this plot", dense(&heads, rows))) }
}

fn goodput_picture(figures: &Figures, bands: &[&Band], ends: &[Option<(f64, f64)>]) -> String {
    let lows = bands
        .iter()
        .zip(ends)
        .filter_map(|(band, ends)| Some(ends.as_ref().map_or(band.attainment?, |ends| ends.0)));
    let floor = attainment_floor(lows.chain(figures.asked.goal).fold(1.0, f64::min));
    let down = Linear::between(floor, 1.0);
    let y = |value: f64| down.down(value, HEIGHT);
    let top = bands.iter().map(|band| band.to).fold(0.0, f64::max);
    let rates = Linear::exactly_to(top);
    let x = |rate: f64| 100.0 * rate / top;
    let most = bands.iter().map(|band| band.buckets).max().unwrap_or(1).max(1) as f64;
    let bars_px = BARS_BOTTOM - BARS_TOP;
    let mut svg = Svg::default();
    svg.rect_with(0.0, 100.0, 0.0, HEIGHT, Tone::Plot.fill(), None);
    svg.group(Line::Grid.stroke(), |svg| {
        for tick in down.ticks() {
            let y = number(y(tick.value), 1);
            svg.raw(&format!(r#"<line x2="100%" y1="{y}" y2="{y}"/>"#));
        }
    });
    if let Some(of_goal) = figures.asked.goal {
        let y = y(of_goal);
        svg.line((0.0, y), (100.0, y), Line::Slo, r#"stroke-width="1.3" stroke-dasharray="4 3""#);
    }
    let joined: Vec<String> = bands
        .iter()
        .filter(|band| band.buckets >= FEW)
        .filter_map(|band| Some((x(0.5 * (band.from + band.to)), y(band.attainment?))))
        .enumerate()
        .map(|(at, (x, y))| {
            format!("{}{} {}", if at == 0 { "M" } else { "L" }, number(10.0 * x, 1), number(y, 1))
        })
        .collect();
    svg.nested((0.0, 100.0), (0.0, HEIGHT), (1000.0, HEIGHT), |svg| {
        let line = format!(
            r#"{} stroke-width="1" stroke-opacity=".6" fill="none" vector-effect="non-scaling-stroke""#,
            Line::Ok.stroke()
        );
        svg.path(&joined.concat(), &line, None);
    });
    for (band, ends) in bands.iter().zip(ends) {
        let Some(attainment) = band.attainment else { continue };
        let told = plain(&format!(
            "{} to {} requests/s: {} of {} scored met, in {} of {}",
            rounded(band.from),
            rounded(band.to),
            share(attainment),
            count(band.scored),
            many(usize::try_from(band.buckets).unwrap_or(0), "bucket", "buckets"),
            figures.axis.width()
        ));
        let (left, width) = (x(band.from) + 0.3, x(band.to - band.from) - 0.6);
        let height = bars_px * band.buckets as f64 / most;
        svg.rect_with(left, width.max(0.3), BARS_BOTTOM - height, height, Tone::Off2.fill(), Some(&told));
        let middle = x(0.5 * (band.from + band.to));
        if let Some((low, high)) = ends {
            svg.line((middle, y(*low)), (middle, y(*high)), Line::Ok, r#"stroke-width="1.6""#);
        }
        let colour = if band.buckets >= FEW {
            Tone::Ok.fill().to_owned()
        } else {
            r##"class="pa lo" fill="#f6f8fa" stroke="#1f66b0" stroke-width="1.4""##.to_owned()
        };
        svg.dot(middle, y(attainment), 4.0, &colour, Some(&told));
    }
    let ticks = rates.ticks();
    for tick in &ticks {
        let x = 100.0 * tick.at;
        svg.line((x, BARS_BOTTOM), (x, BARS_BOTTOM + 4.0), Line::Axis, r#"stroke-width="1""#);
    }
    svg.line((0.0, BARS_BOTTOM), (100.0, BARS_BOTTOM), Line::Axis, r#"stroke-width="1""#);
    let ink = r##"fill="#16191d""##;
    svg.group(r##"class="t" fill="#57606a""##, |svg| {
        for tick in down.ticks() {
            svg.text("-6", y(tick.value) + 3.8, Anchor::End, "", "", &goal(tick.value));
        }
        if let Some(of_goal) = figures.asked.goal {
            svg.text("100%", y(of_goal) + 3.8, Anchor::Start, "ti", r##"dx="5" fill="#16191d""##, "goal");
        }
        for tick in &ticks {
            svg.text(
                &percent(100.0 * tick.at),
                BARS_BOTTOM + 14.0,
                Anchor::Middle,
                "",
                "",
                &rounded(tick.value),
            );
        }
        svg.text("0", 189.0, Anchor::Start, "ti", ink, "Buckets with that rate");
        svg.text("-6", BARS_TOP + 4.0, Anchor::End, "", "", &count(most as i64));
        svg.text("-6", BARS_BOTTOM + 3.0, Anchor::End, "", "", "0");
        svg.text("50%", 267.0, Anchor::Middle, "ti", ink, "offered, requests/s");
    });
    svg.into_text()
}

/// A band of price.
struct PriceBand {
    from: f64,
    to: f64,
    n: usize,
    p10: f64,
    p50: f64,
    p90: f64,
}

/// A band of fewer requests is left out.
const FEWEST_PRICED: usize = 20;

fn price_bands(figures: &Figures) -> Vec<PriceBand> {
    let of = |(band, values): (&i32, &Vec<f32>)| {
        let mut values = values.clone();
        values.sort_by(f32::total_cmp);
        let rank = |percent: usize| f64::from(values[(values.len() * percent).div_ceil(100).max(1) - 1]);
        let edge = |band: i32| 10_f64.powf(f64::from(band) / PRICE_BANDS);
        PriceBand {
            from: edge(*band),
            to: edge(band + 1),
            n: values.len(),
            p10: rank(10),
            p50: rank(50),
            p90: rank(90),
        }
    };
    figures.survey.prices.iter().filter(|(_, values)| values.len() >= FEWEST_PRICED).map(of).collect()
}

const PRICE_PX: f64 = 230.0;

fn price(figures: &Figures) -> Markup {
    let title = "Admission price against observed TTFT";
    let priced: usize = figures.survey.prices.values().map(Vec::len).sum();
    if priced == 0 {
        return html! {
            h3 { (title) }
            p.note { "Not recorded: no completed request has a price. Journals have it from release 0.6 on, where admission is priced." }
        };
    }
    let bands = price_bands(figures);
    let scale =
        Log::of(bands.iter().flat_map(|band| [band.from * 1.001, band.to * 0.999, band.p10, band.p90]), 8);
    let Some(scale) = scale else {
        return html! { h3 { (title) } p.note { (many(priced, "request", "requests")) " with a price are too few: a band needs " (FEWEST_PRICED) "." } };
    };
    let picture = price_picture(figures, &bands, &scale);
    let left_out = priced - bands.iter().map(|band| band.n).sum::<usize>();
    let caption = html! {
        (count(priced as i64)) " completed requests with a price, in six bands a decade; bands under " (FEWEST_PRICED)
        " requests are left out" @if left_out > 0 { " (" (count(left_out as i64)) ")" } ". "
        (source(&["query admission-price --by all"])) " Bands and percentiles: of the requests themselves."
    };
    let mut entries = vec![
        key_line(Line::Ok, 2.0, "", "median TTFT"),
        key_area(Tone::Ok, 0.2, "p10 to p90"),
        key_line(Line::Ink, 1.2, "2 3", "as priced"),
    ];
    entries.extend(figures.targets().map(|_| key_line(Line::Slo, 1.3, "4 3", "SLO")));
    let figure = Figure {
        id: "price",
        title,
        key: key("", &entries),
        height: PRICE_PX + 36.0,
        picture,
        caption,
        above: true,
    };
    let heads = [("Price", true), ("n", false), ("TTFT p10", false), ("p50", false), ("p90", false)];
    let rows = bands.iter().map(|band| {
        vec![
            format!("{} to {}", duration(band.from), duration(band.to)),
            count(band.n as i64),
            duration(band.p10),
            duration(band.p50),
            duration(band.p90),
        ]
    });
    html! { (figure.markup()) (details("Numbers behind this plot", dense(&heads, rows))) }
}

fn price_picture(figures: &Figures, bands: &[PriceBand], scale: &Log) -> String {
    let x = |value: f64| 100.0 * scale.at(value);
    let y = |value: f64| scale.down(value, PRICE_PX);
    let middle = |band: &PriceBand| x((band.from * band.to).sqrt());
    let ticks = scale.ticks();
    let mut svg = Svg::default();
    svg.rect_with(0.0, 100.0, 0.0, PRICE_PX, Tone::Plot.fill(), None);
    svg.group(Line::Grid.stroke(), |svg| {
        for tick in &ticks {
            let (x, y) = (percent(100.0 * tick.at), number(y(tick.value), 1));
            svg.raw(&format!(
                r#"<line x1="{x}" x2="{x}" y2="{PRICE_PX}"/><line x2="100%" y1="{y}" y2="{y}"/>"#
            ));
        }
    });
    let along = |read: fn(&PriceBand) -> f64| -> Vec<String> {
        bands
            .iter()
            .map(|band| format!("{} {}", number(10.0 * middle(band), 1), number(y(read(band)), 1)))
            .collect()
    };
    let (p10, p50, p90) = (along(|band| band.p10), along(|band| band.p50), along(|band| band.p90));
    svg.nested((0.0, 100.0), (0.0, PRICE_PX), (1000.0, PRICE_PX), |svg| {
        svg.raw(&format!(
            r#"<line x1="0" y1="{PRICE_PX}" x2="1000" y2="0" {} stroke-width="1.2" stroke-dasharray="2 3" vector-effect="non-scaling-stroke"/>"#,
            Line::Ink.stroke()
        ));
        let back: Vec<String> = p10.iter().rev().cloned().collect();
        let ground = format!(r#"{} fill-opacity=".2""#, Tone::Ok.fill());
        svg.path(&format!("M{}L{}z", p90.join("L"), back.join("L")), &ground, None);
        let line = format!(r#"{} stroke-width="2" fill="none" vector-effect="non-scaling-stroke""#, Line::Ok.stroke());
        svg.path(&format!("M{}", p50.join("L")), &line, None);
    });
    for band in bands {
        let told = plain(&format!(
            "priced {} to {}: TTFT p10 {}, p50 {}, p90 {}, n {}",
            duration(band.from),
            duration(band.to),
            duration(band.p10),
            duration(band.p50),
            duration(band.p90),
            count(band.n as i64)
        ));
        svg.dot(middle(band), y(band.p50), 3.0, Tone::Ok.fill(), Some(&told));
    }
    let (low, high) = scale.ends();
    let target_s = figures.targets().map(|slo| slo.ttft_s).filter(|target_s| (low..=high).contains(target_s));
    if let Some(target_s) = target_s {
        let y = y(target_s);
        svg.line((0.0, y), (100.0, y), Line::Slo, r#"stroke-width="1.3" stroke-dasharray="4 3""#);
    }
    let ink = r##"fill="#16191d""##;
    svg.group(r##"class="t" fill="#57606a""##, |svg| {
        for (number, tick) in ticks.iter().enumerate() {
            svg.text("-6", y(tick.value) + 3.8, Anchor::End, "", "", &short_duration(tick.value));
            let class = if number % 2 == 1 { "m" } else { "" };
            svg.text(
                &percent(100.0 * tick.at),
                PRICE_PX + 15.0,
                Anchor::Middle,
                class,
                "",
                &short_duration(tick.value),
            );
        }
        if let Some(target_s) = target_s {
            svg.text("100%", y(target_s) + 3.8, Anchor::Start, "ti", r##"dx="5" fill="#16191d""##, "SLO");
        }
        svg.text(
            "98%",
            PRICE_PX - 8.0,
            Anchor::End,
            "ti halo m",
            ink,
            "below the dotted line: faster than priced",
        );
        svg.text("50%", PRICE_PX + 30.0, Anchor::Middle, "ti", ink, "price at admission, log axis");
        svg.text("-46", -8.0, Anchor::Start, "ti", ink, "TTFT, log axis");
    });
    svg.into_text()
}

/// Bands of prompts at either end with less than this part of all requests stand in details.
const SMALL: f64 = 0.01;

fn prompts(figures: &Figures) -> Markup {
    let rows: Vec<_> = figures.all.rows("prompt-sizes").collect();
    let all: i64 = rows.iter().map(|row| row.int("offered")).sum();
    if rows.is_empty() {
        return html! { h3 id="h-prompt" { "By prompt size" } p.note { "None: no request has the length of its prompt. " (source(&["query prompt-sizes --by all"])) } };
    }
    let is_small = |at: usize| (rows[at].int("offered") as f64) < SMALL * all as f64;
    let first = (0..rows.len()).find(|at| !is_small(*at)).unwrap_or(0);
    let last = (0..rows.len()).rev().find(|at| !is_small(*at)).unwrap_or(rows.len() - 1);
    let largest = rows.iter().map(|row| row.int("offered")).max().unwrap_or(1) as f64;
    let mut is_any_open = false;
    let mut row_of = |at: usize| -> Vec<Markup> {
        let row = &rows[at];
        let from = row.int("input_from");
        let mut cell = |column: &str, percent: u32| {
            let is_open = figures.survey.is_open(Measure::Prompt(from), percent);
            is_any_open |= is_open && row.real(column).is_some();
            starred(maybe_duration(row.real(column)), is_open && row.real(column).is_some())
        };
        let (p50, p99) = (cell("ttft_p50", 50), cell("ttft_p99", 99));
        let attainment = row.real("attainment");
        vec![
            html! { (count(from)) " to " (count(row.int("input_to") - 1)) },
            html! { (count(row.int("offered"))) },
            bar(row.int("offered") as f64 / largest, Tone::Off2, None),
            html! { (maybe_share(attainment)) },
            attainment.map_or_else(|| html! {}, |attainment| bar(attainment, Tone::Ok, figures.asked.goal)),
            p50,
            p99,
        ]
    };
    let mark = if figures.asked.goal.is_some() { "dashed: goal" } else { "" };
    let columns = [
        Col("Prompt tokens", ""),
        Col("Requests", "n"),
        Col("", "bar s"),
        Col("Attainment", "n"),
        Col(mark, "bar"),
        Col("TTFT p50", "n s"),
        Col("p99", "n s"),
    ];
    let (mut table, mut rest) = (Table::new(&columns), Table::new(&columns));
    for at in 0..rows.len() {
        let row = row_of(at);
        if (first..=last).contains(&at) { table.row(row) } else { rest.row(row) }
    }
    let small = rest.rows.len();
    html! {
        h3 id="h-prompt" { "By prompt size" }
        (table.markup())
        p.note {
            "Bands double. Requests whose body ended before it was sized are left out. "
            @if is_any_open { (STARS) " " }
            (source(&["query prompt-sizes --by all"]))
        }
        @if small > 0 { (details(&format!("{}, each under 1 % of the requests", many(small, "shorter or longer band", "shorter and longer bands")), rest.markup())) }
    }
}
