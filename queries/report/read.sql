-- What was read: lines of all sources, and what of them was rejected or repaired, by reason, with the first place.
select e.kind, e.reason, count(*) as places, s.path, min(e.line_no) as line_no, count(distinct e.source_id) as sources
from rejects as e
join sources as s on s.source_id = e.source_id
group by e.kind, e.reason
order by e.kind, 3 desc, e.reason
