-- Faster: completed requests, nearly all, are only counted, by their index; the others alone are sorted.
with
counted as (
    select s.scope, 'completed' as terminal, count(*) as ended
    from selection as s
    cross join terminals as t indexed by terminals_completed
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
    group by s.scope
    union all
    select s.scope, t.terminal, count(*)
    from selection as s
    cross join terminals as t indexed by terminals_not_completed
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal <> 'completed'
    group by s.scope, t.terminal
)
select
    c.scope as scope,
    c.terminal as terminal,
    c.ended as requests,
    1e0 * c.ended / sum(c.ended) over (partition by c.scope) as share
from counted as c
order by c.scope nulls first, c.terminal nulls first
