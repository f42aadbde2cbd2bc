"""QuickStart on a path that is slow, or cut, or changed on the way: nothing
runs twice, and nothing but the key exchange goes to who is not the host."""

import os
import shutil
import time

import pytest

from loopback import OURS, place, read, wait_until  # noqa: F401
from quick_login import (HOST, home, is_quick, key, known,      # noqa: F401
                         login, restart, without)
from wire import CLIENT, PORT, SERVER, Wire

KEXINIT, SHARE = 20, 30


@pytest.fixture
def wire(home):
    """One in front of our sshd."""
    home.sshd(OURS, f"Subsystem sftp {OURS}/sftp-server")
    wire = Wire(home)
    yield wire
    wire.close()


def test_update_host_keys(home, wire):
    """New keys of the host are learnt, and those that it has no more are
    forgotten, by a command that takes no time."""
    learnt = read(key(home, "second") + ".pub").split()[1]
    gone = read(key(home, "gone") + ".pub").split()[1]
    first = read(home.path("host.pub")).split()[1]
    assert login(home, port=PORT).returncode == 0
    assert is_quick(login(home, port=PORT), True)
    with open(home.path("known_hosts"), "a") as f:
        f.write(f"[127.0.0.1]:{PORT} ssh-ed25519 {gone}\n")
    shutil.copy(home.path("known_hosts"), home.path("before"))
    restart(home, OURS, f"HostKey {home.path('host')}",
            f"HostKey {home.path('second')}")
    wire.delay_s = 0.1
    for quick in ("yes", "no"):
        shutil.copy(home.path("before"), home.path("known_hosts"))
        done = login(home, "-o", "UpdateHostKeys=yes", quick=quick,
                     command="true", port=PORT)
        assert done.returncode == 0, done.stderr
        assert ("session sent with" in done.stderr) == (quick == "yes")
        now = read(home.path("known_hosts"))
        assert [k in now for k in (first, learnt, gone)] == \
            [True, True, False], (quick, now)


def put_back(home, name, saved):
    """A file as it was: with its mode."""
    shutil.copy(saved, home.path(name))


def points(most, number):
    """Of 0 to most, both included, and one that no login gets to."""
    return sorted({round(i * most / (number - 1)) for i in range(number)} |
                  {2 * most})


@pytest.fixture
def quick(home, wire):
    """The file of a login that is quick, to be put back before each."""
    login(home, port=PORT)
    assert is_quick(login(home, port=PORT), True)
    shutil.copy(known(home), home.path("saved"))
    return home.path("saved")


def settled(home):
    """Once each connection has ended at the server, too."""
    sshd = [s for s in home.started if hasattr(s, "log")][-1]
    children = f"/proc/{sshd.pid}/task/{sshd.pid}/children"
    wait_until("the connections' end", lambda: read(children) == "")


def runs(home, number):
    """How often the command of a number ran."""
    path = home.path(f"ran-{number:04d}")
    return read(path).count("ran\n") if os.path.exists(path) else 0


def forged(data):
    """With another signature of the host's, if it is there."""
    mark = b"\0\0\0\x0bssh-ed25519\0\0\0\x40"
    at = data.find(mark) + len(mark)
    if at < len(mark):
        return data
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def test_forged_signature(home, wire, quick):
    """Somebody who shows the host's key without having it gets the key exchange
    only, as with stock."""
    ends = []
    for mode in ("yes", "no"):
        put_back(home, "quick_hosts", quick)
        wire.changed = forged
        done = login(home, quick=mode, command=f"touch {home.path('ran')}",
                     port=PORT)
        ends.append((done.returncode, done.stderr.splitlines()[-1]))
        assert set(done.sent) <= {KEXINIT, SHARE}
        assert len(wire.counted()) >= 1
    assert ends[0] == ends[1] and ends[0][0] == 255
    assert "incorrect signature" in ends[0][1]
    assert not os.path.exists(home.path("ran"))
    wire.changed = bytes
    put_back(home, "quick_hosts", quick)
    assert is_quick(login(home, port=PORT), True)


@pytest.mark.parametrize("whose", [CLIENT, SERVER])
def test_cut(home, wire, quick, whose):
    """The command runs once at most, and ssh calls it a success only if it has
    run. ssh connects again only if the key exchange was cut."""
    def command(number):
        return f"echo ran >> {home.path(f'ran-{number:04d}')}"

    wire.counted()
    assert "session sent with" in login(home, command=command(0),
                                        port=PORT).stderr
    ends, total = {}, wire.counted()[0]
    for number, n in enumerate(points(total[whose], 32), 1):
        put_back(home, "quick_hosts", quick)
        wire.cut = (whose, n)
        done = login(home, command=command(number), port=PORT)
        settled(home)
        ends[number] = done.returncode, len(wire.counted())
        if ends[number][1] == 2:
            first, failed, _ = done.stderr.partition("did not take")
            assert failed and "signing at once" not in first
    # A command may outlive its connection, so what it wrote is read last
    time.sleep(1)
    ends = {(status, runs(home, number), connections)
            for number, (status, connections) in ends.items()}
    assert ends <= {(0, 1, 1), (255, 1, 1), (255, 0, 1), (0, 1, 2)}, ends
    # Each of them has been met
    assert ends >= {(255, 0, 1), (0, 1, 2), (0, 1, 1)}
    assert (255, 1, 1) in ends or whose == CLIENT


@pytest.mark.parametrize("whose", [CLIENT, SERVER])
@pytest.mark.parametrize("target", ["copy", "folder/"])
def test_scp_cut(home, wire, quick, whose, target):
    """What is there then is the file or its beginning, in its place, and
    nothing else; scp calls it a success only if it is whole."""
    data = os.urandom(30000)
    with open(home.path("source"), "wb") as f:
        f.write(data)
    place_ = home.path("there")
    copy = os.path.join(place_, "copy" if target == "copy"
                        else "folder/source")

    def scp():
        shutil.rmtree(place_, ignore_errors=True)
        os.makedirs(os.path.join(place_, "folder"))
        put_back(home, "quick_hosts", home.path("saved.scp"))
        words = without(home.ssh("-o", "QuickStart=yes", port=PORT,
                                 level="DEBUG1"), "-p", str(PORT))
        done = home.run([f"{OURS}/scp", "-S", *words, "-P", str(PORT),
                         home.path("source"),
                         f"{HOST}:{place_}/{target}"])
        settled(home)
        got = None
        if os.path.exists(copy):
            with open(copy, "rb") as f:
                got = f.read()
        others = [os.path.join(f, name) for f, _, names in os.walk(place_)
                  for name in names]
        assert others in ([], [copy]), done.stderr
        return done, got

    shutil.copy(quick, home.path("saved.scp"))
    scp()                               # the server's sftp is remembered
    shutil.copy(known(home), home.path("saved.scp"))
    wire.counted()
    done, got = scp()
    assert got == data and "bytes sent with the session" in done.stderr
    ends, total = set(), wire.counted()[0]
    for n in points(total[whose], 24):
        wire.cut = (whose, n)
        done, got = scp()
        assert got is None or data.startswith(got), (n, done.stderr)
        assert done.returncode != 0 or got == data, (n, done.stderr)
        ends.add((done.returncode == 0, got is not None,
                  len(wire.counted())))
    assert {(False, False, 1), (True, True, 2), (True, True, 1)} <= ends
