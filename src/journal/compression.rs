//! Journals as they lie in archives: gzip and zstd, known by their first bytes, never by a name.
//!
//! An archive is complete when it ends. Of one that is cut off, what comes before the cut is read.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::{Arc, OnceLock};

use super::gzip::Members;
use super::text;
use super::zstd::Frames;

/// How the bytes of a journal are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip, also several members one after the other.
    Gzip,
    /// Zstandard, also several frames, and those that are skipped.
    Zstd,
}

/// What is not read, and what unpacks it to standard output.
const OTHERS: [(&[u8], &str, &str); 20] = [
    (b"\xfd7zXZ\0", "xz", "xzcat FILE"),
    (b"BZh", "bzip2", "bzcat FILE"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4cat FILE"),
    (b"\x02\x21\x4c\x18", "lz4", "lz4cat FILE"),
    (b"PK\x03\x04", "zip", "unzip -p FILE"),
    (b"PK\x05\x06", "zip", "unzip -p FILE"),
    (b"PK\x07\x08", "zip", "unzip -p FILE"),
    (b"LZIP", "lzip", "lzip -dc FILE"),
    (b"\x5d\0\0", "lzma", "xz --format=lzma -dc FILE"),
    (b"\x89LZO\0", "lzop", "lzop -dc FILE"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x -so FILE"),
    (b"Rar!\x1a\x07", "rar", "unrar p -inul FILE"),
    (b"\x78\x01", "zlib", "pigz -dc FILE"),
    (b"\x78\x5e", "zlib", "pigz -dc FILE"),
    (b"\x78\x9c", "zlib", "pigz -dc FILE"),
    (b"\x78\xda", "zlib", "pigz -dc FILE"),
    (b"\x1f\x9d", "compress", "zcat FILE"),
    (b"\x1f\xa0", "compress", "zcat FILE"),
    (b"\x1f\x1e", "pack", "zcat FILE"),
    (b"\xff\x06\0\0sNaPpY", "snappy", "snzip -dc FILE"),
];

impl Compression {
    /// The compression of what begins with these bytes.
    ///
    /// # Errors
    /// When it is one that is not read; the message has the way out.
    pub fn of(head: &[u8]) -> io::Result<Option<Self>> {
        if head.starts_with(b"\x1f\x8b") {
            return Ok(Some(Self::Gzip));
        }
        if super::zstd::is_frame(head) {
            return Ok(Some(Self::Zstd));
        }
        // Frames of releases before 0.8.
        let is_old_zstd =
            head.len() >= 4 && (0x1e..=0x27).contains(&head[0]) && head[1..4] == *b"\xb5\x2f\xfd";
        let old_zstd: Option<&(&[u8], &str, &str)> =
            is_old_zstd.then_some(&(b"", "zstd of old", "zstd -dc FILE"));
        match old_zstd.or_else(|| OTHERS.iter().find(|(magic, ..)| head.starts_with(magic))) {
            None => Ok(None),
            Some((_, name, program)) => Err(io::Error::other(format!(
                "it is packed with {name}, which is not read: give `{program}` to `narwhal-jq ingest -`"
            ))),
        }
    }
}

/// The bytes of a journal, unpacked where they are packed.
pub struct Unpacked<'r> {
    /// What is in the archive, or the file as it is.
    pub bytes: Box<dyn Read + Send + 'r>,
    /// How it was packed.
    pub compression: Option<Compression>,
    /// What stands after the archive.
    pub trailing: Trailing,
}

/// Bytes that stand after an archive and belong to none: known when it was read to its end.
#[derive(Debug, Clone, Default)]
pub struct Trailing(Arc<OnceLock<Rest>>);

impl Trailing {
    /// What they are, if there are any.
    pub fn rest(&self) -> Option<Rest> {
        self.0.get().copied()
    }

    pub(super) fn found(&self, rest: Rest) {
        // An archive ends once.
        let _ = self.0.set(rest);
    }
}

/// What may stand after an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Zero bytes to the end of the file, which fill up a block.
    Zeros,
    /// Anything else.
    Unread,
}

impl Rest {
    /// What is to be said of it.
    pub fn said(self) -> &'static str {
        match self {
            Self::Zeros => {
                "the archive is whole, and only zero bytes stand after it, as tapes and `dd conv=sync` leave them"
            }
            Self::Unread => {
                "the archive is whole, and what stands after it in the file is no archive: that was not read"
            }
        }
    }
}

