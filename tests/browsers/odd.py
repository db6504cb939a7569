"""Writes a journal for each odd case that a report must stand: odd.py FOLDER."""

import json
import pathlib
import sys

FOLDER = pathlib.Path(sys.argv[1])
HEAD = {"schema": "narwhal.journal", "schema_version": 1}


def build(version="0.7.0", accounting="token_ids"):
    meta = HEAD | {"package": "narwhal-inference", "version": version, "git": None, "source": "sha256:" + "0" * 64,
                   "token_accounting": accounting, "admission": {"mode": "predictive", "margin": 1.0}}
    return {"meta": meta}


def request(run, number, arrived, terminal="completed", **more):
    row = HEAD | {"run": run, "rid": f"{number:08x}-0000-4000-8000-000000000000", "client_rid": None, "arrived": arrived,
                  "input_len": 100 + number % 900, "input_sized": True, "wanted_len": 32, "output_len": 32,
                  "ttft_s": 0.05 + number % 97 / 60, "tpot_s": 0.01 + number % 31 / 900, "first_byte_s": 0.2 + number % 97 / 60,
                  "decode_tpot_s": 0.02, "queue_wait_s": number % 7 / 100,
                  "queue_waits": {"admission": 0.0, "prefill": number % 7 / 100, "decode": 0.001}, "duration_s": 2.0,
                  "attempts": 1, "decode_attempts": 1, "attempt_failures": [], "prefill_iid": f"p{number % 3}",
                  "decode_iid": f"d{number % 4}", "crossed": True, "terminal": terminal, "token_accounting": "token_ids"}
    if terminal != "completed":
        row |= {"ttft_s": None, "tpot_s": None, "first_byte_s": None, "decode_tpot_s": None, "error": "it broke"}
    return row | more


def write(name, rows):
    (FOLDER / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def failed(run, number, arrived):
    failure = {"at": arrived + 1.0, "attempt": 1, "phase": "decode", "prefill_iid": "p0", "decode_iid": "d0",
               "error_type": "EngineError", "error_message": "decode leg against http://node1:8000 failed (503)",
               "retry_scheduled": False}
    return request(run, number, arrived, "failed", attempt_failures=[failure], status=503, error_type="EngineError")


def outage(run, engine, from_s, to_s):
    event = HEAD | {"run": run, "iid": engine}
    return [event | {"event": "engine_ejected", "at": from_s, "cause": "health_probe"},
            event | {"event": "engine_readmitted", "at": to_s, "evidence": "probe"}]


RUN = "1795000000-0a0b0c0d"
write("one-request", [build(), request(RUN, 1, 5.0)])
write("fifty-runs", [row for run in range(50) for row in
                     [build()] + [request(f"{1795000000 + 7200 * run}-{run:08x}", at + 40 * run, at * (2.0 if run % 9 else 0.01))
                                  for at in range(40)]])
write("two-hundred-engines", [build()] + [row for at in range(200) for row in outage(RUN, f"10.1.{at}.7:8000", at * 2.0, at * 3.0 + 1)]
      + [request(RUN, at, at * 0.2, prefill_iid=f"10.1.{at % 200}.7:8000", decode_iid=f"10.2.{at % 200}.7:8000") for at in range(6000)])
write("thirty-days", [build()] + [request(RUN, at, at * 1300.0) for at in range(2000)])
write("all-failed", [build()] + [failed(RUN, at, at * 1.0) for at in range(300)])
write("accounting-unavailable", [build(accounting="unavailable")]
      + [request(RUN, at, at * 1.0, output_len=None, tpot_s=None, decode_tpot_s=None, token_accounting="unavailable") for at in range(300)])
write("wall-clock-unknown", [build()] + [request("router-a", at, at * 1.0) for at in range(300)])
write("overlapping-runs", [build(), build()] + [request(f"{1795000000 + 60 * (at % 2)}-{at % 2:08x}", at, at * 0.5) for at in range(1200)])
write("long-names", [build()] + [request(RUN, at, at * 1.0, prefill_iid="p" + "x" * 300, decode_iid="<b>\u202e" + "y" * 90, client_rid="&" * 200)
                                 for at in range(150)] + [failed(RUN, 1000 + at, at * 1.5) for at in range(40)])
write("no-run", [build()])
