"""Compare narwhal-jq with DuckDB and with a plain Python script: same journal, same tables, same answers.

    python3 benches/compare.py --binary target/release/narwhal-jq --rounds 5 JOURNAL

Load: CPU (user + system, all threads of the process), wall time, peak memory and size on disk of

- narwhal-jq: `ingest`, into an empty database;
- DuckDB: `read_json` with explicit types, the file read once, into an empty database file;
- Python: `json.loads` and `executemany`, into an empty SQLite file with the same unique key.

All three fill `terminals`, `attempt_failures` and `events`; different row counts end the program.
Only narwhal-jq also keeps unknown fields, build rows, the place of each row in the file and what it
could not read, and only DuckDB checks no uniqueness: a journal with torn lines or rows that stand
in it twice ends the program, too.

Queries: CPU and wall time of canned queries over all runs and over a window of one, in narwhal-jq and as SQL
written for DuckDB, each in a process of its own. The answers are compared cell by cell, floats to a relative
1e-9; a difference ends the program. Then the same queries by all, by minute and by a part of each run, in
narwhal-jq alone: what a selection costs beside the whole, when that is scanned, too. DuckDB is its command line program (PyPI
`duckdb-cli`), which starts in some 10 ms.

The tools take turns, and each figure is the median of the rounds. Ratios are narwhal-jq's figure by the
other's: below 1, narwhal-jq needs less. A peak below that of this script itself, some 20 MB, cannot be seen. `--keep
DIR` leaves the databases in DIR. Without `duckdb` its figures are left out.
"""

import argparse
import csv
import io
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from pathlib import Path
from statistics import median

Column = namedtuple("Column", "field part name type")


def columns(spec):
    """Reads `field[.part][=name]:type`, the journal's field and the table's column."""
    for word in spec.split():
        path, kind = word.split(":")
        path, _, name = path.partition("=")
        field, _, part = path.partition(".")
        yield Column(field, part, name or part or field, kind)


TERMINAL = list(columns("""
    run:text rid:text client_rid:text arrived:real input_len:int input_sized:flag wanted_len:int
    output_len:int ttft_s:real tpot_s:real first_byte_s:real decode_tpot_s:real queue_wait_s:real
    duration_s:real attempts:int decode_attempts:int decode_tokens_observed:int prefill_iid:text
    decode_iid:text crossed:flag token_accounting:text error:text status:int error_type:text
    error_code:text reason:text terminal:text cancelled:flag cancelled_phase:text refused:flag
    refused_cause:text rejected:flag expired:flag readiness_reason:text
    cached_tokens:json continuation:json
    queue_waits.admission=queue_wait_admission_s:real queue_waits.prefill=queue_wait_prefill_s:real
    queue_waits.decode=queue_wait_decode_s:real
    admission_price.attempt=price_attempt:int admission_price.backlog_s=price_backlog_s:real
    admission_price.own_prefill_s=price_own_prefill_s:real
    admission_price.elapsed_s=price_elapsed_s:real admission_price.handoff_s=price_handoff_s:real
    admission_price.price_s:real
    upstream_seconds.prefill=upstream_prefill_s:real upstream_seconds.decode=upstream_decode_s:real
    cache_placement.placed_iid:text cache_placement.placed_cached_tokens:int
    cache_placement.evidence_sequence:int cache_placement.predicted_prefill_s:real
    cache_placement.cold_prefill_s:real cache_placement.cold_choice_iid:text
"""))
FAILURE = list(columns("""
    at:real attempt:int phase:text reason:text prefill_iid:text decode_iid:text error_type:text
    error_message:text status:int transient:flag output_started:flag retry_scheduled:flag
    backoff_s:real retry_reason:text
"""))
EVENT = list(columns("""
    run:text event:text at:real iid:text action:text applied:flag by:text cause:text class:text
    consecutive:int core_consecutive:int decode:int duration_s:real ejected:json engines:json
    error:text evidence:text held_s:real kind:text live_decode:int live_prefill:int min_decode:int
    min_prefill:int outcome:text prefill:int quarantined:json reason:text result:text stage:text
    wave_id:text
"""))
TABLES = ("terminals", "attempt_failures", "events")


