-- Faster: one pass over the requests; the attempts that failed are found by the index of the requests that have some.
with
gathered as materialized (
    select s.scope,
        count(*) as retries_requests, sum(t.retried) as retries_retried,
        count(case when t.terminal = 'completed' and t.attempts > 1 then 1 end) as retries_served,
        sum(t.attempts) as retries_attempts, sum(t.recorded_attempts) as retries_wasted
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.scope
),
scopes as (
    select distinct scope
    from selection
),
waited as (
    select s.scope, sum(f.backoff_s) as backoff_s_total
    from selection as s
    cross join terminals as t
    cross join attempt_failures as f
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.attempt_failures > 0
        and f.terminal_id = t.terminal_id
        and f.retry_scheduled = 1
    group by s.scope
)
select
    s.scope as scope,
    coalesce(g.retries_requests, 0) as requests,
    coalesce(g.retries_retried, 0) as retried,
    case when g.retries_requests > 0 then 1e0 * g.retries_retried / g.retries_requests end as retry_rate,
    coalesce(g.retries_served, 0) as served_after_retry,
    g.retries_attempts as attempts,
    coalesce(g.retries_wasted, 0) as wasted_attempts,
    w.backoff_s_total as backoff_s_total
from scopes as s
left join gathered as g on g.scope = s.scope
left join waited as w on w.scope = s.scope
order by s.scope nulls first
