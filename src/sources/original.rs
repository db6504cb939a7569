//! The bytes of a source, read once more from the file that it was read from, compressed or not.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::file::from_start;
use super::recognition::{recognise, recognise_unpacked};
use crate::journal::compression::Unpacked;
use crate::journal::files;
use crate::store::sources::{FileId, Source};

/// A file that still holds what was read of it.
pub struct Original {
    file: File,
    /// Of a compressed file: what is unpacked of it next, and where that stands.
    unpacking: Option<(Unpacked<'static>, u64)>,
}

impl Original {
    /// Opens the file of a source; nothing when it holds other content now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(source: &Source) -> io::Result<Option<Self>> {
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
    pub fn read(&mut self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
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
