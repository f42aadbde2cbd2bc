"""Ends that are stopped for a while or for good: the copy goes on, or ends with
an error, and nothing of it stays."""

import os
import signal
import time

import pytest

from chaos import (TIMEOUT, Ends, place, record, runs,        # noqa: F401
                   slow, some_line)

STOPPED_S = 3


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
    """By ServerAliveInterval. sshd's processes end once they can."""
    ends = Ends(place, who)
    client, pids = stop_midway(ends, ["sshd-session"], tool, direction,
                               "-o", "ServerAliveInterval=5",
                               "-o", "ServerAliveCountMax=2")
    outcome, lines = ends.outcome(client, then=lambda: go_on(pids))
    assert outcome == "error" and some_line(lines, TIMEOUT), lines
    record("sshd-session stopped for good, ServerAliveInterval", who, outcome)
