//! Standard input, recognised by its content like a file.
//!
//! A stream cannot be read twice, so as much of it as some source was read before is spooled to a
//! nameless file first; what is new is read as it comes. It is read on a thread of its own, so that
//! what is whole can be committed, and an interruption heeded, while nothing comes.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::open::Opened;
use crate::journal::compression::unpacked;
use crate::journal::lines::{Ending, FINGERPRINT_LEN};
use crate::store::sources::{self, Source};

/// So many pieces of a pipe's size are read ahead at most.
const AHEAD: usize = 64;
const PIECE: usize = 64 << 10;

/// Opens standard input behind what was read before.
pub(super) fn open<'s>(known: &[Source], stop: &'s AtomicBool) -> io::Result<Opened<'s>> {
    let pump = Pump::start(stop);
    let waiting = Arc::clone(&pump.waiting);
    let opened = |bytes, resumption| Opened {
        bytes,
        file: None,
        ending: Ending::Complete,
        stream: Some(waiting),
        resumption,
        archive: None,
    };
    let (mut stream, _) = unpacked(pump)?;
    let mut head = Vec::new();
    stream.by_ref().take(FINGERPRINT_LEN as u64).read_to_end(&mut head)?;
    let Some(furthest) = sources::furthest_with_head(known, &head) else {
        return Ok(opened(Box::new(Cursor::new(head).chain(stream)), None));
    };
    let mut spool = tempfile::tempfile()?;
    spool.write_all(&head)?;
    let missing = (furthest + sources::NEXT_LEN).saturating_sub(head.len() as u64);
    io::copy(&mut stream.by_ref().take(missing), &mut spool)?;
    let resumption = sources::recognise(known, &spool, None)?;
    let offset = resumption.as_ref().map_or(0, |from| from.position.offset);
    let rest = from_position(spool, offset)?.chain(stream);
    Ok(opened(Box::new(rest), resumption))
}

fn from_position(mut file: File, offset: u64) -> io::Result<File> {
    file.seek(SeekFrom::Start(offset))?;
    Ok(file)
}

/// Standard input by way of a thread.
struct Pump<'s> {
    /// Nothing where no thread can be started: then it is read as it is asked for, and waited for.
    pieces: Option<Receiver<io::Result<Vec<u8>>>>,
    piece: Cursor<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    stop: &'s AtomicBool,
}

impl<'s> Pump<'s> {
    fn start(stop: &'s AtomicBool) -> Self {
        let (send, pieces) = sync_channel(AHEAD);
        let waiting = Arc::new(AtomicUsize::new(0));
        let sent = Arc::clone(&waiting);
        // It ends with the input, or with the process.
        let thread = std::thread::Builder::new().spawn(move || {
            loop {
                let mut piece = vec![0; PIECE];
                let read = io::stdin().read(&mut piece).map(|len| {
                    piece.truncate(len);
                    piece
                });
                if matches!(&read, Ok(piece) if piece.is_empty()) {
                    return;
                }
                let failed = read.is_err();
                sent.fetch_add(1, Ordering::Relaxed);
                if send.send(read).is_err() || failed {
                    return;
                }
            }
        });
        Self { pieces: thread.is_ok().then_some(pieces), piece: Cursor::new(Vec::new()), waiting, stop }
    }
}

impl Read for Pump<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = self.piece.read(buffer)?;
            if len > 0 || buffer.is_empty() {
                return Ok(len);
            }
            let Some(pieces) = &self.pieces else { return io::stdin().read(buffer) };
            match pieces.recv_timeout(Duration::from_millis(50)) {
                Ok(piece) => {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.piece = Cursor::new(piece?);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                // Not the end of the input: its last line may be unfinished.
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    return Err(io::Error::other("interrupted"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
