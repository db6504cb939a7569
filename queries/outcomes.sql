-- outcomes: how requests ended
-- group: outcomes and failures
--
-- Parameters
--   run | run | every run | a run id, or `last`: the run that started last
--   from | seconds | 0 | only requests that arrived this long after the run's zero, or later
--   to | seconds | no limit | only requests that arrived earlier than this
--   last | seconds | no limit | only requests that arrived in so many seconds before the run's end
--
-- Columns
--   run | text | run id
--   terminal | text | how the requests ended
--   requests | count | how many
--   share | ratio | of the run's requests
--
-- Reading it
--   A terminal that no request had has no row.
with
-- One row; `limit 1` makes SQLite work it out once, not for each request.
given as (
    select
        case when :run = 'last' then newest.run else :run end as run,
        case when :from is null and :to is null and :last is null then 1 else 0 end as is_whole,
        coalesce(:from, 0) as from_s,
        :to as to_s,
        :last as last_s
    from (select 1 as one) as always
    left join (select run from runs order by started_at desc, run desc limit 1) as newest on 1 = 1
    limit 1
),
-- Of whole runs the requests are counted already, as the rows came; of a part of them they are
-- counted now.
by_terminal as (
    select c.run_id, c.terminal, c.requests
    from given as g
    cross join runs as r
    cross join terminal_counts as c
    where g.is_whole = 1
        and (g.run is null or g.run = r.run)
        and c.run_id = r.run_id
    union all
    select r.run_id, t.terminal, count(*)
    from given as g
    cross join runs as r
    cross join terminals as t
    where g.is_whole = 0
        and (g.run is null or g.run = r.run)
        and t.run_id = r.run_id
        and t.arrived - r.first_s >= g.from_s
        and (g.to_s is null or t.arrived - r.first_s < g.to_s)
        and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
    group by r.run_id, t.terminal
),
offered as (
    select run_id, sum(requests) as offered
    from by_terminal
    group by run_id
)
select
    r.run as run,
    b.terminal as terminal,
    b.requests as requests,
    1e0 * b.requests / o.offered as share
from by_terminal as b
join offered as o on o.run_id = b.run_id
join runs as r on r.run_id = b.run_id
order by r.started_at, r.run, b.terminal
