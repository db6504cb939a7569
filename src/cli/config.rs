//! The flags of `config`.

use clap::Args;

use crate::output::Format;

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
