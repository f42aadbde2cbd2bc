"""scp -Z: interrupted copies are resumed, without ssh between the ends; and
what sftp-server tells of a file's content."""

import hashlib
import os
import random
import re
import shlex
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from sftp_tools import OURS, STOCK, SERVER, content, entries, \
    make_tree, run, scp_argv

SIZE = 3 << 20                      # bytes: a dozen requests
PIECE = 4096                        # bytes: of which the server tells a digest
BOTH = pytest.mark.parametrize("direction", ["get", "put"])

pytestmark = pytest.mark.skipif(not os.path.exists(SERVER),
                                reason="no build/openssh: see \"make openssh\"")


@pytest.fixture
def resume(tmp_path):
    """resume(direction, ...): scp -Z from "source" to "dest"; its status, what
    it said, and the bytes of content that went over the connection."""
    source, dest = tmp_path / "source", tmp_path / "dest"
    source.write_bytes(content(SIZE))

    def go(direction, *options, server=SERVER):
        log, program = tmp_path / "log", tmp_path / "server"
        program.write_text(f"#!/bin/sh\nexec {shlex.quote(server)} -e -l debug "
                           f"2> {shlex.quote(str(log))}\n")
        program.chmod(0o755)
        ends = (f"x:{source}", dest) if direction == "get" else \
            (source, f"x:{dest}")
        status, error = run(scp_argv(program, "-Z", *options, *ends), tmp_path)
        moved = sum(map(int, re.findall(
            r"(?:sent data|write .* off \d+) len (\d+)", log.read_text())))
        return status, error, moved

    go.source, go.dest, go.log = source, dest, tmp_path / "log"
    return go


