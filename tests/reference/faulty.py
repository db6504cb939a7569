#!/usr/bin/env python3
"""A generated journal again, with engines that are worse than they were.

One prefill engine can answer late: its requests' TTFT (and first byte) come so many seconds later. One decode engine
can fail: of its requests that were served at the first attempt, a part fails there; seven of ten of those are served
by another decode engine after a retry that takes a second prefill, the others fail for good. What each request meets is
drawn from the seed. The run gets a name of its own, so that it can be held against the journal as it was.

    faulty.py JOURNAL --run ID [--slow ENGINE SECONDS] [--flaky ENGINE PART] [--seed N]
"""

import argparse
import json
import random
import sys


def late(row: dict, seconds: float) -> None:
    row["ttft_s"] += seconds
    row["duration_s"] += seconds
    if row["first_byte_s"] is not None:
        row["first_byte_s"] += seconds


def failed(row: dict, others: list[str], rng: random.Random) -> None:
    is_served = rng.random() < 0.7
    row["attempt_failures"] = [{
        "at": row["arrived"] + row["ttft_s"] + 0.5, "attempt": 1, "phase": "decode", "reason": "engine_error",
        "prefill_iid": row["prefill_iid"], "decode_iid": row["decode_iid"], "error_type": "EngineError",
        "error_message": "decode leg failed (503)", "status": 503, "transient": True, "output_started": False,
        "retry_scheduled": is_served, "backoff_s": 0.1 if is_served else None,
        "retry_reason": "allowed" if is_served else "shared_budget"}]
    if is_served:
        row.update(attempts=2, decode_attempts=2, decode_iid=rng.choice(others))
        late(row, row["ttft_s"] + 0.6)
    else:
        row.update(terminal="failed", output_len=0, tpot_s=None, first_byte_s=None, decode_tpot_s=None, status=502,
                   reason="engine_error", error="EngineError: decode leg failed (503)", error_type="decode",
                   error_code="decode")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journal")
    parser.add_argument("--run", required=True)
    parser.add_argument("--slow", nargs=2, metavar=("ENGINE", "SECONDS"))
    parser.add_argument("--flaky", nargs=2, metavar=("ENGINE", "PART"))
    parser.add_argument("--seed", default="0")
    args = parser.parse_args()
    rng = random.Random(f"{args.seed}/faulty")
    with open(args.journal, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    decoders = sorted({row["decode_iid"] for row in rows if row.get("crossed") and row["terminal"] == "completed"})
    for row in rows:
        if "run" in row:
            row["run"] = args.run
        if args.flaky and row.get("decode_iid") == args.flaky[0]:
            is_first = row["terminal"] == "completed" and row["attempts"] == 1
            if is_first and rng.random() < float(args.flaky[1]):
                failed(row, [engine for engine in decoders if engine != args.flaky[0]], rng)
        if args.slow and row.get("prefill_iid") == args.slow[0] and row["ttft_s"] is not None:
            late(row, float(args.slow[1]))
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
