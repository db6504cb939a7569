-- Faster: one pass over the requests; values are gathered by outcome, nothing is sorted, and percentiles are picked.
with
gathered as materialized (
    select s.scope,
        ranks_by(t.terminal, t.price_s) as price_ranks,
        ranks_by(t.terminal, case when t.price_s is not null then t.ttft_s end) as price_ttft,
        ranks_by(t.terminal, t.price_s - t.ttft_s) as price_error
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.scope
),
-- Outcomes without any TTFT are in the first of these only.
measured as (
    select g.scope, g.price_ttft, g.price_error, t.value as outcome, t.key as place
    from gathered as g
    cross join json_each(keys_of(g.price_ttft)) as t
)
select
    g.scope as scope,
    p.value as outcome,
    rank_at(g.price_ranks, p.key, 0) as n,
    rank_at(g.price_ranks, p.key, 50) as price_p50,
    rank_at(m.price_ttft, m.place, 50) as ttft_p50,
    rank_at(m.price_error, m.place, 50) as error_p50,
    rank_at(m.price_error, m.place, 90) as error_p90
from gathered as g
cross join json_each(keys_of(g.price_ranks)) as p
left join measured as m on m.scope = g.scope and m.outcome = p.value
order by g.scope nulls first, p.key nulls first
