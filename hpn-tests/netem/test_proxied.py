"""Uploads through a proxy on the host of sshd, where TCP's round trips take
microseconds and those of the path 200 ms."""

import os

import pytest

import lab
from spec import MIB, transfer

PATH = transfer("1g-1ms", "put", 24 * MIB)      # the proxy makes the path
TIMES = {"stock": 4, "openssh": 16}


@pytest.mark.level("netem")
def test_early_requests(measured):
    """Requests right behind CHANNEL_OPEN cost no goodput at any login, nor
    through a ControlMaster. The window follows the path, also for stock's
    client: each is faster than one window of stock's in a round trip."""
    words = dict(lab.with_paths(PATH), clients={
        tree: (os.path.join(lab.BUILD, tree), times)
        for tree, times in TIMES.items()})
    rates = lab.in_lab(os.path.join(os.path.dirname(__file__), "proxied.py"),
                       words, "proxied", 900)
    measured.note("MB/s: " + "; ".join(
        f"{name} " + ", ".join(f"{rate:.1f}" for rate in found)
        for name, found in rates.items()))
    for name in ("openssh", "shared"):
        measured.at_least(f"slowest of {name}, of stock's",
                          min(rates[name]) / min(rates["stock"]), 0.95,
                          "{:.2f}")
    measured.at_least("slowest of all, of 2 MiB in 200 ms",
                      min(map(min, rates.values())) / (2 * MIB / 0.2 / 1e6),
                      1.5, "{:.2f}")
