"""The canned queries.

A query of scopes takes one scope and the parameters and gives its rows without the leading
`scope`; a query of runs takes one run and the windows selected of it, and gives its rows without
the leading `run`. Both in order. A query of all, as `selection` and `requests`, takes the parts and
orders all rows itself. The columns are those of docs/semantics.md, which must have a row for each.
"""
import math
from collections import defaultdict
from fractions import Fraction

from definitions import (bucket_of, degradations, ejections, floor_breaches, group, has_targets, holds,
                         is_met, is_retried, is_scored, known, last_bucket, legs, maximum, miss_of,
                         offered_scored_met, or_null, part, percentile, rank, ratio,
                         records_and_unattributed, total, total_int, touched_buckets, wholly_in)
from pages import Page, Unreadable
from rows import build_field, canonical, clock_of, failures, is_num, is_text, monotonic_at, sort_key
from selecting import OPEN, windows_by_run


COLUMNS = Page("semantics.md").columns("## Canned queries")
OF_SCOPES, OF_RUNS, OF_ALL = {}, {}, {}
NEED_TARGETS = {"attainment", "attainment-misses", "attainment-over-time", "goodput"}


def query_of(queries, leading):
    """A decorator that makes a function the answer of the query that it names."""
    def named(name):
        if name not in COLUMNS:
            raise Unreadable(f"docs/semantics.md has no row for `{name}` in its table of queries")
        if COLUMNS[name][:len(leading)] != leading:
            raise Unreadable(f"docs/semantics.md: the columns of `{name}` do not begin with {', '.join(leading)}")

        def take(function):
            if queries.setdefault(name, function) is not function:
                raise ValueError(f"two functions of the query {name}")
            return function
        return take
    return named


of_scopes, of_runs, of_all = query_of(OF_SCOPES, ["scope"]), query_of(OF_RUNS, ["run"]), query_of(OF_ALL, [])


# ---------------------------------------------------------------- what was selected

@of_all("selection")
def q_selection(parts, a):
    def bound(p, moment):
        return None if abs(moment) == OPEN else moment
    for p in parts:
        from_s, to_s = bound(p, p.from_s), bound(p, p.to_s)
        yield [p.scope, p.run.name, from_s, to_s, p.run.at_wall(from_s), p.run.at_wall(to_s)]


@of_runs("runs")
def q_runs(run, windows, a):
    accounting = build_field(run.build, "token_accounting")
    if accounting is None:
        said = {t.get("token_accounting") for t in run.terminals} - {None}
        accounting = said.pop() if len(said) == 1 else None
    yield [run.started_at, *(build_field(run.build, name) for name in ("version", "git", "source")),
           accounting, build_field(run.build, "admission.mode"), run.certainty, run.path,
           len(run.terminals), len(run.events), run.first, run.last, run.span, run.at_wall(run.first),
           run.at_wall(run.last), run.wall.error, run.wall.basis]


# ---------------------------------------------------------------- how much, and how it ended

def span_of(scope):
    """Length of the union of the scope's parts in wall time, or null when no run has any time.

    Exact in between: wall times as floats are no finer than a quarter of a microsecond.
    """
    pieces = []
    for p in scope.parts:
        if p.run.first is not None:
            begins, ends = max(p.from_s, p.run.first), min(p.to_s, p.run.last)
            # Runs without a wall time cannot be laid beside others: each has an axis of its own.
            axis = "" if p.run.offset is not None else p.run.name
            offset = Fraction(p.run.offset or 0)
            pieces.append((axis, Fraction(begins) + offset, Fraction(ends) + offset))
    length, reached = Fraction(0), {}
    for axis, begins, ends in sorted(pieces):
        begins = max(begins, reached.get(axis, begins))
        if ends > begins:
            length += ends - begins
            reached[axis] = ends
    return float(length) if pieces else None


@of_scopes("rates")
def q_rates(scope, a):
    span, rows = span_of(scope), scope.requests
    yield [span, len(rows), ratio(len(rows), span),
           ratio(sum(r["terminal"] == "completed" for r in rows), span),
           ratio(or_null(total_int, (r.get("input_len") for r in rows)), span),
           ratio(or_null(total_int, (r.get("output_len") for r in rows)), span)]


@of_scopes("outcomes")
def q_outcomes(scope, a):
    for (terminal,), found in group(scope.requests, lambda r: (r["terminal"],)):
        yield [terminal, len(found), ratio(len(found), len(scope.requests))]


# ---------------------------------------------------------------- the SLO

