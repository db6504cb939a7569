"""Definitions that several queries share: percentiles, sums, legs, the SLO, intervals."""
import math
from collections import defaultdict
from dataclasses import dataclass

from rows import canonical, failures, is_num, monotonic_at, sort_key


# ---------------------------------------------------------------- numbers

def known(values):
    return [v for v in values if v is not None]


def rank(values, percent, n):
    """The ceil(percent / 100 * n)-th of n values, of which only `values` are known, the smallest."""
    k = (n * percent + 99) // 100
    return sorted(values)[k - 1] if 1 <= k <= len(values) else None


def percentile(values, percent):
    values = known(values)
    return rank(values, percent, len(values))


def maximum(values):
    return max(known(values), default=None)


def total(values):
    values = known(values)
    return math.fsum(values) if any(isinstance(v, float) for v in values) else sum(values)


def total_int(values):
    return int(sum(known(values)))


def or_null(add, values):
    """The sum of the known ones; a sum of nothing is null."""
    values = known(values)
    return add(values) if values else None


def ratio(a, b):
    return None if a is None or not b else a / b


def part(row, name):
    return row.get(name) or {}


def group(rows, key):
    """[(key, rows)] in key order."""
    out = defaultdict(list)
    for row in rows:
        out[key(row)].append(row)
    return sorted(out.items(), key=lambda item: sort_key(*item[0]))


# ---------------------------------------------------------------- attempts and legs

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


def engines_of_attempts(row):
    """Engines of the row and of its failed attempts, by leg."""
    rows = [row, *records_and_unattributed(row)[0].values()]
    return {leg: {r.get(f"{leg}_iid") for r in rows} - {None} for leg in ("prefill", "decode")}


def is_retried(row):
    return any(e.get("retry_scheduled") is True for e in failures(row))


# ---------------------------------------------------------------- the SLO

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
    """Why a scored row that did not meet missed."""
    if row["terminal"] != "completed":
        return row["terminal"]
    if a.policy != "router" and row.get("output_len") is None:
        return "output_unmeasured"
    if row.get("ttft_s") is None:
        return "ttft_unmeasured"
    late = [name for name, target in (("ttft", a.ttft), ("tpot", a.tpot))
            if row.get(name + "_s") is not None and row[name + "_s"] > target]
    return "+".join(late)


def has_targets(a):
    return a.ttft is not None and a.tpot is not None


def offered_scored_met(rows, a):
    """`met` is null without targets."""
    scored = [r for r in rows if is_scored(r, a.policy)]
    return len(rows), len(scored), sum(is_met(r, a) for r in scored) if has_targets(a) else None


# ---------------------------------------------------------------- buckets

def bucket_of(run, moment, bucket):
    return math.floor((moment - run.first) / bucket)


def last_bucket(run, bucket):
    return bucket_of(run, run.last, bucket)


def touched_buckets(run, windows, bucket):
    """The numbers of the run's buckets that a window touches."""
    if run.first is None:
        return []
    return [k for k in range(last_bucket(run, bucket) + 1)
            if any(run.first + k * bucket < to_s and from_s < run.first + (k + 1) * bucket
                   for from_s, to_s in windows)]


def wholly_in(run, windows, k, bucket):
    """Whether the windows (joined where they meet) take in all of a bucket."""
    return any(from_s <= run.first + k * bucket and run.first + (k + 1) * bucket <= to_s
               for from_s, to_s in windows)


# ---------------------------------------------------------------- intervals

@dataclass
class Interval:
    """In monotonic seconds of its run; `from_s` null when nothing says when it began."""
    start: dict | None
    end: dict | None
    from_s: float | None
    to_s: float

    def is_open(self):
        return int(self.end is None)

    def duration(self):
        return None if self.from_s is None else self.to_s - self.from_s

    def overlaps(self, from_s, to_s):
        begins = self.to_s if self.from_s is None else self.from_s
        return begins < to_s and from_s <= self.to_s

    def seconds_inside(self, from_s, to_s):
        if self.from_s is None:
            return 0
        return max(0, min(self.to_s, to_s) - max(self.from_s, from_s))


def intervals(run, start_kind, end_kind, key):
    """Every interval of the run, whatever is selected."""
    events = [e for e in run.events
              if e["event"] in (start_kind, end_kind) and monotonic_at(e) is not None]
    events.sort(key=lambda e: e["at"])       # stable: then the place in the file
    out, open_starts, last_end = [], {}, {}
    for e in events:
        k = key(e)
        if e["event"] == start_kind:
            open_starts.setdefault(k, e)
            continue
        if k in open_starts:
            start = open_starts.pop(k)
            out.append(Interval(start, e, start["at"], e["at"]))
        else:
            held = e.get("held_s") if is_num(e.get("held_s")) else e.get("duration_s")
            from_s = e["at"] - held if is_num(held) else None
            if from_s is not None and k in last_end:
                from_s = max(from_s, last_end[k])
            out.append(Interval(None, e, from_s, e["at"]))
        last_end[k] = e["at"]
    out += [Interval(start, None, start["at"], run.last) for start in open_starts.values()]
    return out


def ejections(run):
    return intervals(run, "engine_ejected", "engine_readmitted", lambda e: canonical(e.get("iid")))


def holds(run):
    return intervals(run, "engine_hold_started", "engine_hold_ended",
                     lambda e: canonical([e.get("iid"), e.get("kind")]))


def floor_breaches(run):
    return intervals(run, "below_floor", "below_floor_recovered", lambda e: None)


def degradations(run):
    """Those with a known start: an end alone names no stage."""
    return [i for i in intervals(run, "monitoring_degraded", "monitoring_recovered", lambda e: None)
            if i.start is not None]
