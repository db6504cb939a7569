#!/usr/bin/env python3
"""Answers of the reference to tiny journals, worked out by hand: python3 selftest.py"""
import sys

sys.dont_write_bytecode = True

import json
import os
import tempfile
import unittest
from pathlib import Path

import reference
import rows
from journal import Journals
from pages import Page, Unreadable

A, B, C = "1000000000-aaaaaaaa", "1000000400-bbbbbbbb", "1000000004-cccccccc"
HEAD = {"schema": "narwhal.journal", "schema_version": 1}


def build(version):
    return {"meta": {**HEAD, "version": version, "token_accounting": "token_ids"}}


def request(run, rid, arrived, duration_s, terminal, **fields):
    return {**HEAD, "run": run, "rid": rid, "arrived": arrived, "duration_s": duration_s,
            "terminal": terminal, **fields}


def event(run, name, at, **fields):
    return {**HEAD, "run": run, "event": name, "at": at, **fields}


# Run A: zero 100, end 300. Start: 1000000000 - 100 = 999999900 <= offset. File: written by
# 1000000202.48 + 0.02, the last row at 300: offset <= 999999902.5. So start+file, the middle
# 999999901.25, error 1.25, and the wall time of zero is 1000000001.25 = 01:46:41.25.
JOURNAL_A = [
    build("0.7.1"),
    request(A, "r1", 100.0, 1.0, "completed", ttft_s=0.25, tpot_s=0.01, output_len=10, input_len=1,
            queue_wait_s=0, queue_waits={"admission": 0.5, "prefill": None}, client_rid="job-1"),
    request(A, "r2", 110.0, 2.0, "completed", ttft_s=0.5, tpot_s=0.02, output_len=10, input_len=3,
            client_rid="job-2", prefill_iid="p1", decode_iid="d1", attempts=2, decode_attempts=2,
            attempt_failures=[
                {"attempt": 1, "phase": "decode", "prefill_iid": "p0", "decode_iid": "d0",
                 "retry_scheduled": True, "retry_reason": "allowed", "backoff_s": 0.125},
                {"attempt": 3, "phase": "queue", "prefill_iid": "p9", "retry_reason": "not_dispatched"}]),
    request(A, "r3", 130.0, 1.0, "failed", input_len=3, error="boom", reason="engine_error"),
    event(A, "monitoring_stage_failure", 149.0, stage="s", **{"class": "c"}, consecutive=3),
    event(A, "monitoring_degraded", 150.0, stage="s", **{"class": "c"}, core_consecutive=3),
    event(A, "engine_hold_ended", 155.0, iid="d0", kind="timed", cause="health", held_s=5.0),
    event(A, "engine_hold_ended", 157.0, iid="d0", kind="timed", cause="health", held_s=5.0),
    event(A, "monitoring_recovered", 170.0),
    event(A, "something_new", 5, iid="d0"),                    # place: the row before, 170
    request(A, "r4", 165.0, 5.0, "completed", ttft_s=0.75, output_len=1, input_len=0),
    event(A, "engine_ejected", 290.0, iid="p0", cause="health"),
    request(A, "r5", 290.0, 10.0, "cancelled", ttft_s=0.125, output_len=2, input_len=4,
            cancelled_phase="decode", first_byte_s=0.25),
]
# Run B: zero 5000, end 5042. Start: 1000000400 - 5000 = 999995400. File: 1000000443.98 + 0.02 - 5042
# = 999995402. The middle 999995401, error 1; zero is at 1000000401 = 01:53:21.
JOURNAL_B = [
    build("0.7.0"),
    request(B, "r1", 5000.0, 1.0, "refused", output_len=0, input_len=8, refused_cause="queue"),
    request(B, "r2", 5040.0, 2.0, "completed", ttft_s=1.0, tpot_s=0.5, output_len=3, input_len=8),
]
# Run C: an event of wall time 1000000015.5 between rows written at 11 and 16.
JOURNAL_C = [
    request(C, "r1", 10.0, 1.0, "completed"),
    event(C, "engine_lifecycle", 1000000015.5, action="drain_started", engines=["a", "b"]),
    request(C, "r2", 12.0, 4.0, "completed"),
    event(C, "engine_lifecycle", 1000000018, action="drain_complete", iid="a"),
]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.maxDiff = None

    def journal(self, name, rows, modified):
        path = self.folder / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        ns = round(modified * 100) * 10**7
        os.utime(path, ns=(ns, ns))
        return path

    def a(self):
        return self.journal("a.jsonl", JOURNAL_A, 1000000202.48)

    def a_and_b(self):
        return [self.a(), self.journal("b.jsonl", JOURNAL_B, 1000000443.98)]

    def ask(self, paths, text, now=1000001000):
        """Rows of the answer."""
        a = reference.parser().parse_args(text.split())
        paths = paths if isinstance(paths, list) else [paths]
        return reference.respond(Journals(paths, now), a, now)["rows"]

    def check(self, paths, text, expected, now=1000001000):
        got = self.ask(paths, text, now)
        self.assertEqual(len(got), len(expected), got)
        for g, e in zip(got, expected):
            self.assertEqual(len(g), len(e), g)
            for one, other in zip(g, e):
                if isinstance(one, float) or isinstance(other, float):
                    self.assertIsNotNone(one, (g, e))
                    self.assertIsNotNone(other, (g, e))
                    self.assertAlmostEqual(one, other, 5, (g, e))
                else:
                    self.assertEqual(one, other, (g, e))


