-- Faster: completed requests, which every policy scores, and the others are read apart, each by the index
-- that has all this needs.
with
given as (
    select
        coalesce(:policy, 'journal') as policy,
        1e0 * coalesce(:ttft, saved.ttft_s) as ttft,
        1e0 * coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
scopes as (
    select distinct scope
    from selection
),
completed as (
    select s.scope, count(*) as scored,
        count(case
            when t.ttft_s <= g.ttft and (t.tpot_s is null or t.tpot_s <= g.tpot)
                and (t.output_len is not null or g.policy = 'router')
            then 1
        end) as met
    from selection as s
    cross join given as g
    cross join terminals as t indexed by terminals_completed
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
    group by s.scope
),
others as (
    select s.scope, count(*) as offered,
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
counted as (
    select s.scope,
        coalesce(c.scored, 0) + coalesce(o.offered, 0) as offered,
        coalesce(c.scored, 0) + coalesce(o.scored, 0) as scored,
        coalesce(c.met, 0) as met
    from scopes as s
    left join completed as c on c.scope = s.scope
    left join others as o on o.scope = s.scope
)
select
    c.scope as scope,
    g.policy as policy,
    g.ttft as ttft,
    g.tpot as tpot,
    c.offered as offered,
    c.scored as scored,
    c.met as met,
    case when c.scored > 0 then 1e0 * c.met / c.scored end as attainment,
    c.offered - c.scored as excluded
from counted as c
join given as g on g.ttft is not null and g.tpot is not null
order by c.scope nulls first
