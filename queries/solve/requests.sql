-- The requests of a part in order, with what decides whether they are counted and meet targets.
select t.arrived, t.rid, t.terminal, t.output_len, t.ttft_s, t.tpot_s
from terminals as t
where t.run_id = :run_id
    and t.arrived >= :from_s
    and t.arrived < :to_s
order by t.arrived, t.rid
