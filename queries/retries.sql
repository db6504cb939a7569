-- retries: how often requests were retried, and whether it helped
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
--   requests | count | requests
--   retried | count | requests with a retry scheduled after one of their attempts
--   retry_rate | ratio | retried / requests
--   served_after_retry | count | completed requests that took more than one attempt
--   attempts | count | prefill dispatches
--   wasted_attempts | count | attempts that failed, by their record
--   backoff_s_total | s | backoff before the scheduled retries, summed
--
-- Reading it
--   Every run has a row; retry_rate is null without requests. wasted_attempts leaves out entries of
--   attempt_failures that reached no engine. A retry can be scheduled and not come about: the client
--   hangs up, or the request expires during the backoff.
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
asked as (
    select s.run_id, t.terminal_id, t.terminal, t.attempts, t.recorded_attempts, t.retried
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
counted as (
    select run_id, count(*) as requests, sum(retried) as requests_retried,
        sum(case when terminal = 'completed' and attempts > 1 then 1 else 0 end)
            as served_after_retry,
        sum(attempts) as attempts_made, sum(recorded_attempts) as wasted_attempts
    from asked
    group by run_id
),
waited as (
    select a.run_id, sum(f.backoff_s) as backoff_s_total
    from asked as a
    join attempt_failures as f on f.terminal_id = a.terminal_id
    where a.retried = 1 and f.retry_scheduled = 1
    group by a.run_id
)
select
    s.run as run,
    coalesce(c.requests, 0) as requests,
    coalesce(c.requests_retried, 0) as retried,
    case when c.requests > 0 then 1e0 * c.requests_retried / c.requests end as retry_rate,
    coalesce(c.served_after_retry, 0) as served_after_retry,
    coalesce(c.attempts_made, 0) as attempts,
    coalesce(c.wasted_attempts, 0) as wasted_attempts,
    coalesce(w.backoff_s_total, 0e0) as backoff_s_total
from selected as s
left join counted as c on c.run_id = s.run_id
left join waited as w on w.run_id = s.run_id
order by s.started_at, s.run
