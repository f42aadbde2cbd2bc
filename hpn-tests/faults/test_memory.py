"""Memory that isn't there: allocations that fail, and a cgroup that is full.
The copy goes on, or ends with an error; other connections never notice; and
what readers cost that stop is bounded by the limit that there is."""

import contextlib
import os
import re
import subprocess

import pytest

from chaos import (FRONT, LOST, SIZE, TREES, Ends, Relay,       # noqa: F401
                   each, place, record, slow, some_line, wait_until)
from loopback import HOST, STOPPED, read, stands_still, status_kib

KIB, MIB = 1 << 10, 1 << 20
CGROUP = "/sys/fs/cgroup"

# Which process has no more than it has, and some KiB; in which copy
LIMITED = [("ssh", "ssh", "get"), ("ssh", "scp", "put"), ("scp", "scp", "get"),
           ("scp", "scp", "put"), ("sftp", "sftp", "get"),
           ("sftp", "sftp", "put"), ("sshd-session", "ssh", "get"),
           ("sshd-session", "scp", "put"), ("sftp-server", "sftp", "get"),
           ("sftp-server", "sftp", "put")]
MORE_KIB = (0, 64, 512, 4096)


@slow
@pytest.mark.parametrize("who", TREES)
@pytest.mark.parametrize("limited, tool, direction", LIMITED)
def test_failed_allocations_end_only_their_copy(place, who, limited, tool,
                                                direction):
    """From some moment on; and when nothing more is wanted, it goes on."""
    ends = Ends(place, who)
    for more_kib in MORE_KIB:
        client, relay = ends.held_copy(tool, direction)
        assert [place.limit(pid, more_kib) for pid in
                set(place.processes(limited)) - ends.before]
        relay.go_on()
        outcome, lines = ends.outcome(client)
        relay.said()
        print(f"{limited}, {more_kib} KiB more: {outcome} {lines}")
        record("no memory (ENOMEM) from mid-copy on", who, outcome)
    assert place.still_serves()


NO_MEMORY = ("allocation failed|[Oo]ut of memory|[Cc]annot allocate|"
             "could not allocate")


@each
def test_sshd_without_memory_ends_the_connection(place, who):
    """A reader has stopped, and what comes for it has no room: the log says
    so, the user that the connection is lost."""
    ends = Ends(place, who)
    with open(ends.source, "rb") as f:
        client, relay = ends.held(lambda: ends.popen(
            place.ssh(HOST, STOPPED, tree=ends.tree, port=FRONT,
                      level="INFO"), stdin=f), at=100 * KIB)
    wait_until("the reader", lambda: place.processes("sleep"))
    for pid in set(place.processes("sshd-session")) - ends.before:
        place.limit(pid, KIB)
    relay.go_on()
    outcome, lines = ends.outcome(client)
    assert outcome == "error" and some_line(lines, LOST), lines
    assert re.search(NO_MEMORY, ends.log()), ends.log()
    record("no memory (ENOMEM) for a stopped reader's data", who, outcome)
    assert place.still_serves()


@each
def test_ssh_without_memory_ends_with_an_error(place, who):
    ends = Ends(place, who)
    client, relay = ends.held(lambda: ends.popen(
        ends.argv("ssh", "get"), stdout=subprocess.PIPE), "server", 100 * KIB)
    place.limit(client.pid, KIB)
    relay.go_on()                       # and nobody reads
    wait_until("its end", lambda: client.poll() is not None)
    lines = client.stderr.read().splitlines()
    assert client.returncode == 255 and some_line(lines, NO_MEMORY), lines
    ends.none_left()
    record("no memory (ENOMEM) for a stopped reader's data", who, "error")


