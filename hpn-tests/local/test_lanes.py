"""scp and sftp over several connections (-X connections=N): each is a server of
its own here, without ssh between the ends. Ends at random moments, too: as many
as KILLS in the environment says, 20 by default."""

import contextlib
import filecmp
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time

import pytest

from lane_place import (BOTH, LARGE, LARGE_SLOW, MIB, SIZE, SLOW, TOOLS, Place,
                        begin, goes_on, kill, killed_at_any_moment, logins,
                        missing, runs, tree, wait_for)
from loopback import (needs_root, place as loopback_place,  # noqa: F401
                      read)
from sftp_tools import (OURS, SERVER, STOCK, content, digests, entries,
                        hears_interrupts, run)

BAD_LANE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "bad_lane.py")

pytestmark = pytest.mark.skipif(not os.path.exists(SERVER),
                                reason="no build/openssh: see \"make openssh\"")


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def large(place):
    place.source.write_bytes(content(SIZE))
    os.utime(place.source, (1234567890, 1234567890))
    return place


@TOOLS
@BOTH
def test_one_large_file(large, tool, direction):
    """Its parts go over several lanes; its attributes are as with one."""
    assert large.copy(tool, direction, SLOW, "-p") == (0, "")
    assert entries(large.dest) == entries(large.source)
    assert len(large.pids()) == 4
    busy = [n for n in large.moved() if n > MIB]
    assert len(busy) >= 2 and SIZE <= sum(busy) < SIZE + MIB


@pytest.mark.parametrize("preserve", [[], ["-p"]])
def test_the_end_is_asked_for_once(large, preserve):
    """A download asks for what is behind the source's last byte while the last
    parts are on their way, and not again."""
    assert large.copy("scp", "get", SLOW, *preserve) == (0, "")
    assert digests(large.dest) == digests(large.source)
    reads = re.findall(r'read ".*" \(handle \d+\) off (\d+) len (\d+)',
                       (large.path / "log").read_text())
    assert len(reads) > SIZE / MIB
    assert [(int(offset) - SIZE, length) for offset, length in reads
            if int(offset) >= SIZE] == [(0, "1")]


@TOOLS
@pytest.mark.parametrize("then", ["changes", "goes"])
def test_the_source_is_replaced(large, tool, then):
    """By rename, by a file with its size and time: lanes open that one. They
    are told apart once its time changes, or once it has gone."""
    old, new = content(SIZE, 1), content(SIZE, 2)
    large.source.write_bytes(old)
    os.utime(large.source, (1234567890, 1234567890))
    other = large.path / "other"
    other.write_bytes(new)
    os.utime(other, (1234567890, 1234567890))
    large.serve(more=f"sleep 0.3; mv {other} {large.source} 2>/dev/null\n"
                "sleep 0.3")
    client = begin(large, tool, "get", "-l160000")
    wait_for(lambda: read(large.path / "log").count('open "') == 4)
    if then == "goes":
        large.source.unlink()
    else:
        os.utime(large.source, (1234567891, 1234567891))
    error = client.communicate(timeout=100)[1]
    assert (client.returncode, error) == (0, "")
    is_old = large.dest.read_bytes() == old
    assert is_old


def test_reget_has_one(large):
    """It goes on in one stream, so no other lane is of use."""
    large.dest.write_bytes(large.source.read_bytes()[:MIB])
    status, error = large.copy("sftp", "reget", SLOW)
    assert status == 0, error
    assert digests(large.dest) == digests(large.source)
    assert len(large.pids()) == 1


@TOOLS
@BOTH
@pytest.mark.parametrize("before", [1000, SIZE, SIZE + 3 * MIB])
def test_over_another_file(large, tool, direction, before):
    large.dest.write_bytes(content(before, 7))
    assert large.copy(tool, direction, SLOW) == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)


@TOOLS
@BOTH
def test_a_tree(place, tool, direction):
    tree(place.source)
    for name in ("", "deep", "deep/1"):
        os.utime(place.source / name, (1234567890, 1234567890))
    assert place.copy(tool, direction, "-l160000", "-p") == (0, "")
    assert entries(place.dest) == entries(place.source)
    assert len(place.pids()) == 4
    assert sum(n > 5 * MIB for n in place.moved()) >= 1


@BOTH
def test_small_files_need_no_lanes(place, direction):
    place.source.write_bytes(content(MIB))
    assert place.copy("scp", direction) == (0, "")
    assert len(place.pids()) == 1


@BOTH
def test_one_is_as_ever(large, direction):
    assert large.copy("scp", direction, lanes=1) == (0, "")
    assert len(large.pids()) == 1
    assert large.moved() == [SIZE]


@pytest.mark.parametrize("value", ["0", "9", "", "x", "-1"])
def test_a_bad_number(large, value):
    for tool in ("scp", "sftp"):
        status, error = run([f"{OURS}/{tool}", "-X", f"connections={value}",
                             "-D", str(large.server), "x:a", "b"],
                            large.path)
        assert status == 255 and "Invalid number of connections" in error


@BOTH
@pytest.mark.parametrize("what", ["file", "tree"])
def test_the_limit_is_for_the_sum(place, direction, what):
    if what == "tree":
        tree(place.source, 60)
    else:
        place.source.write_bytes(content(SIZE))
    began = time.monotonic()
    assert place.copy("scp", direction, "-l160000") == (0, "")
    assert time.monotonic() - began > 0.7 * SIZE * 8 / 160e6
    assert len(place.pids()) == 4


