"""What sftp-server does for a client that reads slowly, or has gone; and in a
jail that holds what stock's needs."""

import fcntl
import hashlib
import os
import re
import shutil
import signal
import struct
import subprocess

import pytest

from loopback import (STOCK, needs_root, stands_still, status_kib, wait_until)
from sftp_tools import SERVER
from sftp_wire import (CREATE, DATA, FOR_READING, FOR_WRITING, Session,
                       read_request, string, write_request)

F_SETPIPE_SZ, PAGE = 1031, 4096         # Linux
FILE, READ = 8 << 20, 255 << 10
REQUESTS, ANSWER = 1000, READ + 13
FIRST = ANSWER // PAGE * PAGE           # what is read of the first answer
PATIENCE_S = 60


@pytest.fixture
def full(tmp_path):
    """A server whose output pipe has no room: an answer's last piece fills its
    one page. It has 1,000 requests more. (The session, its memory before)"""
    (tmp_path / "file").write_bytes(bytes(FILE))
    session = Session(SERVER)
    server = session.process
    fcntl.fcntl(server.stdout, F_SETPIPE_SZ, PAGE)
    handle = session.open(tmp_path / "file")
    before = status_kib(server.pid, "VmHWM")
    session.send(*(read_request(i, handle, i % 32 * READ, READ)
                   for i in range(REQUESTS)))
    left = FIRST
    while left > 0:
        left -= len(os.read(server.stdout.fileno(), left))
    wait_until("the server stands still", lambda: stands_still(server.pid),
               PATIENCE_S)
    yield session, before
    server.kill()
    server.wait()


def test_slow_reader_takes_little_memory(full):
    """Two answers or three wait for it. It gets all once it reads."""
    session, before = full
    assert 0 <= status_kib(session.process.pid, "VmHWM") - before < 2048
    left = REQUESTS * ANSWER - FIRST
    while left > 0:
        left -= len(os.read(session.process.stdout.fileno(), 1 << 20))
    assert left == 0


def test_server_ends_with_its_client(full):
    """Though its requests wait, and the pipe that it read is full."""
    session, _ = full
    session.process.stdout.close()
    session.process.stdin.close()
    assert session.process.wait(PATIENCE_S) in (0, -signal.SIGPIPE)


def test_unreadable_input_is_an_error(tmp_path):
    """Unlike the end of what can be read."""
    for path, status, says in ((tmp_path, 1, "read: Is a directory"),
                               ("/dev/null", 0, "")):
        fd = os.open(path, os.O_RDONLY)
        done = subprocess.run([SERVER, "-e"], stdin=fd, capture_output=True,
                              timeout=PATIENCE_S)
        os.close(fd)
        assert done.returncode == status
        assert says.encode() in done.stderr and bool(says) == bool(done.stderr)


def jail(folder):
    """Our sftp-server, with the libraries and files that stock's needs."""
    needed = subprocess.run(["ldd", f"{STOCK}/sftp-server"], check=True,
                            capture_output=True, text=True).stdout
    libraries = re.findall(r"(/\S+) \(0x", needed)
    # Neither may need more one day, and this test not notice
    assert len(libraries) == 2 and "libc.so.6" in needed, needed
    for path in libraries:
        os.makedirs(f"{folder}{os.path.dirname(path)}", exist_ok=True)
        shutil.copy(path, f"{folder}{path}")
    shutil.copy(SERVER, folder)
    for name in ("dev", "etc"):
        (folder / name).mkdir()
    (folder / "dev" / "null").touch()
    (folder / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\n")


def test_server_needs_no_more_in_a_jail_than_stocks(tmp_path):
    """It starts there, copies, and answers a check-file."""
    needs_root()
    jail(tmp_path)
    data = bytes(range(256)) * 64
    session = Session("chroot", tmp_path, "/sftp-server", "-e")
    handle = session.open("/file", flags=FOR_READING | FOR_WRITING | CREATE)
    session.send(write_request(0, handle, 0, data))
    session.are_written(1)
    assert session.ask(read_request(1, handle, 0, len(data))) == \
        struct.pack(">BI", DATA, 1) + string(data)
    assert session.check(handle, "sha256", 0, 0, 0) == \
        hashlib.sha256(data).digest()
    session.end()
    assert (tmp_path / "file").read_bytes() == data
