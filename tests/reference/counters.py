#!/usr/bin/env python3
"""Compares what the real journals say with the counters of the routers that wrote them.

  counters.py JOURNAL_DIR        a folder for each release; exit 1 when a difference is unexplained

Per run the counters stand in <journal>.<run>.state.json and .metrics.txt, read a little before the
process stopped. Rows and events from after that moment are dropped or bounded as said below.
"""
import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

from definitions import is_met, is_scored, known, part, total, total_int
from journal import Journals
from rows import failures, monotonic_at, write_time


def read_metrics(path):
    """name{labels} -> value; the `slo` label is dropped."""
    out = {}
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            name = re.sub(r'slo="[^"]*",?', "", name).replace(",}", "}").replace("{}", "")
            out[name] = float(value)
    return out


STATE = {"served": "completed", "expired": "expired", "failed": "failed", "cancelled": "cancelled",
         "invalid_requests": "invalid", "rejected": "rejected", "refused": "refused"}


def state_counts(state):
    flat = {**state, "rejected": state["admission"]["rejected"], "refused": state["admission"]["refused"]}
    return {terminal: flat[name] for name, terminal in STATE.items()}


def by_terminal(rows, slo):
    """Counters that move when a request ends."""
    n = Counter(r["terminal"] for r in rows)
    router = argparse.Namespace(policy="router", ttft=slo["ttft_s"], tpot=slo["tpot_s"])
    out = {
        "narwhal_served_total": n["completed"], "narwhal_cancelled_total": n["cancelled"],
        "narwhal_invalid_requests_total": n["invalid"], "narwhal_failed_total": n["failed"],
        "narwhal_expired_total": n["expired"], "narwhal_refused_total": n["refused"],
        "narwhal_rejected_total": n["rejected"],
        "narwhal_slo_met_total": sum(is_met(r, router) for r in rows),
        "narwhal_served_after_retry_total": sum(r["terminal"] == "completed" and r["attempts"] > 1 for r in rows),
        "narwhal_decode_tokens_observed_total": total_int(r.get("decode_tokens_observed") for r in rows),
        "narwhal_queue_wait_seconds_count": len(known(r.get("queue_wait_s") for r in rows)),
        "narwhal_queue_wait_seconds_sum": total(r.get("queue_wait_s") for r in rows)}
    for stage in ("admission", "prefill", "decode"):
        waits = known(part(r, "queue_waits").get(stage) for r in rows)
        out[f'narwhal_queue_wait_seconds_count{{stage="{stage}"}}'] = len(waits)
        out[f'narwhal_queue_wait_seconds_sum{{stage="{stage}"}}'] = total(waits)
    reasons = Counter()
    for r in rows:
        label = {"refused": "cause", "failed": "reason", "rejected": "reason", "expired": "reason"}.get(r["terminal"])
        if label:
            reasons[f'narwhal_{r["terminal"]}_total{{{label}="{r.get("reason")}"}}'] += 1
    return out | reasons


def on_the_way(rows):
    """Counters that move while a request runs (an open request has moved some of them)."""
    out = Counter({
        "narwhal_offered_total": len(rows),
        "narwhal_unsized_offered_total": sum(r["input_sized"] is False for r in rows),
        "narwhal_prefill_attempts_total": sum(r["attempts"] for r in rows),
        "narwhal_decode_attempts_total": sum(r["decode_attempts"] for r in rows),
        "narwhal_retry_attempts_total": sum(max(0, r["attempts"] - 1) for r in rows),
        "narwhal_retry_denied_total": sum(e.get("retry_reason") == "shared_budget"
                                          for r in rows for e in failures(r))})
    for phase in ("prefill", "decode"):
        out[f'narwhal_upstream_seconds_total{{phase="{phase}"}}'] = total(
            part(r, "upstream_seconds").get(phase) for r in rows)
    for metric in ("ttft", "tpot"):
        values = known(r.get(metric + "_s") for r in rows)      # of every terminal, not only completed
        out[f"narwhal_{metric}_seconds_count"] = len(values)
        out[f"narwhal_{metric}_seconds_sum"] = total(values)
    for r in rows:
        for e in failures(r):
            out[f'narwhal_attempt_failures_total{{phase="{e["phase"]}",reason="{e.get("reason")}"}}'] += 1
    return out


