//! The arguments of `completions`, `man` and `config`.

use std::path::PathBuf;

use clap::Args;

use crate::output::Format;

/// `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(narwhal-jq completions bash)      in ~/.bashrc, or
  narwhal-jq completions bash > ~/.local/share/bash-completion/completions/narwhal-jq
  source <(narwhal-jq completions zsh)       in ~/.zshrc, after compinit
  narwhal-jq completions fish > ~/.config/fish/completions/narwhal-jq.fish

Completed are subcommands, flags, queries and words, and of the database at hand its runs, releases,
journals, saved targets, engines, events and tables.")]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = ["bash", "elvish", "fish", "zsh"])]
    pub shell: String,
}

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  narwhal-jq man --dir ~/.local/share/man/man1 && man narwhal-jq-query-attainment")]
pub struct Man {
    /// Write a page for the program, each subcommand and each query into this folder, made when missing
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
}

/// `config`.
#[derive(Debug, Args)]
#[command(after_help = "\
A settings file, each line of which may be left out:
  database = \"/var/lib/narwhal-jq/narwhal.db\"
  queries = \"~/queries\"
  color = \"never\"

  [journals]
  a = \"/var/log/narwhal/a\"
  b = [\"/var/log/narwhal/b/journal.jsonl\", \"/var/log/narwhal/b.old\"]

  [selection]
  since = \"24h\"

Paths are seen from the folder of the file. `ingest` without PATH reads the journals, --ingest a those called
a. The selection (run, release, source, since, until, from, to, last, settled) is that of questions which choose
nothing themselves, and is named in a note; `export journal`, `export lake` and `forget` never use it. Flags come
before the environment, and that before the file.")]
pub struct Config {
    /// The form of the answer
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
}