# Lanes that are no good

@BOTH
@pytest.mark.parametrize("more", [
    "exit 1", "echo Welcome to this server; exit 0",
    "exec sleep 1000 < /dev/null > /dev/null",
    r"printf '\0\0\0\5\2\0\0\0\3'; exec cat > /dev/null",
    "exec cat /dev/zero",
    "trap '' TERM; exec sleep 1000 < /dev/null > /dev/null"])
def test_lanes_that_are_refused(large, direction, more):
    """The copy goes on with what there is, in silence."""
    large.serve(more=more)
    assert large.copy("scp", direction, "-l160000") == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert len(large.pids()) == 4
    for pid in large.pids():
        assert not os.path.exists(f"/proc/{pid}")


def why_lost(place, *options):
    """What a copy to the server says of its further lanes"""
    argv, _ = place.argv("scp", "put", place.source, place.dest, SLOW, "-v",
                         *options, lanes=2)
    argv.remove("-q")
    status, error = run(list(map(str, argv)), place.path)
    assert status == 0
    assert filecmp.cmp(place.source, place.dest, shallow=False)
    return re.findall(r"debug1: lane 1: (.*?)\r?$", error, re.M)


@pytest.mark.parametrize("more,why", [
    ("head -c 9 > /dev/null; exit 1", "it was refused"),
    (r"printf '\0\0\0\5\2\0\0\0\3'; exec cat > /dev/null",
     "it has another server"),
    (f"{SERVER} -e | (head -c 7; sleep 0.2; exec cat); exit", None)],
    ids=["ends", "another", "in-pieces"])
def test_which_lanes_are_lost(large, more, why):
    """Not one whose server takes its time to introduce itself."""
    large.serve(more=more)
    assert why_lost(large) == ([why] if why else [])


