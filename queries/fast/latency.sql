-- One pass over the index of completed requests, a percentile by selection and not by a sort.
with
unserved as materialized (
    select s.scope, count(*) as requests
    from selection as s
    cross join terminals as t indexed by terminals_not_completed
    where :of = 'offers'
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal <> 'completed'
        and t.terminal not in ('invalid', 'cancelled')
    group by s.scope
),
wide as materialized (
    select s.scope,
        count(t.ttft_s) as ttft_n, avg(t.ttft_s) as ttft_mean, ranks(t.ttft_s, coalesce(u.requests, 0)) as ttft_ranks,
        count(t.tpot_s) as tpot_n, avg(t.tpot_s) as tpot_mean, ranks(t.tpot_s, coalesce(u.requests, 0)) as tpot_ranks,
        count(t.first_byte_s) as first_byte_n, avg(t.first_byte_s) as first_byte_mean, ranks(t.first_byte_s, coalesce(u.requests, 0)) as first_byte_ranks,
        count(t.decode_tpot_s) as decode_tpot_n, avg(t.decode_tpot_s) as decode_tpot_mean, ranks(t.decode_tpot_s, coalesce(u.requests, 0)) as decode_tpot_ranks,
        count(t.queue_wait_s) as queue_wait_n, avg(t.queue_wait_s) as queue_wait_mean, ranks(t.queue_wait_s, coalesce(u.requests, 0)) as queue_wait_ranks,
        count(t.duration_s) as duration_n, avg(t.duration_s) as duration_mean, ranks(t.duration_s, coalesce(u.requests, 0)) as duration_ranks
    from selection as s
    left join unserved as u on u.scope = s.scope
    cross join terminals as t indexed by terminals_completed
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
    group by s.scope
),
by_metric as (
    select scope, 1 as metric_no, ttft_n as measured, ttft_mean as mean, ttft_ranks as ranks from wide
    union all
    select scope, 2, tpot_n, tpot_mean, tpot_ranks from wide
    union all
    select scope, 3, first_byte_n, first_byte_mean, first_byte_ranks from wide
    union all
    select scope, 4, decode_tpot_n, decode_tpot_mean, decode_tpot_ranks from wide
    union all
    select scope, 5, queue_wait_n, queue_wait_mean, queue_wait_ranks from wide
    union all
    select scope, 6, duration_n, duration_mean, duration_ranks from wide
),
metrics(metric_no, metric) as (
    values
        (1, 'ttft_s'),
        (2, 'tpot_s'),
        (3, 'first_byte_s'),
        (4, 'decode_tpot_s'),
        (5, 'queue_wait_s'),
        (6, 'duration_s')
),
scopes as (
    select distinct scope
    from selection
)
select
    s.scope as scope,
    m.metric as metric,
    coalesce(b.measured, 0) + coalesce(u.requests, 0) as n,
    coalesce(u.requests, 0) as unserved,
    b.mean as mean,
    rank_of(b.ranks, 50) as p50,
    rank_of(b.ranks, 90) as p90,
    rank_of(b.ranks, 95) as p95,
    rank_of(b.ranks, 99) as p99,
    rank_of(b.ranks, 100) as max
from scopes as s
cross join metrics as m
left join by_metric as b on b.scope = s.scope and b.metric_no = m.metric_no
left join unserved as u on u.scope = s.scope
order by s.scope nulls first, m.metric_no nulls first
