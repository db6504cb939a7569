"""Holds a lake against the database that it was exported from, by readers that are not ours: Python's sqlite3, DuckDB
and pandas. `rows.py DATABASE LAKE` prints the rows that are equal, or ends with the first that is not."""

import datetime
import sqlite3
import sys

import duckdb
import pandas

database = sqlite3.connect(sys.argv[1])
lake = duckdb.connect()
lake.execute("set timezone = 'UTC'")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
TYPES = {"integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR"}
WALL = {
    "terminals": {"arrived_wall": "x.arrived"},
    "attempt_failures": {"at_wall": "x.at"},
    "events": {"at_wall": "x.at"},
    "runs": {"first_wall": "x.first_s", "last_wall": "x.last_s"},
}
BY_DAY = ["terminals", "attempt_failures", "events"]


def columns_of(table):
    """Each column with what it should be, in SQLite's SQL, and its type in DuckDB. Keys are compared below."""
    for name, kind in database.execute(f"select name, lower(type) from pragma_table_info('{table}')"):
        expected = {
            "run_id": "r.run",
            "terminal_id": "t.source_id * 1099511627776 + t.byte_offset",
            "event_id": "x.source_id * 1099511627776 + x.byte_offset",
        }.get(name, f'x."{name}"')
        yield name, expected, TYPES[kind]
    for name, time in WALL.get(table, {}).items():
        offset = "case x.clock when 'wall' then 0 when 'monotonic' then r.wall_offset_s end"
        yield name, f"{time} + {offset if table == 'events' else 'r.wall_offset_s'}", "TIMESTAMP WITH TIME ZONE"
    if table in BY_DAY:
        own = table == "events"
        time = list(WALL[table].values())[0]
        for name, of_own, of_run, kind in [
            ("wall_error_s", "0.0", "r.wall_error_s", "DOUBLE"),
            ("wall_basis", "'own'", "r.wall_basis", "VARCHAR"),
        ]:
            known = f"{time} is not null and r.wall_offset_s is not null"
            of_run = f"case when {known} then {of_run} end"
            of_event = f"case x.clock when 'wall' then {of_own} when 'monotonic' then {of_run} end"
            yield name, of_event if own else of_run, kind


def expected_rows(table, columns):
    listed = ", ".join(expected for _, expected, _ in columns)
    joins = {
        "terminals": "join runs as r using (run_id) join terminals as t on t.terminal_id = x.terminal_id",
        "attempt_failures": "join runs as r using (run_id) join terminals as t using (terminal_id)",
        "events": "join runs as r using (run_id)",
        "runs": "join runs as r using (run_id)",
    }.get(table, "")
    return database.execute(f"select {listed} from {table} as x {joins}").fetchall()


def found_rows(table, columns):
    files = f"'{sys.argv[2]}/{table}/{'*/' if table in BY_DAY else ''}*.parquet'"
    described = lake.execute(f"describe select * from read_parquet({files}, hive_partitioning = false)").fetchall()
    assert [(name, kind) for name, kind, *_ in described] == [(name, kind) for name, _, kind in columns], described
    listed = ", ".join('(select run from runs as r where r.run_id = x.run_id)' if name == "run_id" else f'x."{name}"'
                       for name, _, _ in columns)
    if table == "runs":
        lake.execute(f"create view runs as from read_parquet({files})")
    return lake.execute(f"select {listed} from read_parquet({files}, hive_partitioning = false) as x").fetchall()


def as_seconds(cell):
    return (cell - EPOCH) / datetime.timedelta(microseconds=1) / 1e6 if isinstance(cell, datetime.datetime) else cell


def key(row):
    return [(cell is not None, str(type(cell)), cell) for cell in row]


for table in ["runs", "terminals", "attempt_failures", "events", "builds", "sources", "slos"]:
    columns = list(columns_of(table))
    walls = [at for at, (_, _, kind) in enumerate(columns) if kind.startswith("TIMESTAMP")]
    expected = sorted(expected_rows(table, columns), key=key)
    found = sorted(([as_seconds(cell) for cell in row] for row in found_rows(table, columns)), key=key)
    assert len(expected) == len(found), (table, len(expected), len(found))
    for one, other in zip(expected, found):
        for at, (cell, there) in enumerate(zip(one, other)):
            if at in walls and cell is not None and there is not None:
                # Floats of Unix seconds are a quarter of a microsecond apart.
                assert abs(cell - there) < 1e-6, (table, columns[at][0], cell, there)
            else:
                assert type(cell) is type(there) and cell == there, (table, columns[at][0], cell, there)
    print(table, len(found))
    frame = pandas.read_parquet(f"{sys.argv[2]}/{table}")
    kinds = {"BIGINT": "Int64", "DOUBLE": "float64", "VARCHAR": "str", "TIMESTAMP WITH TIME ZONE": "datetime64[us, UTC]"}
    for name, _, kind in columns:
        assert str(frame.dtypes[name]) in (kinds[kind], "object"), (table, name, frame.dtypes[name])
    assert len(frame) == len(found), (table, len(frame))
