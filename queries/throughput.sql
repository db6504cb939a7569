-- throughput: requests and tokens over time
-- group: load and work
-- caveat: unknown output
--
-- Parameters
--   bucket | positive seconds | 60 | width of a bucket, in seconds from the run's zero
--
-- Columns
--   run | text | run id
--   bucket_s | s | start of the bucket, from the run's zero
--   arrived | count | requests that arrived in the bucket
--   completed | count | requests that completed in it
--   input_tokens | tokens | prompts of the requests that arrived in it
--   output_tokens | tokens | output of the requests that ended in it, however they ended
--   input_tokens_per_s | tokens/s | input_tokens / bucket
--   output_tokens_per_s | tokens/s | output_tokens / bucket
--
-- Reading it
--   Output counts where its request ends, not where it was streamed. Every bucket that a selected part
--   of the run touches has a row. The requests are those that arrived in the parts: one that ends in
--   none of these buckets counts in the one it arrived in only, and one from before a part not at
--   all. A bucket that a part cuts, or that the run ends in, is divided by its whole width. Output
--   is null when the run knows it of no request, and so are prompts. Over several runs, and in wall
--   time, `rates --by 5m` says it.
with recursive
given as (
    select 1e0 * coalesce(:bucket, 60) as bucket
),
asked as (
    select s.run_id as run_id, t.input_len, t.output_len,
        case when t.terminal = 'completed' then 1 else 0 end as is_completed,
        (t.arrived - r.first_s) / g.bucket as arrived_place,
        (t.arrived + t.duration_s - r.first_s) / g.bucket as ended_place
    from selection as s
    cross join given as g
    cross join runs as r
    cross join terminals as t
    where r.run_id = s.run_id
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
),
-- `cast` cuts in some engines and rounds in others: what it rounded up is taken back.
arrivals as (
    select run_id, input_len,
        cast(cast(arrived_place as bigint)
            - case when cast(arrived_place as bigint) > arrived_place then 1 else 0 end as bigint) as bucket_no
    from asked
),
ends as (
    select run_id, is_completed, output_len,
        cast(cast(ended_place as bigint)
            - case when cast(ended_place as bigint) > ended_place then 1 else 0 end as bigint) as bucket_no
    from asked
    where ended_place is not null
),
arrived as (
    select run_id, bucket_no, count(*) as requests, sum(input_len) as input_tokens
    from arrivals
    group by run_id, bucket_no
),
ended as (
    select run_id, bucket_no, sum(is_completed) as completed, sum(output_len) as output_tokens
    from ends
    group by run_id, bucket_no
),
-- The selected parts that lie in their run, and where in the buckets they begin.
parts as (
    select s.run_id as run_id, s.from_s, s.to_s, r.first_s, r.last_s, g.bucket,
        case when s.from_s > r.first_s then (s.from_s - r.first_s) / g.bucket else 0e0 end as place
    from selection as s
    join runs as r on r.run_id = s.run_id
    join given as g on 1 = 1
    where s.from_s < s.to_s
        and s.from_s <= r.last_s
        and s.to_s > r.first_s
),
passed as (
    select run_id, from_s, to_s, first_s, last_s, bucket,
        cast(cast(place as bigint) - case when cast(place as bigint) > place then 1 else 0 end as bigint)
            as bucket_no
    from parts
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
-- Whether any request of the run, selected or not, has its prompt, and any its output: unknown is not 0.
known as (
    select c.run_id as run_id, count(t.input_len) as inputs, count(t.output_len) as outputs
    from (select distinct run_id from touched) as c
    cross join terminals as t
    where t.run_id = c.run_id
    group by c.run_id
),
counted as (
    select b.run_id as run_id, b.bucket_no as bucket_no,
        coalesce(a.requests, 0) as arrived,
        coalesce(e.completed, 0) as completed,
        case when k.inputs > 0 then coalesce(a.input_tokens, 0) end as input_tokens,
        case when k.outputs > 0 then coalesce(e.output_tokens, 0) end as output_tokens
    from touched as b
    left join arrived as a on a.run_id = b.run_id and a.bucket_no = b.bucket_no
    left join ended as e on e.run_id = b.run_id and e.bucket_no = b.bucket_no
    left join known as k on k.run_id = b.run_id
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
