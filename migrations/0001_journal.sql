-- The tables that a journal is loaded into, and the views over them.
--
-- Why these: one wide table of terminals loads and reads faster than a split one, and the shell user
-- reads every field of the journal under its own name. Labels stay text. Times are seconds, flags
-- 0 or 1, and null is what the journal does not say. A column named here and in the journal means
-- what the journal means by it; the others are explained where they stand.

-- Every content that was read, and how far. A source is a file's content, not its name.
create table sources (
    source_id integer primary key,
    path text not null,                     -- the name it was last read under; `-` is standard input
    device integer,                         -- of that file; null for standard input
    inode integer,
    offset_bytes integer not null,          -- the byte after the last line read
    lines integer not null,                 -- lines read, blank ones too
    run_rows integer not null,              -- terminals and events read, seen before or not
    ambiguous_runs integer not null,        -- runs met while its kept build rows differed
    head_hash integer not null,             -- of its first bytes, up to 4096 and to offset_bytes
    tail_hash integer not null              -- of the bytes before offset_bytes, up to 4096
) strict;

-- Build rows. They name no run: which run took which is inferred from their order in the source.
create table builds (
    build_id integer primary key,
    source_id integer not null references sources,
    byte_offset integer not null,           -- where it stood in its source
    schema text not null,
    schema_version integer not null,
    package text,
    version text,
    git text,
    source text,
    token_accounting text,
    admission_mode text,
    admission_margin real,
    extra text,                             -- the rest of the row, as JSON
    digest text not null,                   -- of the row's JSON value: equal rows have equal ones
    state text not null check (state in ('kept', 'taken', 'dropped')),
    unique (source_id, byte_offset)
) strict;

-- Router processes.
create table runs (
    run_id integer primary key,
    run text not null unique,
    started_at text,                        -- from the run's name, UTC; null when it has no time
    build_id integer references builds,     -- only when build_certainty is exact
    build_certainty text not null check (build_certainty in ('exact', 'ambiguous', 'missing')),
    first_s real,                           -- the smallest monotonic time stored, the run's zero
    last_s real,                            -- the largest, ends of requests included
    -- Wall clock minus monotonic clock: bounds from lifecycle events between two rows of the run, the
    -- middle of the bounds and half their width. Bounds that cross (a stepped clock) have no middle.
    wall_low_s real,
    wall_high_s real,
    wall_offset_s real,
    wall_error_s real
) strict;

-- In which sources a run was met, what its build was there, and what the next row of it needs to
-- bound the wall clock: when its last stored row was written, and the lifecycle events since.
create table run_sources (
    source_id integer not null references sources,
    run_id integer not null references runs,
    build_certainty text not null check (build_certainty in ('exact', 'ambiguous', 'missing')),
    written_s real,                         -- monotonic
    wall_since_low_s real,                  -- the smallest wall time of those events
    wall_since_high_s real,                 -- the largest
    primary key (source_id, run_id)
) strict, without rowid;

-- Client requests.
create table terminals (
    terminal_id integer primary key,
    run_id integer not null references runs,
    source_id integer not null references sources,
    byte_offset integer not null,
    rid text not null,
    client_rid text,
    arrived real not null,
    input_len integer,
    input_sized integer,
    wanted_len integer,
    output_len integer,
    ttft_s real,
    tpot_s real,
    first_byte_s real,
    decode_tpot_s real,
    queue_wait_s real,
    queue_wait_admission_s real,            -- queue_waits.admission, and so on
    queue_wait_prefill_s real,
    queue_wait_decode_s real,
    price_attempt integer,                  -- admission_price.attempt, and so on
    price_backlog_s real,
    price_own_prefill_s real,
    price_elapsed_s real,
    price_handoff_s real,
    price_s real,
    duration_s real,
    attempts integer,
    decode_attempts integer,
    attempt_failures integer,               -- how many rows it has in the table of that name
    decode_tokens_observed integer,
    upstream_prefill_s real,                -- upstream_seconds.prefill
    upstream_decode_s real,
    prefill_iid text,
    decode_iid text,
    crossed integer,
    cached_tokens text,                     -- JSON object, engine to tokens
    placed_iid text,                        -- cache_placement.placed_iid, and so on
    placed_cached_tokens integer,
    evidence_sequence integer,
    predicted_prefill_s real,
    cold_prefill_s real,
    cold_choice_iid text,
    token_accounting text,
    error text,
    status integer,
    error_type text,
    error_code text,
    reason text,
    terminal text not null,
    cancelled integer,
    cancelled_phase text,
    refused integer,
    refused_cause text,
    rejected integer,
    expired integer,
    readiness_reason text,
    continuation text,                      -- JSON object
    extra text,                             -- fields without a column, as JSON in the row's own shape
    -- Computed once, from the row itself:
    cached_tokens_max integer,              -- the largest entry of cached_tokens
    recorded_attempts integer not null,     -- failed attempts that have their record
    recorded_decode_legs integer not null,  -- those of them that failed in decode, on a named engine
    last_recorded integer not null,         -- 1 when the last attempt is one of them
    retried integer not null,               -- 1 when an entry says that a retry was scheduled
    unique (run_id, arrived, rid)
) strict;

