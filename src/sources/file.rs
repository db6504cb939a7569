//! A file and the source that it turns out to be: opened where the reading of its content stopped, compressed or
//! not.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};

use rusqlite::Connection;

use super::recognition::{Resumption, recognise, recognise_unpacked};
use crate::journal::compression::{Trailing, Unpacked, unpacked};
use crate::store::archives::Archive;
use crate::store::sources::{FileId, Source};

/// A file, and the source that it turned out to be.
pub struct Recognised {
    /// What was not read before, unpacked.
    pub bytes: Box<dyn Read + Send>,
    /// The file itself.
    pub file: FileId,
    /// What it goes on from; nothing where it is new.
    pub resumption: Option<Resumption>,
    /// Of a compressed file: what tells it from others.
    pub archive: Option<Archive>,
    /// Of a compressed file: whether something else stands after the archive.
    pub trailing: Trailing,
}

impl Recognised {
    /// Recognises what a file holds, and goes to where its reading stopped.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(file: File, metadata: &Metadata, known: &[Source]) -> io::Result<Self> {
        let id = FileId::of(metadata);
        if from_start(&file)?.compression.is_some() {
            let (unpacked, resumption) = recognise_unpacked(known, &|| from_start(&file))?;
            return Ok(Self {
                bytes: unpacked.bytes,
                trailing: unpacked.trailing,
                file: id,
                resumption,
                archive: Some(Archive::of(&file)?),
            });
        }
        let resumption = recognise(known, &file, Some(id))?;
        let mut bytes = file;
        bytes.seek(SeekFrom::Start(resumption.as_ref().map_or(0, |from| from.position.offset)))?;
        Ok(Self {
            bytes: Box::new(bytes),
            file: id,
            resumption,
            archive: None,
            trailing: Trailing::default(),
        })
    }

    /// The source that was last read under a name that does not lead to it any more: the file was renamed, or is
    /// a copy of one that went.
    pub fn renamed(&self) -> Option<&Source> {
        self.resumption.as_ref().map(|from| &from.source).filter(|source| !source.is_at_its_path())
    }

    /// How far the file, which has this stored name, was read when it held what it does not hold any more.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn rewritten(&self, file: &File, path: &str, known: &[Source]) -> io::Result<Option<u64>> {
        let id = Some(self.file);
        // It goes on as this file did. What it holds may be known from another, a copy, and yet not be what it held.
        if self.resumption.as_ref().is_some_and(|from| from.source.file == id) {
            return Ok(None);
        }
        // The number of a file that was removed is given to a new one; one with another name, that does
        // not lead to it, is that.
        let is_same =
            |source: &&Source| source.file == id && (source.path == path || source.is_at_its_path());
        let before = known.iter().filter(is_same).max_by_key(|source| source.source_id);
        let Some(before) = before else { return Ok(None) };
        Ok(if before.is_held_by(file)? { None } else { Some(before.offset) })
    }
}

/// The source of an archive that was read to its end, and is not to be read again; nothing for any other file. It
/// is not unpacked for that.
///
/// # Errors
/// When the file or the database cannot be read.
pub fn read_archive<'k>(
    file: &File,
    connection: &Connection,
    known: &'k [Source],
) -> anyhow::Result<Option<&'k Source>> {
    let source_id = Archive::of(file)?.source_id(connection)?;
    let is_read = |source: &&Source| Some(source.source_id) == source_id && source.reread.is_none();
    Ok(known.iter().find(is_read))
}

/// Whether a file is an archive that was read to its end, and is not to be read again.
pub fn is_read_archive(file: &File, connection: &Connection) -> bool {
    Archive::of(file).is_ok_and(|archive| archive.is_read(connection).unwrap_or(false))
}

