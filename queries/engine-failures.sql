-- engine-failures: how often each engine failed, by leg
-- group: engines
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
--
-- Columns
--   run | text | run id
--   engine | text | engine id; null on the row of unattributed entries
--   leg | text | prefill or decode; null on that row
--   attempts | count | legs that the engine was given; null on that row
--   failures | count | legs that failed there; on that row, entries
--   failure_rate | ratio | failures / attempts
--   retried | count | failed legs after which a retry was scheduled
--   output_started | count | failed legs after output had reached the client
--
-- Reading it
--   A cancelled or expired last attempt is a leg, not a failure. The row without an engine counts
--   entries of attempt_failures that reached no engine (refused, timed out in the queue, not
--   dispatched); a run without such entries has no such row.
with
chosen as (
    select case when :run = 'last' then newest.run else :run end as run
    from (select 1 as one) as always
    left join (select run from runs order by started_at desc, run desc limit 1) as newest on 1 = 1
),
selected as (
    select r.run_id, r.run, r.started_at, r.first_s, r.last_s - r.first_s as span_s
    from runs as r
    join chosen as c on c.run is null or c.run = r.run
),
asked as (
    select s.run_id, t.terminal_id, t.prefill_iid, t.decode_iid, t.attempts, t.decode_attempts,
        t.attempt_failures, t.last_recorded, t.recorded_decode_legs
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
entries as (
    select a.run_id, f.attributed, f.phase, f.prefill_iid, f.decode_iid, f.retry_scheduled,
        f.output_started
    from asked as a
    join attempt_failures as f on f.terminal_id = a.terminal_id
    where a.attempt_failures > 0
),
legs as (
    select run_id, prefill_iid as engine, 'prefill' as leg,
        0 as is_failed, 0 as is_retried, 0 as has_started
    from asked
    where attempts >= 1 and last_recorded = 0 and prefill_iid is not null
    union all
    select run_id, decode_iid, 'decode', 0, 0, 0
    from asked
    where attempts >= 1 and last_recorded = 0 and decode_iid is not null
        and decode_attempts > recorded_decode_legs
    union all
    select run_id, prefill_iid, 'prefill',
        case when phase = 'prefill' then 1 else 0 end,
        case when phase = 'prefill' and retry_scheduled = 1 then 1 else 0 end,
        case when phase = 'prefill' and output_started = 1 then 1 else 0 end
    from entries
    where attributed = 1 and prefill_iid is not null
    union all
    select run_id, decode_iid, 'decode', 1,
        case when retry_scheduled = 1 then 1 else 0 end,
        case when output_started = 1 then 1 else 0 end
    from entries
    where attributed = 1 and phase = 'decode' and decode_iid is not null
),
counted as (
    select run_id, engine, leg, count(*) as attempts, sum(is_failed) as failures,
        sum(is_retried) as retried, sum(has_started) as output_started
    from legs
    group by run_id, engine, leg
    union all
    select run_id, null, null, null, count(*), null, null
    from entries
    where attributed = 0
    group by run_id
)
select
    s.run as run,
    c.engine as engine,
    c.leg as leg,
    c.attempts as attempts,
    c.failures as failures,
    case when c.attempts > 0 then 1e0 * c.failures / c.attempts end as failure_rate,
    c.retried as retried,
    c.output_started as output_started
from counted as c
join selected as s on s.run_id = c.run_id
order by s.started_at, s.run, c.engine, c.leg
