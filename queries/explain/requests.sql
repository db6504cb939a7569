-- The requests of a part in order, with all that their misses may go with. A prompt that was not sized has no length.
select t.arrived, t.rid, t.terminal, t.output_len, t.ttft_s, t.tpot_s, t.duration_s,
    case when coalesce(t.input_sized, 1) = 1 then t.input_len end as input_len,
    t.retried, t.crossed, t.client_rid, t.prefill_iid, t.decode_iid, t.terminal_id, t.recorded_attempts
from terminals as t
where t.run_id = :run_id
    and t.arrived >= :from_s
    and t.arrived < :to_s
order by t.arrived, t.rid