# DuckDB, load

DUCKDB_TYPES = {"text": "VARCHAR", "real": "DOUBLE", "int": "BIGINT", "flag": "BOOLEAN", "json": "JSON"}


def struct_type(parts):
    return "STRUCT(" + ", ".join(f'"{name}" {DUCKDB_TYPES[kind]}' for name, kind in parts) + ")"


def duckdb_types():
    """The type of every top-level field of the journal that is read."""
    types, nested = {}, {}
    for column in TERMINAL + EVENT:
        if column.part:
            nested.setdefault(column.field, []).append((column.part, column.type))
        else:
            types[column.field] = DUCKDB_TYPES[column.type]
    types |= {field: struct_type(parts) for field, parts in nested.items()}
    types["attempt_failures"] = struct_type((c.name, c.type) for c in FAILURE) + "[]"
    return types


def duckdb_load(journal):
    """The statements of the load.

    Reads once into the wide table, moves failures and events to theirs, drops what is left over. In CPU and
    memory that beats a staging table and reading the file once per table.
    """
    cells = ", ".join(f'"{c.field}"' + (f'."{c.part}"' if c.part else "") + f' as "{c.name}"' for c in TERMINAL)
    event = ", ".join(f'"{c.name}" := "{c.name}"' for c in EVENT)
    # The dict prints as a struct literal of DuckDB.
    return f"""
        set preserve_insertion_order = false;
        create table terminals as
        select {cells}, len(attempt_failures) as attempt_failures, attempt_failures as failures,
            case when event is not null then struct_pack({event}) end as event_row
        from read_json('{journal}', format = 'newline_delimited', columns = {duckdb_types()})
        where rid is not null or event is not null;
        create table attempt_failures as
        select run, rid, generate_subscripts(failures, 1) - 1 as position, unnest(failures, recursive := true)
        from terminals where attempt_failures > 0;
        create table events as select unnest(event_row) from terminals where event_row is not null;
        delete from terminals where event_row is not null;
        alter table terminals drop column failures;
        alter table terminals drop column event_row;
    """


# Python, load

SQLITE_TYPES = {"text": "text", "real": "real", "int": "integer", "flag": "integer", "json": "text"}
BATCH = 10_000


class Table:
    """A table that is filled in batches."""

    def __init__(self, db, name, keys, spec, constraint):
        names = [*(f"{key} integer" for key in keys), *(f'"{c.name}" {SQLITE_TYPES[c.type]}' for c in spec)]
        db.execute(f"create table {name} ({', '.join(names)}{constraint})")
        self.insert = f"insert into {name} values ({', '.join('?' * len(names))})"
        self.db, self.rows = db, []
        self.flat = [c.field for c in spec if not c.part]
        self.json = [len(keys) + i for i, c in enumerate(spec) if c.type == "json"]
        self.nested = {}
        for column in spec:
            if column.part:
                self.nested.setdefault(column.field, []).append(column.part)

    def add(self, keys, row):
        """The row's cells, after those of the keys. Nested fields come last, as in the specs."""
        cells = [*keys, *map(row.get, self.flat)]
        for i in self.json:
            if cells[i] is not None:
                cells[i] = json.dumps(cells[i])
        for field, parts in self.nested.items():
            cells += map((row.get(field) or {}).get, parts)
        self.rows.append(cells)
        if len(self.rows) >= BATCH:
            self.flush()

    def flush(self):
        self.db.executemany(self.insert, self.rows)
        self.rows.clear()


