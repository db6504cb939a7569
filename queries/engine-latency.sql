-- engine-latency: how fast each engine served completed requests
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
--   engine | text | engine id
--   metric | text | ttft_s for a prefill engine; tpot_s and decode_tpot_s for a decode engine
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
-- A percentile is found without sorting all values: counts by narrow bins say which bin holds it, one
-- scan finds the values in the wanted bins, and only these are ranked. Of whole runs the bins are
-- counted already, as the rows came; of a part of them, all values of a metric are one bin.
-- A `cross join` keeps to the order of its tables: a run's rows stay together.
measured as (
    select r.run_id, 'ttft_s' as metric, t.prefill_iid as engine, count(t.ttft_s) as n
    from given as g
    cross join runs as r
    cross join terminals as t
    where g.is_whole = 0
        and (g.run is null or g.run = r.run)
        and t.run_id = r.run_id
        and t.terminal = 'completed'
        and t.prefill_iid is not null
        and t.arrived - r.first_s >= g.from_s
        and (g.to_s is null or t.arrived - r.first_s < g.to_s)
        and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
    group by r.run_id, t.prefill_iid
    union all
    select r.run_id, 'tpot_s', t.decode_iid, count(t.tpot_s)
    from given as g
    cross join runs as r
    cross join terminals as t
    where g.is_whole = 0
        and (g.run is null or g.run = r.run)
        and t.run_id = r.run_id
        and t.terminal = 'completed'
        and t.decode_iid is not null
        and t.arrived - r.first_s >= g.from_s
        and (g.to_s is null or t.arrived - r.first_s < g.to_s)
        and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
    group by r.run_id, t.decode_iid
    union all
    select r.run_id, 'decode_tpot_s', t.decode_iid, count(t.decode_tpot_s)
    from given as g
    cross join runs as r
    cross join terminals as t
    where g.is_whole = 0
        and (g.run is null or g.run = r.run)
        and t.run_id = r.run_id
        and t.terminal = 'completed'
        and t.decode_iid is not null
        and t.arrived - r.first_s >= g.from_s
        and (g.to_s is null or t.arrived - r.first_s < g.to_s)
        and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
    group by r.run_id, t.decode_iid
),
bins as (
    select b.run_id, b.metric, b.engine, b.low, b.requests
    from given as g
    cross join runs as r
    cross join engine_latency_bins as b
    where g.is_whole = 1
        and (g.run is null or g.run = r.run)
        and b.run_id = r.run_id
    union all
    select run_id, metric, engine, -1.7976931348623157e308, n
    from measured
    where n > 0
),
cumulated as (
    select run_id, metric, engine, low, requests,
        lead(low, 1, 1.7976931348623157e308) over (partition by run_id, metric, engine order by low) as high,
        sum(requests) over (partition by run_id, metric, engine order by low) as upto,
        sum(requests) over (partition by run_id, metric, engine) as n
    from bins
),
-- The bins that hold a percentile or the largest value; `skipped` values lie below, outside of them.
wanted as (
    select run_id, metric, engine, low, high, upto, n,
        upto - sum(requests) over (partition by run_id, metric, engine order by low) as skipped
    from cumulated
    where (100 * upto >= 50 * n and 100 * (upto - requests) < 50 * n)
        or (100 * upto >= 90 * n and 100 * (upto - requests) < 90 * n)
        or (100 * upto >= 99 * n and 100 * (upto - requests) < 99 * n)
        or upto = n
),
edges as (
    select run_id, metric, engine, max(n) as n,
        min(low) filter (where 100 * upto >= 50 * n) as low50,
        min(high) filter (where 100 * upto >= 50 * n) as high50,
        min(skipped) filter (where 100 * upto >= 50 * n) as skipped50,
        min(low) filter (where 100 * upto >= 90 * n) as low90,
        min(high) filter (where 100 * upto >= 90 * n) as high90,
        min(skipped) filter (where 100 * upto >= 90 * n) as skipped90,
        min(low) filter (where 100 * upto >= 99 * n) as low99,
        min(high) filter (where 100 * upto >= 99 * n) as high99,
        min(skipped) filter (where 100 * upto >= 99 * n) as skipped99,
        max(low) as low100
    from wanted
    group by run_id, metric, engine
),
-- Below the lowest of the engines' medians no value is wanted: half of them are not looked at twice.
lowest as (
    select run_id, metric, min(low50) as low50
    from edges
    group by run_id, metric
),
ranked as (
    select e.run_id, e.metric, e.engine, e.n, e.skipped50, e.skipped90, e.skipped99, t.ttft_s as v,
        row_number() over (partition by e.run_id, e.engine order by t.ttft_s) as k
    from lowest as l
    cross join runs as r
    cross join given as g
    cross join terminals as t
    cross join edges as e
    where l.metric = 'ttft_s'
        and r.run_id = l.run_id
        and t.run_id = l.run_id
        and t.terminal = 'completed'
        and t.ttft_s >= l.low50
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
        and e.run_id = l.run_id
        and e.metric = 'ttft_s'
        and e.engine = t.prefill_iid
        and t.ttft_s >= e.low50
        and (t.ttft_s < e.high50 or t.ttft_s >= e.low90)
        and (t.ttft_s < e.high90 or t.ttft_s >= e.low99)
        and (t.ttft_s < e.high99 or t.ttft_s >= e.low100)
    union all
    select e.run_id, e.metric, e.engine, e.n, e.skipped50, e.skipped90, e.skipped99, t.tpot_s,
        row_number() over (partition by e.run_id, e.engine order by t.tpot_s)
    from lowest as l
    cross join runs as r
    cross join given as g
    cross join terminals as t
    cross join edges as e
    where l.metric = 'tpot_s'
        and r.run_id = l.run_id
        and t.run_id = l.run_id
        and t.terminal = 'completed'
        and t.tpot_s >= l.low50
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
        and e.run_id = l.run_id
        and e.metric = 'tpot_s'
        and e.engine = t.decode_iid
        and t.tpot_s >= e.low50
        and (t.tpot_s < e.high50 or t.tpot_s >= e.low90)
        and (t.tpot_s < e.high90 or t.tpot_s >= e.low99)
        and (t.tpot_s < e.high99 or t.tpot_s >= e.low100)
    union all
    select e.run_id, e.metric, e.engine, e.n, e.skipped50, e.skipped90, e.skipped99, t.decode_tpot_s,
        row_number() over (partition by e.run_id, e.engine order by t.decode_tpot_s)
    from lowest as l
    cross join runs as r
    cross join given as g
    cross join terminals as t
    cross join edges as e
    where l.metric = 'decode_tpot_s'
        and r.run_id = l.run_id
        and t.run_id = l.run_id
        and t.terminal = 'completed'
        and t.decode_tpot_s >= l.low50
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
        and e.run_id = l.run_id
        and e.metric = 'decode_tpot_s'
        and e.engine = t.decode_iid
        and t.decode_tpot_s >= e.low50
        and (t.decode_tpot_s < e.high50 or t.decode_tpot_s >= e.low90)
        and (t.decode_tpot_s < e.high90 or t.decode_tpot_s >= e.low99)
        and (t.decode_tpot_s < e.high99 or t.decode_tpot_s >= e.low100)
),
percentiles as (
    select run_id, metric, engine, max(n) as values_known,
        min(v) filter (where 100 * (k + skipped50) >= 50 * n) as p50,
        min(v) filter (where 100 * (k + skipped90) >= 90 * n) as p90,
        min(v) filter (where 100 * (k + skipped99) >= 99 * n) as p99,
        max(v) as largest
    from ranked
    group by run_id, metric, engine
)
select
    r.run as run,
    p.engine as engine,
    p.metric as metric,
    p.values_known as n,
    p.p50 as p50,
    p.p90 as p90,
    p.p99 as p99,
    p.largest as max
from percentiles as p
join runs as r on r.run_id = p.run_id
order by r.started_at, r.run, p.engine, p.metric
