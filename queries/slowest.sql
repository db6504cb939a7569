-- slowest: the slowest requests
-- group: latency
--
-- Parameters
--   by | one of ttft_s tpot_s first_byte_s duration_s | ttft_s | what they are slowest by
--   limit | count | 20 | how many requests, over all the runs asked for
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
--
-- Columns
--   run | text | run id
--   rid | text | request id
--   client_rid | text | the caller's id for it: any text
--   terminal | text | how it ended
--   ttft_s | s | arrival to prefill done
--   tpot_s | s | per output token after the first
--   first_byte_s | s | arrival to the first visible output
--   duration_s | s | arrival to the end
--   input_len | tokens | prompt
--   output_len | tokens | output
--   prefill_iid | text | prefill engine of the final attempt
--   decode_iid | text | decode engine of the final attempt
--   attempts | count | prefill dispatches
--
-- Reading it
--   Largest first, whatever the terminal; equally slow ones by run, then request id. Requests
--   without the number asked for are left out.
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
measured as (
    select s.run, s.started_at, t.rid, t.client_rid, t.terminal, t.ttft_s, t.tpot_s, t.first_byte_s,
        t.duration_s, t.input_len, t.output_len, t.prefill_iid, t.decode_iid, t.attempts, t.arrived,
        case coalesce(:by, 'ttft_s')
            when 'ttft_s' then t.ttft_s
            when 'tpot_s' then t.tpot_s
            when 'first_byte_s' then t.first_byte_s
            when 'duration_s' then t.duration_s
        end as slow_s
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
)
select
    m.run as run,
    m.rid as rid,
    m.client_rid as client_rid,
    m.terminal as terminal,
    m.ttft_s as ttft_s,
    m.tpot_s as tpot_s,
    m.first_byte_s as first_byte_s,
    m.duration_s as duration_s,
    m.input_len as input_len,
    m.output_len as output_len,
    m.prefill_iid as prefill_iid,
    m.decode_iid as decode_iid,
    m.attempts as attempts
from measured as m
where m.slow_s is not null
order by m.slow_s desc, m.started_at, m.run, m.rid, m.arrived
limit coalesce(:limit, 20)
