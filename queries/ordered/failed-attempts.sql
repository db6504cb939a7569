-- The recorded failed attempts of a request. The last attempt, when it has no record, is in the request's own row.
select f.phase, f.prefill_iid, f.decode_iid
from attempt_failures as f
where f.terminal_id = :terminal_id
    and f.attributed = 1
order by f.attempt
