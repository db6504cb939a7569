-- Faster: one pass over the requests, which sorts nothing; percentiles are picked.
with
gathered as materialized (
    select s.scope,
        count(t.queue_wait_admission_s) as admission_n, ranks(t.queue_wait_admission_s, 0) as admission,
        count(t.queue_wait_prefill_s) as prefill_n, ranks(t.queue_wait_prefill_s, 0) as prefill,
        count(t.queue_wait_decode_s) as decode_n, ranks(t.queue_wait_decode_s, 0) as decode,
        count(t.queue_wait_s) as total_n, ranks(t.queue_wait_s, 0) as total
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.scope
),
by_stage as (
    select scope, 1 as stage_no, 'admission' as stage, admission_n as n, admission as ranks from gathered where admission_n > 0
    union all
    select scope, 2, 'prefill', prefill_n, prefill from gathered where prefill_n > 0
    union all
    select scope, 3, 'decode', decode_n, decode from gathered where decode_n > 0
    union all
    select s.scope, 4, 'total', coalesce(g.total_n, 0), g.total
    from (select distinct scope from selection) as s
    left join gathered as g on g.scope = s.scope
)
select
    b.scope as scope,
    b.stage as stage,
    b.n as n,
    rank_of(b.ranks, 50) as p50,
    rank_of(b.ranks, 90) as p90,
    rank_of(b.ranks, 99) as p99,
    rank_of(b.ranks, 100) as max
from by_stage as b
order by b.scope nulls first, b.stage_no nulls first
