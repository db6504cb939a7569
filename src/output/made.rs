//! What a file was when this program wrote it, and so whether it still is that.
//!
//! A journal that was written here looks like one of the router's own. It is told apart by its digest, which
//! stands in an extended attribute of the file, and in `export.json` beside it (see [`mod@crate::export`]).

use std::fs::File;
use std::io::{self, Read};

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
use xxhash_rust::xxh3::Xxh3;

/// The extended attribute's name.
const ATTRIBUTE: &str = "user.narwhal-jq.written";

/// Length and digest of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made {
    /// Its bytes.
    pub bytes: u64,
    /// Their XXH3-128, which `xxh128sum` gives, too.
    pub digest: u128,
}

impl Made {
    /// What a file holds now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(mut file: &File) -> io::Result<Self> {
        let mut making = Making::default();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(making.made()),
                Ok(len) => making.take(&buffer[..len]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The digest as text.
    pub fn digest_text(&self) -> String {
        format!("{:032x}", self.digest)
    }

    /// Notes it in the file's attributes, where the file system keeps such.
    pub(super) fn note_in(&self, file: &File) {
        // Without it the file is not replaced by the next call, and the message says what to do.
        let _ = fsetxattr(file, ATTRIBUTE, self.text().as_bytes(), XattrFlags::empty());
    }

    /// Whether the file's attributes say that this was written here.
    pub fn is_noted_in(&self, file: &File) -> bool {
        let mut noted = vec![0; 256];
        fgetxattr(file, ATTRIBUTE, noted.as_mut_slice())
            .is_ok_and(|len| noted.get(..len) == Some(self.text().as_bytes()))
    }

    fn text(&self) -> String {
        format!("{} {}", self.bytes, self.digest_text())
    }
}

/// What is being written.
#[derive(Default)]
pub(crate) struct Making {
    bytes: u64,
    digest: Xxh3,
}

impl Making {
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.digest.update(bytes);
    }

    pub(crate) fn made(&self) -> Made {
        Made { bytes: self.bytes, digest: self.digest.digest128() }
    }
}
