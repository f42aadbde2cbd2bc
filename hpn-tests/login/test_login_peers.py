"""The login to servers that others wrote: each succeeds, as with stock's ssh,
and takes fewer round trips. Nothing but what a server announces decides over
messages of channels, whatever its banner says."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import peers
from login_tools import (ACCEPT, CHANNEL_REQUEST, CONFIRM, REQUEST, SERVICE,
                         Case, flow, run, sent_before)
from loopback import OURS, STOCK, root_place    # noqa: F401

# As "make check-interop" sets it
ALL = os.environ.get("INTEROP") == "all"
LOGINS = 100 if ALL else 3
# Debian's modules belong to Debian's Python
PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable
SOFTWARE = "OpenSSH_9.6p1"
# Those that answer requests in their order. asyncssh may answer the second one
# first, Go ends if it has accepted the first. TinySSH and older paramikos
# announce no algorithms.
IN_ORDER = {"paramiko", "Dropbear", "OpenSSH of Debian 12"}
IGNORE, EXT_INFO, FAILURE, SUCCESS, PK_OK = 2, 7, 51, 52, 60


def serve(place, name, *software):
    """The server, on port 2222. Skips if there is none."""
    peer = peers.SERVERS[name]
    if why := peers.absent("server", name):
        pytest.skip(why)
    peers.prepare(place.folder)
    os.chmod(place.folder, 0o700)
    place.start(peers.command([*peer.serves, *software], place.folder,
                              port="2222", python=PYTHON),
                stdin=subprocess.DEVNULL)
    place.wait_for_port(2222)


def case(name):
    """asyncssh loses the output of a command that ends before its input."""
    return Case("-lroot", command="cat; echo ran") \
        if "exec" in peers.SERVERS[name].modes else \
        Case("-lroot", "-s", command="sftp")


def login(place, name, tree):
    """The messages of a login and a session, and what the user sees."""
    done = run(place, case(name), tree, level="DEBUG3")
    assert "Authenticated to" in done.stderr, done.stderr
    said = [line for line in done.stderr.splitlines() if not re.match(
        r"debug\d|Authenticated|Transferred|Bytes| |$", line)]
    return flow(done.stderr), (done.returncode, done.stdout, said)


@pytest.mark.parametrize("name", peers.SERVERS)
def test_user_sees_what_stock_shows(place, name):
    serve(place, name)
    login(place, name, STOCK)               # the host is known from here on
    stock, seen = login(place, name, STOCK)
    for _ in range(LOGINS):
        kinds, ours = login(place, name, OURS)
        assert ours == seen
        assert CHANNEL_REQUEST not in sent_before(kinds, CONFIRM)
        if name not in IN_ORDER or (False, EXT_INFO) not in stock:
            assert kinds[:kinds.index((False, CONFIRM))] == \
                stock[:stock.index((False, CONFIRM))]
            continue
        assert sent_before(kinds, ACCEPT) == [SERVICE, REQUEST, REQUEST]
        assert [kind for sent, kind in kinds[:kinds.index((False, SUCCESS))]
                if not sent and kind not in (IGNORE, EXT_INFO)] == \
            [ACCEPT, FAILURE, PK_OK]


@pytest.mark.parametrize("name", ["Go", "paramiko", "asyncssh"])
def test_banner_announces_nothing(place, name):
    serve(place, name, SOFTWARE)
    for _ in range(LOGINS):
        kinds, (status, output, _) = login(place, name, OURS)
        assert (status, output) == \
            (0, "ran\n" if "exec" in peers.SERVERS[name].modes else "")
        assert CHANNEL_REQUEST not in sent_before(kinds, CONFIRM)