def test_a_lane_that_answers_nothing(large):
    """It introduces itself as the first one does, and that is all."""
    with subprocess.Popen([SERVER, "-e"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as server:
        server.stdin.write(b"\0\0\0\5\1\0\0\0\3")
        server.stdin.flush()
        hello = 4 + int.from_bytes(server.stdout.read(4), "big")
        server.stdin.close()
    large.serve(more=f"{SERVER} -e | (head -c {hello}; "
                "exec cat > /dev/null); exit")
    assert large.copy("scp", "put", SLOW, lanes=2) == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert len(large.pids()) == 2


def test_a_lane_whose_server_hangs(large):
    """The others copy what it has left, 60 s later."""
    argv, _ = large.argv("scp", "put", large.source, large.dest, "-l4000",
                         "-v", lanes=3)
    with subprocess.Popen(list(map(str, argv)), stderr=subprocess.PIPE,
                          text=True) as client:
        # What both further lanes have answered: the mark is there.
        wait_for(lambda: read(large.path / "log").count(
            "sent data len 32") == 2)
        os.kill(hangs := large.pids()[1], signal.SIGSTOP)
        try:
            error = client.communicate(timeout=200)[1]
        finally:
            kill([hangs])
    assert client.returncode == 0
    assert re.findall(r"lane \d: (.*)", error) == ["it does not answer"]
    assert filecmp.cmp(large.source, large.dest, shallow=False)


@BOTH
@pytest.mark.parametrize("how", ["short", "unknown", "another", "long", "cut",
                                 "empty"])
def test_a_lane_that_sends_nonsense(large, direction, how):
    """It is lost, and only that."""
    large.serve(more=f"exec {BAD_LANE} {how} {SERVER} -e")
    assert large.copy("scp", direction, SLOW, "-p") == (0, "")
    assert entries(large.dest) == entries(large.source)


@TOOLS
def test_a_lane_whose_close_fails(large, tool):
    """What it has written may not be there: an error, as with one stream."""
    large.serve(more=f"exec {BAD_LANE} close-fails {SERVER} -e")
    status, error = large.copy(tool, "put", SLOW)
    assert status == 1 and "close remote: Failure" in error
    assert large.dest.stat().st_size != SIZE
    large.serve()
    assert goes_on(large, "put") == ""


def test_a_lane_that_is_lost_before_its_close_is_answered(large):
    """The first one writes all that again."""
    large.serve(more=f"exec {BAD_LANE} close-ends {SERVER} -e")
    assert large.copy("scp", "put", SLOW) == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert large.sent() >= SIZE


@BOTH
@pytest.mark.parametrize("what", ["file", "tree"])
@pytest.mark.parametrize("limit,least,most", [(12, 1, 1), (24, 2, 7)])
def test_few_descriptors(place, direction, what, limit, least, most):
    """Lanes leave some for files."""
    if what == "tree":
        tree(place.source, 60)
    else:
        place.source.write_bytes(content(SIZE))
    argv, _ = place.argv("scp", direction, place.source, place.dest,
                         "-l160000", lanes=8)
    assert run(["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh",
                *map(str, argv)], place.path) == (0, "")
    assert digests(place.dest) == digests(place.source)
    assert least <= len(place.pids()) <= most


# All servers but the first see what is in "other". (Another working folder
# would not do: scp and sftp make paths absolute.)
ANOTHER = "exec unshare -m sh -c 'exec 2>> log; mount --bind other . && " \
    f"cd \"$PWD\" && exec {SERVER} -e -l debug'"


@BOTH
def test_another_machine(large, direction):
    """Behind the name there is one more machine, which has other files."""
    needs_root()
    (large.path / "other").mkdir()
    other = content(SIZE, 9)
    for name in ("source", "dest"):
        (large.path / "other" / name).write_bytes(other)
    large.serve(more=ANOTHER)
    assert large.copy("scp", direction, SLOW, source="source",
                      dest="dest") == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    for name in ("source", "dest"):
        assert (large.path / "other" / name).read_bytes() == other


NO_RMDIR = f"exec {SERVER} -e -l debug -P rmdir 2>> log"


def strays(place):
    return list(place.dest.glob(".scp-*"))


def test_the_other_lane_removes(place):
    """What the first one makes for the check of a lane: a request of its own
    would wait behind files, and an end leave more behind."""
    tree(place.source, 60)
    place.serve(first=NO_RMDIR)
    assert place.copy("scp", "put", "-l80000") == (0, "")
    assert strays(place) == []
    assert len([n for n in place.moved() if n > 100_000]) > 1


def test_no_lane_removes(place):
    """It stays, but the lanes are of use."""
    tree(place.source, 60)
    place.serve(first=NO_RMDIR, more=NO_RMDIR)
    assert place.copy("scp", "put", "-l40000") == (0, "")
    assert len(strays(place)) == len(place.pids()) - 1 > 0
    assert len([n for n in place.moved() if n > 100_000]) > 1


def test_nothing_can_be_made_for_the_check(place):
    """What a lane would see is not known then: it gets none of a tree."""
    needs_root()
    tree(place.source, 60)
    for folder in (place.dest, place.path / "other" / "dest"):
        shutil.copytree(place.source, folder, ignore=lambda top, names: [
            n for n in names if not os.path.isdir(os.path.join(top, n))])
    before = digests(place.path / "other")
    place.serve(first=f"exec {SERVER} -e -l debug -P mkdir 2>> log",
                more=ANOTHER)
    assert place.copy("scp", "put", "-l80000", source="source/.",
                      dest="dest") == (0, "")
    assert len(place.pids()) > 1
    assert digests(place.dest) == digests(place.source)
    assert digests(place.path / "other") == before


@BOTH
def test_another_machine_and_a_tree(place, direction):
    needs_root()
    tree(place.source, 60)
    (place.path / "other").mkdir()
    shutil.copytree(place.source, place.path / "other" / "source")
    for name in ("source", "dest"):
        (place.path / "other" / name).mkdir(exist_ok=True)
        (place.path / "other" / name / "only").write_bytes(b"other")
    before = digests(place.path / "other")
    place.serve(more=ANOTHER)
    assert place.copy("scp", direction, "-l80000", source="source/.",
                      dest="dest") == (0, "")
    assert digests(place.dest) == digests(place.source)
    assert digests(place.path / "other") == before


@BOTH
@pytest.mark.parametrize("what", ["file", "tree"])
def test_a_lane_is_lost(place, direction, what):
    """What it had is copied over the others."""
    if what == "tree":
        tree(place.source)
    else:
        place.source.write_bytes(content(SIZE))
    argv, _ = place.argv("scp", direction, place.source, place.dest,
                         "-l160000")
    with subprocess.Popen(list(map(str, argv)), stderr=subprocess.PIPE,
                          text=True) as client:
        wait_for(lambda: len(place.pids()) == 4)
        time.sleep(0.3)
        for pid in place.pids()[1:3]:
            os.kill(pid, signal.SIGKILL)
        error = client.communicate(timeout=100)[1]
    assert client.returncode == 0, error
    assert digests(place.dest) == digests(place.source)


def test_a_lane_is_lost_whose_server_could_still_truncate(place):
    """sftp's put opens files so. What was copied again is named."""
    tree(place.source)
    (place.source / "large").unlink()       # it would have all lanes
    place.serve(more=f"exec {BAD_LANE} short {SERVER} -e")
    status, error = place.copy("sftp", "put", "-l80000")
    lost = re.findall(r'upload ".*" to "(.*)" failed', error)
    unsure = re.findall(r'"(.*)": may be incomplete: the connection that was '
                        r'lost could still change it', error)
    assert unsure and sorted(unsure) == sorted(lost)
    assert status == 1
    assert digests(place.dest) == digests(place.source)


def test_a_lane_is_lost_whose_server_truncates_nothing(place):
    """What scp -Z resumes is opened as it is: no file is named."""
    place.source.mkdir()
    place.dest.mkdir()
    for i in range(300):
        data = content(200_000 + i, i)
        (place.source / str(i)).write_bytes(data)
        (place.dest / str(i)).write_bytes(data[:100_000])
    place.serve(more=f"exec {BAD_LANE} short {SERVER} -e")
    status, error = place.copy("scp", "put", "-l80000", "-Z",
                               source=f"{place.source}/.")
    assert "copying it again over another connection" in error
    assert (status, "may be incomplete" in error) == (0, False)
    assert digests(place.dest) == digests(place.source)


def test_marks_go_over_the_first_lane(large):
    """It cuts them off in the end. The server of another one that is lost
    could write a mark after that."""
    large.serve(more=f"exec {SERVER} -e -l debug 2> lane.$$")
    assert large.copy("scp", "put", "-l160000") == (0, "")

    def written(log):
        return list(map(int, re.findall(
            r'write ".*" \(handle \d+\) off (\d+) len', read(log))))

    first = written(large.path / "log")
    others = [offset for log in large.path.glob("lane.*")
              for offset in written(log)]
    assert max(first) >= SIZE > max(others)


def test_marks_come_soon(place):
    """A rate limit lets servers take at once what each lane may send: their
    replies are read before that, and marks tell of it."""
    place.source.write_bytes(content(LARGE))
    assert place.copy("scp", "put", LARGE_SLOW, lanes=8) == (0, "")
    unmarked = most = 0
    for offset, length in re.findall(
            r'write ".*" \(handle \d+\) off (\d+) len (\d+)',
            read(place.path / "log")):
        unmarked = 0 if int(offset) >= LARGE else unmarked + int(length)
        most = max(most, unmarked)
    assert 4 * MIB <= most <= 40 * MIB


def meter(place, direction, out, lanes=4):
    """A copy of 8 s, with a progress meter that goes to a file."""
    argv, _ = place.argv("scp", direction, place.source, place.dest, "-l40000",
                         lanes=lanes)
    argv.remove("-q")
    out.touch()
    return subprocess.Popen(
        ["script", "-qefc", shlex.join(map(str, argv)), out],
        stdout=subprocess.DEVNULL)


@BOTH
@pytest.mark.parametrize("lanes", [1, 4])
def test_the_meter_tells_of_a_stall(large, direction, lanes):
    out = large.path / "out"
    with meter(large, direction, out, lanes) as client:
        try:
            wait_for(lambda: re.search(r"\d%", out.read_text()) and
                     len(large.pids()) == lanes)
            for pid in large.pids():
                os.kill(pid, signal.SIGSTOP)
            wait_for(lambda: "- stalled -" in out.read_text())
        finally:
            for pid in large.pids():
                os.kill(pid, signal.SIGCONT)
        assert client.wait(100) == 0
    assert digests(large.dest) == digests(large.source)


def test_a_source_that_grows_before_a_lane_is_lost(large):
    """The end was asked for, and then parts come again: it is asked for
    again."""
    large.serve(more=f"exec {SERVER} -e -l debug 2> lane.$$")
    argv, _ = large.argv("scp", "get", large.source, large.dest, "-l160000",
                         lanes=3)

    def read_by_lanes():
        logs = [large.path / f"lane.{pid}" for pid in large.pids()[1:]]
        return len(logs) == 2 and all(
            log.exists() and " off " in log.read_text() for log in logs)

    end = f" off {SIZE} len 1\n"
    with subprocess.Popen(list(map(str, argv)), stderr=subprocess.PIPE,
                          text=True) as client:
        wait_for(read_by_lanes)
        stopped = large.pids()[1:]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: end in (large.path / "log").read_text())
        with open(large.source, "ab") as f:
            f.write(content(3 * MIB, 3))
        kill(stopped)
        error = client.communicate(timeout=100)[1]
    assert (client.returncode, error) == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)


