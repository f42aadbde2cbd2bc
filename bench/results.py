"""The file that a benchmark leaves: a line of JSON for each run. What is in
it, how it is read, and the statistics that all who read it share."""

import hashlib
import json
import os
import statistics

from project import BENCH, BenchError

SCHEMA = 1
FIELDS = {                              # of each record, and of which kind
    "schema": int, "id": str, "time": str, "clock": str, "machine": dict,
    "versions": dict, "kind": str, "link": dict, "tool": str,
    "direction": str, "repetition": int, "figures": dict, "series": dict,
}
EITHER = ("client", "server", "cipher", "load")     # some runs have them


def check(record):
    """Raises ValueError for what is no record of ours."""
    if not isinstance(record, dict):
        raise ValueError("not an object")
    if record.get("schema") != SCHEMA:
        raise ValueError(f"schema {record.get('schema')}, not {SCHEMA}")
    for name, kind in FIELDS.items():
        if not isinstance(record.get(name), kind):
            raise ValueError(f"{name} is missing or no {kind.__name__}")
    if unknown := set(record) - set(FIELDS) - set(EITHER):
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    for name, value in record["figures"].items():
        if value is not None and type(value) not in (int, float):
            raise ValueError(f"{name} is no number: {value!r}")


def load(path):
    """The records of a file, in its order."""
    found = {}
    with open(path, errors="replace") as f:
        for n, line in enumerate(f, 1):
            try:
                record = json.loads(line)
                check(record)
            except ValueError as e:
                raise BenchError(f"{path}:{n}: no record of the bench: "
                                 f"{e}") from None
            found[record["id"]] = record
    return list(found.values())


def digest(path):
    """Says which file it is."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def append(path, record):
    """At once and whole: what was measured stays whatever comes then."""
    check(record)
    line = json.dumps(record, separators=(",", ":")) + "\n"
    with open(path, "ab") as f:
        f.write(line.encode())
        f.flush()
        os.fsync(f.fileno())


def newest():
    """The file that was written to last."""
    try:
        paths = [os.path.join(BENCH, n) for n in os.listdir(BENCH)
                 if n.endswith(".jsonl")]
    except FileNotFoundError:
        paths = []
    if not paths:
        raise BenchError("nothing was measured yet: make bench")
    return max(paths, key=lambda p: os.stat(p).st_mtime_ns)


# Statistics

class Values:
    """The repetitions of one figure: median, least and most."""

    def __init__(self, by_repetition):
        self.by_repetition = by_repetition
        values = list(by_repetition.values())
        self.count = len(values)
        self.median = statistics.median(values)
        self.least, self.most = min(values), max(values)

    def ratio_to(self, other):
        """Of what was measured in the same repetition; None if nothing was"""
        pairs = {n: v / other.by_repetition[n]
                 for n, v in self.by_repetition.items()
                 if other.by_repetition.get(n)}
        return Values(pairs) if pairs else None


class Results:
    """Records, to be asked for figures."""

    def __init__(self, records):
        self.records = records

    def select(self, **fields):
        return Results([r for r in self.records if all(
            (r["link"]["name"] if k == "link" else r.get(k)) == v
            for k, v in fields.items())])

    def figure(self, name, **fields):
        """Its Values; None where it was not measured, or not in all
        repetitions (a rate that one of them never reached has no median)."""
        found = [(r["repetition"], r["figures"].get(name))
                 for r in self.select(**fields).records]
        if not found or None in [value for _, value in found]:
            return None
        return Values(dict(found))

    def of_side(self, side, name, **fields):
        """The same, where client and server are of one side; "raw" too."""
        if side == "raw":
            return self.figure(name, **dict(fields, tool="raw"))
        return self.figure(name, client=side, server=side, **fields)

    def sides(self):
        """The sides there are; ours, stock, then peers."""
        found = {r[end] for r in self.records for end in ("client", "server")
                 if end in r}
        own = [s for s in ("ours", "stock") if s in found]
        return own + sorted(found - set(own))

    def links(self):
        """The links there are by name, by RTT."""
        found = {r["link"]["name"]: r["link"] for r in self.records
                 if "rtt_us" in r["link"]}
        return dict(sorted(found.items(), key=lambda i: i[1]["rtt_us"]))
