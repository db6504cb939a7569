-- monitoring: which parts of monitoring failed, and for how long they were degraded
-- group: router
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--
-- Columns
--   run | text | run id
--   stage | text | stage of monitoring
--   class | text | class of the failure
--   failures | count | monitoring_stage_failure events
--   longest_streak | count | most failures in a row; null when none failed
--   degraded | count | times that it degraded monitoring
--   degraded_s | s | how long that lasted, summed
--
-- Reading it
--   Degraded from monitoring_degraded to the run's next monitoring_recovered, or to the run's end;
--   the time goes to the stage and class of the event that began it, and another one meanwhile
--   begins nothing: it can leave a row of zeros.
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
seen as (
    select
        s.run_id, e.event, e.at, e.source_id, e.byte_offset, e.stage, e.class, e.consecutive,
        s.first_s, s.span_s
    from selected as s
    join events as e on e.run_id = s.run_id
    where e.event in ('monitoring_stage_failure', 'monitoring_degraded', 'monitoring_recovered')
),
-- Whatever comes after a start leaves it open or ends it, so the event before tells which is open.
paired as (
    select run_id, at, source_id, byte_offset, stage, class, first_s, span_s,
        case when event = 'monitoring_degraded' then 1 else 0 end as is_start,
        lag(case when event = 'monitoring_degraded' then 1 else 0 end) over (
            partition by run_id
            order by at, source_id, byte_offset
        ) as is_open_before
    from seen
    where event in ('monitoring_degraded', 'monitoring_recovered')
        and at is not null
),
turns as (
    select run_id, at, stage, class, first_s, span_s, is_start,
        lead(at) over (
            partition by run_id
            order by at, source_id, byte_offset
        ) as end_at
    from paired
    where is_start = 0 or coalesce(is_open_before, 0) = 0
),
facts as (
    select run_id, stage, class, 1 as is_failure, consecutive, 0 as is_degradation,
        0e0 as lasted_s
    from seen
    where event = 'monitoring_stage_failure'
    union all
    select run_id, stage, class, 0, null, 0, 0e0
    from seen
    where event = 'monitoring_degraded'
    union all
    select run_id, stage, class, 0, null, 1, coalesce(end_at - first_s, span_s) - (at - first_s)
    from turns
    where is_start = 1
),
by_class as (
    select run_id, stage, class, sum(is_failure) as failures, max(consecutive) as longest_streak,
        sum(is_degradation) as degraded, sum(lasted_s) as degraded_s
    from facts
    group by run_id, stage, class
)
select
    s.run as run,
    b.stage as stage,
    b.class as class,
    b.failures as failures,
    b.longest_streak as longest_streak,
    b.degraded as degraded,
    b.degraded_s as degraded_s
from by_class as b
join selected as s on s.run_id = b.run_id
order by s.started_at, s.run, b.stage, b.class
