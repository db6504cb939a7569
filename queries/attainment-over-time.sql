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
--   Every bucket that a selected part of the run touches has a row, also one without requests;
--   attainment is null when nothing was scored. A bucket that a part cuts, or that the run ends in,
--   has the requests of what is selected of it, divided by its whole width. Who is counted, and what
--   an unknown output_len does, is as in `attainment`. Without targets there are no rows. Over
--   several runs, and in wall time, `attainment --by 5m` says it.
with recursive
given as (
    select
        coalesce(:policy, 'journal') as policy,
        coalesce(:ttft, saved.ttft_s) as ttft,
        coalesce(:tpot, saved.tpot_s) as tpot,
        1e0 * coalesce(:bucket, 60) as bucket
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
judged as (
    select s.run_id as run_id,
        (t.arrived - r.first_s) / g.bucket as place,
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
placed as (
    select run_id, is_scored, is_met,
        cast(cast(place as bigint) - case when cast(place as bigint) > place then 1 else 0 end as bigint)
            as bucket_no
    from judged
),
counted as (
    select run_id, bucket_no, count(*) as offered, sum(is_scored) as scored, sum(is_met) as met
    from placed
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
    from counted
)
select
    r.run as run,
    b.bucket_no * g.bucket as bucket_s,
    coalesce(c.offered, 0) as offered,
    1e0 * coalesce(c.offered, 0) / g.bucket as offered_per_s,
    coalesce(c.scored, 0) as scored,
    coalesce(c.met, 0) as met,
    case when c.scored > 0 then 1e0 * c.met / c.scored end as attainment
from touched as b
join given as g on g.ttft is not null and g.tpot is not null
join runs as r on r.run_id = b.run_id
left join counted as c on c.run_id = b.run_id and c.bucket_no = b.bucket_no
order by r.started_at nulls first, r.run nulls first, b.bucket_no nulls first
