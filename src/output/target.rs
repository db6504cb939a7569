//! Where an answer goes: standard output, what is open already, or a file that appears only when it is whole.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, anyhow};
use tempfile::TempPath;

use super::made::{Made, Making};
use super::place::{Place, folder_of};
use super::screen;
use super::stdout::{Quiet, stdout};

use crate::stdio::Patient;
use crate::text::PathText;

/// The temporary file of the answer that is being written, for [`abandon`].
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Removes the temporary file of an answer that will not be finished.
pub fn abandon() {
    let unfinished = UNFINISHED.lock().ok().and_then(|mut unfinished| unfinished.take());
    if let Some(path) = unfinished {
        // The process is about to end; what cannot be removed now stays.
        let _ = std::fs::remove_file(path);
    }
}

fn remember(path: Option<PathBuf>) {
    if let Ok(mut unfinished) = UNFINISHED.lock() {
        *unfinished = path;
    }
}

/// Refuses to replace a file.
pub type Refusal = fn(&Path) -> Result<()>;

/// An answer's way out.
pub struct Target {
    out: BufWriter<Out>,
    goes: Goes,
    is_terminal: bool,
    unread: Arc<AtomicBool>,
}

enum Goes {
    Stdout,
    /// Written through: a device, a pipe, what was open already.
    Through(PathBuf),
    /// A temporary file beside the one that it becomes.
    File(Box<Becoming>),
}

struct Becoming {
    temporary: TempPath,
    shown: PathBuf,
    path: PathBuf,
    /// What stood there when it was decided that it may be replaced.
    seen: Option<Seen>,
    refusal: Option<Refusal>,
}

impl Target {
    /// A way to the file, or to standard output without one.
    ///
    /// # Errors
    /// When the file's folder cannot be written.
    pub fn open(file: Option<&Path>) -> Result<Self> {
        let Some(path) = file else { return Ok(Self::stdout()) };
        let place = Place::of(path).with_context(|| format!("cannot write {}", path.as_text()))?;
        Self::at(place, path, None)
    }

    /// A way to a place, which messages call `shown`. When another file stands there at the end than there does
    /// now, it is asked again whether it may be replaced.
    ///
    /// # Errors
    /// When the folder of a file cannot be written.
    pub fn at(place: Place, shown: &Path, refusal: Option<Refusal>) -> Result<Self> {
        let cannot = || format!("cannot write {}", shown.as_text());
        match place {
            Place::Stdout => Ok(Self::stdout()),
            Place::Open(file) => Ok(Self::through(file, shown)),
            Place::Device(path) => {
                let device = OpenOptions::new().write(true).open(path).with_context(cannot)?;
                Ok(Self::through(device, shown))
            }
            Place::File(path, existing) => {
                let folder = folder_of(&path);
                if !folder.exists() {
                    return Err(anyhow!("there is no folder {}", folder.as_text())).with_context(cannot);
                }
                let mode = existing.as_ref().map_or(0o666, |existing| existing.permissions().mode() & 0o7777);
                // With errors that do not name the temporary file, as those of the crate's own way do.
                let temporary = tempfile::Builder::new()
                    .prefix(".narwhal-jq-")
                    .make_in(folder, |path| {
                        OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
                    })
                    .with_context(cannot)?;
                // Its own errors would name the temporary file, which means nothing to the user.
                let (file, temporary) = temporary.into_parts();
                remember(Some(temporary.to_path_buf()));
                let seen = existing.as_ref().map(Seen::of);
                let becoming = Becoming { temporary, shown: shown.to_owned(), path, seen, refusal };
                Ok(Self {
                    out: BufWriter::new(Out::File(file, Box::default())),
                    goes: Goes::File(Box::new(becoming)),
                    is_terminal: false,
                    unread: Arc::default(),
                })
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "nothing is written this way")]
    fn stdout() -> Self {
        let out = stdout();
        Self {
            unread: out.unread(),
            out: BufWriter::new(Out::Stdout(out)),
            goes: Goes::Stdout,
            is_terminal: io::stdout().is_terminal(),
        }
    }

    fn through(file: File, shown: &Path) -> Self {
        let is_terminal = file.is_terminal();
        let out = Quiet::new(Patient::new(file));
        Self {
            unread: out.unread(),
            out: BufWriter::new(Out::Through(out)),
            goes: Goes::Through(shown.to_owned()),
            is_terminal,
        }
    }

    /// Where to write.
    pub fn writer(&mut self) -> &mut (dyn Write + Send) {
        &mut self.out
    }

    /// Whether a terminal shows what is written.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The columns of the terminal that shows what is written, if one does.
    pub fn width(&self) -> Option<usize> {
        if self.is_terminal { screen::width_of_stdout() } else { None }
    }

    /// Tells from then on whether nobody reads any more.
    pub fn unread(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.unread)
    }

    /// Names what cannot be written, if it is that which failed.
    pub fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        if !error.chain().any(|cause| cause.is::<io::Error>() || cause.is::<csv::Error>()) {
            return error;
        }
        error.context(match &self.goes {
            Goes::Stdout => "cannot write the answer".to_owned(),
            Goes::Through(shown) => format!("cannot write {}", shown.as_text()),
            Goes::File(becoming) => format!("cannot write {}", becoming.shown.as_text()),
        })
    }

    /// Completes the answer: a file gets its name, and the next call knows it for one that was written here.
    ///
    /// # Errors
    /// When the rest cannot be written; then there is no file.
    pub fn finish(mut self) -> Result<Made> {
        let cannot = |shown: &Path| format!("cannot write {}", shown.as_text());
        let flushed = self.out.flush();
        let becoming = match self.goes {
            Goes::File(becoming) => becoming,
            Goes::Through(shown) => {
                return flushed.map(|()| Making::default().made()).with_context(|| cannot(&shown));
            }
            Goes::Stdout => {
                return flushed.map(|()| Making::default().made()).context("cannot write the answer");
            }
        };
        let Becoming { temporary, shown, path, seen, refusal } = *becoming;
        flushed.with_context(|| cannot(&shown))?;
        let Out::File(file, making) = self.out.get_ref() else { unreachable!("a temporary file is written") };
        let made = making.made();
        made.note_in(file);
        if let Some(refusal) = refusal
            && seen != path.symlink_metadata().ok().as_ref().map(Seen::of)
        {
            refusal(&path)?;
        }
        temporary.persist(&path).map_err(|error| error.error).with_context(|| cannot(&shown))?;
        remember(None);
        Ok(made)
    }
}

/// What tells whether a file is still the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    file: (u64, u64),
    len: u64,
    changed: (i64, i64),
}

impl Seen {
    fn of(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            len: metadata.len(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

enum Out {
    Stdout(Quiet<Patient<io::Stdout>>),
    Through(Quiet<Patient<File>>),
    File(File, Box<Making>),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Through(out) => out.write(bytes),
            Self::File(file, making) => {
                let len = file.write(bytes)?;
                making.take(&bytes[..len]);
                Ok(len)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Through(out) => out.flush(),
            Self::File(file, _) => file.flush(),
        }
    }
}
