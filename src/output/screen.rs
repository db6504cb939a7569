//! How wide the screen is, as far as anybody knows.

use std::io;

/// The columns of the terminal that shows standard output; without one, those that `COLUMNS` names.
#[expect(clippy::disallowed_methods, reason = "nothing is written this way")]
pub fn width_of_stdout() -> Option<usize> {
    known(terminal_size::terminal_size_of(io::stdout()))
}

/// The columns of the terminal that shows standard error; without one, those that `COLUMNS` names.
pub fn width_of_stderr() -> Option<usize> {
    known(terminal_size::terminal_size_of(io::stderr()))
}

/// A terminal that says 0 does not know, as one on a serial line.
fn known(size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    let named = || std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    size.map(|(width, _)| usize::from(width.0))
        .filter(|width| *width > 0)
        .or_else(named)
        .filter(|width| *width > 0)
}
