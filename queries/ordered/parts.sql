-- The selection part by part, with what decides the order of its requests. A run that has no time has no request.
select s.scope, s.run_id, s.from_s, s.to_s, r.run, r.first_s, r.last_s, r.wall_offset_s
from selection as s
left join runs as r on r.run_id = s.run_id
order by s.scope, r.started_at, r.run, s.from_s