/// The bytes of a file from its start, unpacked where they are packed.
pub(super) fn from_start(file: &File) -> io::Result<Unpacked<'static>> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(0))?;
    unpacked(file)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;
    use crate::journal::lines::FINGERPRINT_LEN;
    use crate::store::sources::hash;

    const HEAD: &str = "{\"meta\": 1}\n";

    fn write(folder: &TempDir, name: &str, text: &str) -> (File, Metadata) {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it can be written");
        open(&path)
    }

    fn open(path: &Path) -> (File, Metadata) {
        let file = File::open(path).expect("it is there");
        let metadata = file.metadata().expect("it has some");
        (file, metadata)
    }

    /// The source of a file that was read up to an offset.
    fn source(folder: &TempDir, name: &str, text: &str, offset: usize, is_telling: bool) -> Source {
        let (_, metadata) = open(&folder.path().join(name));
        let part = offset.min(FINGERPRINT_LEN);
        Source {
            source_id: 1,
            path: folder.path().join(name).display().to_string(),
            file: Some(FileId::of(&metadata)),
            offset: offset as u64,
            lines: text[..offset].lines().count() as u64,
            run_rows: u64::from(is_telling),
            ambiguous_runs: 0,
            reread: None,
            is_telling,
            has_rows: true,
            head_hash: hash(&text.as_bytes()[..part]),
            tail_hash: hash(&text.as_bytes()[offset - part..offset]),
        }
    }

    fn rest(mut recognised: Recognised) -> String {
        let mut text = String::new();
        recognised.bytes.read_to_string(&mut text).expect("it can be read");
        text
    }

    #[test]
    fn a_file_that_grew_goes_on_behind_what_was_read() {
        let folder = TempDir::new().expect("a folder can be made");
        let text = format!("{HEAD}one\n");
        let (file, metadata) = write(&folder, "j", &format!("{text}two\n"));
        let known = [source(&folder, "j", &text, text.len(), true)];
        let found =
            Recognised::of(file.try_clone().expect("it is open"), &metadata, &known).expect("it is read");
        assert!(found.renamed().is_none());
        assert_eq!(found.rewritten(&file, &known[0].path, &known).expect("it is read"), None);
        assert_eq!(rest(found), "two\n");
    }

    #[test]
    fn a_file_with_another_name_is_renamed_and_a_copy_beside_it_is_not() {
        let folder = TempDir::new().expect("a folder can be made");
        let text = format!("{HEAD}one\n");
        write(&folder, "j", &text);
        let known = [source(&folder, "j", &text, text.len(), true)];
        let (copy, metadata) = write(&folder, "copy", &text);
        let found = Recognised::of(copy, &metadata, &known).expect("it is read");
        assert!(found.renamed().is_none() && found.resumption.is_some());
        std::fs::rename(folder.path().join("j"), folder.path().join("j.1")).expect("it can be renamed");
        let (file, metadata) = open(&folder.path().join("j.1"));
        let found = Recognised::of(file, &metadata, &known).expect("it is read");
        assert_eq!(found.renamed().map(|source| source.source_id), Some(1));
    }

    #[test]
    fn a_file_that_holds_other_content_says_how_far_it_was_read() {
        let folder = TempDir::new().expect("a folder can be made");
        let text = format!("{HEAD}one\ntwo\n");
        write(&folder, "j", &text);
        let known = [source(&folder, "j", &text, text.len(), true)];
        for other in [HEAD.to_owned(), format!("{HEAD}One\ntwo\nthree\n"), String::new()] {
            let (file, metadata) = write(&folder, "j", &other);
            let found =
                Recognised::of(file.try_clone().expect("it is open"), &metadata, &known).expect("it is read");
            assert_eq!(
                found.rewritten(&file, &known[0].path, &known).expect("it is read"),
                Some(text.len() as u64),
                "{other:?}"
            );
            assert_eq!(rest(found), other);
        }
    }

    #[test]
    fn build_rows_alone_tell_no_file_from_another() {
        let folder = TempDir::new().expect("a folder can be made");
        write(&folder, "j", HEAD);
        let known = [source(&folder, "j", HEAD, HEAD.len(), false)];
        let (other, metadata) = write(&folder, "k", &format!("{HEAD}one\n"));
        assert_eq!(
            rest(Recognised::of(other, &metadata, &known).expect("it is read")),
            format!("{HEAD}one\n")
        );
        let (same, metadata) = write(&folder, "j", &format!("{HEAD}one\n"));
        assert_eq!(rest(Recognised::of(same, &metadata, &known).expect("it is read")), "one\n");
    }

    #[test]
    fn an_archive_goes_on_where_the_plain_file_was_left() {
        let folder = TempDir::new().expect("a folder can be made");
        let text = format!("{HEAD}one\n");
        write(&folder, "j", &text);
        let known = [source(&folder, "j", &text, text.len(), true)];
        let path = folder.path().join("j.gz");
        let file = File::create(&path).expect("it can be made");
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        packed.write_all(format!("{text}two\n").as_bytes()).expect("it can be written");
        packed.finish().expect("it can be written");
        let (file, metadata) = open(&path);
        let found = Recognised::of(file, &metadata, &known).expect("it is read");
        assert!(found.archive.is_some());
        assert_eq!(rest(found), "two\n");
    }
}