@BOTH
@pytest.mark.parametrize("have", [0, PIECE, SIZE // 2, SIZE - 1, SIZE])
def test_only_what_is_missing(resume, direction, have):
    resume.dest.write_bytes(resume.source.read_bytes()[:have])
    os.utime(resume.dest, (1, 1))       # it doesn't count
    assert resume(direction) == (0, "", SIZE - have)
    assert resume.dest.read_bytes() == resume.source.read_bytes()
    if have == SIZE:
        assert resume.dest.stat().st_mtime == 1


@BOTH
@pytest.mark.parametrize("have", [1, PIECE - 1])
def test_a_beginning_that_is_too_short_to_compare(resume, direction, have):
    resume.dest.write_bytes(resume.source.read_bytes()[:have])
    status, error, moved = resume(direction)
    assert (status, moved) == (0, SIZE)
    assert error.count("may not be what the source begins with") == 1, error
    assert resume.dest.read_bytes() == resume.source.read_bytes()


@BOTH
def test_to_where_there_is_nothing(resume, direction):
    assert resume(direction) == (0, "", SIZE)
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
    assert error.count("is not what the source begins with") == 1, error
    assert moved == resume.source.stat().st_size
    assert resume.dest.read_bytes() == resume.source.read_bytes()


@BOTH
def test_times_and_modes(resume, direction):
    resume.source.chmod(0o640)
    os.utime(resume.source, (1234567890, 1234567890))
    resume.dest.write_bytes(resume.source.read_bytes()[:PIECE])
    assert resume(direction, "-p") == (0, "", SIZE - PIECE)
    st = resume.dest.stat()
    assert (st.st_mode & 0o777, st.st_mtime) == (0o640, 1234567890)


@BOTH
@pytest.mark.parametrize("differs,kept", [
    (None, 70), (69, 38), (6, 6), (5, 0)])
def test_large_ones_are_compared_in_pieces(resume, direction, differs, kept):
    """As sftp-server reads no more than 32 MiB for a request. Only of the last
    64 MiB may a part stay while what follows it has changed: there several
    streams may have left gaps. All numbers are MiB."""
    size, have = 72 << 20, 70 << 20                 # with a hole
    os.truncate(resume.source, size)
    resume.dest.write_bytes(resume.source.read_bytes()[:SIZE])
    os.truncate(resume.dest, have)
    if differs is not None:
        with open(resume.dest, "r+b") as f:
            f.seek(differs << 20)
            f.write(b"x")
    status, error, moved = resume(direction)
    assert status == 0
    assert ("is not what the source begins with" in error) == (kept == 0)
    assert moved == size - (kept << 20)
    asked = re.findall(r"check-file .* off (\d+) len (\d+) block 0",
                       resume.log.read_text())
    assert [tuple(int(n) >> 20 for n in pair) for pair in asked] == [
        (0, 6), (6, 32), (38, 32)]
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
def test_server_that_cannot_compare(resume, direction, have, differs, kept):
    """Then the last MiB is read and compared. Times don't matter. What is
    before that MiB is not looked at."""
    there = bytearray((resume.source.read_bytes() + b"x")[:have])
    if differs is not None:
        there[differs] ^= 1
    resume.dest.write_bytes(there)
    status, error, moved = resume(direction,
                                  server=f"{STOCK}/sftp-server")
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
def test_large_ones_without_digests(resume, direction, have, differs, kept):
    """The last 64 MiB of what is there may have gaps, unless all is there. All
    numbers are MiB."""
    os.truncate(resume.source, 72 << 20)
    resume.dest.write_bytes(resume.source.read_bytes()[:SIZE])
    os.truncate(resume.dest, have << 20)
    if differs is not None:
        with open(resume.dest, "r+b") as f:
            f.seek(differs << 20)
            f.write(b"x")
    status, error, moved = resume(direction,
                                  server=f"{STOCK}/sftp-server")
    assert status == 0
    assert error.count("\n") == 1, error
    assert moved <= (72 - kept + 1) << 20
    assert resume.dest.read_bytes() == resume.source.read_bytes()


def progress(path):
    """Bytes that are there, of a file or of a tree."""
    if not path.is_dir():
        return path.stat().st_size if path.exists() else 0
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(path) for name in names)


def killed(argv, dest, at):
    """Runs argv and kills it once dest has `at` bytes. Returns whether it was
    killed."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    end = time.monotonic() + 300
    while process.poll() is None and progress(dest) < at:
        assert time.monotonic() < end
    process.send_signal(signal.SIGKILL)
    error = process.communicate()[1]
    assert process.returncode in (0, -signal.SIGKILL), error
    return process.returncode != 0


@BOTH
def test_killed_at_50_points(tmp_path, direction):
    source, dest = tmp_path / "source", tmp_path / "dest"
    source.write_bytes(content(24 << 20))
    ends = (f"x:{source}", dest) if direction == "get" else \
        (source, f"x:{dest}")
    argv = scp_argv(SERVER, "-Z", "-l", "2000000", *ends)   # kbit/s
    points, kills = random.Random(1), 0
    while kills < 50:
        have = progress(dest)
        if killed(argv, dest, points.randint(have, source.stat().st_size)):
            kills += 1
        if points.random() < 0.3:
            assert run(argv, tmp_path) == (0, "")
            assert dest.read_bytes() == source.read_bytes()
            dest.unlink()
    assert run(argv, tmp_path) == (0, "")
    assert dest.read_bytes() == source.read_bytes()


@BOTH
def test_tree_that_was_killed(tmp_path, direction):
    tree, into = make_tree(tmp_path / "tree"), tmp_path / "into"
    into.mkdir()
    ends = (f"x:{tree}", into) if direction == "get" else (tree, f"x:{into}")
    argv = scp_argv(SERVER, "-rpZ", *ends)
    size, kills = progress(tree), 0
    for part in (0.1, 0.3, 0.5, 0.7, 0.9):
        kills += killed(argv, into, part * size)
    assert kills >= 3
    assert run(argv, tmp_path) == (0, "")
    assert entries(into / "tree") == entries(tree)


@pytest.mark.parametrize("argv,words", [
    (["-ZO", "a", "b"], "-Z needs the SFTP protocol"),
    (["-Z", "h1:a", "h2:b"], "-Z copies from or to this machine"),
    (["-Z", "-R", "h1:a", "h2:b"], "-Z copies from or to this machine")])
def test_refused(tmp_path, argv, words):
    status, error = run([f"{OURS}/scp", "-S", "false", *argv], tmp_path)
    assert status != 0
    assert error.count("\n") == 1 and words in error, error


# sftp-server, by its protocol

INIT = struct.pack(">BI", 1, 3)


def framed(*bodies):
    return b"".join(struct.pack(">I", len(body)) + body for body in bodies)


class Session:
    """Sends requests as they are, and reads what comes back. Those in ahead
    go out before the server has said its version."""

    def __init__(self, *options, server=SERVER, ahead=(), stderr=None):
        self.process = subprocess.Popen([server, *options],
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0,
                                        stderr=stderr)
        deadline = threading.Timer(120, self.process.kill)
        deadline.start()
        self.send(INIT, *ahead)
        version = self.receive()
        deadline.cancel()
        assert version[:5] == struct.pack(">BI", 2, 3)
        self.extensions = version[5:]

    def send(self, *bodies):
        data = memoryview(framed(*bodies))
        while data:
            data = data[self.process.stdin.write(data):]

    def read(self, count):
        data = b""
        while len(data) < count:
            data += self.process.stdout.read(count - len(data))
        return data

    def receive(self):
        return self.read(struct.unpack(">I", self.read(4))[0])

    def ask(self, body):
        self.send(body)
        return self.receive()

    def open(self, path, kind=3, flags=1):
        reply = self.ask(open_request(path, flags, kind))
        assert reply[:5] == struct.pack(">BI", 102, 7)
        return reply[9:]

    def memory(self, name):
        """kB, of a line in the process's status"""
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(rf"{name}:\s+(\d+) kB", f.read()).group(1))

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            assert self.process.wait(60) == 0
        finally:
            self.process.kill()

    def check(self, handle, algs, start, length, block):
        """The digests, or the status"""
        reply = self.ask(check_request(handle, algs, start, length, block))
        kind, number = struct.unpack(">BI", reply[:5])
        assert number == 8
        if kind == 101:
            return struct.unpack(">I", reply[5:9])[0]
        head = string(b"check-file") + string(b"sha256")
        assert kind == 201 and reply[5:].startswith(head)
        return reply[5 + len(head):]


