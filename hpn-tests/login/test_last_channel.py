"""Requests for the channel that was just opened (PROTOCOL.channels): a command
goes out with the opening of its session to a server that announced it, and
runs in that session, once, or not at all."""

import os
import re
import signal
import subprocess

import pytest

from hostile import PACKET, WINDOW, Raw, Server
from login_tools import CHANNEL_REQUEST, HOST, OPEN, Agent
from loopback import FRONT, OURS, STOCK, Relay, read, wait_until

LAST = 0xffffffff


# A client that says what it likes

def opens(server, *kinds):
    """Channels, and then a command for the last one. Where it would run."""
    ran = server.place.path("ran")
    for number, kind in enumerate(kinds):
        server.client.say(OPEN, kind, number, WINDOW, PACKET)
    server.client.say(CHANNEL_REQUEST, LAST, b"exec", Raw(b"\1"),
                      f"touch {ran}".encode())
    return ran


@pytest.mark.parametrize("kinds", [
    [], [b"session", b"session"], [b"session", b"unknown"]],
    ids=["none", "refused", "another"])
def test_command_of_no_session_is_ignored(place, kinds):
    """Its command runs nowhere: not in the session before it either."""
    server = Server(place, options=["MaxSessions 1"])
    ran = opens(server, *kinds)
    assert server.client.is_answered()
    assert "no session was opened: exec ignored" in server.log()
    server.finish()
    assert not os.path.exists(ran)


def test_command_behind_its_opening_runs(place):
    server = Server(place)
    ran = opens(server, b"session")
    wait_until("the command", lambda: os.path.exists(ran))
    server.finish()


# Through a ControlMaster

def master(home, *options, server=OURS, env=None, port=2222):
    """Of shared connections; the path of its socket, and of its log."""
    home.sshd(server, *options)
    path, log = home.path("c"), home.path("master.log")
    with open(log, "w") as f:
        home.master = home.start(
            home.ssh("-o", "ForwardAgent=yes", "-o", "ForwardX11=yes", "-o",
                     f"ControlPath={path}", "-M", "-N", HOST, level="DEBUG3",
                     port=port), stdin=subprocess.DEVNULL, stderr=f, env=env)
    wait_until("the master", lambda: os.path.exists(path))
    return path, log


def shared(home, path, command, *options, **kwargs):
    return home.run(home.ssh("-S", path, *options, HOST, command), **kwargs)


def openings(log):
    """Of each session, whether its command went out before its number came."""
    kinds = re.findall(r"(send|receive) packet: type (90|91|92|98)", read(log))
    return [kinds[i + 1:i + 2] == [("send", "98")]
            for i, kind in enumerate(kinds) if kind == ("send", "90")]


@pytest.mark.parametrize("server", [OURS, STOCK], ids=["ours", "stock"])
def test_commands_go_out_with_their_openings(place, server):
    path, log = master(place, server=server)
    for n in range(3):
        done = shared(place, path, f"cat; echo {n}; exit {n}")
        assert (done.stdout, done.returncode) == (f"{n}\n", n), done.stderr
    assert openings(log) == [server == OURS] * 3


@pytest.mark.parametrize("option", ["-tt", "-X", "-A"])
def test_sessions_wait_for_their_number(place, option):
    agent = Agent(place)
    env = {**os.environ, **agent.env, "DISPLAY": "127.0.0.1:9"}
    path, log = master(place, env=env)
    for now, early in ((option, False), ("-T", True)):
        done = shared(place, path, "echo ran", now, env=env)
        assert done.stdout.split() == ["ran"], done.stderr
        assert openings(log)[-1] == early


def test_parallel_sessions_get_their_own_commands(place):
    path, log = master(place)
    started = [place.start(place.ssh("-S", path, HOST,
                                     f"sleep 0.{n}; echo {n}"),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           text=True) for n in range(8)]
    for n, ssh in enumerate(started):
        out, _ = ssh.communicate(timeout=300)
        assert (out, ssh.returncode) == (f"{n}\n", 0)
    assert openings(log) == [True] * 8


def test_refused_opening_takes_only_its_command(place):
    path, log = master(place, "MaxSessions 1")
    first = place.start(place.ssh("-S", path, HOST, "cat; echo first"),
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                        text=True)
    wait_until("the first", lambda: len(openings(log)) == 1)
    done = shared(place, path, "echo second", "-o", "ControlMaster=no")
    assert "Session open refused by peer" in done.stderr, done.stderr
    assert done.stdout == "second\n"    # by a connection of its own
    assert openings(log)[:2] == [True, True]
    out, _ = first.communicate("input\n", timeout=300)
    assert (out, first.returncode) == ("input\nfirst\n", 0)
    assert shared(place, path, "echo third").stdout == "third\n"


@pytest.mark.parametrize("option, early", [
    ("-T", True), ("-tt", False), ("-A", False)])
def test_a_command_runs_once(place, option, early):
    """One that went out with its session's opening does not run again when the
    master goes before the answer comes. One that did not go out runs, as in
    stock."""
    agent, relay, ran = Agent(place), Relay(place), place.path("ran")
    env = {**os.environ, **agent.env}
    path, log = master(place, env=env, port=FRONT)
    relay.process.send_signal(signal.SIGUSR1)
    assert "kept" in relay.next()
    ssh = place.start(place.ssh("-S", path, option, HOST, f"echo ran >> {ran}",
                                port=FRONT),
                      stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                      text=True, env=env)
    wait_until("the opening", lambda: "send packet: type 90" in read(log))
    if early:
        wait_until("the command", lambda: read(ran))
    place.master.kill()
    _, said = ssh.communicate(timeout=300)
    assert read(ran) == "ran\n"
    assert ssh.returncode == (255 if early else 0), said
    assert ("master terminated unexpectedly" in said) == early


def test_master_waits_for_a_stock_client(place):
    """It would run its command again: the master waits."""
    path, log = master(place)
    done = place.run(place.ssh("-S", path, HOST, "echo ran", tree=STOCK))
    assert done.stdout == "ran\n", done.stderr
    assert openings(log) == [False]
