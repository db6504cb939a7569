-- attainment: share of requests that met the latency targets
-- group: latency targets
-- caveat: unavailable accounting
--
-- Parameters
--   ttft | target | saved SLO | TTFT target, in seconds
--   tpot | target | saved SLO | TPOT target, in seconds
--   slo | text | default | name of the saved SLO to take the targets from
--   policy | one of journal offers router | journal | who is counted
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
--
-- Columns
--   run | text | run id
--   policy | text | who was counted
--   ttft | s | TTFT target
--   tpot | s | TPOT target
--   offered | count | requests
--   scored | count | requests that the policy counts
--   met | count | scored requests that completed within both targets
--   attainment | ratio | met / scored
--   excluded | count | offered - scored
--
-- Reading it
--   journal scores completed, invalid, rejected, expired and failed requests, and any other whose
--   output_len or ttft_s is null: a request cancelled after it was measured is excluded. offers scores
--   every request. router scores all but cancelled, rejected and invalid ones, as the router's own
--   figure does. Under journal and offers an unknown output_len cannot have met, so a run whose token
--   accounting is unavailable attains 0. A null tpot_s cannot miss. attainment is null when nothing
--   was scored. Without targets there are no rows.
with
-- One row; `limit 1` makes SQLite work it out once, not for each request.
given as (
    select
        case when :run = 'last' then newest.run else :run end as run,
        case when :from is null and :to is null and :last is null then 1 else 0 end as is_whole,
        coalesce(:from, 0) as from_s,
        :to as to_s,
        :last as last_s,
        coalesce(:policy, 'journal') as policy,
        1e0 * coalesce(:ttft, saved.ttft_s) as ttft,
        1e0 * coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join (select run from runs order by started_at desc, run desc limit 1) as newest on 1 = 1
    left join slos as saved on saved.name = coalesce(:slo, 'default')
    limit 1
),
-- Every policy scores the completed requests, nearly all of them; the others are judged apart. A
-- `cross join` keeps to the order of its tables: a run's rows stay together, and no group needs sorting.
completed as (
    select r.run_id, count(*) as scored,
        count(case
            when t.ttft_s <= g.ttft and (t.tpot_s is null or t.tpot_s <= g.tpot)
                and (t.output_len is not null or g.policy = 'router')
            then 1
        end) as met
    from runs as r
    cross join given as g
    cross join terminals as t
    where (g.run is null or g.run = r.run)
        and t.run_id = r.run_id
        and t.terminal = 'completed'
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
    group by r.run_id
),
others as (
    select r.run_id, count(*) as offered,
        count(case
            when g.policy = 'offers' then 1
            when g.policy = 'router' then
                case when t.terminal in ('cancelled', 'rejected', 'invalid') then null else 1 end
            when t.terminal in ('invalid', 'rejected', 'expired', 'failed') then 1
            when t.output_len is null or t.ttft_s is null then 1
        end) as scored
    from runs as r
    cross join given as g
    cross join terminals as t
    where (g.run is null or g.run = r.run)
        and t.run_id = r.run_id
        and t.terminal <> 'completed'
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
    group by r.run_id
),
counted as (
    select r.run_id, r.run, r.started_at, g.policy, g.ttft, g.tpot,
        coalesce(c.scored, 0) + coalesce(o.offered, 0) as offered,
        coalesce(c.scored, 0) + coalesce(o.scored, 0) as scored,
        coalesce(c.met, 0) as met
    from given as g
    join runs as r on g.run is null or g.run = r.run
    left join completed as c on c.run_id = r.run_id
    left join others as o on o.run_id = r.run_id
    where g.ttft is not null and g.tpot is not null
)
select
    run,
    policy,
    ttft,
    tpot,
    offered,
    scored,
    met,
    case when scored > 0 then 1e0 * met / scored end as attainment,
    offered - scored as excluded
from counted
order by started_at, run
