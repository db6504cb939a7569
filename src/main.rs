//! Parses the arguments, calls the library, prints the error, chooses the exit code.

use std::io::Write;
use std::process::ExitCode;

use narwhal_jq::text::escaped;
use narwhal_jq::{cli, commands, exit};

fn main() -> ExitCode {
    let exit = match cli::parse().and_then(commands::run) {
        Ok(exit) => exit,
        Err(error) => {
            let exit = exit::code_of(&error);
            if exit != exit::Exit::Done {
                // Nothing can be done when stderr is closed.
                let _ = writeln!(std::io::stderr(), "error: {}", escaped(&format!("{error:#}")));
            }
            exit
        }
    };
    ExitCode::from(exit as u8)
}
