-- selection: which parts of which runs the other queries are asked of
-- group: runs and events
--
-- Columns
--   scope | text | the group that the part is answered in: a run id, or as --by says
--   run | text | run id
--   from_s | monotonic s | the part begins here; null: open
--   to_s | monotonic s | and ends before this; null: open
--   wall_from | time | estimated wall time of from_s; null when that is open or unknown
--   wall_to | time | estimated wall time of to_s; null when that is open or unknown
--
-- Reading it
--   A part takes in the requests of its run that arrived in it, and the events placed in it. Where
--   nothing was chosen every run is a scope of its own, and open at both ends. `runs` has the error
--   of the estimated wall times.
select
    s.scope as scope,
    r.run as run,
    case when s.from_s > -1e308 then s.from_s end as from_s,
    case when s.to_s < 1e308 then s.to_s end as to_s,
    case when s.from_s > -1e308 then s.from_s + r.wall_offset_s end as wall_from,
    case when s.to_s < 1e308 then s.to_s + r.wall_offset_s end as wall_to
from selection as s
join runs as r on r.run_id = s.run_id
order by s.scope nulls first, r.run nulls first, s.from_s nulls first
