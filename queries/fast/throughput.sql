-- Faster: the requests are read and sorted once, for the buckets of their arrival and their end together, and
-- whether prompts and output are known is looked up, not counted.
with recursive
given as (
    select 1e0 * coalesce(:bucket, 60) as bucket
),
moved as materialized (
    select s.run_id,
        cast((t.arrived - r.first_s) / g.bucket as integer) as arrived_no,
        cast((t.arrived + t.duration_s - r.first_s) / g.bucket as integer) as ended_no,
        count(*) as requests,
        count(case when t.terminal = 'completed' then 1 end) as completed,
        sum(t.input_len) as input_tokens,
        sum(t.output_len) as output_tokens
    from selection as s
    cross join given as g
    cross join runs as r
    cross join terminals as t
    where r.run_id = s.run_id
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.run_id, arrived_no, ended_no
),
arrived as (
    select run_id, arrived_no as bucket_no, sum(requests) as requests, sum(input_tokens) as input_tokens
    from moved
    group by run_id, arrived_no
),
ended as (
    select run_id, ended_no as bucket_no, sum(completed) as completed, sum(output_tokens) as output_tokens
    from moved
    where ended_no is not null
    group by run_id, ended_no
),
passed as (
    select s.run_id, s.from_s, s.to_s, r.first_s, r.last_s, g.bucket,
        cast(max(s.from_s - r.first_s, 0e0) / g.bucket as integer) as bucket_no
    from selection as s
    join runs as r on r.run_id = s.run_id
    join given as g on 1 = 1
    where s.from_s < s.to_s
        and s.from_s <= r.last_s
        and s.to_s > r.first_s
    union all
    select run_id, from_s, to_s, first_s, last_s, bucket, bucket_no + 1
    from passed
    where first_s + (bucket_no + 1) * bucket < to_s
        and first_s + (bucket_no + 1) * bucket <= last_s
),
touched as (
    select run_id, bucket_no
    from passed
    where first_s + (bucket_no + 1) * bucket > from_s
    union
    select run_id, bucket_no
    from arrived
),
known as materialized (
    select c.run_id,
        exists (
            select 1
            from terminals as t indexed by terminals_completed
            where t.run_id = c.run_id
                and t.terminal = 'completed'
                and t.output_len is not null
        ) or exists (
            select 1
            from terminals as t indexed by terminals_not_completed
            where t.run_id = c.run_id
                and t.terminal <> 'completed'
                and t.output_len is not null
        ) as has_output,
        exists (
            select 1
            from terminals as t
            where t.run_id = c.run_id
                and t.input_len is not null
        ) as has_input
    from (select distinct run_id from touched) as c
),
counted as (
    select b.run_id, b.bucket_no,
        coalesce(a.requests, 0) as arrived,
        coalesce(e.completed, 0) as completed,
        case when k.has_input = 1 then coalesce(a.input_tokens, 0) end as input_tokens,
        case when k.has_output = 1 then coalesce(e.output_tokens, 0) end as output_tokens
    from touched as b
    join known as k on k.run_id = b.run_id
    left join arrived as a on a.run_id = b.run_id and a.bucket_no = b.bucket_no
    left join ended as e on e.run_id = b.run_id and e.bucket_no = b.bucket_no
)
select
    r.run as run,
    c.bucket_no * g.bucket as bucket_s,
    c.arrived as arrived,
    c.completed as completed,
    c.input_tokens as input_tokens,
    c.output_tokens as output_tokens,
    1e0 * c.input_tokens / g.bucket as input_tokens_per_s,
    1e0 * c.output_tokens / g.bucket as output_tokens_per_s
from counted as c
join given as g on 1 = 1
join runs as r on r.run_id = c.run_id
order by r.started_at nulls first, r.run nulls first, c.bucket_no nulls first
