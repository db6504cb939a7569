"""Journals read into memory by the ingest rules: what is stored, and which build wrote which run."""
import os
import re
import time
from bisect import bisect_left
from collections import defaultdict
from datetime import datetime, timezone

import clock
from rows import build_field, canonical, failures, kind_of, monotonic_at, records_of_line, sort_key

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Source:
    """One journal as read. A copy of a file is the same source: the first path given stands."""

    def __init__(self, path, now):
        with open(path, "rb") as f:
            self.data = f.read()
        modified_ns = os.stat(path).st_mtime_ns      # after the read
        clock_s = time.time() if now is None else now
        self.path = str(path)
        self.modified = modified_ns / 1e9
        self.whole_second = modified_ns % 10**9 == 0
        if self.modified > clock_s:                  # a time in the future says nothing
            self.modified, self.whole_second = clock_s, False
        self.runs = set()                            # names of the runs met in it, duplicates too


class Run:
    def __init__(self, name):
        self.name = name
        self.terminals, self.events = [], []
        self.build, self.certainty = None, "missing"
        self.by_source = defaultdict(list)   # number of the source -> stored rows in file order
        self.start, self.started_at = None, None
        seconds = re.match(r"([0-9]+)-", name)
        if seconds:
            try:
                t = datetime.fromtimestamp(int(seconds[1]), timezone.utc)
                self.start, self.started_at = int(seconds[1]), t.strftime("%Y-%m-%dT%H:%M:%SZ")
            except (ValueError, OverflowError, OSError):
                pass

    def finish(self, sources):
        times = [t["arrived"] for t in self.terminals]
        times += [f["at"] for t in self.terminals for f in failures(t) if f.get("at") is not None]
        times += [m for m in map(monotonic_at, self.events) if m is not None]
        ends = [t["arrived"] + t["duration_s"] for t in self.terminals
                if t.get("duration_s") is not None]
        self.first = min(times, default=None)
        self.last = max(times + ends, default=None)
        self.span = None if self.first is None else self.last - self.first
        self.path = next((sources[n].path for n, rows in self.by_source.items() if rows), None)
        self.wall = clock.wall_clock(self, sources)
        self.offset = self.wall.offset
        # [(place or None, event)] in the order stored: by source, then place in the file
        self.placed = clock.places(self)
        self.arrivals = sorted(self.terminals, key=lambda t: (t["arrived"], t["rid"].encode()))
        self.arrival_times = [t["arrived"] for t in self.arrivals]

    def requests_in(self, from_s, to_s):
        """Its requests with from_s <= arrived < to_s, by arrival."""
        return self.arrivals[bisect_left(self.arrival_times, from_s):
                             bisect_left(self.arrival_times, to_s)]

    def version(self):
        """The version of the build that is exactly known to have written it, or None."""
        return build_field(self.build, "version") if self.certainty == "exact" else None

    def rel(self, moment):
        return None if moment is None or self.first is None else moment - self.first

    def at_wall(self, moment):
        """Estimated wall time of a monotonic moment."""
        return None if moment is None or self.offset is None else moment + self.offset

    def key(self):
        """Where it stands among runs: by started_at, then id."""
        return sort_key(self.started_at, self.name)


class Journals:
    def __init__(self, paths, now=None):
        self.runs = {}
        self.builds = self.rejected = 0
        self.seen_terminals, self.seen_events = {}, set()
        self.sources = []
        contents = set()
        for path in paths:
            source = Source(path, now)
            if source.data not in contents:          # a copy of a file is the same source
                contents.add(source.data)
                self.sources.append(source)
                self.read(source)
        for run in self.runs.values():
            run.finish(self.sources)

    def in_order(self):
        return sorted(self.runs.values(), key=Run.key)

    def read(self, source):
        self.kept = []                       # builds read and not taken
        self.ambiguous = 0                   # runs ambiguous over the kept set, which may grow
        data = source.data.removeprefix(BYTE_ORDER_MARK)
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
        if run.name not in source.runs:
            source.runs.add(run.name)
            self.attribute(run)
        number = len(self.sources) - 1
        text = canonical(obj)
        if kind == "event":
            if text not in self.seen_events:
                self.seen_events.add(text)
                run.events.append(obj)
                run.by_source[number].append(obj)
            return True
        key = (obj["run"], float(obj["arrived"]), obj["rid"])
        if key not in self.seen_terminals:
            self.seen_terminals[key] = text
            run.terminals.append(obj)
            run.by_source[number].append(obj)
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
