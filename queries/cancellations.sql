-- cancellations: where requests were when their clients hung up
-- group: outcomes and failures
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   phase | text | where the request was: admission, queue, backoff, prefill or decode
--   requests | count | cancelled requests
--   with_output | count | of them, requests whose client had seen output
--   output_tokens | tokens | their output, summed; null when none of it is known
--   duration_p50 | s | median time from arrival to the end, nearest rank
--
-- Reading it
--   A scope without cancelled requests has no row. Where token accounting is unavailable,
--   output_tokens is null, though there was output.
with
asked as (
    select s.scope, t.cancelled_phase, t.first_byte_s, t.output_len, t.duration_s,
        case when t.terminal = 'cancelled' then 1 else 0 end as is_cancelled
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
),
ranked as (
    select scope, cancelled_phase, first_byte_s, output_len, duration_s,
        row_number() over (
            partition by scope, cancelled_phase, case when duration_s is null then 1 else 0 end
            order by duration_s nulls first
        ) as k,
        count(*) over (
            partition by scope, cancelled_phase, case when duration_s is null then 1 else 0 end
            order by duration_s nulls first
            rows between unbounded preceding and unbounded following
        ) as n
    from asked
    where is_cancelled = 1
),
by_phase as (
    select scope, cancelled_phase, count(*) as requests, count(first_byte_s) as with_output,
        sum(output_len) as output_tokens,
        min(duration_s) filter (where 100 * k >= 50 * n) as duration_p50
    from ranked
    group by scope, cancelled_phase
)
select
    b.scope as scope,
    b.cancelled_phase as phase,
    b.requests as requests,
    b.with_output as with_output,
    b.output_tokens as output_tokens,
    b.duration_p50 as duration_p50
from by_phase as b
order by b.scope nulls first, b.cancelled_phase nulls first
