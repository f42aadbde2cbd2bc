"""scp and sftp of build/openssh, connected to a server without ssh between
them: the files of a tree beside each other, and servers that misbehave."""

import filecmp
import os
import random
import re
import shlex
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = os.path.join(os.path.dirname(HERE), "build", "openssh")
ODD = os.path.join(HERE, "odd_sftp_server.py")
SERVER = os.path.join(OURS, "sftp-server")
SMALL, LARGE = 4096, 20 << 20       # bytes; LARGE has the connection to itself

pytestmark = pytest.mark.skipif(not os.path.exists(SERVER),
                                reason="no build/openssh: see \"make openssh\"")


@pytest.fixture
def odd(tmp_path):
    """odd(FAULT, NUMBER): a server program that does so."""
    def make(*words):
        path = tmp_path / "server"
        path.write_text("#!/bin/sh\nexec " + shlex.join(
            [sys.executable, ODD, str(tmp_path / "log"), *map(str, words)]))
        path.chmod(0o755)
        return str(path)
    return make


def most(tmp_path):
    return int((tmp_path / "log").read_text())


def run(argv, cwd, timeout_s=60, **kwargs):
    done = subprocess.run(argv, cwd=cwd, text=True, timeout=timeout_s,
                          capture_output=True, **kwargs)
    return done.returncode, done.stderr


def scp(cwd, server, *argv):
    return run([f"{OURS}/scp", "-q", "-D", server, *argv], cwd)


def sftp(cwd, server, batch, *options):
    return run([f"{OURS}/sftp", "-q", *options, "-b", "-", "-D", server], cwd,
               input=batch)


def content(size, seed=1):
    return random.Random(seed).randbytes(size)


@pytest.fixture
def tree(tmp_path):
    """1,000 small files, and what a tree may have besides."""
    top = tmp_path / "tree"
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


def assert_same(one, two):
    """Names, bytes, modes and times."""
    names = sorted(os.listdir(one))
    assert names == sorted(os.listdir(two))
    for name in names:
        a, b = os.path.join(one, name), os.path.join(two, name)
        assert os.stat(a).st_mode == os.stat(b).st_mode, name
        assert int(os.stat(a).st_mtime) == int(os.stat(b).st_mtime), name
        if os.path.isdir(a):
            assert_same(a, b)
        else:
            assert filecmp.cmp(a, b, shallow=False), name


@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_tree(tmp_path, tree, tool, direction):
    # sftp puts what is in "tree" into "copy", which has to be there
    if tool == "sftp":
        status, error = sftp(tmp_path, SERVER,
                             f"{direction} -rp {tree} {tmp_path}/copy\n")
    elif direction == "get":
        status, error = scp(tmp_path, SERVER, "-rp", f"x:{tree}", "copy")
    else:
        status, error = scp(tmp_path, SERVER, "-rp", "tree",
                            f"x:{tmp_path}/copy")
    assert (status, error) == (0, "")
    assert_same(tree, tmp_path / "copy")


@pytest.mark.parametrize("direction", ["get", "put"])
def test_tree_with_files_that_fail(tmp_path, tree, direction):
    """Each is named, the others arrive, and it ends with 1."""
    copy = tmp_path / "copy"
    for name in ("3/7", "4/deep/0"):        # a directory is in the way
        (copy / name).mkdir(parents=True)
    args = ("-rp", f"x:{tree}", "copy") if direction == "get" else \
        ("-rp", "tree", f"x:{tmp_path}/copy")
    if direction == "get":                  # into "copy" itself
        args = ("-rp", f"x:{tree}/.", "copy")
    else:
        args = ("-rp", "tree/.", f"x:{tmp_path}/copy")
    status, error = scp(tmp_path, SERVER, *args)
    assert status == 1
    for name in ("3/7", "4/deep/0"):
        assert sum(name in line for line in error.splitlines()) >= 1, error
        (copy / name).rmdir()
        (tree / name).unlink()
    assert len(error.splitlines()) <= 6, error
    missing = [os.path.join(folder, name).removeprefix(str(tree))
               for folder, _, names in os.walk(tree) for name in names
               if not (copy / os.path.relpath(os.path.join(folder, name),
                                              tree)).exists()]
    assert missing == []


