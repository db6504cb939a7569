"""The flags that choose, and the rows (scope, run, from_s, to_s) of `selection` that they make."""
import argparse
import fnmatch
import functools
import json
import math
import os
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from definitions import percentile
from journal import Run

OPEN = 1e308                 # an open end: -OPEN or OPEN
MAX_SCOPES = 1_000_000
GROWING_S = 600              # a plain file changed less than this ago may still grow
TAIL_ROWS = 10_000
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Refused(Exception):
    """A question that is not answered: exit code 2."""


@dataclass
class Part:
    """One row of `selection`."""
    scope: str
    run: Run
    from_s: float = -OPEN
    to_s: float = OPEN

    def takes_events_without_place(self):
        """A part that is all of its run is so whether the run has any time or not."""
        return self.from_s == -OPEN and self.to_s == OPEN


# ---------------------------------------------------------------- what the flags are written as

def duration(text):
    """Seconds, or like 5m, 1h30m, 7d."""
    if re.fullmatch(r"\d+(\.\d*)?", text):
        return float(text)
    if not re.fullmatch(r"(\d+(\.\d+)?[dhms])+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no duration")
    return math.fsum(float(n) * UNITS[unit] for n, unit in re.findall(r"([\d.]+)([dhms])", text))


@dataclass
class Moment:
    """A wall time, or an age that waits for the clock."""
    wall: float | None
    age: float | None = None

    def at(self, now):
        return self.wall if self.age is None else now - self.age


def moment(text):
    """ISO 8601 with Z, plain Unix seconds, or an age with a unit."""
    if re.fullmatch(r"\d+(\.\d*)?", text):
        return Moment(float(text))
    if re.fullmatch(r"(\d+(\.\d+)?[dhms])+", text):
        return Moment(None, duration(text))
    try:
        t = datetime.fromisoformat(text)
    except ValueError:
        t = None
    if t is None or t.utcoffset() != timedelta(0):
        raise argparse.ArgumentTypeError(f"{text!r} is no time in UTC")
    since_epoch = t - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return Moment(since_epoch / timedelta(seconds=1))


@dataclass
class By:
    kind: str                # run, all, release, source, folder, wall, rel
    step: int | None = None


def by(text):
    if text in ("run", "all", "release", "source", "folder"):
        return By(text)
    kind, step = ("rel", text[4:]) if text.startswith("run,") else ("wall", text)
    step = duration(step)
    if step < 1 or step != int(step):
        raise argparse.ArgumentTypeError(f"--by {text}: whole seconds")
    return By(kind, int(step))


def literal_rows(text):
    return [(scope, run, float(from_s), float(to_s)) for scope, run, from_s, to_s in json.loads(text)]


def add_flags(p):
    p.add_argument("--run", action="append", default=[], help="id, unique prefix, last or current")
    p.add_argument("--release", action="append", default=[])
    p.add_argument("--source", action="append", default=[], help="a glob")
    p.add_argument("--since", type=moment)
    p.add_argument("--until", type=moment)
    p.add_argument("--from", dest="from_d", type=duration)
    p.add_argument("--to", dest="to_d", type=duration)
    p.add_argument("--last", dest="last_d", type=duration)
    p.add_argument("--settled", action="store_true")
    p.add_argument("--by", type=by)
    p.add_argument("--rows", type=literal_rows,
                   help="the rows of selection themselves: JSON [[scope, run, from_s, to_s], ...]")


# ---------------------------------------------------------------- which runs

def journal_name(path):
    """What rotation and compression left of a journal's name: one name for all its files."""
    folder, name = os.path.split(path)
    while True:
        shorter = re.sub(r"\.(gz|zst)$|\.\d+$|-\d{8}(\d{2,6})?$|-\d{4}-\d{2}-\d{2}$", "", name)
        shorter = re.sub(r"-(\d{8}(\d{2,6})?|\d{4}-\d{2}-\d{2})\.jsonl$", ".jsonl", shorter)
        if shorter == name:
            return os.path.join(folder, name)
        name = shorter


@functools.cache
def current_runs(journals):
    """{name of a current run: the source it is current in}"""
    newest = {}
    for number, source in enumerate(journals.sources):
        name = journal_name(source.path)
        if name not in newest or source.modified >= journals.sources[newest[name]].modified:
            newest[name] = number
    out = {}
    for number in newest.values():
        arrivals = []
        for run in journals.runs.values():
            own = [t["arrived"] for t in run.by_source.get(number, []) if t.get("terminal") is not None]
            if own:
                wall = run.at_wall(max(own))
                arrivals.append(((wall is not None, wall or 0, run.key()), run))
        if arrivals:
            out[max(arrivals, key=lambda a: a[0])[1].name] = journals.sources[number]
    return out


