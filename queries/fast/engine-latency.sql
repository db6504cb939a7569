-- Faster than the definition: percentiles come from the values of a group as they are; only the
-- groups are sorted, once by prefill and once by decode engine.
with
by_prefill as (
    select s.scope, t.prefill_iid as engine, count(*) as ttft_n,
        nearest_rank(t.ttft_s, 50) as ttft_p50,
        nearest_rank(t.ttft_s, 90) as ttft_p90,
        nearest_rank(t.ttft_s, 99) as ttft_p99,
        max(t.ttft_s) as ttft_max
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
        and t.prefill_iid is not null
        and t.ttft_s is not null
    group by s.scope, t.prefill_iid
),
by_decode as materialized (
    select s.scope, t.decode_iid as engine,
        count(t.tpot_s) as tpot_n,
        nearest_rank(t.tpot_s, 50) as tpot_p50,
        nearest_rank(t.tpot_s, 90) as tpot_p90,
        nearest_rank(t.tpot_s, 99) as tpot_p99,
        max(t.tpot_s) as tpot_max,
        count(t.decode_tpot_s) as decode_tpot_n,
        nearest_rank(t.decode_tpot_s, 50) as decode_tpot_p50,
        nearest_rank(t.decode_tpot_s, 90) as decode_tpot_p90,
        nearest_rank(t.decode_tpot_s, 99) as decode_tpot_p99,
        max(t.decode_tpot_s) as decode_tpot_max
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
        and t.decode_iid is not null
    group by s.scope, t.decode_iid
),
by_metric as (
    select scope, 'ttft_s' as metric, engine, ttft_n as n, ttft_p50 as p50, ttft_p90 as p90,
        ttft_p99 as p99, ttft_max as largest
    from by_prefill
    union all
    select scope, 'tpot_s', engine, tpot_n, tpot_p50, tpot_p90, tpot_p99, tpot_max
    from by_decode
    where tpot_n > 0
    union all
    select scope, 'decode_tpot_s', engine, decode_tpot_n, decode_tpot_p50, decode_tpot_p90,
        decode_tpot_p99, decode_tpot_max
    from by_decode
    where decode_tpot_n > 0
)
select
    b.scope as scope,
    b.metric as metric,
    b.engine as engine,
    b.n as n,
    b.p50 as p50,
    b.p90 as p90,
    b.p99 as p99,
    b.largest as max
from by_metric as b
order by b.scope nulls first, b.metric nulls first, b.engine nulls first
