"""QuickStart and servers that others wrote: never worse than without it."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import peers
from early_relay import PORT, Relay
from loopback import OURS, STOCK, place, wait_until    # noqa: F401
from quick_login import (ASKED, OPEN, REQUEST, home, login,     # noqa: F401
                         stop)

SERVERS = [name for name in peers.SERVERS if name != "OpenSSH of Debian 12"]
# Debian's modules belong to Debian's Python
PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable


def serve(home, name):
    """The server, on port 2222. Skips if there is none."""
    peer = peers.SERVERS[name]
    if why := peers.absent("server", name):
        pytest.skip(why)
    peers.prepare(home.folder)
    shutil.copy(home.path("user.pub"), home.path(".ssh/authorized_keys"))
    os.chmod(home.folder, 0o700)
    home.start(peers.command(peer.serves, home.folder, port="2222",
                             python=PYTHON), stdin=subprocess.DEVNULL)
    wait_until(name, lambda: ":2222 " in home.run(["ss", "-Htln"]).stdout)


def waits(done):
    """How often ssh has sent something and waited for an answer."""
    ways = [way for way, kind in re.findall(
        r"(send|receive) packet: type (\d+)", done.stderr)]
    return sum(pair == ("send", "receive") for pair in zip(ways, ways[1:]))


def told(done):
    """What the user sees of a log."""
    return done.returncode, done.stdout, [
        line for line in done.stderr.splitlines() if not re.match(
            r"debug\d|Authenticated|Transferred|Bytes| |$", line)]


def words_of(name):
    """The options and the command. asyncssh loses the output of a command that
    ends before its input does."""
    return ([], "cat; echo ran") if "exec" in peers.SERVERS[name].modes else \
        (["-s"], "sftp")


@pytest.mark.parametrize("name", SERVERS)
def test_as_good(home, name):
    """Exit status, output and connections are those of stock, and there are
    fewer waits; no session goes out before the login."""
    serve(home, name)
    relay = Relay(home)
    options, command = words_of(name)
    try:
        for quick in ("no", "yes"):
            login(home, *options, quick=quick, command=command, port=PORT)
        stock = login(home, *options, quick="no", command=command, port=PORT)
        assert "Authenticated to" in stock.stderr, stock.stderr
        assert "ran" in stock.stdout or options
        relay.counted()
        for quick in ("yes", "always"):
            done = login(home, *options, quick=quick, command=command,
                         port=PORT)
            assert told(done) == told(stock)
            assert relay.counted() == 1
            # A server that sends no EXT_INFO, as TinySSH, is asked
            assert done.early == ([5, REQUEST] if "EXT_INFO received" in
                                  stock.stderr else ASKED)
            assert waits(done) < waits(stock)
    finally:
        relay.close()


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("quick,tree", [("yes", OURS), ("always", STOCK)])
def test_in_the_place_of_sshd(home, name, quick, tree):
    """Where an sshd was before, and got its session with the signature: what
    the user sees is stock's, and nothing goes out before the login."""
    options, command = words_of(name)
    home.sshd(tree, f"Subsystem sftp {tree}/sftp-server")
    for _ in range(2):
        done = login(home, *options, quick=quick, command=command)
    assert "session sent with" in done.stderr
    stop(home)
    serve(home, name)
    os.unlink(home.path("known_hosts"))     # TinySSH has another key
    done, stock = [login(home, *options, quick=q, command=command)
                   for q in (quick, "no")]
    assert "Authenticated to" in done.stderr
    new = [line for line in told(done)[2] if "Permanently added" not in line]
    assert (*told(done)[:2], new) == told(stock)
    assert OPEN not in done.early
