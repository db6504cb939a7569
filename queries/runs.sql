-- runs: which router processes wrote the journal, and when
-- group: runs and events
-- caveat: stepped clock
--
-- Columns
--   run | text | run id: unix seconds of the start, then 8 hex digits
--   started_at | time | the start, from the run id; null when it holds no time
--   version | text | release of the build that wrote it
--   git | text | commit of that build; null from a wheel
--   source | text | digest of that build's source
--   token_accounting | text | from the build, else from the run's terminals when they agree
--   admission_mode | text | admission of the build; null before 0.6
--   build_certainty | text | exact, ambiguous or missing: how sure it is which build row is the run's
--   path | text | the source where the run's first stored row stands
--   terminals | count | requests that ended
--   events | count | router events
--   first_s | monotonic s | the smallest time stored: zero of rel_s
--   last_s | monotonic s | the largest time stored, ends of requests included
--   span_s | s | last_s - first_s
--   wall_from | time | estimated wall time of first_s
--   wall_to | time | estimated wall time of last_s
--   wall_error_s | s | half the width of that estimate; null when its basis is start
--   wall_basis | text | what it is from: lifecycle, start+file or start
--
-- Reading it
--   The runs of the selection, each with all of it, also where only a part is selected. The build
--   columns are null unless build_certainty is exact. The wall times are null when nothing bounds
--   the run's wall clock, or no offset fits all its lifecycle events (a stepped clock); with the
--   basis start they are the earliest possible.
with
chosen as (
    select distinct run_id
    from selection
),
ended as (
    select c.run_id, count(*) as terminals,
        case when min(t.token_accounting) = max(t.token_accounting) then min(t.token_accounting) end
            as agreed_accounting
    from chosen as c
    cross join terminals as t
    where t.run_id = c.run_id
    group by c.run_id
),
logged as (
    select c.run_id, count(*) as events
    from chosen as c
    cross join events as e
    where e.run_id = c.run_id
    group by c.run_id
)
select
    r.run as run,
    r.started_at as started_at,
    b.version as version,
    b.git as git,
    b.source as source,
    coalesce(b.token_accounting, t.agreed_accounting) as token_accounting,
    b.admission_mode as admission_mode,
    r.build_certainty as build_certainty,
    f.path as path,
    coalesce(t.terminals, 0) as terminals,
    coalesce(e.events, 0) as events,
    r.first_s as first_s,
    r.last_s as last_s,
    r.last_s - r.first_s as span_s,
    r.first_s + r.wall_offset_s as wall_from,
    r.last_s + r.wall_offset_s as wall_to,
    r.wall_error_s as wall_error_s,
    r.wall_basis as wall_basis
from chosen as c
join runs as r on r.run_id = c.run_id
left join builds as b on b.build_id = r.build_id
left join sources as f on f.source_id = r.source_id
left join ended as t on t.run_id = c.run_id
left join logged as e on e.run_id = c.run_id
order by r.started_at nulls first, r.run nulls first
