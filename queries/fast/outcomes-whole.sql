-- Faster: requests of whole runs are counted already, as the rows came.
with
gathered as materialized (
    select s.scope, counts_by(c.terminal, c.requests) as counts
    from selection as s
    cross join terminal_counts as c
    where c.run_id = s.run_id
    group by s.scope
),
counted as (
    select g.scope, k.value as terminal, rank_at(g.counts, k.key, 0) as ended
    from gathered as g
    cross join json_each(keys_of(g.counts)) as k
)
select
    c.scope as scope,
    c.terminal as terminal,
    c.ended as requests,
    1e0 * c.ended / sum(c.ended) over (partition by c.scope) as share
from counted as c
order by c.scope nulls first, c.terminal nulls first
