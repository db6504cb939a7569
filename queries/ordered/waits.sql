-- The values of `queue-waits` of one part of a run, by arrival.
select t.arrived, t.queue_wait_admission_s, t.queue_wait_prefill_s, t.queue_wait_decode_s, t.queue_wait_s
from terminals as t
where t.run_id = :run_id
    and t.arrived >= :from_s
    and t.arrived < :to_s
order by t.arrived
