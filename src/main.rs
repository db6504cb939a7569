//! Parses the arguments, calls the library, prints the error, chooses the exit code.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Context;
use narwhal_jq::cli::Unparsed;
use narwhal_jq::exit::Exit;
use narwhal_jq::output::{screen, stdout::stdout};
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
    let done = cli::parse().and_then(commands::run).or_else(|error| match error.downcast::<Unparsed>() {
        Ok(unparsed) => tell(&unparsed),
        Err(error) => Err(error),
    });
    // What a full pipe left of the last line waits to be written.
    let written = stdio::stdout().flush();
    let done = done.and_then(|exit| match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context(CANNOT_WRITE))
        }
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

const CANNOT_WRITE: &str = "cannot write to standard output";

/// Tells what is wrong with the arguments, or the help that they ask for.
fn tell(unparsed: &Unparsed) -> anyhow::Result<Exit> {
    if unparsed.is_wrong() {
        let text = unparsed.text(screen::is_colored(std::io::stderr().is_terminal()));
        let faults = unparsed.faults.iter().map(|fault| format!("warning: {}\n", escaped(fault)));
        // Nothing can be done when stderr is closed.
        let _ = stdio::stderr().write_all((faults.collect::<String>() + &text).as_bytes());
        return Ok(Exit::Usage);
    }
    let text = unparsed.text(screen::is_colored(screen::is_stdout_terminal()));
    stdout().write_all(text.as_bytes()).context(CANNOT_WRITE)?;
    Ok(Exit::Done)
}
