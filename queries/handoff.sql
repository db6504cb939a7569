-- handoff: how long it took from prefill done to the first output
-- group: latency
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
--
-- Columns
--   run | text | run id
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
measured as (
    select s.run_id,
        case when t.crossed = 1 then 'crossed' else 'local' end as kind,
        t.first_byte_s - t.ttft_s as v
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.first_byte_s >= t.ttft_s
        and t.crossed is not null
        and t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
-- Ordered as k is, n needs no second sort.
ranked as (
    select run_id, kind, v,
        row_number() over (partition by run_id, kind order by v) as k,
        count(*) over (
            partition by run_id, kind
            order by v
            rows between unbounded preceding and unbounded following
        ) as n
    from measured
),
by_kind as (
    select run_id, kind, max(n) as values_known,
        min(v) filter (where 100 * k >= 50 * n) as p50,
        min(v) filter (where 100 * k >= 90 * n) as p90,
        min(v) filter (where 100 * k >= 99 * n) as p99,
        max(v) as largest
    from ranked
    where 100 * k >= 50 * n
    group by run_id, kind
)
select
    s.run as run,
    b.kind as kind,
    b.values_known as n,
    b.p50 as p50,
    b.p90 as p90,
    b.p99 as p99,
    b.largest as max
from by_kind as b
join selected as s on s.run_id = b.run_id
order by s.started_at, s.run, b.kind
