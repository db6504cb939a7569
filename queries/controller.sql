-- controller: what the controller decided, and why
-- group: router
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--
-- Columns
--   run | text | run id
--   by | text | what asked for the decision
--   result | text | what became of it: applied, held, blocked, advisory
--   reason | text | why
--   decisions | count | such decisions
--   first_rel_s | s | the first, from the run's zero
--   last_rel_s | s | the last, from the run's zero
--
-- Reading it
--   A run without controller decisions has no row. `events` has the split that each one chose.
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
decided as (
    select s.run_id, e."by" as decided_by, e.result, e.reason, e.at - s.first_s as rel_s
    from selected as s
    join events as e on e.run_id = s.run_id
    where e.event = 'controller_decision'
),
counted as (
    select run_id, decided_by, result, reason, count(*) as decisions,
        min(rel_s) as first_rel_s, max(rel_s) as last_rel_s
    from decided
    group by run_id, decided_by, result, reason
)
select
    s.run as run,
    c.decided_by as "by",
    c.result as result,
    c.reason as reason,
    c.decisions as decisions,
    c.first_rel_s as first_rel_s,
    c.last_rel_s as last_rel_s
from counted as c
join selected as s on s.run_id = c.run_id
order by s.started_at, s.run, c.decided_by, c.result, c.reason
