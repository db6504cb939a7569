//! Parts of the page: sections, figures, keys, tables, bars. Everything that comes from outside is escaped by `maud`.

use maud::{Markup, PreEscaped, html};

use super::plot::{Line, Tone, number, percent, swatch};

/// Markup that the drawing made.
pub(super) fn raw(markup: String) -> Markup {
    PreEscaped(markup)
}

/// A section of the page.
pub(super) fn section(id: &str, title: &str, body: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby=(format!("h-{id}")) {
            h2 id=(format!("h-{id}")) { (title) }
            (body)
        }
    }
}

/// Where numbers are from: queries, and what they were asked with.
pub(super) fn source(queries: &[&str]) -> Markup {
    html! {
        "Source: "
        @for (at, query) in queries.iter().enumerate() {
            @if at > 0 { ", " }
            code { (query) }
        }
        "."
    }
}

/// A figure with its heading.
pub(super) struct Drawing<'f> {
    /// The identifiers of heading and caption are made of it.
    pub id: &'f str,
    pub title: &'f str,
    /// What the marks mean.
    pub key: Markup,
    pub height: f64,
    pub picture: String,
    pub caption: Markup,
    /// Room above the data area for the name of its axis.
    pub above: bool,
}

impl Drawing<'_> {
    pub(super) fn markup(self) -> Markup {
        let (heading, caption) = (format!("h-{}", self.id), format!("c-{}", self.id));
        // On paper a figure that is longer than a sheet is made smaller.
        let plot = if self.height > LONG_PX { "plot tall" } else { "plot" };
        html! {
            h3 id=(heading) { (self.title) }
            figure {
                (self.key)
                div class=(plot) {
                    @if self.above { svg width="100%" height="14" aria-hidden="true" {} }
                    svg.p width="100%" height=(number(self.height, 1)) overflow="visible" role="img"
                        aria-labelledby=(heading) aria-describedby=(caption)
                        font-family="system-ui,sans-serif" font-size="11" { (raw(self.picture)) }
                }
                figcaption id=(caption) { (self.caption) }
            }
        }
    }
}

/// About what fits on a sheet beside heading and caption.
const LONG_PX: f64 = 850.0;

/// A line of a key, under a name or none.
pub(super) fn key(name: &str, entries: &[Markup]) -> Markup {
    html! {
        p.key {
            @if !name.is_empty() { b { (name) } " " }
            @for entry in entries { span { (entry) } " " }
        }
    }
}

/// An entry of a key: a square of a tone.
pub(super) fn key_tone(tone: Tone, name: &str) -> Markup {
    html! { (raw(swatch(tone))) " " (name) }
}

