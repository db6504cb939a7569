#!/usr/bin/env python3
"""How sure a number is: the second implementation.

Written from the definitions of docs/statistics.md alone, in exact fractions wherever they allow
it, slow and literal on purpose. It shares no code with the Rust one.

Reads a JSON array of cases from standard input, {"ask": NAME, ...}, and prints the array of
their answers.
"""
import json
import math
import sys
from fractions import Fraction

Z = 1.959963984540054


# ---------------------------------------------------------------- batches and the design effect

def batch_rows(n):
    """Rows of a full batch: the smallest power of two with 64 batches of it for n rows."""
    rows = 1
    while 64 * rows < n:
        rows *= 2
    return rows


def design(hits):
    """Of a list of 0 and 1, in order."""
    n, k = len(hits), sum(hits)
    m = batch_rows(n)
    batches = [hits[start:start + m] for start in range(0, n, m)]
    out = {"batches": len(batches), "v": 1.0, "r": 0.0, "effect": 1.0}
    if n < 30 or k == 0 or k == n:
        return out
    p = Fraction(k, n)
    d = [sum(batch) - p * len(batch) for batch in batches]
    squares = sum(x * x for x in d)
    count = len(batches)
    v = Fraction(count, count - 1) * squares / (n * p * (1 - p))
    r = sum(d[j] * d[j - 1] for j in range(1, count)) / squares if squares else Fraction(0)
    r = min(max(r, Fraction(0)), Fraction(8, 10))
    effect = max(Fraction(1), Fraction(10833, 10000) * v * (1 + r) / (1 - r))
    return out | {"v": float(v), "r": float(r), "effect": float(effect)}


# ---------------------------------------------------------------- (a) share

def share(hits):
    n, k = len(hits), sum(hits)
    if n == 0:
        return None
    found = design(hits)
    n_eff = n / found["effect"]
    p = k / n
    a = Z * Z / n_eff
    half = math.sqrt(a * p * (1 - p) + a * a / 4)
    low = 0.0 if k == 0 else ((p + a / 2) - half) / (1 + a)
    high = 1.0 if k == n else ((p + a / 2) + half) / (1 + a)
    # n_eff * min(p, 1 - p), with k / n not rounded on the way.
    fewer = min(k, n - k) / found["effect"]
    return found | {"n": n, "k": k, "value": p, "n_eff": n_eff, "low": low, "high": high,
                    "thin": fewer < 10}


# ---------------------------------------------------------------- (b) percentile

def least_ks(n, percent, bounds):
    """For each bound, ascending, the least k with P(Bin(n, percent/100) <= k) >= bound, in whole numbers."""
    found = []
    wanted = [bound * 100 ** n for bound in bounds]
    below = 0
    ways = (100 - percent) ** n
    for k in range(n + 1):
        below += ways
        while len(found) < len(wanted) and below >= wanted[len(found)]:
            found.append(k)
        if len(found) == len(wanted):
            return found
        # C(n, k+1) p^(k+1) q^(n-k-1) out of C(n, k) p^k q^(n-k): whole, as both are.
        ways = ways * (n - k) * percent // ((k + 1) * (100 - percent))
    raise AssertionError("the sum over all k is 1")