def named_runs(journals, names):
    found = set()
    for name in names:
        if name == "last":
            found.update(run.name for run in journals.in_order()[-1:])
        elif name == "current":
            found.update(current_runs(journals))
        elif name in journals.runs:
            found.add(name)
        else:
            begins = [n for n in journals.runs if n.startswith(name)]
            if len(begins) != 1:
                raise Refused(f"--run {name}: {len(begins)} runs begin with it")
            found.update(begins)
    return found


def released_as(run, release):
    version = run.version()
    return version is not None and (version == release or version.startswith(release + "."))


def runs_of_sources(journals, globs):
    def matches(source, glob):
        return fnmatch.fnmatchcase(source.path if "/" in glob else os.path.basename(source.path), glob)
    return {name for source in journals.sources if any(matches(source, g) for g in globs)
            for name in source.runs}


def chosen_runs(journals, a):
    """In order of started_at, then id."""
    runs = journals.in_order()
    if a.run:
        names = named_runs(journals, a.run)
        runs = [r for r in runs if r.name in names]
    if a.release:
        runs = [r for r in runs if any(released_as(r, release) for release in a.release)]
    if a.source:
        names = runs_of_sources(journals, a.source)
        runs = [r for r in runs if r.name in names]
    return runs


# ---------------------------------------------------------------- which part of each

def tail(run):
    """The p99 duration of its last completed requests, or None."""
    completed = [t for t in run.arrivals if t["terminal"] == "completed"]
    return percentile([t.get("duration_s") for t in completed[-TAIL_ROWS:]], 99)


def settled_end(journals, run, now):
    """Where a run that may still grow is settled, or None."""
    source = current_runs(journals).get(run.name)
    if source is None or source.path.endswith((".gz", ".zst")) or now - source.modified >= GROWING_S:
        return None
    known_tail = tail(run)
    return None if known_tail is None else run.last - known_tail


def window(journals, run, a, now):
    """(from_s, to_s) of the run that is chosen, or None when that is nothing of it."""
    starts, ends = [-OPEN], [OPEN]
    last_counts_from = [run.last]
    if a.since is not None or a.until is not None:
        if run.offset is None:
            return None
        if a.since is not None:
            starts.append(a.since.at(now) - run.offset)
        if a.until is not None:
            ends.append(a.until.at(now) - run.offset)
            last_counts_from.append(ends[-1])
    if a.settled and (end := settled_end(journals, run, now)) is not None:
        ends.append(end)
        last_counts_from.append(end)
    if a.from_d is not None or a.to_d is not None or a.last_d is not None:
        if run.first is None:
            return None
        if a.from_d is not None:
            starts.append(run.first + a.from_d)
        if a.to_d is not None:
            ends.append(run.first + a.to_d)
        if a.last_d is not None:
            starts.append(min(last_counts_from) - a.last_d)
    from_s, to_s = max(starts), min(ends)
    return (from_s, to_s) if covers(run, from_s, to_s) else None


def covers(run, from_s, to_s):
    """Whether a run has any time in from_s <= t < to_s; all of a run is always something."""
    if from_s >= to_s:
        return False
    if run.first is None:
        return from_s == -OPEN and to_s == OPEN
    return from_s <= run.last and run.first < to_s


# ---------------------------------------------------------------- cut into scopes

def scope_of_run(run, kind):
    if kind == "run":
        return run.name
    if kind == "all":
        return "all"
    if kind == "release":
        return run.version() or "unknown"
    return run.path if kind == "source" else os.path.dirname(run.path) or "."


def cut_by_zero(whole, step):
    """Pieces of `step` seconds from the run's zero."""
    run = whole.run
    if run.first is None:
        return [Part(f"{run.name} +{0:09d}s", run, whole.from_s, whole.to_s)]
    last = math.floor(run.span / step)
    if last >= MAX_SCOPES:
        raise Refused("more than a million scopes")
    pieces = []
    for k in range(last + 1):
        from_s = max(whole.from_s, run.first + k * step)
        to_s = min(whole.to_s, run.first + (k + 1) * step)
        if covers(run, from_s, to_s):
            pieces.append(Part(f"{run.name} +{k * step:09d}s", run, from_s, to_s))
    return pieces


