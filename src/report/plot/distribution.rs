//! The frame of a distribution: shares upwards, the logarithm of a value across, a target as a line.

use super::{Anchor, Line, Log, Scale, Svg, Tone, percent};

/// Where the plot begins, and how high it is, in pixels; a unit of its curves is a pixel down, and a thousandth of it
/// across.
const TOP: f64 = 18.0;
const HEIGHT: f64 = 190.0;
const ACROSS: f64 = 1000.0;
const BOTTOM: f64 = TOP + HEIGHT;

/// What is drawn around curves.
pub(in crate::report) struct Distribution<'a> {
    pub scale: &'a Log,
    /// A value that is marked, and what stands beside it.
    pub target: Option<(f64, String)>,
    /// How a share is written at its line, and a value at its own.
    pub share: fn(f64) -> String,
    pub value: fn(f64) -> String,
}

impl Distribution<'_> {
    /// How high a picture with its labels is.
    pub(in crate::report) const PICTURE: f64 = BOTTOM + 20.0;

    /// How far down a share lies, in the units of curves.
    pub(in crate::report) fn down(share: f64) -> f64 {
        HEIGHT * (1.0 - share)
    }

    /// The same, in the picture.
    pub(in crate::report) fn y(share: f64) -> f64 {
        BOTTOM - HEIGHT * share
    }

    /// The ground, the curves, and the target over them.
    pub(in crate::report) fn draw(&self, svg: &mut Svg, curves: impl FnOnce(&mut Svg)) {
        svg.rect(0.0, 100.0, TOP, HEIGHT, Tone::Plot);
        svg.group(Line::Grid.stroke(), |svg| {
            for (_, y) in quarters() {
                svg.raw(&format!(r#"<line x2="100%" y1="{y}" y2="{y}"/>"#));
            }
            for tick in self.scale.ticks() {
                let x = percent(100.0 * tick.at);
                svg.raw(&format!(r#"<line x1="{x}" x2="{x}" y1="{TOP}" y2="{BOTTOM}"/>"#));
            }
        });
        svg.nested((0.0, 100.0), (TOP, HEIGHT), (ACROSS, HEIGHT), curves);
        if let Some((target, _)) = &self.target {
            let x = 100.0 * self.scale.at(*target);
            svg.line((x, TOP), (x, BOTTOM), Line::Slo, r#"stroke-width="1.4" stroke-dasharray="4 3""#);
        }
    }

    /// What stands beside it; `more` adds texts of its own.
    pub(in crate::report) fn label(&self, svg: &mut Svg, more: impl FnOnce(&mut Svg)) {
        svg.group(r##"class="t" fill="#57606a""##, |svg| {
            for (part, y) in quarters() {
                svg.text("-6", y + 3.8, Anchor::End, "", "", &(self.share)(part));
            }
            for (number, tick) in self.scale.ticks().iter().enumerate() {
                let class = if number % 2 == 1 { "m" } else { "" };
                let text = (self.value)(tick.value);
                svg.text(&percent(100.0 * tick.at), BOTTOM + 14.0, Anchor::Middle, class, "", &text);
            }
            if let Some((target, text)) = &self.target {
                let x = 100.0 * self.scale.at(*target);
                let anchor = if x > 50.0 { Anchor::End } else { Anchor::Start };
                svg.text(&percent(x), 12.0, anchor, "ti", r##"fill="#16191d" font-weight="600""##, text);
            }
            more(svg);
        });
    }
}

fn quarters() -> [(f64, f64); 5] {
    [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| (part, Distribution::y(part)))
}