-- Entries of a terminal's attempt_failures. The position, from 0, is their only key.
create table attempt_failures (
    terminal_id integer not null references terminals,
    position integer not null,
    run_id integer not null references runs,
    at real,
    attempt integer,
    phase text,
    reason text,
    prefill_iid text,
    decode_iid text,
    error_type text,
    error_message text,
    status integer,
    transient integer,
    output_started integer,
    retry_scheduled integer,
    backoff_s real,
    retry_reason text,
    extra text,
    attributed integer not null,            -- 1 when it is the record of its attempt, else it reached no engine
    primary key (terminal_id, position)
) strict, without rowid;

-- Router events. `detail` holds every field without a column of the first group; the second group
-- repeats those that the journal documents, null where the row has none or one of another type.
create table events (
    event_id integer primary key,
    run_id integer not null references runs,
    source_id integer not null references sources,
    byte_offset integer not null,
    event text not null,
    at real,
    clock text not null check (clock in ('monotonic', 'wall', 'unknown')),
    iid text,
    detail text not null,                   -- JSON object, compact, keys sorted
    action text,
    applied integer,
    "by" text,
    cause text,
    class text,
    consecutive integer,
    core_consecutive integer,
    decode integer,
    duration_s real,
    ejected text,                           -- JSON array
    engines text,                           -- JSON array
    error text,
    evidence text,
    held_s real,
    kind text,
    live_decode integer,
    live_prefill integer,
    min_decode integer,
    min_prefill integer,
    outcome text,
    prefill integer,
    quarantined text,                       -- JSON array
    reason text,
    result text,
    stage text,
    wave_id text,
    digest text not null,                   -- of the event's JSON value, which is its identity in the run
    unique (run_id, digest)
) strict;

-- Lines, or parts of lines, that were not read as they stand.
create table rejects (
    source_id integer not null references sources,
    line_no integer not null,               -- from 1
    byte_offset integer not null,
    len_bytes integer not null,
    kind text not null check (kind in ('rejected', 'repaired')),
    reason text not null,
    raw blob not null,                      -- the bytes; the first part of a huge line
    primary key (source_id, byte_offset, kind)  -- a row that was mended can be a conflict, too
) strict, without rowid;

-- Saved latency targets, in seconds.
create table slos (
    name text primary key,
    ttft_s real not null check (ttft_s > 0),
    tpot_s real not null check (tpot_s > 0),
    saved_at text not null                  -- UTC
) strict, without rowid;

-- Terminals as people ask for them: with the run's name, the arrival in seconds into the run, and
-- the time between prefill done and first byte.
create view requests as
select
    r.run,
    t.arrived - r.first_s as rel_s,
    case when t.first_byte_s >= t.ttft_s then t.first_byte_s - t.ttft_s end as handoff_s,
    t.*
from terminals as t
join runs as r on r.run_id = t.run_id;

-- One row per attempt whose engines are known: the failed ones by their record, and the last one,
-- when it has none, by the terminal itself.
create view attempts as
select
    r.run, t.rid, f.terminal_id, t.run_id, f.attempt, 1 as failed, f.phase, f.prefill_iid,
    f.decode_iid, f.retry_scheduled, f.output_started
from attempt_failures as f
join terminals as t on t.terminal_id = f.terminal_id
join runs as r on r.run_id = t.run_id
where f.attributed = 1
union all
select
    r.run, t.rid, t.terminal_id, t.run_id, t.attempts, 0, null, t.prefill_iid,
    case when t.decode_attempts > t.recorded_decode_legs then t.decode_iid end, null, null
from terminals as t
join runs as r on r.run_id = t.run_id
where t.attempts >= 1 and t.last_recorded = 0;

-- What engines were asked to do: one row per prefill leg and per decode leg.
create view legs as
select
    a.run, a.rid, a.terminal_id, a.run_id, a.attempt, 'prefill' as leg, a.prefill_iid as engine,
    case when a.failed = 1 and a.phase = 'prefill' then 1 else 0 end as failed,
    a.retry_scheduled, a.output_started
from attempts as a
where a.prefill_iid is not null
union all
select
    a.run, a.rid, a.terminal_id, a.run_id, a.attempt, 'decode', a.decode_iid, a.failed,
    a.retry_scheduled, a.output_started
from attempts as a
where a.decode_iid is not null and (a.failed = 0 or a.phase = 'decode');

-- SLO attainment of every run, policy `journal`, against the saved SLO `default`. No rows without it.
create view attainment as
select
    run, 'journal' as policy, ttft, tpot, offered, scored, met,
    case when scored > 0 then 1e0 * met / scored end as attainment,
    offered - scored as excluded
from (
    select
        r.run, r.started_at, s.ttft_s as ttft, s.tpot_s as tpot,
        count(t.terminal_id) as offered,
        count(case
            when t.terminal in ('completed', 'invalid', 'rejected', 'expired', 'failed')
                or t.output_len is null or t.ttft_s is null
            then t.terminal_id end) as scored,
        count(case
            when t.terminal = 'completed' and t.output_len is not null and t.ttft_s <= s.ttft_s
                and (t.tpot_s is null or t.tpot_s <= s.tpot_s)
            then 1 end) as met
    from runs as r
    join slos as s on s.name = 'default'
    left join terminals as t on t.run_id = r.run_id
    group by r.run_id
)
order by started_at, run;
