-- goodput: how attainment falls as the offered rate grows
-- group: latency targets
-- caveat: unavailable accounting
--
-- Parameters
--   ttft | target | saved SLO | TTFT target, in seconds
--   tpot | target | saved SLO | TPOT target, in seconds
--   slo | text | default | name of the saved SLO to take the targets from
--   policy | one of journal offers router | journal | who is counted
--   bucket | positive seconds | 60 | width of a bucket, in seconds from the run's zero
--   band | positive number | 1.0 | width of a band of rates, in requests/s
--
-- Columns
--   scope | text | what the row is about: a run id, or as --by says
--   rate_from | requests/s | the band holds offered rates from here
--   rate_to | requests/s | to below this
--   buckets | count | buckets of time with such a rate
--   scored | count | requests in them that the policy counts
--   met | count | scored requests that completed within both targets
--   attainment | ratio | met / scored
--
-- Reading it
--   The buckets of `attainment-over-time` with requests in them, grouped by their offered rate: the
--   highest band that still attains is what the fleet can carry. Only buckets that are selected from
--   end to end count, and the last one of a run, with the rate that is left to it: a low band can
--   hold such. A band that no bucket fell in has no row. Without targets there are no rows.
with
given as (
    select
        coalesce(:policy, 'journal') as policy,
        coalesce(:ttft, saved.ttft_s) as ttft,
        coalesce(:tpot, saved.tpot_s) as tpot,
        1e0 * coalesce(:bucket, 60) as bucket,
        1e0 * coalesce(:band, 1) as band
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
judged as (
    select s.scope, s.run_id as run_id,
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
    where g.ttft is not null
        and g.tpot is not null
        and r.run_id = s.run_id
        and t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
),
-- `cast` cuts in some engines and rounds in others: what it rounded up is taken back.
placed as (
    select scope, run_id, is_scored, is_met,
        cast(cast(place as bigint) - case when cast(place as bigint) > place then 1 else 0 end as bigint)
            as bucket_no
    from judged
),
counted as (
    select scope, run_id, bucket_no, count(*) as offered, sum(is_scored) as scored, sum(is_met) as met
    from placed
    group by scope, run_id, bucket_no
),
-- Parts of a run that follow on each other are one.
followed as (
    select scope, run_id, from_s, to_s,
        max(to_s) over (
            partition by scope, run_id
            order by from_s nulls first
            rows between unbounded preceding and 1 preceding
        ) as selected_to
    from selection
),
numbered as (
    select scope, run_id, from_s, to_s,
        sum(case when from_s <= selected_to then 0 else 1 end) over (
            partition by scope, run_id
            order by from_s nulls first
            rows between unbounded preceding and current row
        ) as part_no
    from followed
),
parts as (
    select scope, run_id, part_no, min(from_s) as begin_s, max(to_s) as end_s
    from numbered
    group by scope, run_id, part_no
),
-- The buckets that count: those wholly selected, and the last one of a run.
whole as (
    select c.scope as scope, c.run_id as run_id, c.bucket_no as bucket_no
    from counted as c
    join given as g on 1 = 1
    join runs as r on r.run_id = c.run_id
    join parts as p on p.scope = c.scope and p.run_id = c.run_id
    where r.first_s + c.bucket_no * g.bucket >= p.begin_s
        and r.first_s + (c.bucket_no + 1) * g.bucket <= p.end_s
    union
    select c.scope as scope, c.run_id as run_id, c.bucket_no as bucket_no
    from counted as c
    join given as g on 1 = 1
    join runs as r on r.run_id = c.run_id
    where c.bucket_no + 1 > (r.last_s - r.first_s) / g.bucket
),
rated as (
    select c.scope as scope, c.scored, c.met, 1e0 * c.offered / g.bucket / g.band as place
    from counted as c
    join whole as w on w.scope = c.scope and w.run_id = c.run_id and w.bucket_no = c.bucket_no
    join given as g on 1 = 1
),
banded as (
    select scope, scored, met,
        cast(place as bigint) - case when cast(place as bigint) > place then 1 else 0 end as band_no
    from rated
),
by_band as (
    select scope, band_no, count(*) as buckets, sum(scored) as all_scored, sum(met) as all_met
    from banded
    group by scope, band_no
)
select
    b.scope as scope,
    b.band_no * g.band as rate_from,
    (b.band_no + 1) * g.band as rate_to,
    b.buckets as buckets,
    b.all_scored as scored,
    b.all_met as met,
    case when b.all_scored > 0 then 1e0 * b.all_met / b.all_scored end as attainment
from by_band as b
join given as g on 1 = 1
order by b.scope nulls first, b.band_no nulls first
