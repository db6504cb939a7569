//! The arguments of `completions`.

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
