-- events: what the router did and saw, in the order it happened
-- group: runs and events
-- caveat: stepped clock
--
-- Parameters
--   event | text | every kind | only events of this kind
--   engine | text | every event | only events that name this engine alone
--
-- Columns
--   run | text | run id
--   rel_s | s | time from the run's zero; null unless the clock is monotonic
--   at | s | the event's own time
--   clock | text | what that time is: monotonic, wall (Unix seconds) or unknown
--   wall | time | the event's own wall time, else estimated; null when unknown
--   event | text | kind of event
--   iid | text | engine; null when the event names none or several
--   detail | text | the other fields, as JSON
--
-- Reading it
--   The estimate is the run's wall_offset_s added to the monotonic time: `runs` has its error, and
--   says when there is none. An event of a kind that this release does not know has the clock
--   unknown. One without a monotonic time is chosen by its place among the rows of its journal.
with
given as (
    select :event as kind, :engine as engine
)
select
    r.run as run,
    case e.clock when 'monotonic' then e.at - r.first_s end as rel_s,
    e.at as "at",
    e.clock as clock,
    case e.clock when 'monotonic' then e.at + r.wall_offset_s when 'wall' then e.at end as wall,
    e.event as event,
    e.iid as iid,
    e.detail as detail
from selection as s
cross join runs as r
cross join events as e
cross join given as g
where r.run_id = s.run_id
    and e.run_id = s.run_id
    -- In a run without any time no event has a place.
    and (
        e.place_s >= s.from_s and e.place_s < s.to_s
        or e.place_s is null and s.from_s = -1e308
    )
    and e.event = coalesce(g.kind, e.event)
    and (g.engine is null or e.iid = g.engine)
order by r.started_at nulls first, r.run nulls first, e.place_s nulls first, e.source_id nulls first,
    e.byte_offset nulls first
