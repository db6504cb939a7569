"""What is asked: every canned question of three selections, one of them with every parameter that changes an answer."""

import subprocess

# Questions whose rows are in no scope take no --by.
UNGROUPED = {
    "runs", "events", "requests", "throughput", "attainment-over-time", "engine-downtime", "floor-breaches",
}

SELECTIONS = {
    "every run": [],
    "from its second second on, by journal": ["--from", "1", "--by", "source"],
    "the last ten minutes of each run, by five": ["--last", "600", "--by", "run,5m"],
}

PARAMETERS = {
    "events": ["--engine", "d1"],
    "requests": ["--order", "first_byte_s", "--retried", "1", "--policy", "offers", "--limit", "50"],
    "attainment": ["--policy", "router", "--ttft", "1.5", "--tpot", "0.05"],
    "attainment-misses": ["--policy", "offers"],
    "attainment-over-time": ["--bucket", "600", "--policy", "router"],
    "goodput": ["--bucket", "20", "--band", "0.5", "--policy", "offers"],
    "slo-frontier": ["--wanted", "0.8", "--policy", "router"],
    "latency": ["--of", "offers"],
    "prompt-sizes": ["--policy", "router"],
    "throughput": ["--bucket", "600"],
}

# The views that no question reads, each in a few figures a run.
VIEWS = {
    "attainment": "select run, policy, ttft, tpot, offered, scored, met, attainment, excluded from attainment order by run",
    "requests": "select run, count(*), min(rel_s), max(wall), max(handoff_s), count(handoff_s), max(rid) from requests"
    " group by run order by run",
    "timeline": "select run, count(*), max(rel_s), count(rel_s), max(wall), count(iid) from timeline"
    " group by run order by run",
    "attempts": "select run, failed, count(*), count(decode_iid), max(arrived), max(attempt) from attempts"
    " group by run, failed order by run, failed",
}


class Program:
    """narwhal-jq over one database."""

    def __init__(self, path, database):
        self.path, self.database = path, database

    def run(self, *arguments):
        done = subprocess.run([self.path, "--db", self.database, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def questions(self):
        """The names of the canned questions."""
        return [line.split()[0] for line in self.run("query").splitlines() if line.startswith("  ")]

    def statement(self, name, selection, engine=None):
        flags = list(SELECTIONS[selection])
        if name in UNGROUPED and "--by" in flags:
            at = flags.index("--by")
            del flags[at:at + 2]
        if "source" in SELECTIONS[selection]:
            flags += PARAMETERS.get(name, [])
        return self.run("query", name, *flags, "--sql", *(["--for", engine] if engine else []))
