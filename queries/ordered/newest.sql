-- When the newest row of each part of the selection was written, monotonic, and what makes wall time of it. A run that
-- is taken in up to its end has that in its own row.
select s.scope, r.wall_offset_s,
    case
        when s.from_s < r.first_s and s.to_s > r.last_s then r.last_s
        else max(
            coalesce((
                select max(t.arrived + coalesce(t.duration_s, 0.0))
                from terminals as t
                where t.run_id = s.run_id
                    and t.arrived >= s.from_s
                    and t.arrived < s.to_s
            ), -1e308),
            coalesce((
                select max(e.place_s)
                from events as e
                where e.run_id = s.run_id
                    and e.place_s >= s.from_s
                    and e.place_s < s.to_s
            ), -1e308)
        )
    end as written_s
from selection as s
join runs as r on r.run_id = s.run_id
where r.last_s is not null
