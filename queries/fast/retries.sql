-- Faster: requests are read once and not kept, and entries only of those that have any, by their index.
with
scopes as (
    select distinct scope
    from selection
),
counted as (
    select s.scope, count(*) as requests, sum(t.retried) as requests_retried,
        count(case when t.terminal = 'completed' and t.attempts > 1 then 1 end) as served_after_retry,
        sum(t.attempts) as attempts_made, sum(t.recorded_attempts) as wasted_attempts
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.scope
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
        and t.retried = 1
        and f.terminal_id = t.terminal_id
        and f.retry_scheduled = 1
    group by s.scope
)
select
    s.scope as scope,
    coalesce(c.requests, 0) as requests,
    coalesce(c.requests_retried, 0) as retried,
    case when c.requests > 0 then 1e0 * c.requests_retried / c.requests end as retry_rate,
    coalesce(c.served_after_retry, 0) as served_after_retry,
    c.attempts_made as attempts,
    coalesce(c.wasted_attempts, 0) as wasted_attempts,
    w.backoff_s_total as backoff_s_total
from scopes as s
left join counted as c on c.scope = s.scope
left join waited as w on w.scope = s.scope
order by s.scope nulls first
