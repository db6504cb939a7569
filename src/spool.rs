//! A nameless file for what a stream gave: it cannot be read twice.
//!
//! It lies in the temporary folder, unless there is none or no room in it: then in the database's folder.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use anyhow::{Result, anyhow};

use crate::temporary;
use crate::text::PathText;

/// A file that is moved to the next folder when there is no room in the one it is in.
#[derive(Debug)]
pub(crate) struct Spool {
    file: File,
    /// Where it lies, and where else it may.
    folder: PathBuf,
    others: Vec<PathBuf>,
    /// Folders in which it cannot lie, and why.
    refused: Vec<String>,
}

impl Spool {
    /// An empty spool in the temporary folder, or else in another.
    ///
    /// # Errors
    /// When it can be made in none; the message names them.
    pub(crate) fn new(other: Option<PathBuf>) -> Result<Self> {
        let mut others: Vec<PathBuf> = [Some(std::env::temp_dir()), other].into_iter().flatten().collect();
        let mut refused = Vec::new();
        let (file, folder) = make(&mut others, &mut refused)?;
        Ok(Self { file, folder, others, refused })
    }

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// When there is room for them in no folder; the message names them.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let len = self.file.stream_position()?;
        while let Err(error) = self.file.write_all(bytes) {
            self.refused.push(format!("{}: {error}", self.folder.as_text()));
            let (mut file, folder) = make(&mut self.others, &mut self.refused)?;
            self.file.seek(SeekFrom::Start(0))?;
            match io::copy(&mut (&self.file).take(len), &mut file) {
                Ok(_) => (self.file, self.folder) = (file, folder),
                Err(error) => {
                    self.refused.push(format!("{}: {error}", folder.as_text()));
                    return Err(no_folder(&self.refused));
                }
            }
        }
        Ok(())
    }

    /// Adds what a stream gives, up to so many bytes.
    ///
    /// # Errors
    /// When it cannot be read, or as [`Spool::write`].
    pub(crate) fn fill(&mut self, stream: &mut dyn Read, len: u64) -> Result<()> {
        let mut piece = vec![0; 64 << 10];
        let mut missing = len;
        while missing > 0 {
            let wanted = piece.len().min(usize::try_from(missing).unwrap_or(usize::MAX));
            match stream.read(&mut piece[..wanted]) {
                Ok(0) => break,
                Ok(read) => {
                    self.write(&piece[..read])?;
                    missing -= read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The file, to be read from an offset.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn from(mut self, offset: u64) -> io::Result<File> {
        self.file.seek(SeekFrom::Start(offset))?;
        Ok(self.file)
    }

    /// The file, wherever it is read.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

/// A file in the first of the folders in which one can be made; what is left are those after it.
fn make(folders: &mut Vec<PathBuf>, refused: &mut Vec<String>) -> Result<(File, PathBuf)> {
    while !folders.is_empty() {
        let folder = folders.remove(0);
        match tempfile::tempfile_in(&folder) {
            Ok(file) => return Ok((file, folder)),
            Err(error) => refused.push(format!("{}: {}", folder.as_text(), temporary::reason(&error))),
        }
    }
    Err(no_folder(refused))
}

fn no_folder(refused: &[String]) -> anyhow::Error {
    anyhow!(
        "there is no room for a temporary file ({}): TMPDIR names another folder for it",
        refused.join("; ")
    )
}
