"""What of ours runs before a user has logged in: in sshd-auth, which talks to
anybody, and in sshd-session while it serves it. An sshd whose patched files
note each function that runs says so: it is what is listed here."""

import contextlib
import glob
import os
import re
import shutil
import socket
import struct
import subprocess

import pytest

from hostile import (BOUNDED, MSG_DATA, MSG_EXT_INFO, MSG_FAILURE, MSG_PING,
                     MSG_PONG, MSG_REQUEST, MSG_WINDOW_ADJUST, PROBE, Hostile,
                     Raw, ext_info, paramiko)
from loopback import (HOST, OURS, PORT, STOCK, TOP, make_says, read,
                      user_folder, wait_until)

PROGRAMS = ("sshd", "sshd-session", "sshd-auth")

# What SECURITY.md lists: where it runs, and its names
ROWS = re.findall(r"^\| ([^|]*(?:process|`sshd)[^|]*) \| (`[^|]*) \|",
                  read(f"{TOP}/SECURITY.md"), re.M)
SINCE_10_4 = [*map(int, re.search(r"OpenSSH_(\d+)\.(\d+)", read(
    f"{OURS}/version.h")).groups())] >= [10, 4]
OF_ANOTHER_BASE = "before 10.4" if SINCE_10_4 else "since 10.4"


def listed(process):
    return {name for where, names in ROWS for part in where.split(", ")
            if part == "every process" or f"`{process}`" in part
            if OF_ANOTHER_BASE not in part
            for name in re.findall(r"`(\w+)`", names)}


BEFORE_LOGIN = listed("sshd-session")
IN_AUTH = listed("sshd-auth")


def make(tree, *arguments):
    done = subprocess.run(["make", "-s", f"-j{os.cpu_count()}", *arguments],
                          cwd=tree, capture_output=True, text=True,
                          timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def functions(path):
    """(address, name), of an object or a program."""
    listed = subprocess.run(["nm", path], capture_output=True, text=True,
                            check=True).stdout
    return [(int(m[1], 16), m[2].split(".")[0]) for m in
            re.finditer(r"^([0-9a-f]+) [tT] (\S+)$", listed, re.M)]


class Noting:
    """A copy of build/openssh whose patched files and modules note what
    runs, in a file for each process."""

    def __init__(self, folder):
        self.tree, self.calls = f"{folder}/tree", f"{folder}/calls"
        os.mkdir(self.calls)
        patched = {m for folder in ("patches", "patches/security")
                   for p in glob.glob(f"{TOP}/{folder}/*.patch")
                   for m in re.findall(r"^\+\+\+ b/(\w\S*)\.c$", read(p),
                                       re.M)}
        modules = {os.path.basename(p)[:-2]
                   for p in glob.glob(f"{TOP}/openssh/*/*.c")}
        flags = f"CFLAGS={make_says('$(CFLAGS)')} -finstrument-functions"
        # Some that sshd doesn't have are made for nothing
        objects = [f"{name}.o" for name in sorted(patched | modules)]
        self.ours = self.names(OURS, self.tree, objects, flags)
        subprocess.run(["cc", "-O2", "-fPIE", "-D_GNU_SOURCE",
                        f'-DCALLS_DIR="{self.calls}"', "-c", "-o",
                        f"{self.tree}/calls.o",
                        f"{TOP}/hpn-tests/login/preauth/calls.c"], check=True)
        for program in PROGRAMS:
            os.unlink(f"{self.tree}/{program}")
        make(self.tree, flags, f"LIBS={make_says('$(LIBS)')} calls.o",
             *PROGRAMS)
        # The same files without our patches
        self.ours -= self.names(STOCK, f"{folder}/stock",
                                [f"{name}.o" for name in patched], flags)

    @staticmethod
    def names(source, tree, objects, flags):
        """Of the functions of these objects, made anew in a copy of source."""
        subprocess.run(["cp", "-a", f"{source}/.", tree], check=True)
        for name in objects:
            os.unlink(f"{tree}/{name}")
        make(tree, flags, *objects)
        return {n for o in objects for _, n in functions(f"{tree}/{o}")}

    def ran(self, program):
        """Names of ours that any process of the program has called."""
        names = dict(functions(f"{self.tree}/{program}"))
        found = set()
        for path in glob.glob(f"{self.calls}/{program}.*"):
            with open(path, "rb") as f:
                found |= {names[at] for at, in struct.iter_unpack(
                    "<Q", f.read()) if at}
        return found & self.ours

    def forget(self):
        for path in glob.glob(f"{self.calls}/*"):
            os.unlink(path)


@pytest.fixture(scope="module")
def noting(request):
    folder = user_folder()
    request.addfinalizer(lambda: shutil.rmtree(folder))
    return Noting(str(folder))


def is_gone(place):
    wait_until("its end", lambda: not place.processes(
        "sshd-session", "sshd-auth"))


def what_a_stranger_says(place):
    """Without logging in: what is ours to answer after it, one by one, as
    sshd may end the connection at each. If not, it answers the request for a
    login behind them: so they have been dealt with."""
    for message in (
            (MSG_EXT_INFO, Raw(ext_info(BOUNDED, b"0"))),
            (MSG_PING, b"path"), (MSG_PONG, b"path \0\0\0\0\0\0\0\0"),
            (MSG_FAILURE, 0), (MSG_WINDOW_ADJUST, 0, 1 << 20),
            (MSG_DATA, 0, b"x"), (MSG_REQUEST, 0, PROBE, Raw(b"\1"))):
        sock = place.inside(
            lambda: socket.create_connection(("127.0.0.1", PORT)))
        stranger = Hostile(sock, ext_info(BOUNDED, b"0"))
        stranger.start_client(timeout=300)
        with contextlib.suppress(EOFError, OSError, paramiko.SSHException):
            for _ in range(3):
                stranger.say(*message)
            stranger.auth_none("root")
        stranger.close()
        is_gone(place)


def test_security_lists_what_runs_before_login(place, noting):
    noting.forget()
    place.sshd(noting.tree, "ChannelWindowMax 64M", "TCPCongestion cubic")
    # Another key than the user's
    subprocess.run([f"{STOCK}/ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                    "-f", place.path("stranger")], check=True)
    refused = place.run([w if w != place.path("user") else
                         place.path("stranger") for w in
                         place.ssh("-c", "chacha20-poly1305@openssh.com",
                                   HOST, "true")])
    assert refused.returncode == 255 and "Permission denied" in refused.stderr
    what_a_stranger_says(place)
    is_gone(place)
    print("sshd-auth:", *sorted(noting.ran("sshd-auth")))
    print("sshd:", *sorted(noting.ran("sshd") - BEFORE_LOGIN))
    print("sshd-session:", *sorted(noting.ran("sshd-session")))
    assert noting.ran("sshd-auth") == IN_AUTH
    assert noting.ran("sshd-session") == BEFORE_LOGIN
    # That it is seen if it runs: once logged in, all the rest does
    before = noting.ran("sshd-session")
    assert place.still_serves()
    after = noting.ran("sshd-session") - before
    assert {"channel_window_turn", "tcp_congestion_set"} <= after
    # And not in the process before it, which this login had, too
    assert noting.ran("sshd-auth") == IN_AUTH
    # What the one that listens calls is noted as it runs
    assert noting.ran("sshd") <= BEFORE_LOGIN
