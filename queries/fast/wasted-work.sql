-- Faster beside other questions: what it needs is added up in one pass that they can share.
with
gathered as materialized (
    select s.scope,
        sum(t.upstream_prefill_s) as work_prefill_s, sum(t.upstream_decode_s) as work_decode_s,
        sum(case when t.output_len is not null then t.decode_tokens_observed end) as work_observed,
        sum(case
            when t.decode_tokens_observed is null then null
            when t.terminal in ('completed', 'cancelled') then t.output_len
            when t.output_len is not null then 0
        end) as work_returned
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
    g.work_prefill_s as upstream_prefill_s,
    g.work_decode_s as upstream_decode_s,
    g.work_observed as tokens_observed,
    g.work_returned as tokens_returned,
    g.work_observed - g.work_returned as tokens_discarded,
    case when g.work_observed > 0 then 1e0 * (g.work_observed - g.work_returned) / g.work_observed end as discarded_share
from scopes as s
left join gathered as g on g.scope = s.scope
order by s.scope nulls first
