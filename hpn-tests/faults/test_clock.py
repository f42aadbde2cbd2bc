"""The clock is stepped in mid-transfer, by hours, to and fro: nothing changes.

It is the clock of the lab's kernel (hpn-tests/lab) and no other: this machine's
isn't ours to step, namespaces of time have CLOCK_MONOTONIC and CLOCK_BOOTTIME
only, and a library that is loaded before the C library shows another clock
to some processes of a connection and some calls of theirs."""

import pytest

import chaos
import lab
import payload
from spec import MIB, transfer

COUNT = 128 * MIB
STEPS = [[0.3, {"clock_s": 7200}], [0.6, {"clock_s": -5 * 3600}],
         [0.9, {"clock_s": 86400}], [1.2, {"clock_s": -3600}]]


@chaos.slow
@pytest.mark.parametrize("direction, tool", [("get", "ssh"), ("put", "scp")])
def test_stepped_clock_changes_nothing(monkeypatch, direction, tool):
    """Neither the time it takes, nor the window, nor the bytes."""
    monkeypatch.setenv("LAB", "uml")
    spec = transfer("1g-100ms", direction, COUNT, tool=tool)
    if missing := lab.missing_tree(spec):
        pytest.skip(f"no build/{missing}")
    calm, stepped = (lab.run(s, f"clock-{name}-{direction}") for name, s in
                     (("calm", spec), ("stepped", spec.but(changes=STEPS))))
    for t in (calm, stepped):
        assert t.result["exits"] and not any(t.result["exits"])
        assert t.result["sha256"] == [payload.digest(COUNT)]
        assert not t.result["left"]
    times_s = [t.series.seconds() for t in (calm, stepped)]
    windows = [t.peak_window() for t in (calm, stepped)]
    print(f"calm, stepped: {times_s} s, window {windows}")
    assert times_s[0] > STEPS[-1][0]
    # In virtual time: the same but for who is woken first
    assert times_s[1] < 1.1 * times_s[0]
    assert 0.8 < windows[1] / windows[0] < 1.25
    chaos.record("clock stepped by hours", "ours", "goes on")
