"""The pages are what the results give."""

import os
import re

import content
import gather
import page

NETEM = os.path.join(gather.TOP, "hpn-tests", "netem")


def test_page():
    """Each begins with its verdict, and names its commit."""
    for name, text in page.pages().items():
        assert page.kept(name) == text, name
        title, verdict, origin = text.split("\n\n")[:3]
        assert title.startswith("# ") and not verdict.startswith("|"), name
        assert name == "README" or " at commit " in origin, name


def test_results():
    """Of peers of the table, and none is slower with ours."""
    rows = gather.read("interop")
    assert len(rows) > 40 and content.measured(rows) <= content.wanted()
    for r in rows:
        assert r["ours"] >= 0.95 * r["stock"], r


def test_load_and_faults():
    """What has limits is within them; of each fault the runs came out."""
    figures = {r["figure"]: r for r in gather.read("load")}
    memory = figures["memory of one, KiB"]
    assert float(memory["ours"]) <= 1.02 * float(memory["stock"])
    faults = gather.read("faults")
    assert len(faults) > 15
    for r in faults:
        assert sum(r["ours"].values()) > 0, r
        assert set(r["ours"]) <= {"goes on", "error", "left nothing"}, r


def test_upstream():
    """All come out alike, and those with PuTTY and Dropbear were run."""
    rows = gather.read("upstream")
    assert {r["target"] for r in rows} == {
        "file-tests", "unit", "t-exec", "interop-tests", "extra-tests"}
    for r in rows:
        assert r["stock"] == r["ours"] and r["ours"].get("failed", 0) == 0, r
        for _, what in r["not passed"]:
            assert not what.startswith(("putty", "dropbear")), what


def test_sanitized():
    """No finding; and fuzzers have run, too."""
    rows = gather.read("sanitized")
    assert {"file-tests", "unit", "t-exec"} < {r["what"] for r in rows}
    assert sum(r["runs"] or 0 for r in rows if "_fuzz" in r["what"]) > 100000
    ours = {r["what"].split(",")[0] for r in rows
            if r["what"].endswith(" 1800 s")}
    assert {"fuzz_server", "fuzz_wire", "fuzz_client"} <= ours
    for r in rows:
        assert r["findings"] == 0, r


def rows_of_copies():
    """Those that `make check-copies` measures."""
    rows = set()
    for name in ("several", "buffers"):
        with open(os.path.join(NETEM, f"test_{name}.py")) as f:
            rows |= set(re.findall(r'^@scenario\("(.*?)"', f.read(), re.M))
    return {row for row in rows if not row.startswith("says-")}


def test_copies():
    """All rows were measured, and nothing was missed; eight streams take
    at most a fifth of stock's time."""
    rows = {r["row"]: r for r in gather.read("copies")}
    assert set(rows) == rows_of_copies()
    assert [r["row"] for r in rows.values() if r["missed"]] == []
    for direction in ("get", "put"):
        took_s = rows[f"streams-{direction}"]["seconds"]
        assert took_s["eight"] <= took_s["stock"] / 5


def test_tools():
    """None takes longer than 1/0.97 of stock's time with ours, and what the
    path limits has its rate."""
    rows = gather.read("tools")
    steps = [s for r in rows for s in r.get("steps", [])]
    assert len(steps) > 20
    slower = set()
    for step in steps:
        stock = step["seconds"]["stock"]
        slower |= {(step["name"], end)
                   for end, seconds in step["seconds"].items()
                   if stock < 0.97 * seconds - 0.01}        # it is rounded
        if step["limit"] == "path":
            assert step["of_tcp"] >= 0.9, step
    assert not slower


def test_tools_can_fail():
    """Over 200 ms stock's window was the limit: stock has not that rate."""
    for r in gather.read("tools"):
        found = {s["name"]: s for s in r.get("steps", [])}
        for step in found.values():
            if step["limit"] == "path" and r["rtt_ms"] == 200:
                stock = step["seconds"]["stock"] - \
                    found[step["idle"]]["seconds"]["stock"]
                assert step["tcp"] / stock < 0.9, step


def test_day():
    """The same at the end as after the first hour."""
    rows = gather.read("day")
    assert len(rows) > 24
    for name, first in rows[0]["processes"].items():
        last = rows[-1]["processes"][name]
        assert last["descriptors"] == first["descriptors"], name
        assert last["rss_kib"] <= first["rss_kib"] + 1024 * first["count"]
