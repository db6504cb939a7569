-- throughput: requests and tokens over time
-- group: load and work
--
-- Parameters
--   bucket | positive seconds | 60 | width of a bucket, in seconds from the run's zero
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
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
--   Output counts where its request ends, not where it was streamed. Every bucket from the run's
--   first to its last has a row. from, to and last choose requests by arrival: one chosen still
--   counts in the bucket it ended in. Where token accounting is unavailable, output_tokens is 0. The
--   run's last bucket is divided by its whole width, though the run ends in it.
with recursive
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
widths as (
    select 1e0 * coalesce(:bucket, 60) as bucket
),
asked as (
    select
        s.run_id, t.terminal, t.input_len, t.output_len,
        (t.arrived - s.first_s) / w.bucket as arrived_place,
        (t.arrived + t.duration_s - s.first_s) / w.bucket as ended_place
    from selected as s
    join terminals as t on t.run_id = s.run_id
    join widths as w on 1 = 1
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
moments as (
    select run_id, arrived_place as place, 1 as arrivals, 0 as completions,
        input_len as tokens_in, 0 as tokens_out
    from asked
    union all
    select run_id, ended_place, 0, case when terminal = 'completed' then 1 else 0 end, 0, output_len
    from asked
    where ended_place is not null
),
placed as (
    select run_id, arrivals, completions, tokens_in, tokens_out,
        -- The outer cast gives it the type that joins with `buckets` by index.
        cast(cast(place as bigint) - case when cast(place as bigint) > place then 1 else 0 end as bigint)
            as bucket_no
    from moments
),
counted as (
    select run_id, bucket_no, sum(arrivals) as arrived, sum(completions) as completed,
        sum(tokens_in) as input_tokens, sum(tokens_out) as output_tokens
    from placed
    group by run_id, bucket_no
),
buckets as (
    select s.run_id, cast(0 as bigint) as bucket_no, s.span_s / w.bucket as last_place
    from selected as s
    join widths as w on 1 = 1
    where s.span_s is not null
    union all
    select run_id, bucket_no + 1, last_place
    from buckets
    where bucket_no + 1 <= last_place
)
select
    s.run as run,
    b.bucket_no * w.bucket as bucket_s,
    coalesce(c.arrived, 0) as arrived,
    coalesce(c.completed, 0) as completed,
    coalesce(c.input_tokens, 0) as input_tokens,
    coalesce(c.output_tokens, 0) as output_tokens,
    coalesce(c.input_tokens, 0) / w.bucket as input_tokens_per_s,
    coalesce(c.output_tokens, 0) / w.bucket as output_tokens_per_s
from buckets as b
join selected as s on s.run_id = b.run_id
join widths as w on 1 = 1
left join counted as c on c.run_id = b.run_id and c.bucket_no = b.bucket_no
order by s.started_at, s.run, b.bucket_no
