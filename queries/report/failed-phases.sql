-- Where the last attempt of each failed request was when it failed; null without a record of one.
select s.scope,
    (
        select f.phase
        from attempt_failures as f
        where f.terminal_id = t.terminal_id
        order by f.position desc
        limit 1
    ) as phase,
    count(*) as requests
from selection as s
cross join terminals as t
where t.run_id = s.run_id
    and t.arrived >= s.from_s
    and t.arrived < s.to_s
    and t.terminal <> 'completed'
    and t.terminal = 'failed'
group by s.scope, 2
order by s.scope, 3 desc, 2
