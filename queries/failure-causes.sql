-- failure-causes: what went wrong in failed attempts, and on which engine
-- group: outcomes and failures
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
--
-- Columns
--   run | text | run id
--   phase | text | where the attempt was when it failed
--   error_type | text | the error's class
--   reason | text | the finer label; null before 0.6
--   status | number | HTTP status of the engine's answer; null without one
--   engine | text | the decode or the prefill engine, as the phase says; null in other phases
--   failures | count | entries of attempt_failures
--   transient | count | of them, entries that say the error may pass
--   retried | count | of them, entries after which a retry was scheduled
--   requests | count | requests with such an entry
--
-- Reading it
--   Every entry counts, also one that reached no engine. A request that failed in two ways is in two
--   rows. A run without entries has no row.
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
entries as (
    select s.run_id, f.terminal_id, f.phase, f.error_type, f.reason, f.status,
        case f.phase when 'decode' then f.decode_iid when 'prefill' then f.prefill_iid end as engine,
        case when f.transient = 1 then 1 else 0 end as is_transient,
        case when f.retry_scheduled = 1 then 1 else 0 end as is_retried
    from selected as s
    join terminals as t on t.run_id = s.run_id
    join attempt_failures as f on f.terminal_id = t.terminal_id
    where t.attempt_failures > 0
        and t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
by_cause as (
    select run_id, phase, error_type, reason, status, engine, count(*) as failures,
        sum(is_transient) as transient, sum(is_retried) as retried,
        count(distinct terminal_id) as requests
    from entries
    group by run_id, phase, error_type, reason, status, engine
)
select
    s.run as run,
    b.phase as phase,
    b.error_type as error_type,
    b.reason as reason,
    b.status as status,
    b.engine as engine,
    b.failures as failures,
    b.transient as transient,
    b.retried as retried,
    b.requests as requests
from by_cause as b
join selected as s on s.run_id = b.run_id
order by s.started_at, s.run, b.phase, b.error_type, b.reason, b.status, b.engine
