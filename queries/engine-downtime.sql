-- engine-downtime: when each engine was out of service, and why
-- group: engines
--
-- Columns
--   run | text | run id
--   engine | text | engine id
--   kind | text | ejected, or the kind of the hold: timed, inference
--   cause | text | why it was ejected, or what ended the hold
--   from_s | s | start, from the run's zero; null when it is not known
--   to_s | s | end, from the run's zero
--   duration_s | s | to_s - from_s
--   wall_from | time | estimated wall time of the start
--   wall_to | time | estimated wall time of the end
--   open | flag | 1 when it had not ended by the run's end, which is then to_s
--
-- Reading it
--   Every outage that overlaps what is selected, uncut; one with an unknown start when its end is
--   selected. From 0.6 on; before, the journal does not say. An end without a start began so long
--   before as the event says it was held, but after the end before it, else its start is unknown. A
--   second start while one is open is the same outage. Holds and ejections of one engine can
--   overlap: do not add them up.
with
marks as (
    select e.run_id, e.event_id, e.iid, e.at as marked_at, e.source_id, e.byte_offset,
        e.cause,
        coalesce(e.held_s, e.duration_s) as held_s,
        case when e.event in ('engine_ejected', 'engine_readmitted') then 1 else 0 end as is_ejection,
        case
            when e.event in ('engine_ejected', 'engine_readmitted') then 'ejected'
            else e.kind
        end as kind,
        case when e.event in ('engine_ejected', 'engine_hold_started') then 1 else 0 end as is_start
    from events as e
    where e.run_id in (select s.run_id from selection as s)
        and e.event in
            ('engine_ejected', 'engine_readmitted', 'engine_hold_started', 'engine_hold_ended')
        and e.at is not null
),
-- Whatever comes after a start leaves it open or ends it, so the event before tells which is open.
followed as (
    select run_id, event_id, iid, marked_at, source_id, byte_offset, cause, held_s, is_ejection,
        kind, is_start,
        lag(is_start) over (
            partition by run_id, is_ejection, iid, kind
            order by marked_at nulls first, source_id nulls first, byte_offset nulls first
        ) as before_is_start,
        lag(marked_at) over (
            partition by run_id, is_ejection, iid, kind
            order by marked_at nulls first, source_id nulls first, byte_offset nulls first
        ) as before_at
    from marks
),
-- Without the starts that begin nothing, what follows a start is its end.
turns as (
    select run_id, event_id, iid, marked_at, cause, held_s, is_ejection, kind, is_start,
        before_is_start, before_at,
        lead(marked_at) over (
            partition by run_id, is_ejection, iid, kind
            order by marked_at nulls first, source_id nulls first, byte_offset nulls first
        ) as end_at,
        lead(cause) over (
            partition by run_id, is_ejection, iid, kind
            order by marked_at nulls first, source_id nulls first, byte_offset nulls first
        ) as end_cause
    from followed
    where is_start = 0
        or coalesce(before_is_start, 0) = 0
),
outages as (
    select t.run_id as run_id, t.event_id, t.iid, t.kind,
        case when t.is_ejection = 1 then t.cause else t.end_cause end as cause,
        t.marked_at as from_at,
        coalesce(t.end_at, r.last_s) as to_at,
        case when t.end_at is null then 1 else 0 end as is_open
    from turns as t
    join runs as r on r.run_id = t.run_id
    where t.is_start = 1
    union all
    select run_id, event_id, iid, kind,
        case when is_ejection = 0 then cause end,
        case when marked_at - held_s < before_at then before_at else marked_at - held_s end,
        marked_at,
        0
    from turns
    where is_start = 0
        and coalesce(before_is_start, 0) = 0
),
touched as (
    select distinct o.event_id
    from selection as s
    join outages as o on o.run_id = s.run_id
    where coalesce(o.from_at, o.to_at) < s.to_s
        and (o.to_at > s.from_s or coalesce(o.from_at, o.to_at) >= s.from_s)
)
select
    r.run as run,
    o.iid as engine,
    o.kind as kind,
    o.cause as cause,
    o.from_at - r.first_s as from_s,
    o.to_at - r.first_s as to_s,
    o.to_at - o.from_at as duration_s,
    o.from_at + r.wall_offset_s as wall_from,
    o.to_at + r.wall_offset_s as wall_to,
    o.is_open as open
from touched as h
join outages as o on o.event_id = h.event_id
join runs as r on r.run_id = o.run_id
order by r.started_at nulls first, r.run nulls first, o.iid nulls first, o.kind nulls first,
    o.from_at nulls first, o.to_at nulls first, o.cause nulls first
