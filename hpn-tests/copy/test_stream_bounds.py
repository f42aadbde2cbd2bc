"""Several connections, and what a copy in parts can't have or must not take:
targets that are odd, a full disk, memory."""

import os
import re
import stat
import subprocess
import time

import pytest

from loopback import Peak, children, read
from sftp_tools import ODD, OURS, SERVER, digests, on_small_disk, program
from stream_place import (BOTH, MIB, SLOW, TOOLS, fill,       # noqa: F401
                          goes_on, looks_complete, place, sent_in, tree)

STREAM_KIB = 3072               # a stream's messages, and some more

GIB4 = 4 << 30                  # bytes
WRITE_MAX = 255 << 10           # bytes of a request


def sparse(path, more=1):
    """Writes a file without data but its last byte: 4 GiB + more bytes."""
    with open(path, "wb") as f:
        f.seek(GIB4 + more - 1)
        f.write(b"x")


@TOOLS
def test_pipe_gets_stocks_error(place, tool):
    """It can't seek. All that comes out of it is a beginning of the source."""
    fill(place, "file")
    os.mkfifo(place.dest)
    said = []
    for streams in (1, 4):
        with open(place.path / "out", "wb") as out, \
                subprocess.Popen(["timeout", "300", "cat", place.dest],
                                 stdout=out):
            said.append(place.copy(tool, "get", SLOW, streams=streams))
        assert stat.S_ISFIFO(os.stat(place.dest).st_mode)
        assert place.source.read_bytes().startswith(
            (place.path / "out").read_bytes())
    assert said[0] == said[1]
    assert said[0][0] == 1 and "Illegal seek" in said[0][1]


@pytest.mark.parametrize("streams, more", [(1, MIB), (4, 1)])
def test_more_than_4_gib_arrive(place, streams, more):
    """The server keeps only the last byte of each WRITE. One stream's last
    WRITEs begin after 4 GiB; several streams begin one at exactly 4 GiB."""
    sparse(place.source, more)
    place.serve(server=f"{ODD} last-bytes {SERVER}",
                until="pids==4" * (streams > 1))
    assert place.copy("scp", "put", streams=streams) == (0, "")
    assert len(place.pids()) == streams
    assert place.dest.stat().st_size == GIB4 + more
    assert sum(place.moved()) * WRITE_MAX >= GIB4 + more
    with open(place.dest, "rb") as f:
        assert not any(f.read(WRITE_MAX))
        f.seek(GIB4 + more - 1)
        assert f.read() == b"x"


# What there is too little of

@BOTH
def test_full_disk_names_what_is_incomplete(place, direction):
    """Each is a beginning of its source in all streams. scp -Z goes on."""
    tree(place.source)
    place.dest = left = place.path / "left"
    place.serve(until="others=flags=1")
    argv, _ = place.argv("scp", direction, place.source,
                         place.path / "small" / "dest", "-l40000")
    status, error = on_small_disk(place.path, 24, argv)
    assert status == 1
    why = "No space left" if direction == "get" else "Failure"
    assert why in error
    there = 0
    for name, digest in digests(place.source).items():
        source, dest = f"{place.source}{name}", f"{left}{name}"
        if not os.path.isfile(dest):
            assert digest is None or f'dest{name}"' in error, name
            continue
        with open(source, "rb") as whole, open(dest, "rb") as part:
            data = part.read()
            assert whole.read(len(data)) == data, name
        assert not looks_complete(source, dest), name
        assert len(data) == os.path.getsize(source) or \
            f'dest{name}"' in error, name
        there += len(data)
    # Of the large file, four streams each write a part at the same time: the
    # first gap may be at a quarter of what was written.
    assert 24 * MIB / 4 < there <= 24 * MIB
    small = set(re.findall(r'open "\S+(/\d+")', read(place.path / "others")))
    assert any(f"{name}: {why}" in error for name in small)
    place.serve()
    goes_on(place, direction)


def peak_kib(place, direction, streams):
    """scp's VmHWM"""
    place.serve(until="others=flags=1" * (streams > 1))
    argv, _ = place.argv("scp", direction, place.source,
                         place.path / f"dest{streams}", "-l240000",
                         streams=streams)
    with subprocess.Popen(list(map(str, argv))) as client:
        peak = Peak(client.pid)
    assert client.returncode == 0
    assert (sent_in(read(place.path / "others")) > 0) == (streams > 1)
    return peak.stop()


@BOTH
@pytest.mark.parametrize("what", ["file", "tree"])
def test_more_streams_take_no_memory_for_data(place, direction, what):
    """What is outstanding waits in a file and takes no memory, with 256 MiB in
    flight at most over all streams. So a stream more takes as much as its
    messages do, however much is in flight."""
    fill(place, what)
    one, eight = (peak_kib(place, direction, streams) for streams in (1, 8))
    assert 0 < eight <= one + 7 * STREAM_KIB, (one, eight)


def test_programs_of_streams_do_not_accumulate(place):
    """Each of eight sources starts seven, which log in for nine seconds. scp
    waits for those that ended before 32 others."""
    ssh = program(place.path / "ssh", 'case "$*" in *BatchMode*) exec sleep 9'
                  f';; esac; exec {SERVER}')
    fill(place, "file")
    (place.path / "copies").mkdir()
    scp = subprocess.Popen(
        [f"{OURS}/scp", "-q", "-l400000", "-S", ssh, "-Xstreams=8",
         *[f"x:{place.source}"] * 8, "copies"], cwd=place.path)
    most = 0
    while scp.poll() is None:
        most = max(most, len(children(scp.pid)))
        time.sleep(0.005)
    assert scp.returncode == 0
    assert 8 < most <= 32 + 2 * 8
