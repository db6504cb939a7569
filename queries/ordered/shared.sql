-- How many requests two scopes, a and b, have in common.
select count(*)
from selection as a
cross join selection as b
cross join terminals as t
where a.scope = 'a'
    and b.scope = 'b'
    and b.run_id = a.run_id
    and b.from_s < a.to_s
    and a.from_s < b.to_s
    and t.run_id = a.run_id
    and t.arrived >= max(a.from_s, b.from_s)
    and t.arrived < min(a.to_s, b.to_s)
