//! Standard input, recognised by its content like a file.
//!
//! A stream cannot be read twice, so as much of it as some source was read before is spooled to a
//! nameless file first; what is new is read as it comes. It is read on a thread of its own, so that
//! what is whole can be committed, and an interruption heeded, while nothing comes.

use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::time::Duration;

use anyhow::Result;

use super::open::Opened;
use crate::journal::compression::unpacked;
use crate::journal::lines::Ending;
use crate::sources::recognition::{NEXT_LEN, furthest_with_head, read_head, recognise};
use crate::spool::Spool;
use crate::store::sources::Source;

/// So many pieces of a pipe's size are read ahead at most.
const AHEAD: usize = 64;
const PIECE: usize = 64 << 10;

/// Opens a stream after what was read before. What of it must be read twice lies in the temporary folder, or
/// in `folder`.
pub(super) fn open<'s>(
    stream: impl Read + Send + 'static,
    known: &[Source],
    stop: &'s AtomicBool,
    folder: Option<PathBuf>,
) -> Result<Opened<'s>> {
    let pump = Pump::start(stream, stop);
    let waiting = Arc::clone(&pump.waiting);
    let packed = unpacked(pump)?;
    let trailing = packed.trailing.clone();
    let opened = |bytes, resumption| Opened {
        trailing,
        bytes,
        file: None,
        ending: Ending::Complete,
        stream: Some(waiting),
        resumption,
        archive: None,
        is_renamed: false,
    };
    let mut stream = packed.bytes;
    let head = read_head(&mut stream)?;
    let Some(furthest) = furthest_with_head(known, &head) else {
        return Ok(opened(Box::new(Cursor::new(head).chain(stream)), None));
    };
    let mut spool = Spool::new(folder)?;
    spool.write(&head)?;
    let missing = (furthest + NEXT_LEN).saturating_sub(head.len() as u64);
    spool.fill(&mut stream, missing)?;
    let resumption = recognise(known, spool.file(), None)?;
    let offset = resumption.as_ref().map_or(0, |from| from.position.offset);
    let rest = spool.from(offset)?.chain(stream);
    Ok(opened(Box::new(rest), resumption))
}

/// A stream by way of a thread.
struct Pump<'s> {
    pieces: Pieces,
    piece: Cursor<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    stop: &'s AtomicBool,
}

enum Pieces {
    Of(Receiver<io::Result<Vec<u8>>>),
    /// Where no thread can be started: it is read as it is asked for, and waited for.
    Stream(Box<dyn Read + Send>),
}

impl<'s> Pump<'s> {
    fn start(stream: impl Read + Send + 'static, stop: &'s AtomicBool) -> Self {
        let (send, pieces) = sync_channel(AHEAD);
        let waiting = Arc::new(AtomicUsize::new(0));
        let sent = Arc::clone(&waiting);
        // It ends with the input, or with the process.
        let (give, taken) = channel::<Box<dyn Read + Send>>();
        let thread = std::thread::Builder::new().spawn(move || {
            let Ok(mut stream) = taken.recv() else { return };
            loop {
                let mut piece = vec![0; PIECE];
                let read = stream.read(&mut piece).map(|len| {
                    piece.truncate(len);
                    piece
                });
                if matches!(&read, Err(error) if error.kind() == io::ErrorKind::Interrupted) {
                    continue;
                }
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
        let stream: Box<dyn Read + Send> = Box::new(stream);
        let kept = if thread.is_ok() { give.send(stream).err().map(|unsent| unsent.0) } else { Some(stream) };
        let pieces = kept.map_or(Pieces::Of(pieces), Pieces::Stream);
        Self { pieces, piece: Cursor::new(Vec::new()), waiting, stop }
    }
}

impl Read for Pump<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = self.piece.read(buffer)?;
            if len > 0 || buffer.is_empty() {
                return Ok(len);
            }
            let pieces = match &mut self.pieces {
                Pieces::Of(pieces) => pieces,
                Pieces::Stream(stream) => return stream.read(buffer),
            };
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
