with
given as (
    select case when 'offers' = 'offers' then 1 else 0 end as of_offers
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
asked as (
    select s.scope, t.ttft_s, t.tpot_s, t.first_byte_s, t.decode_tpot_s, t.queue_wait_s,
        t.duration_s,
        case when t.terminal = 'completed' then 0 else 1 end as is_unserved
    from given as g
    cross join selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and (
            t.terminal = 'completed'
            or g.of_offers = 1 and t.terminal not in ('invalid', 'cancelled')
        )
),
-- Of an unserved request no value counts, and it is slower than all that do.
measured as (
    select a.scope, m.metric_no, a.is_unserved,
        case
            when a.is_unserved = 1 then null
            when m.metric_no = 1 then a.ttft_s
            when m.metric_no = 2 then a.tpot_s
            when m.metric_no = 3 then a.first_byte_s
            when m.metric_no = 4 then a.decode_tpot_s
            when m.metric_no = 5 then a.queue_wait_s
            else a.duration_s
        end as v
    from asked as a
    cross join metrics as m
),
ranked as (
    select scope, metric_no, is_unserved, v
    from measured
    where v is not null or is_unserved = 1
),
by_metric as (
    select scope, metric_no, count(*) as requests, sum(is_unserved) as unserved, avg(v) as mean,
        nullif(quantileExactWeighted(0.5)(coalesce(v, cast('inf' as double)), 1), cast('inf' as double)) as p50,
        nullif(quantileExactWeighted(0.9)(coalesce(v, cast('inf' as double)), 1), cast('inf' as double)) as p90,
        nullif(quantileExactWeighted(0.95)(coalesce(v, cast('inf' as double)), 1), cast('inf' as double)) as p95,
        nullif(quantileExactWeighted(0.99)(coalesce(v, cast('inf' as double)), 1), cast('inf' as double)) as p99,
        max(v) as largest
    from ranked
    group by scope, metric_no
),
scopes as (
    select distinct scope
    from selection
)
select
    s.scope as scope,
    m.metric as metric,
    coalesce(b.requests, 0) as n,
    coalesce(b.unserved, 0) as unserved,
    b.mean as mean,
    b.p50 as p50,
    b.p90 as p90,
    b.p95 as p95,
    b.p99 as p99,
    b.largest as max
from scopes as s
cross join metrics as m
left join by_metric as b on b.scope = s.scope and b.metric_no = m.metric_no
order by s.scope nulls first, m.metric_no nulls first
settings join_use_nulls = 1, aggregate_functions_null_for_empty = 1, cast_keep_nullable = 1, union_default_mode = 'DISTINCT', max_recursive_cte_evaluation_depth = 1000000;