def test_lanes_that_are_not_needed_yet(large):
    """The copy ends while they begin: their end is not the first one's."""
    for _ in range(20):
        assert large.copy("scp", "put") == (0, "")
        large.dest.unlink()


# Errors

@BOTH
def test_disk_full(large, direction):
    """One error, and what is left is a beginning of the source."""
    small = large.path / "small"
    small.mkdir()
    mount = ["unshare", "-m", "sh", "-c",
             'mount -t tmpfs -o size=24m none "$0" && "$@"; '
             's=$?; cp "$0/dest" "$0/../left"; exit $s', str(small)]
    if run(["unshare", "-m", "sh", "-c",
            'mount -t tmpfs none "$0"', str(small)], large.path)[0] != 0:
        pytest.skip("no file system of its own for a test")
    argv, _ = large.argv("scp", direction, large.source, small / "dest", SLOW)
    # Both ends are there.
    status, error = run([*mount, *map(str, argv)], large.path)
    assert status == 1
    assert ("No space left" if direction == "get" else "Failure") in error
    assert len(error.splitlines()) <= 2
    left = (large.path / "left").read_bytes()
    assert MIB < len(left) <= 24 * MIB
    assert large.source.read_bytes().startswith(left)


@BOTH
@pytest.mark.parametrize("by", [-30 * MIB, 5 * MIB])
def test_a_source_that_changes_its_size(large, direction, by):
    """As with one stream: an error if it shrinks; what it grew by, is
    copied, too."""
    argv, _ = large.argv("scp", direction, large.source, large.dest,
                         "-l160000")
    with subprocess.Popen(list(map(str, argv)), stderr=subprocess.PIPE,
                          text=True) as client:
        wait_for(lambda: large.dest.exists() and
                 large.dest.stat().st_size > SIZE)
        time.sleep(0.2)
        with open(large.source, "ab") as f:
            if by > 0:
                f.write(content(by, 3))
            else:
                f.truncate(SIZE + by)
        error = client.communicate(timeout=100)[1]
    if by > 0:
        assert (client.returncode, error) == (0, "")
        assert filecmp.cmp(large.source, large.dest, shallow=False)
    else:
        assert client.returncode == 1 and error
        assert large.dest.stat().st_size < SIZE


