-- Faster: the index of requests that did not complete says which were cancelled, and the median is picked, not
-- sorted for.
select
    s.scope as scope,
    t.cancelled_phase as phase,
    count(*) as requests,
    count(t.first_byte_s) as with_output,
    sum(t.output_len) as output_tokens,
    nearest_rank(t.duration_s, 50) as duration_p50
from selection as s
cross join terminals as t indexed by terminals_not_completed
where t.run_id = s.run_id
    and t.arrived >= s.from_s
    and t.arrived < s.to_s
    and t.terminal = 'cancelled'
    and t.terminal <> 'completed'
group by s.scope, t.cancelled_phase
order by s.scope nulls first, t.cancelled_phase nulls first
