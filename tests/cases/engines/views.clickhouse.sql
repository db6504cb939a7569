-- The tables and views of this lake in ClickHouse: run it in the lake's folder, statement by statement.
-- A server finds the folder among its user files: write its name in front of each path below.

create or replace view terminals as
select *, extract(_path, 'day=([^/]*)') as day from file('terminals/*/*.parquet', Parquet)
settings use_hive_partitioning = 0;

create or replace view attempt_failures as
select *, extract(_path, 'day=([^/]*)') as day from file('attempt_failures/*/*.parquet', Parquet)
settings use_hive_partitioning = 0;

create or replace view events as
select *, extract(_path, 'day=([^/]*)') as day from file('events/*/*.parquet', Parquet)
settings use_hive_partitioning = 0;

create or replace view runs as
select * from file('runs/*.parquet', Parquet);

create or replace view builds as
select * from file('builds/*.parquet', Parquet);

create or replace view sources as
select * from file('sources/*.parquet', Parquet);

create or replace view slos as
select * from file('slos/*.parquet', Parquet);

create or replace view selection as
select
    run as scope,                           -- what a row of an answer is about
    run_id,
    -1e308 as from_s,                       -- monotonic; a request belongs to it by its arrival, an event by its place
    1e308 as to_s                           -- the first moment after it
from runs;

create or replace view requests as
select
    r.run,
    t.arrived - r.first_s as rel_s,         -- the arrival in seconds into the run
    t.arrived + r.wall_offset_s as wall,    -- the arrival as Unix seconds, estimated
    case when t.first_byte_s >= t.ttft_s then t.first_byte_s - t.ttft_s end as handoff_s, -- prefill done to first byte
    t.terminal_id as terminal_id,
    t.run_id as run_id,
    t.source_id as source_id,
    t.byte_offset as byte_offset,
    t.rid as rid,
    t.client_rid as client_rid,
    t.arrived as arrived,
    t.input_len as input_len,
    t.input_sized as input_sized,
    t.wanted_len as wanted_len,
    t.output_len as output_len,
    t.ttft_s as ttft_s,
    t.tpot_s as tpot_s,
    t.first_byte_s as first_byte_s,
    t.decode_tpot_s as decode_tpot_s,
    t.queue_wait_s as queue_wait_s,
    t.queue_wait_admission_s as queue_wait_admission_s,
    t.queue_wait_prefill_s as queue_wait_prefill_s,
    t.queue_wait_decode_s as queue_wait_decode_s,
    t.price_attempt as price_attempt,
    t.price_backlog_s as price_backlog_s,
    t.price_own_prefill_s as price_own_prefill_s,
    t.price_elapsed_s as price_elapsed_s,
    t.price_handoff_s as price_handoff_s,
    t.price_s as price_s,
    t.duration_s as duration_s,
    t.attempts as attempts,
    t.decode_attempts as decode_attempts,
    t.attempt_failures as attempt_failures,
    t.decode_tokens_observed as decode_tokens_observed,
    t.upstream_prefill_s as upstream_prefill_s,
    t.upstream_decode_s as upstream_decode_s,
    t.prefill_iid as prefill_iid,
    t.decode_iid as decode_iid,
    t.crossed as crossed,
    t.cached_tokens as cached_tokens,
    t.placed_iid as placed_iid,
    t.placed_cached_tokens as placed_cached_tokens,
    t.evidence_sequence as evidence_sequence,
    t.predicted_prefill_s as predicted_prefill_s,
    t.cold_prefill_s as cold_prefill_s,
    t.cold_choice_iid as cold_choice_iid,
    t.token_accounting as token_accounting,
    t.error as error,
    t.status as status,
    t.error_type as error_type,
    t.error_code as error_code,
    t.reason as reason,
    t.terminal as terminal,
    t.cancelled as cancelled,
    t.cancelled_phase as cancelled_phase,
    t.refused as refused,
    t.refused_cause as refused_cause,
    t.rejected as rejected,
    t.expired as expired,
    t.readiness_reason as readiness_reason,
    t.continuation as continuation,
    t.extra as extra,
    t.cached_tokens_max as cached_tokens_max,
    t.recorded_attempts as recorded_attempts,
    t.recorded_decode_legs as recorded_decode_legs,
    t.last_recorded as last_recorded,
    t.retried as retried
from terminals as t
join runs as r on r.run_id = t.run_id;

