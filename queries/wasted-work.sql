-- wasted-work: engine time, and output that nobody received
-- group: load and work
-- caveat: unknown output
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   upstream_prefill_s | s | engine time in prefill, failed work included
--   upstream_decode_s | s | engine time in decode, failed work included
--   tokens_observed | tokens | output that engines produced, over every attempt
--   tokens_returned | tokens | output of completed and cancelled requests
--   tokens_discarded | tokens | tokens_observed - tokens_returned
--   discarded_share | ratio | tokens_discarded / tokens_observed
--
-- Reading it
--   The token counts are over requests for which both the observed and the returned tokens are known,
--   and null when there is none: so they are where token accounting is unavailable. Every scope has a
--   row.
with
scopes as (
    select distinct scope
    from selection
),
asked as (
    select s.scope, t.upstream_prefill_s, t.upstream_decode_s,
        case when t.output_len is not null then t.decode_tokens_observed end as observed,
        case
            when t.decode_tokens_observed is null then null
            when t.terminal in ('completed', 'cancelled') then t.output_len
            when t.output_len is not null then 0
        end as returned
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
),
counted as (
    select scope, sum(upstream_prefill_s) as prefill_s, sum(upstream_decode_s) as decode_s,
        sum(observed) as tokens_observed, sum(returned) as tokens_returned
    from asked
    group by scope
)
select
    s.scope as scope,
    c.prefill_s as upstream_prefill_s,
    c.decode_s as upstream_decode_s,
    c.tokens_observed as tokens_observed,
    c.tokens_returned as tokens_returned,
    c.tokens_observed - c.tokens_returned as tokens_discarded,
    case
        when c.tokens_observed > 0
        then 1e0 * (c.tokens_observed - c.tokens_returned) / c.tokens_observed
    end as discarded_share
from scopes as s
left join counted as c on c.scope = s.scope
order by s.scope nulls first
