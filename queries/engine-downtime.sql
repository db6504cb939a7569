-- engine-downtime: when each engine was out of service, and why
-- group: engines
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--
-- Columns
--   run | text | run id
--   engine | text | engine id
--   kind | text | ejected, or the kind of the hold: timed, inference
--   cause | text | why it was ejected, or what ended the hold
--   from_s | s | start, from the run's zero; null when it is not known
--   to_s | s | end, from the run's zero
--   duration_s | s | to_s - from_s
--   open | flag | 1 when it had not ended by the run's end, which is then to_s
--
-- Reading it
--   From 0.6 on; before, the journal does not say. An end without a start began so long before as
--   the event says it was held, else its start is unknown. A second start while one is open is the
--   same outage. Holds and ejections of one engine can overlap: do not add them up.
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
        s.run_id, e.iid, e.at, e.source_id, e.byte_offset, e.cause,
        s.first_s, s.span_s,
        coalesce(e.held_s, e.duration_s) as held_s,
        case when e.event in ('engine_ejected', 'engine_readmitted') then 1 else 0 end as is_ejection,
        case
            when e.event in ('engine_ejected', 'engine_readmitted') then 'ejected'
            else e.kind
        end as kind,
        case when e.event in ('engine_ejected', 'engine_hold_started') then 1 else 0 end as is_start
    from selected as s
    join events as e on e.run_id = s.run_id
    where e.event in
            ('engine_ejected', 'engine_readmitted', 'engine_hold_started', 'engine_hold_ended')
        and e.at is not null
),
-- Whatever comes after a start leaves it open or ends it, so the event before tells which is open.
paired as (
    select run_id, iid, at, source_id, byte_offset, cause, first_s, span_s, held_s, is_ejection,
        kind, is_start,
        lag(is_start) over (
            partition by run_id, is_ejection, iid, kind
            order by at, source_id, byte_offset
        ) as is_open_before
    from marks
),
turns as (
    select run_id, iid, at, cause, first_s, span_s, held_s, is_ejection, kind, is_start,
        is_open_before,
        lead(at) over (
            partition by run_id, is_ejection, iid, kind
            order by at, source_id, byte_offset
        ) as end_at,
        lead(cause) over (
            partition by run_id, is_ejection, iid, kind
            order by at, source_id, byte_offset
        ) as end_cause
    from paired
    where is_start = 0 or coalesce(is_open_before, 0) = 0
),
outages as (
    select run_id, iid, kind,
        case when is_ejection = 1 then cause else end_cause end as cause,
        at - first_s as from_s,
        coalesce(end_at - first_s, span_s) as to_s,
        case when end_at is null then 1 else 0 end as is_open
    from turns
    where is_start = 1
    union all
    select run_id, iid, kind,
        case when is_ejection = 1 then null else cause end,
        at - held_s - first_s,
        at - first_s,
        0
    from turns
    where is_start = 0 and coalesce(is_open_before, 0) = 0
)
select
    s.run as run,
    o.iid as engine,
    o.kind as kind,
    o.cause as cause,
    o.from_s as from_s,
    o.to_s as to_s,
    o.to_s - o.from_s as duration_s,
    o.is_open as open
from outages as o
join selected as s on s.run_id = o.run_id
order by s.started_at, s.run, o.iid, o.kind, o.from_s, o.to_s, o.cause
