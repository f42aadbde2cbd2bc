"""A stock client that sends to our sshd in real time, over a relay in user
space of 1 Gbit/s x 200 ms, beside a busy loop for each CPU: its input buffer
stays small. The RTT is known from SSH's own probes only. The relay is the path,
so it has priority: a path whose rate falls, as that of a relay without a CPU,
turns window into buffer, whoever grants it. For the same reason the client's
data is in memory: see zeros().

"make check-relay RUNS=20" for more runs than one. SERVER=/path/to/build is the
tree of sshd, for a comparison. How long it takes is told; three times stock's
rate is required, which the window decides, and not the machine."""

import contextlib
import os
import resource
import subprocess
import time

import pytest

from chaos import FRONT, REAL_TIME, Relay, busy, slow
# root_place: the relay has a real-time priority
from loopback import HOST, OURS, STOCK, Peak, root_place    # noqa: F401

RUNS = int(os.environ.get("RUNS") or 1)
SERVER = os.environ.get("SERVER") or OURS
BYTES = 10**9
STOCK_BYTES = 10**8                     # 2 MiB a round trip: that takes 10 s
RATE, DELAY_S = 125 * 10**6, 0.1        # bytes/s, one way
MOST_KIB = 8 << 10                      # over what the client takes with stock
STOCK_KIB = 9 << 10                     # which is no more than this
FASTER = 3              # than stock at least: its window is 2 MiB, ours follows


@contextlib.contextmanager
def zeros(count):
    """The descriptor of a file of `count` zeros in memory. With a sparse file
    on a disk, the kernel fills the pages that it reads ahead while the client
    waits: 8 MiB took 18 ms in which nothing else got that CPU."""
    source = os.memfd_create("zeros")
    try:
        block = bytes(1 << 20)
        while (left := count - os.lseek(source, 0, os.SEEK_CUR)) > 0:
            os.write(source, block[:left])
        os.lseek(source, 0, os.SEEK_SET)
        yield source
    finally:
        os.close(source)


def send(place, tree, count):           # noqa: F811
    """Sends `count` bytes to the sshd of a tree. Returns the seconds it took,
    with login, the client's peak memory (KiB) and its CPU seconds."""
    sshd = place.sshd(tree)
    relay = Relay(place, delay_s=DELAY_S, rate=RATE, under=REAL_TIME)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with zeros(count) as source:
        start_s = time.monotonic()
        client = place.start(
            place.ssh(tree=STOCK, port=FRONT, level="INFO") +
            [HOST, "wc -c"], stdin=source, stdout=subprocess.PIPE, text=True)
    peak = Peak(client.pid)
    client.wait()
    took_s, peak_kib = time.monotonic() - start_s, peak.stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    relay.said()
    for process in (relay.process, sshd):
        process.kill()
        process.wait()
    assert client.returncode == 0
    assert int(client.communicate()[0]) == count
    return took_s, peak_kib, (after.ru_utime - before.ru_utime +
                              after.ru_stime - before.ru_stime)


@slow
def test_stock_client_over_a_relay_stays_small(place, pytestconfig):
    if not os.path.exists(f"{STOCK}/sshd"):
        pytest.skip("no build/stock")
    with busy(place):
        stock_s, stock_kib, cpu_s = send(place, STOCK, STOCK_BYTES)
        pytestconfig.say(f"stock: {STOCK_BYTES / 1e6 / stock_s:.0f} MB/s, "
                         f"peak memory {stock_kib / 1024:.1f} MiB, CPU "
                         f"{cpu_s:.1f} s")
        peaks_kib, slowest_s = [], 0
        for _ in range(RUNS):
            took_s, peak_kib, cpu_s = send(place, SERVER, BYTES)
            peaks_kib.append(peak_kib)
            slowest_s = max(slowest_s, took_s)
            pytestconfig.say(f"{took_s:.1f} s, {BYTES / 1e6 / took_s:.0f} "
                             f"MB/s, peak memory {peak_kib / 1024:.1f} MiB, "
                             f"CPU {cpu_s:.1f} s")
    assert 0 < stock_kib < STOCK_KIB and len(peaks_kib) == RUNS
    assert max(peaks_kib) <= stock_kib + MOST_KIB
    # A window that stays as stock's takes no memory either
    assert BYTES / slowest_s > FASTER * STOCK_BYTES / stock_s
