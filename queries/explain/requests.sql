-- The requests of a part in order, with all that their misses may go with. A prompt that was not sized has no length.
-- `marks` is made of bits: 1 retried, 2 with failed attempts, 4 known whether crossed, 8 crossed. A request that no
-- decode engine was chosen for neither crossed nor stayed, although the router writes false.
select t.arrived, t.rid, t.terminal, t.output_len, t.ttft_s, t.tpot_s, t.duration_s,
    case when coalesce(t.input_sized, 1) = 1 then t.input_len end as input_len,
    t.retried + 2 * (t.recorded_attempts > 0) + case when t.decode_iid is null then 0 else coalesce(4 + 8 * t.crossed, 0) end as marks,
    t.client_rid, t.prefill_iid, t.decode_iid, t.terminal_id
from terminals as t
where t.run_id = :run_id
    and t.arrived >= :from_s
    and t.arrived < :to_s
order by t.arrived, t.rid
