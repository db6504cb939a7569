#!/usr/bin/env python3
"""Reference answers to the canned queries about Narwhal request journals.

Reads the JSON Lines files and computes every query of the catalog straight from its definition, in
plain Python and in memory. It is the independent check of the Rust tool and shares no code, no SQL
and no database with it. Slow and literal on purpose.

  reference.py --query NAME [parameters] [selection] JOURNAL...
                                         {"columns": [...], "rows": [[...], ...]}
  reference.py --selection [selection] JOURNAL...
                                         {"rows": [[scope, run, from_s, to_s], ...]}: the rows of
                                         `selection`, open ends -1e308 and 1e308
  reference.py --counts JOURNAL...       what ingestion must have stored
  reference.py --legs JOURNAL...         legs against the writer's own counts
  reference.py --batch JOURNAL...        many answers of one reading: each line of standard input is
                                         a JSON array of arguments as above, without the journals

Times of --since and --until: ISO 8601 with Z, Unix seconds, or an age (5m). Durations: seconds, or
like 1h30m. --now SECONDS stands for the clock. --rows gives the rows of `selection` themselves.
A question that is refused is exit 2, in a batch a line {"refused": WHY}.

Order of rows, where docs/semantics.md leaves it open; nulls first, text by its bytes:
  selection           scope, run (started_at, id), from_s; --selection: scope, run id, from_s
  latency             the metrics as listed; queue-waits: admission, prefill, decode, total
  engine-latency      metric and engine as text
  failure-causes      failures descending, then phase, error_type, reason, status, engine
  events              run, place_s, then as stored: journal in argument order, place in it
  requests            order `arrived`: started_at, run, arrived, rid; others: the value descending
                      before those
  engine-downtime     run, engine, kind, from_s, to_s; floor-breaches: run, from_s, to_s

What else docs/semantics.md leaves open, as it is read here:
  Clocks: a lifecycle bound needs a row with a write time on both sides. File times get both 0.02 s
    and 1 s when without fraction; the clock in place of one gets 0.02 s. What is dropped as crossing
    stays dropped, and a dropped start is as none. Middles are those of the intersection. A copy of a
    journal, and one of which no row is stored, bound nothing. A place between rows that stand in the
    wrong order is that of the row before.
  Parts: a run is in a selection when its time first_s..last_s meets what was chosen. --last counts
    back from last_s, --until and the settled end, whichever is least; --to only cuts. An event
    without a place (its run has no time) is in parts that are open at both ends.
  --by D: the buckets are those that a chosen part of a run covers, and those between. One that hangs
    on the run before takes in nothing, should that run have had more that was not chosen.
  current: the journal's newest source is the one modified last; the latest arrival in it by
    estimated wall time. Only stored rows count. No completed request, no tail: nothing is cut.
  --source: a run is met in a source also when all its rows there are duplicates; `*` matches `/`.
  Sums: those of no known value are null; but 0 in a bucket of throughput.
  throughput: completed and output_tokens are those of the requests taken in, by arrival; what ends
    in a bucket that is not touched has no row. Buckets, rates: as floats.
  goodput: the run's last bucket counts as soon as a part of it is selected.
  slo-frontier: no row for a scope without requests. `reachable` is what the largest TTFT target
    gives: a request without ttft_s does not meet.
  requests: without both targets every miss is null. Engines of failed attempts: of their records.
  Intervals overlap a part when from_s (or the end, when unknown) < the part's end and to_s >= its
    beginning; from_s and to_s are seconds from the run's zero.
  monitoring: a (stage, class) has a row where it failed, degraded, or was degraded for a while.
"""
import sys

sys.dont_write_bytecode = True               # it is run from a source tree

import argparse
import json
import time
from collections import Counter

import queries
import selecting
from definitions import legs
from journal import Journals
from rows import failures
from selecting import Refused


