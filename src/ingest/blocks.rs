//! Lines of an input in blocks, already read into rows: on a thread of their own where there is a
//! second core, so that one reads and parses while the other writes.
//!
//! A block owns the bytes that its rows borrow from. Blocks that were written go back to where they
//! were made, so memory is that of a few blocks, whatever the input's size.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Scope, available_parallelism};

use self_cell::self_cell;

use crate::journal::lines::{Line, Lines, Position};
use crate::journal::segments::{Content, read_line};

/// A block ends at the line that brings it to so many bytes: few enough to stay in a core's cache,
/// enough that handing it over costs nothing beside reading it.
const BLOCK_BYTES: usize = 128 << 10;

/// Or to so many lines.
const BLOCK_LINES: usize = 1000;

/// Blocks that wait to be written: with more of them the rows have left the caches when their turn comes.
const AHEAD: usize = 2;

/// What the bytes of an input are read from.
pub(super) type Bytes<'i> = Box<dyn Read + Send + 'i>;

/// Lines as they stand in the input, one after the other.
#[derive(Debug, Default)]
struct Raw {
    bytes: Vec<u8>,
    lines: Vec<Place>,
    /// Where reading goes on after them.
    after: Position,
    /// Whether the next line could be given without reading more.
    more_is_buffered: bool,
}

/// A line of a block, newline excluded.
#[derive(Debug)]
struct Place {
    /// Its bytes in the block.
    from: usize,
    to: usize,
    /// Its place in the input, see [`Line`].
    offset: u64,
    number: u64,
    len: u64,
}

type Contents<'a> = Vec<Content<'a>>;

self_cell!(
    /// Consecutive lines of an input, with what each holds.
    pub(super) struct Block {
        owner: Raw,
        #[covariant]
        dependent: Contents,
    }
    impl {Debug}
);

impl Block {
    fn read(raw: Raw) -> Self {
        Self::new(raw, |raw| {
            let line = |place: &Place| read_line(&raw.bytes[place.from..place.to]);
            raw.lines.iter().map(line).collect()
        })
    }

    /// The lines, and what each holds.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Line<'_>, &Content<'_>)> {
        let raw = self.borrow_owner();
        let lines = raw.lines.iter().map(|place| Line {
            bytes: &raw.bytes[place.from..place.to],
            offset: place.offset,
            number: place.number,
            len: place.len,
        });
        lines.zip(self.borrow_dependent())
    }

    /// The offset of the first line.
    pub(super) fn offset(&self) -> u64 {
        self.borrow_owner().lines.first().map_or(0, |place| place.offset)
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> u64 {
        self.borrow_owner().lines.len() as u64
    }

    /// Where reading goes on after the last line.
    pub(super) fn after(&self) -> &Position {
        &self.borrow_owner().after
    }

    /// Whether the next line could be given without reading more of the input.
    pub(super) fn more_is_buffered(&self) -> bool {
        self.borrow_owner().more_is_buffered
    }
}

/// What comes next of an input.
pub(super) enum Next {
    /// At least one line.
    Block(Block),
    /// The end, with so many bytes of an unfinished line; or why there is nothing more.
    End { pending_bytes: u64, failure: Option<io::Error> },
}

/// Takes lines together.
struct Maker<'i> {
    lines: Lines<Bytes<'i>>,
    failure: Option<io::Error>,
}

impl Maker<'_> {
    fn next(&mut self, spare: Raw) -> Next {
        let mut raw = self.take(spare);
        if raw.lines.is_empty() {
            return Next::End { pending_bytes: self.lines.pending_bytes(), failure: self.failure.take() };
        }
        raw.after = self.lines.position();
        raw.more_is_buffered = self.lines.has_buffered_line();
        Next::Block(Block::read(raw))
    }

    /// Lines until a block is full, or until the next would have to be waited for.
    fn take(&mut self, mut raw: Raw) -> Raw {
        raw.bytes.clear();
        raw.lines.clear();
        while self.failure.is_none() && raw.bytes.len() < BLOCK_BYTES && raw.lines.len() < BLOCK_LINES {
            if !raw.lines.is_empty() && !self.lines.has_buffered_line() {
                break;
            }
            match self.lines.next_line() {
                Ok(Some(line)) => {
                    let from = raw.bytes.len();
                    raw.bytes.extend_from_slice(line.bytes);
                    let to = raw.bytes.len();
                    let Line { offset, number, len, .. } = line;
                    raw.lines.push(Place { from, to, offset, number, len });
                }
                Ok(None) => break,
                Err(error) => self.failure = Some(error),
            }
        }
        raw
    }
}

/// The blocks of an input.
pub(super) struct Blocks<'i>(Where<'i>);

/// Where blocks are made.
enum Where<'i> {
    /// When they are asked for.
    Here { maker: Box<Maker<'i>>, spare: Raw },
    /// Ahead, on another thread.
    Ahead { made: Receiver<Next>, spare: Sender<Block> },
}

impl<'i> Blocks<'i> {
    /// Blocks made as they are asked for: of an input that may make us wait, or where one core has
    /// to do it all.
    pub(super) fn here(lines: Lines<Bytes<'i>>) -> Self {
        Self(Where::Here { maker: Box::new(Maker { lines, failure: None }), spare: Raw::default() })
    }

    /// Blocks made on a thread of their own, if there is a core for it and a thread can be had.
    pub(super) fn ahead<'s>(lines: Lines<Bytes<'i>>, scope: &'s Scope<'s, '_>) -> Self
    where
        'i: 's,
    {
        if available_parallelism().is_ok_and(|cores| cores.get() == 1) {
            return Self::here(lines);
        }
        let (send, made) = sync_channel(AHEAD);
        let (spare, returned) = channel();
        let (give, taken) = channel();
        // The lines go to it when it is there: who has to do without it needs them here.
        let thread = std::thread::Builder::new().spawn_scoped(scope, move || {
            if let Ok(maker) = taken.recv() {
                make_ahead(maker, &send, &returned);
            }
        });
        if thread.is_err() {
            return Self::here(lines);
        }
        drop(give.send(Maker { lines, failure: None }));
        Self(Where::Ahead { made, spare })
    }

    /// What comes next.
    pub(super) fn next(&mut self) -> Next {
        match &mut self.0 {
            Where::Here { maker, spare } => maker.next(std::mem::take(spare)),
            Where::Ahead { made, .. } => {
                made.recv().unwrap_or_else(|_| unreachable!("the end is sent before the thread ends"))
            }
        }
    }

    /// Gives back a block of which nothing is needed any more.
    pub(super) fn give_back(&mut self, block: Block) {
        match &mut self.0 {
            Where::Here { spare, .. } => *spare = block.into_owner(),
            // When the end was made already nobody needs it.
            Where::Ahead { spare, .. } => drop(spare.send(block)),
        }
    }
}

/// Makes blocks until the end, or until nobody takes them any more.
fn make_ahead(mut maker: Maker<'_>, made: &SyncSender<Next>, returned: &Receiver<Block>) {
    loop {
        let spare = returned.try_recv().map(Block::into_owner).unwrap_or_default();
        let next = maker.next(spare);
        let is_end = matches!(next, Next::End { .. });
        if made.send(next).is_err() || is_end {
            return;
        }
    }
}
