"""Prints every row of a lake, as DuckDB decodes it, as a JSON object a line. `decode.py LAKE`"""

import sys

import duckdb

for table in ["runs", "terminals", "attempt_failures", "events", "builds", "sources", "slos"]:
    rows = duckdb.sql(f"select to_json(x) from read_parquet('{sys.argv[1]}/{table}/**/*.parquet') as x").fetchall()
    print("\n".join(row for (row,) in rows))