@BOTH
def test_a_server_of_stock(large, direction):
    large.serve(server=f"{STOCK}/sftp-server")
    assert large.copy("scp", direction, SLOW, "-p") == (0, "")
    assert entries(large.dest) == entries(large.source)


def test_a_sparse_file(place):
    with open(place.source, "wb") as f:
        f.truncate(SIZE)
        f.write(b"x")
    assert place.copy("scp", "put", SLOW) == (0, "")
    assert filecmp.cmp(place.source, place.dest, shallow=False)
    assert len(place.pids()) == 1


# Ends

def marked(large, direction):
    """A copy that was killed before its end, and its size. Its mark says that
    some of it is there: an upload's is written by the first lane, which may be
    slower than the others."""
    argv, _ = large.argv("scp", direction, large.source, large.dest, "-l80000",
                         "-X", "nrequests=4")
    client = subprocess.Popen(list(map(str, argv)))
    wait_for(lambda: large.dest.exists() and
             large.dest.stat().st_blocks * 512 > 32 * MIB and
             marked_mib(large)[1] >= 8)
    for pid in [client.pid, *large.pids()]:
        os.kill(pid, signal.SIGKILL)
    client.wait()
    assert large.dest.stat().st_size > SIZE
    return large.dest.stat().st_size


@BOTH
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("stock", [0, 1])
def test_resume(large, direction, lanes, stock):
    """Only what is missing; also over one connection."""
    marked(large, direction)
    if stock:
        large.serve(server=f"{STOCK}/sftp-server")
    status, error = large.copy("scp", direction, "-Z", lanes=lanes)
    assert status == 0
    assert ("as the mark there says" in error) == bool(stock)
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert large.sent() < SIZE - 4 * MIB
    assert stock or large.digests_asked() > 0


