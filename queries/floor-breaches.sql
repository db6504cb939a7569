-- floor-breaches: when too few prefill engines were live
-- group: router
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--
-- Columns
--   run | text | run id
--   from_s | s | start, from the run's zero; null when it is not known
--   to_s | s | end, from the run's zero
--   duration_s | s | to_s - from_s
--   live_prefill | count | live prefill engines at the start
--   min_prefill | count | the floor
--   open | flag | 1 when it had not ended by the run's end, which is then to_s
--
-- Reading it
--   Between below_floor and below_floor_recovered. A recovery without a start began so long before
--   as it says, else its start is unknown; live_prefill and min_prefill are then the recovery's. A
--   second below_floor while one is open is the same breach.
with
chosen as (
    select case when :run = 'last' then newest.run else :run end as run
    from (select 1 as one) as always
    left join (select run from runs order by started_at desc, run desc limit 1) as newest on 1 = 1
),
selected as (
    select r.run_id, r.run, r.started_at, r.first_s, r.last_s - r.first_s as span_s
    from runs as r
    join chosen as c on c.run is null or c.run = r.run
),
marks as (
    select
        s.run_id, e.at, e.source_id, e.byte_offset, e.live_prefill, e.min_prefill, s.first_s,
        s.span_s,
        coalesce(e.held_s, e.duration_s) as held_s,
        case when e.event = 'below_floor' then 1 else 0 end as is_start
    from selected as s
    join events as e on e.run_id = s.run_id
    where e.event in ('below_floor', 'below_floor_recovered')
        and e.at is not null
),
-- Whatever comes after a start leaves it open or ends it, so the event before tells which is open.
paired as (
    select run_id, at, source_id, byte_offset, live_prefill, min_prefill, first_s, span_s, held_s,
        is_start,
        lag(is_start) over (
            partition by run_id
            order by at, source_id, byte_offset
        ) as is_open_before
    from marks
),
turns as (
    select run_id, at, live_prefill, min_prefill, first_s, span_s, held_s, is_start,
        is_open_before,
        lead(at) over (
            partition by run_id
            order by at, source_id, byte_offset
        ) as end_at
    from paired
    where is_start = 0 or coalesce(is_open_before, 0) = 0
),
breaches as (
    select run_id, live_prefill, min_prefill,
        at - first_s as from_s,
        coalesce(end_at - first_s, span_s) as to_s,
        case when end_at is null then 1 else 0 end as is_open
    from turns
    where is_start = 1
    union all
    select run_id, live_prefill, min_prefill,
        at - held_s - first_s,
        at - first_s,
        0
    from turns
    where is_start = 0 and coalesce(is_open_before, 0) = 0
)
select
    s.run as run,
    b.from_s as from_s,
    b.to_s as to_s,
    b.to_s - b.from_s as duration_s,
    b.live_prefill as live_prefill,
    b.min_prefill as min_prefill,
    b.is_open as open
from breaches as b
join selected as s on s.run_id = b.run_id
order by s.started_at, s.run, b.from_s, b.to_s, b.live_prefill, b.min_prefill
