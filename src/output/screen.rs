//! How large the screen is, as far as anybody knows.

use std::io::{self, IsTerminal};

/// The columns of the terminal that shows standard output; without one, those that `COLUMNS` names.
#[expect(clippy::disallowed_methods, reason = "nothing is written this way")]
pub fn width_of_stdout() -> Option<usize> {
    known(terminal_size::terminal_size_of(io::stdout()))
}

/// The lines of the terminal that shows standard output.
#[expect(clippy::disallowed_methods, reason = "nothing is written this way")]
pub fn height_of_stdout() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(_, height)| usize::from(height.0))
}

/// Whether a terminal shows standard output.
#[expect(clippy::disallowed_methods, reason = "nothing is written this way")]
pub fn is_stdout_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether a terminal is to be written to in colors, where nothing else is said.
pub fn is_colored(is_terminal: bool) -> bool {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    is_terminal && !is_plain
}

/// The columns of the terminal that shows standard error; without one, those that `COLUMNS` names.
pub fn width_of_stderr() -> Option<usize> {
    known(terminal_size::terminal_size_of(io::stderr()))
}

/// A width of 0 is none that anybody knows, as on a serial line.
fn known(size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    let named = || std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    size.map(|(width, _)| usize::from(width.0)).or_else(named).filter(|width| *width > 0)
}
