-- handoff: how long it took from prefill done to the first output
-- group: latency
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   kind | text | crossed: the decode engine differs from the prefill engine; local: it does not
--   n | count | requests that have both times
--   p50 | s | median, nearest rank
--   p90 | s | 90th percentile
--   p99 | s | 99th percentile
--   max | s | the largest
--
-- Reading it
--   first_byte_s - ttft_s, of every request that has both in this order, however it ended. crossed
--   holds the transfer of the KV cache and the wait for the decode engine, local only the wait: the
--   difference between the two rows is an estimate of the transfer. A kind without a request has no
--   row.
with
measured as (
    select s.scope,
        case t.crossed when 1 then 'crossed' else 'local' end as kind,
        t.first_byte_s - t.ttft_s as v
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.first_byte_s >= t.ttft_s
        and t.crossed is not null
),
ranked as (
    select scope, kind, v,
        row_number() over (partition by scope, kind order by v nulls last) as k,
        count(*) over (
            partition by scope, kind
            order by v nulls last
            rows between unbounded preceding and unbounded following
        ) as of_n
    from measured
)
select
    r.scope as scope,
    r.kind as kind,
    count(*) as n,
    min(r.v) filter (where 100 * r.k >= 50 * r.of_n) as p50,
    min(r.v) filter (where 100 * r.k >= 90 * r.of_n) as p90,
    min(r.v) filter (where 100 * r.k >= 99 * r.of_n) as p99,
    max(r.v) as max
from ranked as r
group by r.scope, r.kind
order by r.scope nulls first, r.kind nulls first
