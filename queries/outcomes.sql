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
chosen as (
    select case when :run = 'last' then newest.run else :run end as run
    from (select 1 as one) as always
    left join (select run from runs order by started_at desc, run desc limit 1) as newest on 1 = 1
),
selected as (
    select r.run_id, r.run, r.started_at, r.first_s, r.last_s - r.first_s as span_s
    from runs as r
    join chosen as c on c.run is null or c.run = r.run
),
asked as (
    select s.run_id, t.terminal
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
offered as (
    select run_id, count(*) as offered
    from asked
    group by run_id
),
by_terminal as (
    select run_id, terminal, count(*) as requests
    from asked
    group by run_id, terminal
)
select
    s.run as run,
    b.terminal as terminal,
    b.requests as requests,
    1e0 * b.requests / o.offered as share
from by_terminal as b
join offered as o on o.run_id = b.run_id
join selected as s on s.run_id = b.run_id
order by s.started_at, s.run, b.terminal
