-- The views over attempts name each of their columns; engine-failures of a part of a run has an index.
--
-- Why: SQLite and DuckDB name a column `t.rid` of a view `rid`, ClickHouse does not do so in every place. And a minute's
-- legs were counted by reading the wide rows twice: over a million of them 1.6 s.

-- For engine-failures: completed requests whose last attempt was not a prefill leg and a decode leg on the engines that
-- the row names. Nearly none, so all the others are counted by `terminals_completed`.
create index terminals_without_last_legs on terminals (run_id, arrived)
where terminal = 'completed'
    and coalesce(attempts >= 1 and last_recorded = 0 and decode_attempts > recorded_decode_legs, 0) = 0;

drop view legs;
drop view attempts;

-- One row per attempt whose engines are known: the failed ones by their record, and the last one,
-- when it has none, by the terminal itself.
create view attempts as
select
    r.run as run,
    t.rid as rid,
    f.terminal_id as terminal_id,
    t.run_id as run_id,
    t.arrived as arrived,
    f.attempt as attempt,
    1 as failed,
    f.phase as phase,
    f.prefill_iid as prefill_iid,
    f.decode_iid as decode_iid,
    f.retry_scheduled as retry_scheduled,
    f.output_started as output_started
from attempt_failures as f
join terminals as t on t.terminal_id = f.terminal_id
join runs as r on r.run_id = t.run_id
where f.attributed = 1
union all
select
    r.run as run,
    t.rid as rid,
    t.terminal_id as terminal_id,
    t.run_id as run_id,
    t.arrived as arrived,
    t.attempts as attempt,
    0 as failed,
    null as phase,
    t.prefill_iid as prefill_iid,
    case when t.decode_attempts > t.recorded_decode_legs then t.decode_iid end as decode_iid,
    null as retry_scheduled,
    null as output_started
from terminals as t
join runs as r on r.run_id = t.run_id
where t.attempts >= 1 and t.last_recorded = 0;

-- What engines were asked to do: one row per prefill leg and per decode leg.
create view legs as
select
    a.run as run,
    a.rid as rid,
    a.terminal_id as terminal_id,
    a.run_id as run_id,
    a.arrived as arrived,
    a.attempt as attempt,
    'prefill' as leg,
    a.prefill_iid as engine,
    case when a.failed = 1 and a.phase = 'prefill' then 1 else 0 end as failed,
    a.retry_scheduled as retry_scheduled,
    a.output_started as output_started
from attempts as a
where a.prefill_iid is not null
union all
select
    a.run as run,
    a.rid as rid,
    a.terminal_id as terminal_id,
    a.run_id as run_id,
    a.arrived as arrived,
    a.attempt as attempt,
    'decode' as leg,
    a.decode_iid as engine,
    a.failed as failed,
    a.retry_scheduled as retry_scheduled,
    a.output_started as output_started
from attempts as a
where a.decode_iid is not null and (a.failed = 0 or a.phase = 'decode');
