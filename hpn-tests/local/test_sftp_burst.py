"""A small file in one flight: what goes together, and what becomes of a file
where the handle was guessed wrong or a request fails."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from sftp_tools import HERE, OURS, SERVER, content, copy, run, scp, sftp

ODD = os.path.join(HERE, "odd_sftp_server.py")
INIT, LIMITS, STAT, LSTAT, REALPATH = "1", "200", "17", "7", "16"
PUT, PUT_TIMES, GET = "3 6 10 4", "3 6 10 10 4", "3 5 5 4"
SFTP_PUT = "3 6 4"      # of a file that OPEN has truncated
SIZES = [0, 1, 1000, 32768, 255 * 1024]
FITS, TOO_LARGE = 255 * 1024, 255 * 1024 + 1    # bytes: of one WRITE

pytestmark = pytest.mark.skipif(not os.path.exists(SERVER),
                                reason="no build/openssh: see \"make openssh\"")


@pytest.fixture
def odd(tmp_path):
    """odd(FAULT, NUMBER): a server program that does so."""
    def program(*words):
        path = tmp_path / "server"
        path.write_text("#!/bin/sh\nexec " + shlex.join(
            map(str, (sys.executable, ODD, tmp_path / "log", *words))))
        path.chmod(0o755)
        return str(path)
    return program


def flights(tmp_path):
    return (tmp_path / "log.flights").read_text().splitlines()


def source(tmp_path, size=1000):
    path = tmp_path / "source"
    path.write_bytes(content(size))
    os.utime(path, (1234567890, 1234567890))
    return path


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_copies(tmp_path, direction, tool, size):
    path, dest = source(tmp_path, size), tmp_path / "dest"
    dest.write_bytes(b"there before, and longer" * 20000)
    assert copy(tmp_path, tool, direction, SERVER, path, dest) == (0, "")
    assert dest.read_bytes() == path.read_bytes()
    assert os.stat(dest).st_mtime == 1234567890


def test_put_flights(tmp_path, odd):
    path = source(tmp_path)
    assert scp(tmp_path, odd("openssh"), path, "x:dest") == (0, "")
    assert flights(tmp_path) == [INIT, f"{LIMITS} {STAT}", PUT]
    os.unlink(tmp_path / "log.flights")
    assert scp(tmp_path, odd("openssh"), "-p", path, "x:dest") == (0, "")
    assert flights(tmp_path)[2:] == [PUT_TIMES]


def test_get_flights(tmp_path, odd):
    path = source(tmp_path)
    assert scp(tmp_path, odd("openssh"), f"x:{path}", "dest") == (0, "")
    assert flights(tmp_path) == [INIT, f"{LIMITS} {LSTAT}", GET]


@pytest.mark.parametrize("direction", ["get", "put"])
@pytest.mark.parametrize("case", ["files=1", "not openssh", "large"])
def test_one_by_one(tmp_path, odd, direction, case):
    """Where each request waits for the reply before it, as in stock."""
    path = source(tmp_path, TOO_LARGE if case == "large" else 1000)
    ends = [f"x:{path}", "dest"] if direction == "get" else [path, "x:dest"]
    options = ["-X", "files=1"] if case == "files=1" else []
    server = odd() if case == "not openssh" else odd("openssh")
    assert scp(tmp_path, server, *options, *ends) == (0, "")
    assert (tmp_path / "dest").read_bytes() == path.read_bytes()
    found = flights(tmp_path)
    assert GET not in found and PUT not in found
    assert "3" in found
    if case == "files=1":
        assert found[:3] == [INIT, LIMITS,
                             LSTAT if direction == "get" else STAT]


@pytest.mark.parametrize("direction", ["get", "put"])
def test_answers_in_another_order(tmp_path, odd, direction):
    """Only OpenSSH's server is known to answer in order. Another one's limits
    are waited for before anything else is asked."""
    path, dest = source(tmp_path), tmp_path / "dest"
    assert copy(tmp_path, "scp", direction, odd("limits-late"), path,
                dest) == (0, "")
    assert dest.read_bytes() == path.read_bytes()
    assert flights(tmp_path)[:2] == [INIT, LIMITS]


@pytest.mark.parametrize("options,ends", [([], ["10 4"]),
                                          (["-p"], ["10 10 4"]),
                                          (["-p", "-X", "files=1"],
                                           ["10", "10", "4"])])
def test_the_end_of_a_larger_one(tmp_path, odd, options, ends):
    """What sets its size and attributes and its close wait for its data to be
    acknowledged, but not for each other."""
    path = source(tmp_path, TOO_LARGE)
    assert scp(tmp_path, odd("openssh"), *options, path, "x:dest") == (0, "")
    assert (tmp_path / "dest").read_bytes() == path.read_bytes()
    assert flights(tmp_path)[-len(ends):] == ends


def test_largest(tmp_path, odd):
    path = source(tmp_path, FITS)
    assert scp(tmp_path, odd("openssh"), path, "x:dest") == (0, "")
    assert PUT in flights(tmp_path)


@pytest.mark.parametrize("direction", ["get", "put"])
def test_another_handle(tmp_path, odd, direction):
    """The file is copied in the usual way, and so is the next."""
    path, server = source(tmp_path), odd("openssh-seven")
    batch = "".join(f"{direction} {path} {tmp_path}/{name}\n"
                    for name in ("one", "two"))
    assert sftp(tmp_path, server, batch) == (0, "")
    for name in ("one", "two"):
        assert (tmp_path / name).read_bytes() == path.read_bytes()
    burst = GET if direction == "get" else SFTP_PUT
    assert flights(tmp_path).count(burst) == 1
    # Nothing is left open
    assert int((tmp_path / "log.open").read_text().split()[0]) == 1


@pytest.mark.parametrize("fault,error", [
    ("write-fails", None), ("read-fails", None), ("reorders", None),
    ("short", None), ("close-fails", "close remote: Failure\n"),
    ("setstat-fails", "remote fsetstat: Failure\n")])
@pytest.mark.parametrize("size", [5000, TOO_LARGE])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_faults(tmp_path, odd, direction, size, fault, error):
    """A request of a small file that fails once does no harm, and what fails
    each time is told as in stock. A larger file's data is asked for once."""
    path, dest = source(tmp_path, size), tmp_path / "dest"
    status, told = copy(tmp_path, "scp", direction,
                        odd(f"openssh-{fault}", 1), path, dest)
    if size == TOO_LARGE and \
            fault == {"get": "read-fails", "put": "write-fails"}[direction]:
        assert status == 1 and dest.read_bytes() == b""
        return
    assert dest.read_bytes() == path.read_bytes()
    if direction == "get" or error is None:
        assert (status, told) == (0, "")
    else:
        assert error in told
        assert status == (1 if fault == "close-fails" else 0)


