"""Transfers over netem: ours against raw TCP on the same link in the same
run, the promises about memory, credit and CPU, and that the demo holds."""

import json
import os
import re
import subprocess
import sys

import pytest

import lab
from rows import GB, ROWS

MIB = 1 << 20
UNSPENT_MAX = 8 * MIB
STEADY_S = lab.STEADY_AFTER_S


def pair(link, direction):
    return [f"{link}-{direction}-raw", f"{link}-{direction}-ours"]


@pytest.mark.parametrize("rows", [
    pytest.param(pair(link, direction), id=f"{link}-{direction}")
    for link in ("1g-200ms", "10g-100ms", "100m-300ms")
    for direction in ("get", "put")])
def test_goodput_is_raw_tcps(transfers, rows):
    raw, ours = (transfers[name] for name in rows)
    steady = ours.goodput(STEADY_S) / raw.goodput(STEADY_S)
    whole = ours.seconds(GB) / raw.seconds(GB)
    print(f"steady {steady:.1%} of raw TCP, the first GB in {whole:.3f} x "
          f"its time")
    assert steady >= 0.95
    assert whole <= 1.10


@pytest.mark.rows("1g-200ms-get-raw", "stock-sender")
def test_stock_sender(transfers):
    """A peer whose input buffer collapses near 16 MiB never holds half."""
    raw, ours = transfers["1g-200ms-get-raw"], transfers["stock-sender"]
    assert ours.goodput(STEADY_S) >= 0.90 * raw.goodput(STEADY_S)
    unspent = ours.unspent()
    assert len(unspent) > 100
    most = max(held for _, held in unspent)
    print(f"{ours.goodput(STEADY_S) / raw.goodput(STEADY_S):.1%} of raw TCP, "
          f"unspent at most {most / MIB:.1f} MiB")
    # and that it was measured: a sender without credit would send nothing
    assert MIB < most < UNSPENT_MAX


@pytest.mark.rows("stopped-reader")
def test_stopped_reader(transfers):
    """What a reader costs that stops for good: the window of that moment."""
    t = transfers["stopped-reader"]
    stop_s, stopped_at = t.series[-1]
    assert stopped_at >= ROWS["stopped-reader"]["stop_after"]
    before = [json.loads(line) for line in t.read("samples").splitlines()]
    before = [s["ssh"] for s in before if "ssh" in s and s["t_s"] <= stop_s]
    window = t.window_trace()[-1]["target"]
    growth = t.peak_memory("client") - before[-1]
    print(f"window {window / MIB:.1f} MiB, grew by {growth / MIB:.1f} MiB")
    assert growth <= window + 4 * MIB
    # the reader did stop with data on the way: it is what the memory holds
    assert growth >= MIB
    assert t.result["second_channel"] == "second channel"


@pytest.mark.rows("lan")
def test_lan_keeps_the_stock_window(transfers):
    t = transfers["lan"]
    assert t.peak_window() == lab.WINDOW_STOCK
    assert {w["target"] for w in t.window_trace()} == {lab.WINDOW_STOCK}


def cpu_ratio(far, near):
    """CPU of both ends at 200 ms over that at 1 ms."""
    ratio = far.cpu_s() / near.cpu_s()
    print(f"{near.cpu_s():.1f} s at 1 ms, {far.cpu_s():.1f} s at 200 ms for "
          f"{far.spec['bytes'] / GB:g} GB: {ratio:.2f} x")
    return ratio


@pytest.mark.rows("cpu-ours-near", "cpu-ours-far")
def test_cpu_does_not_grow_with_the_path(transfers):
    assert cpu_ratio(transfers["cpu-ours-far"],
                     transfers["cpu-ours-near"]) <= 1.3


@pytest.mark.rows("cpu-stock-near", "cpu-fixed-far")
def test_cpu_of_a_fixed_window_does(transfers):
    """That the above can fail: pristine OpenSSH, given a window of 64 MiB.
    (With it, it needs as much at 1 ms: all that is not in the pipe waits in
    the sender's buffer.)"""
    assert cpu_ratio(transfers["cpu-fixed-far"],
                     transfers["cpu-stock-near"]) > 1.3


CLOSED = re.compile(r"channel 0: peak window (\d+), least rtt ([\d.]+) ms, "
                    r"received (\d+) bytes, ([\d.]+) MB/s")


@pytest.mark.rows("again-1")
def test_close_says_how_it_went(transfers):
    t = transfers["again-1"]
    window, rtt_ms, received, rate = map(float, CLOSED.search(
        t.receiver_log()).groups())
    assert window == max(w["target"] for w in t.window_trace())
    assert 200 <= rtt_ms < 210
    assert received == t.spec["bytes"]
    assert rate == pytest.approx(t.goodput(), rel=0.03)


@pytest.mark.rows("again-1", "again-2")
def test_virtual_time_repeats(transfers):
    one, two = transfers["again-1"], transfers["again-2"]
    assert one.goodput() == pytest.approx(two.goodput(), rel=0.01)


def test_demo():
    """The demo's transfers, its table and its picture."""
    folder = os.path.join(lab.BUILD, "demo")
    for name in ("results.json", "window.png"):
        if os.path.exists(os.path.join(folder, name)):
            os.unlink(os.path.join(folder, name))
    demo = os.path.join(lab.HERE, "demo.py")
    done = subprocess.run([sys.executable, "-B", demo], cwd=lab.TOP,
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    with open(os.path.join(folder, "results.json")) as f:
        rows = {(r["job"], r["side"]): r for r in json.load(f)["rows"]
                if r["side"]}
    assert len(rows) == 6
    assert rows["ssh host cat", "ours"]["share"] >= 0.95
    for (job, side), r in rows.items():
        if side == "stock":
            assert r["peak_window"] == lab.WINDOW_STOCK
            assert rows[job, "ours"]["goodput"] > 3 * r["goodput"]
        else:
            assert r["peak_window"] > lab.WINDOW_STOCK
        assert f"{job:16}{side}" in done.stdout
    with open(os.path.join(folder, "window.png"), "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"
