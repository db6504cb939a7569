with
decided as (
    select s.scope, e."by" as decided_by, e.result, e.reason, e.at + r.wall_offset_s as wall
    from selection as s
    cross join runs as r
    cross join events as e
    where r.run_id = s.run_id
        and e.run_id = s.run_id
        and e.place_s >= s.from_s
        and e.place_s < s.to_s
        and e.event = 'controller_decision'
)
select
    d.scope as scope,
    d.decided_by as "by",
    d.result as result,
    d.reason as reason,
    count(*) as decisions,
    min(d.wall) as wall_from,
    max(d.wall) as wall_to
from decided as d
group by d.scope, d.decided_by, d.result, d.reason
order by d.scope nulls first, d.decided_by nulls first, d.result nulls first, d.reason nulls first;
