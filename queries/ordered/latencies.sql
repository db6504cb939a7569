-- The values of `latency` of one part of a run, by arrival.
select t.arrived, t.ttft_s, t.tpot_s, t.first_byte_s, t.decode_tpot_s, t.queue_wait_s, t.duration_s
from terminals as t indexed by terminals_completed
where t.run_id = :run_id
    and t.arrived >= :from_s
    and t.arrived < :to_s
    and t.terminal = 'completed'
order by t.arrived