def answer(journals, a, now):
    if a.query in queries.NEED_TARGETS and (a.ttft is None or a.tpot is None):
        raise Refused(f"{a.query} needs --ttft and --tpot")
    parts = selecting.select(journals, a, now)
    if a.by is not None and a.query not in queries.OF_SCOPES and a.query != "selection":
        raise Refused(f"--by: {a.query} has no scopes")
    if a.query in queries.OF_ALL:
        rows = list(queries.OF_ALL[a.query](parts, a))
    elif a.query in queries.OF_RUNS:
        rows = [[run.name, *row] for run, windows in selecting.windows_by_run(parts).items()
                for row in queries.OF_RUNS[a.query](run, windows, a)]
    else:
        rows = [[scope.name, *row] for scope in selecting.scopes(parts)
                for row in queries.OF_SCOPES[a.query](scope, a)]
    return {"columns": queries.COLUMNS[a.query], "rows": rows}


def selection(journals, a, now):
    parts = selecting.select(journals, a, now)
    parts.sort(key=lambda p: (p.scope.encode(), p.run.name.encode(), p.from_s))
    return {"rows": [[p.scope, p.run.name, p.from_s, p.to_s] for p in parts]}


def counts(journals):
    runs = journals.runs.values()
    return {"builds": journals.builds,
            "terminals": sum(len(r.terminals) for r in runs),
            "attempt_failures": sum(len(failures(t)) for r in runs for t in r.terminals),
            "events": sum(len(r.events) for r in runs),
            "rejected_lines": journals.rejected}


def check_legs(journals):
    terminals = [t for r in journals.runs.values() for t in r.terminals]
    wrong = []
    for t in terminals:
        counted = Counter(leg for _, leg, _ in legs(t))
        if (counted["prefill"], counted["decode"]) != (t.get("attempts"), t.get("decode_attempts")):
            wrong.append({"run": t["run"], "rid": t["rid"], "attempts": t.get("attempts"),
                          "prefill_legs": counted["prefill"],
                          "decode_attempts": t.get("decode_attempts"),
                          "decode_legs": counted["decode"]})
    return {"terminals": len(terminals), "mismatches": wrong}


def parser():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument("--query", choices=queries.NAMES)
    what.add_argument("--selection", action="store_true")
    what.add_argument("--counts", action="store_true")
    what.add_argument("--legs", action="store_true")
    what.add_argument("--batch", action="store_true")
    selecting.add_flags(p)
    p.add_argument("--now", type=float, help="Unix seconds, instead of the clock")
    p.add_argument("--ttft", type=float)
    p.add_argument("--tpot", type=float)
    p.add_argument("--policy", choices=["journal", "offers", "router"], default="journal")
    p.add_argument("--bucket", type=float, default=60)
    p.add_argument("--band", type=float, default=1.0)
    p.add_argument("--wanted", type=float, default=0.99)
    p.add_argument("--of", choices=["completed", "offers"], default="completed")
    p.add_argument("--event")
    p.add_argument("--engine")
    p.add_argument("--terminal")
    p.add_argument("--miss")
    p.add_argument("--client")
    p.add_argument("--reason")
    p.add_argument("--retried", type=int, choices=[0, 1])
    p.add_argument("--order", default="arrived",
                   choices=["arrived", "ttft_s", "tpot_s", "first_byte_s", "duration_s"])
    p.add_argument("--limit", type=int, default=100)
    p.add_argument("journals", nargs="*", metavar="JOURNAL")
    return p


def respond(journals, a, now):
    if a.counts:
        return counts(journals)
    if a.legs:
        return check_legs(journals)
    return selection(journals, a, now) if a.selection else answer(journals, a, now)


def main():
    p = parser()
    given = p.parse_args()
    if not given.journals:
        p.error("no journal")
    asked = [p.parse_args(json.loads(line)) for line in sys.stdin] if given.batch else [given]
    journals = Journals(given.journals, given.now)
    for a in asked:
        now = a.now if a.now is not None else given.now if given.now is not None else time.time()
        try:
            out = respond(journals, a, now)
        except Refused as refused:
            if not given.batch:
                p.error(str(refused))
            out = {"refused": str(refused)}
        json.dump(out, sys.stdout)
        print()


if __name__ == "__main__":
    main()
