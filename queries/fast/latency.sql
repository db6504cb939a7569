-- Faster than the definition: one pass over the requests, which sorts nothing (percentiles come from
-- the values of a group as they are), gives a wide row a scope; then that row becomes six. An empty
-- scope has a row without a request.
with
wide as materialized (
    select s.scope,
        0 as unserved,
        count(t.ttft_s) as ttft_n,
        avg(t.ttft_s) as ttft_mean,
        max(t.ttft_s) as ttft_max,
        nearest_rank(t.ttft_s, 50) as ttft_p50,
        nearest_rank(t.ttft_s, 90) as ttft_p90,
        nearest_rank(t.ttft_s, 95) as ttft_p95,
        nearest_rank(t.ttft_s, 99) as ttft_p99,
        count(t.tpot_s) as tpot_n,
        avg(t.tpot_s) as tpot_mean,
        max(t.tpot_s) as tpot_max,
        nearest_rank(t.tpot_s, 50) as tpot_p50,
        nearest_rank(t.tpot_s, 90) as tpot_p90,
        nearest_rank(t.tpot_s, 95) as tpot_p95,
        nearest_rank(t.tpot_s, 99) as tpot_p99,
        count(t.first_byte_s) as first_byte_n,
        avg(t.first_byte_s) as first_byte_mean,
        max(t.first_byte_s) as first_byte_max,
        nearest_rank(t.first_byte_s, 50) as first_byte_p50,
        nearest_rank(t.first_byte_s, 90) as first_byte_p90,
        nearest_rank(t.first_byte_s, 95) as first_byte_p95,
        nearest_rank(t.first_byte_s, 99) as first_byte_p99,
        count(t.decode_tpot_s) as decode_tpot_n,
        avg(t.decode_tpot_s) as decode_tpot_mean,
        max(t.decode_tpot_s) as decode_tpot_max,
        nearest_rank(t.decode_tpot_s, 50) as decode_tpot_p50,
        nearest_rank(t.decode_tpot_s, 90) as decode_tpot_p90,
        nearest_rank(t.decode_tpot_s, 95) as decode_tpot_p95,
        nearest_rank(t.decode_tpot_s, 99) as decode_tpot_p99,
        count(t.queue_wait_s) as queue_wait_n,
        avg(t.queue_wait_s) as queue_wait_mean,
        max(t.queue_wait_s) as queue_wait_max,
        nearest_rank(t.queue_wait_s, 50) as queue_wait_p50,
        nearest_rank(t.queue_wait_s, 90) as queue_wait_p90,
        nearest_rank(t.queue_wait_s, 95) as queue_wait_p95,
        nearest_rank(t.queue_wait_s, 99) as queue_wait_p99,
        count(t.duration_s) as duration_n,
        avg(t.duration_s) as duration_mean,
        max(t.duration_s) as duration_max,
        nearest_rank(t.duration_s, 50) as duration_p50,
        nearest_rank(t.duration_s, 90) as duration_p90,
        nearest_rank(t.duration_s, 95) as duration_p95,
        nearest_rank(t.duration_s, 99) as duration_p99
    from selection as s
    left join terminals as t
        on t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
    where coalesce(:of, 'completed') = 'completed'
    group by s.scope
    union all
    -- Infinite is what an unserved request took: slower than any that was measured.
    select s.scope,
        count(*) filter (where t.terminal <> 'completed'),
        count(t.ttft_s) filter (where t.terminal = 'completed'),
        avg(t.ttft_s) filter (where t.terminal = 'completed'),
        max(t.ttft_s) filter (where t.terminal = 'completed'),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.ttft_s), 50),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.ttft_s), 90),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.ttft_s), 95),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.ttft_s), 99),
        count(t.tpot_s) filter (where t.terminal = 'completed'),
        avg(t.tpot_s) filter (where t.terminal = 'completed'),
        max(t.tpot_s) filter (where t.terminal = 'completed'),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.tpot_s), 50),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.tpot_s), 90),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.tpot_s), 95),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.tpot_s), 99),
        count(t.first_byte_s) filter (where t.terminal = 'completed'),
        avg(t.first_byte_s) filter (where t.terminal = 'completed'),
        max(t.first_byte_s) filter (where t.terminal = 'completed'),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.first_byte_s), 50),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.first_byte_s), 90),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.first_byte_s), 95),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.first_byte_s), 99),
        count(t.decode_tpot_s) filter (where t.terminal = 'completed'),
        avg(t.decode_tpot_s) filter (where t.terminal = 'completed'),
        max(t.decode_tpot_s) filter (where t.terminal = 'completed'),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.decode_tpot_s), 50),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.decode_tpot_s), 90),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.decode_tpot_s), 95),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.decode_tpot_s), 99),
        count(t.queue_wait_s) filter (where t.terminal = 'completed'),
        avg(t.queue_wait_s) filter (where t.terminal = 'completed'),
        max(t.queue_wait_s) filter (where t.terminal = 'completed'),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.queue_wait_s), 50),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.queue_wait_s), 90),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.queue_wait_s), 95),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.queue_wait_s), 99),
        count(t.duration_s) filter (where t.terminal = 'completed'),
        avg(t.duration_s) filter (where t.terminal = 'completed'),
        max(t.duration_s) filter (where t.terminal = 'completed'),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.duration_s), 50),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.duration_s), 90),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.duration_s), 95),
        nearest_rank(iif(t.terminal <> 'completed', 9e999, t.duration_s), 99)
    from selection as s
    left join terminals as t
        on t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal not in ('invalid', 'cancelled')
    where coalesce(:of, 'completed') = 'offers'
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