def python_load(journal, database):
    db = sqlite3.connect(database)
    terminals = Table(db, "terminals", ["terminal_id", "attempt_failures"], TERMINAL,
                      ", primary key (terminal_id), unique (run, arrived, rid)")
    failures = Table(db, "attempt_failures", ["terminal_id", "position"], FAILURE,
                     ", primary key (terminal_id, position)")
    events = Table(db, "events", [], EVENT, "")
    terminal_id = 0
    with open(journal, encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if "event" in row:
                events.add([], row)
            elif "rid" in row:
                terminal_id += 1
                entries = row.get("attempt_failures") or []
                terminals.add([terminal_id, len(entries)], row)
                for position, entry in enumerate(entries):
                    failures.add([terminal_id, position], entry)
    for table in (terminals, failures, events):
        table.flush()
    db.commit()
    db.close()


# DuckDB, queries; {rows} is the part of the terminals that is asked about

LATENCIES = ("ttft_s", "tpot_s", "first_byte_s", "decode_tpot_s", "queue_wait_s", "duration_s")


def measured(metric, quantiles, column=None):
    """One struct per metric, so that a single pass over the rows serves every metric."""
    column = column or metric
    return f"""struct_pack(metric := '{metric}', n := count({column}), mean := avg({column}),
        q := quantile_disc({column}, {quantiles}), max := max({column}))"""


ATTAINMENT = """
    with counted as (
        select run, count(*) as offered,
            count(*) filter (where terminal in ('completed', 'invalid', 'rejected', 'expired', 'failed')
                or output_len is null or ttft_s is null) as scored,
            count(*) filter (where terminal = 'completed' and output_len is not null and ttft_s <= 2e0
                and (tpot_s is null or tpot_s <= 1e-1)) as met
        from {rows} group by run
    )
    select run as scope, 'journal' as policy, 2e0 as ttft, 1e-1 as tpot, offered, scored, met,
        case when scored > 0 then met / scored end as attainment, offered - scored as excluded
    from counted order by scope
"""
OUTCOMES = """
    select run as scope, terminal, count(*) as requests, count(*) / sum(count(*)) over (partition by run) as share
    from {rows} group by run, terminal order by scope, terminal
"""
REFUSALS = """
    with offered as (
        select run, count(*) as offered, count(*) filter (where terminal = 'refused') as refused
        from {rows} group by run
    ),
    causes as (
        select run, refused_cause as cause, reason, count(*) as requests,
            quantile_disc(input_len, 0.5) as input_len_p50
        from {rows} where terminal = 'refused' group by all
    )
    select run as scope, cause, reason, requests, requests / refused as share_of_refused,
        requests / offered as share_of_offered, input_len_p50
    from causes join offered using (run)
    order by scope, cause nulls first, reason nulls first
"""
ENGINE_FAILURES = """
    with failing as (
        select run, rid, attempts, decode_attempts, prefill_iid, decode_iid
        from {rows} where attempt_failures > 0
    ),
    entries as (
        select f.*, attempt = attempts as is_last,
            attempt between 1 and attempts and retry_reason is distinct from 'not_dispatched' as dispatched
        from attempt_failures as f join failing as t using (run, rid)
    ),
    judged as (
        select *, dispatched and row_number() over (
            partition by run, rid, attempt, dispatched order by position) = 1 as attributed
        from entries
    ),
    recorded as (
        select run, rid, count(*) filter (where phase = 'decode' and decode_iid is not null) as decode_legs,
            bool_or(is_last) as has_last
        from judged where attributed group by run, rid
    ),
    last_attempts as (
        select run, prefill_iid, decode_iid, decode_attempts > 0 as decoded, count(*) as n
        from {rows} where attempts >= 1 and coalesce(attempt_failures, 0) = 0 group by all
        union all
        select run, prefill_iid, decode_iid, decode_attempts > coalesce(decode_legs, 0), count(*)
        from failing left join recorded using (run, rid)
        where attempts >= 1 and has_last is not true group by all
    ),
    legs as (
        select run, prefill_iid as engine, 'prefill' as leg, n, 0 as failures, 0 as retried, 0 as output_started
        from last_attempts
        union all
        select run, decode_iid, 'decode', n, 0, 0, 0
        from last_attempts where decoded
        union all
        select run, prefill_iid, 'prefill', count(*), count(*) filter (where phase = 'prefill'),
            count(*) filter (where phase = 'prefill' and retry_scheduled),
            count(*) filter (where phase = 'prefill' and output_started)
        from judged where attributed group by all
        union all
        select run, decode_iid, 'decode', count(*), count(*), count(*) filter (where retry_scheduled),
            count(*) filter (where output_started)
        from judged where attributed and phase = 'decode' group by all
    )
    select run as scope, engine, leg, sum(n) as attempts, sum(failures) as failures,
        sum(failures) / sum(n) as failure_rate, sum(retried) as retried, sum(output_started) as output_started
    from legs where engine is not null group by run, engine, leg
    union all
    select run, null, null, null, count(*), null, null, null
    from judged where attributed is not true group by run
    order by scope, engine nulls first, leg
"""
LATENCY = f"""
    with measured as (
        select run, unnest([{", ".join(measured(m, [0.5, 0.9, 0.95, 0.99]) for m in LATENCIES)}], recursive := true)
        from {{rows}} where terminal = 'completed' group by run
    ),
    metrics as (select unnest({list(LATENCIES)}) as metric, generate_subscripts({list(LATENCIES)}, 1) as metric_no)
    select run as scope, metric, n, 0 as unserved, mean, q[1] as p50, q[2] as p90, q[3] as p95, q[4] as p99, max
    from measured join metrics using (metric)
    order by scope, metric_no
"""
ENGINE_LATENCY = f"""
    with measured as (
        select run, prefill_iid as engine, unnest([{measured("ttft_s", [0.5, 0.9, 0.99])}], recursive := true)
        from {{rows}} where terminal = 'completed' group by run, prefill_iid
        union all
        select run, decode_iid, unnest([{measured("tpot_s", [0.5, 0.9, 0.99])},
            {measured("decode_tpot_s", [0.5, 0.9, 0.99])}], recursive := true)
        from {{rows}} where terminal = 'completed' group by run, decode_iid
    )
    select run as scope, metric, engine, n, q[1] as p50, q[2] as p90, q[3] as p99, max
    from measured where engine is not null and n > 0
    order by scope, metric, engine
"""
STAGES = ("admission", "prefill", "decode", "total")
QUEUE_WAITS = f"""
    with measured as (
        select run, unnest([{", ".join(
            measured(stage, [0.5, 0.9, 0.99], "queue_wait_s" if stage == "total" else f"queue_wait_{stage}_s")
            for stage in STAGES)}], recursive := true)
        from {{rows}} group by run
    ),
    stages as (select unnest({list(STAGES)}) as metric, generate_subscripts({list(STAGES)}, 1) as stage_no)
    select run as scope, metric as stage, n, q[1] as p50, q[2] as p90, q[3] as p99, max
    from measured join stages using (metric) where n > 0 or metric = 'total'
    order by scope, stage_no
"""
HANDOFF = """
    select run as scope, case when crossed then 'crossed' when not crossed then 'local' end as kind, count(*) as n,
        quantile_disc(first_byte_s - ttft_s, 0.5) as p50, quantile_disc(first_byte_s - ttft_s, 0.9) as p90,
        quantile_disc(first_byte_s - ttft_s, 0.99) as p99, max(first_byte_s - ttft_s) as max
    from {rows} where first_byte_s >= ttft_s and crossed is not null group by run, kind order by scope, kind
"""
ADMISSION_PRICE = """
    select run as scope, terminal as outcome, count(*) as n, quantile_disc(price_s, 0.5) as price_p50,
        quantile_disc(ttft_s, 0.5) as ttft_p50, quantile_disc(price_s - ttft_s, 0.5) as error_p50,
        quantile_disc(price_s - ttft_s, 0.9) as error_p90
    from {rows} where price_s is not null group by run, terminal order by scope, outcome
"""
QUERIES = {
    ("attainment", "--ttft", "2", "--tpot", "0.1"): ATTAINMENT,
    ("outcomes",): OUTCOMES,
    ("refusals",): REFUSALS,
    ("engine-failures",): ENGINE_FAILURES,
    ("latency",): LATENCY,
    ("engine-latency",): ENGINE_LATENCY,
    ("queue-waits",): QUEUE_WAITS,
    ("handoff",): HANDOFF,
    ("admission-price",): ADMISSION_PRICE,
}
# What is asked of narwhal-jq alone, beside the whole.
SELECTIONS = {"by all": ["--by", "all"], "by 1m": ["--by", "1m"], "by run,1m": ["--by", "run,1m"]}
# All of it, but chosen as a window: no answer is read off the counts that are kept for whole runs.
SCANNED = ["--from", "0"]


# The parent

Usage = namedtuple("Usage", "cpu_s wall_s peak_bytes")


def run(command):
    """Runs a command to its end; gives what it used and what it printed."""
    with tempfile.TemporaryFile("w+", newline="") as printed:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=printed)
        _, status, used = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"exit status {child.returncode}: {' '.join(command)}")
        printed.seek(0)
        unit = 1 if sys.platform == "darwin" else 1024
        return Usage(used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss * unit), printed.read()


