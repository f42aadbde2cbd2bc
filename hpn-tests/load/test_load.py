"""Many channels, many connections, many logins: nothing is lost, nothing is
left behind, and it costs what it costs with stock OpenSSH. All in a network
of its own."""

import hashlib
import json
import os
import re
import resource
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from idle import idle, memory_kib
from loopback import (HOST, BUILD, OURS, STOCK, cpu_ticks,      # noqa: F401
                      place, read, stands_still, status_kib, wait_until)

MIB = 1 << 20
ECHO, FRONT = 3000, 3001
CHANNELS, WARM, BATCH = 10000, 1000, 100
FLAT_KIB = 256
MOVERS, MOVED = 200, 4 * MIB
LOGINS, BURST = 500, 50
IDLE, IDLE_S = 1000, 60
NEEDS_KIB = 10 * MIB                    # of IDLE on two servers
NOFILE = 8192
RESULTS = os.path.join(BUILD, "load")


@pytest.fixture(autouse=True)
def more_files():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(NOFILE, before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (NOFILE, most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def record(name, what, figure, ours, stock=None):
    """A row for hpn-tests/results."""
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, name + ".json"), "w") as f:
        json.dump({"role": "load", "what": what, "figure": figure,
                   "stock": stock, "ours": ours}, f)


def fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def echo(listener):
    """Sends one byte back on each connection, then ends it."""
    while True:
        try:
            connection = listener.accept()[0]
        except OSError:
            return
        connection.sendall(connection.recv(1))
        connection.close()