def remark(large, change):
    """Changes what the mark says is there: change gets a bit for each part."""
    with open(large.dest, "r+b") as f:
        f.seek(SIZE)
        mark = bytearray(f.read())
        bits = [mark[56 + i // 8] >> i % 8 & 1
                for i in range((SIZE + MIB - 1) // MIB)]
        change(bits)
        for i, bit in enumerate(bits):
            mark[56 + i // 8] &= ~(1 << i % 8)
            mark[56 + i // 8] |= bit << i % 8
        mark[-32:] = hashlib.sha256(mark[:-32]).digest()
        f.seek(SIZE)
        f.write(mark)


@BOTH
@pytest.mark.parametrize("stock, why", [
    (0, "not there"), (1, "not there"), (0, "differs")])
def test_resume_without_the_first_part(large, direction, stock, why):
    """What other lanes have copied behind it stays."""
    marked(large, direction)
    parts = marked_mib(large)[1]
    if why == "not there":
        remark(large, lambda bits: bits.__setitem__(0, 0))
    with open(large.dest, "r+b") as f:
        f.write(b"something else")
    if stock:
        large.serve(server=f"{STOCK}/sftp-server")
    status, error = large.copy("scp", direction, "-Z")
    assert status == 0, error
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    # A piece of 8 MiB is compared at a time
    again = 8 if why == "differs" else 1
    assert large.sent() <= SIZE - (parts - again - 1) * MIB


@BOTH
def test_what_is_marked_is_compared(large, direction):
    marked(large, direction)
    with open(large.dest, "r+b") as f:
        f.seek(20 * MIB + 1)
        f.write(b"something else")
    assert large.copy("scp", direction, "-Z") == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert 8 * MIB <= large.sent() < SIZE - 4 * MIB


@BOTH
@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_nothing_that_is_marked_is_there(large, direction, tool, lanes):
    """Not even the beginning: the mark goes."""
    marked(large, direction)
    with open(large.dest, "r+b") as f:
        for at in range(1, SIZE, 4 * MIB):
            f.seek(at)
            f.write(b"something else")
    status, error = large.copy("scp", direction, "-Z", lanes=lanes) \
        if tool == "scp" else large.copy("sftp", f"re{direction}", lanes=lanes)
    assert status == 0, error
    assert filecmp.cmp(large.source, large.dest, shallow=False)


@BOTH
def test_a_source_that_ends_in_a_mark(large, direction):
    """A complete copy of what an interrupted one has left stays, and is a
    beginning when its source has grown."""
    size = marked(large, direction)
    os.rename(large.dest, large.source)
    large.dest.write_bytes(large.source.read_bytes())
    assert large.copy("scp", direction, "-Z") == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert large.sent() < 2 * MIB
    grow(large, 1000)
    assert large.copy("scp", direction, "-Z", lanes=1) == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert large.source.stat().st_size == size + 1000
    assert large.sent() < 4 * MIB


@BOTH
def test_resume_another_source(large, direction):
    """The mark is that of a source with another time."""
    marked(large, direction)
    large.source.write_bytes(content(SIZE, 5))
    status, error = large.copy("scp", direction, "-Z")
    assert status == 0, error
    assert filecmp.cmp(large.source, large.dest, shallow=False)


def grow(large, count):
    """A log gets more lines, the last before the copy is written to last."""
    with open(large.source, "ab") as f:
        f.write(content(count, 3))
    long_ago = time.time() - 1000
    os.utime(large.source, (long_ago, long_ago))


def marked_mib(large, size=SIZE):
    """What the mark (sftp-mark.h) says is there, before the first gap and in
    all"""
    with open(large.dest, "rb") as f:
        f.seek(size + 56)
        bits = f.read()[:-32]
    parts = [bits[i // 8] >> i % 8 & 1 for i in range(len(bits) * 8)] + [0]
    return parts.index(0), sum(parts)


WHAT_GOES_ON = pytest.mark.parametrize("tool", ["-Z", "re"])


def go_on(large, tool, direction):
    if tool == "re":
        return large.copy("sftp", tool + direction)
    return large.copy("scp", direction, tool)


@BOTH
@WHAT_GOES_ON
@pytest.mark.parametrize("stock", [0, 1])
@pytest.mark.parametrize("more", [0, 100, 3 * MIB])
def test_resume_a_source_that_grew(large, direction, tool, stock, more):
    """By more than the mark takes, so that the copy is shorter again. What is
    there before the first gap stays, if the server can compare it."""
    marked(large, direction)
    begin, parts = marked_mib(large)
    if more:
        grow(large, more)
    if stock:
        large.serve(server=f"{STOCK}/sftp-server")
    status, error = go_on(large, tool, direction)
    assert status == 0, error
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    if not more:
        assert begin == 0 or large.sent() < SIZE - (parts - 1) * MIB
    elif not stock:
        assert large.sent() < SIZE + more - (begin - 1) * MIB
    elif tool == "-Z":                  # sftp says nothing
        assert "is not what the source begins with" in error


@BOTH
def test_a_tree_goes_on_in_parts(large, direction):
    """put -a -r and get -a -r, too, whatever else is in the tree."""
    marked(large, direction)
    for old, name in ((large.source, "source"), (large.dest, "dest")):
        folder = large.path / f"{name}s"
        (folder / "deep").mkdir(parents=True)
        os.rename(old, folder / "deep" / "log")
    there, here = large.path / "sources", large.path / "dests"
    with open(there / "deep" / "log", "ab") as f:
        f.write(content(3 * MIB, 3))
    for i in range(20):
        (there / str(i)).write_bytes(content(70_000 + i, i))
        (here / str(i)).write_bytes(content(70_000 + i, i)[:50_000])
    status, error = run(
        [f"{OURS}/sftp", "-b", "-", "-D", SERVER, "x:"], large.path,
        input=f"{direction} -a -r {there}/* {here}\n")
    assert status == 0, error
    assert digests(here) == digests(there)


@BOTH
@pytest.mark.parametrize("stock", [0, 1])
def test_resume_without_a_mark(large, direction, stock):
    """The copy was made longer, and then killed before it had its mark."""
    large.dest.write_bytes(large.source.read_bytes()[:20 * MIB])
    with open(large.dest, "ab") as f:
        f.truncate(SIZE + 93)
    grow(large, 100)
    if stock:
        large.serve(server=f"{STOCK}/sftp-server")
    status, error = large.copy("scp", direction, "-Z")
    assert status == 0
    assert f'"{large.dest}" is not what the source begins with: copying ' \
        "all of it" in error
    assert filecmp.cmp(large.source, large.dest, shallow=False)


@BOTH
def test_a_beginning_that_cannot_be_compared(large, direction):
    """A server of stock: what ends as the source does there is kept."""
    large.dest.write_bytes(large.source.read_bytes()[:36 * MIB])
    large.serve(server=f"{STOCK}/sftp-server")
    status, error = large.copy("scp", direction, "-Z")
    assert status == 0 and "because of size and time only" in error
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert large.sent() < 5 * MIB


@BOTH
@pytest.mark.parametrize("size", [50, 20 * MIB, 36 * MIB])
def test_an_older_target_is_no_beginning(large, direction, size):
    """A server of stock: what does not end as the source does there is sent
    again."""
    large.dest.write_bytes(content(size, "old"))
    large.serve(server=f"{STOCK}/sftp-server")
    status, error = large.copy("scp", direction, "-Z")
    assert status == 0 and "is not what the source begins with" in error
    assert filecmp.cmp(large.source, large.dest, shallow=False)


@BOTH
def test_stock_takes_it_for_no_beginning(large, direction):
    """Neither reput nor reget appends to it."""
    size = marked(large, direction)
    again = "reget" if direction == "get" else "reput"
    status, error = run(
        [f"{STOCK}/sftp", "-b", "-", "-D", SERVER], large.path,
        input=f"{again} {large.source} {large.dest}\n")
    assert status == 1 and "larger" in error
    assert large.dest.stat().st_size == size


@TOOLS
@BOTH
def test_interrupted(large, tool, direction):
    """^C, to the whole group as from a terminal."""
    argv, batch = large.argv(tool, direction, large.source, large.dest,
                             "-l80000")
    client = subprocess.Popen(list(map(str, argv)), stdin=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              start_new_session=True,
                              preexec_fn=hears_interrupts)
    client.stdin.write(batch)
    client.stdin.flush()
    wait_for(lambda: len(large.pids()) == 4)
    time.sleep(0.5)
    os.killpg(client.pid, signal.SIGINT)
    client.stdin.close()
    assert client.wait(timeout=60) != 0
    client.stderr.close()
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}")
                             for pid in large.pids()))
    assert large.dest.stat().st_size > SIZE
    goes_on(large, direction)


@pytest.mark.parametrize("stands_still", [0, 1])
@BOTH
def test_interrupted_in_sftp(place, direction, stands_still):
    """The mark stays, and what has arrived. No lane that stands still is waited
    for: what it writes later is not in the mark."""
    place.source.write_bytes(content(LARGE))
    place.serve(more=f"cat | sh -c 'echo $$ >> lanes; exec {SERVER} -e'; exit")
    client = begin(place, "sftp", direction, LARGE_SLOW)
    wait_for(lambda: len(read(place.path / "lanes").split()) == 3)
    lane = int(read(place.path / "lanes").split()[0])
    wait_for(lambda: place.dest.exists() and
             place.dest.stat().st_blocks * 512 > 16 * MIB)
    if stands_still:
        os.kill(lane, signal.SIGSTOP)
    try:
        wait_for(lambda: place.dest.stat().st_blocks * 512 > 96 * MIB)
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=30)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(lane, signal.SIGCONT)
    assert client.returncode != 0
    wait_for(lambda: not runs(lane))
    assert place.dest.stat().st_size > LARGE
    count = missing(place.source, place.dest)
    # Two blocks of each lane may be there in part, and count as missing.
    assert count <= LARGE - 96 * MIB + 2 * 4 * MIB
    place.serve()
    assert goes_on(place, direction) == ""
    assert place.sent() <= count + 16 * MIB


@BOTH
def test_interrupted_beside_another_copy(place, direction):
    """Stock's scp copies the same file at the same time. It gets no holes."""
    place.source.write_bytes(content(LARGE))
    ends = [place.source, f"x:{place.dest}"] if direction == "put" else \
        [f"x:{place.source}", place.dest]
    ours = begin(place, "sftp", direction, "-l120000")
    wait_for(lambda: len(place.pids()) == 4)
    with subprocess.Popen([f"{STOCK}/scp", "-q", "-l200000", "-D",
                           f"{STOCK}/sftp-server", *ends],
                          stderr=subprocess.PIPE, text=True) as stock:
        wait_for(lambda: place.dest.exists() and
                 place.dest.stat().st_blocks * 512 > 64 * MIB)
        ours.send_signal(signal.SIGINT)
        ours.communicate(timeout=100)
        assert stock.poll() is None
        assert (stock.wait(100), stock.stderr.read()) == (0, "")
    assert ours.returncode != 0
    assert filecmp.cmp(place.source, place.dest, shallow=False)


@BOTH
def test_an_interrupted_file_of_a_tree_is_named(place, direction):
    place.source.mkdir()
    (place.source / "large").write_bytes(content(SIZE))
    client = begin(place, "sftp", direction, "-l80000")
    large = place.dest / "large"
    wait_for(lambda: len(place.pids()) == 4 and large.exists() and
             large.stat().st_blocks * 512 > 8 * MIB)
    client.send_signal(signal.SIGINT)
    error = client.communicate(timeout=100)[1]
    assert client.returncode != 0
    assert f'\nincomplete: "{large}"' in "\n" + error


@pytest.mark.parametrize("who", ["client", "servers"])
@BOTH
def test_resume_sends_what_is_missing(place, direction, who):
    """And 64 MiB more, at most."""
    size, least = 160 * MIB, 96 * MIB
    place.source.write_bytes(content(size))
    argv, _ = place.argv("scp", direction, place.source, place.dest,
                         "-l800000")
    with subprocess.Popen(list(map(str, argv)), stderr=subprocess.PIPE,
                          text=True) as client:
        wait_for(lambda: place.dest.exists() and
                 place.dest.stat().st_blocks * 512 >= least)
        kill([client.pid] if who == "client" else place.pids())
        client.communicate(timeout=100)
    assert client.returncode != 0
    assert 0 < missing(place.source, place.dest) <= size - least + 8 * MIB
    assert goes_on(place, direction) == ""


@pytest.mark.parametrize("then", ["killed", "goes on"])
def test_the_first_lane_stands_still(place, then):
    """It writes an upload's mark, so the others wait for it, too."""
    place.source.write_bytes(content(160 * MIB))
    argv, _ = place.argv("scp", "put", place.source, place.dest, "-l400000")
    with subprocess.Popen(list(map(str, argv)), stderr=subprocess.PIPE,
                          text=True) as client:
        wait_for(lambda: place.dest.exists() and
                 marked_mib(place, 160 * MIB)[1] >= 4)
        os.kill(first := place.pids()[0], signal.SIGSTOP)
        before = -1
        while (there := place.dest.stat().st_blocks) > before:
            before = there
            time.sleep(1)
        if then == "killed":
            kill([client.pid, *place.pids()])
        else:
            os.kill(first, signal.SIGCONT)
        client.communicate(timeout=100)
    if then == "killed":
        assert goes_on(place, "put") == ""
    else:
        assert client.returncode == 0
        assert filecmp.cmp(place.source, place.dest, shallow=False)


@pytest.mark.parametrize("what", ["file", "tree"])
@BOTH
def test_killed_at_any_moment(place, direction, what):
    killed_at_any_moment(place, direction, what, "", 1, SLOW)


# Logins

def ssh_copy(here, direction, *options, program=f"{OURS}/ssh", port="-P2222",
             server="root@127.0.0.1:"):
    """scp over sshd in here; its connections are those that sshd has seen."""
    ends = [server + here.path("source"), here.path("dest")] \
        if direction == "get" else \
        [here.path("source"), server + here.path("dest")]
    argv = [f"{OURS}/scp", "-q", "-S", program, port,
            *here.ssh()[1:3], *here.ssh()[5:], SLOW,
            "-X", "connections=4", *options, *ends]
    return here.run(argv)


@pytest.fixture
def login_place(loopback_place):                        # noqa: F811
    with open(loopback_place.path("source"), "wb") as f:
        f.write(content(SIZE))
    return loopback_place


def further_ssh(here, then):
    """An ssh that runs these lines of a shell first in a further login."""
    path = here.path("ssh")
    with open(path, "w") as f:
        f.write('#!/bin/sh\ncase " $* " in *" -oBatchMode=yes "*)\n'
                f'{then};;\nesac\nexec {OURS}/ssh "$@"\n')
    os.chmod(path, 0o755)
    return path


@BOTH
@pytest.mark.parametrize("words", [
    {}, {"port": "-P1", "server": "scp://root@127.0.0.1:2222/"}],
    ids=["host", "URI"])
def test_logins(login_place, direction, words):
    """Each at the same port: a URI's if it has one."""
    here = login_place
    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}")
    done = ssh_copy(here, direction, **words)
    assert (done.returncode, done.stderr) == (0, "")
    assert filecmp.cmp(here.path("source"), here.path("dest"), shallow=False)
    assert logins(sshd) == 4
    wait_for(lambda: not here.processes("ssh", "scp", "sftp-server"))


@pytest.mark.parametrize("by", ["itself", "the user"])
def test_logins_that_come_too_late(login_place, by):
    """The copy ends first. They end once they have logged in: sshd refuses who
    hangs up before that."""
    here = login_place

    def interrupt():
        wait_for(lambda: len(here.processes("socat")) == 3)
        # Not SIGINT, which a shell has jobs in the background ignore
        os.kill(*here.processes("scp"), signal.SIGTERM)

    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}")
    slow = here.path("slow")
    with open(slow, "w") as f:
        f.write("#!/bin/sh\n(head -c 200; sleep 5; exec cat) |\n"
                "exec socat - TCP:127.0.0.1:2222\n")
    os.chmod(slow, 0o755)
    program = further_ssh(here, f'set -- -oProxyCommand={slow} "$@"')
    if by == "itself":
        done = ssh_copy(here, "get", "-l8000000", program=program)
        assert (done.returncode, done.stderr) == (0, "")
        assert filecmp.cmp(here.path("source"), here.path("dest"),
                           shallow=False)
        assert logins(sshd) == 1
    else:
        user = threading.Thread(target=interrupt)
        user.start()
        assert ssh_copy(here, "get", "-l80000",
                        program=program).returncode != 0
        user.join()
    wait_for(lambda: not here.processes("ssh", "scp", "sftp-server"))
    assert logins(sshd) == 4
    assert not re.search(r"Connection (closed|reset) .*\[preauth\]",
                         read(sshd.log))


@BOTH
def test_logins_that_are_refused(login_place, direction):
    """They are those of a user who has to give a password, or whom the server
    doesn't know. Nobody is asked, and nothing is said."""
    here = login_place
    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}",
                     "PasswordAuthentication yes")
    done = ssh_copy(here, direction,
                    program=further_ssh(here, 'set -- -l nosuch "$@"'))
    assert (done.returncode, done.stderr) == (0, "")
    assert filecmp.cmp(here.path("source"), here.path("dest"), shallow=False)
    assert logins(sshd) == 1
    assert read(sshd.log).count("Invalid user nosuch") == 3
    assert "Failed password" not in read(sshd.log)