EVENT_COUNTERS = {
    "controller_decision": ("narwhal_controller_decisions_total", ["by", "result"]),
    "monitoring_stage_failure": ("narwhal_monitoring_stage_failures_total", ["stage"]),
    "below_floor": ("narwhal_prefill_below_floor_events_total", []),
    "decode_floor_restored": ("narwhal_decode_floor_restorations_total", []),
    "engine_ejected": ("narwhal_engine_ejections_total", ["iid", "cause"]),
    "engine_readmitted": ("narwhal_engine_readmissions_total", ["iid", "evidence"]),
    "engine_hold_started": ("narwhal_engine_hold_starts_total", ["iid", "kind"]),
    "engine_hold_ended": ("narwhal_engine_hold_ends_total", ["iid", "kind", "cause"]),
    "engine_probe": ("narwhal_engine_probes_total", ["iid", "kind", "outcome"])}


def by_event(events):
    out = Counter()
    for e in events:
        if e["event"] in EVENT_COUNTERS:
            name, labels = EVENT_COUNTERS[e["event"]]
            tail = ",".join(f'{k}="{e[k]}"' for k in labels)
            out[name + (f"{{{tail}}}" if tail else "")] += 1
        if e["event"] == "below_floor_recovered":
            out["narwhal_prefill_below_floor_seconds_total"] += e["duration_s"]
        if e["event"] == "monitoring_stage_failure":
            out["narwhal_monitoring_core_failures_total"] += 1
    return out


EVENT_FAMILIES = {c[0] for c in EVENT_COUNTERS.values()} | {
    "narwhal_prefill_below_floor_seconds_total", "narwhal_monitoring_core_failures_total"}
APPEAR_AT_ONE = EVENT_FAMILIES | {"narwhal_attempt_failures_total"}   # a label set shows when it counts


def families(counted, metrics, more=()):
    """The counters to compare: the families counted (and `more`) that the release has."""
    released = {m.split("{")[0] for m in metrics}
    wanted = ({k.split("{")[0] for k in counted} | set(more)) & released
    for k in sorted({*counted, *metrics}):
        family = k.split("{")[0]
        if family in wanted and (k in metrics or family in APPEAR_AT_ONE):
            yield k, counted.get(k, 0), metrics.get(k, 0)


