-- Faster: the TPOT targets are picked, not sorted for, and tried in one scan. How many must meet is known before,
-- and so a TTFT that is too small: requests below it are only counted, the few above it alone are sorted.
with
given as (
    select
        coalesce(:policy, 'journal') as policy,
        1e0 * coalesce(:wanted, 0.99e0) as wanted,
        1e0 * coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
completed as (
    select s.scope, g.policy, g.wanted, count(*) as scored,
        coalesce(g.tpot, nearest_rank(case when g.tpot is null then t.tpot_s end, 50)) as tpot_1,
        nearest_rank(case when g.tpot is null then t.tpot_s end, 90) as tpot_2,
        nearest_rank(case when g.tpot is null then t.tpot_s end, 95) as tpot_3,
        nearest_rank(case when g.tpot is null then t.tpot_s end, 99) as tpot_4,
        count(case when g.policy = 'router' or t.output_len is not null then t.ttft_s end) as n,
        nearest_rank(case when g.policy = 'router' or t.output_len is not null then t.ttft_s end, 50) as ttft_p50,
        nearest_rank(case when g.policy = 'router' or t.output_len is not null then t.ttft_s end, 90) as ttft_p90,
        nearest_rank(case when g.policy = 'router' or t.output_len is not null then t.ttft_s end, 99) as ttft_p99
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
    select s.scope,
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
scores as materialized (
    select s.scope, g.policy, g.wanted, coalesce(c.tpot_1, g.tpot) as tpot_1,
        nullif(c.tpot_2, c.tpot_1) as tpot_2,
        nullif(c.tpot_3, c.tpot_2) as tpot_3,
        nullif(c.tpot_4, c.tpot_3) as tpot_4,
        coalesce(c.scored, 0) + coalesce(o.scored, 0) as scored,
        c.n, c.ttft_p50, c.ttft_p90, c.ttft_p99
    from (select scope from completed union select scope from others) as s
    cross join given as g
    left join completed as c on c.scope = s.scope
    left join others as o on o.scope = s.scope
),
-- The least number of requests whose share is as wanted.
needs as (
    select scope, policy, wanted, tpot_1, tpot_2, tpot_3, tpot_4, scored, n, ttft_p50, ttft_p90, ttft_p99,
        case
            when 1e0 * (cast(wanted * scored as integer) - 1) / scored >= wanted
            then cast(wanted * scored as integer) - 1
            when 1e0 * cast(wanted * scored as integer) / scored >= wanted then cast(wanted * scored as integer)
            else cast(wanted * scored as integer) + 1
        end as need
    from scores
    where scored > 0
),
-- No TTFT below `low_s` is enough: fewer requests than needed have one.
lows as materialized (
    select scope, policy, need,
        coalesce(tpot_1, 1e308) as tpot_1,
        coalesce(tpot_2, -1e308) as tpot_2,
        coalesce(tpot_3, -1e308) as tpot_3,
        coalesce(tpot_4, -1e308) as tpot_4,
        case
            when need = 0 then -1e308
            when 100 * need >= 99 * n then ttft_p99
            when 100 * need >= 90 * n then ttft_p90
            when 100 * need >= 50 * n then ttft_p50
            else -1e308
        end as low_s
    from needs
),
counted as materialized (
    select s.scope, l.need, l.low_s, l.tpot_1, l.tpot_2, l.tpot_3, l.tpot_4,
        count(case when coalesce(t.tpot_s, -1e308) <= l.tpot_1 then 1 end) as reached_1,
        count(case when coalesce(t.tpot_s, -1e308) <= l.tpot_2 then 1 end) as reached_2,
        count(case when coalesce(t.tpot_s, -1e308) <= l.tpot_3 then 1 end) as reached_3,
        count(case when coalesce(t.tpot_s, -1e308) <= l.tpot_4 then 1 end) as reached_4,
        count(case when t.ttft_s < l.low_s and coalesce(t.tpot_s, -1e308) <= l.tpot_1 then 1 end) as below_1,
        count(case when t.ttft_s < l.low_s and coalesce(t.tpot_s, -1e308) <= l.tpot_2 then 1 end) as below_2,
        count(case when t.ttft_s < l.low_s and coalesce(t.tpot_s, -1e308) <= l.tpot_3 then 1 end) as below_3,
        count(case when t.ttft_s < l.low_s and coalesce(t.tpot_s, -1e308) <= l.tpot_4 then 1 end) as below_4
    from selection as s
    cross join lows as l
    cross join terminals as t indexed by terminals_completed
    where l.scope = s.scope
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
        and t.ttft_s is not null
        and (l.policy = 'router' or t.output_len is not null)
    group by s.scope
),
enough as materialized (
    select scope, need, low_s, tpot_1, tpot_2, tpot_3, tpot_4, below_1, below_2, below_3, below_4
    from counted
    where need <= max(reached_1, reached_2, reached_3, reached_4)
),
above as (
    select s.scope, t.ttft_s,
        l.policy = 'router' or t.output_len is not null as can_meet,
        coalesce(t.tpot_s, -1e308) as tpot_s
    from selection as s
    cross join lows as l
    cross join terminals as t indexed by terminals_completed
    where l.scope = s.scope
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'completed'
        and t.ttft_s >= l.low_s
        and (l.need = 0 or s.scope in (select scope from enough))
    union all
    -- Where none must meet, any TTFT will do.
    select s.scope, t.ttft_s, 0, null
    from selection as s
    cross join lows as l
    cross join terminals as t indexed by terminals_not_completed
    where l.scope = s.scope
        and l.need = 0
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal <> 'completed'
        and t.ttft_s is not null
),
promised as (
    select a.scope, a.ttft_s, l.need,
        coalesce(e.below_1, 0) + sum(a.can_meet = 1 and coalesce(a.tpot_s <= l.tpot_1, 0)) over upto as met_1,
        coalesce(e.below_2, 0) + sum(a.can_meet = 1 and coalesce(a.tpot_s <= l.tpot_2, 0)) over upto as met_2,
        coalesce(e.below_3, 0) + sum(a.can_meet = 1 and coalesce(a.tpot_s <= l.tpot_3, 0)) over upto as met_3,
        coalesce(e.below_4, 0) + sum(a.can_meet = 1 and coalesce(a.tpot_s <= l.tpot_4, 0)) over upto as met_4
    from above as a
    join lows as l on l.scope = a.scope
    left join enough as e on e.scope = a.scope
    window upto as (partition by a.scope order by a.ttft_s range between unbounded preceding and current row)
),
found as (
    select scope,
        min(ttft_s) filter (where met_1 >= need) as least_1, min(met_1) filter (where met_1 >= need) as met_1,
        min(ttft_s) filter (where met_2 >= need) as least_2, min(met_2) filter (where met_2 >= need) as met_2,
        min(ttft_s) filter (where met_3 >= need) as least_3, min(met_3) filter (where met_3 >= need) as met_3,
        min(ttft_s) filter (where met_4 >= need) as least_4, min(met_4) filter (where met_4 >= need) as met_4
    from promised
    group by scope
),
targets as (
    select 1 as k union all select 2 union all select 3 union all select 4
),
tried as (
    select s.scope, s.policy, s.wanted, s.scored, k.k,
        case k.k when 1 then s.tpot_1 when 2 then s.tpot_2 when 3 then s.tpot_3 else s.tpot_4 end as tpot,
        case k.k when 1 then c.reached_1 when 2 then c.reached_2 when 3 then c.reached_3 else c.reached_4 end
            as reached,
        case k.k when 1 then f.least_1 when 2 then f.least_2 when 3 then f.least_3 else f.least_4 end
            as least_ttft,
        case k.k when 1 then f.met_1 when 2 then f.met_2 when 3 then f.met_3 else f.met_4 end as met
    from scores as s
    cross join targets as k
    left join counted as c on c.scope = s.scope
    left join found as f on f.scope = s.scope
)
select
    t.scope as scope,
    t.policy as policy,
    t.wanted as wanted,
    t.tpot as tpot,
    t.scored as scored,
    case when t.scored > 0 then 1e0 * coalesce(t.reached, 0) / t.scored end as reachable,
    t.least_ttft as least_ttft,
    t.met as met
from tried as t
where t.k = 1
    or t.tpot is not null
order by t.scope nulls first, t.tpot nulls first
