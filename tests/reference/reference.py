#!/usr/bin/env python3
"""Reference answers to the canned queries about Narwhal request journals.

Reads the JSON Lines files and computes every query of the catalog straight from its
definition, in plain Python and in memory. It is the independent check of the Rust tool and
shares no code, no SQL and no database with it. Slow and literal on purpose.

  reference.py --query NAME [parameters] JOURNAL...   {"columns": [...], "rows": [[...], ...]}
  reference.py --counts JOURNAL...                    what ingestion must have stored
  reference.py --legs JOURNAL...                      legs against the writer's own counts
  reference.py --batch JOURNAL...                     many answers of one reading: each line of
      standard input is a JSON array of arguments as above, without the journals
"""
import argparse
import json
import math
import re
import sys
from collections import Counter, defaultdict
from datetime import datetime, timezone

SCHEMA = "narwhal.journal"
MAX_DEPTH = 128
MARKER = re.compile(r'\{"schema": |\{"meta": ')


# ---------------------------------------------------------------- JSON with the ingest rules

def pairs_once(pairs):
    out = {}
    for key, value in pairs:
        key = no_surrogates(key)
        if key in out:
            raise ValueError("a key twice in one object")
        out[key] = value
    return out


def int64(text):
    value = int(text)
    if not -2**63 <= value < 2**63:
        raise ValueError("an integer beyond 64 bits signed")
    return value


def finite(text):
    value = float(text)
    return value if math.isfinite(value) else None


