-- Faster: completed requests, nearly all, are only counted, by their index; the others are counted by terminal as they
-- come, and nothing is sorted into groups.
with
completed as (
    select s.scope, count(*) as ended
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
    group by s.scope
),
others as materialized (
    select s.scope, counts_by(t.terminal, 1) as counts
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal <> 'completed'
    group by s.scope
),
counted as (
    select scope, 'completed' as terminal, ended
    from completed
    union all
    select o.scope, k.value, rank_at(o.counts, k.key, 0)
    from others as o
    cross join json_each(keys_of(o.counts)) as k
)
select
    c.scope as scope,
    c.terminal as terminal,
    c.ended as requests,
    1e0 * c.ended / sum(c.ended) over (partition by c.scope) as share
from counted as c
order by c.scope nulls first, c.terminal nulls first
