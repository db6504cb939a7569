#!/usr/bin/env python3
"""Asks DuckDB, ClickHouse's engine and a Spark cluster every canned question over a lake, and holds their rows against
those of SQLite over the database: whole numbers and texts exactly, floats to 1e-12.

  run.py PROGRAM SHARED FOLDER [ENGINE ...]

PROGRAM is narwhal-jq, SHARED the folder with the real journals and the generator, FOLDER an empty one to work in. It
ends with 1 when a row differs or an engine is missing."""

import math
import pathlib
import shutil
import subprocess
import sys
import time

from cluster import WORKERS, Cluster
from engines import ClickHouse, DuckDb, Spark, Sqlite
from questions import SELECTIONS, VIEWS, Program

GENERATED = 200_000
REAL = ["0.2.1/mixed.jsonl", "0.6.0/takeover.jsonl", "0.7.0/full.jsonl"]
# A scope is named after its journal, so what needs care in a text comes into the statements.
ODD_NAME = r"it's a \ ${user.dir} journal.jsonl"
PORT = 17077


def load(program, shared, folder):
    """Real and generated journals in the database, and their lake."""
    journals = folder / "journals"
    journals.mkdir()
    for at, name in enumerate(REAL):
        shutil.copy(shared / "journals" / name, journals / (ODD_NAME if at == 0 else f"real-{at}.jsonl"))
    generated = journals / "generated.jsonl"
    generator = [sys.executable, shared / "tools/journalgen.py", "--rows", str(GENERATED), "--runs", "4"]
    subprocess.run([*generator, "--release", "mixed", "--seed", "16", "--out", generated], check=True)
    program.run("ingest", "-q", journals)
    program.run("slo", "set", "--ttft", "0.8", "--tpot", "0.03")
    program.run("export", "lake", "-q", "--dir", folder / "lake")
    return folder / "lake"


def is_same(ours, theirs):
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-12)
    return type(ours) is type(theirs) and ours == theirs


def difference(expected, found):
    """In words; none where the rows are the same."""
    if len(expected) != len(found):
        return f"{len(found)} rows, SQLite has {len(expected)}"
    for at, (ours, theirs) in enumerate(zip(expected, found)):
        if len(ours) != len(theirs) or not all(map(is_same, ours, theirs)):
            return f"row {at}\n    {theirs}\n  SQLite has\n    {ours}"
    return None


class Comparison:
    """Counts what is the same and tells what is not."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, fault):
        if fault:
            self.failed += 1
            print(f"{what}: {fault}", flush=True)
        else:
            self.passed += 1

    def answer(self, engine, what, statement, expected):
        try:
            fault = difference(expected, engine.rows(statement))
        except Exception as error:  # each engine has its own; any is a fault
            fault = str(error)[:2000]
        self.check(f"{engine.name}, {what}", fault)


def compare(engine, program, expected, comparison):
    begin = time.monotonic()
    for (name, selection), rows in expected.items():
        if selection == "view":
            comparison.answer(engine, f"the view {name}", VIEWS[name], rows)
        else:
            statement = program.statement(name, selection, engine.name)
            comparison.answer(engine, f"{name} of {selection}", statement, rows)
    types = {name: kind.lower() for name, kind in engine.types("terminals").items()}
    for column, kinds in {
        "arrived": ("double", "float64"),
        "input_len": ("bigint", "nullable(int64)"),
        "retried": ("bigint", "int64"),
        "terminal": ("varchar", "string"),
        "arrived_wall": ("timestamp", "nullable(datetime64(6, 'utc'))", "timestamp with time zone"),
        "day": ("varchar", "string", "lowcardinality(string)"),
    }.items():
        found = types.get(column)
        comparison.check(f"{engine.name}, terminals.{column}", None if found in kinds else f"is {found}")
    print(f"{engine.name}: {time.monotonic() - begin:.0f} s", flush=True)


def main(program, shared, folder, *wanted):
    folder = pathlib.Path(folder).resolve()
    program = Program(pathlib.Path(program).resolve(), folder / "narwhal.db")
    begin = time.monotonic()
    lake = load(program, pathlib.Path(shared).resolve(), folder)
    sqlite = Sqlite(program.database)
    names = program.questions()
    expected = {
        (name, selection): sqlite.rows(program.statement(name, selection)) for name in names for selection in SELECTIONS
    }
    expected.update({(name, "view"): sqlite.rows(sql) for name, sql in VIEWS.items()})
    empty = [f"{name} of {selection}" for (name, selection), rows in expected.items() if not rows]
    print(f"{len(names)} questions, {len(expected)} answers of SQLite, {len(empty)} of no rows: {empty}"
          f" ({time.monotonic() - begin:.0f} s)", flush=True)

    comparison = Comparison()
    comparison.check("the questions", None if len(names) >= 29 and len(empty) <= 4 else "too few, or without rows")
    wanted = wanted or ("duckdb", "clickhouse", "spark")
    if "duckdb" in wanted:
        compare(DuckDb(lake), program, expected, comparison)
    if "clickhouse" in wanted:
        compare(ClickHouse(lake), program, expected, comparison)
    if "spark" in wanted:
        with Cluster(folder, PORT) as cluster:
            spark = Spark(lake, cluster)
            compare(spark, program, expected, comparison)
            tasks = cluster.tasks_by_worker(*spark.application())
            print(f"tasks by worker: {tasks}", flush=True)
            idle = len(tasks) != WORKERS or not all(tasks.values())
            comparison.check("spark, tasks on both workers", "a worker had none" if idle else None)
            spark.end()
    print(f"{comparison.passed} passed, {comparison.failed} failed")
    return 1 if comparison.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
