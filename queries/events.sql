-- events: what the router did and saw, in the order it was written
-- group: runs and events
-- caveat: stepped clock
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--
-- Columns
--   run | text | run id
--   rel_s | s | time from the run's zero; null unless the clock is monotonic
--   at | s | the event's own time
--   clock | text | what that time is: monotonic, wall (Unix seconds) or unknown
--   wall | UTC | wall time with milliseconds: the event's own, else estimated; null when unknown
--   event | text | kind of event
--   iid | text | engine; null when the event names none or several
--   detail | text | the other fields, as JSON
--
-- Reading it
--   The estimate is the run's wall_offset_s added to the monotonic time: `runs` has its error, and
--   says when there is none. An event of a kind that this release does not know has the clock
--   unknown.
with
chosen as (
    select case when :run = 'last' then newest.run else :run end as run
    from (select 1 as one) as always
    left join (select run from runs order by started_at desc, run desc limit 1) as newest on 1 = 1
),
selected as (
    select r.run_id, r.run, r.started_at, r.first_s, r.wall_offset_s
    from runs as r
    join chosen as c on c.run is null or c.run = r.run
),
logged as (
    select s.run, s.started_at, e.source_id, e.byte_offset, e.at, e.clock, e.event, e.iid, e.detail,
        case when e.clock = 'monotonic' then e.at - s.first_s end as rel_s,
        1000 * case
            when e.clock = 'wall' then e.at
            when e.clock = 'monotonic' then e.at + s.wall_offset_s
        end + 0.5e0 as unix_ms
    from selected as s
    join events as e on e.run_id = s.run_id
),
-- Milliseconds since 0000-03-01: the leap day comes last in its year, and nothing is negative.
-- Beyond the years 1 to 9999 there is no date to show.
stamped as (
    select run, started_at, source_id, byte_offset, at, clock, event, iid, detail, rel_s,
        case
            when unix_ms >= -62135596800000 and unix_ms < 253402300800000
            then cast(unix_ms as bigint) + 62162035200000
                - case when cast(unix_ms as bigint) > unix_ms then 1 else 0 end
        end as ms
    from logged
),
dated as (
    select run, started_at, source_id, byte_offset, at, clock, event, iid, detail, rel_s,
        cast((ms - ms % 86400000) / 86400000 as bigint) as day_no,
        cast((ms % 86400000 - ms % 3600000) / 3600000 as bigint) as hours,
        cast((ms % 3600000 - ms % 60000) / 60000 as bigint) as minutes,
        cast((ms % 60000 - ms % 1000) / 1000 as bigint) as seconds,
        ms % 1000 as millis
    from stamped
),
days as (
    select distinct day_no
    from dated
    where day_no is not null
),
-- The civil date of a day: centuries of 146097 / 4 days, years of 1461 / 4, months of 153 / 5.
centuries as (
    select day_no, 4 * day_no + 3 as quarters,
        cast(((4 * day_no + 3) - (4 * day_no + 3) % 146097) / 146097 as bigint) as century
    from days
),
years as (
    select day_no, century,
        4 * cast(((quarters % 146097) - (quarters % 146097) % 4) / 4 as bigint) + 3 as quarters
    from centuries
),
months as (
    select day_no,
        100 * century + cast((quarters - quarters % 1461) / 1461 as bigint) as year_no,
        5 * cast(((quarters % 1461) - (quarters % 1461) % 4) / 4 as bigint) + 461 as fifths
    from years
),
-- Months 3 to 14 of the year that begins in March.
split as (
    select day_no, year_no,
        cast((fifths - fifths % 153) / 153 as bigint) as month_no,
        cast(((fifths % 153) - (fifths % 153) % 5) / 5 as bigint) + 1 as day_of_month
    from months
),
calendar as (
    select day_no,
        case when month_no > 12 then year_no + 1 else year_no end as year_no,
        case when month_no > 12 then month_no - 12 else month_no end as month_no,
        day_of_month
    from split
)
select
    d.run as run,
    d.rel_s as rel_s,
    d.at as at,
    d.clock as clock,
    substr(cast(10000 + c.year_no as varchar(20)), 2)
        || '-' || substr(cast(100 + c.month_no as varchar(20)), 2)
        || '-' || substr(cast(100 + c.day_of_month as varchar(20)), 2)
        || 'T' || substr(cast(100 + d.hours as varchar(20)), 2)
        || ':' || substr(cast(100 + d.minutes as varchar(20)), 2)
        || ':' || substr(cast(100 + d.seconds as varchar(20)), 2)
        || '.' || substr(cast(1000 + d.millis as varchar(20)), 2)
        || 'Z' as wall,
    d.event as event,
    d.iid as iid,
    d.detail as detail
from dated as d
left join calendar as c on c.day_no = d.day_no
order by d.started_at, d.run, d.source_id, d.byte_offset
