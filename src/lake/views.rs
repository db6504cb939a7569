//! The tables and views of a lake in the dialects of the engines that read it.

/// A file in the folder `views` of a lake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Its name.
    pub file: &'static str,
    /// The statements.
    pub text: String,
}

/// Those that an export writes.
pub fn views() -> Vec<View> {
    Vec::new()
}
