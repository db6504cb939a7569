-- When completed requests ended, in seconds from the run's zero.
select s.run_id, t.arrived + t.duration_s - r.first_s as rel_s
from selection as s
cross join runs as r
cross join terminals as t
where r.run_id = s.run_id
    and t.run_id = s.run_id
    and t.arrived >= s.from_s
    and t.arrived < s.to_s
    and t.terminal = 'completed'
    and t.duration_s is not null
