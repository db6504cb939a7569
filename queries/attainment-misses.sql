-- attainment-misses: what the requests that missed the latency targets missed
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
--   miss | text | what was missed: the terminal, output_unmeasured, ttft_unmeasured, or targets
--   requests | count | scored requests that missed so
--   share | ratio | of the run's scored requests
--
-- Reading it
--   The first that applies: how the request ended, when it did not complete; output_unmeasured, no
--   output_len (not under the policy router); ttft_unmeasured, no ttft_s; then the targets exceeded.
--   The shares of a run and its attainment add up to 1. A run that missed nothing has no row;
--   without targets there are none.
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
targets as (
    select
        coalesce(:policy, 'journal') as policy,
        coalesce(:ttft, saved.ttft_s) as ttft,
        coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
judged as (
    select
        s.run_id,
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
    from selected as s
    join terminals as t on t.run_id = s.run_id
    join targets as g on g.ttft is not null and g.tpot is not null
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
by_miss as (
    select run_id, miss, count(*) as requests
    from judged
    where is_scored = 1
    group by run_id, miss
),
counted as (
    select run_id, sum(requests) as scored
    from by_miss
    group by run_id
)
select
    s.run as run,
    g.policy as policy,
    b.miss as miss,
    b.requests as requests,
    1e0 * b.requests / c.scored as share
from by_miss as b
join counted as c on c.run_id = b.run_id
join selected as s on s.run_id = b.run_id
join targets as g on 1 = 1
where b.miss is not null
order by s.started_at, s.run, b.miss
