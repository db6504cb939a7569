with selection(scope, run_id, from_s, to_s) as (
    with chosen(scope, run, from_s, to_s) as (
        values
            ('all', '1795977814-3f8e66b9', 2.477095077849e3, 1e308),
            ('all', '1795977820-e0f86d89', 2.483844971026e3, 1e308)
    )
    select c.scope as scope, r.run_id as run_id, c.from_s as from_s, c.to_s as to_s
    from chosen as c
    join runs as r on r.run = c.run
),
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
    select scope, outcome, measure, v
    from measured
    where v is not null
)
select
    r.scope as scope,
    r.outcome as outcome,
    count(case when r.measure = 'price' then 1 end) as n,
    percentile_disc(0.5) within group (order by r.v) filter (where r.measure = 'price') as price_p50,
    percentile_disc(0.5) within group (order by r.v) filter (where r.measure = 'ttft') as ttft_p50,
    percentile_disc(0.5) within group (order by r.v) filter (where r.measure = 'error') as error_p50,
    percentile_disc(0.9) within group (order by r.v) filter (where r.measure = 'error') as error_p90
from ranked as r
group by r.scope, r.outcome
order by r.scope nulls first, r.outcome nulls first;
