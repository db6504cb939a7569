-- The client ids of a part, in any order.
select t.client_rid
from terminals as t
where t.run_id = :run_id
    and t.arrived >= :from_s
    and t.arrived < :to_s
    and t.client_rid is not null
