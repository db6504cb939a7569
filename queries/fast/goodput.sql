-- Faster: completed requests and the others are read apart, each by the index that has all this needs.
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
counted as (
    select scope, run_id, bucket_no, sum(offered) as offered, sum(scored) as scored, sum(met) as met
    from (
        select s.scope, s.run_id, cast((t.arrived - r.first_s) / g.bucket as integer) as bucket_no,
            count(*) as offered, count(*) as scored,
            count(case
                when t.ttft_s <= g.ttft and (t.tpot_s is null or t.tpot_s <= g.tpot)
                    and (t.output_len is not null or g.policy = 'router')
                then 1
            end) as met
        from selection as s
        cross join given as g
        cross join runs as r
        cross join terminals as t indexed by terminals_completed
        where g.ttft is not null
            and g.tpot is not null
            and r.run_id = s.run_id
            and t.run_id = s.run_id
            and t.arrived >= s.from_s
            and t.arrived < s.to_s
            and t.terminal = 'completed'
        group by s.scope, s.run_id, bucket_no
        union all
        select s.scope, s.run_id, cast((t.arrived - r.first_s) / g.bucket as integer) as bucket_no,
            count(*) as offered,
            sum(case g.policy
                when 'offers' then 1
                when 'router' then t.terminal not in ('cancelled', 'rejected', 'invalid')
                else t.terminal in ('invalid', 'rejected', 'expired', 'failed')
                    or t.output_len is null
                    or t.ttft_s is null
            end) as scored,
            0 as met
        from selection as s
        cross join given as g
        cross join runs as r
        cross join terminals as t indexed by terminals_not_completed
        where g.ttft is not null
            and g.tpot is not null
            and r.run_id = s.run_id
            and t.run_id = s.run_id
            and t.arrived >= s.from_s
            and t.arrived < s.to_s
            and t.terminal <> 'completed'
        group by s.scope, s.run_id, bucket_no
    )
    group by scope, run_id, bucket_no
),
-- Parts of a run that follow on each other are one.
followed as (
    select scope, run_id, from_s, to_s,
        max(to_s) over (
            partition by scope, run_id
            order by from_s
            rows between unbounded preceding and 1 preceding
        ) as selected_to
    from selection
),
numbered as (
    select scope, run_id, from_s, to_s,
        sum(case when from_s <= selected_to then 0 else 1 end) over (
            partition by scope, run_id
            order by from_s
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
    select c.scope, c.run_id, c.bucket_no
    from counted as c
    join given as g on 1 = 1
    join runs as r on r.run_id = c.run_id
    join parts as p on p.scope = c.scope and p.run_id = c.run_id
    where r.first_s + c.bucket_no * g.bucket >= p.begin_s
        and r.first_s + (c.bucket_no + 1) * g.bucket <= p.end_s
    union
    select c.scope, c.run_id, c.bucket_no
    from counted as c
    join given as g on 1 = 1
    join runs as r on r.run_id = c.run_id
    where c.bucket_no + 1 > (r.last_s - r.first_s) / g.bucket
),
rated as (
    select c.scope, c.scored, c.met, c.offered / g.bucket / g.band as place
    from counted as c
    join whole as w on w.scope = c.scope and w.run_id = c.run_id and w.bucket_no = c.bucket_no
    join given as g on 1 = 1
),
banded as (
    select scope, scored, met,
        cast(place as integer) as band_no
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
