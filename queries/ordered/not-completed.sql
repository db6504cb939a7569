-- The other requests of one part of a scope by arrival, as far as their index goes: who did not complete has no other
-- measure that counts.
select t.arrived, t.terminal_id, t.terminal, t.output_len is not null as has_output,
    t.ttft_s, null as tpot_s, null as first_byte_s, null as decode_tpot_s, null as queue_wait_s, null as duration_s
from terminals as t
where t.run_id = :run_id
    and t.arrived >= :from_s
    and t.arrived < :to_s
    and t.terminal <> 'completed'
order by t.arrived
