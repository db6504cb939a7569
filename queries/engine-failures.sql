-- engine-failures: how often each engine failed, by leg
-- group: engines
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   engine | text | engine id; null on the row of unattributed entries
--   leg | text | prefill or decode; null on that row
--   attempts | count | legs that the engine was given; null on that row
--   failures | count | legs that failed there; on that row, entries
--   failure_rate | ratio | failures / attempts; null on that row
--   retried | count | failed legs after which a retry was scheduled; null on that row
--   output_started | count | failed legs after output had reached the client; null on that row
--
-- Reading it
--   A cancelled or expired last attempt is a leg, not a failure. The row without an engine counts
--   entries of attempt_failures that reached no engine (refused, timed out in the queue, not
--   dispatched); a scope without such entries has no such row. A failed leg whose entry names no
--   engine for it, as a hand-off that expired before decode, is in no row: failure-causes has it.
with
counted as (
    select s.scope, l.engine, l.leg, count(*) as attempts, sum(l.failed) as failures,
        count(case when l.failed = 1 and l.retry_scheduled = 1 then 1 end) as retried,
        count(case when l.failed = 1 and l.output_started = 1 then 1 end) as started
    from selection as s
    cross join legs as l
    where l.run_id = s.run_id
        and l.arrived >= s.from_s
        and l.arrived < s.to_s
    group by s.scope, l.engine, l.leg
    union all
    select s.scope, null, null, null, count(*), null, null
    from selection as s
    cross join terminals as t
    cross join attempt_failures as f
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and f.terminal_id = t.terminal_id
        and f.attributed = 0
    group by s.scope
)
select
    c.scope as scope,
    c.engine as engine,
    c.leg as leg,
    c.attempts as attempts,
    c.failures as failures,
    case when c.attempts > 0 then 1e0 * c.failures / c.attempts end as failure_rate,
    c.retried as retried,
    c.started as output_started
from counted as c
order by c.scope nulls first, c.engine nulls first, c.leg nulls first
