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
completed as (
    select s.run_id, t.ttft_s, t.tpot_s, t.first_byte_s, t.decode_tpot_s, t.queue_wait_s,
        t.duration_s
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.terminal = 'completed'
        and t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
-- Ordered as k is, n needs no second sort.
ranked as (
    select run_id, 1 as metric_no, ttft_s as v,
        row_number() over (partition by run_id order by ttft_s) as k,
        count(*) over (
            partition by run_id
            order by ttft_s
            rows between unbounded preceding and unbounded following
        ) as n,
        avg(ttft_s) over (
            partition by run_id
            order by ttft_s
            rows between unbounded preceding and unbounded following
        ) as mean
    from completed
    where ttft_s is not null
    union all
    select run_id, 2, tpot_s,
        row_number() over (partition by run_id order by tpot_s),
        count(*) over (
            partition by run_id
            order by tpot_s
            rows between unbounded preceding and unbounded following
        ),
        avg(tpot_s) over (
            partition by run_id
            order by tpot_s
            rows between unbounded preceding and unbounded following
        )
    from completed
    where tpot_s is not null
    union all
    select run_id, 3, first_byte_s,
        row_number() over (partition by run_id order by first_byte_s),
        count(*) over (
            partition by run_id
            order by first_byte_s
            rows between unbounded preceding and unbounded following
        ),
        avg(first_byte_s) over (
            partition by run_id
            order by first_byte_s
            rows between unbounded preceding and unbounded following
        )
    from completed
    where first_byte_s is not null
    union all
    select run_id, 4, decode_tpot_s,
        row_number() over (partition by run_id order by decode_tpot_s),
        count(*) over (
            partition by run_id
            order by decode_tpot_s
            rows between unbounded preceding and unbounded following
        ),
        avg(decode_tpot_s) over (
            partition by run_id
            order by decode_tpot_s
            rows between unbounded preceding and unbounded following
        )
    from completed
    where decode_tpot_s is not null
    union all
    select run_id, 5, queue_wait_s,
        row_number() over (partition by run_id order by queue_wait_s),
        count(*) over (
            partition by run_id
            order by queue_wait_s
            rows between unbounded preceding and unbounded following
        ),
        avg(queue_wait_s) over (
            partition by run_id
            order by queue_wait_s
            rows between unbounded preceding and unbounded following
        )
    from completed
    where queue_wait_s is not null
    union all
    select run_id, 6, duration_s,
        row_number() over (partition by run_id order by duration_s),
        count(*) over (
            partition by run_id
            order by duration_s
            rows between unbounded preceding and unbounded following
        ),
        avg(duration_s) over (
            partition by run_id
            order by duration_s
            rows between unbounded preceding and unbounded following
        )
    from completed
    where duration_s is not null
),
by_metric as (
    select run_id, metric_no, max(n) as values_known, max(mean) as average,
        min(v) filter (where 100 * k >= 50 * n) as p50,
        min(v) filter (where 100 * k >= 90 * n) as p90,
        min(v) filter (where 100 * k >= 95 * n) as p95,
        min(v) filter (where 100 * k >= 99 * n) as p99,
        max(v) as largest
    from ranked
    where 100 * k >= 50 * n
    group by run_id, metric_no
)
select
    s.run as run,
    m.metric as metric,
    coalesce(b.values_known, 0) as n,
    b.average as mean,
    b.p50 as p50,
    b.p90 as p90,
    b.p95 as p95,
    b.p99 as p99,
    b.largest as max
from selected as s
join metrics as m on 1 = 1
left join by_metric as b on b.run_id = s.run_id and b.metric_no = m.metric_no
order by s.started_at, s.run, m.metric_no
