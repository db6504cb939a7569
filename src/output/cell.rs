//! A cell of a table for eyes: its value, and how that is shown. Knows no column and no width.

use super::numbers::Rounding;

/// A value as far as its column must know it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

impl Cell {
    /// About the bytes it takes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            _ => size_of::<Self>(),
        }
    }

    pub(super) fn shown(&self, rounding: &Rounding) -> String {
        match self {
            Self::Null => "-".to_owned(),
            Self::Int(int) => int.to_string(),
            Self::Real(real) => rounding.shown(*real),
            Self::Text(text) => text.clone(),
        }
    }
}
