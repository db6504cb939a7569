//! What can be wrong with the text of a row: that it is no JSON, that it is JSON and no row, or that it had to be mended. Each
//! says where.

/// Why a value could not be read.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Not JSON, or JSON that may not be kept: the byte in the text, and why.
    Syntax {
        /// Byte offset in the text given to [`super::json::Reader::new`].
        at: usize,
        /// What is wrong there.
        why: String,
    },
    /// Good JSON that does not have the shape of a journal row.
    Shape {
        /// The field that does not, as `queue_waits.decode` or `attempt_failures[1].at`.
        path: String,
        /// What is wrong with its value.
        why: String,
    },
}

impl Fault {
    /// The same fault, said of the field that holds the value.
    pub fn in_field(self, field: &str) -> Self {
        match self {
            Self::Shape { path, why } => {
                let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
                Self::Shape { path: format!("{field}{dot}{path}"), why }
            }
            syntax => syntax,
        }
    }
}

/// Something that was mended while reading.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// Byte offset in the text.
    pub at: usize,
    /// What stood there and what was read instead.
    pub what: &'static str,
}
