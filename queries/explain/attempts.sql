-- The engines of a request's failed attempts.
select f.prefill_iid, f.decode_iid
from attempt_failures as f
where f.terminal_id = :terminal_id
    and f.attributed = 1
order by f.position
