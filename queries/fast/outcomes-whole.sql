-- Faster: requests of whole runs are counted already, as the rows came.
with
counted as (
    select s.scope, c.terminal, sum(c.requests) as ended
    from selection as s
    cross join terminal_counts as c
    where c.run_id = s.run_id
    group by s.scope, c.terminal
)
select
    c.scope as scope,
    c.terminal as terminal,
    c.ended as requests,
    1e0 * c.ended / sum(c.ended) over (partition by c.scope) as share
from counted as c
order by c.scope nulls first, c.terminal nulls first
