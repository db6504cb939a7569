//! Drawing: marks, scales, steps and panels as SVG that reads at any width without a script. It knows percent across,
//! pixels down, tones and labels, and nothing of a journal.
//!
//! The outer picture has no viewBox, so text is never scaled: x is in percent, y in pixels. Curves stand in nested
//! pictures, a unit a bucket, that stretch. Every mark carries its light colour beside its class, so that it shows where
//! styles are blocked.

mod distribution;
mod mark;
mod panels;
mod scale;
mod steps;
mod svg;
mod ticks;

pub(super) use distribution::Distribution;
pub(super) use mark::{Line, Tone, swatch};
pub(super) use panels::{Band, Column, Curve, Head, Hit, Panel, Panels, Rule};
pub(super) use scale::{Linear, Log, Scale, attainment_floor, step_for};
pub(super) use steps::{area, stepped};
pub(super) use svg::{Anchor, Svg, number, percent};
pub(super) use ticks::{Labels, Span, TimeTick, time_ticks};
