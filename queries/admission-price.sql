-- admission-price: how well admission predicted the time to first token
-- group: latency
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
--
-- Columns
--   run | text | run id
--   outcome | text | how the priced requests ended
--   n | count | requests with a price
--   price_p50 | s | median price, nearest rank
--   ttft_p50 | s | median ttft_s of the priced requests that have one
--   error_p50 | s | median of price - ttft_s, where both are known
--   error_p90 | s | its 90th percentile
--
-- Reading it
--   The price is the ttft_s that admission expected (0.6 and later). A negative error was too
--   optimistic. Only an outcome with priced requests has a row; the last three numbers are null when
--   no prefill of it was completed.
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
priced as (
    select s.run_id, t.terminal, t.price_s, t.ttft_s, t.price_s - t.ttft_s as error_s
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.price_s is not null
        and t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
-- Ordered as k is, n needs no second sort.
ranked as (
    select run_id, terminal, 'price' as measure, price_s as v,
        row_number() over (partition by run_id, terminal order by price_s) as k,
        count(*) over (
            partition by run_id, terminal
            order by price_s
            rows between unbounded preceding and unbounded following
        ) as n
    from priced
    union all
    select run_id, terminal, 'ttft', ttft_s,
        row_number() over (partition by run_id, terminal order by ttft_s),
        count(*) over (
            partition by run_id, terminal
            order by ttft_s
            rows between unbounded preceding and unbounded following
        )
    from priced
    where ttft_s is not null
    union all
    select run_id, terminal, 'error', error_s,
        row_number() over (partition by run_id, terminal order by error_s),
        count(*) over (
            partition by run_id, terminal
            order by error_s
            rows between unbounded preceding and unbounded following
        )
    from priced
    where error_s is not null
),
by_outcome as (
    select run_id, terminal,
        max(n) filter (where measure = 'price') as priced_requests,
        min(v) filter (where measure = 'price' and 100 * k >= 50 * n) as price_p50,
        min(v) filter (where measure = 'ttft' and 100 * k >= 50 * n) as ttft_p50,
        min(v) filter (where measure = 'error' and 100 * k >= 50 * n) as error_p50,
        min(v) filter (where measure = 'error' and 100 * k >= 90 * n) as error_p90
    from ranked
    where 100 * k >= 50 * n
    group by run_id, terminal
)
select
    s.run as run,
    b.terminal as outcome,
    b.priced_requests as n,
    b.price_p50 as price_p50,
    b.ttft_p50 as ttft_p50,
    b.error_p50 as error_p50,
    b.error_p90 as error_p90
from by_outcome as b
join selected as s on s.run_id = b.run_id
order by s.started_at, s.run, b.terminal