create or replace view timeline as
select
    r.run,
    -- Seconds into the run, estimated for the clock wall, null for the clock unknown. What stands before the
    -- first row with a time happened before the run's zero, or at it.
    case when e.clock <> 'unknown' then case when e.place_s < r.first_s then 0e0 else e.place_s - r.first_s end end as rel_s,
    case e.clock when 'wall' then e.at when 'monotonic' then e.at + r.wall_offset_s end as wall, -- Unix seconds
    e.event_id as event_id,
    e.run_id as run_id,
    e.source_id as source_id,
    e.byte_offset as byte_offset,
    e.event as event,
    e."at" as "at",
    e.clock as clock,
    e.iid as iid,
    e.detail as detail,
    e.action as action,
    e.applied as applied,
    e."by" as "by",
    e.cause as cause,
    e.class as class,
    e.consecutive as consecutive,
    e.core_consecutive as core_consecutive,
    e.decode as decode,
    e.duration_s as duration_s,
    e.ejected as ejected,
    e.engines as engines,
    e.error as error,
    e.evidence as evidence,
    e.held_s as held_s,
    e.kind as kind,
    e.live_decode as live_decode,
    e.live_prefill as live_prefill,
    e.min_decode as min_decode,
    e.min_prefill as min_prefill,
    e.outcome as outcome,
    e.prefill as prefill,
    e.quarantined as quarantined,
    e.reason as reason,
    e.result as result,
    e.stage as stage,
    e.wave_id as wave_id,
    e.digest as digest,
    e.place_s as place_s
from events as e
join runs as r on r.run_id = e.run_id;

create or replace view attempts as
select
    r.run as run,
    t.rid as rid,
    f.terminal_id as terminal_id,
    t.run_id as run_id,
    t.arrived as arrived,
    f.attempt as attempt,
    1 as failed,
    f.phase as phase,
    f.prefill_iid as prefill_iid,
    f.decode_iid as decode_iid,
    f.retry_scheduled as retry_scheduled,
    f.output_started as output_started
from attempt_failures as f
join terminals as t on t.terminal_id = f.terminal_id
join runs as r on r.run_id = t.run_id
where f.attributed = 1
union all
select
    r.run as run,
    t.rid as rid,
    t.terminal_id as terminal_id,
    t.run_id as run_id,
    t.arrived as arrived,
    t.attempts as attempt,
    0 as failed,
    null as phase,
    t.prefill_iid as prefill_iid,
    case when t.decode_attempts > t.recorded_decode_legs then t.decode_iid end as decode_iid,
    null as retry_scheduled,
    null as output_started
from terminals as t
join runs as r on r.run_id = t.run_id
where t.attempts >= 1 and t.last_recorded = 0;

create or replace view legs as
select
    a.run as run,
    a.rid as rid,
    a.terminal_id as terminal_id,
    a.run_id as run_id,
    a.arrived as arrived,
    a.attempt as attempt,
    'prefill' as leg,
    a.prefill_iid as engine,
    case when a.failed = 1 and a.phase = 'prefill' then 1 else 0 end as failed,
    a.retry_scheduled as retry_scheduled,
    a.output_started as output_started
from attempts as a
where a.prefill_iid is not null
union all
select
    a.run as run,
    a.rid as rid,
    a.terminal_id as terminal_id,
    a.run_id as run_id,
    a.arrived as arrived,
    a.attempt as attempt,
    'decode' as leg,
    a.decode_iid as engine,
    a.failed as failed,
    a.retry_scheduled as retry_scheduled,
    a.output_started as output_started
from attempts as a
where a.decode_iid is not null and (a.failed = 0 or a.phase = 'decode');

create or replace view attainment as
select scope as run, policy, ttft, tpot, offered, scored, met, attainment, excluded
from (
with
given as (
    select
        coalesce(null, 'journal') as policy,
        1e0 * coalesce(null, saved.ttft_s) as ttft,
        1e0 * coalesce(null, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(null, 'default')
),
scopes as (
    select distinct scope
    from selection
),
judged as (
    select s.scope,
        case
            when g.policy = 'offers' then 1
            when g.policy = 'router' then
                case when t.terminal in ('cancelled', 'rejected', 'invalid') then 0 else 1 end
            when t.terminal in ('completed', 'invalid', 'rejected', 'expired', 'failed') then 1
            when t.output_len is null or t.ttft_s is null then 1
            else 0
        end as is_scored,
        case
            when t.terminal = 'completed' and t.ttft_s <= g.ttft
                and (t.tpot_s is null or t.tpot_s <= g.tpot)
                and (g.policy = 'router' or t.output_len is not null)
            then 1
            else 0
        end as is_met
    from selection as s
    cross join given as g
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
),
counted as (
    select scope, count(*) as offered, sum(is_scored) as scored, sum(is_met) as met
    from judged
    group by scope
)
select
    s.scope as scope,
    g.policy as policy,
    g.ttft as ttft,
    g.tpot as tpot,
    coalesce(c.offered, 0) as offered,
    coalesce(c.scored, 0) as scored,
    coalesce(c.met, 0) as met,
    case when c.scored > 0 then 1e0 * c.met / c.scored end as attainment,
    coalesce(c.offered - c.scored, 0) as excluded
from scopes as s
join given as g on g.ttft is not null and g.tpot is not null
left join counted as c on c.scope = s.scope
order by s.scope nulls first
) as asked
settings join_use_nulls = 1, aggregate_functions_null_for_empty = 1, cast_keep_nullable = 1, union_default_mode = 'DISTINCT', max_recursive_cte_evaluation_depth = 1000000;
