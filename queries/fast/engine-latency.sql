-- Faster: one pass over the index of completed requests; values are gathered by engine, nothing is sorted, and
-- percentiles are picked.
with
gathered as materialized (
    select s.scope,
        ranks_by(t.decode_iid, t.decode_tpot_s) as decode_tpot,
        ranks_by(t.decode_iid, t.tpot_s) as tpot,
        ranks_by(t.prefill_iid, t.ttft_s) as ttft
    from selection as s
    cross join terminals as t indexed by terminals_completed
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
    group by s.scope
),
by_metric as (
    select scope, 'decode_tpot_s' as metric, decode_tpot as ranks from gathered
    union all
    select scope, 'tpot_s', tpot from gathered
    union all
    select scope, 'ttft_s', ttft from gathered
)
select
    m.scope as scope,
    m.metric as metric,
    e.value as engine,
    rank_at(m.ranks, e.key, 0) as n,
    rank_at(m.ranks, e.key, 50) as p50,
    rank_at(m.ranks, e.key, 90) as p90,
    rank_at(m.ranks, e.key, 99) as p99,
    rank_at(m.ranks, e.key, 100) as max
from by_metric as m
cross join json_each(keys_of(m.ranks)) as e
order by m.scope nulls first, m.metric nulls first, e.key nulls first
