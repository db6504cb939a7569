-- attainment: share of requests that met the latency targets
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
--   accounting is unavailable attains 0. A null tpot_s cannot miss. Every scope has a row; attainment
--   is null when nothing was scored. Without targets there are no rows.
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
),
counted as (
    select scope, count(*) as offered, sum(is_scored) as scored, sum(is_met) as met
    from judged
    group by scope
)
select
    s.scope as scope,
    g.policy as policy,
    g.ttft as ttft,
    g.tpot as tpot,
    coalesce(c.offered, 0) as offered,
    coalesce(c.scored, 0) as scored,
    coalesce(c.met, 0) as met,
    case when c.scored > 0 then 1e0 * c.met / c.scored end as attainment,
    coalesce(c.offered - c.scored, 0) as excluded
from scopes as s
join given as g on g.ttft is not null and g.tpot is not null
left join counted as c on c.scope = s.scope
order by s.scope nulls first