def test_one_connection_has_one_session(login_place):
    """Some servers hang up at a second one."""
    here = login_place
    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}")
    done = ssh_copy(here, "put", "-X", "connections=1")
    assert (done.returncode, done.stderr) == (0, "")
    assert filecmp.cmp(here.path("source"), here.path("dest"), shallow=False)
    assert logins(sshd) == read(sshd.log).count("Starting session: ") == 1


def test_through_a_jump_host(login_place):
    """Each connection has one of its own there."""
    here = login_place
    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}")
    hop = shlex.join(here.ssh("-W", "%h:%p", "root@127.0.0.1"))
    done = ssh_copy(here, "put", f"-oProxyCommand={hop}")
    assert (done.returncode, done.stderr) == (0, "")
    assert logins(sshd) == 2 * 4


def test_a_master_is_not_shared(login_place):
    """Nor does a lane become one."""
    here = login_place
    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}")
    done = ssh_copy(here, "put", "-oControlMaster=auto",
                    f"-oControlPath={here.path('master')}",
                    "-oLocalCommand=touch " + here.path("ran"),
                    "-oPermitLocalCommand=yes",
                    "-oLocalForward=2223 127.0.0.1:2222")
    assert done.returncode == 0, done.stderr
    assert logins(sshd) == 4
    assert not os.path.exists(here.path("ran"))


def test_the_agent_is_forwarded_once(login_place):
    """With -A, over the first connection only."""
    here = login_place
    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}")
    program, told = here.path("ssh"), here.path("told")
    with open(program, "w") as f:
        f.write(f'#!/bin/sh\necho " $* " >> {told}\nexec {OURS}/ssh "$@"\n')
    os.chmod(program, 0o755)
    done = ssh_copy(here, "put", "-A", program=program)
    assert done.returncode == 0, done.stderr
    assert logins(sshd) == 4
    assert [" -A " in line for line in read(told).splitlines()] == \
        [True, False, False, False]
