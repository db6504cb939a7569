//! `verify`: says what does not hold in the database, and how much was looked at.

use std::io::Write;

use anyhow::Result;
use rusqlite::Connection;

use super::{Teller, open_to_read};
use crate::cli::Global;
use crate::exit::Exit;
use crate::output::stdout::stdout;
use crate::sources::state::{self, State};
use crate::store::{self, sources};
use crate::text::escaped;

/// Each check: what must hold, and a statement with a row, a sentence, for whatever breaks it.
const CHECKS: &[(&str, &str)] = &[
    ("the file is whole", "select integrity_check from pragma_integrity_check where integrity_check <> 'ok'"),
    (
        "rows refer to rows that are there",
        "select \"table\" || ' row ' || coalesce(rowid, '?') || ' refers to a missing row of ' || parent
         from pragma_foreign_key_check",
    ),
    (
        "a request arrived once",
        "select 'run ' || r.run || ': rid ' || t.rid || ' stands ' || count(*) || ' times, with different arrived'
         from terminals as t join runs as r on r.run_id = t.run_id
         group by t.run_id, t.rid having count(*) > 1",
    ),
    (
        "terminals have the attempt failures they count",
        "select 'terminal ' || t.terminal_id || ' counts ' || t.attempt_failures || ' attempt failures and has ' || count(f.position)
         from terminals as t left join attempt_failures as f on f.terminal_id = t.terminal_id
         where t.attempt_failures > 0
         group by t.terminal_id having count(f.position) <> t.attempt_failures
         union all
         select 'attempt failures of terminal ' || f.terminal_id || ', which counts none'
         from attempt_failures as f join terminals as t on t.terminal_id = f.terminal_id
         where coalesce(t.attempt_failures, 0) = 0
         group by f.terminal_id",
    ),
    (
        "legs equal attempts and decode_attempts",
        "with counted as (
             select terminal_id, sum(leg = 'prefill') as prefill, sum(leg = 'decode') as decode
             from legs group by terminal_id
         )
         select 'run ' || r.run || ': rid ' || t.rid || ' has ' || t.attempts || ' attempts and ' || t.decode_attempts
             || ' decode attempts, but ' || coalesce(c.prefill, 0) || ' and ' || coalesce(c.decode, 0) || ' legs'
         from terminals as t
         join runs as r on r.run_id = t.run_id
         left join counted as c on c.terminal_id = t.terminal_id
         where coalesce(c.prefill, 0) <> t.attempts or coalesce(c.decode, 0) <> t.decode_attempts",
    ),
    (
        "runs span the times stored for them",
        "with times as (
             select run_id, arrived as low, case when arrived + duration_s < 9e999 then arrived + duration_s else arrived end as high
             from terminals
             union all select run_id, at, at from attempt_failures where at is not null
             union all select run_id, at, at from events where clock = 'monotonic' and at is not null
         ), spans as (
             select run_id, min(low) as low, max(max(low), max(high)) as high from times group by run_id
         )
         select 'run ' || r.run || ' spans ' || coalesce(r.first_s, 'null') || ' to ' || coalesce(r.last_s, 'null')
             || ', its rows ' || coalesce(s.low, 'null') || ' to ' || coalesce(s.high, 'null')
         from runs as r left join spans as s on s.run_id = r.run_id
         where r.first_s is not s.low or r.last_s is not s.high",
    ),
    (
        "rows stand before the offset of their source",
        "with placed as (
             select source_id, byte_offset from terminals
             union all select source_id, byte_offset from events
             union all select source_id, byte_offset from builds
             union all select source_id, byte_offset from rejects
         )
         select s.path || ': ' || count(*) || ' rows stand behind offset ' || s.offset_bytes
         from placed as p join sources as s on s.source_id = p.source_id
         where p.byte_offset >= s.offset_bytes
         group by s.source_id",
    ),
    (
        "forgotten runs are gone",
        "select 'run ' || f.run || ' is forgotten, and stored' from forgotten as f join runs as r on r.run = f.run",
    ),
    (
        "requests are counted as they are stored",
        "with both as (
             select run_id, terminal, requests as kept, 0 as stored from terminal_counts
             union all select run_id, terminal, 0, count(*) from terminals group by run_id, terminal
         )
         select 'run ' || coalesce(r.run, b.run_id) || ': ' || sum(b.kept) || ' requests counted as ' || b.terminal || ', '
             || sum(b.stored) || ' stored'
         from both as b left join runs as r on r.run_id = b.run_id
         group by b.run_id, b.terminal having sum(b.kept) <> sum(b.stored)",
    ),
    (
        "legs are counted as they are stored",
        "with both as (
             select run_id, leg, engine, attempts, failures, retried, output_started from leg_counts
             union all
             select run_id, leg, engine, -1, -failed, -(failed = 1 and retry_scheduled is 1), -(failed = 1 and output_started is 1)
             from legs
             union all
             select run_id, 'unattributed', '', 0, -1, 0, 0 from attempt_failures where attributed = 0
         )
         select 'run ' || coalesce(r.run, b.run_id) || ': ' || b.leg || ' legs of engine ' || b.engine || ' counted are off by '
             || sum(b.attempts) || ' attempts, ' || sum(b.failures) || ' failures, ' || sum(b.retried) || ' retried, '
             || sum(b.output_started) || ' with output'
         from both as b left join runs as r on r.run_id = b.run_id
         group by b.run_id, b.leg, b.engine
         having sum(b.attempts) <> 0 or sum(b.failures) <> 0 or sum(b.retried) <> 0 or sum(b.output_started) <> 0",
    ),
];

pub(super) fn run(global: &Global) -> Result<Exit> {
    let connection = open_to_read(global)?;
    let teller = Teller::new(global);
    let mut out = stdout();
    let mut broken = 0;
    let mut tell = |holds: &str, found: rusqlite::Result<Vec<String>>| -> Result<()> {
        let found = found.map_err(|error| store::explain(&global.db, error.into()))?;
        writeln!(out, "{}  {holds}", if found.is_empty() { "ok    " } else { "BROKEN" })?;
        for sentence in found.iter().take(MAX_SHOWN) {
            writeln!(out, "        {}", escaped(sentence))?;
        }
        if found.len() > MAX_SHOWN {
            writeln!(out, "        and {} more", found.len() - MAX_SHOWN)?;
        }
        broken += found.len();
        Ok(())
    };
    for (holds, sql) in CHECKS {
        tell(holds, find(&connection, sql))?;
    }
    if broken > 0 {
        teller.note("what is BROKEN stays so: make a new database from the journals");
    }
    for (path, state) in changed_files(&connection)? {
        teller.note(&format!("{path}: {state}"));
    }
    Ok(if broken == 0 { Exit::Done } else { Exit::Failed })
}

/// So many sentences of one check are shown.
const MAX_SHOWN: usize = 20;

fn find(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Files that do not hold any more what was read of them. Rotation does that: not a fault of the
/// database, but worth a word.
fn changed_files(connection: &Connection) -> Result<Vec<(String, State)>> {
    let known = sources::load_all(connection)?;
    let states = known.into_iter().map(|source| (state::look(connection, &source).state, source.path));
    Ok(states.filter(|(state, _)| state.is_lost()).map(|(state, path)| (path, state)).collect())
}
