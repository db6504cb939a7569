-- cancellations: where requests were when their clients hung up
-- group: outcomes and failures
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
--
-- Columns
--   run | text | run id
--   phase | text | where the request was: admission, queue, backoff, prefill or decode
--   requests | count | cancelled requests
--   with_output | count | of them, requests whose client had seen output
--   output_tokens | tokens | their output, summed; null when none of it is known
--   duration_p50 | s | median time from arrival to the end, nearest rank
--
-- Reading it
--   A run without cancelled requests has no row. Where token accounting is unavailable,
--   output_tokens is null, though there was output.
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
hung_up as (
    select s.run_id, t.cancelled_phase, t.first_byte_s, t.output_len, t.duration_s
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.terminal = 'cancelled'
        and t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
ranked as (
    select run_id, cancelled_phase, first_byte_s, output_len, duration_s,
        row_number() over (
            partition by run_id, cancelled_phase, case when duration_s is null then 1 else 0 end
            order by duration_s
        ) as k,
        count(duration_s) over (partition by run_id, cancelled_phase) as n
    from hung_up
),
by_phase as (
    select run_id, cancelled_phase, count(*) as requests, count(first_byte_s) as with_output,
        sum(output_len) as output_tokens,
        min(duration_s) filter (where duration_s is not null and 100 * k >= 50 * n) as duration_p50
    from ranked
    group by run_id, cancelled_phase
)
select
    s.run as run,
    b.cancelled_phase as phase,
    b.requests as requests,
    b.with_output as with_output,
    b.output_tokens as output_tokens,
    b.duration_p50 as duration_p50
from by_phase as b
join selected as s on s.run_id = b.run_id
order by s.started_at, s.run, b.cancelled_phase
