-- The requests of one part of a scope in order, as far as the figures of a report are made of them.
select t.arrived, t.rid,
    t.terminal_id, t.attempt_failures, t.attempts, t.last_recorded, t.prefill_iid,
    case when t.decode_attempts > t.recorded_decode_legs then t.decode_iid end as last_decode_iid,
    t.terminal, t.output_len is not null as has_output, t.decode_iid, t.crossed,
    t.ttft_s, t.tpot_s, t.first_byte_s, t.decode_tpot_s, t.queue_wait_s, t.duration_s,
    t.queue_wait_admission_s, t.queue_wait_prefill_s, t.queue_wait_decode_s,
    t.input_len, t.input_sized, t.price_s
from terminals as t
where t.run_id = :run_id
    and t.arrived >= :from_s
    and t.arrived < :to_s
order by t.arrived, t.rid
