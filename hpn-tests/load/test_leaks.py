"""A connection of a day: no memory that it or what it serves leaves grows,
and none is ours. With the programs of build/sanitized."""

import glob
import os
import subprocess

import pytest

from leaks import findings
from loopback import (BUILD, HOST, place, status_kib,   # noqa: F401
                      wait_until)

TREE = os.path.join(BUILD, "sanitized")
REPORTS = os.path.join(TREE, "reports")
SESSIONS, AT_ONCE, COPIES = 1000, 10, 20
GROWS_KIB = 4096


def fill(folder):
    os.makedirs(f"{folder}/deep")
    for i in range(150):
        with open(f"{folder}/deep/{i}", "wb") as f:
            f.write(os.urandom(1000))
    with open(f"{folder}/large", "wb") as f:
        f.write(os.urandom(40 << 20))


@pytest.mark.level("netem")
def test_long_master_leaks_nothing(place):          # noqa: F811
    if not os.path.exists(f"{TREE}/sshd"):
        pytest.skip(f"no {TREE}: see \"make check-sanitized\"")
    for path in glob.glob(f"{REPORTS}/*"):
        os.unlink(path)
    place.sshd(TREE, f"Subsystem sftp {TREE}/sftp-server", "MaxSessions 100")
    control = ["-o", f"ControlPath={place.path('control')}"]
    master = place.start(place.ssh("-MN", *control, HOST, tree=TREE),
                         stdin=subprocess.DEVNULL)
    wait_until("it", lambda: os.path.exists(place.path("control")))
    fill(place.path("source"))
    seen = []
    for i in range(COPIES):
        for _ in range(SESSIONS // COPIES // AT_ONCE):
            clients = [place.start(place.ssh(*control, HOST, "cat"),
                                   stdin=subprocess.DEVNULL)
                       for _ in range(AT_ONCE)]
            assert [client.wait(300) for client in clients] == [0] * AT_ONCE
        for option in ("-r", "-rZ"):
            done = place.run(place.scp(
                option, "-Xstreams=3", *control, f"{place.path('source')}/.",
                f"{HOST}:{place.path('copy')}", tree=TREE))
            assert (done.returncode, done.stderr) == (0, "")
            os.truncate(place.path("copy/large"), 20 << 20)
        seen.append([status_kib(pid, "VmRSS") for pid in (
            master.pid, *sorted(place.processes("sshd-session")))])
    print("KiB of ssh and sshd-session:", *seen)
    place.run(place.ssh(*control, "-O", "exit", HOST, tree=TREE))
    wait_until("their end", lambda: not place.processes("ssh", "sshd-session"))
    assert os.listdir(REPORTS)  # upstream's own: so somebody looks
    assert findings(REPORTS) == []
    for half, end in zip(seen[COPIES // 2], seen[-1]):
        assert end <= half + GROWS_KIB
