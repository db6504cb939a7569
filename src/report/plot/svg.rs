//! SVG as text: percent across, pixels down.

use std::fmt::Write;

use super::mark::{Line, Tone};

/// Where a text hangs on its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Anchor {
    Start,
    Middle,
    End,
}

/// A number with so many decimals at most, without trailing zeros.
pub(in crate::report) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A place across, in percent of the width.
pub(in crate::report) fn percent(value: f64) -> String {
    format!("{}%", number(value, 2))
}

/// Markup of a picture that grows.
#[derive(Debug, Default)]
pub(in crate::report) struct Svg {
    text: String,
}

impl Svg {
    /// Markup that is well formed by itself.
    pub(in crate::report) fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// A box; `more` are further attributes.
    pub(in crate::report) fn rect(&mut self, x: f64, width: f64, y: f64, height: f64, tone: Tone) {
        self.rect_with(x, width, y, height, tone.fill(), None);
    }

    /// A box with its attributes of colour and a tooltip.
    pub(in crate::report) fn rect_with(
        &mut self,
        x: f64,
        width: f64,
        y: f64,
        height: f64,
        colour: &str,
        title: Option<&str>,
    ) {
        let (x, width) = (percent(x), percent(width));
        let (y, height) = (number(y, 1), number(height, 1));
        self.text.push_str("<rect");
        for (name, value) in [("x", x), ("width", width), ("y", y), ("height", height)] {
            // 0 is what it is without.
            if value != "0" && value != "0%" {
                let _ = write!(self.text, r#" {name}="{value}""#);
            }
        }
        if !colour.is_empty() {
            let _ = write!(self.text, " {colour}");
        }
        self.close_with(title, "rect");
    }

    /// A line down or across; `more` are further attributes.
    pub(in crate::report) fn line(
        &mut self,
        (x1, y1): (f64, f64),
        (x2, y2): (f64, f64),
        line: Line,
        more: &str,
    ) {
        let stroke = line.stroke();
        let (x1, x2, y1, y2) = (percent(x1), percent(x2), number(y1, 1), number(y2, 1));
        let _ = write!(self.text, r#"<line x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}" {stroke}"#);
        if !more.is_empty() {
            let _ = write!(self.text, " {more}");
        }
        self.text.push_str("/>");
    }

    /// A dot, with a tooltip.
    pub(in crate::report) fn dot(&mut self, x: f64, y: f64, radius: f64, colour: &str, title: Option<&str>) {
        let (x, y, r) = (percent(x), number(y, 1), number(radius, 1));
        let _ = write!(self.text, r#"<circle cx="{x}" cy="{y}" r="{r}" {colour}"#);
        self.close_with(title, "circle");
    }

    /// A text at a place; `class` names it for the style sheet, `more` are further attributes.
    pub(in crate::report) fn text(
        &mut self,
        x: &str,
        y: f64,
        anchor: Anchor,
        class: &str,
        more: &str,
        text: &str,
    ) {
        let y = if y == 0.0 { String::new() } else { format!(r#" y="{}""#, number(y, 1)) };
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let class = if class.is_empty() { String::new() } else { format!(r#" class="{class}""#) };
        let more = if more.is_empty() { String::new() } else { format!(" {more}") };
        let _ = write!(self.text, r#"<text x="{x}"{y}{anchor}{class}{more}>"#);
        self.escape(text);
        self.text.push_str("</text>");
    }

    /// A path with its attributes and a tooltip.
    pub(in crate::report) fn path(&mut self, d: &str, attributes: &str, title: Option<&str>) {
        if d.is_empty() {
            return;
        }
        let _ = write!(self.text, r#"<path d="{d}""#);
        if !attributes.is_empty() {
            let _ = write!(self.text, " {attributes}");
        }
        self.close_with(title, "path");
    }

    /// A nested picture of so many units by pixels that stretches across its place.
    pub(in crate::report) fn nested(
        &mut self,
        (x, width): (f64, f64),
        (y, height): (f64, f64),
        (units, units_down): (f64, f64),
        draw: impl FnOnce(&mut Self),
    ) {
        let mut inner = Self::default();
        draw(&mut inner);
        if inner.text.is_empty() {
            return;
        }
        let _ = write!(
            self.text,
            r#"<svg x="{}" y="{}" width="{}" height="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" overflow="visible">{}</svg>"#,
            percent(x),
            number(y, 1),
            percent(width),
            number(height, 1),
            number(units, 2),
            number(units_down, 1),
            inner.text
        );
    }

    /// A group with attributes, unless it is empty.
    pub(in crate::report) fn group(&mut self, attributes: &str, draw: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        draw(&mut inner);
        if !inner.text.is_empty() {
            let _ = write!(self.text, "<g {attributes}>{}</g>", inner.text);
        }
    }

    /// The markup.
    pub(in crate::report) fn into_text(self) -> String {
        self.text
    }

    fn close_with(&mut self, title: Option<&str>, element: &str) {
        match title {
            None => self.text.push_str("/>"),
            Some(title) => {
                self.text.push_str("><title>");
                self.escape(title);
                let _ = write!(self.text, "</title></{element}>");
            }
        }
    }

    fn escape(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                c => self.text.push(c),
            }
        }
    }
}
