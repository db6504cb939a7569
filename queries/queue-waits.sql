-- queue-waits: how long requests waited, by stage
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
--   stage | text | admission, prefill, decode, or total
--   n | count | requests that have it
--   p50 | s | median, nearest rank
--   p90 | s | 90th percentile
--   p99 | s | 99th percentile
--   max | s | the largest
--
-- Reading it
--   Of all requests, however they ended; a stage that a request did not reach has no wait. total is
--   queue_wait_s. Before 0.6 the journal has no stages, and only total has a row.
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
stages as (
    select 1 as stage_no, 'admission' as stage
    union all
    select 2, 'prefill'
    union all
    select 3, 'decode'
    union all
    select 4, 'total'
),
asked as (
    select s.run_id, t.queue_wait_admission_s, t.queue_wait_prefill_s, t.queue_wait_decode_s,
        t.queue_wait_s,
        -- An object whose stages are all null has left its name in `extra`.
        case
            when t.queue_wait_admission_s is not null or t.queue_wait_prefill_s is not null
                or t.queue_wait_decode_s is not null or t.extra like '%"queue_waits":{%'
            then 1
            else 0
        end as has_stages
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
releases as (
    select run_id, max(has_stages) as any_stages
    from asked
    group by run_id
),
-- Ordered as k is, n needs no second sort.
ranked as (
    select run_id, 1 as stage_no, queue_wait_admission_s as v,
        row_number() over (partition by run_id order by queue_wait_admission_s) as k,
        count(*) over (
            partition by run_id
            order by queue_wait_admission_s
            rows between unbounded preceding and unbounded following
        ) as n
    from asked
    where queue_wait_admission_s is not null
    union all
    select run_id, 2, queue_wait_prefill_s,
        row_number() over (partition by run_id order by queue_wait_prefill_s),
        count(*) over (
            partition by run_id
            order by queue_wait_prefill_s
            rows between unbounded preceding and unbounded following
        )
    from asked
    where queue_wait_prefill_s is not null
    union all
    select run_id, 3, queue_wait_decode_s,
        row_number() over (partition by run_id order by queue_wait_decode_s),
        count(*) over (
            partition by run_id
            order by queue_wait_decode_s
            rows between unbounded preceding and unbounded following
        )
    from asked
    where queue_wait_decode_s is not null
    union all
    select run_id, 4, queue_wait_s,
        row_number() over (partition by run_id order by queue_wait_s),
        count(*) over (
            partition by run_id
            order by queue_wait_s
            rows between unbounded preceding and unbounded following
        )
    from asked
    where queue_wait_s is not null
),
by_stage as (
    select run_id, stage_no, max(n) as values_known,
        min(v) filter (where 100 * k >= 50 * n) as p50,
        min(v) filter (where 100 * k >= 90 * n) as p90,
        min(v) filter (where 100 * k >= 99 * n) as p99,
        max(v) as largest
    from ranked
    where 100 * k >= 50 * n
    group by run_id, stage_no
)
select
    s.run as run,
    g.stage as stage,
    coalesce(b.values_known, 0) as n,
    b.p50 as p50,
    b.p90 as p90,
    b.p99 as p99,
    b.largest as max
from selected as s
left join releases as r on r.run_id = s.run_id
join stages as g on g.stage = 'total' or r.any_stages = 1
left join by_stage as b on b.run_id = s.run_id and b.stage_no = g.stage_no
order by s.started_at, s.run, g.stage_no
