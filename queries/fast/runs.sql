-- Faster: terminals are counted already, as the rows came, and are read only for a run without a build.
with
chosen as (
    select distinct run_id
    from selection
),
ended as (
    select run_id, sum(requests) as terminals
    from terminal_counts
    group by run_id
),
agreed as (
    select r.run_id,
        case when min(t.token_accounting) = max(t.token_accounting) then min(t.token_accounting) end
            as token_accounting
    from runs as r
    left join builds as b on b.build_id = r.build_id
    cross join terminals as t
    where b.token_accounting is null
        and r.run_id in (select run_id from chosen)
        and t.run_id = r.run_id
    group by r.run_id
)
select
    r.run as run,
    r.started_at as started_at,
    b.version as version,
    b.git as git,
    b.source as source,
    coalesce(b.token_accounting, a.token_accounting) as token_accounting,
    b.admission_mode as admission_mode,
    r.build_certainty as build_certainty,
    f.path as path,
    coalesce(t.terminals, 0) as terminals,
    (select count(*) from events as e where e.run_id = r.run_id) as events,
    r.first_s as first_s,
    r.last_s as last_s,
    r.last_s - r.first_s as span_s,
    r.first_s + r.wall_offset_s as wall_from,
    r.last_s + r.wall_offset_s as wall_to,
    r.wall_error_s as wall_error_s,
    r.wall_basis as wall_basis
from chosen as c
join runs as r on r.run_id = c.run_id
left join builds as b on b.build_id = r.build_id
left join sources as f on f.source_id = r.source_id
left join ended as t on t.run_id = c.run_id
left join agreed as a on a.run_id = c.run_id
order by r.started_at nulls first, r.run nulls first
