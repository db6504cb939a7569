-- The id of a request.
select t.rid
from terminals as t
where t.terminal_id = :terminal_id