class Clocks(Case):
    def wall(self, path, expected, now=1000001000):
        [run] = Journals([path], now).runs.values()
        got = [run.wall.low, run.wall.high, run.wall.offset, run.wall.error, run.wall.basis]
        for g, e in zip(got, expected):
            if isinstance(e, float):
                self.assertAlmostEqual(g, e, 5)
            else:
                self.assertEqual(g, e)
        return run

    def test_start_and_file_are_close(self):
        self.wall(self.a(), [999999900.0, 999999902.5, 999999901.25, 1.25, "start+file"])

    def test_a_file_touched_later_leaves_the_start(self):
        path = self.journal("a.jsonl", JOURNAL_A, 1000000300.5)
        self.wall(path, [999999900.0, 1000000000.52, 999999900.0, None, "start"])

    def test_a_whole_second_may_have_lost_its_fraction(self):
        # 1000000201 + 1.02 - 300 = 999999902.02
        path = self.journal("a.jsonl", JOURNAL_A, 1000000201)
        self.wall(path, [999999900.0, 999999902.02, 999999901.01, 1.01, "start+file"])

    def test_a_time_in_the_future_is_the_clock(self):
        # 1000000203 + 0.02 - 300 = 999999903.02
        path = self.journal("a.jsonl", JOURNAL_A, 1000000999)
        self.wall(path, [999999900.0, 999999903.02, 999999901.51, 1.51, "start+file"], 1000000203)

    def test_an_old_file_is_dropped_before_the_start(self):
        path = self.journal("a.jsonl", JOURNAL_A, 1000000100.5)
        self.wall(path, [999999900.0, None, 999999900.0, None, "start"])

    def test_lifecycle_and_file(self):
        # [15.5 - 16, 15.5 - 11] = [-0.5, 4.5], start -6, file 17.98 + 0.02 - 16 = 2 (+ 1000000000).
        path = self.journal("c.jsonl", JOURNAL_C, 1000000017.98)
        run = self.wall(path, [999999999.5, 1000000002.0, 1000000000.75, 1.25, "lifecycle"])
        # 15.5 - 0.75; the second has no row after it: 18 - 0.75.
        self.assertEqual([place for place, _ in run.placed], [14.75, 17.25])

    def test_a_place_is_kept_between_its_rows(self):
        # The other event says [20.5, 24.5] less 1000000000, this one [-0.5, 4.5]: a stepped clock, no offset.
        rows = [*JOURNAL_C[:3], event(C, "engine_lifecycle", 1000000036.5), request(C, "r3", 15, 1, "failed"),
                event(C, "engine_lifecycle", 1000000018)]
        run = self.wall(self.journal("c.jsonl", rows, 1000000099.5), [None] * 5)
        self.assertEqual([place for place, _ in run.placed], [11.0, 16.0, 16.0])
        # Run id without a time, and the file bound below the event: [-0.5, 4.5] and -0.48: the middle
        # is -0.49, 15.5 + 0.49 = 15.99 is still before 16.
        rows = json.loads(json.dumps(JOURNAL_C[:3]).replace(C, "nameless"))
        run = self.wall(self.journal("c.jsonl", rows, 1000000015.5),
                        [999999999.5, 999999999.52, 999999999.51, 0.01, "lifecycle"])
        self.assertAlmostEqual(run.placed[0][0], 15.99, 5)

    def test_a_run_of_no_time_at_all_has_no_place(self):
        path = self.journal("x.jsonl", [event("x", "engine_lifecycle", 1000000018)], 1000000020)
        run = self.wall(path, [None] * 5)
        self.assertEqual(run.placed[0][0], None)
        self.check(path, "--query events", [
            ["x", None, 1000000018, "wall", 1000000018, "engine_lifecycle", None, "{}"]])
        self.check(path, "--query events --from 0", [])


