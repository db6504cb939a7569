-- cache: how much of the prompts was found cached, and the prefill it saved
-- group: load and work
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   requests | count | requests
--   with_cached | count | of them, requests that tell of cached tokens on some engine
--   cached_tokens | tokens | the most that an engine held of each, summed
--   placed_cached | tokens | what the engine chosen held of each, summed
--   saved_prefill_s | s | predicted prefill without a cache minus that of the engine chosen, summed
--
-- Reading it
--   A sum is null when no request has its field: so they are before 0.4, which did not write them.
--   The time saved is the router's prediction, not a measurement. Every scope has a row.
with
scopes as (
    select distinct scope
    from selection
),
counted as (
    select s.scope, count(*) as requests, count(t.cached_tokens_max) as with_cached,
        sum(t.cached_tokens_max) as cached_tokens, sum(t.placed_cached_tokens) as placed_cached,
        sum(t.cold_prefill_s - t.predicted_prefill_s) as saved_prefill_s
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.scope
)
select
    s.scope as scope,
    coalesce(c.requests, 0) as requests,
    coalesce(c.with_cached, 0) as with_cached,
    c.cached_tokens as cached_tokens,
    c.placed_cached as placed_cached,
    c.saved_prefill_s as saved_prefill_s
from scopes as s
left join counted as c on c.scope = s.scope
order by s.scope nulls first
