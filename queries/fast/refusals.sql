-- Faster: completed requests are only counted, by their index; the refused ones are read from the index of
-- the others, and the median is picked, not sorted for.
with
totals as (
    select scope, sum(requests) as offered
    from (
        select s.scope, count(*) as requests
        from selection as s
        cross join terminals as t indexed by terminals_completed
        where t.run_id = s.run_id
            and t.arrived >= s.from_s
            and t.arrived < s.to_s
            and t.terminal = 'completed'
        group by s.scope
        union all
        select s.scope, count(*)
        from selection as s
        cross join terminals as t indexed by terminals_not_completed
        where t.run_id = s.run_id
            and t.arrived >= s.from_s
            and t.arrived < s.to_s
            and t.terminal <> 'completed'
        group by s.scope
    )
    group by scope
),
by_cause as (
    select s.scope, t.refused_cause, t.reason, count(*) as refused,
        cast(nearest_rank(t.input_len, 50) as integer) as input_len_p50
    from selection as s
    cross join terminals as t indexed by terminals_not_completed
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.terminal = 'refused'
        and t.terminal <> 'completed'
    group by s.scope, t.refused_cause, t.reason
)
select
    b.scope as scope,
    b.refused_cause as cause,
    b.reason as reason,
    b.refused as requests,
    1e0 * b.refused / sum(b.refused) over (partition by b.scope) as share_of_refused,
    1e0 * b.refused / t.offered as share_of_offered,
    b.input_len_p50 as input_len_p50
from by_cause as b
join totals as t on t.scope = b.scope
order by b.scope nulls first, b.refused_cause nulls first, b.reason nulls first
