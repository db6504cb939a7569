-- Every content that was read.
select s.path, s.offset_bytes, s.lines, s.run_rows
from sources as s
order by s.source_id
