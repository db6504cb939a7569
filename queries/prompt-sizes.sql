-- prompt-sizes: how requests of each prompt length fared
-- group: latency targets
-- caveat: unavailable accounting
--
-- Parameters
--   ttft | target | saved SLO, if any | TTFT target, in seconds
--   tpot | target | saved SLO, if any | TPOT target, in seconds
--   slo | text | default | name of the saved SLO to take the targets from
--   policy | one of journal offers router | journal | who is counted
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   input_from | tokens | the band holds prompts from this length
--   input_to | tokens | to below this one
--   offered | count | requests with such a prompt
--   scored | count | those of them that the policy counts
--   met | count | scored requests that completed within both targets; null without targets
--   attainment | ratio | met / scored
--   ttft_p50 | s | median TTFT of those that completed, nearest rank
--   ttft_p99 | s | 99th percentile of it
--
-- Reading it
--   Bands go by powers of two, and a band that no prompt fell in has no row. Requests whose body
--   ended before it was sized are left out. Who is counted, and what an unknown output_len does, is
--   as in `attainment`.
with recursive
given as (
    select
        coalesce(:policy, 'journal') as policy,
        coalesce(:ttft, saved.ttft_s) as ttft,
        coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
judged as (
    select s.scope, t.input_len,
        case when t.terminal = 'completed' then t.ttft_s end as served_ttft_s,
        case
            when g.policy = 'offers' then 1
            when g.policy = 'router' then
                case when t.terminal in ('cancelled', 'rejected', 'invalid') then 0 else 1 end
            when t.terminal in ('completed', 'invalid', 'rejected', 'expired', 'failed') then 1
            when t.output_len is null or t.ttft_s is null then 1
            else 0
        end as is_scored,
        case
            when g.ttft is null or g.tpot is null then null
            when t.terminal = 'completed' and t.ttft_s <= g.ttft
                and (t.tpot_s is null or t.tpot_s <= g.tpot)
                and (g.policy = 'router' or t.output_len is not null)
            then 1
            else 0
        end as is_met
    from selection as s
    cross join given as g
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.input_len is not null
        and coalesce(t.input_sized, 1) = 1
),
longest as (
    select max(input_len) as input_len
    from judged
),
bands as (
    select cast(0 as bigint) as input_from, cast(1 as bigint) as input_to
    union all
    select b.input_to, 2 * b.input_to
    from bands as b
    cross join longest as l
    where b.input_to <= l.input_len
),
ranked as (
    select j.scope, b.input_from, b.input_to, j.served_ttft_s, j.is_scored, j.is_met,
        row_number() over (
            partition by j.scope, b.input_from, case when j.served_ttft_s is null then 1 else 0 end
            order by j.served_ttft_s nulls first
        ) as k,
        count(*) over (
            partition by j.scope, b.input_from, case when j.served_ttft_s is null then 1 else 0 end
            order by j.served_ttft_s nulls first
            rows between unbounded preceding and unbounded following
        ) as n
    from judged as j
    cross join bands as b
    where j.input_len >= b.input_from
        and j.input_len < b.input_to
),
counted as (
    select scope, input_from, input_to, count(*) as offered, sum(is_scored) as scored, sum(is_met) as met,
        min(served_ttft_s) filter (where 100 * k >= 50 * n) as ttft_p50,
        min(served_ttft_s) filter (where 100 * k >= 99 * n) as ttft_p99
    from ranked
    group by scope, input_from, input_to
)
select
    c.scope as scope,
    c.input_from as input_from,
    c.input_to as input_to,
    c.offered as offered,
    c.scored as scored,
    c.met as met,
    case when c.scored > 0 then 1e0 * c.met / c.scored end as attainment,
    c.ttft_p50 as ttft_p50,
    c.ttft_p99 as ttft_p99
from counted as c
order by c.scope nulls first, c.input_from nulls first