@of_scopes("attainment")
def q_attainment(scope, a):
    offered, scored, met = offered_scored_met(scope.requests, a)
    yield [a.policy, a.ttft, a.tpot, offered, scored, met, ratio(met, scored), offered - scored]


@of_scopes("attainment-misses")
def q_misses(scope, a):
    scored = [r for r in scope.requests if is_scored(r, a.policy)]
    missed = [r for r in scored if not is_met(r, a)]
    for (miss,), found in group(missed, lambda r: (miss_of(r, a),)):
        yield [a.policy, miss, len(found), ratio(len(found), len(scored))]


def requests_of(run, windows):
    return [r for window in windows for r in run.requests_in(*window)]


@of_runs("attainment-over-time")
def q_over_time(run, windows, a):
    by_bucket = defaultdict(list)
    for r in requests_of(run, windows):
        by_bucket[bucket_of(run, r["arrived"], a.bucket)].append(r)
    for k in sorted({*touched_buckets(run, windows, a.bucket), *by_bucket}):
        offered, scored, met = offered_scored_met(by_bucket[k], a)
        yield [k * a.bucket, offered, offered / a.bucket, scored, met, ratio(met, scored)]


@of_scopes("goodput")
def q_goodput(scope, a):
    bands = defaultdict(list)
    for run, windows in windows_by_run(scope.parts).items():
        for bucket_s, offered, rate, scored, met, _ in q_over_time(run, windows, a):
            k = round(bucket_s / a.bucket)
            counts = wholly_in(run, windows, k, a.bucket) or k == last_bucket(run, a.bucket)
            if offered and counts:
                bands[math.floor(rate / a.band)].append((scored, met))
    for band, found in sorted(bands.items()):
        scored, met = sum(s for s, _ in found), sum(m for _, m in found)
        yield [band * a.band, (band + 1) * a.band, len(found), scored, met, ratio(met, scored)]


@of_scopes("slo-frontier")
def q_slo_frontier(scope, a):
    rows = scope.requests
    if not rows:
        return
    if a.tpot is not None:
        targets = [a.tpot]
    else:
        tpots = known(r.get("tpot_s") for r in rows if r["terminal"] == "completed")
        targets = sorted({percentile(tpots, q) for q in (50, 90, 95, 99)}) if tpots else [None]
    scored = [r for r in rows if is_scored(r, a.policy)]
    observed = sorted(set(known(r.get("ttft_s") for r in rows)))
    for tpot in targets:
        # The TTFT from which each row meets: no other row of those scored can meet at all.
        meets_from = sorted(
            r["ttft_s"] for r in scored
            if r["terminal"] == "completed" and r.get("ttft_s") is not None
            and (r.get("tpot_s") is None or tpot is None or r["tpot_s"] <= tpot)
            and (a.policy == "router" or r.get("output_len") is not None))
        least, met_at_least, met = None, None, 0
        for ttft in observed:
            while met < len(meets_from) and meets_from[met] <= ttft:
                met += 1
            if scored and met / len(scored) >= a.wanted:
                least, met_at_least = ttft, met
                break
        yield [a.policy, a.wanted, tpot, len(scored), ratio(len(meets_from), len(scored)),
               least, met_at_least]


@of_scopes("prompt-sizes")
def q_prompt_sizes(scope, a):
    sized = [r for r in scope.requests
             if r.get("input_sized") is not False and r.get("input_len") is not None
             and r["input_len"] >= 0]
    for (bits,), found in group(sized, lambda r: (int(r["input_len"]).bit_length(),)):
        offered, scored, met = offered_scored_met(found, a)
        ttfts = [r.get("ttft_s") for r in found if r["terminal"] == "completed"]
        yield [2 ** (bits - 1) if bits else 0, 2 ** bits, offered, scored, met, ratio(met, scored),
               percentile(ttfts, 50), percentile(ttfts, 99)]


# ---------------------------------------------------------------- what went wrong

@of_scopes("refusals")
def q_refusals(scope, a):
    refused = [r for r in scope.requests if r["terminal"] == "refused"]
    for (cause, reason), found in group(refused, lambda r: (r.get("refused_cause"), r.get("reason"))):
        yield [cause, reason, len(found), ratio(len(found), len(refused)),
               ratio(len(found), len(scope.requests)), percentile([r.get("input_len") for r in found], 50)]