def exchange(n, all_open):
    """n connections through the forwarding, BATCH at a time, which are all open
    at once: memory would be a matter of luck else."""
    for _ in range(n // BATCH):
        batch = [socket.create_connection(("127.0.0.1", FRONT))
                 for _ in range(BATCH)]
        wait_until("all to open", all_open)
        for i, s in enumerate(batch):
            s.settimeout(60)
            s.sendall(bytes([i]))
        for i, s in enumerate(batch):
            assert s.recv(2) == bytes([i])
            assert s.recv(1) == b""
            s.close()


@pytest.fixture
def forwarding(place):                  # noqa: F811
    """forwarding(tree): one connection of that tree, with what exchange()
    needs. Returns a function that opens a number of channels on it. That
    returns the peak memory (KiB) of ssh and sshd once the channels have
    closed."""
    listener = place.inside(
        lambda: socket.create_server(("127.0.0.1", ECHO), backlog=BATCH))
    threading.Thread(target=echo, args=(listener,), daemon=True).start()

    def connect(tree):
        sshd = place.sshd(tree)
        ssh = place.start(place.ssh("-N", "-L", f"{FRONT}:127.0.0.1:{ECHO}",
                                    HOST, tree=tree), stdin=subprocess.DEVNULL)
        place.wait_for_port(FRONT)
        child = wait_until("the login", lambda: re.search(
            r"User child is on pid (\d+)", read(sshd.log)))
        ends = [ssh.pid, int(child[1])]
        wait_until("them to settle", lambda: all(map(stands_still, ends)))
        before = [fds(pid) for pid in ends]

        def are_open(n):
            return [fds(pid) - was for pid, was in zip(ends, before)] == [n, n]

        def memory_after(n):
            place.inside(lambda: exchange(n, lambda: are_open(BATCH)) or True)
            wait_until("the last to close", lambda: are_open(0))
            return [status_kib(pid, "VmHWM") for pid in ends]

        def end():
            for process in (ssh, sshd):
                process.terminate()
                process.wait()
        memory_after.end = end
        return memory_after

    yield connect
    listener.close()


def test_channels_take_the_memory_of_stocks(forwarding):
    """Of those that carry little: as stock's, and some for the window's own."""
    peaks = []
    for tree in (STOCK, OURS):
        memory_after = forwarding(tree)
        peaks.append(memory_after(WARM))
        memory_after.end()
    print(f"peak KiB of ssh and sshd, stock and ours: {peaks}")
    for end, stock, ours in zip(("ssh", "sshd"), *peaks):
        record(f"channels-peak-{end}", f"{WARM:,} channels of one connection, "
               f"{BATCH} at a time", f"peak memory of {end}, KiB",
               f"{ours:,}", f"{stock:,}")
    for stock, ours in zip(*peaks):
        assert ours <= stock * 1.1 + 2 * BATCH


def test_channels_leave_nothing_behind(forwarding):
    """Neither end grows from the 1,000th to the 10,000th."""
    memory_after = forwarding(OURS)
    warm, after = memory_after(WARM), memory_after(CHANNELS - WARM)
    print(f"peak KiB of ssh and sshd after {WARM} channels: {warm}, after "
          f"{CHANNELS}: {after}")
    for was, now in zip(warm, after):
        assert now <= was + FLAT_KIB
    for end, was, now in zip(("ssh", "sshd"), warm, after):
        record(f"channels-{end}", f"{CHANNELS:,} channels of one connection, "
               f"{BATCH} at a time", f"peak memory of {end}, after {WARM:,} "
               "and after all, KiB", f"{was:,}, {now:,}")


def test_connections_move_data_at_once(place):                 # noqa: F811
    """200 connections at once, each with data both ways."""
    place.sshd()
    data = os.urandom(MOVED)
    with open(place.path("data"), "wb") as f:
        f.write(data)
    running = []
    for _ in range(MOVERS):
        with open(place.path("data"), "rb") as f:
            running.append(place.start(
                place.ssh(HOST, "cat"), stdin=f, stdout=subprocess.PIPE))

    def take(process):
        digest = hashlib.file_digest(process.stdout, "sha256").digest()
        return process.wait(), digest

    with ThreadPoolExecutor(MOVERS) as takers:
        found = list(takers.map(take, running))
    assert found == [(0, hashlib.sha256(data).digest())] * MOVERS
    is_clean(place)
    record("movers", f"{MOVERS} connections at once, {MOVED >> 20} MiB each, "
           "both ways", "whole, and nothing left behind", str(MOVERS))


def test_each_login_gets_in_or_is_told(place):                 # noqa: F811
    """In bursts that MaxStartups doesn't let through."""
    sshd = place.sshd(OURS, "MaxStartups 5")
    left, refused = LOGINS, 0
    while left:
        burst = [place.start(place.ssh(HOST, "echo in",
                                       level="INFO"),
                             stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for _ in range(min(BURST, left))]
        for process in burst:
            out, err = process.communicate(timeout=120)
            if process.returncode == 0:
                assert out == "in\n"
                left -= 1
            else:
                assert process.returncode == 255 and out == ""
                assert "Not allowed at this time" in err or \
                    "closed by" in err or "reset by peer" in err, err
                refused += 1
    print(f"{LOGINS} logins, {refused} refused before")
    assert refused > 0 and " Maxstartups" in read(sshd.log)
    is_clean(place)
    record("logins", f"{LOGINS} logins, {BURST} at once, through MaxStartups "
           "5", "got in; were told to come again", f"{LOGINS}; {refused}")


def is_clean(place):                    # noqa: F811
    wait_until("all to be gone", lambda: not place.processes(
        "ssh", "sshd-session", "sshd-auth"))
    assert place.still_serves()


def test_idle_connections_cost_what_stocks_do(place):       # noqa: F811
    """1,000 for a minute: memory and CPU within 2 % of stock's."""
    available = int(read("/proc/meminfo").split("MemAvailable:")[1].split()[0])
    if available < NEEDS_KIB:
        pytest.skip(f"no {NEEDS_KIB >> 20} GiB of memory")
    found = idle(place, IDLE, ["-N"], "User child is on pid")
    kib = memory_kib(found, IDLE)
    def used_in(seconds):
        before = [sum(map(cpu_ticks, pids)) for pids in found.values()]
        time.sleep(seconds)
        return [sum(map(cpu_ticks, pids)) - b
                for pids, b in zip(found.values(), before)]

    wait_until("all to have begun", lambda: used_in(2) == [0, 0])
    used = used_in(IDLE_S)
    print(f"{IDLE_S} s idle, CPU ticks of stock, ours: {used}")
    # Both do nothing. The kernel counts in ticks (10 ms), and charges what a
    # tick finds running: 2 % of nothing is less than it can tell
    assert used[1] <= used[0] * 1.02 + 1
    what = f"{IDLE:,} connections, idle for {IDLE_S} s"
    record("idle-cpu", what, "CPU time of all, ms",
           *(f"{10 * n}" for n in reversed(used)))
    record("idle-memory", what, "memory of one, KiB",
           *(f"{n / IDLE:.1f}" for n in reversed(kib)))