def string(data):
    data = os.fsencode(data)
    return struct.pack(">I", len(data)) + data


def open_request(path, flags, kind=3):
    tail = struct.pack(">II", flags, 0) if kind == 3 else b""
    return struct.pack(">BI", kind, 7) + string(path) + tail


def check_request(handle, algs, start, length, block):
    return struct.pack(">BI", 200, 8) + string(b"check-file-handle") + \
        string(handle) + string(algs) + \
        struct.pack(">QQI", start, length, block)


@pytest.fixture
def session(request):
    session = Session(*getattr(request, "param", ()))
    yield session
    session.end()


def read_only_too(name, **kwargs):
    """Both as it is, and with the option -R."""
    return pytest.mark.parametrize(name, [(), ("-R",)],
                                   ids=["writes", "reads-only"], **kwargs)


READ, WRITE, CREATE = 1, 2, 8                   # SSH_FXF_*
NO_SUCH_FILE, DENIED, FAILURE, UNSUPPORTED = 2, 3, 4, 8


def test_check_file(tmp_path, session):
    assert string(b"check-file-handle") + string(b"1") in session.extensions
    data = content(700000)
    (tmp_path / "file").write_bytes(data)
    handle = session.open(tmp_path / "file")

    def digest(start, end):
        return hashlib.sha256(data[start:end]).digest()
    check = session.check
    assert check(handle, "md5,sha256", 0, 0, 0) == digest(0, None)
    assert check(handle, "sha256", 5, 600000, 0) == digest(5, 600005)
    assert check(handle, "sha256", 0, 0, 300000) == \
        digest(0, 300000) + digest(300000, 600000) + digest(600000, None)
    assert check(handle, "md5", 0, 0, 0) == UNSUPPORTED
    assert check(handle, "", 0, 0, 0) == UNSUPPORTED
    assert check(handle, "sha256", 0, 0, PIECE - 1) == FAILURE
    assert check(handle, "sha256", 2**64 - 1, 0, 0) == FAILURE
    assert check(b"none", "sha256", 0, 0, 0) == FAILURE
    assert check(session.open(tmp_path, kind=11), "sha256", 0, 0, 0) == FAILURE
    # 2 GiB in the smallest blocks would be a reply of 16 MiB
    os.truncate(tmp_path / "file", 2 << 30)
    assert check(handle, "sha256", 0, 0, PIECE) == FAILURE
    assert check(handle, "sha256", 0, 5000, 5000) == digest(0, 5000)


def test_check_file_tells_of_no_few_bytes(tmp_path, session):
    """A digest of one byte is as good as the byte. The end of a file may be
    short."""
    data = content(3 * PIECE + 1)
    (tmp_path / "file").write_bytes(data)
    handle, check = session.open(tmp_path / "file"), session.check
    for start, length, block in ((0, 1, 0), (0, PIECE - 1, 0),
                                 (1, 3 * PIECE - 1, PIECE),
                                 (0, PIECE + 1, PIECE)):
        assert check(handle, "sha256", start, length, block) == FAILURE
    for start, length, block in ((0, PIECE, 0), (1, PIECE, PIECE),
                                 (3 * PIECE, 0, 0), (3 * PIECE, 1, 0)):
        end = start + length if length else len(data)
        assert check(handle, "sha256", start, length, block) == \
            hashlib.sha256(data[start:end]).digest()


