"""How copies over several connections end: after ^C, with a lane that hangs,
and where the source is not what it was."""

import contextlib
import filecmp
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from lane_place import (BOTH, LARGE, LARGE_SLOW, MIB, SIZE, SLOW, TOOLS, Place,
                        begin, made_long_ago, missing, wait_for)
from sftp_tools import SERVER, content, digests, entries

HERE = os.path.dirname(os.path.abspath(__file__))
BAD_LANE = f"{shlex.quote(os.path.join(HERE, 'bad_lane.py'))} {{}} {SERVER}"
SLOW_PATH = (f"{shlex.quote(sys.executable)} -B "
             f"{shlex.quote(os.path.join(HERE, 'slow_path.py'))} late {{}}")

pytestmark = pytest.mark.skipif(not os.path.exists(SERVER),
                                reason="no build/openssh: see \"make openssh\"")


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def small_files(place, count=200):
    """A tree of them, of 1 MB each"""
    place.source.mkdir()
    for i in range(count):
        (place.source / str(i)).write_bytes(content(1_000_000, i))
    made_long_ago(place.source)


@contextlib.contextmanager
def stopped(pid):
    """A process that stands still, if it is there"""
    try:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@BOTH
def test_interrupted_tree(place, direction):
    """^C ends it in a few seconds, though a lane stands still. What is
    incomplete is named."""
    small_files(place)
    client = begin(place, "sftp", direction, "-l80000")
    wait_for(lambda: len(place.pids()) == 4 and place.dest.exists() and
             len(os.listdir(place.dest)) > 20)
    time.sleep(0.5)
    with stopped(place.pids()[1]):
        time.sleep(0.5)
        client.send_signal(signal.SIGINT)
        error = client.communicate(timeout=30)[1]
    assert client.returncode != 0
    for name in os.listdir(place.dest):
        same = filecmp.cmp(place.source / name, place.dest / name,
                           shallow=False)
        assert same or f'incomplete: "{place.dest / name}"' in error


def test_a_lane_that_may_still_write(place):
    """After ^C, the user is told of it: the next copy could get old bytes."""
    place.source.write_bytes(content(LARGE))
    place.serve(more=f"cat | sh -c 'echo $$ >> lanes; exec {SERVER} -e'; exit")
    client = begin(place, "sftp", "put", LARGE_SLOW)
    wait_for(lambda: (place.path / "lanes").exists() and
             len((place.path / "lanes").read_text().split()) == 3)
    lane = int((place.path / "lanes").read_text().split()[0])
    wait_for(lambda: place.dest.stat().st_blocks * 512 > 48 * MIB)
    with stopped(lane):
        time.sleep(0.2)
        client.send_signal(signal.SIGINT)
        error = client.communicate(timeout=30)[1]
    assert error.count("that was lost could still change it") == 1


@pytest.mark.parametrize("after_s", [0.5, 0.7, 0.9, 1.1])
@TOOLS
def test_a_lane_that_opens_at_the_end(place, tool, after_s):
    """It is not checked: that makes a directory in the tree's own one, whose
    times may be set by then."""
    place.source.mkdir()
    for i in range(20):
        (place.source / str(i)).write_bytes(content(100_000, i))
    made_long_ago(place.source)
    slow = SLOW_PATH.format(0.3)
    place.serve(first=f"exec {slow} {SERVER} -e", more=f"sleep {after_s}")
    status, error = place.copy(tool, "put", "-p")
    assert (status, error) == (0, "")
    assert entries(place.dest) == entries(place.source)


@BOTH
def test_a_lane_that_hangs_in_its_check(place, direction):
    """The tree's end waits for it for 3 s, no longer."""
    small_files(place, 40)
    place.serve(more=f"exec {BAD_LANE.format('silent')} -e")
    began_s = time.monotonic()
    status, error = place.copy("scp", direction, "-l200000")
    took_s = time.monotonic() - began_s
    assert (status, error) == (0, "")
    assert digests(place.dest) == digests(place.source)
    assert took_s < 15


@BOTH
def test_interrupted_while_it_compares(place, direction):
    """^C ends the comparison of parts that are there, too, and leaves them."""
    place.source.write_bytes(content(LARGE, 1) * 8)
    size = place.source.stat().st_size
    client = begin(place, "scp", direction, "-l4000000")
    wait_for(lambda: place.dest.exists() and
             place.dest.stat().st_blocks * 512 > size * 3 // 4)
    client.kill()
    client.communicate(timeout=100)
    count = missing(place.source, place.dest)
    argv, _ = place.argv("sftp", direction, place.source, place.dest, "-v")
    with subprocess.Popen(list(map(str, argv)), stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as client:
        client.stdin.write(f"re{direction} {place.source} {place.dest}\n")
        client.stdin.flush()
        wait_for(lambda: place.digests_asked() > 0)
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=100)
    assert client.returncode != 0
    asked = place.digests_asked()
    assert missing(place.source, place.dest) <= count
    place.serve()
    status, error = place.copy("scp", direction, "-Z")
    assert (status, digests(place.dest)) == (0, digests(place.source)), error
    assert asked < place.digests_asked()


# The source of a download

@pytest.fixture
def large(place):
    place.source.write_bytes(content(SIZE))
    return place


@TOOLS
def test_without_fstat(large, tool):
    """A server that refuses it says nothing of the source, which is copied
    once."""
    bare = f"exec {SERVER} -e -l debug -P fstat 2>> {large.path}/log"
    large.serve(first=bare, more=bare)
    assert large.copy(tool, "get", SLOW) == (0, "")
    assert digests(large.dest) == digests(large.source)
    assert large.sent() < SIZE + MIB


def test_a_source_that_grows(large):
    """Whenever it is looked at: it is copied once, all the same."""
    grows = BAD_LANE.format(f"grows={shlex.quote(str(large.source))}")
    large.serve(first=f"exec {grows} -e -l debug 2>> {large.path}/log")
    assert large.copy("scp", "get", SLOW) == (0, "")
    there = large.dest.read_bytes()
    assert large.source.read_bytes().startswith(there)
    assert len(there) >= SIZE
    assert large.sent() < SIZE + 8 * MIB
