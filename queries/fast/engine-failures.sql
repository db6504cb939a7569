-- Faster: the last legs of completed requests are counted by engine from their index, as if each had both; those that
-- had not are in an index of their own, and are taken back. Of the others, and of failed attempts, the rows are read.
-- Nothing is sorted into groups.
with
completed as materialized (
    select s.scope, counts_by(t.prefill_iid, 1) as prefills, counts_by(t.decode_iid, 1) as decodes
    from selection as s
    cross join terminals as t indexed by terminals_completed
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
    group by s.scope
),
taken_back as materialized (
    select s.scope,
        counts_by(case when t.attempts >= 1 and t.last_recorded = 0 then null else t.prefill_iid end, -1) as prefills,
        counts_by(t.decode_iid, -1) as decodes
    from selection as s
    cross join terminals as t indexed by terminals_without_last_legs
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
        and coalesce(t.attempts >= 1 and t.last_recorded = 0 and t.decode_attempts > t.recorded_decode_legs, 0) = 0
    group by s.scope
),
others as materialized (
    select s.scope, counts_by(t.prefill_iid, 1) as prefills,
        counts_by(case when t.decode_attempts > t.recorded_decode_legs then t.decode_iid end, 1) as decodes
    from selection as s
    cross join terminals as t indexed by terminals_not_completed
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal <> 'completed'
        and t.attempts >= 1
        and t.last_recorded = 0
    group by s.scope
),
entries as materialized (
    select s.scope, f.attributed, f.phase, f.prefill_iid, f.decode_iid, count(*) as entries,
        count(*) filter (where f.retry_scheduled = 1) as retried,
        count(*) filter (where f.output_started = 1) as started
    from selection as s
    cross join terminals as t indexed by terminals_with_failures
    cross join attempt_failures as f
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.attempt_failures > 0
        and f.terminal_id = t.terminal_id
    group by s.scope, f.attributed, f.phase, f.prefill_iid, f.decode_iid
),
last_legs as (
    select scope, 'prefill' as leg, prefills as counts from completed
    union all
    select scope, 'decode', decodes from completed
    union all
    select scope, 'prefill', prefills from taken_back
    union all
    select scope, 'decode', decodes from taken_back
    union all
    select scope, 'prefill', prefills from others
    union all
    select scope, 'decode', decodes from others
),
legs_counted as (
    select l.scope, e.value as engine, l.leg, rank_at(l.counts, e.key, 0) as attempts, 0 as failures, 0 as retried,
        0 as started
    from last_legs as l
    cross join json_each(keys_of(l.counts)) as e
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
having c.leg is null
    or sum(c.attempts) > 0
order by c.scope nulls first, c.engine nulls first, c.leg nulls first
