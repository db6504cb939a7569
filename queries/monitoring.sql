-- monitoring: which parts of monitoring failed, and for how long they were degraded
-- group: router
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   stage | text | stage of monitoring
--   class | text | class of the failure
--   failures | count | monitoring_stage_failure events
--   longest_streak | count | most failures in a row; null when none failed
--   degraded | count | times that it degraded monitoring
--   degraded_s | s | how long monitoring was degraded by it, as far as that lies in the scope; null when it never was
--
-- Reading it
--   Degraded from monitoring_degraded to the run's next monitoring_recovered, or to the run's end;
--   the time goes to the stage and class of the event that began it, and another one meanwhile
--   begins nothing: it can leave a row with 0 degradations. What began before the scope has its
--   seconds there, but is not counted again.
with
marks as (
    select e.run_id, e.at as marked_at, e.source_id, e.byte_offset, e.stage, e.class,
        case when e.event = 'monitoring_degraded' then 1 else 0 end as is_start
    from events as e
    where e.run_id in (select s.run_id from selection as s)
        and e.event in ('monitoring_degraded', 'monitoring_recovered')
        and e.at is not null
),
-- Whatever comes after a start leaves it open or ends it, so the event before tells which is open.
followed as (
    select run_id, marked_at, source_id, byte_offset, stage, class, is_start,
        lag(is_start) over (
            partition by run_id
            order by marked_at nulls first, source_id nulls first, byte_offset nulls first
        ) as before_is_start
    from marks
),
-- Without the starts that begin nothing, what follows a start is its end.
turns as (
    select run_id, marked_at, stage, class, is_start,
        lead(marked_at) over (
            partition by run_id
            order by marked_at nulls first, source_id nulls first, byte_offset nulls first
        ) as end_at
    from followed
    where is_start = 0
        or coalesce(before_is_start, 0) = 0
),
degradations as (
    select t.run_id as run_id, t.stage, t.class, t.marked_at as from_at,
        coalesce(t.end_at, r.last_s) as to_at
    from turns as t
    join runs as r on r.run_id = t.run_id
    where t.is_start = 1
),
facts as (
    select s.scope, e.stage, e.class,
        case when e.event = 'monitoring_stage_failure' then 1 else 0 end as is_failure,
        case when e.event = 'monitoring_stage_failure' then e.consecutive end as streak,
        0 as is_degradation,
        null as lasted_s
    from selection as s
    cross join events as e
    where e.run_id = s.run_id
        and e.place_s >= s.from_s
        and e.place_s < s.to_s
        and e.event in ('monitoring_stage_failure', 'monitoring_degraded')
    union all
    select s.scope, d.stage, d.class, 0, null,
        case when d.from_at >= s.from_s then 1 else 0 end,
        case when d.to_at < s.to_s then d.to_at else s.to_s end
            - case when d.from_at >= s.from_s then d.from_at else s.from_s end
    from selection as s
    join degradations as d on d.run_id = s.run_id
    where d.from_at < s.to_s
        and (d.to_at > s.from_s or d.from_at >= s.from_s)
)
select
    f.scope as scope,
    f.stage as stage,
    f.class as class,
    sum(f.is_failure) as failures,
    max(f.streak) as longest_streak,
    sum(f.is_degradation) as degraded,
    sum(f.lasted_s) as degraded_s
from facts as f
group by f.scope, f.stage, f.class
order by f.scope nulls first, f.stage nulls first, f.class nulls first
