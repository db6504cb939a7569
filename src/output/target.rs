//! Where an answer goes: standard output, or a file that appears only when it is whole.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// An answer's way out.
#[derive(Debug)]
pub enum Target {
    /// Standard output.
    Stdout(BufWriter<io::Stdout>),
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
        let Some(path) = file else {
            return Ok(Self::Stdout(BufWriter::new(io::stdout())));
        };
        let cannot = || format!("cannot write {}", path.display());
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let device = OpenOptions::new().write(true).open(path).with_context(cannot)?;
            return Ok(Self::Device(BufWriter::new(device), path.to_owned()));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let temporary =
            tempfile::Builder::new().prefix(".narwhal-jq-").tempfile_in(folder).with_context(cannot)?;
        Ok(Self::File(BufWriter::new(temporary), path.to_owned()))
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
                set_usual_mode(file.as_file()).with_context(cannot)?;
                file.persist(&path).map_err(|error| error.error).with_context(cannot)?;
                Ok(())
            }
        }
    }
}

/// A temporary file is its owner's alone; the answer is to be read like any other file.
fn set_usual_mode(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}