@of_scopes("engine-failures")
def q_engine_failures(scope, a):
    unattributed = sum(len(records_and_unattributed(r)[1]) for r in scope.requests)
    if unattributed:
        yield [None, None, None, unattributed, None, None, None]
    for (engine, leg), found in group([leg for r in scope.requests for leg in legs(r)], lambda x: x[:2]):
        failed = [record for _, _, record in found if record is not None]
        yield [engine, leg, len(found), len(failed), ratio(len(failed), len(found)),
               sum(r.get("retry_scheduled") is True for r in failed),
               sum(r.get("output_started") is True for r in failed)]


@of_scopes("failure-causes")
def q_failure_causes(scope, a):
    def key(item):
        entry = item[1]
        engine = {"decode": entry.get("decode_iid"), "prefill": entry.get("prefill_iid")}
        return (entry.get("phase"), entry.get("error_type"), entry.get("reason"),
                entry.get("status"), engine.get(entry.get("phase")))
    entries = [(i, e) for i, r in enumerate(scope.requests) for e in failures(r)]
    causes = group(entries, key)
    for cause, found in sorted(causes, key=lambda c: -len(c[1])):        # stable
        yield [*cause, len(found), sum(e.get("transient") is True for _, e in found),
               sum(e.get("retry_scheduled") is True for _, e in found), len({i for i, _ in found})]


@of_scopes("retries")
def q_retries(scope, a):
    rows = scope.requests
    retried = sum(map(is_retried, rows))
    yield [len(rows), retried, ratio(retried, len(rows)),
           sum(r["terminal"] == "completed" and (r.get("attempts") or 0) > 1 for r in rows),
           or_null(total_int, (r.get("attempts") for r in rows)),
           sum(len(records_and_unattributed(r)[0]) for r in rows),
           or_null(total, (e.get("backoff_s") for r in rows for e in failures(r)
                           if e.get("retry_scheduled") is True))]


@of_scopes("cancellations")
def q_cancellations(scope, a):
    cancelled = [r for r in scope.requests if r["terminal"] == "cancelled"]
    for (phase,), found in group(cancelled, lambda r: (r.get("cancelled_phase"),)):
        yield [phase, len(found), sum(r.get("first_byte_s") is not None for r in found),
               or_null(total_int, (r.get("output_len") for r in found)),
               percentile([r.get("duration_s") for r in found], 50)]


# ---------------------------------------------------------------- how fast

LATENCY = ["ttft_s", "tpot_s", "first_byte_s", "decode_tpot_s", "queue_wait_s", "duration_s"]


@of_scopes("latency")
def q_latency(scope, a):
    completed = [r for r in scope.requests if r["terminal"] == "completed"]
    unserved = 0
    if a.of == "offers":
        unserved = sum(r["terminal"] not in ("completed", "invalid", "cancelled") for r in scope.requests)
    for metric in LATENCY:
        values = sorted(known(r.get(metric) for r in completed))
        n = len(values) + unserved
        yield [metric, n, unserved, ratio(math.fsum(values), len(values)),
               *(rank(values, q, n) for q in (50, 90, 95, 99)), maximum(values)]


def spread(values):
    """n, p50, p90, p99, max"""
    values = known(values)
    return [len(values), *(percentile(values, q) for q in (50, 90, 99)), maximum(values)]


@of_scopes("engine-latency")
def q_engine_latency(scope, a):
    measured = [(metric, r[engine], r[metric]) for r in scope.requests if r["terminal"] == "completed"
                for engine, metric in (("prefill_iid", "ttft_s"), ("decode_iid", "tpot_s"),
                                       ("decode_iid", "decode_tpot_s"))
                if r.get(engine) is not None and r.get(metric) is not None]
    for key, found in group(measured, lambda m: m[:2]):
        yield [*key, *spread(value for _, _, value in found)]


@of_scopes("handoff")
def q_handoff(scope, a):
    usable = [r for r in scope.requests if r.get("ttft_s") is not None
              and r.get("first_byte_s") is not None and r["first_byte_s"] >= r["ttft_s"]
              and r.get("crossed") is not None]
    for (kind,), found in group(usable, lambda r: ("crossed" if r["crossed"] else "local",)):
        yield [kind, *spread(r["first_byte_s"] - r["ttft_s"] for r in found)]


@of_scopes("queue-waits")
def q_queue_waits(scope, a):
    for stage in ("admission", "prefill", "decode"):
        waits = known(part(r, "queue_waits").get(stage) for r in scope.requests)
        if waits:
            yield [stage, *spread(waits)]
    yield ["total", *spread(r.get("queue_wait_s") for r in scope.requests)]


