//! Standard output, whose reader may have had enough: `| head -1`.
//!
//! That is no failure, and changes no exit code: what nobody reads goes nowhere, and who writes it goes on to the
//! verdict. An answer without one may ask whether anybody still reads, and end sooner. Everything that is written
//! to standard output goes this way; clippy refuses `std::io::stdout` elsewhere.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::stdio::{self, Patient};

/// A way out that is silent when nobody reads any more.
#[derive(Debug)]
pub struct Quiet<W> {
    out: W,
    is_unread: Arc<AtomicBool>,
}

/// Standard output.
pub fn stdout() -> Quiet<Patient<io::Stdout>> {
    Quiet::new(stdio::stdout())
}

impl<W> Quiet<W> {
    /// A way out through `out`.
    pub fn new(out: W) -> Self {
        Self { out, is_unread: Arc::default() }
    }

    /// Tells from then on whether nobody reads any more.
    pub fn unread(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_unread)
    }

    fn unless_unread<T>(&mut self, nothing: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.is_unread.load(Ordering::Relaxed) {
            return Ok(nothing);
        }
        match write(&mut self.out) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_unread.store(true, Ordering::Relaxed);
                Ok(nothing)
            }
            written => written,
        }
    }
}

impl<W: Write> Write for Quiet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_unread(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_unread((), Write::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn what_nobody_reads_goes_nowhere() {
        let mut out = Quiet::new(Closed);
        let unread = out.unread();
        assert!(!unread.load(Ordering::Relaxed));
        out.write_all(b"a verdict").expect("it is no failure");
        out.flush().expect("it is no failure");
        assert!(unread.load(Ordering::Relaxed));
    }
}
