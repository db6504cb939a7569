//! Colours: a class for the style sheet and the light colour for pages without one. The style sheet has the dark ones.

/// What a filled mark means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Tone {
    Ok,
    Slow,
    Slow2,
    Slow3,
    Away,
    Away2,
    Away3,
    Away4,
    Bad,
    Bad2,
    Bad3,
    Off,
    Off2,
    /// Text of the second rank.
    Ink2,
    /// The ground of a plot.
    Plot,
    /// The ground of the page.
    Page,
    /// Hatched: nothing to measure.
    Hatch,
}

impl Tone {
    /// The attributes of a mark filled so.
    pub(in crate::report) fn fill(self) -> &'static str {
        match self {
            Self::Ok => r##"class="f-ok" fill="#1f66b0""##,
            Self::Slow => r##"class="f-slow" fill="#55308c""##,
            Self::Slow2 => r##"class="f-slow2" fill="#8262bb""##,
            Self::Slow3 => r##"class="f-slow3" fill="#bba6dc""##,
            Self::Away => r##"class="f-away" fill="#8f4a00""##,
            Self::Away2 => r##"class="f-away2" fill="#c77a1e""##,
            Self::Away3 => r##"class="f-away3" fill="#e5b062""##,
            Self::Away4 => r##"class="f-away4" fill="#f4dcb0""##,
            Self::Bad => r##"class="f-bad" fill="#b42318""##,
            Self::Bad2 => r##"class="f-bad2" fill="#db6a5c""##,
            Self::Bad3 => r##"class="f-bad3" fill="#f1b9b1""##,
            Self::Off => r##"class="f-off" fill="#7a838e""##,
            Self::Off2 => r##"class="f-off2" fill="#9aa3ad""##,
            Self::Ink2 => r##"class="f-ink2" fill="#57606a""##,
            Self::Plot => r##"class="pa" fill="#f6f8fa""##,
            Self::Page => r##"class="bgf" fill="#fff""##,
            Self::Hatch => r##"fill="url(#none)""##,
        }
    }

    /// Whether a mark of it needs an outline of the first tone of its family to be seen on the ground.
    pub(in crate::report) fn is_pale(self) -> bool {
        matches!(self, Self::Slow3 | Self::Away3 | Self::Away4 | Self::Bad3)
    }
}

/// What a line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Line {
    Ok,
    Ink,
    Off,
    Away,
    Bad,
    Slow,
    Grid,
    Axis,
    Slo,
    Page,
}

impl Line {
    /// The attributes of a line drawn so.
    pub(in crate::report) fn stroke(self) -> &'static str {
        match self {
            Self::Ok => r##"class="lo" stroke="#1f66b0""##,
            Self::Ink => r##"class="li" stroke="#16191d""##,
            Self::Off => r##"class="lx" stroke="#7a838e""##,
            Self::Away => r##"class="lh" stroke="#8f4a00""##,
            Self::Bad => r##"class="lb" stroke="#b42318""##,
            Self::Slow => r##"class="ls" stroke="#55308c""##,
            Self::Grid => r##"class="gr" stroke="#dfe4ea""##,
            Self::Axis => r##"class="ax" stroke="#7a838e""##,
            Self::Slo => r##"class="slo" stroke="#16191d""##,
            Self::Page => r##"class="lbg" stroke="#fff""##,
        }
    }
}

/// A small square of a tone, for keys and tables; the word beside it says the same.
pub(in crate::report) fn swatch(tone: Tone) -> String {
    let fill = tone.fill();
    let edge = match tone {
        Tone::Slow3 => Some(Line::Slow),
        Tone::Away3 | Tone::Away4 => Some(Line::Away),
        Tone::Bad3 => Some(Line::Bad),
        _ => None,
    };
    let outline = edge.map_or_else(String::new, |line| {
        format!(r#"<rect x=".5" y=".5" width="10" height="10" fill="none" {}/>"#, line.stroke())
    });
    format!(
        r#"<svg width="11" height="11" aria-hidden="true"><rect width="11" height="11" {fill}/>{outline}</svg>"#
    )
}