class Selections(Case):
    def test_minutes_without_gap(self):
        rows = self.ask(self.a_and_b(), "--selection --by 1m")
        self.assertEqual([(scope[11:16], run) for scope, run, _, _ in rows], [
            ("01:46", A), ("01:47", A), ("01:48", A), ("01:49", A), ("01:50", A),
            ("01:51", A), ("01:52", A),                              # nothing runs: they hang on A
            ("01:53", B), ("01:54", B)])
        self.assertEqual(rows[0][0], "2001-09-09T01:46:00Z")
        # 01:46:00 is 999999960: 58.75 on A's clock. 01:52:00 is 1000000320: 418.75.
        self.assertEqual(rows[0][2:], [58.75, 118.75])
        self.assertEqual(rows[6][2:], [418.75, 478.75])

    def test_minutes_of_a_part(self):
        # A to rel 60 is to 160 = 01:47:41.25: the gap begins with 01:48, where A still has requests.
        rows = self.ask(self.a_and_b(), "--selection --by 1m --to 60s")
        self.assertEqual([r[0][14:16] for r in rows], ["46", "47", "48", "49", "50", "51", "52", "53", "54"])
        self.check(self.a_and_b(), "--query rates --by 1m --to 60s", [
            # span, offered, offered/s, completed/s, input/s, output/s; 01:46 is 100 to 118.75
            ["2001-09-09T01:46:00Z", 18.75, 2, 2 / 18.75, 2 / 18.75, 4 / 18.75, 20 / 18.75],
            ["2001-09-09T01:47:00Z", 41.25, 1, 1 / 41.25, 0.0, 3 / 41.25, None],
            *([f"2001-09-09T01:{m}:00Z", 0.0, 0, None, None, None, None] for m in (48, 49, 50, 51, 52)),
            ["2001-09-09T01:53:00Z", 39.0, 1, 1 / 39, 0.0, 8 / 39, 0.0],
            ["2001-09-09T01:54:00Z", 3.0, 1, 1 / 3, 1 / 3, 8 / 3, 1.0]])

    def test_attainment_has_a_row_for_an_empty_minute(self):
        def row(minute, *figures):
            return [f"2001-09-09T01:{minute}:00Z", "journal", 0.5, 0.02, *figures]
        self.check(self.a(), "--query attainment --ttft 0.5 --tpot 0.02 --by 1m", [
            row(46, 2, 2, 2, 1.0, 0), row(47, 2, 2, 0, 0.0, 0), row(48, 0, 0, 0, None, 0),
            row(49, 1, 0, 0, None, 1), row(50, 0, 0, 0, None, 0)])

    def test_other_scopes(self):
        paths = self.a_and_b()
        self.check(paths, "--selection --by all", [["all", A, -1e308, 1e308], ["all", B, -1e308, 1e308]])
        self.check(paths, "--selection --by release", [["0.7.0", B, -1e308, 1e308], ["0.7.1", A, -1e308, 1e308]])
        self.check(paths, "--selection --by folder --release 0.7.1", [[str(self.folder), A, -1e308, 1e308]])
        self.check(paths, "--selection --by source --source b*", [[str(paths[1]), B, -1e308, 1e308]])
        self.check(paths, "--selection --by run,100", [
            [f"{A} +000000000s", A, 100.0, 200.0], [f"{A} +000000100s", A, 200.0, 300.0],
            [f"{A} +000000200s", A, 300.0, 400.0], [f"{B} +000000000s", B, 5000.0, 5100.0]])

    def test_which_runs(self):
        paths = self.a_and_b()
        for flags, runs in [("--run last", [B]), ("--run current", [A, B]), ("--run 10000000", [A]),
                            ("--release 0.7", [A, B]), ("--release 0", [A, B]), ("--release 0.7.1", [A]),
                            ("--run last --release 0.7.1", []), ("--source a.jsonl --source b.jsonl", [A, B]),
                            (f"--source {self.folder}/a*", [A])]:
            self.assertEqual([r[1] for r in self.ask(paths, f"--selection {flags}")], runs, flags)

    def test_current_is_in_the_newest_file_of_a_journal(self):
        # B's last arrival is at 01:54, A's at 01:49. Of a.jsonl the rotated file is the older.
        a, b = self.a_and_b()
        rotated = self.journal("b.jsonl-20010909", JOURNAL_A[:2], 1000000100.5)
        both = self.journal("both.jsonl", JOURNAL_A + JOURNAL_B, 1000000443.98)
        for paths, runs in [([rotated, b], [B]), ([rotated], [A]), ([both], [B]), ([a, b], [A, B]),
                            ([b, both], [A, B])]:              # both.jsonl has only A that is not stored yet
            self.assertEqual([r[1] for r in self.ask(paths, "--selection --run current")], runs, paths)

    def test_what_is_refused(self):
        for flags in ("--selection --run 1000000", "--selection --run nothing", "--selection --by 1s --rows " +
                      f'[["x","{A}",0,9],["x","{A}",8,10]]', "--query events --by all", "--query goodput"):
            with self.assertRaises(reference.Refused, msg=flags):
                self.ask(self.a_and_b(), flags)

    def test_windows(self):
        paths = self.a_and_b()
        # 01:47:41.25 on A's clock is 160; B begins later. The age is 1000001000 - 598.75.
        self.check(paths, "--selection --since 2001-09-09T01:47:41.25Z", [
            [A, A, 160.0, 1e308], [B, B, 1000000061.25 - 999995401, 1e308]])
        self.check(paths, "--selection --until 1000000061.25", [[A, A, -1e308, 160.0]])
        self.check(paths, "--selection --until 1000000061.25 --last 1m", [[A, A, 100.0, 160.0]])
        self.check(paths, "--selection --since 600s", [[B, B, 4999.0, 1e308]])
        self.check(paths, "--selection --from 1m --to 1m30s", [[A, A, 160.0, 190.0]])
        self.check(paths, "--selection --last 40", [[A, A, 260.0, 1e308], [B, B, 5002.0, 1e308]])
        self.assertEqual(self.ask(paths, "--selection --from 1h"), [])

    def test_settled(self):
        # The p99 of A's completed durations 1, 2, 5 is 5: settled up to 295. B's file is older than
        # ten minutes then, A's too.
        paths = self.a_and_b()
        self.check(paths, "--selection --settled --last 100", [[A, A, 195.0, 295.0], [B, B, 4940.0, 5040.0]],
                   now=1000000444)
        self.check(paths, "--selection --settled", [[A, A, -1e308, 1e308], [B, B, -1e308, 5040.0]],
                   now=1000000803)
        self.check(paths, "--selection --settled", [[A, A, -1e308, 1e308], [B, B, -1e308, 1e308]],
                   now=1000001044)

    def test_selection_as_an_answer(self):
        self.check(self.a(), "--query selection --from 60",
                   [[A, A, 160.0, None, 1000000061.25, None]])


