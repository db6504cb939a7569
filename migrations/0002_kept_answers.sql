-- What the common questions would otherwise read every wide row for: two narrow indexes that hold the
-- figures themselves, and counts kept as the rows come.
--
-- Why these: over a million rows `latency` took 11 s, most of it sorting, and `engine-failures` 2 s.

-- For attainment, latency, engine-latency, handoff: all that they read of a completed request. After the
-- run comes the row's own number, not its arrival, so that a new row goes to the end of its run:
-- a third cheaper to keep.
create index terminals_completed on terminals (
    run_id, terminal_id, arrived, output_len, ttft_s, tpot_s, first_byte_s, decode_tpot_s,
    queue_wait_s, duration_s, prefill_iid, decode_iid
) where terminal = 'completed';

-- For refusals and attainment: the others, one in ten. In the order that rows come in: in the order that
-- refusals are grouped in, every batch would write all of it anew.
create index terminals_not_completed on terminals (
    run_id, terminal, arrived, output_len, ttft_s, refused_cause, reason, input_len
) where terminal <> 'completed';

-- For outcomes, refusals and runs.
create table terminal_counts (
    run_id integer not null references runs,
    terminal text not null,
    requests integer not null,
    primary key (run_id, terminal)
) strict, without rowid;

-- For engine-failures: the view `legs` counted. The row of leg `unattributed` has no engine, its
-- failures are the entries of attempt_failures that reached none.
create table leg_counts (
    run_id integer not null references runs,
    leg text not null check (leg in ('prefill', 'decode', 'unattributed')),
    engine text not null,
    attempts integer not null,
    failures integer not null,
    retried integer not null,               -- failed legs after which a retry was scheduled
    output_started integer not null,        -- failed legs after output had reached the client
    primary key (run_id, leg, engine)
) strict, without rowid;

-- For latency: how many completed requests of a run have a value of the metric from `low` to the next
-- bin's `low`. A bin is so narrow that few values share it with a percentile, and only they
-- need sorting. Values below 0 share one.
create table latency_bins (
    run_id integer not null references runs,
    metric text not null,                   -- the column of terminals
    low real not null,
    requests integer not null,
    primary key (run_id, metric, low)
) strict, without rowid;

-- For engine-latency: the same per engine, of ttft_s by prefill_iid, of tpot_s and decode_tpot_s by
-- decode_iid.
create table engine_latency_bins (
    run_id integer not null references runs,
    metric text not null,
    engine text not null,
    low real not null,
    requests integer not null,
    primary key (run_id, metric, engine, low)
) strict, without rowid;

-- The rows that an older release stored. The bins are counted by the program.
insert into terminal_counts
select run_id, terminal, count(*)
from terminals
group by run_id, terminal;

insert into leg_counts
select
    run_id, leg, engine, count(*), sum(failed),
    count(case when failed = 1 and retry_scheduled = 1 then 1 end),
    count(case when failed = 1 and output_started = 1 then 1 end)
from legs
group by run_id, leg, engine
union all
select run_id, 'unattributed', '', 0, count(*), 0, 0
from attempt_failures
where attributed = 0
group by run_id;
