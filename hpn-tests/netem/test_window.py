"""What else the window promises, and that virtual time repeats."""

import re

import pytest

import lab
from measure import WINDOW_STOCK
from scene import scenario
from spec import GB, MIB, transfer


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
def test_early_requests_through_a_relay(scene, measured):
    """Where TCP's round trips are not the path's, requests right behind
    CHANNEL_OPEN cost an upload no goodput, at a login and through a
    ControlMaster. A stock client sends them a round trip later."""
    stock = scene["stock"].goodput()
    for key in ("login", "shared"):
        measured.at_least(f"{key}, of a stock client's goodput",
                          scene[key].goodput() / stock, 0.95, "{:.2f}")


@scenario("repeats", one=AGAIN, two=AGAIN, lost=LOSING, again=LOSING,
          other=LOSING.but(seed=2))
def test_virtual_time_repeats(scene, measured):
    """The same transfer twice, the same goodput, and with losses, too: they
    are those of the seed."""
    if not lab.virtual_time():
        pytest.skip("no virtual time: this kernel has netem")
    for one, two in (("one", "two"), ("lost", "again")):
        measured.at_most("difference", abs(
            scene[one].goodput() / scene[two].goodput() - 1), 0.01, "{:.3%}")
    measured.at_least("with another seed", abs(
        scene["other"].goodput() / scene["lost"].goodput() - 1), 0.01,
        "{:.0%}")
