-- Faster than the definition: percentiles come from the values of a group as they are; only the
-- groups are sorted.
select
    s.scope as scope,
    t.terminal as outcome,
    count(*) as n,
    nearest_rank(t.price_s, 50) as price_p50,
    nearest_rank(t.ttft_s, 50) as ttft_p50,
    nearest_rank(t.price_s - t.ttft_s, 50) as error_p50,
    nearest_rank(t.price_s - t.ttft_s, 90) as error_p90
from selection as s
cross join terminals as t
where t.run_id = s.run_id
    and t.arrived >= s.from_s
    and t.arrived < s.to_s
    and t.price_s is not null
group by s.scope, t.terminal
order by s.scope nulls first, t.terminal nulls first