def medians(usages):
    return Usage(*map(median, zip(*usages)))


def same_cell(ours, theirs):
    try:
        return ours == theirs or math.isclose(float(ours), float(theirs), rel_tol=1e-9)
    except ValueError:
        return False


def check_answers(name, ours, theirs):
    if len(ours) != len(theirs):
        sys.exit(f"{name}: {len(ours) - 1} rows from narwhal-jq, {len(theirs) - 1} from DuckDB")
    for number, (left, right) in enumerate(zip(ours, theirs)):
        if len(left) != len(right) or not all(map(same_cell, left, right)):
            sys.exit(f"{name}: row {number} differs\nnarwhal-jq: {left}\nDuckDB:     {right}")


def print_row(*cells):
    print("|", " | ".join(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in cells), "|")


class Bench:
    def __init__(self, binary, journal, directory, rounds):
        self.directory, self.rounds = directory, rounds
        self.ours = [binary, "--db", self.path("narwhal-jq")]
        self.loads = {"narwhal-jq": [*self.ours, "ingest", journal, "-q"]}
        self.has_duckdb = shutil.which("duckdb") is not None
        if self.has_duckdb:
            self.loads["duckdb-load"] = ["duckdb", self.path("duckdb-load"), "-c", duckdb_load(journal)]
        self.loads["python-load"] = [sys.executable, __file__, "--child", journal, self.path("python-load")]

    def path(self, tool):
        return str(self.directory / f"{tool}.db")

    def files(self, tool):
        return list(self.directory.glob(f"{tool}.db*"))

    def load(self, tool):
        for file in self.files(tool):
            file.unlink()
        usage, _ = run(self.loads[tool])
        print(f"{tool}: {usage.cpu_s:.2f} s CPU", file=sys.stderr)
        return usage

    def ask_ours(self, *query):
        usage, printed = run([*self.ours, "-q", "query", *query, "--format", "csv", "--jobs", "1"])
        return usage, list(csv.reader(io.StringIO(printed)))

    def ask_duckdb(self, sql):
        usage, printed = run(["duckdb", "-readonly", "-csv", "-nullvalue", "", self.path("duckdb-load"), "-c", sql])
        return usage, list(csv.reader(io.StringIO(printed)))

    def counts(self, tool):
        sql = "select " + ", ".join(f"(select count(*) from {table}) as {table}" for table in TABLES)
        if tool == "duckdb-load":
            return tuple(map(int, self.ask_duckdb(sql)[1][1]))
        db = sqlite3.connect(self.path(tool))
        counted = db.execute(sql).fetchone()
        db.close()
        return counted

    def check_counts(self, tools):
        counts = {tool: self.counts(tool) for tool in tools}
        if len(set(counts.values())) > 1:
            sys.exit(f"the tools loaded different numbers of {', '.join(TABLES)}: {counts}")
        print(", ".join(f"{n} {table}" for n, table in zip(counts["narwhal-jq"], TABLES)), "in each database\n")

    def compare_loads(self):
        usages, unchanged = {tool: [] for tool in self.loads}, []
        for _ in range(self.rounds):
            for tool in self.loads:
                usages[tool].append(self.load(tool))
            unchanged.append(run(self.loads["narwhal-jq"])[0])
        self.check_counts(self.loads)
        ours = medians(usages["narwhal-jq"])
        print("| load | CPU s | wall s | peak MB | database MB | CPU ratio | wall ratio |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for tool in self.loads:
            used, size = medians(usages[tool]), sum(file.stat().st_size for file in self.files(tool))
            print_row(tool, used.cpu_s, used.wall_s, round(used.peak_bytes / 1e6), round(size / 1e6),
                      ours.cpu_s / used.cpu_s, ours.wall_s / used.wall_s)
        print(f"\nnarwhal-jq, nothing new to load: {medians(unchanged).wall_s * 1e3:.1f} ms wall\n")

    def window(self):
        """Ten minutes of one run, from its tenth on: our flags, and the rows of DuckDB."""
        _, runs = self.ask_ours("runs")
        run_id = runs[1][0]
        flags = ["--run", run_id, "--from", "600", "--to", "1200"]
        _, rows = self.ask_ours("selection", *flags)
        from_s, to_s = rows[1][2:4]
        asked = f"run = '{run_id}' and arrived >= {from_s} and arrived < {to_s}"
        return flags, f"(select * from terminals where {asked})"

    def compare_queries(self):
        flags, rows_of_window = self.window()
        asked = []
        for query, sql in QUERIES.items():
            asked.append((query[0], query, sql.replace("{rows}", "terminals")))
            asked.append((f"{query[0]}, ten minutes", (*query, *flags), sql.replace("{rows}", rows_of_window)))
        ours, theirs, rows, empty = {a[0]: [] for a in asked}, {a[0]: [] for a in asked}, {}, []
        for _ in range(self.rounds):
            for name, query, sql in asked:
                usage, answer = self.ask_ours(*query)
                ours[name].append(usage)
                rows[name] = len(answer) - 1
                if self.has_duckdb:
                    usage, other = self.ask_duckdb(sql)
                    theirs[name].append(usage)
                    check_answers(name, answer, other)
            if self.has_duckdb:
                empty.append(self.ask_duckdb("select 1")[0])
        print("| query | rows | CPU ms | wall ms | DuckDB CPU ms | DuckDB wall ms | CPU ratio | wall ratio |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for name, _, _ in asked:
            left, right = medians(ours[name]), medians(theirs[name]) if theirs[name] else None
            other = [*in_ms(right), left.cpu_s / right.cpu_s, left.wall_s / right.wall_s] if right else [""] * 4
            print_row(name, rows[name], *in_ms(left), *other)
        if empty:
            print_row("(empty DuckDB process)", "", "", "", *in_ms(medians(empty)), "", "")

    def compare_selections(self):
        print("\n| query | whole CPU ms | scanned CPU ms |", " | ".join(f"{name} / scanned" for name in SELECTIONS), "|")
        print("|---|---:|---:|" + "---:|" * len(SELECTIONS))
        flags = {"whole": [], "scanned": SCANNED, **SELECTIONS}
        for query in QUERIES:
            used = {name: [] for name in flags}
            for _ in range(self.rounds):
                for name in used:
                    used[name].append(self.ask_ours(*query, *flags[name])[0])
            whole, scanned = (medians(used.pop(name)).cpu_s for name in ("whole", "scanned"))
            ratios = (medians(usages).cpu_s / scanned for usages in used.values())
            print_row(query[0], round(whole * 1e3), round(scanned * 1e3), *ratios)


def in_ms(usage):
    return round(usage.cpu_s * 1e3), round(usage.wall_s * 1e3)


def warm(journal):
    """Reads the journal once, so that the first tool is not the one that waits for the disk."""
    with open(journal, "rb") as file:
        while file.read(1 << 20):
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("journal", help="a journal without torn lines and repeated rows")
    parser.add_argument("--binary", default="target/release/narwhal-jq")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the databases in DIR")
    parser.add_argument("--only", choices=("load", "queries"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = args.keep or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        bench = Bench(args.binary, args.journal, directory, args.rounds)
        if not bench.has_duckdb:
            print("There is no duckdb: no figures of it.\n")
        warm(args.journal)
        if args.only == "queries":
            tools = [tool for tool in bench.loads if tool != "python-load"]
            for tool in tools:
                bench.load(tool)
            bench.check_counts(tools)
        else:
            bench.compare_loads()
        if args.only != "load":
            bench.compare_queries()
            bench.compare_selections()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        python_load(*sys.argv[2:])
    else:
        main()
