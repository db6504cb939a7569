//! The bytes of a source, read once more from the file that it was read from, compressed or not.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::journal::compression::{Unpacked, unpacked};
use crate::journal::files;
use crate::store::recognition::{recognise, recognise_unpacked};
use crate::store::sources::{FileId, Source};

/// A file that still holds what was read of it.
pub(super) struct Original {
    file: File,
    /// Of a compressed file: what is unpacked of it next, and where that stands.
    unpacking: Option<(Unpacked<'static>, u64)>,
}

impl Original {
    /// Opens the file of a source; nothing when it holds other content now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(source: &Source) -> io::Result<Option<Self>> {
        let (file, metadata) = files::open(&source.file_path())?;
        let known = std::slice::from_ref(source);
        let is_packed = from_start(&file)?.compression.is_some();
        let (is_same, unpacking) = if is_packed {
            let (_, found) = recognise_unpacked(known, &|| from_start(&file))?;
            (found.is_some(), Some((from_start(&file)?, 0)))
        } else {
            (recognise(known, &file, Some(FileId::of(&metadata)))?.is_some(), None)
        };
        Ok(is_same.then_some(Self { file, unpacking }))
    }

    /// Reads so many bytes at an offset, never before those that were read last.
    ///
    /// # Errors
    /// When they cannot be read, or are not there.
    pub(super) fn read(&mut self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len as usize];
        match &mut self.unpacking {
            None => {
                self.file.seek(SeekFrom::Start(offset))?;
                self.file.read_exact(&mut bytes)?;
            }
            Some((packed, at)) => {
                io::copy(&mut packed.by_ref().take(offset - *at), &mut io::sink())?;
                packed.read_exact(&mut bytes)?;
                *at = offset + len;
            }
        }
        Ok(bytes)
    }
}

/// The bytes of a file from its start, unpacked where they are packed.
fn from_start(file: &File) -> io::Result<Unpacked<'static>> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(0))?;
    unpacked(file)
}
