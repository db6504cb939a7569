-- The requests that failed last, by the time of their end.
select r.run, t.rid, t.client_rid, t.arrived + t.duration_s + r.wall_offset_s as wall,
    t.arrived + coalesce(t.duration_s, 0.0) - r.first_s as rel_s,
    t.error_type, t.error, t.prefill_iid, t.decode_iid, t.attempts
from selection as s
cross join runs as r
cross join terminals as t
where r.run_id = s.run_id
    and t.run_id = s.run_id
    and t.arrived >= s.from_s
    and t.arrived < s.to_s
    and t.terminal <> 'completed'
    and t.terminal = 'failed'
order by r.started_at desc nulls last, r.run desc, t.arrived + coalesce(t.duration_s, 0.0) desc, t.rid
limit 8
