-- Faster: completed requests are counted by miss in one scan of their index, and the others alone are sorted.
with
given as (
    select
        coalesce(:policy, 'journal') as policy,
        coalesce(:ttft, saved.ttft_s) as ttft,
        coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
completed as (
    select s.scope, count(*) as scored,
        count(case when g.policy <> 'router' and t.output_len is null then 1 end) as no_output,
        count(case
            when g.policy <> 'router' and t.output_len is null then null
            when t.ttft_s is null then 1
        end) as no_ttft,
        count(case
            when g.policy <> 'router' and t.output_len is null then null
            when t.ttft_s > g.ttft and t.tpot_s > g.tpot then 1
        end) as late_both,
        count(case
            when g.policy <> 'router' and t.output_len is null then null
            when t.ttft_s > g.ttft and (t.tpot_s is null or t.tpot_s <= g.tpot) then 1
        end) as late_ttft,
        count(case
            when g.policy <> 'router' and t.output_len is null then null
            when t.ttft_s <= g.ttft and t.tpot_s > g.tpot then 1
        end) as late_tpot
    from selection as s
    cross join given as g
    cross join terminals as t indexed by terminals_completed
    where g.ttft is not null
        and g.tpot is not null
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
    group by s.scope
),
others as (
    select s.scope, t.terminal, count(*) as scored
    from selection as s
    cross join given as g
    cross join terminals as t indexed by terminals_not_completed
    where g.ttft is not null
        and g.tpot is not null
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal <> 'completed'
        and case g.policy
            when 'offers' then 1
            when 'router' then t.terminal not in ('cancelled', 'rejected', 'invalid')
            else t.terminal in ('invalid', 'rejected', 'expired', 'failed')
                or t.output_len is null
                or t.ttft_s is null
        end
    group by s.scope, t.terminal
),
by_miss as (
    select scope, terminal as miss, scored
    from others
    union all
    select scope, 'output_unmeasured', no_output
    from completed
    union all
    select scope, 'ttft_unmeasured', no_ttft
    from completed
    union all
    select scope, 'ttft+tpot', late_both
    from completed
    union all
    select scope, 'ttft', late_ttft
    from completed
    union all
    select scope, 'tpot', late_tpot
    from completed
),
totals as (
    select scope, sum(scored) as all_scored
    from (
        select scope, scored from others
        union all
        select scope, scored from completed
    )
    group by scope
)
select
    b.scope as scope,
    g.policy as policy,
    b.miss as miss,
    b.scored as requests,
    1e0 * b.scored / t.all_scored as share
from by_miss as b
join totals as t on t.scope = b.scope
join given as g on 1 = 1
where b.scored > 0
order by b.scope nulls first, b.miss nulls first
