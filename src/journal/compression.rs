//! Journals as they lie in archives: gzip and zstd, known by their first bytes, never by a name.
//!
//! An archive is complete when it ends. Of one that is cut off, what comes before the cut is read.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;

/// How the bytes of a journal are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip, also several members one behind the other.
    Gzip,
    /// Zstandard, also several frames.
    Zstd,
}

/// What is not read, and the program that unpacks it.
const OTHERS: [(&[u8], &str, &str); 4] = [
    (b"\xfd7zXZ\0", "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4cat"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

/// So many first bytes tell.
const MAGIC_LEN: u64 = 6;

impl Compression {
    /// The compression of what begins with these bytes.
    ///
    /// # Errors
    /// When it is one that is not read; the message has the way out.
    pub fn of(head: &[u8]) -> io::Result<Option<Self>> {
        if head.starts_with(b"\x1f\x8b") {
            return Ok(Some(Self::Gzip));
        }
        if head.starts_with(b"\x28\xb5\x2f\xfd") {
            return Ok(Some(Self::Zstd));
        }
        match OTHERS.iter().find(|(magic, ..)| head.starts_with(magic)) {
            None => Ok(None),
            Some((_, name, program)) => Err(io::Error::other(format!(
                "it is packed with {name}, which is not read: give `{program} FILE` to `narwhal-jq ingest -`"
            ))),
        }
    }
}

/// The bytes of a journal, unpacked where they are packed.
///
/// # Errors
/// When the first bytes cannot be read, or are of a compression that is not read.
pub fn unpacked<'r>(
    mut packed: impl Read + Send + 'r,
) -> io::Result<(Box<dyn Read + Send + 'r>, Option<Compression>)> {
    let mut head = Vec::new();
    packed.by_ref().take(MAGIC_LEN).read_to_end(&mut head)?;
    let compression = Compression::of(&head)?;
    let whole = Cursor::new(head).chain(packed);
    let bytes: Box<dyn Read + Send + 'r> = match compression {
        None => Box::new(whole),
        Some(Compression::Gzip) => Box::new(Unpacking(MultiGzDecoder::new(whole))),
        Some(Compression::Zstd) => Box::new(Unpacking(zstd::stream::read::Decoder::new(whole)?)),
    };
    Ok((bytes, compression))
}

/// Says of an archive that cannot be unpacked what that means.
struct Unpacking<R>(R);

impl<R: Read> Read for Unpacking<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::Interrupted => return error,
                io::ErrorKind::UnexpectedEof => "the archive is cut off, or still being written",
                _ => "the archive is damaged",
            };
            io::Error::new(error.kind(), format!("{what}: {error}"))
        })
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
        unpacked(packed)?.0.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn archives_of_several_parts_are_read_to_their_end() {
        let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).expect("memory can be written");
        for pack in [&gzip as &dyn Fn(&[u8]) -> Vec<u8>, &zstd] {
            let both = [pack(b"one\n"), pack(b"two\n")].concat();
            assert_eq!(unpack(&both).expect("it is whole"), b"one\ntwo\n");
        }
        assert_eq!(unpack(b"plain").expect("it is whole"), b"plain");
        assert_eq!(unpack(b"").expect("it is whole"), b"");
    }

    #[test]
    fn an_archive_that_is_cut_off_or_damaged_says_so() {
        let long: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut zstd = zstd::Encoder::new(Vec::new(), 1).expect("memory can be written");
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
