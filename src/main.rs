//! Parses the arguments, calls the library, prints the error, chooses the exit code.

use std::io::Write;
use std::process::ExitCode;

use narwhal_jq::output::screen;
use narwhal_jq::text::{escaped, wrapped};
use narwhal_jq::{cli, commands, exit};

fn main() -> ExitCode {
    let exit = match cli::parse().and_then(commands::run) {
        Ok(exit) => exit,
        Err(error) => {
            // Nothing can be done when stderr is closed.
            let message = format!("error: {}", escaped(&format!("{error:#}")));
            let message = screen::width_of_stderr()
                .map_or_else(|| message.clone(), |width| wrapped(&message, width, 2));
            let _ = writeln!(std::io::stderr(), "{message}");
            exit::code_of(&error)
        }
    };
    ExitCode::from(exit as u8)
}
