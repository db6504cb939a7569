-- controller: what the controller decided, and why
-- group: router
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   by | text | what asked for the decision
--   result | text | what became of it: applied, held, blocked, advisory
--   reason | text | why
--   decisions | count | such decisions
--   wall_from | time | estimated wall time of the first
--   wall_to | time | estimated wall time of the last
--
-- Reading it
--   A scope without controller decisions has no row. The times are null where no offset between the
--   run's clock and wall time is known: `runs` has it, and its error. `events` has the split that
--   each decision chose.
with
decided as (
    select s.scope, e."by" as decided_by, e.result, e.reason, e.at + r.wall_offset_s as wall
    from selection as s
    cross join runs as r
    cross join events as e
    where r.run_id = s.run_id
        and e.run_id = s.run_id
        and e.place_s >= s.from_s
        and e.place_s < s.to_s
        and e.event = 'controller_decision'
)
select
    d.scope as scope,
    d.decided_by as "by",
    d.result as result,
    d.reason as reason,
    count(*) as decisions,
    min(d.wall) as wall_from,
    max(d.wall) as wall_to
from decided as d
group by d.scope, d.decided_by, d.result, d.reason
order by d.scope nulls first, d.decided_by nulls first, d.result nulls first, d.reason nulls first
