"""Connections that do nothing: opened, and what they cost."""

import subprocess

from loopback import (HOST, OURS, PORT, STOCK, children, read, status_kib,
                      wait_until)

AT_ONCE = 10
MOST = 1.02


def idle(place, connections, what, shows):             # noqa: F811
    """Opens them; by port, stock's first, the processes that serve them."""
    servers = {port: place.sshd(tree, port=port)
               for port, tree in ((PORT, STOCK), (PORT + 1, OURS))}
    # Logging in is not what is measured
    cheap = ["-o", "KexAlgorithms=curve25519-sha256", "-n"]
    for i in range(AT_ONCE, connections + 1, AT_ONCE):
        for port in servers:
            for _ in range(AT_ONCE):
                place.start(place.ssh(*cheap, HOST, *what,
                                      tree=STOCK, port=port),
                            stdin=subprocess.DEVNULL)
        for sshd in servers.values():
            wait_until("logins", lambda: read(sshd.log).count(shows) == i)
    return {port: wait_until("their processes to settle",
                             lambda: settled(place, sshd, connections))
            for port, sshd in servers.items()}


def memory_kib(found, connections):
    """What the processes have, stock's and ours: no more than 2 % apart."""
    used = [sum(status_kib(pid, "Pss", "smaps_rollup") for pid in pids)
            for pids in found.values()]
    print(f"{connections} connections, KiB of stock, ours: {used}")
    assert min(used) > connections * 500
    assert used[1] <= used[0] * MOST
    return used


def settled(place, sshd, connections):
    """The two processes of each connection, once there are just those, and
    the commands that they forked have been executed."""
    monitors = children(sshd.pid)
    sessions = [c for m in monitors for c in children(m)]
    found = monitors + sessions + [c for s in sessions for c in children(s)]
    named = [p for p in found if read(f"/proc/{p}/comm") == "sshd-session\n"]
    return named if named == monitors + sessions and \
        len(named) == 2 * connections else None