@of_scopes("admission-price")
def q_admission_price(scope, a):
    priced = [r for r in scope.requests if part(r, "admission_price").get("price_s") is not None]
    for (outcome,), found in group(priced, lambda r: (r["terminal"],)):
        prices = [(r["admission_price"]["price_s"], r.get("ttft_s")) for r in found]
        errors = [price - ttft for price, ttft in prices if ttft is not None]
        yield [outcome, len(found), percentile([p for p, _ in prices], 50),
               percentile([t for _, t in prices], 50), percentile(errors, 50), percentile(errors, 90)]


# ---------------------------------------------------------------- what it cost

@of_runs("throughput")
def q_throughput(run, windows, a):
    rows = requests_of(run, windows)
    arrived, ended = defaultdict(list), defaultdict(list)
    for r in rows:
        arrived[bucket_of(run, r["arrived"], a.bucket)].append(r)
        if r.get("duration_s") is not None:
            ended[bucket_of(run, r["arrived"] + r["duration_s"], a.bucket)].append(r)
    knows_input = any(r.get("input_len") is not None for r in run.terminals)
    knows_output = any(r.get("output_len") is not None for r in run.terminals)
    for k in sorted({*touched_buckets(run, windows, a.bucket), *arrived}):
        tokens_in = total_int(r.get("input_len") for r in arrived[k]) if knows_input else None
        tokens_out = total_int(r.get("output_len") for r in ended[k]) if knows_output else None
        yield [k * a.bucket, len(arrived[k]), sum(r["terminal"] == "completed" for r in ended[k]),
               tokens_in, tokens_out, ratio(tokens_in, a.bucket), ratio(tokens_out, a.bucket)]


@of_scopes("wasted-work")
def q_wasted_work(scope, a):
    rows = scope.requests
    both = [r for r in rows
            if r.get("decode_tokens_observed") is not None and r.get("output_len") is not None]
    observed = returned = discarded = None
    if both:
        observed = total_int(r["decode_tokens_observed"] for r in both)
        returned = total_int(r["output_len"] for r in both if r["terminal"] in ("completed", "cancelled"))
        discarded = observed - returned
    yield [or_null(total, (part(r, "upstream_seconds").get("prefill") for r in rows)),
           or_null(total, (part(r, "upstream_seconds").get("decode") for r in rows)),
           observed, returned, discarded, ratio(discarded, observed)]


@of_scopes("cache")
def q_cache(scope, a):
    largest = [maximum(part(r, "cached_tokens").values()) for r in scope.requests]
    placements = [part(r, "cache_placement") for r in scope.requests]
    yield [len(scope.requests), len(known(largest)), or_null(total_int, largest),
           or_null(total_int, (p.get("placed_cached_tokens") for p in placements)),
           or_null(total, (p["cold_prefill_s"] - p["predicted_prefill_s"] for p in placements
                           if p.get("cold_prefill_s") is not None
                           and p.get("predicted_prefill_s") is not None))]


# ---------------------------------------------------------------- single requests and events

NAMES_A_REASON = ("refused_cause", "cancelled_phase", "reason", "error_type", "error_code")
WHY = ("refused_cause", "cancelled_phase", "error_type", "error")


def shown_miss(row, a):
    """Its miss, null when it met, is not scored, or nothing was promised."""
    if not has_targets(a) or not is_scored(row, a.policy) or is_met(row, a):
        return None
    return miss_of(row, a)


def engines_of(row):
    """Engines of the row and of its failed attempts."""
    return {e.get(name) for e in [row, *records_and_unattributed(row)[0].values()]
            for name in ("prefill_iid", "decode_iid")} - {None}


def is_asked_for(row, a):
    return ((a.terminal is None or row["terminal"] == a.terminal)
            and (a.miss is None or shown_miss(row, a) == a.miss)
            and (a.engine is None or a.engine in engines_of(row))
            and (a.client is None or (row.get("client_rid") or "").startswith(a.client)
                 and row.get("client_rid") is not None)
            and (a.reason is None or any(row.get(name) == a.reason for name in NAMES_A_REASON))
            and (a.retried is None or is_retried(row) == bool(a.retried)))


@of_all("requests")
def q_requests(parts, a):
    found = [(run, r) for run, windows in windows_by_run(parts).items()
             for r in requests_of(run, windows)
             if is_asked_for(r, a) and (a.order == "arrived" or r.get(a.order) is not None)]
    # In order of run, arrived and rid; the sort is stable.
    if a.order != "arrived":
        found.sort(key=lambda f: -f[1][a.order])
    for run, r in found[:a.limit]:
        yield [run.name, run.rel(r["arrived"]), run.at_wall(r["arrived"]), r["rid"], r.get("client_rid"),
               r["terminal"], shown_miss(r, a), next((r[n] for n in WHY if r.get(n) is not None), None),
               r.get("ttft_s"), r.get("tpot_s"), r.get("first_byte_s"), r.get("duration_s"),
               r.get("input_len"), r.get("output_len"), r.get("attempts"), r.get("prefill_iid"),
               r.get("decode_iid")]


