-- floor-breaches: when too few prefill engines were live
-- group: router
--
-- Columns
--   run | text | run id
--   from_s | s | start, from the run's zero; null when it is not known
--   to_s | s | end, from the run's zero
--   duration_s | s | to_s - from_s
--   wall_from | time | estimated wall time of the start
--   wall_to | time | estimated wall time of the end
--   live_prefill | count | live prefill engines at the start
--   min_prefill | count | the floor
--   open | flag | 1 when it had not ended by the run's end, which is then to_s
--
-- Reading it
--   Between below_floor and below_floor_recovered: every breach that overlaps what is selected,
--   uncut; one with an unknown start when its end is selected. A recovery without a start began so
--   long before as it says, but after the recovery before it, else its start is unknown;
--   live_prefill and min_prefill are then the recovery's. A second below_floor while one is open is
--   the same breach.
with
marks as (
    select e.run_id, e.event_id, e.at as marked_at, e.source_id, e.byte_offset,
        e.live_prefill, e.min_prefill,
        coalesce(e.held_s, e.duration_s) as held_s,
        case when e.event = 'below_floor' then 1 else 0 end as is_start
    from events as e
    where e.run_id in (select s.run_id from selection as s)
        and e.event in ('below_floor', 'below_floor_recovered')
        and e.at is not null
),
-- Whatever comes after a start leaves it open or ends it, so the event before tells which is open.
followed as (
    select run_id, event_id, marked_at, source_id, byte_offset, live_prefill, min_prefill, held_s,
        is_start,
        lag(is_start) over (
            partition by run_id
            order by marked_at nulls first, source_id nulls first, byte_offset nulls first
        ) as before_is_start,
        lag(marked_at) over (
            partition by run_id
            order by marked_at nulls first, source_id nulls first, byte_offset nulls first
        ) as before_at
    from marks
),
-- Without the starts that begin nothing, what follows a start is its end.
turns as (
    select run_id, event_id, marked_at, live_prefill, min_prefill, held_s, is_start, before_is_start,
        before_at,
        lead(marked_at) over (
            partition by run_id
            order by marked_at nulls first, source_id nulls first, byte_offset nulls first
        ) as end_at
    from followed
    where is_start = 0
        or coalesce(before_is_start, 0) = 0
),
breaches as (
    select t.run_id as run_id, t.event_id, t.live_prefill, t.min_prefill,
        t.marked_at as from_at,
        coalesce(t.end_at, r.last_s) as to_at,
        case when t.end_at is null then 1 else 0 end as is_open
    from turns as t
    join runs as r on r.run_id = t.run_id
    where t.is_start = 1
    union all
    select run_id, event_id, live_prefill, min_prefill,
        case when marked_at - held_s < before_at then before_at else marked_at - held_s end,
        marked_at,
        0
    from turns
    where is_start = 0
        and coalesce(before_is_start, 0) = 0
),
touched as (
    select distinct b.event_id
    from selection as s
    join breaches as b on b.run_id = s.run_id
    where coalesce(b.from_at, b.to_at) < s.to_s
        and (b.to_at > s.from_s or coalesce(b.from_at, b.to_at) >= s.from_s)
)
select
    r.run as run,
    b.from_at - r.first_s as from_s,
    b.to_at - r.first_s as to_s,
    b.to_at - b.from_at as duration_s,
    b.from_at + r.wall_offset_s as wall_from,
    b.to_at + r.wall_offset_s as wall_to,
    b.live_prefill as live_prefill,
    b.min_prefill as min_prefill,
    b.is_open as open
from touched as h
join breaches as b on b.event_id = h.event_id
join runs as r on r.run_id = b.run_id
order by r.started_at nulls first, r.run nulls first, b.from_at nulls first, b.to_at nulls first,
    b.live_prefill nulls first, b.min_prefill nulls first
