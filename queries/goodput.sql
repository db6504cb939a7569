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
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
--
-- Columns
--   run | text | run id
--   rate_from | requests/s | the band holds offered rates from here
--   rate_to | requests/s | to below this
--   buckets | count | buckets of time with such a rate
--   scored | count | requests in them that the policy counts
--   met | count | scored requests that completed within both targets
--   attainment | ratio | met / scored
--
-- Reading it
--   The buckets of `attainment-over-time` with requests in them, grouped by their offered rate: the
--   highest band that still attains is what the fleet can carry. A bucket that the run ends in, or
--   that from, to or last cut, counts with the rate left to it: a low band can hold such. A band
--   that no bucket fell in has no row. Without targets there are no rows.
with
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
        1e0 * coalesce(:bucket, 60) as bucket,
        1e0 * coalesce(:band, 1) as band
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
        cast(place as bigint) - case when cast(place as bigint) > place then 1 else 0 end as bucket_no
    from judged
),
counted as (
    select run_id, bucket_no, count(*) as offered, sum(is_scored) as scored, sum(is_met) as met
    from placed
    group by run_id, bucket_no
),
rated as (
    select c.run_id, c.scored, c.met, c.offered / g.bucket / g.band as place
    from counted as c
    join targets as g on 1 = 1
),
banded as (
    select run_id, scored, met,
        cast(place as bigint) - case when cast(place as bigint) > place then 1 else 0 end as band_no
    from rated
),
by_band as (
    select run_id, band_no, count(*) as buckets, sum(scored) as all_scored, sum(met) as all_met
    from banded
    group by run_id, band_no
)
select
    s.run as run,
    b.band_no * g.band as rate_from,
    (b.band_no + 1) * g.band as rate_to,
    b.buckets as buckets,
    b.all_scored as scored,
    b.all_met as met,
    case when b.all_scored > 0 then 1e0 * b.all_met / b.all_scored end as attainment
from by_band as b
join selected as s on s.run_id = b.run_id
join targets as g on 1 = 1
order by s.started_at, s.run, b.band_no