def test_large_file_in_a_tree_has_its_meter(tmp_path, tree):
    """On a terminal every file has its line, in one piece."""
    status = subprocess.run(
        ["script", "-qec", shlex.join([f"{OURS}/scp", "-rp", "-D", SERVER,
                                       f"x:{tree}", "copy"]), "out"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, timeout=60).returncode
    assert status == 0
    lines = (tmp_path / "out").read_text(errors="replace").split("\n")
    done = [line for line in lines if "100%" in line]
    files = sum(len(names) for _, _, names in os.walk(tree))
    empty = 1 + sum(os.stat(tree / "0" / str(k)).st_size == 0
                    for k in range(50) if k % 10)
    empty += sum(os.stat(tree / "0" / "deep" / str(k)).st_size == 0
                 for k in range(0, 50, 10))
    assert len(done) == files - empty
    assert sum("large" in line for line in done) == 1


# Whichever of reading and sending comes first finds the end.
GONE = "Connection closed|Connection reset|Broken pipe"
FAULTS_GET = {
    "read-fails": "read remote",
    "closes": GONE,
    "wrong-id": "Unexpected reply",
    "too-much": "Received more data than asked for",
}


@pytest.mark.parametrize("fault", FAULTS_GET)
@pytest.mark.parametrize("what", ["one", "many"])
def test_get_from_an_odd_server(tmp_path, odd, fault, what):
    """One clear error, no hang, and nothing that passes for the file."""
    source = tmp_path / "source"
    source.mkdir()
    for i in range(5 if what == "many" else 1):
        (source / str(i)).write_bytes(content(3 << 20, i))
    argv = ("-r", f"x:{source}", "copy") if what == "many" else \
        (f"x:{source}/0", "copy")
    status, error = scp(tmp_path, odd(fault), *argv)
    assert status != 0
    assert re.search(FAULTS_GET[fault], error)
    same = [name for name in os.listdir(source)
            if filecmp.cmp(source / name, tmp_path / "copy" / name
                           if what == "many" else tmp_path / "copy",
                           shallow=False)
            ] if (tmp_path / "copy").exists() and fault != "too-much" else []
    assert len(same) < len(os.listdir(source))


@pytest.mark.parametrize("fault, says", [
    ("write-fails", "write remote"), ("closes", GONE),
    ("wrong-id", "Unexpected|Can't find")])
@pytest.mark.parametrize("what", ["one", "many"])
def test_put_to_an_odd_server(tmp_path, odd, fault, says, what):
    """A write that failed is not made good by those after it."""
    source = tmp_path / "source"
    source.mkdir()
    for i in range(5 if what == "many" else 1):
        (source / str(i)).write_bytes(content(3 << 20, i))
    argv = ("-r", "source", f"x:{tmp_path}/copy") if what == "many" else \
        ("source/0", f"x:{tmp_path}/copy")
    status, error = scp(tmp_path, odd(fault), *argv)
    assert status != 0
    assert re.search(says, error)


@pytest.mark.parametrize("fault", ["short", "reorders", "no-limits"])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_what_a_server_may_do(tmp_path, odd, fault, direction):
    (tmp_path / "source").write_bytes(content(9 << 20))
    argv = (f"x:{tmp_path}/source", "copy") if direction == "get" else \
        ("source", f"x:{tmp_path}/copy")
    assert scp(tmp_path, odd(fault), *argv) == (0, "")
    assert filecmp.cmp(tmp_path / "source", tmp_path / "copy", shallow=False)


@pytest.mark.parametrize("options", [("-R", "5"), ("-X", "nrequests=5")])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_number_of_requests_given(tmp_path, odd, options, direction):
    (tmp_path / "source").write_bytes(content(9 << 20))
    assert sftp(tmp_path, odd("no-limits"), f"{direction} source copy\n",
                *options) == (0, "")
    assert filecmp.cmp(tmp_path / "source", tmp_path / "copy", shallow=False)
    assert 2 <= most(tmp_path) <= 6


def test_requests_do_not_wait_for_each_other(tmp_path, odd):
    """32 KiB each, towards a server without limits: more than 64 of them."""
    (tmp_path / "source").write_bytes(content(40 << 20))
    assert sftp(tmp_path, odd("no-limits"), "get source copy\n") == (0, "")
    assert filecmp.cmp(tmp_path / "source", tmp_path / "copy", shallow=False)
    assert most(tmp_path) > 64
