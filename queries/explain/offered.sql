-- Of each scope: how many requests were offered, and how long its parts are together in wall time, as in `rates`.
with
parts as (
    select s.scope, r.run_id, r.wall_offset_s,
        case when s.from_s > r.first_s then s.from_s else r.first_s end as from_s,
        case when s.to_s < r.last_s then s.to_s else r.last_s end as to_s
    from selection as s
    join runs as r on r.run_id = s.run_id
),
-- All wall times are one axis (null); a run without them has an axis of its own.
laid as (
    select scope, to_s - from_s as length_s,
        case when wall_offset_s is null then run_id end as axis,
        from_s + coalesce(wall_offset_s, 0e0) as begin_s,
        to_s + coalesce(wall_offset_s, 0e0) as end_s
    from parts
    where from_s < to_s
),
followed as (
    select scope, length_s, begin_s, end_s,
        max(end_s) over (
            partition by scope, axis
            order by begin_s, end_s
            rows between unbounded preceding and 1 preceding
        ) as covered_to
    from laid
),
covered as (
    select scope,
        sum(case
            when covered_to is null or covered_to <= begin_s then length_s
            when covered_to < end_s then end_s - covered_to
            else 0e0
        end) as span_s
    from followed
    group by scope
),
arrivals as (
    select s.scope, count(*) as offered
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.scope
)
select a.scope, a.offered, c.span_s
from arrivals as a
left join covered as c on c.scope = a.scope
order by a.scope
