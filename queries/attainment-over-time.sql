-- attainment-over-time: share of requests that met the latency targets, by time of arrival
-- group: latency targets
-- caveat: unavailable accounting
--
-- Parameters
--   ttft | target | saved SLO | TTFT target, in seconds
--   tpot | target | saved SLO | TPOT target, in seconds
--   slo | text | default | name of the saved SLO to take the targets from
--   policy | one of journal offers router | journal | who is counted
--   bucket | positive seconds | 60 | width of a bucket, in seconds from the run's zero
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
--
-- Columns
--   run | text | run id
--   bucket_s | s | start of the bucket, from the run's zero
--   offered | count | requests that arrived in the bucket
--   offered_per_s | requests/s | offered / bucket
--   scored | count | requests that the policy counts
--   met | count | scored requests that completed within both targets
--   attainment | ratio | met / scored
--
-- Reading it
--   Every bucket from the run's first to its last has a row, also one without requests and one
--   outside of from, to and last. attainment is null when nothing was scored. The run's last bucket
--   is divided by its whole width, though the run ends in it. Who is counted, and what an unknown
--   output_len does, is as in `attainment`. Without targets there are no rows.
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
targets as (
    select
        coalesce(:policy, 'journal') as policy,
        coalesce(:ttft, saved.ttft_s) as ttft,
        coalesce(:tpot, saved.tpot_s) as tpot,
        1e0 * coalesce(:bucket, 60) as bucket
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
judged as (
    select
        s.run_id,
        (t.arrived - s.first_s) / g.bucket as place,
        case
            when g.policy = 'offers' then 1
            when g.policy = 'router' then
                case when t.terminal in ('cancelled', 'rejected', 'invalid') then 0 else 1 end
            when t.terminal in ('completed', 'invalid', 'rejected', 'expired', 'failed') then 1
            when t.output_len is null or t.ttft_s is null then 1
            else 0
        end as is_scored,
        case
            when t.terminal = 'completed' and t.ttft_s <= g.ttft
                and (t.tpot_s is null or t.tpot_s <= g.tpot)
                and (g.policy = 'router' or t.output_len is not null)
            then 1
            else 0
        end as is_met
    from selected as s
    join terminals as t on t.run_id = s.run_id
    join targets as g on g.ttft is not null and g.tpot is not null
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
placed as (
    select run_id, is_scored, is_met,
        -- The outer cast gives it the type that joins with `buckets` by index.
        cast(cast(place as bigint) - case when cast(place as bigint) > place then 1 else 0 end as bigint)
            as bucket_no
    from judged
),
counted as (
    select run_id, bucket_no, count(*) as offered, sum(is_scored) as scored, sum(is_met) as met
    from placed
    group by run_id, bucket_no
),
ends as (
    select s.run_id, s.span_s / g.bucket as place
    from selected as s
    join targets as g on g.ttft is not null and g.tpot is not null
    where s.span_s is not null
),
buckets as (
    select run_id, cast(0 as bigint) as bucket_no, place as last_place
    from ends
    union all
    select run_id, bucket_no + 1, last_place
    from buckets
    where bucket_no + 1 <= last_place
)
select
    s.run as run,
    b.bucket_no * g.bucket as bucket_s,
    coalesce(c.offered, 0) as offered,
    coalesce(c.offered, 0) / g.bucket as offered_per_s,
    coalesce(c.scored, 0) as scored,
    coalesce(c.met, 0) as met,
    case when c.scored > 0 then 1e0 * c.met / c.scored end as attainment
from buckets as b
join selected as s on s.run_id = b.run_id
join targets as g on 1 = 1
left join counted as c on c.run_id = b.run_id and c.bucket_no = b.bucket_no
order by s.started_at, s.run, b.bucket_no