def test_no_such_place(tmp_path):
    """The error is told once, and the next file goes in one flight again."""
    path = source(tmp_path)
    assert sftp(tmp_path, SERVER,
                f"-put {path} {tmp_path}/no/dest\n"
                f"put {path} {tmp_path}/dest\n") == (
        0, f'dest open "{tmp_path}/no/dest": No such file or directory\n')
    assert (tmp_path / "dest").read_bytes() == path.read_bytes()
    assert scp(tmp_path, SERVER, f"x:{path}", tmp_path / "no" / "dest") == (
        1, f"{OURS}/scp: open local \"{tmp_path}/no/dest\": "
        "No such file or directory\n")


@pytest.mark.parametrize("direction", ["get", "put"])
def test_full(tmp_path, direction):
    """A full disk is told as in stock."""
    path = source(tmp_path)
    ends = [f"x:{path}", "/dev/full"] if direction == "get" else \
        [path, "x:/dev/full"]
    done = [scp(tmp_path, SERVER, *options, *ends)
            for options in ([], ["-X", "files=1"])]
    assert done[0] == done[1]
    assert done[0][0] == 1 and "/dev/full" in done[0][1]


def test_grows(tmp_path, odd):
    """What comes to the source's end in the meantime is copied as well."""
    path = source(tmp_path)
    assert scp(tmp_path, odd("openssh-grows", 1, path), f"x:{path}",
               "dest") == (0, "")
    assert (tmp_path / "dest").read_bytes() == path.read_bytes()
    assert os.path.getsize(path) > 1 << 20


def test_not_what_stat_says(tmp_path):
    """Sources whose size is not known: a file of /proc."""
    assert scp(tmp_path, SERVER, "/proc/version", "x:dest") == (0, "")
    with open("/proc/version", "rb") as f:
        assert (tmp_path / "dest").read_bytes() == f.read()
    assert scp(tmp_path, SERVER, "x:/proc/version", "get") == (0, "")
    assert (tmp_path / "get").read_bytes() == (tmp_path / "dest").read_bytes()


@pytest.mark.parametrize("direction", ["get", "put"])
def test_meter(tmp_path, odd, direction):
    """Its rate counts the time of the flight."""
    path = source(tmp_path, 100000)
    server = odd("openssh-delays", 20)
    ends = [f"x:{path}", "dest"] if direction == "get" else [path, "x:dest"]
    argv = [f"{OURS}/scp", "-D", server, *map(str, ends)]
    assert run(["script", "-qec", shlex.join(argv), "out"], tmp_path,
               stdin=subprocess.DEVNULL)[0] == 0
    out = (tmp_path / "out").read_text()
    rate, unit = re.findall(r"100% +98KB +([0-9.]+)([KM])B/s", out)[-1]
    assert unit == "K" and 0 < float(rate) < 600
