-- outcomes: how requests ended
-- group: outcomes and failures
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   terminal | text | how the requests ended
--   requests | count | how many
--   share | ratio | of the scope's requests
--
-- Reading it
--   A terminal that no request had has no row.
with
counted as (
    select s.scope, t.terminal, count(*) as ended
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.scope, t.terminal
)
select
    c.scope as scope,
    c.terminal as terminal,
    c.ended as requests,
    1e0 * c.ended / sum(c.ended) over (partition by c.scope) as share
from counted as c
order by c.scope nulls first, c.terminal nulls first
