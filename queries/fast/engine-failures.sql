-- Faster than the definition: the last attempts are counted by pair of engines, in one pass over the
-- requests, and only then taken apart into legs; the recorded failures are looked up where there are any.
with
last_attempts as materialized (
    select s.scope, t.prefill_iid,
        case when t.decode_attempts > t.recorded_decode_legs then t.decode_iid end as decode_iid,
        count(*) as requests
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.attempts >= 1
        and t.last_recorded = 0
    group by s.scope, 2, 3
),
entries as materialized (
    select s.scope, f.attributed, f.phase, f.prefill_iid, f.decode_iid, count(*) as entries,
        count(*) filter (where f.retry_scheduled = 1) as retried,
        count(*) filter (where f.output_started = 1) as started
    from selection as s
    cross join terminals as t
    cross join attempt_failures as f
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and f.terminal_id = t.terminal_id
    group by s.scope, f.attributed, f.phase, f.prefill_iid, f.decode_iid
),
legs_counted as (
    select scope, prefill_iid as engine, 'prefill' as leg, requests as attempts, 0 as failures,
        0 as retried, 0 as started
    from last_attempts
    where prefill_iid is not null
    union all
    select scope, decode_iid, 'decode', requests, 0, 0, 0
    from last_attempts
    where decode_iid is not null
    union all
    select scope, prefill_iid, 'prefill', entries,
        case when phase = 'prefill' then entries else 0 end,
        case when phase = 'prefill' then retried else 0 end,
        case when phase = 'prefill' then started else 0 end
    from entries
    where attributed = 1
        and prefill_iid is not null
    union all
    select scope, decode_iid, 'decode', entries, entries, retried, started
    from entries
    where attributed = 1
        and decode_iid is not null
        and phase = 'decode'
    union all
    select scope, null, null, null, entries, null, null
    from entries
    where attributed = 0
)
select
    c.scope as scope,
    c.engine as engine,
    c.leg as leg,
    sum(c.attempts) as attempts,
    sum(c.failures) as failures,
    case when sum(c.attempts) > 0 then 1e0 * sum(c.failures) / sum(c.attempts) end as failure_rate,
    sum(c.retried) as retried,
    sum(c.started) as output_started
from legs_counted as c
group by c.scope, c.engine, c.leg
order by c.scope nulls first, c.engine nulls first, c.leg nulls first
