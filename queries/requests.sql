-- requests: requests one by one: the slowest, or those that ended, missed or were placed in some way
-- group: runs and events
-- caveat: stepped clock
--
-- Parameters
--   terminal | text | any | only requests that ended so
--   miss | text | any | only requests that missed this, as in `attainment-misses`
--   engine | text | any | only requests of this engine, or with a failed attempt on it
--   client | text | any | only requests whose client_rid begins so
--   reason | text | any | refused_cause, cancelled_phase, reason, error_type or error_code is this
--   retried | flag | any | 1: only requests with a retry scheduled; 0: only those without
--   order | one of arrived ttft_s tpot_s first_byte_s duration_s | arrived | by arrival, or the largest first
--   limit | count | 100 | how many requests, over all the runs selected
--   ttft | target | saved SLO, if any | TTFT target, in seconds
--   tpot | target | saved SLO, if any | TPOT target, in seconds
--   slo | text | default | name of the saved SLO to take the targets from
--   policy | one of journal offers router | journal | who is counted
--
-- Columns
--   run | text | run id
--   rel_s | s | arrival, from the run's zero
--   wall | time | estimated wall time of the arrival; null when unknown
--   rid | text | request id
--   client_rid | text | the caller's id for it: any text
--   terminal | text | how it ended
--   miss | text | what it missed; null when it met, is not scored, or there are no targets
--   reason | text | refused_cause, else cancelled_phase, else error_type, else error
--   ttft_s | s | arrival to prefill done
--   tpot_s | s | per output token after the first
--   first_byte_s | s | arrival to the first visible output
--   duration_s | s | arrival to the end
--   input_len | tokens | prompt
--   output_len | tokens | output
--   attempts | count | prefill dispatches
--   prefill_iid | text | prefill engine of the final attempt
--   decode_iid | text | decode engine of the final attempt
--
-- Reading it
--   Ordered by a number, requests without it are left out; equally slow ones, and all when ordered by
--   arrival, go by the run's start, run, arrival and request id. `runs` has the error of the
--   estimated wall times.
with
given as (
    select
        :terminal as terminal,
        :miss as miss,
        :engine as engine,
        :client as client,
        :reason as reason,
        :retried as retried,
        coalesce(:order, 'arrived') as ordered_by,
        coalesce(:policy, 'journal') as policy,
        coalesce(:ttft, saved.ttft_s) as ttft,
        coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
-- Requests with a failed attempt on the engine asked for.
failed_on as (
    select distinct f.terminal_id
    from selection as s
    cross join given as g
    cross join terminals as t
    cross join attempt_failures as f
    where g.engine is not null
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.attempt_failures > 0
        and f.terminal_id = t.terminal_id
        and f.attributed = 1
        and (f.prefill_iid = g.engine or f.decode_iid = g.engine)
),
judged as (
    select t.terminal_id as terminal_id, t.run_id as run_id,
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
            when t.terminal <> 'completed' then t.terminal
            when g.policy <> 'router' and t.output_len is null then 'output_unmeasured'
            when t.ttft_s is null then 'ttft_unmeasured'
            when t.ttft_s > g.ttft and t.tpot_s > g.tpot then 'ttft+tpot'
            when t.ttft_s > g.ttft then 'ttft'
            when t.tpot_s > g.tpot then 'tpot'
        end as miss,
        case g.ordered_by
            when 'arrived' then 0e0
            when 'ttft_s' then t.ttft_s
            when 'tpot_s' then t.tpot_s
            when 'first_byte_s' then t.first_byte_s
            when 'duration_s' then t.duration_s
        end as slow_s
    from selection as s
    cross join given as g
    cross join terminals as t
    left join failed_on as f on f.terminal_id = t.terminal_id
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and (g.terminal is null or t.terminal = g.terminal)
        and (
            g.engine is null
            or t.prefill_iid = g.engine
            or t.decode_iid = g.engine
            or f.terminal_id is not null
        )
        and (g.client is null or substr(t.client_rid, 1, length(g.client)) = g.client)
        and (
            g.reason is null
            or t.refused_cause = g.reason
            or t.cancelled_phase = g.reason
            or t.reason = g.reason
            or t.error_type = g.reason
            or t.error_code = g.reason
        )
        and (g.retried is null or t.retried = g.retried)
)
select
    r.run as run,
    t.arrived - r.first_s as rel_s,
    t.arrived + r.wall_offset_s as wall,
    t.rid as rid,
    t.client_rid as client_rid,
    t.terminal as terminal,
    case when j.is_scored = 1 then j.miss end as miss,
    coalesce(t.refused_cause, t.cancelled_phase, t.error_type, t.error) as reason,
    t.ttft_s as ttft_s,
    t.tpot_s as tpot_s,
    t.first_byte_s as first_byte_s,
    t.duration_s as duration_s,
    t.input_len as input_len,
    t.output_len as output_len,
    t.attempts as attempts,
    t.prefill_iid as prefill_iid,
    t.decode_iid as decode_iid
from judged as j
join given as g on 1 = 1
join terminals as t on t.terminal_id = j.terminal_id
join runs as r on r.run_id = j.run_id
where j.slow_s is not null
    and (g.miss is null or j.is_scored = 1 and j.miss = g.miss)
order by j.slow_s desc nulls last, r.started_at nulls first, r.run nulls first, t.arrived nulls first,
    t.rid nulls first
limit coalesce(:limit, 100)
