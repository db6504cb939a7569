//! What a path given for an answer leads to.
//!
//! `/dev/stdout`, `/dev/fd/N`, `/proc/PID/fd/N` and links to them lead to what is open already, whatever file that
//! is: to open or to replace the file of that name would write over what stands there.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// What a path leads to, links followed.
#[derive(Debug)]
pub enum Place {
    /// Standard output.
    Stdout,
    /// Something that is open already.
    Open(File),
    /// Something that is no regular file, as a device or a pipe, and must not be replaced by one.
    Device(PathBuf),
    /// A regular file, or none yet.
    File(PathBuf, Option<Metadata>),
}

impl Place {
    /// Finds out. `-` is standard output.
    ///
    /// # Errors
    /// When links lead in a circle, or what is open cannot be had.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let mut at = path.to_owned();
        for _ in 0..MAX_LINKS {
            if let Some(open) = Descriptor::named(&at) {
                return open.place();
            }
            match fs::symlink_metadata(&at) {
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
                {
                    return Ok(Self::File(at, None));
                }
                Err(error) => return Err(error),
                Ok(link) if link.is_symlink() => {
                    at = at.parent().unwrap_or(Path::new("")).join(fs::read_link(&at)?)
                }
                Ok(file) if file.is_file() => return Ok(Self::File(at, Some(file))),
                Ok(_) => return Ok(Self::Device(at)),
            }
        }
        Err(io::Error::other("its links lead in a circle"))
    }
}

/// The folder in which a path's last name stands.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that a process has open.
struct Descriptor {
    /// The process as `/proc` names it, unless it is this one.
    process: Option<i32>,
    number: i32,
    /// Where `/proc` tells of the process, or of its thread.
    proc: PathBuf,
}

impl Descriptor {
    /// The descriptor that a path names, its last name no link to it.
    fn named(path: &Path) -> Option<Self> {
        let number: i32 = path.file_name()?.to_str()?.parse().ok()?;
        let folder = folder_of(path).canonicalize().ok()?;
        if folder == Path::new("/dev/fd") {
            // Where it is no link into `/proc`, opening it gives what is open.
            return Some(Self { process: None, number, proc: PathBuf::new() });
        }
        let names: Option<Vec<&str>> = folder
            .components()
            .map(|name| if name == Component::RootDir { Some("/") } else { name.as_os_str().to_str() })
            .collect();
        let process = match names?.as_slice() {
            ["/", "proc", process, "fd"] | ["/", "proc", process, "task", _, "fd"] => process.parse().ok()?,
            _ => return None,
        };
        let own: Option<i32> =
            fs::read_link("/proc/self").ok().and_then(|own| own.to_str().and_then(|own| own.parse().ok()));
        let process = (own != Some(process)).then_some(process);
        Some(Self { process, number, proc: folder.parent()?.to_owned() })
    }

    fn place(&self) -> io::Result<Place> {
        Ok(Place::Open(match (self.process, self.number) {
            (None, 1) => return Ok(Place::Stdout),
            (None, 0) => io::stdin().as_fd().try_clone_to_owned()?.into(),
            (None, 2) => io::stderr().as_fd().try_clone_to_owned()?.into(),
            _ => self.file()?,
        }))
    }

    fn file(&self) -> io::Result<File> {
        if self.proc.as_os_str().is_empty() {
            return OpenOptions::new().write(true).open(Path::new("/dev/fd").join(self.number.to_string()));
        }
        let Some(Status { offset, is_appending, is_closed_on_start }) = self.status() else {
            return Err(io::Error::other(format!("descriptor {} is not open", self.number)));
        };
        // One that this program opened for itself was not given to it.
        if self.process.is_none() && is_closed_on_start {
            return Err(io::Error::other(format!("descriptor {} is not open", self.number)));
        }
        if let Some(same) = self.duplicate() {
            return Ok(same);
        }
        // Not allowed, or an old kernel: a second way into the same file, at the same place.
        let path = self.proc.join("fd").join(self.number.to_string());
        if is_appending {
            return OpenOptions::new().append(true).open(path);
        }
        let mut file = OpenOptions::new().write(true).open(path)?;
        if file.metadata()?.is_file() {
            file.seek(SeekFrom::Start(offset))?;
        }
        Ok(file)
    }

    /// The same open file, at the same place in it and moving it for all who have it open.
    #[cfg(target_os = "linux")]
    fn duplicate(&self) -> Option<File> {
        use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
        let process = self.process.map_or_else(|| i32::try_from(std::process::id()).ok(), Some);
        let process = pidfd_open(Pid::from_raw(process?)?, PidfdFlags::empty()).ok()?;
        pidfd_getfd(process, self.number, PidfdGetfdFlags::empty()).ok().map(File::from)
    }

    #[cfg(not(target_os = "linux"))]
    fn duplicate(&self) -> Option<File> {
        None
    }

    fn status(&self) -> Option<Status> {
        let told = fs::read_to_string(self.proc.join("fdinfo").join(self.number.to_string())).ok()?;
        let field = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let flags = u32::from_str_radix(field("flags:")?, 8).ok()?;
        Some(Status {
            offset: field("pos:")?.parse().ok()?,
            is_appending: flags & rustix::fs::OFlags::APPEND.bits() != 0,
            is_closed_on_start: flags & rustix::fs::OFlags::CLOEXEC.bits() != 0,
        })
    }
}

/// What `/proc` tells of a descriptor.
struct Status {
    offset: u64,
    is_appending: bool,
    is_closed_on_start: bool,
}
