#!/usr/bin/env python3
"""Where the extra misses of a window come from, the second implementation: the rows of both windows as
docs/semantics.md and docs/statistics.md define them, given to `explain` of statistics_reference.py.

  explaining.py --ttft S --tpot S [--policy WORD] [selection] [--baseline JSON] JOURNAL...

The selection is that of reference.py; --baseline is the JSON array of the arguments of another one, without it
all earlier rows of the same runs. Prints the fields of `explain --format json` that follow from the rows.

What docs/statistics.md leaves open, as it is read here: bands are named by their least and greatest length, flags
`yes` and `no`; an outage overlaps a request that arrives or ends at its very end or beginning; one with an unknown
start is only its end; an order of no overlap stays run after run.
"""
import sys

sys.dont_write_bytecode = True

import argparse
import json
import re
import time
from datetime import datetime, timezone

import selecting
import statistics_reference
from definitions import ejections, engines_of_attempts, holds, is_met, is_retried, is_scored, miss_of
from journal import Journals

OPEN = 1e308


def parser():
    p = argparse.ArgumentParser(allow_abbrev=False)
    selecting.add_flags(p)
    p.add_argument("--ttft", type=float)
    p.add_argument("--tpot", type=float)
    p.add_argument("--policy", default="journal")
    p.add_argument("--baseline", type=json.loads)
    p.add_argument("journals", nargs="*")
    return p


def in_order(parts):
    """[(run, row)] of parts in statistical order."""
    runs = sorted({p.run.name: p.run for p in parts if p.run.first is not None}.values(), key=lambda r: r.key())
    rows = [(p.run, row) for p in parts for row in p.run.requests_in(p.from_s, p.to_s)]
    if len(runs) > 1 and all(run.offset is not None for run in runs):
        spans = sorted((run.first + run.offset, run.last + run.offset) for run in runs)
        if any(after[0] < before[1] for before, after in zip(spans, spans[1:])):
            return sorted(rows, key=lambda x: (x[1]["arrived"] + x[0].offset, x[0].name.encode(),
                                               x[1]["rid"].encode()))
    return sorted(rows, key=lambda x: (x[0].key(), x[1]["arrived"], x[1]["rid"].encode()))


def band(length):
    if length < 2:
        return str(length)
    low = 1
    while 2 * low <= length:
        low *= 2
    return f"{low}-{2 * low - 1}"


def outages(run):
    """[(engine, kind, interval)]"""
    found = [(i.start or i.end, "ejected", i) for i in ejections(run)]
    found += [(i.start or i.end, None, i) for i in holds(run)]
    return [(e.get("iid"), kind or e.get("kind"), i) for e, kind, i in found]


def accounts(run, row, of_run):
    found = set()
    engines = engines_of_attempts(row)
    for leg in ("prefill", "decode"):
        found |= {(f"{leg} engine", engine) for engine in engines[leg]}
    if row.get("input_len") is not None and row.get("input_sized") is not False:
        found.add(("prompt size", band(row["input_len"])))
    found.add(("retried", "yes" if is_retried(row) else "no"))
    # Without a decode engine there is nothing to cross to.
    if row.get("crossed") is not None and row.get("decode_iid") is not None:
        found.add(("crossed", "yes" if row["crossed"] else "no"))
    ends = row["arrived"] + (row.get("duration_s") or 0)
    for engine, kind, interval in of_run:
        begins = interval.to_s if interval.from_s is None else interval.from_s
        if engine in engines["prefill"] | engines["decode"] and begins <= ends and row["arrived"] <= interval.to_s:
            found.add(("outage", f"{engine} {kind}"))
    prefix = re.match(r"[^-_/:.]*(?=[-_/:.])", row.get("client_rid") or "")
    if prefix:
        found.add(("client prefix", prefix[0]))
    return sorted(list(pair) for pair in found)


def main():
    a = parser().parse_args()
    journals = Journals(a.journals)
    now = time.time()
    window = selecting.select(journals, a, now)
    if a.baseline is not None:
        baseline = selecting.select(journals, parser().parse_args(a.baseline), now)
    else:
        first = {}
        for p in window:
            first[p.run.name] = min(p.from_s, first.get(p.run.name, OPEN))
        baseline = [selecting.Part("baseline", journals.runs[name], -OPEN, from_s) for name, from_s in first.items()
                    if from_s > -OPEN]
    of_run = {p.run.name: outages(p.run) for p in window + baseline}
    sides = []
    for parts in (window, baseline):
        rows = [(run, row) for run, row in in_order(parts) if is_scored(row, a.policy)]
        sides.append((rows, [[None if is_met(row, a) else miss_of(row, a), accounts(run, row, of_run[run.name])]
                             for run, row in rows]))
    found = statistics_reference.explain(sides[0][1], sides[1][1])
    if found is None:
        print("null")
        return
    for named in found["named"]:
        named["attribute"], named["value"] = named.pop("account")
        for companions in ("also", "tied"):
            named[companions] = [{"attribute": x, "value": y} for x, y in named[companions]]
    stretch = found["stretch"]
    ends = [sides[0][0][stretch["first_row"]], sides[0][0][stretch["end_row"] - 1]]
    for name, (run, row) in zip(("from", "to"), ends):
        wall = None if run.offset is None else datetime.fromtimestamp(int(row["arrived"] + run.offset), timezone.utc)
        stretch[name] = wall and wall.strftime("%Y-%m-%dT%H:%M:%SZ")
    print(json.dumps(statistics_reference.plain(found)))


if __name__ == "__main__":
    main()
