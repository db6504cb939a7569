//! The key behind pseudonyms: without it, nobody can try names until a pseudonym comes out.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::text::PathText;

/// A key file is at least as long, in bytes.
pub const MIN_KEY: usize = 16;

/// A key file is at most as long; a longer one is some other file, or never ends.
pub const MAX_KEY: usize = 64 << 10;

/// What makes pseudonyms unguessable, and perhaps stable.
#[derive(Clone, PartialEq, Eq)]
pub enum Key {
    /// Forgotten after the call: no two calls can be linked.
    Random([u8; 32]),
    /// The user's: the same names get the same pseudonyms in every call.
    Kept([u8; 32]),
}

impl Key {
    /// A key that nobody knows.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn random() -> Result<Self> {
        let mut key = [0; 32];
        File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut key))
            .context("cannot make a random key from /dev/urandom")?;
        Ok(Self::Random(key))
    }

    /// The key of a file, any bytes: its last newline counts, too.
    ///
    /// # Errors
    /// When it cannot be read, or is too short or too long for a key.
    pub fn from_file(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot read the key {}", path.as_text());
        let mut bytes = Vec::new();
        let file = File::open(path).with_context(cannot)?;
        file.take(MAX_KEY as u64 + 1).read_to_end(&mut bytes).with_context(cannot)?;
        if bytes.len() < MIN_KEY {
            bail!(
                "the key {} has {} bytes, which can be guessed: it needs at least {MIN_KEY}; make one with \
                 `head -c 32 /dev/urandom > FILE`",
                path.as_text(),
                bytes.len()
            );
        }
        if bytes.len() > MAX_KEY {
            bail!("the key {} has more than {MAX_KEY} bytes: is it another file?", path.as_text());
        }
        Ok(Self::Kept(blake3::derive_key("narwhal-jq redact 1: pseudonyms", &bytes)))
    }

    /// Tells whether another key is the same, and nothing else of it.
    pub fn fingerprint(&self) -> String {
        self.hash("fingerprint", "")[..32].to_owned()
    }

    /// The hash of a name as hex digits; `kind` keeps an engine and a client of one name apart.
    pub(super) fn hash(&self, kind: &str, name: &str) -> String {
        let (Self::Random(key) | Self::Kept(key)) = self;
        let mut hasher = blake3::Hasher::new_keyed(key);
        hasher.update(kind.as_bytes()).update(b"\0").update(name.as_bytes());
        hasher.finalize().to_hex().to_string()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random(_) => "Random(..)",
            Self::Kept(_) => "Kept(..)",
        })
    }
}
