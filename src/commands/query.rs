//! `query`: answer a canned question, or list them.

use std::io::{self, Write};

use anyhow::Result;

use super::{Teller, answer_redacted, ingest, interrupt, open_to_read, redactor};
use crate::cli::{Ask, Global, PARAMETER};
use crate::exit::Exit;
use crate::query::catalog::Query;
use crate::query::datasette::metadata;
use crate::query::{caveats, params};
use crate::text::json_escaped;

pub(super) fn run(global: &Global, ask: &Ask) -> Result<Exit> {
    let teller = Teller::new(global);
    for (path, fault) in &ask.faults {
        teller.warn(&format!("{}: {fault:#}: left out", path.display()));
    }
    if ask.flags.datasette {
        let stem = global.db.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        let metadata = metadata(&stem, &ask.catalog);
        let text = serde_json::to_string_pretty(&metadata).map_err(io::Error::from)?;
        writeln!(io::stdout(), "{}", json_escaped(&text))?;
        return Ok(Exit::Done);
    }
    let Some(query) = &ask.query else {
        list(&ask.catalog)?;
        return Ok(Exit::Done);
    };
    let exit = match ask.flags.ingest.as_slice() {
        [] => Exit::Done,
        paths => ingest::read_first(global, paths)?,
    };
    if exit == Exit::Interrupted {
        return Ok(exit);
    }
    interrupt::end_on_signal()?;
    let mut connection = open_to_read(global)?;
    let bound = params::bind(&connection, query, |name| {
        ask.given.get_one::<String>(&format!("{PARAMETER}{name}")).cloned()
    })?;
    let caveats = caveats::of(&connection, query, &bound)?;
    let redactor = redactor(&connection, &ask.flags.privacy)?;
    let redactor = redactor.as_ref();
    let rows =
        answer_redacted(&mut connection, &query.sql, &bound, &query.kinds(), &ask.flags.output, redactor)?;
    if rows == 0 {
        teller.note("no rows");
    }
    for caveat in caveats {
        teller.note(&caveat);
    }
    Ok(exit)
}

/// The catalog in groups, a line each.
fn list(catalog: &[Query]) -> Result<()> {
    let mut out = io::stdout().lock();
    let width = catalog.iter().map(|query| query.name.len()).max().unwrap_or(0);
    let mut groups: Vec<&str> = Vec::new();
    for query in catalog {
        if !groups.contains(&query.group.as_str()) {
            groups.push(&query.group);
        }
    }
    for group in groups {
        writeln!(out, "{group}")?;
        for query in catalog.iter().filter(|query| query.group == group) {
            writeln!(out, "  {:width$}  {}", query.name, query.purpose)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "`narwhal-jq query NAME --help` is the manual of a query.")?;
    Ok(())
}
