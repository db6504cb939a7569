-- Faster than the definition: one pass over the requests, which sorts nothing (percentiles come from
-- the values of a group as they are), gives a wide row a scope; then that row becomes six.
with
-- Infinite is what an unserved request took: slower than any that was measured. An empty scope has a
-- row without a request.
wide as materialized (
    select s.scope,
        count(*) filter (where t.terminal <> 'completed') as unserved,
        count(t.ttft_s) filter (where t.terminal = 'completed') as ttft_n,
        avg(t.ttft_s) filter (where t.terminal = 'completed') as ttft_mean,
        max(t.ttft_s) filter (where t.terminal = 'completed') as ttft_max,
        nearest_rank(case when t.terminal = 'completed' then t.ttft_s when t.terminal <> 'completed' then 9e999 end, 50)
            as ttft_p50,
        nearest_rank(case when t.terminal = 'completed' then t.ttft_s when t.terminal <> 'completed' then 9e999 end, 90)
            as ttft_p90,
        nearest_rank(case when t.terminal = 'completed' then t.ttft_s when t.terminal <> 'completed' then 9e999 end, 95)
            as ttft_p95,
        nearest_rank(case when t.terminal = 'completed' then t.ttft_s when t.terminal <> 'completed' then 9e999 end, 99)
            as ttft_p99,
        count(t.tpot_s) filter (where t.terminal = 'completed') as tpot_n,
        avg(t.tpot_s) filter (where t.terminal = 'completed') as tpot_mean,
        max(t.tpot_s) filter (where t.terminal = 'completed') as tpot_max,
        nearest_rank(case when t.terminal = 'completed' then t.tpot_s when t.terminal <> 'completed' then 9e999 end, 50)
            as tpot_p50,
        nearest_rank(case when t.terminal = 'completed' then t.tpot_s when t.terminal <> 'completed' then 9e999 end, 90)
            as tpot_p90,
        nearest_rank(case when t.terminal = 'completed' then t.tpot_s when t.terminal <> 'completed' then 9e999 end, 95)
            as tpot_p95,
        nearest_rank(case when t.terminal = 'completed' then t.tpot_s when t.terminal <> 'completed' then 9e999 end, 99)
            as tpot_p99,
        count(t.first_byte_s) filter (where t.terminal = 'completed') as first_byte_n,
        avg(t.first_byte_s) filter (where t.terminal = 'completed') as first_byte_mean,
        max(t.first_byte_s) filter (where t.terminal = 'completed') as first_byte_max,
        nearest_rank(case when t.terminal = 'completed' then t.first_byte_s when t.terminal <> 'completed' then 9e999 end, 50)
            as first_byte_p50,
        nearest_rank(case when t.terminal = 'completed' then t.first_byte_s when t.terminal <> 'completed' then 9e999 end, 90)
            as first_byte_p90,
        nearest_rank(case when t.terminal = 'completed' then t.first_byte_s when t.terminal <> 'completed' then 9e999 end, 95)
            as first_byte_p95,
        nearest_rank(case when t.terminal = 'completed' then t.first_byte_s when t.terminal <> 'completed' then 9e999 end, 99)
            as first_byte_p99,
        count(t.decode_tpot_s) filter (where t.terminal = 'completed') as decode_tpot_n,
        avg(t.decode_tpot_s) filter (where t.terminal = 'completed') as decode_tpot_mean,
        max(t.decode_tpot_s) filter (where t.terminal = 'completed') as decode_tpot_max,
        nearest_rank(case when t.terminal = 'completed' then t.decode_tpot_s when t.terminal <> 'completed' then 9e999 end, 50)
            as decode_tpot_p50,
        nearest_rank(case when t.terminal = 'completed' then t.decode_tpot_s when t.terminal <> 'completed' then 9e999 end, 90)
            as decode_tpot_p90,
        nearest_rank(case when t.terminal = 'completed' then t.decode_tpot_s when t.terminal <> 'completed' then 9e999 end, 95)
            as decode_tpot_p95,
        nearest_rank(case when t.terminal = 'completed' then t.decode_tpot_s when t.terminal <> 'completed' then 9e999 end, 99)
            as decode_tpot_p99,
        count(t.queue_wait_s) filter (where t.terminal = 'completed') as queue_wait_n,
        avg(t.queue_wait_s) filter (where t.terminal = 'completed') as queue_wait_mean,
        max(t.queue_wait_s) filter (where t.terminal = 'completed') as queue_wait_max,
        nearest_rank(case when t.terminal = 'completed' then t.queue_wait_s when t.terminal <> 'completed' then 9e999 end, 50)
            as queue_wait_p50,
        nearest_rank(case when t.terminal = 'completed' then t.queue_wait_s when t.terminal <> 'completed' then 9e999 end, 90)
            as queue_wait_p90,
        nearest_rank(case when t.terminal = 'completed' then t.queue_wait_s when t.terminal <> 'completed' then 9e999 end, 95)
            as queue_wait_p95,
        nearest_rank(case when t.terminal = 'completed' then t.queue_wait_s when t.terminal <> 'completed' then 9e999 end, 99)
            as queue_wait_p99,
        count(t.duration_s) filter (where t.terminal = 'completed') as duration_n,
        avg(t.duration_s) filter (where t.terminal = 'completed') as duration_mean,
        max(t.duration_s) filter (where t.terminal = 'completed') as duration_max,
        nearest_rank(case when t.terminal = 'completed' then t.duration_s when t.terminal <> 'completed' then 9e999 end, 50)
            as duration_p50,
        nearest_rank(case when t.terminal = 'completed' then t.duration_s when t.terminal <> 'completed' then 9e999 end, 90)
            as duration_p90,
        nearest_rank(case when t.terminal = 'completed' then t.duration_s when t.terminal <> 'completed' then 9e999 end, 95)
            as duration_p95,
        nearest_rank(case when t.terminal = 'completed' then t.duration_s when t.terminal <> 'completed' then 9e999 end, 99)
            as duration_p99
    from selection as s
    left join terminals as t
        on t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and (
            t.terminal = 'completed'
            or :of = 'offers' and t.terminal not in ('invalid', 'cancelled')
        )
    group by s.scope
),
by_metric as (
    select scope, 1 as metric_no, 'ttft_s' as metric, unserved, ttft_n as measured, ttft_mean as mean,
        ttft_p50 as p50, ttft_p90 as p90, ttft_p95 as p95, ttft_p99 as p99, ttft_max as largest
    from wide
    union all
    select scope, 2, 'tpot_s', unserved, tpot_n, tpot_mean,
        tpot_p50, tpot_p90, tpot_p95, tpot_p99, tpot_max
    from wide
    union all
    select scope, 3, 'first_byte_s', unserved, first_byte_n, first_byte_mean,
        first_byte_p50, first_byte_p90, first_byte_p95, first_byte_p99, first_byte_max
    from wide
    union all
    select scope, 4, 'decode_tpot_s', unserved, decode_tpot_n, decode_tpot_mean,
        decode_tpot_p50, decode_tpot_p90, decode_tpot_p95, decode_tpot_p99, decode_tpot_max
    from wide
    union all
    select scope, 5, 'queue_wait_s', unserved, queue_wait_n, queue_wait_mean,
        queue_wait_p50, queue_wait_p90, queue_wait_p95, queue_wait_p99, queue_wait_max
    from wide
    union all
    select scope, 6, 'duration_s', unserved, duration_n, duration_mean,
        duration_p50, duration_p90, duration_p95, duration_p99, duration_max
    from wide
)
select
    b.scope as scope,
    b.metric as metric,
    b.measured + b.unserved as n,
    b.unserved as unserved,
    b.mean as mean,
    case when b.p50 < 9e999 then b.p50 end as p50,
    case when b.p90 < 9e999 then b.p90 end as p90,
    case when b.p95 < 9e999 then b.p95 end as p95,
    case when b.p99 < 9e999 then b.p99 end as p99,
    b.largest as max
from by_metric as b
order by b.scope nulls first, b.metric_no nulls first