def percentile(values, percent):
    n = len(values)
    if n == 0:
        return None
    ordered = sorted(values)
    value = ordered[max(1, -(-percent * n // 100)) - 1]
    effect = design([1 if x <= value else 0 for x in values])["effect"]
    count = math.floor(n / effect)
    a, below_b = least_ks(count, percent, [Fraction(25, 1000), Fraction(975, 1000)])
    b = below_b + 1
    low_rank = (a - 1) * n // count + 1 if a > 0 else None
    high_rank = -(-b * n // count) if b <= count else None
    return {"value": value, "effect": effect, "independent": count,
            "low_rank": low_rank, "high_rank": high_rank,
            "low": ordered[low_rank - 1] if low_rank else None,
            "high": ordered[high_rank - 1] if high_rank else None}


# ---------------------------------------------------------------- (c) difference

def difference(a, b):
    """Of two figures with value, low and high."""
    d = b["value"] - a["value"]
    low = high = None
    if b["low"] is not None and a["high"] is not None:
        low = d - math.sqrt((b["value"] - b["low"]) ** 2 + (a["high"] - a["value"]) ** 2)
    if b["high"] is not None and a["low"] is not None:
        high = d + math.sqrt((b["high"] - b["value"]) ** 2 + (a["value"] - a["low"]) ** 2)
    # The end on the side of zero, as seen from d.
    near = low if d > 0 else high
    if d == 0 or near is None:
        t = 0.0
    else:
        t = abs(d) / abs(d - near) if d != near else math.inf
    detectable = 1.5 * (high - low) / 2 if low is not None and high is not None else None
    if d == 0:
        end_missing = low is None or high is None
    else:
        end_missing = near is None
    return {"difference": d, "low": low, "high": high, "t": t, "detectable": detectable,
            "too_few": end_missing}


def share_difference(a, b):
    a, b = share(a), share(b)
    out = difference(a, b)
    pa, pb = Fraction(a["k"], a["n"]), Fraction(b["k"], b["n"])
    if (pa + pb) / 2 > Fraction(1, 2):
        pa, pb = 1 - pa, 1 - pb
    evidence_a = float(pa * a["n"]) / a["effect"]
    evidence_b = float(pb * b["n"]) / b["effect"]
    if pa == pb:
        evidence = max(evidence_a, evidence_b)
    else:
        evidence = evidence_a if pa > pb else evidence_b
    return out | {"too_few": evidence < 10}


# ---------------------------------------------------------------- (d) limit

def limit(low, high, at, bound):
    if at == "least":
        if low is not None and low >= bound:
            return "holds"
        if high is not None and high < bound:
            return "broken"
    else:
        if high is not None and high <= bound:
            return "holds"
        if low is not None and low > bound:
            return "broken"
    return "undecided"


# ---------------------------------------------------------------- (e) many figures

def family(figures):
    """Verdicts of figures with difference, t and too_few."""
    p = [1.0 if f["too_few"] else math.erfc(Z * float(f["t"]) / math.sqrt(2)) for f in figures]
    passing = 0
    for i, value in enumerate(sorted(p), start=1):
        if value <= 0.05 * i / len(p):
            passing = i
    line = sorted(p)[passing - 1] if passing else -1.0
    verdicts = []
    for f, value in zip(figures, p):
        if f["too_few"]:
            verdicts.append("too few")
        elif float(f["t"]) <= 1:
            verdicts.append("not shown")
        else:
            word = "higher" if f["difference"] > 0 else "lower"
            verdicts.append(word if value <= line else "maybe " + word)
    return {"p": p, "verdicts": verdicts}


# ---------------------------------------------------------------- (f) explain

def beyond(rows, attribute, value):
    """A and V of a value over rows (batch, missed, accounts) where its attribute is not null."""
    batches = {}
    for batch, missed, accounts in rows:
        if not any(own == attribute for own, _ in accounts):
            continue
        cell = batches.setdefault(batch, [0, 0, 0, 0])
        cell[0] += 1
        cell[1] += missed
        if (attribute, value) in accounts:
            cell[2] += 1
            cell[3] += missed
    a = Fraction(0)
    v = []
    for n, s, n_v, s_v in batches.values():
        if n_v > 0:
            a += s_v - Fraction(n_v * s, n)
        if n > 1:
            v.append(n_v * (n - n_v) * s * (n - s) / (n * n * (n - 1)))
    return a, math.fsum(v)


def weigh(window, baseline, account):
    """x, sd and the counts of a value in both windows."""
    inside = [[row for row in rows if account in row[2]] for rows in (window, baseline)]
    n_w, n_b = len(inside[0]), len(inside[1])
    m_w, m_b = sum(row[1] for row in inside[0]), sum(row[1] for row in inside[1])
    a_w, v_w = beyond(window, *account)
    a_b, v_b = beyond(baseline, *account)
    f = Fraction(n_w, n_b + 20)
    return {"x": a_w - f * a_b, "sd": math.sqrt(v_w + float(f) ** 2 * v_b), "n_w": n_w, "m_w": m_w,
            "n_b": n_b, "m_b": m_b}


def score(weight):
    return float(weight["x"]) / weight["sd"] if weight["sd"] > 0 else 0.0


def without(rows, account):
    return [row for row in rows if account not in row[2]]


def explain(window, baseline):
    """Rows are [kind or null, [[attribute, value], ...]]; a row with a kind is a miss."""
    n_w, n_b = len(window), len(baseline)
    if n_w == 0 or n_b == 0:
        return None
    kinds = {kind for kind, _ in window + baseline if kind is not None}

    def of_kind(rows, kind):
        return sum(1 for row in rows if row[0] == kind)

    def batched(rows):
        m = batch_rows(len(rows))
        return [(i // m, 0 if kind is None else 1, {tuple(pair) for pair in accounts})
                for i, (kind, accounts) in enumerate(rows)]

    def miss_rate(rows):
        return Fraction(sum(row[1] for row in rows), len(rows))

    kind_extra = {str(kind): float(of_kind(window, kind) - Fraction(n_w * of_kind(baseline, kind), n_b))
                  for kind in kinds}
    window, baseline = batched(window), batched(baseline)
    rate = miss_rate(baseline)
    m_w = sum(row[1] for row in window)
    m_b = sum(row[1] for row in baseline)
    extra = m_w - n_w * rate
    apart = difference(share([row[1] for row in baseline]), share([row[1] for row in window]))
    square = m_w * (1 - Fraction(m_w, n_w)) + Fraction(n_w, n_b) ** 2 * m_b * (1 - rate)
    if square:
        z = float(extra) / math.sqrt(square)
    else:
        z = math.copysign(math.inf, extra) if extra else 0.0

    # The stretch: every run of neighbouring batches; of equal ones the earliest end, the shortest.
    m = batch_rows(n_w)
    last = window[-1][0]
    in_batch = [[row[1] for row in window if row[0] == j] for j in range(last + 1)]
    own = [sum(missed) - len(missed) * rate for missed in in_batch]
    best = None
    for end in range(last + 1):
        total = Fraction(0)
        for start in range(end, -1, -1):
            total += own[start]
            if best is None or total > best[0]:
                best = (total, start, end)
    stretch = {"first_row": best[1] * m, "end_row": min((best[2] + 1) * m, n_w), "extra": float(best[0])}

    named = []
    if z >= 1.96:
        while len(named) < 5:
            accounts = sorted(set().union(*(row[2] for row in window)))
            candidates = []
            for account in accounts:
                own_rows = [row for row in window if account in row[2]]
                if len(own_rows) < 30 or sum(row[1] for row in own_rows) < 10:
                    continue
                weight = weigh(window, baseline, account)
                weight["own"] = weight["m_w"] - weight["n_w"] * (weight["m_b"] + 20 * rate) / (weight["n_b"] + 20)
                if (score(weight) >= 3 and weight["x"] >= max(10, Fraction(1, 10) * extra)
                        and weight["own"] >= Fraction(1, 10) * extra):
                    candidates.append((account, weight))
            if not candidates:
                break
            account, weight = max(candidates, key=lambda candidate: candidate[1]["x"])
            rest_w, rest_b = without(window, account), without(baseline, account)
            also, tied = [], []
            for other, _ in candidates:
                if other == account or score(weigh(rest_w, rest_b, other)) >= 1.96:
                    continue
                alone = weigh(without(window, other), without(baseline, other), account)
                (tied if score(alone) < 1.96 else also).append(list(other))
            named.append({"account": list(account), "requests": weight["n_w"], "misses": weight["m_w"],
                          "baseline_requests": weight["n_b"], "baseline_misses": weight["m_b"],
                          "own": weight["own"], "beyond": float(weight["x"]), "sd": weight["sd"],
                          "also": also, "tied": tied})
            window, baseline = rest_w, rest_b
            if baseline:
                rate = miss_rate(baseline)
    rest = sum(row[1] for row in window) - len(window) * rate
    mix = extra - sum(account["own"] for account in named) - rest
    for account in named:
        account["own"] = float(account["own"])
    return {"extra": float(extra), "low": n_w * apart["low"], "high": n_w * apart["high"], "z": z,
            "misses": m_w, "expected": float(n_w * Fraction(m_b, n_b)), "kinds": kind_extra,
            "named": named, "rest": float(rest), "mix": float(mix), "stretch": stretch}


# ---------------------------------------------------------------- the cases

def answer(case):
    ask = case["ask"]
    if ask == "share":
        return share(case["hits"])
    if ask == "percentile":
        return [percentile(case["values"], percent) for percent in case["percents"]]
    if ask == "share difference":
        return share_difference(case["a"], case["b"])
    if ask == "percentile difference":
        a, b = (percentile(case[side], case["percent"]) for side in "ab")
        return difference(a, b)
    if ask == "limit":
        return limit(case["low"], case["high"], case["at"], case["bound"])
    if ask == "family":
        return family(case["figures"])
    if ask == "explain":
        return explain(case["window"], case["baseline"])
    raise ValueError(f"no such question: {ask}")


def plain(answer):
    """JSON knows no infinity."""
    if isinstance(answer, dict):
        return {name: plain(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return [plain(value) for value in answer]
    return str(answer) if isinstance(answer, float) and math.isinf(answer) else answer


if __name__ == "__main__":
    json.dump([plain(answer(case)) for case in json.load(sys.stdin)], sys.stdout)
