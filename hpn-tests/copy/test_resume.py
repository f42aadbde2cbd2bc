"""scp -Z: interrupted copies are resumed, without ssh between the ends; and
what sftp-server tells of a file's content."""

import hashlib
import os
import re
import signal
import socket
import struct
import subprocess

import pytest

from loopback import status_kib
from sftp_tools import BOTH, OURS, STOCK, SERVER, content, run
from sftp_wire import (CREATE, DENIED, FAILURE, FOR_READING, FOR_WRITING,
                       HELLO, NO_FILE, UNSUPPORTED, Session, check_request,
                       framed, open_request, read_request, string,
                       write_request)
from stream_place import place                          # noqa: F401

SIZE = 3 << 20                      # bytes: a dozen requests
PIECE = 4096                        # bytes: of which the server tells a digest


@pytest.fixture
def resume(place):
    """resume(direction, ...): scp -Z from "source" to "dest"; its status, what
    it said, and the bytes of content that went over the connection."""
    place.source.write_bytes(content(SIZE))

    def go(direction, *options, server=SERVER):
        place.serve(server=server)
        return *place.copy("scp", direction, "-Z", *options, streams=1), \
            place.sent()

    go.source, go.dest, go.log = place.source, place.dest, place.path / "log"
    return go


@BOTH
@pytest.mark.parametrize("have", [None, 0, PIECE, SIZE // 2, SIZE - 1, SIZE])
def test_only_what_is_missing_is_sent(resume, direction, have):
    if have is not None:
        resume.dest.write_bytes(resume.source.read_bytes()[:have])
        os.utime(resume.dest, (1, 1))       # it doesn't count
    assert resume(direction) == (0, "", SIZE - (have or 0))
    assert resume.dest.read_bytes() == resume.source.read_bytes()
    if have == SIZE:
        assert resume.dest.stat().st_mtime == 1


@BOTH
@pytest.mark.parametrize("have", [1, PIECE - 1])
def test_short_beginning_is_copied_again(resume, direction, have):
    resume.dest.write_bytes(resume.source.read_bytes()[:have])
    status, error, moved = resume(direction)
    assert (status, moved) == (0, SIZE)
    assert error.count(" cannot be verified as a prefix ") == 1, error
    assert resume.dest.read_bytes() == resume.source.read_bytes()


@BOTH
@pytest.mark.parametrize("change", ["first", "last", "longer", "empty source"])
def test_what_has_changed_is_copied_whole(resume, direction, change):
    data = bytearray(resume.source.read_bytes())
    if change == "longer":
        data += b"x"
    elif change == "empty source":
        resume.source.write_bytes(b"")
    else:
        data[0 if change == "first" else -1] ^= 1
    resume.dest.write_bytes(data)
    status, error, moved = resume(direction)
    assert status == 0
    assert error.count(" is not a prefix of the source: ") == 1, error
    assert moved == resume.source.stat().st_size
    assert resume.dest.read_bytes() == resume.source.read_bytes()


@BOTH
def test_what_cannot_be_read_is_copied_whole(resume, direction):
    resume.dest.write_bytes(resume.source.read_bytes()[:PIECE] + b"x")
    resume.dest.chmod(0o200)
    status, _, moved = resume(direction)
    resume.dest.chmod(0o600)
    assert (status, moved) == (0, SIZE)
    assert resume.dest.read_bytes() == resume.source.read_bytes()


def test_error_of_a_folder_without_permission_is_stocks(resume):
    resume.dest.mkdir(0o555)
    status, error, _ = resume("get")
    assert (status, error.count("Permission denied")) == (1, 1), error


@BOTH
def test_resumed_copy_has_times_and_mode(resume, direction):
    resume.source.chmod(0o640)
    os.utime(resume.source, (1234567890, 1234567890))
    resume.dest.write_bytes(resume.source.read_bytes()[:PIECE])
    assert resume(direction, "-p") == (0, "", SIZE - PIECE)
    st = resume.dest.stat()
    assert (st.st_mode & 0o777, st.st_mtime) == (0o640, 1234567890)


def large(resume, have, differs):
    """72 MiB with a hole, have of them there, one of which may differ."""
    os.truncate(resume.source, 72 << 20)
    resume.dest.write_bytes(resume.source.read_bytes()[:SIZE])
    os.truncate(resume.dest, have << 20)
    if differs is not None:
        with open(resume.dest, "r+b") as f:
            f.seek(differs << 20)
            f.write(b"x")


@BOTH
@pytest.mark.parametrize("differs,kept", [
    (None, 70), (69, 38), (6, 6), (5, 0)])
def test_large_files_are_compared_in_pieces(resume, direction, differs, kept):
    """As sftp-server reads no more than 32 MiB for a request. Only of the last
    64 MiB may a part stay while what follows it has changed: there several
    streams may have left gaps. All numbers are MiB."""
    large(resume, 70, differs)
    status, error, moved = resume(direction)
    assert status == 0
    assert (" is not a prefix of the source: " in error) == (kept == 0)
    assert moved == (72 - kept) << 20
    asked = re.findall(r"check-file .* off (\d+) len (\d+) block 0",
                       resume.log.read_text())
    assert [tuple(int(n) >> 20 for n in pair) for pair in asked] == [
        (0, 6), (6, 32), (38, 32)]
    assert resume.dest.read_bytes() == resume.source.read_bytes()


@BOTH
def test_range_before_the_last_ones_may_be_short(resume, direction):
    """It has less than what the server tells a digest of."""
    size, have = 72 << 20, (64 << 20) + 100
    os.truncate(resume.source, size)
    resume.dest.write_bytes(resume.source.read_bytes()[:have])
    assert resume(direction) == (0, "", size - have)
    assert resume.dest.read_bytes() == resume.source.read_bytes()


needs_stock = pytest.mark.skipif(
    not os.path.exists(f"{STOCK}/sftp-server"),
    reason="no build/stock: see \"make stock\"")


@needs_stock
@BOTH
@pytest.mark.parametrize("have,differs,kept", [
    (SIZE // 2, None, True), (SIZE // 2, SIZE // 2 - 1, False),
    (SIZE // 2, SIZE // 2 - (1 << 20), False), (SIZE // 2, 0, True),
    (1, None, True), (1, 0, False), (SIZE, None, True),
    (SIZE, SIZE - 1, False), (SIZE + 1, None, False)])
def test_last_mib_is_compared_without_digests(resume, direction, have, differs,
                                              kept):
    """Then the last MiB is read and compared. Times don't matter. What is
    before that MiB is not looked at."""
    there = bytearray((resume.source.read_bytes() + b"x")[:have])
    if differs is not None:
        there[differs] ^= 1
    resume.dest.write_bytes(there)
    status, error, moved = resume(direction, server=f"{STOCK}/sftp-server")
    assert status == 0
    assert error.count("\n") == 1, error
    assert ("the last of them are the same" in error) == kept, error
    sample = min(have, 1 << 20) if have <= SIZE else 0
    assert moved <= (SIZE - have if kept else SIZE) + sample
    there = bytearray(resume.source.read_bytes())
    if kept and differs is not None:
        there[differs] ^= 1
    assert resume.dest.read_bytes() == there


@needs_stock
@BOTH
@pytest.mark.parametrize("have,differs,kept", [
    (70, 69, 6), (70, 5, 0), (63, None, 0), (72, None, 72), (72, 71, 0)])
def test_large_files_need_no_digests(resume, direction, have, differs, kept):
    """The last 64 MiB may have gaps, unless all is there. Numbers are MiB."""
    large(resume, have, differs)
    status, error, moved = resume(direction, server=f"{STOCK}/sftp-server")
    assert status == 0
    assert error.count("\n") == 1, error
    assert (72 - kept) << 20 <= moved <= (72 - kept + 1) << 20
    assert resume.dest.read_bytes() == resume.source.read_bytes()


@pytest.mark.parametrize("argv,words", [
    (["-ZO", "a", "b"], "-Z needs the SFTP protocol"),
    (["-Z", "h1:a", "h2:b"], "-Z copies from or to this machine"),
    (["-Z", "-R", "h1:a", "h2:b"], "-Z copies from or to this machine")])
def test_wrong_use_is_refused(tmp_path, argv, words):
    status, error = run([f"{OURS}/scp", "-S", "false", *argv], tmp_path)
    assert status != 0
    assert error.count("\n") == 1 and words in error, error


# sftp-server, by its protocol

def sparse(path, size):
    path.touch()
    os.truncate(path, size)


@pytest.fixture
def session(request):
    session = Session(SERVER, *getattr(request, "param", ()))
    yield session
    session.end()


def read_only_too(name, **kwargs):
    """Both as it is, and with the option -R."""
    return pytest.mark.parametrize(name, [(), ("-R",)],
                                   ids=["writes", "reads-only"], **kwargs)


# Algorithms, start, length and block of a check of 3 * PIECE + 1 bytes; the
# ranges that are digested, or the status
CHECKS = [
    ("md5,sha256", 0, 0, 0, [(0, None)]),
    ("sha256", 5, 2 * PIECE, 0, [(5, 5 + 2 * PIECE)]),
    ("sha256", 0, 0, 2 * PIECE, [(0, 2 * PIECE), (2 * PIECE, None)]),
    ("sha256", 0, PIECE, 0, [(0, PIECE)]),
    ("sha256", 1, PIECE, PIECE, [(1, PIECE + 1)]),
    # The end of a file may be short. Elsewhere a digest of one byte would be as
    # good as the byte.
    ("sha256", 3 * PIECE, 0, 0, [(3 * PIECE, None)]),
    ("sha256", 3 * PIECE, 1, 0, [(3 * PIECE, None)]),
    ("sha256", 0, 1, 0, FAILURE), ("sha256", 0, PIECE - 1, 0, FAILURE),
    ("sha256", 1, 3 * PIECE - 1, PIECE, FAILURE),
    ("sha256", 0, PIECE + 1, PIECE, FAILURE),
    ("sha256", 0, 0, PIECE - 1, FAILURE), ("sha256", 2**64 - 1, 0, 0, FAILURE),
    ("md5", 0, 0, 0, UNSUPPORTED), ("", 0, 0, 0, UNSUPPORTED),
]


def test_check_file_digests_what_is_asked(tmp_path, session):
    assert string(b"check-file-handle") + string(b"1") in session.extensions
    data = content(3 * PIECE + 1)
    (tmp_path / "file").write_bytes(data)
    handle = session.open(tmp_path / "file")
    for *asked, wanted in CHECKS:
        assert session.check(handle, *asked) == (
            b"".join(hashlib.sha256(data[start:end]).digest()
                     for start, end in wanted)
            if isinstance(wanted, list) else wanted), asked
    folder = session.open(tmp_path, kind=11)
    for wrong in (b"none", folder):
        assert session.check(wrong, "sha256", 0, 0, 0) == FAILURE
    # 2 GiB in the smallest blocks would be a reply of 16 MiB
    os.truncate(tmp_path / "file", 2 << 30)
    assert session.check(handle, "sha256", 0, 0, PIECE) == FAILURE


@pytest.mark.parametrize("options,allowed", [
    ((), True), (("-R",), True), (("-p", "open,close,read"), False),
    (("-P", "write,remove"), False),
    (("-P", "read"), False), (("-P", "check-file"), False),
    (("-p", "open,close,check-file"), True),
    (("-p", "open,close,check-file", "-P", "write"), True),
    (("-p", "open,close,check-file", "-P", "check-file"), False)])
def test_check_file_needs_its_name_in_a_list(tmp_path, options, allowed):
    """If there is one."""
    (tmp_path / "file").write_bytes(b"secret")
    session = Session(SERVER, *options)
    assert (b"check-file" in session.extensions) == allowed
    handle = session.open(tmp_path / "file")
    assert session.check(handle, "sha256", 0, 0, 0) == \
        (hashlib.sha256(b"secret").digest() if allowed else DENIED)
    session.end()


def test_check_file_is_logged_once_a_file(tmp_path):
    """What was read for it is logged as read."""
    (tmp_path / "file").write_bytes(content(700000))
    with open(tmp_path / "log", "w") as log:
        session = Session(SERVER, "-e", "-l", "info", stderr=log)
    handle = session.open(tmp_path / "file")
    for start in (0, 300000):
        session.check(handle, "sha256", start, 0, 0)
    session.end()
    log = (tmp_path / "log").read_text()
    assert log.count("check-file ") == 1
    assert f'check-file "{tmp_path}/file"\n' in log
    assert f'close "{tmp_path}/file" bytes read 1100000 written 0' in log


def test_check_file_is_refused_as_a_read_is(tmp_path, session):
    """Of a file that is open for writing."""
    (tmp_path / "file").write_bytes(b"secret")
    handle = session.open(tmp_path / "file", flags=FOR_WRITING)
    assert session.ask(read_request(9, handle, 0, 1))[5:9] == \
        struct.pack(">I", NO_FILE)
    assert session.check(handle, "sha256", 0, 1, 0) == NO_FILE
    assert session.check(handle, "sha256", 6, 0, 0) == NO_FILE
    handle = session.open(tmp_path / "file", flags=FOR_READING | FOR_WRITING)
    assert session.check(handle, "sha256", 0, 0, 0) == \
        hashlib.sha256(b"secret").digest()


@read_only_too("session", indirect=True)
def test_check_file_is_bounded(tmp_path, session):
    """Regular files only, and 32 MiB of them: more is refused, as a part's
    digest would be a wrong answer."""
    piece = 32 << 20
    sparse(tmp_path / "file", piece + 7)
    check, handle = session.check, session.open(tmp_path / "file")
    assert check(handle, "sha256", 0, 0, 0) == FAILURE
    assert check(handle, "sha256", 0, piece + 1, 0) == FAILURE
    assert check(handle, "sha256", 7, 0, 0) == \
        hashlib.sha256(bytes(piece)).digest()
    assert check(handle, "sha256", piece, piece + 1, 0) == \
        hashlib.sha256(bytes(7)).digest()
    assert check(session.open("/dev/zero"), "sha256", 0, 1, 0) == FAILURE
    assert check(session.open("/dev/zero"), "sha256", 0, 0, 0) == FAILURE


@read_only_too("options")
@pytest.mark.parametrize("end", ["both", "stdin", "stdout"])
def test_digests_end_with_their_client(tmp_path, end, options):
    """Most of those that it asked for are never made."""
    sparse(tmp_path / "file", 32 << 20)
    with open(tmp_path / "log", "w") as log:
        session = Session(SERVER, "-e", "-l", "debug", *options, stderr=log)
    handle = session.open(tmp_path / "file")
    session.process.stdin.write(framed(*[               # a pipe takes 64 KiB
        check_request(handle, "sha256", 0, 0, 0)] * 600))
    session.receive()                       # it is at work
    if end != "stdout":
        session.process.stdin.close()
    if end != "stdin":
        session.process.stdout.close()
    assert session.process.wait(100) in (0, -signal.SIGPIPE)
    session.process.stdin.close()
    session.process.stdout.close()
    log = (tmp_path / "log").read_text()
    made = log.count(": check-file ") - log.count("sent status Failure")
    assert 0 < made < 300


@pytest.mark.parametrize("what", ["digest", "copy", "directories"])
def test_nothing_is_done_for_a_client_that_left(tmp_path, what):
    """It sent INIT with many requests and left. The server looks at it before
    it does what takes long, or what changes anything."""
    large = tmp_path / "large"
    sparse(large, 256 << 20)
    first, second = struct.pack(">I", 0), struct.pack(">I", 1)   # handles
    sent = [HELLO, open_request(large, FOR_READING),
            open_request("/dev/null", FOR_WRITING)]
    sent += {
        "digest": [check_request(first, "sha256", 0, 32 << 20, 0)] * 450,
        "copy": [struct.pack(">BI", 200, 7) + string("copy-data") +
                 string(first) + struct.pack(">QQ", 0, 0) + string(second) +
                 struct.pack(">Q", 0)] * 450,
        "directories": [struct.pack(">BI", 14, 7) + struct.pack(">I", 0).join(
            [string(tmp_path / f"made{i}"), b""]) for i in range(1000)],
    }[what]
    ours, server = socket.socketpair()
    ours.sendall(framed(*sent))
    ours.close()
    done = subprocess.run([SERVER, "-e", "-l", "debug"], stdin=server,
                          stdout=server, stderr=subprocess.PIPE, text=True)
    server.close()
    assert done.returncode in (0, -signal.SIGPIPE)
    assert len(re.findall(": check-file |: copy-data ", done.stderr)) <= 1
    assert len(list(tmp_path.glob("made*"))) <= 1


def test_client_may_ask_before_it_reads():
    """All its requests, with INIT. Stock's server takes them, too."""
    count = 60000
    session = Session(SERVER, ahead=[struct.pack(">BI", 17, i) + string("/")
                             for i in range(count)])
    for i in range(count):
        assert session.receive()[:5] == struct.pack(">BI", 105, i)
    session.end()


@pytest.mark.parametrize("count, size", [(16000, 32 << 10), (60000, 256),
                                         (20000, 1)])
def test_client_may_write_before_it_reads(tmp_path, session, count, size):
    """Once 256 KiB of replies wait, too, the server takes no more of what it
    is sent than it can process, large requests or small ones."""
    handle = session.open(tmp_path / "file", flags=FOR_WRITING | CREATE)
    before = status_kib(session.process.pid, "VmHWM")
    for sent in range(count):
        session.send(write_request(sent, handle, sent % 2000 * size,
                                   bytes(size)))
    grown = status_kib(session.process.pid, "VmHWM") - before
    session.are_written(count)
    assert os.path.getsize(tmp_path / "file") == 2000 * size
    assert grown < 4 << 10, f"{grown} kB"