class Check:
    def __init__(self):
        self.equal = self.explained = self.wrong = 0

    def say(self, name, journal, router, why=None):
        if why is None:
            self.wrong += 1
        else:
            self.explained += 1
        print(f"    {name}: journal {journal:g}, router {router:g}: {why or 'UNEXPLAINED'}")

    def run(self, journal, run, info, state, metrics, at_takeover):
        slo, note = info["slo"], info["note"]
        rows, after = run.terminals, []
        counted = state_counts(state)
        standby = at_takeover is not None
        lossy = "later rows are lost" in note
        if standby:
            # Final minus at-takeover counters cover the last rows only.
            before = state_counts(at_takeover)
            delta = {k: counted[k] - before[k] for k in counted}
            last = rows[len(rows) - sum(delta.values()):]
            self.same("standby, rows per terminal, final - at takeover",
                      dict(Counter(r["terminal"] for r in last)), {k: v for k, v in delta.items() if v})
            if "slo_met" in state:
                self.same("standby slo_met, final - at takeover", by_terminal(last, slo)["narwhal_slo_met_total"],
                          state["slo_met"] - at_takeover["slo_met"])
            print(f"    standby: the first {len(rows) - len(last)} of {len(rows)} rows are from before the"
                  f" at-takeover capture: {dict(Counter(r['terminal'] for r in rows[:len(rows) - len(last)]))}")
        elif not lossy:
            cut = sum(counted.values())                       # rows whose request ended before the capture
            rows, after = run.terminals[:cut], run.terminals[cut:]
            late = len(run.terminals) - state["offered"]      # arrived after it (killed.jsonl only)
            self.same("rows after the capture = in flight + arrived later", len(after),
                      info["inflight_at_capture"] + late)
            self.same("rows per terminal", dict(Counter(r["terminal"] for r in rows)),
                      {k: v for k, v in counted.items() if v})
        if not lossy:
            # The router's rolling figure: how many it scored. A takeover does not hand it over.
            rolling = state["attainment"]
            self.same("scored under policy router",
                      sum(is_scored(r, "router") for r in (run.terminals if standby else rows)),
                      rolling["outcomes"] + rolling["pruned_outcomes"])
        events_end = max((w for w in map(write_time, rows) if w is not None), default=0)

        outcomes = [f"narwhal_{t}_total" for t in ("failed", "refused", "rejected", "expired")]
        for k, j, m in families(by_terminal(rows, slo), metrics, outcomes):
            if abs(j - m) <= 1e-6 * max(1, abs(m)):
                self.equal += 1
            elif lossy and j < m:
                self.say(k, j, m, "rows lost (file-size limit)")
            elif standby:
                self.say(k, j, m, "takeover: the counter continues the primary's; rows from before it are in none")
            elif k == "narwhal_decode_tokens_observed_total" and info["release"] == "0.7.0" and \
                    state["token_accounting"] == "unavailable":
                self.say(k, j, m, "0.7.0 counts output that its rows leave null")
            elif after and k == "narwhal_decode_tokens_observed_total" and j <= m <= j + total_int(
                    r.get("decode_tokens_observed") for r in after):
                self.say(k, j, m, "in flight at capture: tokens of open streams")
            elif after and k.startswith("narwhal_queue_wait_seconds_") and \
                    j <= m <= by_terminal(run.terminals, slo)[k] + 1e-6:
                self.say(k, j, m, "in flight at capture: stages already waited through")
            else:
                self.say(k, j, m)

        everything = on_the_way(run.terminals)
        for k, j, m in families(on_the_way(rows), metrics, ["narwhal_attempt_failures_total"]):
            if abs(j - m) <= 1e-6 * max(1, abs(m)):
                self.equal += 1
            elif after and j <= m <= everything[k] + 1e-6:
                self.say(k, j, m, "in flight at capture")
            elif lossy and j < m:
                self.say(k, j, m, "rows lost (file-size limit)")
            elif standby:
                self.say(k, j, m, "takeover: the counter continues the primary's; rows from before it are in none")
            else:
                self.say(k, j, m)

        # Retry credits: one per scheduled retry before 0.6, one per dispatched retry from 0.6.
        spent = metrics["narwhal_retry_credits_spent_total"]
        scheduled = sum(e["retry_scheduled"] for r in rows for e in failures(r))
        dispatched = sum(max(0, r["attempts"] - 1) for r in rows)
        ours = scheduled if info["release"] < "0.6" else dispatched
        if ours == spent:
            self.equal += 1
        else:
            self.say("narwhal_retry_credits_spent_total", ours, spent,
                     "rows lost (file-size limit)" if lossy else "in flight at capture" if after else None)

        whole = by_event(run.events)
        early = by_event(e for e in run.events if monotonic_at(e) is None or monotonic_at(e) <= events_end)
        for k, j, m in families(whole, metrics, EVENT_FAMILIES):
            if abs(j - m) <= (6e-5 if "seconds" in k else 0):  # seconds are shown with 4 decimals
                self.equal += 1
            elif k == "narwhal_prefill_below_floor_seconds_total" and m > j and metrics["narwhal_prefill_below_floor"] == 1:
                self.say(k, j, m, "a breach still open at capture")
            elif lossy and j < m:
                self.say(k, j, m, "events lost (file-size limit)")
            elif early[k] <= m < j:
                self.say(k, j, m, "events from after the capture (later than its last counted row)")
            else:
                self.say(k, j, m)

    def same(self, name, a, b):
        if a == b:
            self.equal += 1
        else:
            self.wrong += 1
            print(f"    {name}: journal {a}, router {b}: UNEXPLAINED")


def main():
    check = Check()
    for journal in sorted(Path(sys.argv[1]).glob("*/*.jsonl")):
        if journal.parent.name.startswith("0.1"):
            continue
        for name, run in Journals([journal]).runs.items():
            def side(what):
                path = journal.with_name(f"{journal.stem}.{name}.{what}")
                return json.loads(path.read_text()) if path.exists() else None
            info = side("info.json")
            print(f"{journal.parent.name}/{journal.name} {name} ({info['note']})")
            check.run(journal, run, info, side("state.json"),
                      read_metrics(journal.with_name(f"{journal.stem}.{name}.metrics.txt")),
                      side("at-takeover.state.json"))
    print(f"{check.equal} equal, {check.explained} explained, {check.wrong} unexplained")
    sys.exit(1 if check.wrong else 0)


if __name__ == "__main__":
    main()
