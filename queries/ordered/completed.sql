-- The completed requests of one part of a scope by arrival, as far as their index goes. Those that arrived at once are
-- put in order by their rid afterwards.
select t.arrived, t.terminal_id, 'completed' as terminal, t.output_len is not null as has_output,
    t.ttft_s, t.tpot_s, t.first_byte_s, t.decode_tpot_s, t.queue_wait_s, t.duration_s
from terminals as t
where t.run_id = :run_id
    and t.arrived >= :from_s
    and t.arrived < :to_s
    and t.terminal = 'completed'
order by t.arrived
