"""A day of one connection: what it holds at the end is what it held after the
first hour. Leaves build/day for the page."""

import copy
import json
import os

import pytest

import day
import lab


@pytest.mark.level("grid")
def test_day():
    if not lab.virtual_time():
        pytest.skip("no virtual time: a day is a day")
    rows = day.run(day.DAY, "day")
    for row in rows:
        print(json.dumps(row))
    os.makedirs(day.RESULTS, exist_ok=True)
    with open(os.path.join(day.RESULTS, "day.jsonl"), "w") as f:
        f.writelines(json.dumps(dict(row, role="day")) + "\n" for row in rows)
    assert not list(day.faults(day.DAY, rows))


def hours():
    """The rows of two hours in which all went well."""
    row = {"hour": 0, "answered": 9, "rekeys": 1, "window": 5 << 20,
           "last_mb_s": 9.0, "processes": {"ssh": {
               "count": 2, "rss_kib": 9000, "descriptors": 9}}}
    return [row, dict(copy.deepcopy(row), hour=1)]


SHORT = {**day.DAY, "hours": 2, "connections": 9, "idle": [9]}


@pytest.mark.parametrize("change, said", [
    ({}, []),
    ({"answered": 8}, ["hour 1: 8 were answered"]),
    ({"window": 12 << 20}, ["window: 5242880 bytes, then 12582912"]),
    ({"window": 1 << 20}, ["window: 5242880 bytes, then 1048576"]),
    ({"last_mb_s": 7.0}, ["burst: 9.00 MB/s, then 7.00"]),
    ({"rss_kib": 12000}, ["ssh: 9000 KiB, then 12000 KiB"]),
    ({"descriptors": 10}, ["ssh: descriptors 9, then 10"]),
    ({"count": 1}, ["ssh: count 2, then 1"])])
def test_a_day_can_fail(change, said):
    rows = hours()
    for name, value in change.items():
        (rows[1] if name in rows[1] else rows[1]["processes"]["ssh"])[
            name] = value
    assert list(day.faults(SHORT, rows)) == said


def test_no_new_keys():
    rows = hours() + hours()
    for row in rows:
        row["rekeys"] = 0
    assert list(day.faults(SHORT, rows)) == ["new keys: [0, 0, 0, 0]"]
