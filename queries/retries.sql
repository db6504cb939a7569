-- retries: how often requests were retried, and whether it helped
-- group: outcomes and failures
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   requests | count | requests
--   retried | count | requests with a retry scheduled after one of their attempts
--   retry_rate | ratio | retried / requests
--   served_after_retry | count | completed requests that took more than one attempt
--   attempts | count | prefill dispatches
--   wasted_attempts | count | attempts that failed, by their record
--   backoff_s_total | s | backoff before the scheduled retries, summed; null when none was scheduled
--
-- Reading it
--   Every scope has a row; retry_rate is null without requests. wasted_attempts leaves out entries of
--   attempt_failures that reached no engine. A retry can be scheduled and not come about: the client
--   hangs up, or the request expires during the backoff.
with
scopes as (
    select distinct scope
    from selection
),
asked as (
    select s.scope, t.terminal_id, t.terminal, t.attempts, t.recorded_attempts, t.retried
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
),
counted as (
    select scope, count(*) as requests, sum(retried) as requests_retried,
        count(case when terminal = 'completed' and attempts > 1 then 1 end) as served_after_retry,
        sum(attempts) as attempts_made, sum(recorded_attempts) as wasted_attempts
    from asked
    group by scope
),
waited as (
    select a.scope, sum(f.backoff_s) as backoff_s_total
    from asked as a
    cross join attempt_failures as f
    where f.terminal_id = a.terminal_id
        and f.retry_scheduled = 1
    group by a.scope
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
