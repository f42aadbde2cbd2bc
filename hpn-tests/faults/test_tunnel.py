"""A download through a tunnel that buffers without a bound (a web socket, say),
beside a busy loop for each CPU: what is in flight is a few times the path's
bandwidth-delay product, and a line that is echoed beside it is not much later
than with stock. The RTT is SSH's own there, and the queue in it our own."""

import os
import statistics
import subprocess
import sys
import time

import pytest

from chaos import REAL_TIME, busy, slow
# root_place: the tunnel has a real-time priority
from loopback import (HOST, OURS, PORT, SLOW_PATH, STOCK, read,  # noqa: F401
                      root_place, wait_until)

RUNS = int(os.environ.get("RUNS") or 1)
RTT_S, RATE = 0.1, 20e6                 # bytes/s
BDP = RTT_S * RATE
BYTES = int(RATE * 8)
MOST_BDP, MORE_RTT = 4, 2


def echoes(echo, until):
    """Seconds that a line took there and back, again and again."""
    took_s = []
    while until.poll() is None:
        start_s = time.monotonic()
        echo.stdin.write(b"line\n")
        echo.stdin.flush()
        assert echo.stdout.readline() == b"line\n"
        took_s.append(time.monotonic() - start_s)
        time.sleep(0.05)
    return took_s


def download(place, tree, swing):       # noqa: F811
    """Returns the most that the tunnel held (bytes), and echoes()."""
    sshd = place.sshd(tree)
    held, socket = place.path("held"), place.path("master")
    argv = place.ssh("-S", socket, tree=tree)
    tunnel = " ".join(map(str, (*REAL_TIME, sys.executable, SLOW_PATH,
                                RTT_S / 2, PORT, RATE, swing, held)))
    master = place.start([*argv, "-M", "-N", "-o", f"ProxyCommand={tunnel}",
                          HOST], stdin=subprocess.DEVNULL)
    wait_until("the master", lambda: os.path.exists(socket))
    echo = place.start([*argv, HOST, "cat"],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    bulk = place.start([*argv, HOST,
                        f"head -c {BYTES} /dev/zero"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    took_s = echoes(echo, bulk)
    assert bulk.returncode == 0
    for process in (echo, master, sshd):
        process.terminate()
        process.wait()
    wait_until("the tunnel's end", lambda: read(held))
    most = int(read(held))
    os.unlink(held)
    return most, took_s


@slow
@pytest.mark.parametrize("swing", [0, 0.25])
def test_queue_in_a_tunnel_is_bounded(place, pytestconfig, swing):  # noqa: F811
    all_most, worst_s = [], 0
    with busy(place):
        _, stock_s = download(place, STOCK, swing)
        for i in range(RUNS):
            most, took_s = download(place, OURS, swing)
            all_most.append(most)
            worst_s = max(worst_s, statistics.median(took_s))
            pytestconfig.say(
                f"held {most / 1e6:.1f} MB; echo {1000 * worst_s:.0f} ms, at "
                f"most {1000 * max(took_s):.0f}; stock "
                f"{1000 * statistics.median(stock_s):.0f}, at most "
                f"{1000 * max(stock_s):.0f}")
    assert len(all_most) == RUNS and min(all_most) > BDP / 2
    assert max(all_most) <= MOST_BDP * BDP
    assert worst_s <= statistics.median(stock_s) + MORE_RTT * RTT_S
