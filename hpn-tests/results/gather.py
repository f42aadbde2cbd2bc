"""gather.py: reads the rows of a page from the directory of build with the
part's name, where the tests left them. New copies and new random trials of the
same programs are added to those that were kept. The page of sanitizers also
has our own fuzzers."""

import datetime
import glob
import json
import os
import platform
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
RUNS = os.path.join(HERE, "runs.json")
# The names of files that are not their part's
NAMES = {"interop": "peers", "sanitized": "sanitizers"}


def file(part, kind):
    return os.path.join(HERE, f"{NAMES.get(part, part)}.{kind}")


def read(part):
    with open(file(part, "json")) as f:
        return json.load(f)


def runs():
    """Of each part, the commit, the day and the machine it was measured on."""
    with open(RUNS) as f:
        return json.load(f)


def left(part):
    """The rows that the tests left."""
    folder = os.path.join(TOP, os.environ.get("BDP_BUILD", "build"), part)
    found, lines = [], []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as f:
            found.append(json.load(f))
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        with open(path) as f:
            lines += map(json.loads, f)
    return found + list(OF_LINES[part](lines)) if lines else found


def of_faults(lines):
    counts = {}
    for line in lines:
        row = counts.setdefault(line["fault"], {
            "role": "fault", "fault": line["fault"], "stock": {}, "ours": {}})
        count = row[line["who"]]
        count[line["outcome"]] = count.get(line["outcome"], 0) + line["runs"]
    return [counts[fault] for fault in sorted(counts)]


def base():
    """The version of upstream that all is built from."""
    with open(os.path.join(TOP, "openssh", "UPSTREAM")) as f:
        return re.search("^VERSION=(.*)", f.read(), re.M)[1]


def of_upstream(lines):
    """A row for each target: tests by outcome, and which didn't pass."""
    rows = {}
    for line in lines:
        row = rows.setdefault(line["target"], {
            "role": "upstream", "target": line["target"], "base": base(),
            "stock": {}, "ours": {}, "not passed": []})
        count = row[line["who"]]
        count[line["outcome"]] = count.get(line["outcome"], 0) + line["tests"]
        if line["outcome"] != "passed":
            what = f"{line['name']} {line['outcome']}"
            row["not passed"].append(
                [line["who"],
                 f"{what}: {line['why']}" if line["why"] else what])
    return rows.values()


def of_sanitized(lines):
    """A row for each; the tests of t-exec are one."""
    rows = {}
    for line in lines:
        row = rows.setdefault(line["what"], {
            "role": "sanitized", "what": line["what"], "runs": 0,
            "findings": 0})
        row["findings"] += line["findings"]
        row["runs"] = None if line["runs"] is None else \
            row["runs"] + line["runs"]
    return rows.values()


OF_LINES = {"faults": of_faults, "upstream": of_upstream,
            "sanitized": of_sanitized, "fuzz": of_sanitized}

# Rows that a run adds to those that are kept, by what tells one from another
KEPT = {"random": "draw", "copies": "row"}


def with_kept(part, rows):
    """Draws of other programs are not kept."""
    found = {r[KEPT[part]]: r for r in read(part) + rows
             if r.get("commit") == rows[0].get("commit")}
    return [found[which] for which in sorted(found)]


def with_other_fuzzers(rows, ours):
    """Ours, or else upstream's, are new; the others stay. Ours are last."""
    kept = [r for r in read("sanitized")
            if r["what"].startswith("fuzz_") != ours]
    return kept + rows if ours else rows + kept


def machine():
    with open("/proc/cpuinfo") as f:
        cpu = re.search(r"^model name\s*: (.*)", f.read(), re.M)
    return f"{os.cpu_count()} cores of {cpu[1] if cpu else 'unknown make'}, " \
        f"Linux {'.'.join(platform.release().split('.')[:2])}"


def note_run(part, commit):
    """In runs.json, that a part was measured now and here; at this commit, if
    the rows know none."""
    commit = commit or subprocess.run(
        ["git", "-C", TOP, "rev-parse", "--short", "HEAD"],
        capture_output=True, text=True).stdout.strip()
    known = runs()
    known[part] = {"commit": commit, "day": str(datetime.date.today()),
                   "machine": machine()}
    with open(RUNS, "w") as f:
        f.write(json.dumps(known, indent=1, sort_keys=True) + "\n")


def collect(part):
    rows = left(part)
    if not rows:
        sys.exit(f"page.py: the tests left no results in build/{part}")
    if part in KEPT:
        rows = with_kept(part, rows)
    if part in ("sanitized", "fuzz"):
        rows = with_other_fuzzers(rows, part == "fuzz")
        part = "sanitized"
    with open(file(part, "json"), "w") as f:
        f.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    note_run(part, rows[0].get("commit"))
