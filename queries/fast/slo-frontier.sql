-- Faster: the TTFT and TPOT of all that can meet are gathered in one pass, and what is looked for is picked among them,
-- not sorted for.
with
given as (
    select
        coalesce(:policy, 'journal') as policy,
        1e0 * coalesce(:wanted, 0.99e0) as wanted,
        1e0 * coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
others as materialized (
    select s.scope, min(t.ttft_s) as least_ttft,
        count(case
            when g.policy = 'offers' then 1
            when g.policy = 'router' then
                case when t.terminal in ('cancelled', 'rejected', 'invalid') then null else 1 end
            when t.terminal in ('invalid', 'rejected', 'expired', 'failed') then 1
            when t.output_len is null or t.ttft_s is null then 1
        end) as scored
    from selection as s
    cross join given as g
    cross join terminals as t indexed by terminals_not_completed
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal <> 'completed'
    group by s.scope
),
completed as materialized (
    select s.scope, count(*) + coalesce(o.scored, 0) as scored,
        frontier(
            t.ttft_s, t.tpot_s, g.policy = 'router' or t.output_len is not null,
            g.wanted, g.tpot, coalesce(o.scored, 0), o.least_ttft
        ) as frontier
    from selection as s
    cross join given as g
    left join others as o on o.scope = s.scope
    cross join terminals as t indexed by terminals_completed
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
    group by s.scope
),
targets(k) as (
    values (0), (1), (2), (3)
),
tried as (
    select c.scope, c.scored, frontier_at(c.frontier, k.k, 'tpot') as tpot,
        frontier_at(c.frontier, k.k, 'reached') as reached,
        frontier_at(c.frontier, k.k, 'ttft') as least_ttft,
        frontier_at(c.frontier, k.k, 'met') as met
    from completed as c
    cross join targets as k
    where frontier_at(c.frontier, k.k, 'reached') is not null
    union all
    -- Nothing can meet, which is enough where nothing must.
    select o.scope, o.scored, g.tpot, 0,
        case when g.wanted <= 0 and o.scored > 0 then o.least_ttft end,
        case when g.wanted <= 0 and o.scored > 0 and o.least_ttft is not null then 0 end
    from others as o
    cross join given as g
    where o.scope not in (select scope from completed)
)
select
    t.scope as scope,
    g.policy as policy,
    g.wanted as wanted,
    t.tpot as tpot,
    t.scored as scored,
    case when t.scored > 0 then 1e0 * t.reached / t.scored end as reachable,
    t.least_ttft as least_ttft,
    t.met as met
from tried as t
cross join given as g
order by t.scope nulls first, t.tpot nulls first
