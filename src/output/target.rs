//! Where an answer goes: standard output, or a file that appears only when it is whole.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;

use crate::stdio::{self, Patient};

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

/// An answer's way out.
#[derive(Debug)]
pub enum Target {
    /// Standard output.
    Stdout(BufWriter<Patient<io::Stdout>>),
    /// A temporary file beside the one that it becomes.
    File(BufWriter<NamedTempFile>, PathBuf),
    /// Something that is no regular file, as `/dev/full`, and must not be replaced by one.
    Device(BufWriter<File>, PathBuf),
}

impl Target {
    /// A way to the file, or to standard output without one.
    ///
    /// # Errors
    /// When the file's folder cannot be written.
    pub fn open(file: Option<&Path>) -> Result<Self> {
        let Some(path) = file.filter(|path| *path != Path::new("-")) else {
            return Ok(Self::Stdout(BufWriter::new(stdio::stdout())));
        };
        let cannot = || format!("cannot write {}", path.display());
        let existing = path.metadata().ok();
        if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
            let device = OpenOptions::new().write(true).open(path).with_context(cannot)?;
            return Ok(Self::Device(BufWriter::new(device), path.to_owned()));
        }
        // A link stays, and what it names is replaced.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            bail!("{}: there is no folder {}", cannot(), folder.display());
        }
        let mode = existing.map_or(Permissions::from_mode(0o666), |existing| existing.permissions());
        let temporary = tempfile::Builder::new()
            .prefix(".narwhal-jq-")
            .permissions(mode)
            .tempfile_in(folder)
            // Its text names the temporary file, which means nothing to the user.
            .map_err(|error| io::Error::from(error.kind()))
            .with_context(cannot)?;
        remember(Some(temporary.path().to_owned()));
        Ok(Self::File(BufWriter::new(temporary), path))
    }

    /// Where to write.
    pub fn writer(&mut self) -> &mut (dyn Write + Send) {
        match self {
            Self::Stdout(out) => out,
            Self::File(out, _) => out,
            Self::Device(out, _) => out,
        }
    }

    /// Whether a terminal shows what is written.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Stdout(_)) && io::stdout().is_terminal()
    }

    /// Completes the answer: a file gets its name.
    ///
    /// # Errors
    /// When the rest cannot be written; then there is no file.
    pub fn finish(self) -> Result<()> {
        match self {
            Self::Stdout(mut out) => out.flush().context("cannot write the answer"),
            Self::Device(mut out, path) => {
                out.flush().with_context(|| format!("cannot write {}", path.display()))
            }
            Self::File(out, path) => {
                let cannot = || format!("cannot write {}", path.display());
                let file = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(cannot)?;
                file.persist(&path).map_err(|error| error.error).with_context(cannot)?;
                remember(None);
                Ok(())
            }
        }
    }
}
