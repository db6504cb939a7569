//! Parses the arguments, calls the library, prints the error, chooses the exit code.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use narwhal_jq::output::screen;
use narwhal_jq::store::known;
use narwhal_jq::text::{escaped, wrapped};
use narwhal_jq::{cli, commands, exit, stdio};

fn main() -> ExitCode {
    match cli::complete(known::names) {
        Ok(true) => return ExitCode::SUCCESS,
        // A shell shows nothing of what goes wrong here.
        Err(_) => return ExitCode::FAILURE,
        Ok(false) => {}
    }
    // What a full pipe left of the last line waits to be written.
    let done = cli::parse().and_then(commands::run);
    let written = stdio::stdout().flush();
    let done = done.and_then(|exit| match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(exit),
    });
    let exit = match done {
        Ok(exit) => exit,
        Err(error) => {
            // Nothing can be done when stderr is closed.
            let message = format!("error: {}", escaped(&format!("{error:#}")));
            let message = screen::width_of_stderr()
                .map_or_else(|| message.clone(), |width| wrapped(&message, width, 2));
            let _ = writeln!(stdio::stderr(), "{message}");
            exit::code_of(&error)
        }
    };
    ExitCode::from(exit as u8)
}
