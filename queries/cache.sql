-- cache: how much of the prompts was found cached, and the prefill it saved
-- group: load and work
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
--   with_cached | count | of them, requests that tell of cached tokens on some engine
--   cached_tokens | tokens | the most that an engine held of each, summed
--   placed_cached | tokens | what the engine chosen held of each, summed
--   saved_prefill_s | s | predicted prefill without a cache minus that of the engine chosen, summed
--
-- Reading it
--   Zero before 0.4, which did not write these fields. The time saved is the router's prediction,
--   not a measurement. Every run has a row.
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
    select s.run_id, t.cached_tokens_max, t.placed_cached_tokens,
        t.cold_prefill_s - t.predicted_prefill_s as saved_s
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
counted as (
    select run_id, count(*) as requests, count(cached_tokens_max) as with_cached,
        sum(cached_tokens_max) as cached_tokens, sum(placed_cached_tokens) as placed_cached,
        sum(saved_s) as saved_prefill_s
    from asked
    group by run_id
)
select
    s.run as run,
    coalesce(c.requests, 0) as requests,
    coalesce(c.with_cached, 0) as with_cached,
    coalesce(c.cached_tokens, 0) as cached_tokens,
    coalesce(c.placed_cached, 0) as placed_cached,
    coalesce(c.saved_prefill_s, 0e0) as saved_prefill_s
from selected as s
left join counted as c on c.run_id = s.run_id
order by s.started_at, s.run
