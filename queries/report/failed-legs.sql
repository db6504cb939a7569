-- When legs failed: of the failed attempts of the requests of the selection those that reached the engine they failed on.
select r.run, f.phase as leg, f.at - r.first_s as rel_s
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
    and f.attributed = 1
    and (
        f.phase = 'prefill' and f.prefill_iid is not null
        or f.phase = 'decode' and f.decode_iid is not null
    )
