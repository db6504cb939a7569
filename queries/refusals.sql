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
    select s.run_id, t.terminal, t.refused_cause, t.reason, t.input_len
    from selected as s
    join terminals as t on t.run_id = s.run_id
    where t.arrived - s.first_s >= coalesce(:from, 0)
        and (:to is null or t.arrived - s.first_s < :to)
        and (:last is null or t.arrived - s.first_s >= s.span_s - :last)
),
offered as (
    select run_id, count(*) as offered, count(case when terminal = 'refused' then 1 end) as refused
    from asked
    group by run_id
),
ranked as (
    select run_id, refused_cause, reason, input_len,
        row_number() over (
            partition by run_id, refused_cause, reason, case when input_len is null then 1 else 0 end
            order by input_len
        ) as k,
        count(input_len) over (partition by run_id, refused_cause, reason) as n
    from asked
    where terminal = 'refused'
),
by_cause as (
    select run_id, refused_cause, reason, count(*) as requests,
        min(input_len) filter (where input_len is not null and 100 * k >= 50 * n) as input_len_p50
    from ranked
    group by run_id, refused_cause, reason
)
select
    s.run as run,
    b.refused_cause as cause,
    b.reason as reason,
    b.requests as requests,
    1e0 * b.requests / o.refused as share_of_refused,
    1e0 * b.requests / o.offered as share_of_offered,
    b.input_len_p50 as input_len_p50
from by_cause as b
join offered as o on o.run_id = b.run_id
join selected as s on s.run_id = b.run_id
order by s.started_at, s.run, b.refused_cause, b.reason
