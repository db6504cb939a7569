-- admission-price: how well admission predicted the time to first token
-- group: latency
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
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
priced as (
    select s.scope, t.terminal as outcome, t.price_s, t.ttft_s
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.price_s is not null
),
measured as (
    select scope, outcome, 'price' as measure, price_s as v
    from priced
    union all
    select scope, outcome, 'ttft', ttft_s
    from priced
    union all
    select scope, outcome, 'error', price_s - ttft_s
    from priced
),
ranked as (
    select scope, outcome, measure, v,
        row_number() over (partition by scope, outcome, measure order by v nulls last) as k,
        count(*) over (
            partition by scope, outcome, measure
            order by v nulls last
            rows between unbounded preceding and unbounded following
        ) as of_n
    from measured
    where v is not null
)
select
    r.scope as scope,
    r.outcome as outcome,
    count(case when r.measure = 'price' then 1 end) as n,
    min(r.v) filter (where r.measure = 'price' and 100 * r.k >= 50 * r.of_n) as price_p50,
    min(r.v) filter (where r.measure = 'ttft' and 100 * r.k >= 50 * r.of_n) as ttft_p50,
    min(r.v) filter (where r.measure = 'error' and 100 * r.k >= 50 * r.of_n) as error_p50,
    min(r.v) filter (where r.measure = 'error' and 100 * r.k >= 90 * r.of_n) as error_p90
from ranked as r
group by r.scope, r.outcome
order by r.scope nulls first, r.outcome nulls first