/// An entry of a key: a wide field of a tone.
pub(super) fn key_area(tone: Tone, opacity: f64, name: &str) -> Markup {
    let opacity =
        if opacity < 1.0 { format!(r#" fill-opacity="{}""#, number(opacity, 2)) } else { String::new() };
    let field = format!(r#"<rect width="18" height="11" {}{opacity}/>"#, tone.fill());
    html! { svg width="18" height="11" aria-hidden="true" { (raw(field)) } " " (name) }
}

/// An entry of a key: a line.
pub(super) fn key_line(line: Line, width: f64, dashes: &str, name: &str) -> Markup {
    let dashes = if dashes.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dashes}""#) };
    let stroke = format!(
        r#"<line x2="18" y1="5" y2="5" {} stroke-width="{}"{dashes}/>"#,
        line.stroke(),
        number(width, 1)
    );
    html! { svg width="18" height="9" aria-hidden="true" { (raw(stroke)) } " " (name) }
}

/// A column of a table: its head, and the classes of its cells: `n` a number, `s` and `sp` gone where it is narrow, `bar`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Col(pub &'static str, pub &'static str);

/// A table whose rows begin with their heads. A row in bold has the class `total`.
pub(super) struct Table {
    pub columns: Vec<Col>,
    pub rows: Vec<(&'static str, Vec<Markup>)>,
}

impl Table {
    pub(super) fn new(columns: &[Col]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: Vec<Markup>) {
        self.rows.push(("", cells));
    }

    pub(super) fn total(&mut self, cells: Vec<Markup>) {
        self.rows.push(("total", cells));
    }

    pub(super) fn markup(&self) -> Markup {
        let bar = |classes: &str| classes.contains("bar").then_some("bar");
        html! {
            div.scroll tabindex="0" {
                table class=(format!("full{}", self.kinds())) cellpadding="3" {
                    thead { tr {
                        @for Col(head, _) in &self.columns {
                            @if head.is_empty() { td {} } @else { th scope="col" { (head) } }
                        }
                    } }
                    tbody {
                        @for (row, cells) in &self.rows {
                            tr class=[(!row.is_empty()).then_some(row)] {
                                @for (at, (cell, Col(_, classes))) in cells.iter().zip(&self.columns).enumerate() {
                                    @if at == 0 { th scope="row" { (cell) } }
                                    @else { td class=[bar(classes)] { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// What columns are, by their number, once on the table: `n2` is a column of numbers.
    fn kinds(&self) -> String {
        let of = |(Col(_, classes), number): (&Col, usize)| -> String {
            let kinds = classes.split_whitespace().filter(|kind| *kind != "bar");
            kinds.map(|kind| format!(" {kind}{number}")).collect()
        };
        self.columns.iter().zip(1..).map(of).collect()
    }
}

/// A dense table of numbers, with the end tags left out that HTML lets one leave out. Columns that hold words are marked:
/// by their number, once, on the table.
pub(super) fn dense(heads: &[(&str, bool)], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    let words: String = heads
        .iter()
        .zip(1..)
        .filter(|((_, is_words), _)| *is_words)
        .map(|(_, number)| format!(" l{number}"))
        .collect();
    let mut text =
        format!(r#"<div class="scroll" tabindex="0"><table cellpadding="3" class="num{words}"><thead><tr>"#);
    for (head, _) in heads {
        text.push_str(&format!("<th scope=col>{}", html! { (head) }.into_string()));
    }
    text.push_str("<tbody>");
    for row in rows {
        text.push_str("<tr>");
        for (at, cell) in row.iter().take(heads.len()).enumerate() {
            let element = if at == 0 { "th scope=row" } else { "td" };
            text.push_str(&format!("<{element}>{}", html! { (cell) }.into_string()));
        }
    }
    text.push_str("</table></div>");
    raw(text)
}

/// What is behind a plot, closed at first.
pub(super) fn details(summary: &str, body: Markup) -> Markup {
    html! { details { summary { (summary) } (body) } }
}

/// A bar in a cell: its length from 0 to 1, its tone, and a dashed mark.
pub(super) fn bar(length: f64, tone: Tone, mark: Option<f64>) -> Markup {
    let length = percent(100.0 * length.clamp(0.0, 1.0));
    let mut marks = format!(r#"<rect width="{length}" height="12" {}/>"#, tone.fill());
    if let Some(mark) = mark.filter(|mark| (0.0..=1.0).contains(mark)) {
        marks.push_str(&dashed(mark, 12.0));
    }
    html! { svg width="100%" height="12" aria-hidden="true" { (raw(marks)) } }
}

/// A dashed line down a bar, on a ground that parts it from the bar.
pub(super) fn dashed(at: f64, height: f64) -> String {
    let (x, y) = (percent(100.0 * at), number(height, 0));
    format!(
        r#"<line x1="{x}" x2="{x}" y2="{y}" {} stroke-width="4"/><line x1="{x}" x2="{x}" y2="{y}" {} stroke-width="1.5" stroke-dasharray="2 2"/>"#,
        Line::Page.stroke(),
        Line::Slo.stroke()
    )
}

/// An identifier, whole in the title where it was cut.
pub(super) fn id(text: &str, longest: usize) -> Markup {
    let shown = super::words::outside(text, longest);
    let whole = super::words::outside(text, super::words::TITLE);
    let title = (shown != whole).then_some(whole);
    html! { code.id title=[title] { (shown) } }
}

/// An engine's name.
pub(super) fn engine(text: &str) -> Markup {
    let shown = super::words::outside(text, super::words::ENGINE);
    let whole = super::words::outside(text, super::words::TITLE);
    let title = (shown != whole).then_some(whole);
    html! { span.nw title=[title] { (shown) } }
}

/// A number with the star that says its values are too few for an upper end.
pub(super) fn starred(text: String, is_open: bool) -> Markup {
    html! { (text) @if is_open { "*" } }
}

/// What stars say.
pub(super) const STARS: &str =
    "* too few independent values for an upper end: the true percentile may be much higher.";
