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
        and t.arrived - s.first_s < coalesce(:to, 1e300)
        and t.arrived - s.first_s >= s.span_s - coalesce(:last, 1e300)
),
summed as (
    select run_id,
        count(ttft_s) as ttft_n, avg(ttft_s) as ttft_mean,
        count(tpot_s) as tpot_n, avg(tpot_s) as tpot_mean,
        count(first_byte_s) as first_byte_n, avg(first_byte_s) as first_byte_mean,
        count(decode_tpot_s) as decode_tpot_n, avg(decode_tpot_s) as decode_tpot_mean,
        count(queue_wait_s) as queue_wait_n, avg(queue_wait_s) as queue_wait_mean,
        count(duration_s) as duration_n, avg(duration_s) as duration_mean
    from completed
    group by run_id
),
counted as (
    select c.run_id, m.metric_no,
        case m.metric_no
            when 1 then c.ttft_n
            when 2 then c.tpot_n
            when 3 then c.first_byte_n
            when 4 then c.decode_tpot_n
            when 5 then c.queue_wait_n
            else c.duration_n
        end as n,
        case m.metric_no
            when 1 then c.ttft_mean
            when 2 then c.tpot_mean
            when 3 then c.first_byte_mean
            when 4 then c.decode_tpot_mean
            when 5 then c.queue_wait_mean
            else c.duration_mean
        end as mean
    from summed as c
    join metrics as m on 1 = 1
),
ranked as (
    select run_id, 1 as metric_no, ttft_s as v,
        row_number() over (partition by run_id order by ttft_s) as k
    from completed
    where ttft_s is not null
    union all
    select run_id, 2, tpot_s,
        row_number() over (partition by run_id order by tpot_s)
    from completed
    where tpot_s is not null
    union all
    select run_id, 3, first_byte_s,
        row_number() over (partition by run_id order by first_byte_s)
    from completed
    where first_byte_s is not null
    union all
    select run_id, 4, decode_tpot_s,
        row_number() over (partition by run_id order by decode_tpot_s)
    from completed
    where decode_tpot_s is not null
    union all
    select run_id, 5, queue_wait_s,
        row_number() over (partition by run_id order by queue_wait_s)
    from completed
    where queue_wait_s is not null
    union all
    select run_id, 6, duration_s,
        row_number() over (partition by run_id order by duration_s)
    from completed
    where duration_s is not null
),
by_metric as (
    select r.run_id, r.metric_no,
        min(r.v) filter (where 100 * r.k >= 50 * c.n) as p50,
        min(r.v) filter (where 100 * r.k >= 90 * c.n) as p90,
        min(r.v) filter (where 100 * r.k >= 95 * c.n) as p95,
        min(r.v) filter (where 100 * r.k >= 99 * c.n) as p99,
        max(r.v) as largest
    from ranked as r
    join counted as c on c.run_id = r.run_id and c.metric_no = r.metric_no
    where 100 * r.k >= 50 * c.n
    group by r.run_id, r.metric_no
)
select
    s.run as run,
    m.metric as metric,
    coalesce(c.n, 0) as n,
    c.mean as mean,
    b.p50 as p50,
    b.p90 as p90,
    b.p95 as p95,
    b.p99 as p99,
    b.largest as max
from selected as s
join metrics as m on 1 = 1
left join counted as c on c.run_id = s.run_id and c.metric_no = m.metric_no
left join by_metric as b on b.run_id = s.run_id and b.metric_no = m.metric_no
order by s.started_at, s.run, m.metric_no
