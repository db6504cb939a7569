-- slo-frontier: which TTFT can be promised
-- group: latency targets
-- caveat: unavailable accounting
--
-- Parameters
--   wanted | share | 0.99 | the attainment asked for, from 0 to 1
--   tpot | target | saved SLO, if any | TPOT target, in seconds; without one, four percentiles are tried
--   slo | text | default | name of the saved SLO to take the target from
--   policy | one of journal offers router | journal | who is counted
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   policy | text | who was counted
--   wanted | ratio | the attainment asked for
--   tpot | s | TPOT target
--   scored | count | requests that the policy counts
--   reachable | ratio | attainment with this TPOT target and any TTFT at all
--   least_ttft | s | the smallest TTFT target with which the attainment is as wanted
--   met | count | scored requests that meet both
--
-- Reading it
--   Without a TPOT target, the p50, p90, p95 and p99 of the scope's completed requests are tried, each
--   value once; tpot is null when none has one. least_ttft is a ttft_s of the scope; it and met are
--   null when no TTFT target is enough, which reachable shows. Who is counted is as in `attainment`:
--   under journal and offers a run whose token accounting is unavailable reaches 0. A scope without
--   requests has no row.
with
given as (
    select
        coalesce(:policy, 'journal') as policy,
        1e0 * coalesce(:wanted, 0.99e0) as wanted,
        1e0 * coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
-- `can_meet`: all that meeting needs but the targets.
judged as (
    select s.scope, t.ttft_s, t.tpot_s,
        case when t.terminal = 'completed' then 1 else 0 end as is_completed,
        case
            when g.policy = 'offers' then 1
            when g.policy = 'router' then
                case when t.terminal in ('cancelled', 'rejected', 'invalid') then 0 else 1 end
            when t.terminal in ('completed', 'invalid', 'rejected', 'expired', 'failed') then 1
            when t.output_len is null or t.ttft_s is null then 1
            else 0
        end as is_scored,
        case
            when t.terminal = 'completed' and (g.policy = 'router' or t.output_len is not null) then 1
            else 0
        end as can_meet
    from selection as s
    cross join given as g
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
),
ranked as (
    select scope, tpot_s,
        row_number() over (partition by scope order by tpot_s nulls first) as k,
        count(*) over (
            partition by scope
            order by tpot_s nulls first
            rows between unbounded preceding and unbounded following
        ) as n
    from judged
    where is_completed = 1
        and tpot_s is not null
),
percentiles as (
    select scope, min(tpot_s) filter (where 100 * k >= 50 * n) as tpot
    from ranked
    group by scope
    union all
    select scope, min(tpot_s) filter (where 100 * k >= 90 * n)
    from ranked
    group by scope
    union all
    select scope, min(tpot_s) filter (where 100 * k >= 95 * n)
    from ranked
    group by scope
    union all
    select scope, min(tpot_s) filter (where 100 * k >= 99 * n)
    from ranked
    group by scope
),
scores as (
    select scope, sum(is_scored) as scored
    from judged
    group by scope
),
tried as (
    select distinct s.scope as scope, s.scored, coalesce(g.tpot, p.tpot) as tpot
    from scores as s
    join given as g on 1 = 1
    left join percentiles as p on p.scope = s.scope
),
-- Every ttft_s as a TTFT target: how many meet it.
promised as (
    select a.scope as scope, a.scored, a.tpot as tpot, j.ttft_s,
        sum(case when j.can_meet = 1 and (j.tpot_s is null or j.tpot_s <= a.tpot) then 1 else 0 end)
            over (
                partition by a.scope, a.tpot
                order by j.ttft_s nulls first
                range between unbounded preceding and current row
            ) as met_with_it
    from tried as a
    left join judged as j on j.scope = a.scope and j.ttft_s is not null
),
weighed as (
    select scope, scored, tpot, ttft_s, met_with_it,
        case when scored > 0 then 1e0 * met_with_it / scored end as share
    from promised
),
found as (
    select w.scope, w.scored, w.tpot as tpot, max(w.share) as reachable,
        min(w.ttft_s) filter (where w.share >= g.wanted) as least_ttft,
        min(w.met_with_it) filter (where w.share >= g.wanted and w.ttft_s is not null) as met
    from weighed as w
    join given as g on 1 = 1
    group by w.scope, w.scored, w.tpot
)
select
    f.scope as scope,
    g.policy as policy,
    g.wanted as wanted,
    f.tpot as tpot,
    f.scored as scored,
    f.reachable as reachable,
    f.least_ttft as least_ttft,
    f.met as met
from found as f
join given as g on 1 = 1
order by f.scope nulls first, f.tpot nulls first
