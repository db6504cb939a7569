"""One row of a journal: JSON as the ingest rules take it, and what the row contract knows."""
import json
import math
import re

SCHEMA = "narwhal.journal"
MAX_DEPTH = 128
MARKER = re.compile(r'\{"schema": |\{"meta": ')


# ---------------------------------------------------------------- JSON with the ingest rules

def pairs_once(pairs):
    out = {}
    for key, value in pairs:
        key = no_surrogates(key)
        if key in out:
            raise ValueError("a key twice in one object")
        out[key] = value
    return out


def int64(text):
    value = int(text)
    if not -2**63 <= value < 2**63:
        raise ValueError("an integer beyond 64 bits signed")
    return value


def finite(text):
    value = float(text)
    return value if math.isfinite(value) else None


def no_surrogates(text):
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def repair(value, depth=1):
    """Lone surrogates to U+FFFD; refuse what is nested too deep."""
    if isinstance(value, str):
        return no_surrogates(value)
    if isinstance(value, (dict, list)) and depth > MAX_DEPTH:
        raise ValueError("nested too deep")
    if isinstance(value, dict):
        return {k: repair(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [repair(v, depth + 1) for v in value]
    return value


DECODER = json.JSONDecoder(object_pairs_hook=pairs_once, parse_int=int64, parse_float=finite,
                           parse_constant=lambda _: None)


def decode_at(text, start):
    """The JSON value that begins at `start` and the place after it (blanks skipped), or None."""
    try:
        value, end = DECODER.raw_decode(text, start)
        raw = text[start:end]
        if "\0" in raw or re.search("[\udc80-\udcff]", raw):  # NUL, or bytes that are not UTF-8
            return None
        value = repair(value)
    except (ValueError, RecursionError):
        return None
    while end < len(text) and text[end] in " \t\r":
        end += 1
    return value, end


def records_of_line(line):
    """(its JSON values, whether a part of the line is no record)"""
    text = line.decode("utf-8", "surrogateescape")
    found, torn, pos = [], False, 0
    while pos < len(text) and text[pos] in " \t\r":
        pos += 1
    while True:
        got = decode_at(text, pos)
        if got and (got[1] == len(text) or MARKER.match(text, got[1])):
            found.append(got[0])
            pos = got[1]
            if pos == len(text):
                return found, torn
            continue
        torn = True
        marker = MARKER.search(text, pos + 1)
        if not marker:
            return found, torn
        pos = marker.start()


def drop_nulls(value):
    if isinstance(value, dict):
        return {k: drop_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [drop_nulls(v) for v in value]
    return value


def canonical(value):
    return json.dumps(drop_nulls(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# ---------------------------------------------------------------- the row contract

def is_num(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def is_int(v):
    return is_num(v) and v == int(v) and -2**63 <= v < 2**63


def is_text(v):
    return isinstance(v, str)


def is_bool(v):
    return isinstance(v, bool)


def is_obj(v):
    return isinstance(v, dict)


def shape(**fields):
    return lambda v: is_obj(v) and fits(v, fields)


def fits(row, fields):
    return all(row.get(name) is None or test(row[name]) for name, test in fields.items())


FAILURE = dict(
    at=is_num, attempt=is_int, phase=is_text, reason=is_text, prefill_iid=is_text,
    decode_iid=is_text, error_type=is_text, error_message=is_text, status=is_int,
    transient=is_bool, output_started=is_bool, retry_scheduled=is_bool, retry_reason=is_text,
    backoff_s=is_num)

TERMINAL = dict(
    run=is_text, rid=is_text, client_rid=is_text, arrived=is_num, input_len=is_int,
    wanted_len=is_int, input_sized=is_bool, output_len=is_int, ttft_s=is_num, tpot_s=is_num,
    first_byte_s=is_num, decode_tpot_s=is_num, queue_wait_s=is_num, duration_s=is_num,
    queue_waits=shape(admission=is_num, prefill=is_num, decode=is_num),
    admission_price=shape(attempt=is_int, backlog_s=is_num, own_prefill_s=is_num,
                          elapsed_s=is_num, handoff_s=is_num, price_s=is_num),
    attempts=is_int, decode_attempts=is_int,
    attempt_failures=lambda v: isinstance(v, list) and all(is_obj(e) and fits(e, FAILURE) for e in v),
    decode_tokens_observed=is_int, upstream_seconds=shape(prefill=is_num, decode=is_num),
    prefill_iid=is_text, decode_iid=is_text, crossed=is_bool,
    cached_tokens=lambda v: is_obj(v) and all(n is None or is_int(n) for n in v.values()),
    cache_placement=shape(placed_iid=is_text, placed_cached_tokens=is_int,
                          evidence_sequence=is_int, predicted_prefill_s=is_num,
                          cold_prefill_s=is_num, cold_choice_iid=is_text),
    token_accounting=is_text, error=is_text, status=is_int, error_type=is_text,
    error_code=is_text, reason=is_text, terminal=is_text, cancelled=is_bool,
    cancelled_phase=is_text, refused=is_bool, rejected=is_bool, expired=is_bool,
    refused_cause=is_text, readiness_reason=is_text, continuation=is_obj)

WALL_EVENTS = {"engine_lifecycle"}
MONOTONIC_EVENTS = {
    "below_floor", "below_floor_recovered", "controller_decision", "decode_floor_restored",
    "monitoring_stage_failure", "monitoring_degraded", "monitoring_recovered", "engine_ejected",
    "engine_readmitted", "engine_hold_started", "engine_hold_ended", "engine_probe"}


def has_contract(obj):
    version = obj.get("schema_version")
    return obj.get("schema") == SCHEMA and is_num(version) and version == 1


def kind_of(obj):
    """build, terminal, event, or None for what the contract does not know."""
    if not is_obj(obj):
        return None
    if is_obj(obj.get("meta")):
        return "build" if has_contract(obj["meta"]) else None
    if not has_contract(obj) or not is_text(obj.get("run")):
        return None
    if obj.get("terminal") is not None:
        known = fits(obj, TERMINAL) and obj.get("rid") is not None and obj.get("arrived") is not None
        return "terminal" if known else None
    return "event" if is_text(obj.get("event")) else None


def clock_of(event):
    if event["event"] in WALL_EVENTS:
        return "wall"
    return "monotonic" if event["event"] in MONOTONIC_EVENTS else "unknown"


def monotonic_at(event):
    return event["at"] if clock_of(event) == "monotonic" and is_num(event.get("at")) else None


def write_time(row):
    """Monotonic time at which a stored row was written, when it says so."""
    if "event" in row and row.get("terminal") is None:
        return monotonic_at(row)
    return None if row.get("duration_s") is None else row["arrived"] + row["duration_s"]


def failures(row):
    return row.get("attempt_failures") or []


def sort_key(*values):
    """Nulls first, then numbers, then text bytewise, then whatever else a hostile row holds."""
    return tuple((0, 0) if v is None else (1, v) if is_num(v) else
                 (2, v.encode()) if is_text(v) else (3, canonical(v).encode()) for v in values)
