-- Every question is asked of a selection (docs/semantics.md, "Selecting"): parts of runs, in wall time too.
--
-- Why: counts by bins answered whole runs only and cost a sixth of the load; indexes led by the run and the
-- arrival answer any part of any run by reading just that part. A part in wall time needs the clock of every
-- run, not only of those with lifecycle events, and a place for every event.

drop table latency_bins;
drop table engine_latency_bins;
drop index terminals_completed;
drop index terminals_not_completed;

-- For attainment, slo-frontier, latency, engine-latency, handoff, admission-price: all that they read of a
-- completed request. Rows come in the order that requests end, so a new one goes near the end of its run. Read
-- from the wide rows, three times as long: over a million rows 0.95 CPU s instead of 0.31 for what latency reads.
create index terminals_completed on terminals (
    run_id, arrived, output_len, ttft_s, tpot_s, first_byte_s, decode_tpot_s, queue_wait_s, duration_s, price_s,
    crossed, prefill_iid, decode_iid
) where terminal = 'completed';

-- For attainment, attainment-misses, outcomes, refusals, and the rest of handoff and admission-price: the others,
-- one in ten.
create index terminals_not_completed on terminals (
    run_id, arrived, terminal, output_len, ttft_s, first_byte_s, price_s, crossed, refused_cause, reason, input_len
) where terminal <> 'completed';

-- For failure-causes, engine-failures, retries: the requests of a window that have attempt failures.
create index terminals_with_failures on terminals (run_id, arrived) where attempt_failures > 0;

-- For what is said beside attainment of completed requests whose output is unknown: none, but where token accounting
-- is unavailable.
create index terminals_unaccounted on terminals (run_id, arrived, token_accounting)
where terminal = 'completed' and output_len is null;

-- Wall clock minus monotonic clock of a run (docs/semantics.md, "Time"): what bounds it, and the estimate.
alter table runs add column wall_lifecycle_low_s real;  -- not less than this, by lifecycle events between two rows
alter table runs add column wall_lifecycle_high_s real; -- and not more; bounds that cross: the clock was stepped
alter table runs add column wall_file_high_s real;      -- not more than this, by the times of the files it was read from
alter table runs add column wall_basis text;            -- what the estimate rests on: lifecycle, start+file, start; null without one
alter table runs add column source_id integer references sources; -- where its first stored row stands
-- What stood in the others before stays true of them, but is more now:
--   wall_low_s, wall_high_s     the bounds that count, intersected, that of the start among them; null when
--                               there is none, or the clock was stepped
--   wall_offset_s               the estimate
--   wall_error_s                half the width of the bounds; null when the estimate is their low end
update runs set wall_lifecycle_low_s = wall_low_s, wall_lifecycle_high_s = wall_high_s;

-- By when all had been written that was read of a source: Unix seconds, from the time of the file, or the clock
-- when it was read. Null when it was read by an older release only.
alter table sources add column written_by_s real;

-- When the last stored row of the run stood in the source that has a time of writing, which is `written_s`.
-- The lifecycle events since are in `event_gaps`.
alter table run_sources drop column wall_since_low_s;
alter table run_sources drop column wall_since_high_s;
alter table run_sources add column written_offset integer; -- its byte offset

-- When an event happened on the monotonic clock of its run, as well as it is known: `at` itself, or by
-- `event_gaps`. Null only while its run has no time at all.
alter table events add column place_s real;

-- For the events of a part of a run.
create index events_placed on events (run_id, place_s);

-- Events that do not say when they happened on the monotonic clock, and between which rows of their run they
-- stand: those nearest in their source that have a time of writing.
create table event_gaps (
    run_id integer not null references runs,
    source_id integer not null references sources,
    byte_offset integer not null,           -- where the event stands
    event_id integer not null references events,
    written_before_s real,                  -- when the row before was written, monotonic; null without one
    before_offset integer,                  -- where it stands
    written_after_s real,                   -- when the row after was written
    after_offset integer,
    primary key (run_id, source_id, byte_offset)
) strict, without rowid;

-- Everything, a scope for each run: what is asked when nothing is chosen. A chosen selection is a temporary
-- table or a common table expression of the same name.
create view selection as
select
    run as scope,                           -- what a row of an answer is about
    run_id,
    -1e308 as from_s,                       -- monotonic; a request belongs to it by its arrival, an event by its place
    1e308 as to_s                           -- the first moment after it
from runs;

drop view requests;
drop view legs;
drop view attempts;

-- Terminals as people ask for them.
create view requests as
select
    r.run,
    t.arrived - r.first_s as rel_s,         -- the arrival in seconds into the run
    t.arrived + r.wall_offset_s as wall,    -- the arrival as Unix seconds, estimated
    case when t.first_byte_s >= t.ttft_s then t.first_byte_s - t.ttft_s end as handoff_s, -- prefill done to first byte
    t.*
from terminals as t
join runs as r on r.run_id = t.run_id;

-- Events as people ask for them.
create view timeline as
select
    r.run,
    -- Seconds into the run, estimated for the clock wall, null for the clock unknown. What stands before the
    -- first row with a time happened before the run's zero, or at it.
    case when e.clock <> 'unknown' then max(e.place_s - r.first_s, 0.0) end as rel_s,
    case e.clock when 'wall' then e.at when 'monotonic' then e.at + r.wall_offset_s end as wall, -- Unix seconds
    e.*
from events as e
join runs as r on r.run_id = e.run_id;

-- One row per attempt whose engines are known: the failed ones by their record, and the last one,
-- when it has none, by the terminal itself.
create view attempts as
select
    r.run, t.rid, f.terminal_id, t.run_id, t.arrived, f.attempt, 1 as failed, f.phase, f.prefill_iid,
    f.decode_iid, f.retry_scheduled, f.output_started
from attempt_failures as f
join terminals as t on t.terminal_id = f.terminal_id
join runs as r on r.run_id = t.run_id
where f.attributed = 1
union all
select
    r.run, t.rid, t.terminal_id, t.run_id, t.arrived, t.attempts, 0, null, t.prefill_iid,
    case when t.decode_attempts > t.recorded_decode_legs then t.decode_iid end, null, null
from terminals as t
join runs as r on r.run_id = t.run_id
where t.attempts >= 1 and t.last_recorded = 0;

-- What engines were asked to do: one row per prefill leg and per decode leg.
create view legs as
select
    a.run, a.rid, a.terminal_id, a.run_id, a.arrived, a.attempt, 'prefill' as leg, a.prefill_iid as engine,
    case when a.failed = 1 and a.phase = 'prefill' then 1 else 0 end as failed,
    a.retry_scheduled, a.output_started
from attempts as a
where a.prefill_iid is not null
union all
select
    a.run, a.rid, a.terminal_id, a.run_id, a.arrived, a.attempt, 'decode', a.decode_iid, a.failed,
    a.retry_scheduled, a.output_started
from attempts as a
where a.decode_iid is not null and (a.failed = 0 or a.phase = 'decode');
