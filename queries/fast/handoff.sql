-- Faster: one pass over the requests; values are gathered by kind, nothing is sorted, and percentiles are picked.
with
gathered as materialized (
    select s.scope,
        ranks_by(
            case when t.first_byte_s >= t.ttft_s then case t.crossed when 1 then 'crossed' when 0 then 'local' end end,
            t.first_byte_s - t.ttft_s
        ) as handoff_ranks
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.scope
)
select
    g.scope as scope,
    k.value as kind,
    rank_at(g.handoff_ranks, k.key, 0) as n,
    rank_at(g.handoff_ranks, k.key, 50) as p50,
    rank_at(g.handoff_ranks, k.key, 90) as p90,
    rank_at(g.handoff_ranks, k.key, 99) as p99,
    rank_at(g.handoff_ranks, k.key, 100) as max
from gathered as g
cross join json_each(keys_of(g.handoff_ranks)) as k
order by g.scope nulls first, k.key nulls first