def no_surrogates(text):
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def repair(value, depth=1):
    """Lone surrogates to U+FFFD; refuse what is nested too deep."""
    if isinstance(value, str):
        return no_surrogates(value)
    if isinstance(value, (dict, list)) and depth > MAX_DEPTH:
        raise ValueError("nested too deep")
    if isinstance(value, dict):
        return {k: repair(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [repair(v, depth + 1) for v in value]
    return value


DECODER = json.JSONDecoder(object_pairs_hook=pairs_once, parse_int=int64, parse_float=finite,
                           parse_constant=lambda _: None)


def decode_at(text, start):
    """The JSON value that begins at `start` and the place after it (blanks skipped), or None."""
    try:
        value, end = DECODER.raw_decode(text, start)
        raw = text[start:end]
        if "\0" in raw or re.search("[\udc80-\udcff]", raw):  # NUL, or bytes that are not UTF-8
            return None
        value = repair(value)
    except (ValueError, RecursionError):
        return None
    while end < len(text) and text[end] in " \t\r":
        end += 1
    return value, end


def records_of_line(line):
    """(its JSON values, whether a part of the line is no record)"""
    text = line.decode("utf-8", "surrogateescape")
    found, torn, pos = [], False, 0
    while pos < len(text) and text[pos] in " \t\r":
        pos += 1
    while True:
        got = decode_at(text, pos)
        if got and (got[1] == len(text) or MARKER.match(text, got[1])):
            found.append(got[0])
            pos = got[1]
            if pos == len(text):
                return found, torn
            continue
        torn = True
        marker = MARKER.search(text, pos + 1)
        if not marker:
            return found, torn
        pos = marker.start()


def drop_nulls(value):
    if isinstance(value, dict):
        return {k: drop_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [drop_nulls(v) for v in value]
    return value


def canonical(value):
    return json.dumps(drop_nulls(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# ---------------------------------------------------------------- the row contract

def is_num(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def is_int(v):
    return is_num(v) and v == int(v) and -2**63 <= v < 2**63


def is_text(v):
    return isinstance(v, str)


def is_bool(v):
    return isinstance(v, bool)


def is_obj(v):
    return isinstance(v, dict)


def shape(**fields):
    return lambda v: is_obj(v) and fits(v, fields)


def fits(row, fields):
    return all(row.get(name) is None or test(row[name]) for name, test in fields.items())


FAILURE = dict(
    at=is_num, attempt=is_int, phase=is_text, reason=is_text, prefill_iid=is_text,
    decode_iid=is_text, error_type=is_text, error_message=is_text, status=is_int,
    transient=is_bool, output_started=is_bool, retry_scheduled=is_bool, retry_reason=is_text,
    backoff_s=is_num)

TERMINAL = dict(
    run=is_text, rid=is_text, client_rid=is_text, arrived=is_num, input_len=is_int,
    wanted_len=is_int, input_sized=is_bool, output_len=is_int, ttft_s=is_num, tpot_s=is_num,
    first_byte_s=is_num, decode_tpot_s=is_num, queue_wait_s=is_num, duration_s=is_num,
    queue_waits=shape(admission=is_num, prefill=is_num, decode=is_num),
    admission_price=shape(attempt=is_int, backlog_s=is_num, own_prefill_s=is_num,
                          elapsed_s=is_num, handoff_s=is_num, price_s=is_num),
    attempts=is_int, decode_attempts=is_int,
    attempt_failures=lambda v: isinstance(v, list) and all(is_obj(e) and fits(e, FAILURE) for e in v),
    decode_tokens_observed=is_int, upstream_seconds=shape(prefill=is_num, decode=is_num),
    prefill_iid=is_text, decode_iid=is_text, crossed=is_bool,
    cached_tokens=lambda v: is_obj(v) and all(n is None or is_int(n) for n in v.values()),
    cache_placement=shape(placed_iid=is_text, placed_cached_tokens=is_int,
                          evidence_sequence=is_int, predicted_prefill_s=is_num,
                          cold_prefill_s=is_num, cold_choice_iid=is_text),
    token_accounting=is_text, error=is_text, status=is_int, error_type=is_text,
    error_code=is_text, reason=is_text, terminal=is_text, cancelled=is_bool,
    cancelled_phase=is_text, refused=is_bool, rejected=is_bool, expired=is_bool,
    refused_cause=is_text, readiness_reason=is_text, continuation=is_obj)

WALL_EVENTS = {"engine_lifecycle"}
MONOTONIC_EVENTS = {
    "below_floor", "below_floor_recovered", "controller_decision", "decode_floor_restored",
    "monitoring_stage_failure", "monitoring_degraded", "monitoring_recovered", "engine_ejected",
    "engine_readmitted", "engine_hold_started", "engine_hold_ended", "engine_probe"}


def has_contract(obj):
    version = obj.get("schema_version")
    return obj.get("schema") == SCHEMA and is_num(version) and version == 1


def kind_of(obj):
    """build, terminal, event, or None for what the contract does not know."""
    if not is_obj(obj):
        return None
    if is_obj(obj.get("meta")):
        return "build" if has_contract(obj["meta"]) else None
    if not has_contract(obj) or not is_text(obj.get("run")):
        return None
    if obj.get("terminal") is not None:
        known = fits(obj, TERMINAL) and obj.get("rid") is not None and obj.get("arrived") is not None
        return "terminal" if known else None
    return "event" if is_text(obj.get("event")) else None


def clock_of(event):
    if event["event"] in WALL_EVENTS:
        return "wall"
    return "monotonic" if event["event"] in MONOTONIC_EVENTS else "unknown"


def monotonic_at(event):
    return event["at"] if clock_of(event) == "monotonic" and is_num(event.get("at")) else None


def write_time(row):
    """Monotonic time at which a stored row was written, when it says so."""
    if "event" in row and row.get("terminal") is None:
        return monotonic_at(row)
    return None if row.get("duration_s") is None else row["arrived"] + row["duration_s"]


# ---------------------------------------------------------------- reading

class Run:
    def __init__(self, name):
        self.name = name
        self.terminals, self.events = [], []
        self.build, self.certainty = None, "missing"
        self.by_source = defaultdict(list)   # source -> stored rows in file order
        self.started_at = None
        seconds = re.match(r"([0-9]+)-", name)
        if seconds:
            try:
                t = datetime.fromtimestamp(int(seconds[1]), timezone.utc)
                self.started_at = t.strftime("%Y-%m-%dT%H:%M:%SZ")
            except (ValueError, OverflowError, OSError):
                pass

    def finish(self):
        times = [t["arrived"] for t in self.terminals]
        times += [f["at"] for t in self.terminals for f in failures(t) if f.get("at") is not None]
        times += [m for m in map(monotonic_at, self.events) if m is not None]
        ends = [t["arrived"] + t["duration_s"] for t in self.terminals
                if t.get("duration_s") is not None]
        self.first = min(times, default=None)
        self.last = max(times + ends, default=None)
        self.span = None if self.first is None else self.last - self.first
        self.offset, self.error = self.wall_clock()

    def wall_clock(self):
        lows, highs = [], []
        for rows in self.by_source.values():
            for i, row in enumerate(rows):
                if row.get("terminal") is not None or clock_of(row) != "wall" or not is_num(row.get("at")):
                    continue
                before = next((m for m in map(write_time, reversed(rows[:i])) if m is not None), None)
                after = next((m for m in map(write_time, rows[i + 1:]) if m is not None), None)
                if before is not None and after is not None:
                    lows.append(row["at"] - after)
                    highs.append(row["at"] - before)
        if not lows or max(lows) > min(highs):
            return None, None
        return (max(lows) + min(highs)) / 2, (min(highs) - max(lows)) / 2


class Journals:
    def __init__(self, paths):
        self.runs = {}
        self.builds = self.rejected = 0
        self.seen_terminals, self.seen_events = {}, set()
        sources = set()
        for path in paths:
            with open(path, "rb") as f:
                data = f.read()
            if data not in sources:          # a copy of a file is the same source
                sources.add(data)
                self.read(len(sources), data)
        for run in self.runs.values():
            run.finish()

    def read(self, source, data):
        self.kept = []                       # builds read and not taken
        self.ambiguous = 0                   # runs ambiguous over the kept set, which may grow
        self.met = set()                     # runs met in this source
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            line = data[start:end]
            records, bad = records_of_line(line) if line.strip(b" \t\r") else ([], False)
            for obj in records:
                bad |= not self.take(source, obj)
            self.rejected += bad
            start = end + 1                  # an unfinished last line is not looked at

    def take(self, source, obj):
        """Store one record; False when it is rejected."""
        kind = kind_of(obj)
        if kind is None:
            return False
        if kind == "build":
            self.builds += 1
            self.kept.append(obj["meta"])
            return True
        run = self.runs.setdefault(obj["run"], Run(obj["run"]))
        if run.name not in self.met:
            self.met.add(run.name)
            self.attribute(run)
        text = canonical(obj)
        if kind == "event":
            if text not in self.seen_events:
                self.seen_events.add(text)
                run.events.append(obj)
                run.by_source[source].append(obj)
            return True
        key = (obj["run"], float(obj["arrived"]), obj["rid"])
        if key not in self.seen_terminals:
            self.seen_terminals[key] = text
            run.terminals.append(obj)
            run.by_source[source].append(obj)
        return self.seen_terminals[key] == text   # other content: a conflict

    def attribute(self, run):
        if run.certainty == "exact" or not self.kept:
            return
        if len({canonical(meta) for meta in self.kept}) == 1:
            run.build, run.certainty = self.kept.pop(0), "exact"
        else:
            run.certainty = "ambiguous"
            self.ambiguous += 1              # each ambiguous run has used up one member
            if self.ambiguous >= len(self.kept):
                self.kept = []
        if not self.kept:
            self.ambiguous = 0


# ---------------------------------------------------------------- shared definitions

def sort_key(*values):
    """SQLite's order: nulls, then numbers, then text bytewise."""
    return tuple((0, 0) if v is None else (1, v) if is_num(v) else (2, v.encode()) for v in values)


def percentile(values, q):
    values = sorted(v for v in values if v is not None)
    return values[(len(values) * q + 99) // 100 - 1] if values else None


def maximum(values):
    return max((v for v in values if v is not None), default=None)


def known(values):
    return [v for v in values if v is not None]


def total(values):
    values = known(values)
    return math.fsum(values) if any(isinstance(v, float) for v in values) else sum(values)


def total_int(values):
    return int(sum(known(values)))


def ratio(a, b):
    return a / b if b else None


def part(row, name):
    return row.get(name) or {}


def failures(row):
    return row.get("attempt_failures") or []


def records_and_unattributed(row):
    """{attempt: its record}, and the entries that reached no engine."""
    records, others = {}, []
    for entry in failures(row):
        k = entry.get("attempt")
        if (k is not None and 1 <= k <= (row.get("attempts") or 0) and k not in records
                and entry.get("retry_reason") != "not_dispatched"):
            records[k] = entry
        else:
            others.append(entry)
    return records, others


def legs(row):
    """[(engine, leg, the record when the leg failed, else None)]"""
    records, _ = records_and_unattributed(row)
    out = []
    for record in records.values():
        if record.get("prefill_iid") is not None:
            out.append((record["prefill_iid"], "prefill",
                        record if record.get("phase") == "prefill" else None))
        if record.get("phase") == "decode" and record.get("decode_iid") is not None:
            out.append((record["decode_iid"], "decode", record))
    attempts = row.get("attempts") or 0
    if attempts >= 1 and attempts not in records:
        if row.get("prefill_iid") is not None:
            out.append((row["prefill_iid"], "prefill", None))
        recorded = sum(leg == "decode" for _, leg, _ in out)
        if row.get("decode_iid") is not None and (row.get("decode_attempts") or 0) > recorded:
            out.append((row["decode_iid"], "decode", None))
    return out


def is_scored(row, policy):
    terminal = row["terminal"]
    if policy == "offers":
        return True
    if policy == "router":
        return terminal not in ("cancelled", "rejected", "invalid")
    return (terminal in ("completed", "invalid", "rejected", "expired", "failed")
            or row.get("output_len") is None or row.get("ttft_s") is None)


def is_met(row, a):
    return (row["terminal"] == "completed"
            and row.get("ttft_s") is not None and row["ttft_s"] <= a.ttft
            and (row.get("tpot_s") is None or row["tpot_s"] <= a.tpot)
            and (a.policy == "router" or row.get("output_len") is not None))


def miss_of(row, a):
    if row["terminal"] != "completed":
        return row["terminal"]
    if a.policy != "router" and row.get("output_len") is None:
        return "output_unmeasured"
    if row.get("ttft_s") is None:
        return "ttft_unmeasured"
    late = [name for name, target in (("ttft", a.ttft), ("tpot", a.tpot))
            if row.get(name + "_s") is not None and row[name + "_s"] > target]
    return "+".join(late)


def offered_scored_met(rows, a):
    scored = [r for r in rows if is_scored(r, a.policy)]
    return len(rows), len(scored), sum(is_met(r, a) for r in scored)


def group(rows, key):
    """[(key, rows)] in key order."""
    out = defaultdict(list)
    for row in rows:
        out[key(row)].append(row)
    return sorted(out.items(), key=lambda item: sort_key(*item[0]))


def bucket_of(run, time, a):
    return math.floor((time - run.first) / a.bucket)


def buckets(run, a):
    """Every bucket number of the run."""
    return range(0) if run.first is None else range(bucket_of(run, run.last, a) + 1)


def rel(run, time):
    return None if time is None or run.first is None else time - run.first


def iso(seconds):
    """ISO 8601 in UTC with milliseconds."""
    millis = math.floor(seconds * 1000 + 0.5)
    try:
        t = datetime.fromtimestamp(millis // 1000, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
    return t.strftime("%Y-%m-%dT%H:%M:%S") + f".{millis % 1000:03d}Z"


def intervals(run, start_kind, end_kind, key):
    """[(start or None, end or None, from_s, to_s, duration_s, open)] of one run."""
    events = [e for e in run.events
              if e["event"] in (start_kind, end_kind) and monotonic_at(e) is not None]
    events.sort(key=lambda e: e["at"])       # stable: then the place in the file
    out, open_starts = [], {}

    def close(start, end, from_s, to_s, is_open):
        length = None if from_s is None else to_s - from_s
        out.append((start, end, from_s, to_s, length, is_open))

    for e in events:
        k = key(e)
        if e["event"] == start_kind:
            open_starts.setdefault(k, e)
        elif k in open_starts:
            start = open_starts.pop(k)
            close(start, e, rel(run, start["at"]), rel(run, e["at"]), 0)
        else:
            held = e.get("held_s") if is_num(e.get("held_s")) else e.get("duration_s")
            close(None, e, rel(run, e["at"] - held) if is_num(held) else None, rel(run, e["at"]), 0)
    for start in open_starts.values():
        close(start, None, rel(run, start["at"]), run.span, 1)
    return out


# ---------------------------------------------------------------- the queries
# Each takes one run, its selected requests in file order and the parameters, and gives rows
# without the leading `run`, in order.

def q_runs(run, rows, a):
    b = run.build or {}
    accounting = b.get("token_accounting")
    if accounting is None:
        said = {t.get("token_accounting") for t in run.terminals} - {None}
        accounting = said.pop() if len(said) == 1 else None
    mode = part(b, "admission").get("mode")
    yield [run.started_at, b.get("version"), b.get("git"), b.get("source"), accounting, mode,
           run.certainty, len(run.terminals), len(run.events), run.first, run.last, run.span,
           run.offset, run.error]


def q_outcomes(run, rows, a):
    for (terminal,), found in group(rows, lambda r: (r["terminal"],)):
        yield [terminal, len(found), ratio(len(found), len(rows))]


def q_attainment(run, rows, a):
    offered, scored, met = offered_scored_met(rows, a)
    yield [a.policy, a.ttft, a.tpot, offered, scored, met, ratio(met, scored), offered - scored]


def q_misses(run, rows, a):
    scored = [r for r in rows if is_scored(r, a.policy)]
    missed = [r for r in scored if not is_met(r, a)]
    for (miss,), found in group(missed, lambda r: (miss_of(r, a),)):
        yield [a.policy, miss, len(found), ratio(len(found), len(scored))]


def q_over_time(run, rows, a):
    by_bucket = dict(group(rows, lambda r: (bucket_of(run, r["arrived"], a),)))
    for i in buckets(run, a):
        offered, scored, met = offered_scored_met(by_bucket.get((i,), []), a)
        yield [i * a.bucket, offered, offered / a.bucket, scored, met, ratio(met, scored)]


def q_goodput(run, rows, a):
    bands = defaultdict(list)
    for _, offered, rate, scored, met, _ in q_over_time(run, rows, a):
        if offered:
            bands[math.floor(rate / a.band)].append((scored, met))
    for band, found in sorted(bands.items()):
        scored, met = sum(s for s, _ in found), sum(m for _, m in found)
        yield [band * a.band, (band + 1) * a.band, len(found), scored, met, ratio(met, scored)]


def q_refusals(run, rows, a):
    refused = [r for r in rows if r["terminal"] == "refused"]
    for (cause, reason), found in group(refused, lambda r: (r.get("refused_cause"), r.get("reason"))):
        yield [cause, reason, len(found), ratio(len(found), len(refused)),
               ratio(len(found), len(rows)), percentile([r.get("input_len") for r in found], 50)]


def q_engine_failures(run, rows, a):
    unattributed = sum(len(records_and_unattributed(r)[1]) for r in rows)
    if unattributed:
        yield [None, None, None, unattributed, None, None, None]
    for (engine, leg), found in group([leg for r in rows for leg in legs(r)], lambda x: x[:2]):
        failed = [record for _, _, record in found if record is not None]
        yield [engine, leg, len(found), len(failed), ratio(len(failed), len(found)),
               sum(r.get("retry_scheduled") is True for r in failed),
               sum(r.get("output_started") is True for r in failed)]


def q_failure_causes(run, rows, a):
    def key(item):
        entry = item[1]
        engine = {"decode": entry.get("decode_iid"), "prefill": entry.get("prefill_iid")}
        return (entry.get("phase"), entry.get("error_type"), entry.get("reason"),
                entry.get("status"), engine.get(entry.get("phase")))
    entries = [(i, e) for i, r in enumerate(rows) for e in failures(r)]
    for cause, found in group(entries, key):
        yield [*cause, len(found), sum(e.get("transient") is True for _, e in found),
               sum(e.get("retry_scheduled") is True for _, e in found), len({i for i, _ in found})]


def q_retries(run, rows, a):
    retried = [r for r in rows if any(e.get("retry_scheduled") is True for e in failures(r))]
    yield [len(rows), len(retried), ratio(len(retried), len(rows)),
           sum(r["terminal"] == "completed" and (r.get("attempts") or 0) > 1 for r in rows),
           total_int(r.get("attempts") for r in rows),
           sum(len(records_and_unattributed(r)[0]) for r in rows),
           total(e.get("backoff_s") for r in rows for e in failures(r)
                 if e.get("retry_scheduled") is True)]


LATENCY = ["ttft_s", "tpot_s", "first_byte_s", "decode_tpot_s", "queue_wait_s", "duration_s"]


def q_latency(run, rows, a):
    completed = [r for r in rows if r["terminal"] == "completed"]
    for metric in LATENCY:
        values = known(r.get(metric) for r in completed)
        yield [metric, len(values), ratio(math.fsum(values), len(values)),
               *(percentile(values, q) for q in (50, 90, 95, 99)), maximum(values)]


def spread(values):
    """n, p50, p90, p99, max"""
    values = known(values)
    return [len(values), *(percentile(values, q) for q in (50, 90, 99)), maximum(values)]


def q_engine_latency(run, rows, a):
    measured = [(r[engine], metric, r[metric]) for r in rows if r["terminal"] == "completed"
                for engine, metric in (("prefill_iid", "ttft_s"), ("decode_iid", "tpot_s"),
                                       ("decode_iid", "decode_tpot_s"))
                if r.get(engine) is not None and r.get(metric) is not None]
    for key, found in group(measured, lambda m: m[:2]):
        yield [*key, *spread(value for _, _, value in found)]


def q_handoff(run, rows, a):
    usable = [r for r in rows if r.get("ttft_s") is not None and r.get("first_byte_s") is not None
              and r["first_byte_s"] >= r["ttft_s"] and r.get("crossed") is not None]
    for (kind,), found in group(usable, lambda r: ("crossed" if r["crossed"] else "local",)):
        yield [kind, *spread(r["first_byte_s"] - r["ttft_s"] for r in found)]


def q_queue_waits(run, rows, a):
    if any(r.get("queue_waits") is not None for r in rows):
        for stage in ("admission", "prefill", "decode"):
            yield [stage, *spread(part(r, "queue_waits").get(stage) for r in rows)]
    yield ["total", *spread(r.get("queue_wait_s") for r in rows)]


def q_cancellations(run, rows, a):
    cancelled = [r for r in rows if r["terminal"] == "cancelled"]
    for (phase,), found in group(cancelled, lambda r: (r.get("cancelled_phase"),)):
        outputs = known(r.get("output_len") for r in found)
        yield [phase, len(found), sum(r.get("first_byte_s") is not None for r in found),
               total_int(outputs) if outputs else None,
               percentile([r.get("duration_s") for r in found], 50)]


def q_throughput(run, rows, a):
    arrived = dict(group(rows, lambda r: (bucket_of(run, r["arrived"], a),)))
    ended = dict(group([r for r in rows if r.get("duration_s") is not None],
                       lambda r: (bucket_of(run, r["arrived"] + r["duration_s"], a),)))
    for i in buckets(run, a):
        came, left = arrived.get((i,), []), ended.get((i,), [])
        tokens_in = total_int(r.get("input_len") for r in came)
        tokens_out = total_int(r.get("output_len") for r in left)
        yield [i * a.bucket, len(came), sum(r["terminal"] == "completed" for r in left),
               tokens_in, tokens_out, tokens_in / a.bucket, tokens_out / a.bucket]


def q_wasted_work(run, rows, a):
    both = [r for r in rows
            if r.get("decode_tokens_observed") is not None and r.get("output_len") is not None]
    observed = total_int(r["decode_tokens_observed"] for r in both)
    returned = total_int(r["output_len"] for r in both if r["terminal"] in ("completed", "cancelled"))
    yield [total(part(r, "upstream_seconds").get("prefill") for r in rows),
           total(part(r, "upstream_seconds").get("decode") for r in rows),
           observed, returned, observed - returned, ratio(observed - returned, observed)]


def q_admission_price(run, rows, a):
    priced = [r for r in rows if part(r, "admission_price").get("price_s") is not None]
    for (outcome,), found in group(priced, lambda r: (r["terminal"],)):
        prices = [(r["admission_price"]["price_s"], r.get("ttft_s")) for r in found]
        errors = [price - ttft for price, ttft in prices if ttft is not None]
        yield [outcome, len(found), percentile([p for p, _ in prices], 50),
               percentile([t for _, t in prices], 50), percentile(errors, 50), percentile(errors, 90)]


def q_cache(run, rows, a):
    largest = [maximum(part(r, "cached_tokens").values()) for r in rows]
    placements = [part(r, "cache_placement") for r in rows]
    yield [len(rows), sum(n is not None for n in largest), total_int(largest),
           total_int(p.get("placed_cached_tokens") for p in placements),
           total(p["cold_prefill_s"] - p["predicted_prefill_s"] for p in placements
                 if p.get("cold_prefill_s") is not None and p.get("predicted_prefill_s") is not None)]


def q_events(run, rows, a):
    for e in run.events:
        at = e["at"] if is_num(e.get("at")) else None
        clock = clock_of(e)
        wall = None
        if at is not None and clock == "wall":
            wall = iso(at)
        elif at is not None and clock == "monotonic" and run.offset is not None:
            wall = iso(at + run.offset)
        iid = e["iid"] if is_text(e.get("iid")) else None
        shown = {"schema", "schema_version", "run", "event", "at"} | ({"iid"} if iid is not None else set())
        detail = canonical({k: v for k, v in e.items() if k not in shown})
        yield [rel(run, monotonic_at(e)), at, clock, wall, e["event"], iid, detail]


def q_engine_downtime(run, rows, a):
    out = []
    for start, _end, from_s, to_s, length, is_open in intervals(
            run, "engine_ejected", "engine_readmitted", lambda e: canonical(e.get("iid"))):
        e = start or _end
        out.append([e.get("iid"), "ejected", start.get("cause") if start else None,
                    from_s, to_s, length, is_open])
    for start, end, from_s, to_s, length, is_open in intervals(
            run, "engine_hold_started", "engine_hold_ended",
            lambda e: canonical([e.get("iid"), e.get("kind")])):
        e = start or end
        out.append([e.get("iid"), e.get("kind"), end.get("cause") if end else None,
                    from_s, to_s, length, is_open])
    return sorted(out, key=lambda r: sort_key(r[0], r[1], r[3]))


def q_floor_breaches(run, rows, a):
    out = []
    for start, end, from_s, to_s, length, is_open in intervals(
            run, "below_floor", "below_floor_recovered", lambda e: None):
        e = start or end
        out.append([from_s, to_s, length, e.get("live_prefill"), e.get("min_prefill"), is_open])
    return sorted(out, key=lambda r: sort_key(r[0]))


def q_monitoring(run, rows, a):
    failed, degraded = defaultdict(list), defaultdict(list)
    for e in run.events:
        key = (e.get("stage"), e.get("class"))
        if e["event"] == "monitoring_stage_failure":
            failed[key].append(e.get("consecutive"))
        elif e["event"] == "monitoring_degraded":
            degraded[key]                    # has a row even when its start was ignored
    for start, _, _, _, length, _ in intervals(
            run, "monitoring_degraded", "monitoring_recovered", lambda e: None):
        if start:
            degraded[start.get("stage"), start.get("class")].append(length)
    for key in sorted({*failed, *degraded}, key=lambda k: sort_key(*k)):
        yield [*key, len(failed[key]), maximum(failed[key]), len(degraded[key]), total(degraded[key])]


def q_controller(run, rows, a):
    decisions = [e for e in run.events if e["event"] == "controller_decision"]
    for key, found in group(decisions, lambda e: (e.get("by"), e.get("result"), e.get("reason"))):
        times = known(rel(run, monotonic_at(e)) for e in found)
        yield [*key, len(found), min(times, default=None), max(times, default=None)]


SLOWEST = ["rid", "client_rid", "terminal", "ttft_s", "tpot_s", "first_byte_s", "duration_s",
           "input_len", "output_len", "prefill_iid", "decode_iid", "attempts"]


def q_slowest(run, rows, a):
    for r in sorted(rows, key=lambda r: sort_key(r["rid"])):
        if r.get(a.by) is not None:
            yield [r.get(column) for column in SLOWEST]


QUERIES = {
    "runs": (q_runs, "started_at version git source token_accounting admission_mode build_certainty"
             " terminals events first_s last_s span_s wall_offset_s wall_error_s"),
    "outcomes": (q_outcomes, "terminal requests share"),
    "attainment": (q_attainment, "policy ttft tpot offered scored met attainment excluded"),
    "attainment-misses": (q_misses, "policy miss requests share"),
    "attainment-over-time": (q_over_time, "bucket_s offered offered_per_s scored met attainment"),
    "goodput": (q_goodput, "rate_from rate_to buckets scored met attainment"),
    "refusals": (q_refusals, "cause reason requests share_of_refused share_of_offered input_len_p50"),
    "engine-failures": (q_engine_failures,
                        "engine leg attempts failures failure_rate retried output_started"),
    "failure-causes": (q_failure_causes, "phase error_type reason status engine failures transient"
                       " retried requests"),
    "retries": (q_retries, "requests retried retry_rate served_after_retry attempts wasted_attempts"
                " backoff_s_total"),
    "latency": (q_latency, "metric n mean p50 p90 p95 p99 max"),
    "engine-latency": (q_engine_latency, "engine metric n p50 p90 p99 max"),
    "handoff": (q_handoff, "kind n p50 p90 p99 max"),
    "queue-waits": (q_queue_waits, "stage n p50 p90 p99 max"),
    "cancellations": (q_cancellations, "phase requests with_output output_tokens duration_p50"),
    "throughput": (q_throughput, "bucket_s arrived completed input_tokens output_tokens"
                   " input_tokens_per_s output_tokens_per_s"),
    "wasted-work": (q_wasted_work, "upstream_prefill_s upstream_decode_s tokens_observed"
                    " tokens_returned tokens_discarded discarded_share"),
    "admission-price": (q_admission_price, "outcome n price_p50 ttft_p50 error_p50 error_p90"),
    "cache": (q_cache, "requests with_cached cached_tokens placed_cached saved_prefill_s"),
    "events": (q_events, "rel_s at clock wall event iid detail"),
    "engine-downtime": (q_engine_downtime, "engine kind cause from_s to_s duration_s open"),
    "floor-breaches": (q_floor_breaches, "from_s to_s duration_s live_prefill min_prefill open"),
    "monitoring": (q_monitoring, "stage class failures longest_streak degraded degraded_s"),
    "controller": (q_controller, "by result reason decisions first_rel_s last_rel_s"),
    "slowest": (q_slowest, " ".join(SLOWEST)),
}
NEED_TARGETS = {"attainment", "attainment-misses", "attainment-over-time", "goodput"}


# ---------------------------------------------------------------- command line

def selected(run, a):
    """The run's requests inside the window."""
    def inside(row):
        t = rel(run, row["arrived"])
        return ((a.from_s is None or a.from_s <= t) and (a.to_s is None or t < a.to_s)
                and (a.last_s is None or t >= run.span - a.last_s))
    return [r for r in run.terminals if inside(r)]


def answer(journals, a):
    runs = sorted(journals.runs.values(), key=lambda r: sort_key(r.started_at, r.name))
    if a.run == "last":
        runs = runs[-1:]
    elif a.run is not None:
        runs = [r for r in runs if r.name == a.run]
    query, columns = QUERIES[a.query]
    columns = ["run", *columns.split()]
    rows = [[run.name, *row] for run in runs for row in query(run, selected(run, a), a)]
    if a.query == "slowest":
        place = columns.index(a.by)
        rows = sorted(rows, key=lambda r: -r[place])[:a.limit]   # stable: ties by run, then rid
    return {"columns": columns, "rows": rows}


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
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument("--query", choices=QUERIES)
    what.add_argument("--counts", action="store_true")
    what.add_argument("--legs", action="store_true")
    what.add_argument("--batch", action="store_true")
    p.add_argument("--run")
    p.add_argument("--from", dest="from_s", type=float)
    p.add_argument("--to", dest="to_s", type=float)
    p.add_argument("--last", dest="last_s", type=float)
    p.add_argument("--ttft", type=float)
    p.add_argument("--tpot", type=float)
    p.add_argument("--policy", choices=["journal", "offers", "router"], default="journal")
    p.add_argument("--bucket", type=float, default=60)
    p.add_argument("--band", type=float, default=1.0)
    p.add_argument("--by", choices=["ttft_s", "tpot_s", "first_byte_s", "duration_s"], default="ttft_s")
    p.add_argument("--limit", type=int, default=20)
    p.add_argument("journals", nargs="*", metavar="JOURNAL")
    return p


def main():
    p = parser()
    given = p.parse_args()
    if not given.journals:
        p.error("no journal")
    asked = [p.parse_args(json.loads(line)) for line in sys.stdin] if given.batch else [given]
    for a in asked:
        if a.query in NEED_TARGETS and (a.ttft is None or a.tpot is None):
            p.error(f"{a.query} needs --ttft and --tpot")
    journals = Journals(given.journals)
    for a in asked:
        out = counts(journals) if a.counts else check_legs(journals) if a.legs else answer(journals, a)
        json.dump(out, sys.stdout)
        print()


if __name__ == "__main__":
    main()
