-- attainment-misses: what the requests that missed the latency targets missed
-- group: latency targets
-- caveat: unavailable accounting
--
-- Parameters
--   ttft | target | saved SLO | TTFT target, in seconds
--   tpot | target | saved SLO | TPOT target, in seconds
--   slo | text | default | name of the saved SLO to take the targets from
--   policy | one of journal offers router | journal | who is counted
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   policy | text | who was counted
--   miss | text | what was missed: the terminal, output_unmeasured, ttft_unmeasured, or targets
--   requests | count | scored requests that missed so
--   share | ratio | of the scope's scored requests
--
-- Reading it
--   The first that applies: how the request ended, when it did not complete; output_unmeasured, no
--   output_len (not under the policy router); ttft_unmeasured, no ttft_s; then the targets exceeded.
--   The shares of a scope and its attainment add up to 1. A scope that missed nothing has no row;
--   without targets there are none.
with
given as (
    select
        coalesce(:policy, 'journal') as policy,
        coalesce(:ttft, saved.ttft_s) as ttft,
        coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
judged as (
    select s.scope,
        case
            when g.policy = 'offers' then 1
            when g.policy = 'router' then
                case when t.terminal in ('cancelled', 'rejected', 'invalid') then 0 else 1 end
            when t.terminal in ('completed', 'invalid', 'rejected', 'expired', 'failed') then 1
            when t.output_len is null or t.ttft_s is null then 1
            else 0
        end as is_scored,
        case
            when t.terminal <> 'completed' then t.terminal
            when g.policy <> 'router' and t.output_len is null then 'output_unmeasured'
            when t.ttft_s is null then 'ttft_unmeasured'
            when t.ttft_s > g.ttft and t.tpot_s > g.tpot then 'ttft+tpot'
            when t.ttft_s > g.ttft then 'ttft'
            when t.tpot_s > g.tpot then 'tpot'
        end as miss
    from selection as s
    cross join given as g
    cross join terminals as t
    where g.ttft is not null
        and g.tpot is not null
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
),
-- The requests that met have the miss null.
by_miss as (
    select scope, miss, count(*) as scored
    from judged
    where is_scored = 1
    group by scope, miss
),
shared as (
    select scope, miss, scored,
        1e0 * scored / sum(scored) over (partition by scope) as share
    from by_miss
)
select
    s.scope as scope,
    g.policy as policy,
    s.miss as miss,
    s.scored as requests,
    s.share as share
from shared as s
join given as g on 1 = 1
where s.miss is not null
order by s.scope nulls first, s.miss nulls first
