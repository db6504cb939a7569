"""One row of a journal: JSON as the ingest rules take it, and what the row contract knows.

The types of fields and the clocks of events are those of docs/journal.md.
"""
import json
import math
import re

from pages import Page

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


TESTS = {"text": is_text, "integer": is_int, "number": is_num, "flag": is_bool, "object": is_obj,
         "object of integers": lambda v: is_obj(v) and all(n is None or is_int(n) for n in v.values()),
         "list": lambda v: isinstance(v, list)}


def tests_of(types, part=""):
    """What a value of each field must pass: of a row, or of a part of one."""
    fields = {name.removeprefix(part): name for name in types if name.startswith(part)}
    return {field: test_of(name, types) for field, name in fields.items() if "." not in field}


def test_of(name, types):
    if types[name] == "part":
        return shape(**tests_of(types, f"{name}."))
    if types[name] == "entries":
        entry = shape(**tests_of(CONTRACT.types(f"### Entries of `{name}`")))
        return lambda v: isinstance(v, list) and all(map(entry, v))
    return TESTS[types[name]]


CONTRACT = Page("journal.md")
BUILD = CONTRACT.types("## Build rows")
TERMINAL = tests_of(CONTRACT.types("## Terminal rows"))
CLOCKS = CONTRACT.clocks("## Event rows")


def build_field(build, path):
    """What a build row says in a field: null when it is of another type."""
    value = build
    for key in path.split("."):
        value = value.get(key) if is_obj(value) else None
    return value if value is not None and TESTS[BUILD[path]](value) else None


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
    return CLOCKS.get(event["event"], "unknown")


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