class Queries(Case):
    def test_runs(self):
        paths = self.a_and_b()
        self.check(paths, "--query runs --run 10000000", [[
            A, "2001-09-09T01:46:40Z", "0.7.1", None, None, "token_ids", None, "exact", str(paths[0]), 5, 7,
            100.0, 300.0, 200.0, 1000000001.25, 1000000201.25, 1.25, "start+file"]])

    def test_two_windows_in_one_scope(self):
        # r1, r2 of 20 s and r4 of 10 s.
        rows = json.dumps([["w", A, 100, 120], ["w", A, 160, 170]]).replace(" ", "")
        self.check(self.a(), f"--query rates --rows {rows}", [["w", 30.0, 3, 0.1, 0.1, 4 / 30, 0.7]])
        self.check(self.a(), f"--query attainment --ttft 0.5 --tpot 0.02 --rows {rows}",
                   [["w", "journal", 0.5, 0.02, 3, 3, 2, 2 / 3, 0]])
        # Buckets 0 and 1 of a minute are touched, neither of them whole.
        self.check(self.a(), f"--query attainment-over-time --ttft 0.5 --tpot 0.02 --rows {rows}",
                   [[A, 0.0, 2, 2 / 60, 2, 2, 1.0], [A, 60.0, 1, 1 / 60, 1, 0, 0.0]])
        self.check(self.a(), f"--query goodput --ttft 0.5 --tpot 0.02 --rows {rows}", [])
        # The degraded time 150 to 170 is inside from 160 on; it began outside.
        self.check(self.a(), f"--query monitoring --rows {rows}", [["w", "s", "c", 0, None, 0, 10.0]])

    def test_runs_together_count_their_span_once(self):
        # Apart: 200 + 42. With B's id and file 300 s earlier its 42 s lie inside A's 200, from 101 on.
        self.check(self.a_and_b(), "--query rates --by all",
                   [["all", 242.0, 7, 7 / 242, 4 / 242, 27 / 242, 26 / 242]])
        early = json.loads(json.dumps(JOURNAL_B).replace(B, "1000000100-bbbbbbbb"))
        self.check([self.a(), self.journal("b.jsonl", early, 1000000143.98)], "--query rates --by all",
                   [["all", 200.0, 7, 7 / 200, 4 / 200, 27 / 200, 26 / 200]])

    def test_slo_frontier(self):
        # Scored under journal: r1 r2 r3 r4; with tpot 0.02 those that can meet: r1 .25, r2 .5, r4 .75.
        def asks(flags, *expected):
            self.check(self.a(), f"--query slo-frontier {flags}", [[A, *e] for e in expected])
        asks("--tpot 0.02 --wanted 0.5", ["journal", 0.5, 0.02, 4, 0.75, 0.5, 2])
        asks("--tpot 0.02 --wanted 0.75", ["journal", 0.75, 0.02, 4, 0.75, 0.75, 3])
        asks("--tpot 0.02", ["journal", 0.99, 0.02, 4, 0.75, None, None])
        # TPOT of the completed: .01, .02; p50 is .01, the others .02.
        asks("--wanted 0.5", ["journal", 0.5, 0.01, 4, 0.5, 0.75, 2], ["journal", 0.5, 0.02, 4, 0.75, 0.5, 2])
        asks("--wanted 0.4 --policy offers --tpot 0.02", ["offers", 0.4, 0.02, 5, 0.6, 0.5, 2])
        asks("--wanted 0.4 --policy router --tpot 0.02", ["router", 0.4, 0.02, 4, 0.75, 0.5, 2])
        # No TPOT at all; r4 alone.
        asks("--wanted 1 --from 60 --to 70", ["journal", 1.0, None, 1, 1.0, 0.75, 1])
        # No request, no row.
        asks("--from 120 --to 130")

    def test_prompt_sizes(self):
        self.check(self.a(), "--query prompt-sizes --ttft 0.5 --tpot 0.02", [
            [A, 0, 1, 1, 1, 0, 0.0, 0.75, 0.75],
            [A, 1, 2, 1, 1, 1, 1.0, 0.25, 0.25],
            [A, 2, 4, 2, 2, 1, 0.5, 0.5, 0.5],
            [A, 4, 8, 1, 0, 0, None, None, None]])
        self.check(self.a(), "--query prompt-sizes --to 1", [[A, 1, 2, 1, 1, None, None, 0.25, 0.25]])

    def test_latency_of_offers(self):
        nothing = [0, 0, None, None, None, None, None, None]
        alone = [1, 1, None, None, None, None, None, None]
        self.check(self.a(), "--query latency --of offers", [
            [A, "ttft_s", 4, 1, 0.5, 0.5, None, None, None, 0.75],
            [A, "tpot_s", 3, 1, 0.015, 0.02, None, None, None, 0.02],
            [A, "first_byte_s", *alone], [A, "decode_tpot_s", *alone],
            [A, "queue_wait_s", 2, 1, 0.0, 0, None, None, None, 0],
            [A, "duration_s", 4, 1, 8 / 3, 2.0, None, None, None, 5.0]])
        self.check(self.a(), "--query latency", [
            [A, "ttft_s", 3, 0, 0.5, 0.5, 0.75, 0.75, 0.75, 0.75],
            [A, "tpot_s", 2, 0, 0.015, 0.01, 0.02, 0.02, 0.02, 0.02],
            [A, "first_byte_s", *nothing], [A, "decode_tpot_s", *nothing],
            [A, "queue_wait_s", 1, 0, 0.0, 0, 0, 0, 0, 0],
            [A, "duration_s", 3, 0, 8 / 3, 2.0, 5.0, 5.0, 5.0, 5.0]])

    def test_throughput(self):
        self.check(self.a(), "--query throughput", [
            [A, 0, 3, 2, 7, 20, 7 / 60, 20 / 60], [A, 60, 1, 1, 0, 1, 0.0, 1 / 60],
            [A, 120, 0, 0, 0, 0, 0.0, 0.0], [A, 180, 1, 0, 4, 2, 4 / 60, 2 / 60]])
        # Of run C neither prompts nor output are known.
        self.check(self.journal("c.jsonl", JOURNAL_C, 1000000021), "--query throughput",
                   [[C, 0, 2, 2, None, None, None, None]])
        # r4 arrives in the last selected bucket, and ends in a later one, which has no row.
        self.check(self.a(), "--query throughput --bucket 10 --from 60 --to 70",
                   [[A, 60.0, 1, 0, 0, 0, 0.0, 0.0]])

    def test_goodput_counts_whole_buckets_and_the_last(self):
        # Minutes 0 (3 requests, 2 met), 1 (r4), 3 (r5, not scored): 0.05, 0.016.., 0.016.. requests/s.
        self.check(self.a(), "--query goodput --ttft 0.5 --tpot 0.02 --band 0.04", [
            [A, 0.0, 0.04, 2, 1, 0, 0.0], [A, 0.04, 0.08, 1, 3, 2, 2 / 3]])
        self.check(self.a(), "--query goodput --ttft 0.5 --tpot 0.02 --band 0.04 --from 5 --to 199", [
            [A, 0.0, 0.04, 2, 1, 0, 0.0]])

    def test_failures_and_retries(self):
        self.check(self.a(), "--query engine-failures", [
            [A, None, None, None, 1, None, None, None],
            [A, "d0", "decode", 1, 1, 1.0, 1, 0], [A, "d1", "decode", 1, 0, 0.0, 0, 0],
            [A, "p0", "prefill", 1, 0, 0.0, 0, 0], [A, "p1", "prefill", 1, 0, 0.0, 0, 0]])
        self.check(self.a(), "--query failure-causes", [
            [A, "decode", None, None, None, "d0", 1, 0, 1, 1], [A, "queue", None, None, None, None, 1, 0, 0, 1]])
        self.check(self.a(), "--query retries", [[A, 5, 1, 0.2, 1, 2, 1, 0.125]])
        self.check(self.a(), "--query retries --from 120 --to 121",
                   [[A, 0, 0, None, 0, None, 0, None]])

    def test_requests(self):
        def rids(flags):
            return [r[3] for r in self.ask(self.a_and_b(), f"--query requests {flags}")]
        slo = "--ttft 0.5 --tpot 0.02"
        for flags, expected in [
                ("", ["r1", "r2", "r3", "r4", "r5", "r1", "r2"]), ("--limit 2", ["r1", "r2"]),
                ("--order ttft_s", ["r2", "r4", "r2", "r1", "r5"]), ("--client job-", ["r1", "r2"]),
                ("--engine d0", ["r2"]), ("--engine p9", []), ("--retried 1", ["r2"]),
                ("--reason decode", ["r5"]), ("--reason engine_error", ["r3"]), ("--reason boom", []),
                (f"{slo} --miss ttft", ["r4"]), (f"{slo} --miss failed", ["r3"]), ("--miss failed", []),
                (f"{slo} --miss ttft+tpot", ["r2"]), ("--terminal refused", ["r1"])]:
            self.assertEqual(rids(flags), expected, flags)
        self.check(self.a(), f"--query requests --reason engine_error {slo}", [[
            A, 30.0, 1000000031.25, "r3", None, "failed", "failed", "boom", None, None, None, 1.0, 3, None,
            None, None, None]])

    def test_intervals_are_listed_whole(self):
        # The second end has no start either: it began 5 s before 157, but not before the end at 155.
        held_1 = [A, "d0", "timed", "health", 50.0, 55.0, 5.0, 1000000051.25, 1000000056.25, 0]
        held_2 = [A, "d0", "timed", "health", 55.0, 57.0, 2.0, 1000000056.25, 1000000058.25, 0]
        ejected = [A, "p0", "ejected", "health", 190.0, 200.0, 10.0, 1000000191.25, 1000000201.25, 1]
        self.check(self.a(), "--query engine-downtime", [held_1, held_2, ejected])
        self.check(self.a(), "--query engine-downtime --from 56", [held_2, ejected])
        self.check(self.a(), "--query engine-downtime --to 51", [held_1])

    def test_monitoring_counts_what_is_inside(self):
        self.check(self.a(), "--query monitoring --by run,60", [
            [f"{A} +000000000s", "s", "c", 1, 3, 1, 10.0], [f"{A} +000000060s", "s", "c", 0, None, 0, 10.0]])

    def test_events_stand_in_their_place(self):
        names = [(r[5], r[1]) for r in self.ask(self.a(), "--query events --from 70")]
        # 165 + 5 is written after the unknown event, whose place is that of the row before it.
        self.assertEqual(names, [("monitoring_recovered", 70.0), ("something_new", None), ("engine_ejected", 190.0)])

    def test_waits_of_the_stages_that_there_are(self):
        self.check(self.a(), "--query queue-waits", [
            [A, "admission", 1, 0.5, 0.5, 0.5, 0.5], [A, "total", 1, 0, 0, 0, 0]])