@pytest.mark.parametrize("options,allowed", [
    ((), True), (("-R",), True), (("-p", "open,close,read"), False),
    (("-P", "write,remove"), False),
    (("-P", "read"), False), (("-P", "check-file"), False),
    (("-p", "open,close,check-file"), True),
    (("-p", "open,close,check-file", "-P", "write"), True),
    (("-p", "open,close,check-file", "-P", "check-file"), False)])
def test_check_file_is_named_by_a_list(tmp_path, options, allowed):
    """If there is one."""
    (tmp_path / "file").write_bytes(b"secret")
    session = Session(*options)
    assert (b"check-file" in session.extensions) == allowed
    handle = session.open(tmp_path / "file")
    assert session.check(handle, "sha256", 0, 0, 0) == \
        (hashlib.sha256(b"secret").digest() if allowed else DENIED)
    session.end()


def test_check_file_is_logged(tmp_path):
    """Once a file, and what was read for it as read."""
    (tmp_path / "file").write_bytes(content(700000))
    with open(tmp_path / "log", "w") as log:
        session = Session("-e", "-l", "info", stderr=log)
    handle = session.open(tmp_path / "file")
    for start in (0, 300000):
        session.check(handle, "sha256", start, 0, 0)
    session.end()
    log = (tmp_path / "log").read_text()
    assert log.count("check-file ") == 1
    assert f'check-file "{tmp_path}/file"\n' in log
    assert f'close "{tmp_path}/file" bytes read 1100000 written 0' in log


def test_check_file_of_what_is_open_for_writing(tmp_path, session):
    """Refused with what a read is refused with."""
    (tmp_path / "file").write_bytes(b"secret")
    handle = session.open(tmp_path / "file", flags=WRITE)
    assert session.ask(struct.pack(">BI", 5, 9) + string(handle) +
                       struct.pack(">QI", 0, 1))[5:9] == \
        struct.pack(">I", NO_SUCH_FILE)
    assert session.check(handle, "sha256", 0, 1, 0) == NO_SUCH_FILE
    assert session.check(handle, "sha256", 6, 0, 0) == NO_SUCH_FILE
    handle = session.open(tmp_path / "file", flags=READ | WRITE)
    assert session.check(handle, "sha256", 0, 0, 0) == \
        hashlib.sha256(b"secret").digest()


@read_only_too("session", indirect=True)
def test_check_file_is_bounded(tmp_path, session):
    """Regular files only, and 32 MiB of them: more is refused, as a part's
    digest would be a wrong answer."""
    piece = 32 << 20
    (tmp_path / "file").touch()
    os.truncate(tmp_path / "file", piece + 7)
    check, handle = session.check, session.open(tmp_path / "file")
    assert check(handle, "sha256", 0, 0, 0) == FAILURE
    assert check(handle, "sha256", 0, piece + 1, 0) == FAILURE
    assert check(handle, "sha256", 7, 0, 0) == \
        hashlib.sha256(bytes(piece)).digest()
    assert check(handle, "sha256", piece, piece + 1, 0) == \
        hashlib.sha256(bytes(7)).digest()
    assert check(session.open("/dev/zero"), "sha256", 0, 1, 0) == FAILURE
    assert check(session.open("/dev/zero"), "sha256", 0, 0, 0) == FAILURE


def test_check_file_gives_its_memory_back(tmp_path, session):
    (tmp_path / "file").write_bytes(b"x")
    handle, data = session.open(tmp_path / "file"), []
    for _ in range(2):
        for _ in range(50):
            session.check(handle, "sha256", 0, 1, 0)
            session.check(handle, "sha256", 0, 1, 1)        # too small
        data.append(session.memory("VmData"))
    assert data[1] - data[0] < 1024, data


@read_only_too("options")
@pytest.mark.parametrize("end", ["both", "stdin", "stdout"])
def test_client_that_has_gone(tmp_path, end, options):
    """Nobody waits for the digests that it asked for: minutes of CPU time."""
    (tmp_path / "file").touch()
    os.truncate(tmp_path / "file", 32 << 20)
    session = Session(*options)
    handle = session.open(tmp_path / "file")
    body = check_request(handle, "sha256", 0, 0, 0)
    session.process.stdin.write(
        (struct.pack(">I", len(body)) + body) * 600)    # a pipe takes 64 KiB
    session.receive()                       # it is at work
    if end != "stdout":
        session.process.stdin.close()
    if end != "stdin":
        session.process.stdout.close()
    _, status, used = os.wait4(session.process.pid, 0)
    session.process.returncode = status
    session.process.stdin.close()
    session.process.stdout.close()
    assert status in (0, signal.SIGPIPE)
    assert used.ru_utime + used.ru_stime < 3, used


