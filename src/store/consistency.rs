//! What must hold in a database, whatever was read into it.

use rusqlite::{Connection, Result};

/// Something that must hold.
#[derive(Debug)]
pub struct Check {
    /// What, in words.
    pub holds: &'static str,
    /// A statement with a row, a sentence, for whatever breaks it.
    breaks: &'static str,
}

impl Check {
    /// A sentence for whatever breaks it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn find(&self, connection: &Connection) -> Result<Vec<String>> {
        connection.prepare(self.breaks)?.query_map([], |row| row.get(0))?.collect()
    }
}

/// Each thing that must hold.
pub const CHECKS: &[Check] = &[
    Check { holds: "the file is whole", breaks: "select integrity_check from pragma_integrity_check where integrity_check <> 'ok'" },
    Check {
        holds: "rows refer to rows that are there",
        breaks: "select \"table\" || ' row ' || coalesce(rowid, '?') || ' refers to a missing row of ' || parent
         from pragma_foreign_key_check",
    },
    Check {
        holds: "a request arrived once",
        breaks: "select 'run ' || r.run || ': rid ' || t.rid || ' stands ' || count(*) || ' times, with different arrived'
         from terminals as t join runs as r on r.run_id = t.run_id
         group by t.run_id, t.rid having count(*) > 1",
    },
    Check {
        holds: "terminals have the attempt failures they count",
        breaks: "select 'terminal ' || t.terminal_id || ' counts ' || t.attempt_failures || ' attempt failures and has ' || count(f.position)
         from terminals as t left join attempt_failures as f on f.terminal_id = t.terminal_id
         where t.attempt_failures > 0
         group by t.terminal_id having count(f.position) <> t.attempt_failures
         union all
         select 'attempt failures of terminal ' || f.terminal_id || ', which counts none'
         from attempt_failures as f join terminals as t on t.terminal_id = f.terminal_id
         where coalesce(t.attempt_failures, 0) = 0
         group by f.terminal_id",
    },
    Check {
        holds: "legs equal attempts and decode_attempts",
        breaks: "with counted as (
             select terminal_id, sum(leg = 'prefill') as prefill, sum(leg = 'decode') as decode
             from legs group by terminal_id
         )
         select 'run ' || r.run || ': rid ' || t.rid || ' has ' || t.attempts || ' attempts and ' || t.decode_attempts
             || ' decode attempts, but ' || coalesce(c.prefill, 0) || ' and ' || coalesce(c.decode, 0) || ' legs'
         from terminals as t
         join runs as r on r.run_id = t.run_id
         left join counted as c on c.terminal_id = t.terminal_id
         where coalesce(c.prefill, 0) <> t.attempts or coalesce(c.decode, 0) <> t.decode_attempts",
    },
    Check {
        holds: "runs span the times stored for them",
        breaks: "with times as (
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
    },
    Check {
        holds: "rows stand before the offset of their source",
        breaks: "with placed as (
             select source_id, byte_offset from terminals
             union all select source_id, byte_offset from events
             union all select source_id, byte_offset from builds
             union all select source_id, byte_offset from rejects
         )
         select s.path || ': ' || count(*) || ' rows stand after offset ' || s.offset_bytes
         from placed as p join sources as s on s.source_id = p.source_id
         where p.byte_offset >= s.offset_bytes
         group by s.source_id",
    },
    Check {
        holds: "forgotten runs are gone",
        breaks: "select 'run ' || f.run || ' is forgotten, and stored' from forgotten as f join runs as r on r.run = f.run",
    },
    Check {
        holds: "requests are counted as they are stored",
        breaks: "with both as (
             select run_id, terminal, requests as kept, 0 as stored from terminal_counts
             union all select run_id, terminal, 0, count(*) from terminals group by run_id, terminal
         )
         select 'run ' || coalesce(r.run, b.run_id) || ': ' || sum(b.kept) || ' requests counted as ' || b.terminal || ', '
             || sum(b.stored) || ' stored'
         from both as b left join runs as r on r.run_id = b.run_id
         group by b.run_id, b.terminal having sum(b.kept) <> sum(b.stored)",
    },
    Check {
        holds: "legs are counted as they are stored",
        breaks: "with both as (
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
    },
];
