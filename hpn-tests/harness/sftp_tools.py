"""What the tests of scp and sftp share: a client of one of our builds,
connected to a server without ssh between them, and trees to copy."""

import filecmp
import hashlib
import os
import random
import re
import shlex
import signal
import subprocess

import pytest

from loopback import (BUILD, ORDINARY, OURS, STOCK,         # noqa: F401
                      needs_root, program)

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(OURS, "sftp-server")
ODD = os.path.join(HERE, "odd_sftp_server.py")
if not os.path.exists(SERVER):
    pytest.skip("no build/openssh: see \"make openssh\"",
                allow_module_level=True)
BOTH = pytest.mark.parametrize("direction", ["get", "put"])
SMALL, LARGE = 4096, 20 << 20       # bytes; LARGE has the connection to itself


def run(argv, cwd, timeout_s=300, **kwargs):
    """Its status, which no crash is, and what it said."""
    done = subprocess.run(argv, cwd=cwd, text=True, timeout=timeout_s,
                          capture_output=True, **kwargs)
    assert done.returncode >= 0 or done.returncode == -signal.SIGPIPE, done
    return done.returncode, done.stderr


def on_small_disk(cwd, mib, argv, **kwargs):
    """Runs it with so much at "small", which nobody else sees; "left" is what
    it has left in "dest" there. The test is root's from here on."""
    needs_root()
    (cwd / "small").mkdir()
    user = "setpriv --reuid={} --regid={} --clear-groups".format(*ORDINARY)
    return run(["unshare", "-m", "sh", "-c",
                f'mount -t tmpfs -o size={mib}m,mode=777 none small; {user} '
                '"$@"; s=$?; cp -r small/dest left; exit $s', "sh",
                *map(str, argv)], cwd, **kwargs)


def scp_argv(server, *argv, build=OURS):
    return [f"{build}/scp", "-q", "-D", server, *map(str, argv)]


def sftp_argv(server, *options, build=OURS):
    return [f"{build}/sftp", "-q", *options, "-b", "-", "-D", server]


def scp(cwd, server, *argv):
    return run(scp_argv(server, *argv), cwd)


def sftp(cwd, server, batch, *options):
    return run(sftp_argv(server, *options), cwd, input=batch)


def client(tool, direction, server, source, dest, options="-p", build=OURS):
    """What to run, and its input, to copy a file or (-r) a tree. sftp puts
    what is in the tree into dest; so does scp, as long as it isn't there.
    scp-3 does both, with two connections."""
    if tool == "sftp":
        return (sftp_argv(server, build=build),
                f"{direction} {options} {source} {dest}\n")
    if tool == "scp-3":
        return scp_argv(server, "-3", options, f"x:{source}", f"y:{dest}",
                        build=build), ""
    ends = (f"x:{source}", dest) if direction == "get" else \
        (source, f"x:{dest}")
    return scp_argv(server, options, *ends, build=build), ""


def copy(cwd, *args, **kwargs):
    argv, batch = client(*args, **kwargs)
    return run(argv, cwd, input=batch)


def content(size, seed=1):
    return random.Random(seed).randbytes(size)


def make_tree(top):
    """1,000 small files, and what a tree may have besides."""
    for i in range(20):
        (top / str(i) / "deep").mkdir(parents=True)
        for k in range(50):
            (top / str(i) / ("deep" if k % 10 == 0 else "") / str(k)
             ).write_bytes(content(k % 3 * SMALL + i, i * 50 + k))
    (top / "empty").mkdir()
    (top / "nothing").write_bytes(b"")
    (top / "large").write_bytes(content(LARGE))
    (top / "two\nlines").write_bytes(b"name")
    (top / "run").write_bytes(b"#!/bin/sh\n")
    (top / "run").chmod(0o750)
    (top / "5").chmod(0o555)
    for path in (top / "7", top / "8" / "deep" / "10", top / "run"):
        os.utime(path, (1234567890, 1234567890))
    return top


def entries(path, name=""):
    """Modes, times and digests of a file or of what a tree holds, by name."""
    st = os.stat(path)
    found = {name: (oct(st.st_mode), int(st.st_mtime), None)}
    if os.path.isdir(path):
        for entry in os.listdir(path):
            found.update(entries(os.path.join(path, entry), f"{name}/{entry}"))
    else:
        with open(path, "rb") as f:
            found[name] = (*found[name][:2],
                           hashlib.file_digest(f, "sha256").hexdigest())
    return found


def digests(path):
    """Digests of all files of a tree, by name; None for directories."""
    return {name: digest for name, (_, _, digest) in entries(path).items()}


@pytest.fixture
def odd(tmp_path):
    """odd(FAULT, NUMBER): a server program that does so"""
    return lambda *words, server=SERVER: program(
        tmp_path / "server", f"LOG={tmp_path}/log exec " + shlex.join([
            ODD, "=".join(map(str, words)), server]))


def torn(source, dest):
    """The names in a copy of a tree without deeper ones that are not whole."""
    return {name for name in os.listdir(dest) if not filecmp.cmp(
        f"{source}/{name}", f"{dest}/{name}", shallow=False)}


def named(error, dest):
    """The names, in a copy beside which the client runs, of the files that are
    told to be incomplete, once each."""
    names = re.findall(r'^incomplete: "(.*)"$', error, re.M)
    assert len(set(names)) == len(names), error
    return {os.path.relpath(os.path.join(os.path.dirname(dest), name), dest)
            for name in names}


def hears_interrupts():
    """A program that was started in the background may ignore them."""
    for signum in (signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, signal.SIG_DFL)
