-- Faster than the definition, for whole runs: their legs were counted as the rows came.
select
    s.scope as scope,
    case when l.leg <> 'unattributed' then l.engine end as engine,
    case when l.leg <> 'unattributed' then l.leg end as leg,
    case when l.leg <> 'unattributed' then sum(l.attempts) end as attempts,
    sum(l.failures) as failures,
    case
        when l.leg <> 'unattributed' and sum(l.attempts) > 0 then 1e0 * sum(l.failures) / sum(l.attempts)
    end as failure_rate,
    case when l.leg <> 'unattributed' then sum(l.retried) end as retried,
    case when l.leg <> 'unattributed' then sum(l.output_started) end as output_started
from selection as s
cross join leg_counts as l
where l.run_id = s.run_id
group by s.scope, l.leg, l.engine
order by s.scope nulls first, 2 nulls first, 3 nulls first
