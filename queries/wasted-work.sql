-- wasted-work: engine time, and output that nobody received
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
--   upstream_prefill_s | s | engine time in prefill, failed work included
--   upstream_decode_s | s | engine time in decode, failed work included
--   tokens_observed | tokens | output that engines produced, over every attempt
--   tokens_returned | tokens | output of completed and cancelled requests
--   tokens_discarded | tokens | tokens_observed - tokens_returned
--   discarded_share | ratio | tokens_discarded / tokens_observed
--
-- Reading it
--   The three token counts are over requests for which both the observed and the returned tokens are
--   known: where token accounting is unavailable they are 0 and the share is null. Every run has a
--   row.
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
    select
        s.run_id, t.upstream_prefill_s, t.upstream_decode_s,
        case when t.output_len is not null then t.decode_tokens_observed end as observed,
        case
            when t.decode_tokens_observed is not null and t.terminal in ('completed', 'cancelled')
            then t.output_len
        end as returned
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
counted as (
    select run_id, sum(upstream_prefill_s) as prefill_s, sum(upstream_decode_s) as decode_s,
        coalesce(sum(observed), 0) as tokens_observed,
        coalesce(sum(returned), 0) as tokens_returned
    from asked
    group by run_id
)
select
    s.run as run,
    coalesce(c.prefill_s, 0e0) as upstream_prefill_s,
    coalesce(c.decode_s, 0e0) as upstream_decode_s,
    coalesce(c.tokens_observed, 0) as tokens_observed,
    coalesce(c.tokens_returned, 0) as tokens_returned,
    coalesce(c.tokens_observed - c.tokens_returned, 0) as tokens_discarded,
    case
        when c.tokens_observed > 0
        then 1e0 * (c.tokens_observed - c.tokens_returned) / c.tokens_observed
    end as discarded_share
from selected as s
left join counted as c on c.run_id = s.run_id
order by s.started_at, s.run
