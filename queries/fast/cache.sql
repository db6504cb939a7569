-- Faster beside other questions: what it needs is added up in one pass that they can share.
with
gathered as materialized (
    select s.scope,
        count(*) as cache_requests, count(t.cached_tokens_max) as cache_with,
        sum(t.cached_tokens_max) as cache_tokens, sum(t.placed_cached_tokens) as cache_placed,
        sum(t.cold_prefill_s - t.predicted_prefill_s) as cache_saved_s
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
)
select
    s.scope as scope,
    coalesce(g.cache_requests, 0) as requests,
    coalesce(g.cache_with, 0) as with_cached,
    g.cache_tokens as cached_tokens,
    g.cache_placed as placed_cached,
    g.cache_saved_s as saved_prefill_s
from scopes as s
left join gathered as g on g.scope = s.scope
order by s.scope nulls first