class ThePages(unittest.TestCase):
    """The reference sees every row of a table, or says which it cannot read."""

    GOOD = """# A page
## Terminal rows
| field | type | notes |
|---|---|---|
| `rid`, `note` (0.8+) | text or null | |
| `waits` | part | |
| `waits.queue` | number, s or null | |
| `count` | integer, tokens | |

### More
"""

    def types(self, *change):
        text = self.GOOD.replace(*change) if change else self.GOOD
        self.assertTrue(not change or text != self.GOOD, change)
        return Page("journal.md", text).types("## Terminal rows")

    def test_types_are_those_of_the_table(self):
        self.assertEqual(self.types(), {"rid": "text", "note": "text", "waits": "part", "waits.queue": "number",
                                        "count": "integer"})

    def test_a_table_of_types_that_cannot_be_read_is_an_error(self):
        for was, now, line in [
                ("## Terminal rows", "## Terminals", 10),             # no such heading
                ("### More", "## Terminal rows", 10),                 # two
                ("| field |", "| fields |", 3),                       # another table
                ("|---|---|---|", "|---|---|", 4),
                ("| text or null |", "| string |", 5),                # a word that is no type
                ("| text or null |", "| text, null |", None),         # a unit, not a fault
                ("| text or null |", "| text or none |", 5),
                ("| text or null |", "| |", 5),
                ("`rid`, `note`", "`rid` `note`", 5),                 # names that are not a list
                ("`rid`, `note`", "rid, `note`", 5),
                ("(0.8+)", "(new)", 5),
                ("`note`", "`rid`", 5),                               # twice
                ("| `count` |", "| `waits` |", 8),
                ("| `waits.queue`", "| `wait.queue`", 7),             # of no part
                ("| `waits.queue`", "| `queue`", 6),                  # a part without fields
                ("| integer, tokens | |", "| integer, tokens |", 8),  # a cell is not there
                ("| `count`", "`count`", 3),                          # a row that does not look like one
                ("| `count`", "\n| `count`", 3)]:
            with self.subTest(f"{was} -> {now}"):
                if line is None:
                    self.types(was, now)
                else:
                    with self.assertRaisesRegex(Unreadable, f"^docs/journal.md, line {line}: "):
                        self.types(was, now)

    def test_clocks_are_those_of_the_table(self):
        def clocks(*rows):
            head = ["## Event rows", "| event | clock | fields |", "|---|---|---|"]
            return Page("journal.md", "\n".join([*head, *rows])).clocks("## Event rows")
        good = ["| `a` (0.6+) | wall | `iid` |", "| `b` | monotonic | |"]
        self.assertEqual(clocks(*good), {"a": "wall", "b": "monotonic"})
        for bad in ["| `c` | | |", "| `c` | unknown | |", "| `b` | wall | |", "| c | wall | |"]:
            with self.subTest(bad), self.assertRaisesRegex(Unreadable, "^docs/journal.md, line 6: "):
                clocks(*good, bad)

    def test_columns_are_those_of_the_table(self):
        def columns(*rows):
            head = ["## Q", "| name | rows | columns, in this order |", "|---|---|---|"]
            return Page("semantics.md", "\n".join([*head, *rows])).columns("## Q")
        good = "| `a` | scope | scope, n, share (of all) |"
        self.assertEqual(columns(good), {"a": ["scope", "n", "share"]})
        for bad in ["| `b` | scope | scope n |", "| `b` | scope | |", good]:
            with self.subTest(bad), self.assertRaisesRegex(Unreadable, "^docs/semantics.md, line 5: "):
                columns(good, bad)

    def test_rows_are_held_to_the_pages(self):
        whole = request(A, "r1", 1.0, 1.0, "failed", attempt_failures=[{"attempt": 1.0, "phase": "decode"}],
                        cached_tokens={"p0": 5, "p1": None}, queue_waits={"prefill": 0}, new_in_0_8=[])
        self.assertEqual(rows.kind_of(whole), "terminal")
        for name, bad in [("attempts", 1.5), ("attempts", True), ("error", 5), ("crossed", 0), ("ttft_s", "1"),
                          ("queue_waits", {"prefill": "0"}), ("queue_waits", 0), ("continuation", []),
                          ("cached_tokens", {"p0": "5"}), ("attempt_failures", {}), ("attempt_failures", [None]),
                          ("attempt_failures", [{"attempt": "1"}])]:
            with self.subTest(name, value=bad):
                self.assertIsNone(rows.kind_of({**whole, name: bad}))
        meta = {"version": 7, "git": "ab", "admission": {"mode": "slo", "margin": "much"}}
        self.assertEqual([rows.build_field(meta, name) for name in
                          ("version", "git", "source", "admission.mode", "admission.margin")],
                         [None, "ab", None, "slo", None])
        self.assertIsNone(rows.build_field({"admission": "slo"}, "admission.mode"))
        self.assertEqual([rows.clock_of({"event": name}) for name in ("engine_lifecycle", "below_floor", "new")],
                         ["wall", "monotonic", "unknown"])


if __name__ == "__main__":
    unittest.main()