class Cgroup:
    """One with a limit of memory, of version 2, or 1 where that has it."""

    def __init__(self, limit_bytes):
        self.folder = None
        if "memory" in read(f"{CGROUP}/cgroup.controllers").split():
            parent, self.limit, self.peak, self.kills = (
                CGROUP, "memory.max", "memory.peak", "memory.events")
            with contextlib.suppress(OSError):
                self.write(f"{CGROUP}/cgroup.subtree_control", "+memory")
        else:
            parent, self.limit, self.peak, self.kills = (
                f"{CGROUP}/memory", "memory.limit_in_bytes",
                "memory.max_usage_in_bytes", "memory.oom_control")
        folder = f"{parent}/openssh-bdp-{os.getpid()}"
        try:
            os.mkdir(folder)
            self.folder = folder
            self.write(f"{folder}/{self.limit}", str(limit_bytes))
        except OSError as e:
            self.end()
            pytest.skip(f"no memory cgroup of our own here: {e}")

    def write(self, path, text):
        with open(path, "w") as f:
            f.write(text)

    def add(self, pid):
        self.write(f"{self.folder}/cgroup.procs", str(pid))

    def oom_kills(self):
        return int(re.search(r"^oom_kill (\d+)",
                             read(f"{self.folder}/{self.kills}"), re.M)[1])

    def peak_bytes(self):
        """(Not told by version 2 before Linux 5.19.)"""
        return int(read(f"{self.folder}/{self.peak}") or 0)

    def end(self):
        if self.folder:
            wait_until("its processes to go", lambda: not read(
                f"{self.folder}/cgroup.procs"))
            os.rmdir(self.folder)


@pytest.fixture
def cgroup():
    made = Cgroup(CGROUP_MIB * MIB)
    yield made
    made.end()


READERS, CGROUP_MIB, DELAY_S = 8, 256, 0.2
MOVED = 96 * MIB


@slow
def test_stopped_readers_fit_into_a_cgroup(cgroup, place):
    """sshd and all its connections have 256 MiB. Readers that all stop when
    their windows have grown fit, as a window is a sixteenth of that at most
    where ChannelWindowMax says nothing else."""
    ends = Ends(place)
    cgroup.add(ends.sshd.pid)           # and with it what it starts
    relay = Relay(place, delay_s=DELAY_S)
    ends.before.add(relay.process.pid)
    with open("/dev/zero", "rb") as zero:
        clients = [ends.popen(place.ssh(
            HOST, f"head -c {MOVED} > /dev/null; {STOPPED}",
            port=FRONT), stdin=zero) for _ in range(READERS)]
    sessions = wait_until("the logins", lambda: serving(place, ends))
    before = [status_kib(pid, "VmRSS") for pid in sessions]
    wait_until("all to have stopped", lambda: not place.processes("head") and
               place.processes("sleep") and
               all(map(stands_still, [*sessions, relay.process.pid,
                                      *place.processes("ssh")])))
    grown = [status_kib(pid, "VmRSS") - b for pid, b in zip(sessions, before)]
    print(f"MiB that came for each reader: {[g >> 10 for g in grown]}, "
          f"most of the cgroup: {cgroup.peak_bytes() >> 20}")
    assert [c.poll() for c in clients] == [None] * READERS
    assert cgroup.oom_kills() == 0
    # More than stock's 2 MiB, and no more than the sixteenth, which a sender
    # may pass by a tenth (test_hostile.py has the same 8 MiB for the rest)
    assert max(grown) > 8 * KIB
    assert max(grown) < (CGROUP_MIB // 16 * 1.1 + 8) * KIB
    assert place.still_serves()
    record(f"{READERS} uploads paused with {CGROUP_MIB} MiB of memory", "ours",
           "goes on")
    for client in clients:
        client.kill()
        client.communicate()
    ends.none_left()


def serving(place, ends):
    """The processes that serve connections as the user, once all do."""
    pids = set(place.processes("sshd-session")) - ends.before
    users = [pid for pid in sorted(pids) if int(read(
        f"/proc/{pid}/stat").rsplit(")")[-1].split()[1]) in pids]
    return users if len(users) == READERS else None
