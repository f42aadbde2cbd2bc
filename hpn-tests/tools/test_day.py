"""A day of one connection: what it holds at the end is what it held after the
first hour. Leaves build/day for the page."""

import json
import os

import pytest

import lab
from spec import link

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(lab.BUILD, "day")
MEMORY_MORE_KIB = 1024          # of each process, over the first hour's
WINDOW_MORE = 1.5


# Each hour ends on this path. The last is as the first, 24 hours later.
FIRST = link("100m-50ms").but(queue_packets=4000)
DAY = {
    "hours": 25, "hour_s": 3600,        # of virtual time
    "connections": 200,                 # through the forwarding, an hour
    "burst_mib": 16,
    # What rsync copies in the hours of nights; others have only keepalives
    "night_mib": 32, "night_files": 200, "nights": [3],
    "idle": [5, 6, 7, 20],
    # Mbit/s and ms of an hour, again and again
    "paths": [[100, 50], [100, 200], [300, 20], [20, 100]]}


def run(day, name):
    """The row of each hour, see day_inside.py."""
    paths = [{"rate_mbit": rate, "rtt_us": int(rtt_ms * 1000)}
             for rate, rtt_ms in day["paths"]]
    ours = os.path.join(lab.BUILD, "openssh")
    words = dict(lab.with_paths(FIRST), **day)
    words.update(paths=paths, client=ours, server=ours,
                 ssh_options=["ServerAliveInterval 60", "RekeyLimit 1G 1h"],
                 sshd_options=["ClientAliveInterval 60"])
    return lab.in_lab(os.path.join(HERE, "day_inside.py"), words, name, 7200,
                      "2G")


def faults(day, rows):
    """What should hold and doesn't: the last hour against the first."""
    first, last = rows[0], rows[-1]
    for row in rows:
        want = 0 if row["hour"] in day["idle"] else day["connections"]
        if row["answered"] != want:
            yield f"hour {row['hour']}: {row['answered']} were answered"
    rekeys = [row["rekeys"] for row in rows]
    if sum(rekeys) < len(rows) - 2:
        yield f"new keys: {rekeys}"
    for name, then in first["processes"].items():
        now = last["processes"].get(name, dict.fromkeys(then, 0))
        for what in ("count", "descriptors"):
            if now[what] != then[what]:
                yield f"{name}: {what} {then[what]}, then {now[what]}"
        if now["rss_kib"] > then["rss_kib"] + MEMORY_MORE_KIB * then["count"]:
            yield (f"{name}: {then['rss_kib']} KiB, then "
                   f"{now['rss_kib']} KiB")
    if not first["window"] / WINDOW_MORE <= last["window"] <= \
            first["window"] * WINDOW_MORE:
        yield f"window: {first['window']} bytes, then {last['window']}"
    if last["last_mb_s"] < 0.9 * first["last_mb_s"]:
        yield (f"burst: {first['last_mb_s']:.2f} MB/s, then "
               f"{last['last_mb_s']:.2f}")


@pytest.mark.level("grid")
def test_day_ends_as_it_began():
    if not lab.virtual_time():
        pytest.skip("no virtual time: a day is a day")
    rows = run(DAY, "day")
    for row in rows:
        print(json.dumps(row))
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, "day.jsonl"), "w") as f:
        f.writelines(json.dumps(dict(row, role="day")) + "\n" for row in rows)
    assert not list(faults(DAY, rows))

