-- latency: how long completed requests took, by metric
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
--   metric | text | ttft_s, tpot_s, first_byte_s, decode_tpot_s, queue_wait_s or duration_s
--   n | count | completed requests that have it
--   mean | s | their mean
--   p50 | s | median, nearest rank
--   p90 | s | 90th percentile
--   p95 | s | 95th percentile
--   p99 | s | 99th percentile
--   max | s | the largest
--
-- Reading it
--   Only completed requests count. ttft_s is from arrival to prefill done, first_byte_s to the first
--   visible output, duration_s to the end; tpot_s is per output token after the first, from prefill
--   done, decode_tpot_s from the first token. Every run has all six rows; the numbers are null when
--   n is 0, as tpot_s is where token accounting is unavailable. Percentiles are values that
--   occurred, never interpolated.
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
-- A `cross join` keeps to the order of its tables: a run's rows stay together, and no group needs
-- sorting.
measured as (
    select r.run_id,
        count(t.ttft_s) as ttft_n, avg(t.ttft_s) as ttft_mean,
        count(t.tpot_s) as tpot_n, avg(t.tpot_s) as tpot_mean,
        count(t.first_byte_s) as first_byte_n, avg(t.first_byte_s) as first_byte_mean,
        count(t.decode_tpot_s) as decode_tpot_n, avg(t.decode_tpot_s) as decode_tpot_mean,
        count(t.queue_wait_s) as queue_wait_n, avg(t.queue_wait_s) as queue_wait_mean,
        count(t.duration_s) as duration_n, avg(t.duration_s) as duration_mean
    from runs as r
    cross join given as g
    cross join terminals as t
    where (g.run is null or g.run = r.run)
        and t.run_id = r.run_id
        and t.terminal = 'completed'
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
    group by r.run_id
),
by_metric as (
    select run_id, 1 as metric_no, 'ttft_s' as metric, ttft_n as n, ttft_mean as average
    from measured
    union all
    select run_id, 2, 'tpot_s', tpot_n, tpot_mean
    from measured
    union all
    select run_id, 3, 'first_byte_s', first_byte_n, first_byte_mean
    from measured
    union all
    select run_id, 4, 'decode_tpot_s', decode_tpot_n, decode_tpot_mean
    from measured
    union all
    select run_id, 5, 'queue_wait_s', queue_wait_n, queue_wait_mean
    from measured
    union all
    select run_id, 6, 'duration_s', duration_n, duration_mean
    from measured
),
bins as (
    select b.run_id, b.metric, b.low, b.requests
    from given as g
    cross join runs as r
    cross join latency_bins as b
    where g.is_whole = 1
        and (g.run is null or g.run = r.run)
        and b.run_id = r.run_id
    union all
    select m.run_id, m.metric, -1.7976931348623157e308, m.n
    from given as g
    cross join by_metric as m
    where g.is_whole = 0
        and m.n > 0
),
cumulated as (
    select run_id, metric, low, requests,
        lead(low, 1, 1.7976931348623157e308) over (partition by run_id, metric order by low) as high,
        sum(requests) over (partition by run_id, metric order by low) as upto,
        sum(requests) over (partition by run_id, metric) as n
    from bins
),
-- The bins that hold a percentile or the largest value; `skipped` values lie below, outside of them.
wanted as (
    select run_id, metric, low, high, upto, n,
        upto - sum(requests) over (partition by run_id, metric order by low) as skipped
    from cumulated
    where (100 * upto >= 50 * n and 100 * (upto - requests) < 50 * n)
        or (100 * upto >= 90 * n and 100 * (upto - requests) < 90 * n)
        or (100 * upto >= 95 * n and 100 * (upto - requests) < 95 * n)
        or (100 * upto >= 99 * n and 100 * (upto - requests) < 99 * n)
        or upto = n
),
edges as (
    select run_id, metric, max(n) as n,
        min(low) filter (where 100 * upto >= 50 * n) as low50,
        min(high) filter (where 100 * upto >= 50 * n) as high50,
        min(skipped) filter (where 100 * upto >= 50 * n) as skipped50,
        min(low) filter (where 100 * upto >= 90 * n) as low90,
        min(high) filter (where 100 * upto >= 90 * n) as high90,
        min(skipped) filter (where 100 * upto >= 90 * n) as skipped90,
        min(low) filter (where 100 * upto >= 95 * n) as low95,
        min(high) filter (where 100 * upto >= 95 * n) as high95,
        min(skipped) filter (where 100 * upto >= 95 * n) as skipped95,
        min(low) filter (where 100 * upto >= 99 * n) as low99,
        min(high) filter (where 100 * upto >= 99 * n) as high99,
        min(skipped) filter (where 100 * upto >= 99 * n) as skipped99,
        max(low) as low100
    from wanted
    group by run_id, metric
),
ranked as (
    select e.run_id, e.metric, e.n, e.skipped50, e.skipped90, e.skipped95, e.skipped99, t.ttft_s as v,
        row_number() over (partition by e.run_id order by t.ttft_s) as k
    from edges as e
    cross join runs as r
    cross join given as g
    cross join terminals as t
    where e.metric = 'ttft_s'
        and r.run_id = e.run_id
        and t.run_id = e.run_id
        and t.terminal = 'completed'
        and t.ttft_s >= e.low50
        and (t.ttft_s < e.high50 or t.ttft_s >= e.low90)
        and (t.ttft_s < e.high90 or t.ttft_s >= e.low95)
        and (t.ttft_s < e.high95 or t.ttft_s >= e.low99)
        and (t.ttft_s < e.high99 or t.ttft_s >= e.low100)
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
    union all
    select e.run_id, e.metric, e.n, e.skipped50, e.skipped90, e.skipped95, e.skipped99, t.tpot_s,
        row_number() over (partition by e.run_id order by t.tpot_s)
    from edges as e
    cross join runs as r
    cross join given as g
    cross join terminals as t
    where e.metric = 'tpot_s'
        and r.run_id = e.run_id
        and t.run_id = e.run_id
        and t.terminal = 'completed'
        and t.tpot_s >= e.low50
        and (t.tpot_s < e.high50 or t.tpot_s >= e.low90)
        and (t.tpot_s < e.high90 or t.tpot_s >= e.low95)
        and (t.tpot_s < e.high95 or t.tpot_s >= e.low99)
        and (t.tpot_s < e.high99 or t.tpot_s >= e.low100)
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
    union all
    select e.run_id, e.metric, e.n, e.skipped50, e.skipped90, e.skipped95, e.skipped99, t.first_byte_s,
        row_number() over (partition by e.run_id order by t.first_byte_s)
    from edges as e
    cross join runs as r
    cross join given as g
    cross join terminals as t
    where e.metric = 'first_byte_s'
        and r.run_id = e.run_id
        and t.run_id = e.run_id
        and t.terminal = 'completed'
        and t.first_byte_s >= e.low50
        and (t.first_byte_s < e.high50 or t.first_byte_s >= e.low90)
        and (t.first_byte_s < e.high90 or t.first_byte_s >= e.low95)
        and (t.first_byte_s < e.high95 or t.first_byte_s >= e.low99)
        and (t.first_byte_s < e.high99 or t.first_byte_s >= e.low100)
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
    union all
    select e.run_id, e.metric, e.n, e.skipped50, e.skipped90, e.skipped95, e.skipped99, t.decode_tpot_s,
        row_number() over (partition by e.run_id order by t.decode_tpot_s)
    from edges as e
    cross join runs as r
    cross join given as g
    cross join terminals as t
    where e.metric = 'decode_tpot_s'
        and r.run_id = e.run_id
        and t.run_id = e.run_id
        and t.terminal = 'completed'
        and t.decode_tpot_s >= e.low50
        and (t.decode_tpot_s < e.high50 or t.decode_tpot_s >= e.low90)
        and (t.decode_tpot_s < e.high90 or t.decode_tpot_s >= e.low95)
        and (t.decode_tpot_s < e.high95 or t.decode_tpot_s >= e.low99)
        and (t.decode_tpot_s < e.high99 or t.decode_tpot_s >= e.low100)
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
    union all
    select e.run_id, e.metric, e.n, e.skipped50, e.skipped90, e.skipped95, e.skipped99, t.queue_wait_s,
        row_number() over (partition by e.run_id order by t.queue_wait_s)
    from edges as e
    cross join runs as r
    cross join given as g
    cross join terminals as t
    where e.metric = 'queue_wait_s'
        and r.run_id = e.run_id
        and t.run_id = e.run_id
        and t.terminal = 'completed'
        and t.queue_wait_s >= e.low50
        and (t.queue_wait_s < e.high50 or t.queue_wait_s >= e.low90)
        and (t.queue_wait_s < e.high90 or t.queue_wait_s >= e.low95)
        and (t.queue_wait_s < e.high95 or t.queue_wait_s >= e.low99)
        and (t.queue_wait_s < e.high99 or t.queue_wait_s >= e.low100)
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
    union all
    select e.run_id, e.metric, e.n, e.skipped50, e.skipped90, e.skipped95, e.skipped99, t.duration_s,
        row_number() over (partition by e.run_id order by t.duration_s)
    from edges as e
    cross join runs as r
    cross join given as g
    cross join terminals as t
    where e.metric = 'duration_s'
        and r.run_id = e.run_id
        and t.run_id = e.run_id
        and t.terminal = 'completed'
        and t.duration_s >= e.low50
        and (t.duration_s < e.high50 or t.duration_s >= e.low90)
        and (t.duration_s < e.high90 or t.duration_s >= e.low95)
        and (t.duration_s < e.high95 or t.duration_s >= e.low99)
        and (t.duration_s < e.high99 or t.duration_s >= e.low100)
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
),
percentiles as (
    select run_id, metric,
        min(v) filter (where 100 * (k + skipped50) >= 50 * n) as p50,
        min(v) filter (where 100 * (k + skipped90) >= 90 * n) as p90,
        min(v) filter (where 100 * (k + skipped95) >= 95 * n) as p95,
        min(v) filter (where 100 * (k + skipped99) >= 99 * n) as p99,
        max(v) as largest
    from ranked
    group by run_id, metric
),
metrics as (
    select 1 as metric_no, 'ttft_s' as metric
    union all
    select 2, 'tpot_s'
    union all
    select 3, 'first_byte_s'
    union all
    select 4, 'decode_tpot_s'
    union all
    select 5, 'queue_wait_s'
    union all
    select 6, 'duration_s'
),
selected as (
    select r.run_id, r.run, r.started_at
    from given as g
    join runs as r on g.run is null or g.run = r.run
)
select
    s.run as run,
    m.metric as metric,
    coalesce(b.n, 0) as n,
    b.average as mean,
    p.p50 as p50,
    p.p90 as p90,
    p.p95 as p95,
    p.p99 as p99,
    p.largest as max
from selected as s
join metrics as m on 1 = 1
left join by_metric as b on b.run_id = s.run_id and b.metric = m.metric
left join percentiles as p on p.run_id = s.run_id and p.metric = m.metric
order by s.started_at, s.run, m.metric_no
