"""How copies over several streams end: after ^C, with a stream that hangs,
and where the source is not what it was."""

import concurrent.futures
import contextlib
import os
import signal
import sys
import time

from loopback import SLOW_PATH, read
from stream_place import (BOTH, MIB, SIZE, SLOW, TOOLS, Place,   # noqa: F401
                          begin, large, made_long_ago, place, stopped,
                          wait_for)
from sftp_tools import (ODD, SERVER, content, digests, entries, named, torn)

AT_ONCE = 8


def small_files(place, count=200, size=1_000_000):
    """A tree of them"""
    place.source.mkdir()
    for i in range(count):
        (place.source / str(i)).write_bytes(content(size, i))
    made_long_ago(place.source)


@BOTH
def test_interrupt_waits_for_no_hanging_stream(place, direction):
    """^C ends a tree soon, and names what is incomplete, also large files."""
    small_files(place)
    (place.source / "large").write_bytes(content(SIZE))
    large = place.dest / "large"
    client = begin(place, "sftp", direction, "-l40000")
    wait_for(lambda: len(place.pids()) == 4 and place.dest.exists() and
             len(os.listdir(place.dest)) > 20 and large.exists() and
             large.stat().st_blocks * 512 > 8 * MIB)
    with stopped(place.pids()[1]), stopped(place.pids()[2]):
        client.send_signal(signal.SIGINT)
        error = client.communicate(timeout=50)[1]
    assert client.returncode > 0
    incomplete = torn(place.source, place.dest)
    assert "large" in incomplete <= named(error, place.dest), error


@TOOLS
def test_late_stream_is_ignored(place, tool):
    """Of each copy the streams begin later, until none begins before the copy
    has ended. Copies that mostly wait run at once."""
    small_files(place, 20, 100_000)
    slow = f"exec {sys.executable} -B {SLOW_PATH} 0.3 {SERVER} -e"

    def streams(i):
        """How many began."""
        (place.path / str(i)).mkdir()
        here = Place(place.path / str(i))
        here.serve(first=slow, more=f"sleep {0.5 + i / 5}")
        assert here.copy(tool, "put", "-p", source=place.source) == (0, "")
        assert entries(here.dest) == entries(place.source)
        return read(here.path / "others").count("session opened")

    began = []
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        while not began or began[-1]:
            began += pool.map(streams, range(len(began), len(began) + AT_ONCE))
    assert began[0]


@BOTH
def test_tree_waits_for_no_stream_in_its_check(place, direction):
    small_files(place, 20, 600_000)
    place.serve(more=f"exec {ODD} silent {SERVER} -e", until="pids==4")
    status, error = place.copy("scp", direction, "-l200000", "-v")
    assert (status, "it does not answer" in error) == (0, False)
    assert digests(place.dest) == digests(place.source)
    assert len(place.pids()) == 4


@TOOLS
def test_source_is_copied_once_without_fstat(large, tool):
    """A server that refuses it says nothing of the source."""
    large.serve(server=f"{SERVER} -P fstat", until="others=flags=1")
    assert large.copy(tool, "get", SLOW) == (0, "")
    assert sum(n != 0 for n in large.moved()) > 1
    assert digests(large.dest) == digests(large.source)
    assert large.sent() < SIZE + MIB


def test_growing_source_is_copied_once(large):
    """Though it grows whenever it is looked at."""
    large.serve(first=f"exec {ODD} grows-often={large.source} {SERVER} -e "
                "-l debug 2>> log")
    assert large.copy("scp", "get", SLOW) == (0, "")
    there = large.dest.read_bytes()
    assert large.source.read_bytes().startswith(there)
    assert len(there) >= SIZE
    assert large.sent() < SIZE + 8 * MIB


def test_shrunk_file_of_a_lost_stream_is_an_error(place):
    """Its server ends before it tells the size."""
    small_files(place, 100)
    place.serve(more=f"exec {ODD} cuts {SERVER} -e -l debug 2>> others",
                until="others=flags=1")
    status, error = place.copy("scp", "get", "-l160000", streams=2)
    cut, = (path for path in place.source.iterdir()
            if path.stat().st_size != 1_000_000)
    assert status == 1 and f'read remote "{cut}"' in error
    for path in (cut, place.dest / cut.name):
        path.unlink()
    assert digests(place.dest) == digests(place.source)


def test_failed_files_of_a_lost_stream_end_once(place, monkeypatch):
    """What is freed is no file, and no list."""
    monkeypatch.setenv("MALLOC_PERTURB_", "85")
    small_files(place, 20, 3 * MIB)
    place.serve(more=f"exec {ODD} bad-data {SERVER} -e -l debug 2>> others",
                until="others=flags=1")
    status, error = place.copy("scp", "get", "-l160000")
    assert status == 1 and "read remote" in error


def test_server_that_ignores_offsets_gets_all_over_one_stream(large):
    """Such a server cannot say what an open file system has."""
    large.serve(server=f"{ODD} appends {SERVER}")
    assert large.copy("scp", "put", "-l80000") == (0, "")
    assert digests(large.dest) == digests(large.source)
    assert len(large.pids()) == 1


def test_stop_drops_no_stream(large):
    """^Z for longer than a stream may take to open; their servers go on later
    than the client, as those of a ControlMaster do."""
    large.serve(more="until [ -s go ]; do sleep 0.1; done", until="go==1")
    client = begin(large, "scp", "put", "-l40000")
    wait_for(lambda: len(large.pids()) == 4)
    with contextlib.ExitStack() as servers:
        for pid in large.pids()[1:]:
            servers.enter_context(stopped(pid))
        os.killpg(client.pid, signal.SIGTSTP)
        time.sleep(11)
        os.killpg(client.pid, signal.SIGCONT)
        time.sleep(1)
    (large.path / "go").write_text("\n")
    assert client.communicate(timeout=60)[1] == "" and client.returncode == 0
    assert digests(large.dest) == digests(large.source)
    assert len(list(filter(None, large.moved()))) == 4
