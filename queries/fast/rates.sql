-- Faster beside other questions: what it needs is added up in one pass that they can share.
with
gathered as materialized (
    select s.scope,
        count(*) as rates_offered, count(case when t.terminal = 'completed' then 1 end) as rates_completed,
        sum(t.input_len) as rates_input_tokens, sum(t.output_len) as rates_output_tokens
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
parts as (
    select s.scope, r.run_id as run_id, r.wall_offset_s,
        case when s.from_s > r.first_s then s.from_s else r.first_s end as from_s,
        case when s.to_s < r.last_s then s.to_s else r.last_s end as to_s
    from selection as s
    join runs as r on r.run_id = s.run_id
),
-- All wall times are one axis (null); a run without them has an axis of its own.
laid as (
    select scope, to_s - from_s as length_s,
        case when wall_offset_s is null then run_id end as axis,
        from_s + coalesce(wall_offset_s, 0e0) as begin_s,
        to_s + coalesce(wall_offset_s, 0e0) as end_s
    from parts
    where from_s < to_s
),
followed as (
    select scope, length_s, begin_s, end_s,
        max(end_s) over (
            partition by scope, axis
            order by begin_s nulls first, end_s nulls first
            rows between unbounded preceding and 1 preceding
        ) as covered_to
    from laid
),
covered as (
    select scope,
        sum(case
            when covered_to is null or covered_to <= begin_s then length_s
            when covered_to < end_s then end_s - covered_to
            else 0e0
        end) as span_s
    from followed
    group by scope
)
select
    s.scope as scope,
    coalesce(c.span_s, 0e0) as span_s,
    coalesce(a.rates_offered, 0) as offered,
    case when c.span_s > 0 then 1e0 * coalesce(a.rates_offered, 0) / c.span_s end as offered_per_s,
    case when c.span_s > 0 then 1e0 * coalesce(a.rates_completed, 0) / c.span_s end as completed_per_s,
    case when c.span_s > 0 then 1e0 * a.rates_input_tokens / c.span_s end as input_tokens_per_s,
    case when c.span_s > 0 then 1e0 * a.rates_output_tokens / c.span_s end as output_tokens_per_s
from scopes as s
left join covered as c on c.scope = s.scope
left join gathered as a on a.scope = s.scope
order by s.scope nulls first
