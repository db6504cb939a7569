-- refusals: why requests were refused
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
--   cause | text | what the request was refused for
--   reason | text | the finer label; null before 0.6
--   requests | count | refused requests
--   share_of_refused | ratio | of the run's refused requests
--   share_of_offered | ratio | of all the run's requests
--   input_len_p50 | tokens | median prompt length, nearest rank
--
-- Reading it
--   A run that refused nothing has no row.
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
-- counted now. A `cross join` keeps to the order of its tables: a run's rows stay together, and no
-- group needs sorting.
offered as (
    select c.run_id, sum(c.requests) as offered_of_run
    from given as g
    cross join terminal_counts as c
    where g.is_whole = 1
    group by c.run_id
    union all
    select r.run_id, count(*)
    from runs as r
    cross join given as g
    cross join terminals as t
    where g.is_whole = 0
        and (g.run is null or g.run = r.run)
        and t.run_id = r.run_id
        and t.arrived - r.first_s >= g.from_s
        and (g.to_s is null or t.arrived - r.first_s < g.to_s)
        and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
    group by r.run_id
),
-- The index of rows that are not completed has all that this reads; saying so makes SQLite see it.
refused as (
    select r.run_id, t.refused_cause, t.reason, t.input_len
    from runs as r
    cross join given as g
    cross join terminals as t
    where (g.run is null or g.run = r.run)
        and t.run_id = r.run_id
        and t.terminal = 'refused'
        and t.terminal <> 'completed'
        and (
            g.is_whole = 1
            or t.arrived - r.first_s >= g.from_s
            and (g.to_s is null or t.arrived - r.first_s < g.to_s)
            and (g.last_s is null or t.arrived - r.first_s >= r.last_s - r.first_s - g.last_s)
        )
),
-- Few lengths are many requests: the ones counted, there is less to rank.
lengths as (
    select run_id, refused_cause, reason, input_len, count(*) as requests, count(input_len) as known
    from refused
    group by run_id, refused_cause, reason, input_len
),
ranked as (
    select run_id, refused_cause, reason, input_len, requests,
        sum(known) over (partition by run_id, refused_cause, reason order by input_len) as upto,
        sum(known) over (partition by run_id, refused_cause, reason) as n
    from lengths
),
by_cause as (
    select run_id, refused_cause, reason, sum(requests) as refused,
        min(input_len) filter (where input_len is not null and 100 * upto >= 50 * n) as input_len_p50
    from ranked
    group by run_id, refused_cause, reason
),
by_run as (
    select run_id, sum(refused) as refused_of_run
    from by_cause
    group by run_id
)
select
    r.run as run,
    b.refused_cause as cause,
    b.reason as reason,
    b.refused as requests,
    1e0 * b.refused / a.refused_of_run as share_of_refused,
    1e0 * b.refused / o.offered_of_run as share_of_offered,
    b.input_len_p50 as input_len_p50
from by_cause as b
join by_run as a on a.run_id = b.run_id
join offered as o on o.run_id = b.run_id
join runs as r on r.run_id = b.run_id
order by r.started_at, r.run, b.refused_cause, b.reason
