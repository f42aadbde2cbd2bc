"""Ends that are stopped for a while or for good, and clients that are killed:
the copy goes on, or ends with an error; nothing of it stays, and what has
arrived is how the file begins."""

import os
import random
import signal
import time

import pytest

from chaos import (COPIES, PORT, SIZE, TIMEOUT, Ends,          # noqa: F401
                   place, record, runs, sha256, slow, some_line)

SEED = 9
STOPPED_S = 3
CLIENTS = ("ssh", "scp", "sftp")


def stop_midway(ends, names, tool, direction, *options):
    """A copy of which the processes with one of the names are stopped while
    it waits for the relay. The client, and who was stopped."""
    client, relay = ends.held_copy(tool, direction, *options)
    pids = set(ends.place.processes(*names)) - ends.before
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    relay.go_on()
    return client, pids


def go_on(pids):
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("stopped", [
    "sshd-session", pytest.param("ssh", marks=slow)])
@runs(("scp", "put"))
def test_copy_survives_a_stopped_process(place, stopped, who, tool, direction):
    ends = Ends(place, who)
    client, pids = stop_midway(ends, [stopped], tool, direction)
    time.sleep(STOPPED_S)
    assert client.poll() is None
    go_on(pids)
    outcome, lines = ends.outcome(client)
    assert outcome == "goes on", lines
    record(f"{stopped} stopped for {STOPPED_S} s", who, outcome)


@runs(("sftp", "get"))
def test_copy_ends_if_the_server_hangs(place, who, tool, direction):
    """With ServerAliveInterval the client says that the server doesn't
    answer. sshd's processes end once they can."""
    ends = Ends(place, who)
    client, pids = stop_midway(ends, ["sshd-session"], tool, direction,
                               "-o", "ServerAliveInterval=1",
                               "-o", "ServerAliveCountMax=2")
    outcome, lines = ends.outcome(client, then=lambda: go_on(pids))
    assert outcome == "error" and some_line(lines, TIMEOUT), lines
    record("sshd-session stopped for good, ServerAliveInterval", who, outcome)


def is_beginning(ends):
    """What has arrived is how the file begins."""
    if os.path.exists(ends.dest):
        with open(ends.source, "rb") as source, open(ends.dest, "rb") as dest:
            data = dest.read()
            assert data == source.read(len(data))


def clean_s(ends, copy):
    """How long it takes when nobody is killed."""
    start_s = time.monotonic()
    assert ends.outcome(ends.start(*copy, port=PORT))[0] == "goes on"
    return time.monotonic() - start_s


def kill_at(ends, copy, wait_s, choose):
    """Kills one of the client's processes then. Whether it wasn't done."""
    client = ends.start(*copy, port=PORT)
    time.sleep(wait_s)
    pids = sorted(set(ends.place.processes(*CLIENTS)) - ends.before)
    victim = choose(pids) if pids else None
    if victim:
        os.kill(victim, signal.SIGKILL)
    said = client.communicate(timeout=300)[1]
    ends.none_left()
    is_beginning(ends)
    if client.returncode == 0:          # with its last breath
        assert sha256(ends.dest) == ends.wanted
        return False
    if victim == client.pid:
        assert client.returncode == -signal.SIGKILL
    else:                               # the ssh of scp, or of sftp
        assert victim and (said or client.returncode == -signal.SIGPIPE)
    return True


def resumed(ends, tool, direction):
    """Resumes an interrupted copy."""
    argv = ends.argv(tool, direction, port=PORT)
    if tool == "scp":
        argv.insert(1, "-Z")
    elif os.path.exists(ends.dest) and \
            os.path.getsize(ends.dest) < os.path.getsize(ends.source):
        batch = ends.place.path("batch")
        with open(batch, "w") as f:
            f.write(f"re{direction} {ends.source} {ends.dest}\n")
    process = ends.popen(argv)
    outcome, lines = ends.outcome(process)
    assert outcome == "goes on", lines


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=slow)])
def test_killed_client_leaves_a_beginning(place, kills):
    """kill -9 at random moments, logging in and the last byte among them.
    Some of the interrupted copies are resumed."""
    ends = Ends(place, size=4 * SIZE)
    moments = random.Random(SEED)
    print(f"seed {SEED}")
    took_s = {copy: clean_s(ends, copy) for copy in COPIES}
    killed = resumes = 0
    while killed < kills:
        copy = COPIES[killed % len(COPIES)]
        if not kill_at(ends, copy, moments.uniform(0.03, took_s[copy]),
                       moments.choice):
            continue                    # it was done already
        killed += 1
        record("client killed -9", "ours", "left nothing")
        if copy[0] != "ssh" and moments.random() < 0.4:
            resumed(ends, *copy)
            resumes += 1
            record("resumed after kill -9 (scp -Z, reget, reput)", "ours",
                   "goes on")
    print(f"{killed} killed, {resumes} resumed")
    assert resumes >= kills // 8 and ends.place.still_serves()
