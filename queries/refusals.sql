-- refusals: why requests were refused
-- group: outcomes and failures
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   cause | text | what the request was refused for
--   reason | text | the finer label; null before 0.6
--   requests | count | refused requests
--   share_of_refused | ratio | of the scope's refused requests
--   share_of_offered | ratio | of all the scope's requests
--   input_len_p50 | tokens | median prompt length, nearest rank
--
-- Reading it
--   A scope that refused nothing has no row.
with
asked as (
    select s.scope, t.refused_cause, t.reason, t.input_len,
        case when t.terminal = 'refused' then 1 else 0 end as is_refused
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
),
totals as (
    select scope, count(*) as offered, sum(is_refused) as refused
    from asked
    group by scope
),
ranked as (
    select scope, refused_cause, reason, input_len,
        row_number() over (
            partition by scope, refused_cause, reason, case when input_len is null then 1 else 0 end
            order by input_len nulls first
        ) as k,
        count(*) over (
            partition by scope, refused_cause, reason, case when input_len is null then 1 else 0 end
            order by input_len nulls first
            rows between unbounded preceding and unbounded following
        ) as n
    from asked
    where is_refused = 1
),
by_cause as (
    select scope, refused_cause, reason, count(*) as refused,
        cast(min(input_len) filter (where 100 * k >= 50 * n) as bigint) as input_len_p50
    from ranked
    group by scope, refused_cause, reason
)
select
    b.scope as scope,
    b.refused_cause as cause,
    b.reason as reason,
    b.refused as requests,
    1e0 * b.refused / t.refused as share_of_refused,
    1e0 * b.refused / t.offered as share_of_offered,
    b.input_len_p50 as input_len_p50
from by_cause as b
join totals as t on t.scope = b.scope
order by b.scope nulls first, b.refused_cause nulls first, b.reason nulls first
