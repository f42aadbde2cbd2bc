"""scp and sftp of build/openssh, connected to a server without ssh between
them: the files of a tree beside each other, and servers that misbehave."""

import filecmp
import os
import re
import shlex
import subprocess
import sys

import pytest

from sftp_tools import (HERE, OURS, SERVER, SMALL, content, copy, entries,
                        make_tree, scp, sftp)

ODD = os.path.join(HERE, "odd_sftp_server.py")

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


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "tree")


@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_tree(tmp_path, tree, tool, direction):
    assert copy(tmp_path, tool, direction, SERVER, tree, tmp_path / "copy",
                "-rp") == (0, "")
    assert entries(tree) == entries(tmp_path / "copy")


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