def bucket_name(k, step):
    try:
        return datetime.fromtimestamp(k * step, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        raise Refused("a wall time beyond the calendar") from None


def cut_by_wall(wholes, step):
    """Pieces between multiples of `step` in wall time, one scope for each multiple, no gap."""
    def bounds(run, k):
        return k * step - run.offset, (k + 1) * step - run.offset

    pieces, covered, ends = [], {}, {}
    for whole in wholes:
        run = whole.run
        if run.offset is None:
            pieces.append(Part("unknown", run, whole.from_s, whole.to_s))
            continue
        begins = max(whole.from_s, run.first) + run.offset
        ends[run.name] = min(whole.to_s, run.last) + run.offset
        first, last = math.floor(begins / step), math.floor(ends[run.name] / step)
        if last - first >= MAX_SCOPES:
            raise Refused("more than a million scopes")
        for k in range(first - 1, last + 2):         # one more each side: floats round
            from_s, to_s = bounds(run, k)
            from_s, to_s = max(from_s, whole.from_s), min(to_s, whole.to_s)
            if covers(run, from_s, to_s):
                covered.setdefault(k, []).append(Part(bucket_name(k, step), run, from_s, to_s))
    if covered and max(covered) - min(covered) >= MAX_SCOPES:
        raise Refused("more than a million scopes")
    before = None
    for k in range(min(covered, default=0), max(covered, default=-1) + 1):
        if k in covered:
            pieces += covered[k]
            before = max(covered[k], key=lambda p: (ends[p.run.name], p.run.key())).run
        else:                                        # it hangs on the run before, and holds nothing
            from_s, to_s = bounds(before, k)
            if from_s <= before.last:
                to_s = from_s
            pieces.append(Part(bucket_name(k, step), before, from_s, to_s))
    return pieces


def given_rows(journals, rows):
    parts = [Part(scope, journals.runs[run], from_s, to_s) for scope, run, from_s, to_s in rows
             if run in journals.runs]
    parts.sort(key=lambda p: (p.scope, p.run.name, p.from_s))
    for one, next_one in zip(parts, parts[1:]):
        if (one.scope, one.run) == (next_one.scope, next_one.run) and next_one.from_s < one.to_s:
            raise Refused(f"rows of scope {one.scope} overlap")
    return parts


def select(journals, a, now):
    """The parts chosen, in order of scope, run (started_at, then id) and from_s."""
    if a.rows is not None:
        parts = given_rows(journals, a.rows)
    else:
        wholes = []
        for run in chosen_runs(journals, a):
            chosen = window(journals, run, a, now)
            if chosen is not None:
                wholes.append(Part(run.name, run, *chosen))
        cut = a.by or By("run")
        if cut.kind == "wall":
            parts = cut_by_wall(wholes, cut.step)
        elif cut.kind == "rel":
            parts = [piece for whole in wholes for piece in cut_by_zero(whole, cut.step)]
        else:
            parts = [Part(scope_of_run(w.run, cut.kind), w.run, w.from_s, w.to_s) for w in wholes]
    parts.sort(key=lambda p: (p.scope.encode(), p.run.key(), p.from_s))
    if len({p.scope for p in parts}) > MAX_SCOPES:
        raise Refused("more than a million scopes")
    return parts


def windows_by_run(parts):
    """{run: [(from_s, to_s)]}: what the parts take of each run, joined where they meet or overlap."""
    windows = {}
    for p in sorted(parts, key=lambda p: (p.run.key(), p.from_s)):
        own = windows.setdefault(p.run, [])
        if own and p.from_s <= own[-1][1]:
            own[-1] = own[-1][0], max(own[-1][1], p.to_s)
        else:
            own.append((p.from_s, p.to_s))
    return windows


class Scope:
    """One group of an answer: its parts, and the requests and events they take in."""

    def __init__(self, name, parts):
        self.name, self.parts = name, parts
        self.requests = [t for p in parts for t in p.run.requests_in(p.from_s, p.to_s)]

    def events(self):
        """[(run, event)] of the scope, by run and in the order stored."""
        return [(p.run, e) for p in self.parts for place, e in p.run.placed
                if (p.takes_events_without_place() if place is None else p.from_s <= place < p.to_s)]


def scopes(parts):
    by_name = {}
    for p in parts:
        by_name.setdefault(p.scope, []).append(p)
    return [Scope(name, by_name[name]) for name in by_name]
