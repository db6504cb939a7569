-- failure-causes: what went wrong in failed attempts, and on which engine
-- group: outcomes and failures
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
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
--   The most frequent cause of a scope comes first. Every entry counts, also one that reached no
--   engine, with the request that it belongs to. A request that failed in two ways is in two rows. A
--   scope without entries has no row.
with
entries as (
    select s.scope, f.terminal_id as terminal_id, f.phase, f.error_type as error_type,
        f.reason as reason, f.status as status,
        case f.phase when 'decode' then f.decode_iid when 'prefill' then f.prefill_iid end as engine,
        case when f.transient = 1 then 1 else 0 end as is_transient,
        case when f.retry_scheduled = 1 then 1 else 0 end as is_retried
    from selection as s
    cross join terminals as t
    cross join attempt_failures as f
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and f.terminal_id = t.terminal_id
),
by_cause as (
    select scope, phase, error_type, reason, status, engine, count(*) as failures,
        sum(is_transient) as transient, sum(is_retried) as retried,
        count(distinct terminal_id) as requests
    from entries
    group by scope, phase, error_type, reason, status, engine
)
select
    b.scope as scope,
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
order by b.scope nulls first, b.failures desc nulls last, b.phase nulls first,
    b.error_type nulls first, b.reason nulls first, b.status nulls first, b.engine nulls first
