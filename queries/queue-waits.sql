-- queue-waits: how long requests waited, by stage
-- group: latency
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   stage | text | admission, prefill, decode, or total
--   n | count | requests that have it
--   p50 | s | median, nearest rank
--   p90 | s | 90th percentile
--   p99 | s | 99th percentile
--   max | s | the largest
--
-- Reading it
--   Of all requests, however they ended. total is queue_wait_s, and every scope has its row. A stage
--   has one where a request of the scope waited in it, if only for 0 s: one that a request did not
--   reach has no wait, and before 0.6 the journal has no stages.
with
stages as (
    select 1 as stage_no, 'admission' as stage
    union all
    select 2, 'prefill'
    union all
    select 3, 'decode'
    union all
    select 4, 'total'
),
waits as (
    select s.scope, g.stage_no,
        case g.stage_no
            when 1 then t.queue_wait_admission_s
            when 2 then t.queue_wait_prefill_s
            when 3 then t.queue_wait_decode_s
            else t.queue_wait_s
        end as v
    from selection as s
    cross join terminals as t
    cross join stages as g
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
),
ranked as (
    select scope, stage_no, v,
        row_number() over (partition by scope, stage_no order by v nulls last) as k,
        count(*) over (
            partition by scope, stage_no
            order by v nulls last
            rows between unbounded preceding and unbounded following
        ) as of_n
    from waits
    where v is not null
),
by_stage as (
    select scope, stage_no, count(*) as requests,
        min(v) filter (where 100 * k >= 50 * of_n) as p50,
        min(v) filter (where 100 * k >= 90 * of_n) as p90,
        min(v) filter (where 100 * k >= 99 * of_n) as p99,
        max(v) as largest
    from ranked
    group by scope, stage_no
),
scopes as (
    select distinct scope
    from selection
)
select
    s.scope as scope,
    g.stage as stage,
    coalesce(b.requests, 0) as n,
    b.p50 as p50,
    b.p90 as p90,
    b.p99 as p99,
    b.largest as max
from scopes as s
cross join stages as g
left join by_stage as b on b.scope = s.scope and b.stage_no = g.stage_no
where b.requests > 0 or g.stage = 'total'
order by s.scope nulls first, g.stage_no nulls first
