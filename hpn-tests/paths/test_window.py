"""What else the window promises, on paths that change, too; and that virtual
time repeats."""

import json
import re

import pytest

import lab
from measure import WINDOW_STOCK
from scene import scenario
from spec import GB, MIB, raw_of, transfer


@scenario("lan", ours=transfer("10g-200us", "get", GB // 4,
                               queue_packets=1000000))
def test_lan_keeps_the_stock_window(scene, measured):
    t = scene["ours"]
    targets = {w["target"] for w in t.window_trace()}
    measured.holds(f"windows {sorted(targets)}, only {WINDOW_STOCK}",
                   targets == {WINDOW_STOCK} and
                   t.peak_window() == WINDOW_STOCK)


CLOSED = re.compile(r"channel 0: peak window (\d+), least rtt ([\d.]+) ms, "
                    r"received (\d+) bytes, ([\d.]+) MB/s")
AGAIN = transfer("1g-200ms", "get", GB // 10)
LOSING = transfer("1g-200ms", "get", 16 * MIB, loss="0.1%", seed=1)


@scenario("close-line", ours=AGAIN)
def test_close_says_how_it_went(scene):
    t = scene["ours"]
    window, rtt_ms, received, rate = map(float, CLOSED.search(
        t.receiver_log()).groups())
    assert window == max(w["target"] for w in t.window_trace())
    assert 200 <= rtt_ms < 210
    assert received == t.spec.bytes
    assert rate == pytest.approx(t.goodput(), rel=0.03)


def relayed(**fields):
    return transfer("1g-200ms", "put", GB // 20, via="relay", **fields)


@scenario("relay-put", login=relayed(), shared=relayed(channels=1),
          stock=relayed(client="stock"))
def test_early_requests_cost_no_goodput(scene, measured):
    """Where TCP's round trips are not the path's, requests right behind
    CHANNEL_OPEN cost an upload no goodput, at a login and through a
    ControlMaster. A stock client sends them a round trip later."""
    stock = scene["stock"].goodput()
    for key in ("login", "shared"):
        measured.at_least(f"{key}, of a stock client's goodput",
                          scene[key].goodput() / stock, 0.95, "{:.2f}")


@scenario("repeats", "netem", one=AGAIN, two=AGAIN, lost=LOSING, again=LOSING,
          other=LOSING.but(seed=2))
def test_virtual_time_repeats(scene, measured):
    """With losses, too: they are those of the seed."""
    if not lab.virtual_time():
        pytest.skip("no virtual time: this kernel has netem")
    for one, two in (("one", "two"), ("lost", "again")):
        measured.at_most("difference", abs(
            scene[one].goodput() / scene[two].goodput() - 1), 0.01, "{:.3%}")
    measured.at_least("with another seed", abs(
        scene["other"].goodput() / scene["lost"].goodput() - 1), 0.01,
        "{:.0%}")


# Paths that change in mid-transfer

RTT_CHANGES = [[4, {"rtt_us": 200000}], [14, {"rtt_us": 20000}]]
RATE_CHANGES = [[4, {"rate_mbit": 100}], [10, {"rate_mbit": 1000}]]


def changing(path, count, changes, cc, **fields):
    spec = transfer(path, "get", count, changes=changes, cc=cc, **fields)
    return {"ours": spec, "raw": raw_of(spec)}


@scenario("rtt-changes-cubic", "netem",
          **changing("1g-20ms", 9 * GB // 5, RTT_CHANGES, "cubic",
                     queue_bdp=0.1))
# (A queue of 20 ms: raw TCP fills one of 200 ms before the path gets longer,
# and has by then the congestion window for it, which ours has not.
# Not under BBR: it takes the RTT for 20 ms for 10 s more, and falls to 2 % of
# the path with raw TCP as with ours.)
@scenario("rate-changes-cubic", "netem",
          **changing("1g-100ms", GB, RATE_CHANGES, "cubic"))
@scenario("rate-changes-bbr", "netem",
          **changing("1g-100ms", GB, RATE_CHANGES, "bbr"))
def test_goodput_recovers_after_each_change(scene, measured):
    """10 RTT after each change, raw TCP's goodput again (over 1 s or 10 RTT,
    or until the next)."""
    ours, raw = scene["ours"], scene["raw"]
    path, changes = ours.spec, ours.spec.changes
    for i, (at_s, fields) in enumerate(changes):
        path = path.but(**fields)
        rtt_s = path.rtt_us / 1e6
        start_s = at_s + 10 * rtt_s
        end_s = min([start_s + max(1, 10 * rtt_s)] +
                    [c[0] for c in changes[i + 1:]] +
                    [ours.series.seconds(), raw.series.seconds()])
        assert end_s - start_s >= 0.5, "not long enough to see"
        measured.at_least(
            f"10 RTT after {json.dumps(fields)}, of raw TCP",
            ours.series.between(start_s, end_s) /
            raw.series.between(start_s, end_s), 0.90, "{:.1%}")
