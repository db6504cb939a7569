//! Standard input, output and error as they are handed to us.
//!
//! Whoever started the program may have put them into non-blocking mode, which is part of what is open and not
//! ours to change: others use it, too. Where there is nothing to read or no room to write we wait, and go on.

use std::io::{self, ErrorKind, Read, Stderr, Stdin, Stdout, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};

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
pub fn stderr() -> Patient<Stderr> {
    Patient(io::stderr())
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
