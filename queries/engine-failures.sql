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
-- One row; `limit 1` makes SQLite work it out once, not for each request.
given as (
    select
        case when :run = 'last' then newest.run else :run end as run,
        case when :from is null and :to is null and :last is null then 1 else 0 end as is_whole,
        coalesce(:from, 0) as from_s,
        :to as to_s,
        :last as last_s
    from (select 1 as one) as always
    left join (select run from runs order by started_at desc, run desc limit 1) as newest on 1 = 1
    limit 1
),
-- Of whole runs the legs are counted already, as the rows came.
kept as (
    select l.run_id, l.engine, l.leg, l.attempts, l.failures, l.retried, l.output_started
    from given as g
    cross join runs as r
    cross join leg_counts as l
    where g.is_whole = 1
        and (g.run is null or g.run = r.run)
        and l.run_id = r.run_id
),
-- Of a part of them they are counted now.
asked as (
    select t.run_id, t.terminal_id, t.prefill_iid, t.decode_iid, t.attempts, t.decode_attempts,
        t.attempt_failures, t.last_recorded, t.recorded_decode_legs
    from given as g
    cross join runs as r
    cross join terminals as t
    where g.is_whole = 0
        and (g.run is null or g.run = r.run)
        and t.run_id = r.run_id
        and t.arrived - r.first_s >= g.from_s
        and (g.to_s is null or t.arrived - r.first_s < g.to_s)
        and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
),
entries as (
    select a.run_id, f.attributed, f.phase, f.prefill_iid, f.decode_iid, f.retry_scheduled,
        f.output_started
    from asked as a
    cross join attempt_failures as f
    where f.terminal_id = a.terminal_id
        and a.attempt_failures > 0
),
leg_names as (
    select 'prefill' as leg
    union all
    select 'decode'
    union all
    select 'unattributed'
),
legs as (
    select a.run_id, l.leg,
        case when l.leg = 'prefill' then a.prefill_iid else a.decode_iid end as engine,
        0 as is_failed, 0 as is_retried, 0 as has_started
    from asked as a
    cross join leg_names as l
    where a.attempts >= 1
        and a.last_recorded = 0
        and (
            l.leg = 'prefill' and a.prefill_iid is not null
            or l.leg = 'decode' and a.decode_iid is not null
            and a.decode_attempts > a.recorded_decode_legs
        )
    union all
    select e.run_id, l.leg,
        case l.leg when 'prefill' then e.prefill_iid when 'decode' then e.decode_iid else '' end,
        case when l.leg in (e.phase, 'unattributed') then 1 else 0 end,
        case when l.leg = e.phase and e.retry_scheduled = 1 then 1 else 0 end,
        case when l.leg = e.phase and e.output_started = 1 then 1 else 0 end
    from entries as e
    cross join leg_names as l
    where l.leg = 'prefill' and e.attributed = 1 and e.prefill_iid is not null
        or l.leg = 'decode' and e.attributed = 1 and e.decode_iid is not null and e.phase = 'decode'
        or l.leg = 'unattributed' and e.attributed = 0
),
counted as (
    select run_id, engine, leg, attempts, failures, retried, output_started
    from kept
    union all
    select run_id, engine, leg, count(*), sum(is_failed), sum(is_retried), sum(has_started)
    from legs
    group by run_id, engine, leg
),
-- Entries that reached no engine have none, and are no legs.
attributed as (
    select run_id, failures,
        case when leg <> 'unattributed' then engine end as engine,
        case when leg <> 'unattributed' then leg end as leg,
        case when leg <> 'unattributed' then attempts end as attempts,
        case when leg <> 'unattributed' then retried end as retried,
        case when leg <> 'unattributed' then output_started end as output_started
    from counted
)
select
    r.run as run,
    c.engine as engine,
    c.leg as leg,
    c.attempts as attempts,
    c.failures as failures,
    case when c.attempts > 0 then 1e0 * c.failures / c.attempts end as failure_rate,
    c.retried as retried,
    c.output_started as output_started
from attributed as c
join runs as r on r.run_id = c.run_id
order by r.started_at, r.run, c.engine, c.leg
