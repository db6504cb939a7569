"""The wall clock of a run, and the places of its events in monotonic time."""
from dataclasses import dataclass

from rows import clock_of, is_num, monotonic_at, write_time

COARSE_CLOCK_S = 0.02        # the kernel stamps files with a clock that may be this late
WHOLE_SECOND_S = 1           # what a file time without a fraction may have lost
LIFECYCLE_WIDTH_S = 10
START_FILE_WIDTH_S = 5


@dataclass
class Wall:
    """What is known of offset = wall - monotonic."""
    low: float | None = None
    high: float | None = None
    offset: float | None = None
    error: float | None = None
    basis: str | None = None


def around(rows):
    """[(row, write time of the nearest row before that has one, the same after)]"""
    times = [write_time(row) for row in rows]
    before, after = [], []
    last = None
    for t in times:
        before.append(last)
        last = last if t is None else t
    last = None
    for t in reversed(times):
        after.append(last)
        last = last if t is None else t
    return list(zip(rows, before, reversed(after)))


def is_event(row):
    return row.get("terminal") is None


def has_wall_time(row):
    return is_event(row) and clock_of(row) == "wall" and is_num(row.get("at"))


def lifecycle_bounds(run):
    """(low, high) from the events with wall time that stand between two rows, or None."""
    between = [(row["at"] - after, row["at"] - before)
               for rows in run.by_source.values() for row, before, after in around(rows)
               if has_wall_time(row) and before is not None and after is not None]
    if not between:
        return None
    return max(low for low, _ in between), min(high for _, high in between)


def start_bound(run):
    return None if run.start is None or run.first is None else run.start - run.first


def file_bound(run, sources):
    bounds = []
    for number, rows in run.by_source.items():
        written = [t for t in map(write_time, rows) if t is not None]
        if written:
            source = sources[number]
            slack = COARSE_CLOCK_S + (WHOLE_SECOND_S if source.whole_second else 0)
            bounds.append(source.modified + slack - max(written))
    return min(bounds, default=None)


def intersection(lifecycle, start, file):
    low, high = lifecycle or (None, None)
    low = max((b for b in (low, start) if b is not None), default=None)
    high = min((b for b in (high, file) if b is not None), default=None)
    return low, high


def crosses(low, high):
    return low is not None and high is not None and low > high


def wall_clock(run, sources):
    lifecycle, start, file = lifecycle_bounds(run), start_bound(run), file_bound(run, sources)
    if lifecycle and crosses(*lifecycle):            # the clock was stepped
        return Wall()
    low, high = intersection(lifecycle, start, file)
    if crosses(low, high):
        file = None
        low, high = intersection(lifecycle, start, file)
    if crosses(low, high):
        start = None
        low, high = intersection(lifecycle, start, file)

    def middle(basis):
        return Wall(low, high, (low + high) / 2, (high - low) / 2, basis)

    if lifecycle and high - low <= LIFECYCLE_WIDTH_S:
        return middle("lifecycle")
    if start is not None and file is not None and file - start <= START_FILE_WIDTH_S:
        return middle("start+file")
    if start is not None:
        return Wall(low, high, low, None, "start")
    if lifecycle:                                    # a run id without a time, or one that cannot be
        return middle("lifecycle")
    return Wall(low, high)


def place(run, event, before, after):
    at = monotonic_at(event)
    if at is not None:
        return at
    if has_wall_time(event) and run.offset is not None:
        moment = event["at"] - run.offset
        if after is not None:
            moment = min(moment, after)
        if before is not None:
            moment = max(moment, before)
        return moment
    return run.first if before is None else before


def places(run):
    """[(place or None, event)] in the order stored."""
    return [(place(run, row, before, after), row)
            for rows in run.by_source.values() for row, before, after in around(rows)
            if is_event(row)]
