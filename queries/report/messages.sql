-- What failed attempts said, with the request that each belongs to.
select f.error_message, f.error_type, f.phase, f.retry_scheduled, t.rid
from selection as s
cross join runs as r
cross join terminals as t
cross join attempt_failures as f
where r.run_id = s.run_id
    and t.run_id = s.run_id
    and t.arrived >= s.from_s
    and t.arrived < s.to_s
    and t.attempt_failures > 0
    and f.terminal_id = t.terminal_id
