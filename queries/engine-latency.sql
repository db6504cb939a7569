-- engine-latency: how fast each engine served completed requests
-- group: engines
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   metric | text | ttft_s of a prefill engine; tpot_s or decode_tpot_s of a decode engine
--   engine | text | engine id
--   n | count | completed requests whose final attempt it served and that have the metric
--   p50 | s | median, nearest rank
--   p90 | s | 90th percentile
--   p99 | s | 99th percentile
--   max | s | the largest
--
-- Reading it
--   Only completed requests count, at the engines of their final attempt; ttft_s holds everything
--   since the arrival, failed attempts too. An engine without a measured request has no row. In an
--   aggregated fleet one engine has all three metrics.
with
completed as (
    select s.scope, t.prefill_iid, t.decode_iid, t.ttft_s, t.tpot_s, t.decode_tpot_s
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
),
measured as (
    select scope, 'ttft_s' as metric, prefill_iid as engine, ttft_s as v
    from completed
    union all
    select scope, 'tpot_s', decode_iid, tpot_s
    from completed
    union all
    select scope, 'decode_tpot_s', decode_iid, decode_tpot_s
    from completed
),
ranked as (
    select scope, metric, engine, v,
        row_number() over (partition by scope, metric, engine order by v nulls last) as k,
        count(*) over (
            partition by scope, metric, engine
            order by v nulls last
            rows between unbounded preceding and unbounded following
        ) as of_n
    from measured
    where engine is not null
        and v is not null
)
select
    r.scope as scope,
    r.metric as metric,
    r.engine as engine,
    count(*) as n,
    min(r.v) filter (where 100 * r.k >= 50 * r.of_n) as p50,
    min(r.v) filter (where 100 * r.k >= 90 * r.of_n) as p90,
    min(r.v) filter (where 100 * r.k >= 99 * r.of_n) as p99,
    max(r.v) as max
from ranked as r
group by r.scope, r.metric, r.engine
order by r.scope nulls first, r.metric nulls first, r.engine nulls first
