//! Standard input, recognised by its content like a file.
//!
//! A stream cannot be read twice, so as much of it as some source was read before is spooled to a
//! nameless file first; what is new is read as it comes.

use std::io::{self, Read, Write};

use crate::journal::lines::FINGERPRINT_LEN;
use crate::store::sources::{self, Resumption, Source};

/// The rest of standard input behind what was read before, and where that was.
pub(super) fn open(known: &[Source]) -> io::Result<(Box<dyn Read>, Option<Resumption>)> {
    let mut stdin = io::stdin();
    let mut head = Vec::new();
    stdin.by_ref().take(FINGERPRINT_LEN as u64).read_to_end(&mut head)?;
    let Some(furthest) = sources::furthest_with_head(known, &head) else {
        return Ok((Box::new(io::Cursor::new(head).chain(stdin)), None));
    };
    let mut spool = tempfile::tempfile()?;
    spool.write_all(&head)?;
    let missing = furthest.saturating_sub(head.len() as u64);
    io::copy(&mut stdin.by_ref().take(missing), &mut spool)?;
    let resumption = sources::recognise(known, &spool, None)?;
    let offset = resumption.as_ref().map_or(0, |from| from.position.offset);
    Ok((Box::new(super::from_position(spool, offset)?.chain(stdin)), resumption))
}
