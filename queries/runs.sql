-- runs: which router processes wrote the journal, and when
-- group: runs and events
-- caveat: stepped clock
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--
-- Columns
--   run | text | run id: unix seconds of the start, then 8 hex digits
--   started_at | UTC | the start, from the run id; null when it holds no time
--   version | text | release of the build that wrote it
--   git | text | commit of that build; null from a wheel
--   source | text | digest of that build's source
--   token_accounting | text | from the build, else from the run's terminals when they agree
--   admission_mode | text | admission of the build; null before 0.6
--   build_certainty | text | exact, ambiguous or missing: how sure it is which build row is the run's
--   terminals | count | requests that ended
--   events | count | router events
--   first_s | monotonic s | the smallest time stored: zero of rel_s
--   last_s | monotonic s | the largest time stored, ends of requests included
--   span_s | s | last_s - first_s
--   wall_offset_s | s | estimated wall clock minus monotonic clock
--   wall_error_s | s | half the width of that estimate
--
-- Reading it
--   The build columns are null unless build_certainty is exact. wall_offset_s is null without a
--   lifecycle event between two rows of the run, and when no offset fits all of them (a stepped clock).
with
chosen as (
    select case when :run = 'last' then newest.run else :run end as run
    from (select 1 as one) as always
    left join (select run from runs order by started_at desc, run desc limit 1) as newest on 1 = 1
),
selected as (
    select r.run_id, r.run, r.started_at, r.build_id, r.build_certainty, r.first_s, r.last_s,
        r.wall_offset_s, r.wall_error_s
    from runs as r
    join chosen as c on c.run is null or c.run = r.run
),
offered as (
    select s.run_id, sum(c.requests) as terminals
    from selected as s
    join terminal_counts as c on c.run_id = s.run_id
    group by s.run_id
),
-- Only asked of the requests when no build says it.
agreed as (
    select s.run_id,
        case when min(t.token_accounting) = max(t.token_accounting) then min(t.token_accounting) end
            as token_accounting
    from selected as s
    left join builds as b on b.build_id = s.build_id
    cross join terminals as t
    where b.token_accounting is null
        and t.run_id = s.run_id
    group by s.run_id
),
event_counts as (
    select s.run_id, count(*) as events
    from selected as s
    join events as e on e.run_id = s.run_id
    group by s.run_id
)
select
    s.run as run,
    s.started_at as started_at,
    b.version as version,
    b.git as git,
    b.source as source,
    coalesce(b.token_accounting, a.token_accounting) as token_accounting,
    b.admission_mode as admission_mode,
    s.build_certainty as build_certainty,
    coalesce(o.terminals, 0) as terminals,
    coalesce(e.events, 0) as events,
    s.first_s as first_s,
    s.last_s as last_s,
    s.last_s - s.first_s as span_s,
    s.wall_offset_s as wall_offset_s,
    s.wall_error_s as wall_error_s
from selected as s
left join builds as b on b.build_id = s.build_id
left join offered as o on o.run_id = s.run_id
left join agreed as a on a.run_id = s.run_id
left join event_counts as e on e.run_id = s.run_id
order by s.started_at, s.run