def iid_of(event):
    return event["iid"] if is_text(event.get("iid")) else None


def event_row(run, e):
    at, clock = e["at"] if is_num(e.get("at")) else None, clock_of(e)
    wall = {"wall": at, "monotonic": run.at_wall(at), "unknown": None}[clock]
    shown = {"schema", "schema_version", "run", "event", "at"} | ({"iid"} if iid_of(e) is not None else set())
    detail = canonical({k: v for k, v in e.items() if k not in shown})
    return [run.rel(monotonic_at(e)), at, clock, wall, e["event"], iid_of(e), detail]


@of_runs("events")
def q_events(run, windows, a):
    everything = windows == [(-OPEN, OPEN)]
    placed = [(place, e) for place, e in run.placed
              if (everything if place is None else any(f <= place < t for f, t in windows))]
    placed.sort(key=lambda p: sort_key(p[0]))            # stable: then as stored
    for _, e in placed:
        if (a.event is None or e["event"] == a.event) and (a.engine is None or iid_of(e) == a.engine):
            yield event_row(run, e)


# ---------------------------------------------------------------- intervals and decisions

def those_selected(intervals, windows):
    return [i for i in intervals if any(i.overlaps(f, t) for f, t in windows)]


def times_of(run, i):
    """from_s, to_s, duration_s, wall_from, wall_to"""
    return [run.rel(i.from_s), run.rel(i.to_s), i.duration(), run.at_wall(i.from_s), run.at_wall(i.to_s)]


@of_runs("engine-downtime")
def q_engine_downtime(run, windows, a):
    out = []
    for i in those_selected(ejections(run), windows):
        cause = i.start.get("cause") if i.start else None
        out.append([(i.start or i.end).get("iid"), "ejected", cause, *times_of(run, i), i.is_open()])
    for i in those_selected(holds(run), windows):
        e, cause = i.start or i.end, i.end.get("cause") if i.end else None
        out.append([e.get("iid"), e.get("kind"), cause, *times_of(run, i), i.is_open()])
    return sorted(out, key=lambda r: sort_key(r[0], r[1], r[3], r[4]))


@of_runs("floor-breaches")
def q_floor_breaches(run, windows, a):
    out = []
    for i in those_selected(floor_breaches(run), windows):
        e = i.start or i.end
        out.append([*times_of(run, i), e.get("live_prefill"), e.get("min_prefill"), i.is_open()])
    return sorted(out, key=lambda r: sort_key(r[0], r[1]))


@of_scopes("monitoring")
def q_monitoring(scope, a):
    failed, starts, seconds, keys = defaultdict(list), defaultdict(int), defaultdict(list), set()
    for _, e in scope.events():
        key = (e.get("stage"), e.get("class"))
        if e["event"] == "monitoring_stage_failure":
            keys.add(key)
            failed[key].append(e["consecutive"] if is_num(e.get("consecutive")) else None)
        elif e["event"] == "monitoring_degraded":
            keys.add(key)                    # has a row even when its start was ignored
    for p in scope.parts:
        for i in degradations(p.run):
            key = (i.start.get("stage"), i.start.get("class"))
            starts_here = p.from_s <= i.from_s < p.to_s
            inside = i.seconds_inside(p.from_s, p.to_s)
            if starts_here or inside > 0:
                keys.add(key)
                starts[key] += starts_here
                seconds[key].append(inside)
    for key in sorted(keys, key=lambda k: sort_key(*k)):
        yield [*key, len(failed[key]), maximum(failed[key]), starts[key], or_null(total, seconds[key])]


@of_scopes("controller")
def q_controller(scope, a):
    decisions = [(run, e) for run, e in scope.events() if e["event"] == "controller_decision"]
    for key, found in group(decisions, lambda d: tuple(d[1].get(n) for n in ("by", "result", "reason"))):
        times = known(run.at_wall(monotonic_at(e)) for run, e in found)
        yield [*key, len(found), min(times, default=None), max(times, default=None)]


NAMES = sorted([*OF_SCOPES, *OF_RUNS, *OF_ALL])
if NAMES != sorted(COLUMNS):
    raise Unreadable(f"docs/semantics.md has queries that the reference cannot answer: {set(COLUMNS) - set(NAMES)}")
