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
completed as (
    select s.run_id, t.prefill_iid, t.decode_iid, t.ttft_s, t.tpot_s, t.decode_tpot_s
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.terminal = 'completed'
        and t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
-- Ordered as k is, n needs no second sort.
ranked as (
    select run_id, prefill_iid as engine, 'ttft_s' as metric, ttft_s as v,
        row_number() over (partition by run_id, prefill_iid order by ttft_s) as k,
        count(*) over (
            partition by run_id, prefill_iid
            order by ttft_s
            rows between unbounded preceding and unbounded following
        ) as n
    from completed
    where prefill_iid is not null and ttft_s is not null
    union all
    select run_id, decode_iid, 'tpot_s', tpot_s,
        row_number() over (partition by run_id, decode_iid order by tpot_s),
        count(*) over (
            partition by run_id, decode_iid
            order by tpot_s
            rows between unbounded preceding and unbounded following
        )
    from completed
    where decode_iid is not null and tpot_s is not null
    union all
    select run_id, decode_iid, 'decode_tpot_s', decode_tpot_s,
        row_number() over (partition by run_id, decode_iid order by decode_tpot_s),
        count(*) over (
            partition by run_id, decode_iid
            order by decode_tpot_s
            rows between unbounded preceding and unbounded following
        )
    from completed
    where decode_iid is not null and decode_tpot_s is not null
),
by_engine as (
    select run_id, engine, metric, max(n) as values_known,
        min(v) filter (where 100 * k >= 50 * n) as p50,
        min(v) filter (where 100 * k >= 90 * n) as p90,
        min(v) filter (where 100 * k >= 99 * n) as p99,
        max(v) as largest
    from ranked
    where 100 * k >= 50 * n
    group by run_id, engine, metric
)
select
    s.run as run,
    b.engine as engine,
    b.metric as metric,
    b.values_known as n,
    b.p50 as p50,
    b.p90 as p90,
    b.p99 as p99,
    b.largest as max
from by_engine as b
join selected as s on s.run_id = b.run_id
order by s.started_at, s.run, b.engine, b.metric
