"""Draws (draw.py) pass: DRAWS of them from number FIRST on, all of RANGE, or
else ten cheap ones. The rows are left in build/random, those of range A in
build/random-a, each with the commit of the programs (COMMIT, if they are not of
this tree's). What is there is not measured again."""

import hashlib
import json
import os
import subprocess

import pytest

import lab
from draw import RANGES, RAW_LEAST, STOCK_LEAST, Draw, bounds, decide
from spec import MIB

COMMIT = os.environ.get("COMMIT") or subprocess.run(
    ["git", "-C", lab.TOP, "describe", "--always", "--dirty", "--abbrev=7",
     "--exclude=*"], capture_output=True, text=True).stdout.strip()


PINNED = "d3330692efc04df609632450081508505ad5e33d39d21300ee8b2abf40028c80"


def wanted():
    e = os.environ
    if e.get("RANGE"):
        return RANGES[e["RANGE"]]
    if e.get("FIRST") or e.get("DRAWS"):
        first = int(e.get("FIRST") or 1)
        return range(first, first + int(e.get("DRAWS") or 10))
    return [d.number for d in map(Draw, RANGES["A"])
            if len(d.seeds) == 1 and d.spec.bytes < 64 * MIB][:10]


def row_file(n):
    folder = "random" if n in RANGES["B"] else "random-a"
    return os.path.join(lab.BUILD, folder, f"{n}.json")


def there(n):
    """The row of a draw that was measured with these programs, or None"""
    if not os.path.exists(row_file(n)) or COMMIT.endswith("-dirty"):
        return None
    with open(row_file(n)) as f:
        row = json.load(f)
    return row if row["commit"] == COMMIT else None


@pytest.mark.level("netem")
@pytest.mark.parametrize("draw", [Draw(n) for n in wanted()],
                         ids=lambda d: d.name)
def test_draw_passes(transfers, measured, draw):
    row = there(draw.number)
    if not row:
        row = {**draw.measure(transfers), "commit": COMMIT}
        os.makedirs(os.path.dirname(row_file(draw.number)), exist_ok=True)
        with open(row_file(draw.number), "w") as f:
            json.dump(row, f)
    measured.holds(", ".join(f"{what} {row[what]}" for what in (
        "result", "of", "mb_s", "left", "error") if what in row),
                   row["result"] != "fail")


def test_draw_follows_from_its_number():
    """The same everywhere: who changes a draw changes what the page says, and
    has to measure all again."""
    texts = [repr(Draw(n).spec) for n in RANGES["B"]]
    assert len(set(texts)) == 200
    assert hashlib.sha256("".join(texts).encode()).hexdigest() == PINNED


@pytest.mark.parametrize("ours, others, of", [
    ([98], [100], [0.98, 0.98, 0.98]),
    ([2, 4, 6, 8, 1], [1, 2, 3, 4, 0.5], [2, 2, 2]),    # paired: all alike
    # logarithms of 0, +-0.0953, +-0.1823; 1.895 * 0.1455 / sqrt(5) = 0.1233
    ([12, 11, 10, 10, 10], [10, 10, 10, 11, 12], [1, 0.884, 1.1312])])
def test_bounds_are_of_paired_ratios(ours, others, of):
    assert bounds(ours, others) == of


@pytest.mark.parametrize("stock, raw, result", [
    ([0.98] * 3, [0.95] * 3, "pass"),
    ([0.979] * 3, [1] * 3, "fail"),
    ([1] * 3, [0.949] * 3, "fail"),
    ([1, 0.97, 1.03], [1, 0.96, 1.04], "inconclusive"),
    ([1.2, 0.99, 1.4], [1, 0.94, 1.06], "inconclusive"),
    ([0.9, 0.8, 0.97], [1, 0.94, 1.06], "fail")])
def test_rule_decides_by_bounds(stock, raw, result):
    assert decide([(stock, STOCK_LEAST), (raw, RAW_LEAST)]) == result
