-- Faster: completed requests and the others are read apart, each by the index that has all this needs.
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
counted as (
    select run_id, bucket_no, sum(offered) as offered, sum(scored) as scored, sum(met) as met
    from (
        select s.run_id, cast((t.arrived - r.first_s) / g.bucket as integer) as bucket_no,
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
        where r.run_id = s.run_id
            and t.run_id = s.run_id
            and t.arrived >= s.from_s
            and t.arrived < s.to_s
            and t.terminal = 'completed'
        group by s.run_id, bucket_no
        union all
        select s.run_id, cast((t.arrived - r.first_s) / g.bucket as integer) as bucket_no,
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
        where r.run_id = s.run_id
            and t.run_id = s.run_id
            and t.arrived >= s.from_s
            and t.arrived < s.to_s
            and t.terminal <> 'completed'
        group by s.run_id, bucket_no
    )
    group by run_id, bucket_no
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
