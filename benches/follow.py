"""Watch `narwhal-jq ingest --follow` under a writer: memory, lag, and how long a query beside it waits.

    python3 benches/follow.py --binary target/release/narwhal-jq --rate 1000 --seconds 3600 JOURNAL

Appends the lines of JOURNAL to another file at so many rows a second, renames it away every
`--rotate` seconds, and follows it meanwhile. Twice a second it notes the follower's memory, how old
the newest row is that the database has not got yet (the lag), and how long a connection that is
opened for it needs to count the newest rows (the wait, a stock SQLite library, no busy timeout: a
lock would be an error). At the end every row that was written must be there once. An hour can be
compressed: ten times the rate for six minutes writes the same rows.
"""

import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TICK_S = 0.5


class Writer(threading.Thread):
    """Appends lines in small steps, and remembers when how many terminals were written."""

    def __init__(self, journal, to, rate, seconds, rotate_s):
        super().__init__(daemon=True)
        self.journal, self.to, self.rate, self.seconds, self.rotate_s = journal, to, rate, seconds, rotate_s
        self.written = [(time.monotonic(), 0)]
        self.is_short = False

    def run(self):
        started = rotated = time.monotonic()
        terminals = lines = rotations = 0
        out = open(self.to, "ab", buffering=0)
        with open(self.journal, "rb") as source:
            while (now := time.monotonic()) < started + self.seconds:
                batch = []
                while lines < (now - started) * self.rate:
                    line = source.readline()
                    if not line:
                        self.is_short = True
                        return
                    lines += 1
                    terminals += b'"terminal"' in line
                    batch.append(line)
                out.write(b"".join(batch))
                self.written.append((time.monotonic(), terminals))
                if now > rotated + self.rotate_s:
                    rotations, rotated = rotations + 1, now
                    os.rename(self.to, f"{self.to}.{rotations}")
                    out = open(self.to, "ab", buffering=0)
                time.sleep(0.02)

    def lag_s(self, stored):
        """How long ago the first row was written that is not stored."""
        now = time.monotonic()
        for at, terminals in reversed(self.written):
            if terminals <= stored:
                return now - at if (at, terminals) != self.written[-1] else 0.0
        return now - self.written[0][0]


def count(database):
    """Terminals stored, and how long it took to open the database and ask."""
    started = time.perf_counter()
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=0)
    stored = connection.execute("select max(terminal_id) from terminals").fetchone()[0] or 0
    connection.close()
    return stored, time.perf_counter() - started


def memory_kib(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def cpu_s(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("journal", help="a journal with enough rows")
    parser.add_argument("--binary", default="target/release/narwhal-jq")
    parser.add_argument("--rate", type=float, default=1000, help="rows a second")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--rotate", type=float, default=60, help="seconds between two rotations")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database, journal = f"{folder}/narwhal.db", f"{folder}/j.jsonl"
        follower = subprocess.Popen([args.binary, "--db", database, "ingest", "--follow", journal, "-q"])
        time.sleep(3)
        idle = cpu_s(follower)
        time.sleep(5)
        idle = (cpu_s(follower) - idle) / 5
        writer = Writer(args.journal, journal, args.rate, args.seconds, args.rotate)
        writer.start()
        memory, lags, waits = [], [], []
        while writer.is_alive():
            time.sleep(TICK_S)
            stored, wait = count(database)
            lags.append(writer.lag_s(stored))
            waits.append(wait)
            memory.append(memory_kib(follower))
        time.sleep(2)
        busy = cpu_s(follower)
        follower.send_signal(signal.SIGTERM)
        if follower.wait(30):
            sys.exit(f"the follower ended with {follower.returncode}")
        if writer.is_short:
            sys.exit("the journal has too few rows for this rate and time")
        written, stored = writer.written[-1][1], count(database)[0]
        tenth = max(1, len(memory) // 10)
        print(f"rows written        {written}, stored {stored}")
        print(f"memory              {max(memory[:tenth]) >> 10} MiB in the first tenth of the time, "
              f"{max(memory[-tenth:]) >> 10} MiB in the last")
        print(f"lag                 {max(lags):.2f} s at most, {sum(lags) / len(lags):.2f} s on average")
        print(f"wait of a query     {max(waits) * 1e3:.1f} ms at most, of {len(waits)}")
        print(f"CPU                 {idle * 100:.2f} % of a core when nothing comes, "
              f"{busy / (args.seconds + 10) * 100:.1f} % under the writer")
        if written != stored:
            sys.exit("not every row is there once")


if __name__ == "__main__":
    main()