/// The bytes of a journal, unpacked where they are packed.
///
/// # Errors
/// When the first bytes cannot be read, or are no text: of a compression that is not read, say, or of an archive
/// within an archive.
pub fn unpacked<'r>(mut packed: impl Read + Send + 'r) -> io::Result<Unpacked<'r>> {
    let mut head = Vec::new();
    packed.by_ref().take(text::LOOKED_AT).read_to_end(&mut head)?;
    let compression = Compression::of(&head)?;
    let trailing = Trailing::default();
    let Some(compression) = compression else {
        let bytes = as_text(head, packed)?;
        return Ok(Unpacked { bytes, compression: None, trailing });
    };
    let whole = Cursor::new(head).chain(packed);
    let mut unpacking: Box<dyn Read + Send + 'r> = match compression {
        Compression::Gzip => {
            let packed = Members::new(BufReader::new(whole), trailing.clone());
            Box::new(Unpacking { packed, failed: None })
        }
        Compression::Zstd => {
            Box::new(Unpacking { packed: Frames::new(whole, trailing.clone())?, failed: None })
        }
    };
    let mut head = Vec::new();
    // Why there is no more is said again to whoever reads on.
    let _ = unpacking.by_ref().take(text::LOOKED_AT).read_to_end(&mut head);
    if Compression::of(&head)?.is_some() {
        let program = match compression {
            Compression::Gzip => "zcat FILE",
            Compression::Zstd => "zstd -dc FILE",
        };
        return Err(io::Error::other(format!(
            "it is an archive within an archive: give `{program}` to `narwhal-jq ingest -`"
        )));
    }
    Ok(Unpacked { bytes: as_text(head, unpacking)?, compression: Some(compression), trailing })
}

/// All bytes again, the first ones of which were read, unless they are no text.
fn as_text<'r>(mut head: Vec<u8>, mut rest: impl Read + Send + 'r) -> io::Result<Box<dyn Read + Send + 'r>> {
    if let Some(why) = text::why_none(&head) {
        // Rows after damage are read.
        let _ = rest.by_ref().take(text::LOOKED_AT_FOR_A_ROW).read_to_end(&mut head);
        if !text::holds_row(&head) {
            return Err(io::Error::other(why));
        }
    }
    Ok(Box::new(Cursor::new(head).chain(rest)))
}

/// Says of an archive that cannot be unpacked what that means.
struct Unpacking<R> {
    packed: R,
    /// Why there is no more: said again, whoever asks again.
    failed: Option<(io::ErrorKind, String)>,
}

impl<R: Read> Read for Unpacking<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some((kind, why)) = &self.failed {
            return Err(io::Error::new(*kind, why.clone()));
        }
        self.packed.read(buffer).map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::Interrupted => return error,
                // It says so itself.
                io::ErrorKind::Unsupported => "",
                io::ErrorKind::UnexpectedEof => "the archive is cut off, or still being written: ",
                _ => "the archive is damaged: ",
            };
            let (kind, why) = self.failed.insert((error.kind(), format!("{what}{error}")));
            io::Error::new(*kind, why.clone())
        })
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("memory can be written");
        encoder.finish().expect("memory can be written")
    }

    fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        unpacked(packed)?.bytes.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn archives_of_several_parts_are_read_to_their_end() {
        let zstd = |bytes: &[u8]| ::zstd::encode_all(bytes, 1).expect("memory can be written");
        for pack in [&gzip as &dyn Fn(&[u8]) -> Vec<u8>, &zstd] {
            let both = [pack(b"one\n"), pack(b"two\n")].concat();
            assert_eq!(unpack(&both).expect("it is whole"), b"one\ntwo\n");
        }
        assert_eq!(unpack(b"plain").expect("it is whole"), b"plain");
        assert_eq!(unpack(b"").expect("it is whole"), b"");
    }

    #[test]
    fn an_archive_that_is_cut_off_or_damaged_says_so() {
        let long: Vec<u8> = (0..100_000_u32).flat_map(|number| format!("{number}\n").into_bytes()).collect();
        let mut zstd = ::zstd::Encoder::new(Vec::new(), 1).expect("memory can be written");
        // As the program of that name does.
        zstd.include_checksum(true).expect("it can be had");
        zstd.write_all(&long).expect("memory can be written");
        let unpack = |packed: &[u8]| super::tests::unpack(packed).map(|bytes| bytes.len());
        for packed in [gzip(&long), zstd.finish().expect("memory can be written")] {
            let cut = unpack(&packed[..packed.len() / 2]).expect_err("it is cut off").to_string();
            assert!(cut.contains("cut off"), "{cut}");
            let mut damaged = packed;
            let middle = damaged.len() / 2;
            damaged[middle..middle + 64].fill(0xff);
            let damaged = unpack(&damaged).expect_err("it is damaged").to_string();
            assert!(damaged.contains("damaged") || damaged.contains("cut off"), "{damaged}");
        }
    }

    #[test]
    fn other_archives_are_named_with_the_way_out() {
        let error = unpack(b"BZh91AY&SY").expect_err("it is not read").to_string();
        assert!(error.contains("`bzcat FILE`"), "{error}");
    }
}
