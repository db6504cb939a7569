//! Standard input, output and error as they are handed to us.
//!
//! Whoever started the program may have put them into non-blocking mode, which is part of what is open and not
//! ours to change: others use it, too. Where there is nothing to read or no room to write we wait, and go on.

use std::io::{self, ErrorKind, Read, Stderr, Stdin, Stdout, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A stream that waits where the one in it says that it would have to.
#[derive(Debug)]
pub struct Patient<S>(S);

/// Standard input.
pub fn stdin() -> Patient<Stdin> {
    Patient(io::stdin())
}

/// Standard output.
#[expect(clippy::disallowed_methods, reason = "the one place that may")]
pub fn stdout() -> Patient<Stdout> {
    Patient(io::stdout())
}

/// Standard error.
pub fn stderr() -> Heard {
    Heard(Patient(io::stderr()))
}

/// Whether the program is to end: then nobody is waited for who does not read what is said.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// From now on what is said is lost where it would have to wait, as for a supervisor that reads nothing.
pub fn stop_waiting() {
    IS_ENDING.store(true, Ordering::Relaxed);
}

/// Standard error. Who waits until it is read can be asked to end meanwhile.
#[derive(Debug)]
pub struct Heard(Patient<Stderr>);

impl Heard {
    /// So many bytes a pipe takes at once when it takes any.
    const PIECE: usize = 4096;
    const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
}

impl Write for Heard {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        loop {
            let is_ending = IS_ENDING.load(Ordering::Relaxed);
            let wait = if is_ending { Timespec::default() } else { Self::LOOK };
            match poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], Some(&wait)) {
                Ok(0) if is_ending => return Err(ErrorKind::TimedOut.into()),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                _ => return self.0.write(&buffer[..buffer.len().min(Self::PIECE)]),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<S: AsFd> Patient<S> {
    /// Another stream that was handed to us.
    pub fn new(stream: S) -> Self {
        Self(stream)
    }

    /// Does something until it needs no waiting.
    fn wait<T>(
        &mut self,
        what: PollFlags,
        mut attempt: impl FnMut(&mut S) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match attempt(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    match poll(&mut [PollFd::new(&self.0, what)], None) {
                        Ok(_) | Err(rustix::io::Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                done => return done,
            }
        }
    }
}

impl<S: Read + AsFd> Read for Patient<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait(PollFlags::IN, |stream| stream.read(buffer))
    }
}

impl<S: Write + AsFd> Write for Patient<S> {
    // What is inside has taken nothing of the buffer when it says that it would have to wait.
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.wait(PollFlags::OUT, |stream| stream.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wait(PollFlags::OUT, Write::flush)
    }
}

impl<S: AsFd> AsFd for Patient<S> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}