@pytest.mark.parametrize("what", ["digest", "copy", "directories"])
def test_client_that_left_at_once(tmp_path, what):
    """It sent INIT with many requests and left. The server looks at it before
    it does what takes long, or what changes anything."""
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, 256 << 20)
    first, second = struct.pack(">I", 0), struct.pack(">I", 1)   # handles
    sent = [INIT, open_request(large, READ), open_request("/dev/null", WRITE)]
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
    process = subprocess.Popen([SERVER], stdin=server, stdout=server)
    server.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    assert used.ru_utime + used.ru_stime < 1, used
    assert len(list(tmp_path.glob("made*"))) <= 1


def test_client_that_asks_at_once():
    """It sends all its requests with INIT before it reads a reply. The server
    goes on taking requests, as stock's does."""
    count = 60000
    session = Session(ahead=[struct.pack(">BI", 17, i) + string("/")
                             for i in range(count)])
    for i in range(count):
        assert session.receive()[:5] == struct.pack(">BI", 105, i)
    session.end()


def test_client_that_writes_fast(tmp_path, session):
    """What it sends waits in the pipe, not in the server's memory."""
    handle = session.open(tmp_path / "file", flags=WRITE | CREATE)
    before, size, count = session.memory("VmHWM"), 32 << 10, 2000
    for sent in range(count):
        session.send(struct.pack(">BI", 6, sent) + string(handle) +
                     struct.pack(">Q", sent * size) + string(bytes(size)))
    for sent in range(count):
        assert session.receive()[:9] == struct.pack(">BII", 101, sent, 0)
    assert os.path.getsize(tmp_path / "file") == count * size
    grown = session.memory("VmHWM") - before
    assert grown < 3 << 10, f"{grown} kB"


def test_client_that_reads_late(tmp_path, session):
    """It sends all its requests before it reads a reply, far more than a pipe
    holds replies of: the server goes on taking requests, as stock's does."""
    handle = session.open(tmp_path / "file", flags=WRITE | CREATE)
    count = 20000                       # 480 KB of replies
    deadline = threading.Timer(60, session.process.kill)
    deadline.start()
    for sent in range(count):
        session.send(struct.pack(">BI", 6, sent) + string(handle) +
                     struct.pack(">Q", sent) + string(b"."))
    for sent in range(count):
        assert session.receive()[:9] == struct.pack(">BII", 101, sent, 0)
    deadline.cancel()


@pytest.mark.parametrize("count, size", [(16000, 32 << 10), (60000, 256)])
def test_client_that_writes_and_reads_late(tmp_path, session, count, size):
    """Once 256 KiB of replies wait, too, the server takes no more of what it
    is sent than it can process, large requests or small ones."""
    handle = session.open(tmp_path / "file", flags=WRITE | CREATE)
    before = session.memory("VmHWM")
    body = string(handle) + struct.pack(">Q", 0) + string(bytes(size))
    deadline = threading.Timer(120, session.process.kill)
    deadline.start()
    for sent in range(count):
        session.send(struct.pack(">BI", 6, sent) + body)
    grown = session.memory("VmHWM") - before
    for sent in range(count):
        assert session.receive()[:9] == struct.pack(">BII", 101, sent, 0)
    deadline.cancel()
    assert grown < 4 << 10, f"{grown} kB"


def test_client_that_never_reads(tmp_path, session):
    """It may ask for as much as it likes: the server's memory is bounded, and
    once the client reads, all that it asked for comes."""
    (tmp_path / "file").touch()
    os.truncate(tmp_path / "file", 1 << 30)
    handle = session.open(tmp_path / "file")
    size, stdin = 200 << 10, session.process.stdin
    os.set_blocking(stdin.fileno(), False)
    for sent in range(4000):            # 800 MB of replies
        body = struct.pack(">BI", 5, sent) + string(handle) + \
            struct.pack(">QI", sent * size % (1 << 30), size)
        # One by one: sftp-server looks at one message each time it wakes
        if not stdin.write(struct.pack(">I", len(body)) + body):
            break
        time.sleep(0.0005)
    assert 1000 < sent < 3999
    peak = session.memory("VmHWM")
    assert peak < 20 * 1024, f"{peak} kB"
    os.set_blocking(stdin.fileno(), True)
    for i in range(sent):
        reply = session.receive()
        assert reply[:5] == struct.pack(">BI", 103, i)
        assert len(reply) == 9 + size
