//! The arguments of `completions` and `man`.

use std::path::PathBuf;

use clap::Args;

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
