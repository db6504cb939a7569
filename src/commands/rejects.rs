//! `rejects`: what could not be read as it stands.

use anyhow::Result;

use super::{Teller, answer, open_to_read};
use crate::cli::{Global, Rejects, RejectsAction};
use crate::exit::Exit;

/// Places read `path:line:byte`, the byte counted in the file.
const LIST: &str = "
select
    s.path || ':' || r.line_no || ':' || r.byte_offset as place,
    r.kind as kind,
    r.len_bytes as len_bytes,
    r.reason as reason,
    r.raw as raw
from rejects as r
join sources as s on s.source_id = r.source_id
order by r.source_id, r.byte_offset, r.kind";

pub(super) fn run(global: &Global, flags: &Rejects) -> Result<Exit> {
    let (Some(RejectsAction::List) | None) = flags.action;
    let mut connection = open_to_read(global)?;
    if answer(&mut connection, LIST, &[], &flags.output)? == 0 {
        Teller::new(global).note("no line was rejected or repaired");
    }
    Ok(Exit::Done)
}
