"""What sftp-server does for a client that reads slowly, or has gone; and in a
jail that holds what stock's needs."""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import struct
import subprocess

import pytest

from loopback import OURS, STOCK, needs_root, stands_still, wait_until

KIB = 1024
F_SETPIPE_SZ, PAGE = 1031, 4096         # Linux
FILE, READ = 8 << 20, 255 * KIB
REQUESTS = 1000
PATIENCE_S = 60


def string(data):
    return struct.pack(">I", len(data)) + data


def message(kind, *parts):
    body = bytes([kind]) + b"".join(parts)
    return string(body)


def answer(server):
    head = server.stdout.read(4)
    assert len(head) == 4, "it has ended"
    size, = struct.unpack(">I", head)
    return server.stdout.read(size)


def peak_kib(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f
                    if line.startswith("VmHWM"))


@contextlib.contextmanager
def opened(path, size):
    """A server that has opened a new file of that size, and whose output pipe
    has one page. (The process, the file's handle)"""
    path.write_bytes(bytes(size))
    with subprocess.Popen([f"{OURS}/sftp-server"], bufsize=0,
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as server:
        fcntl.fcntl(server.stdout, F_SETPIPE_SZ, PAGE)
        server.stdin.write(message(1, struct.pack(">I", 3)))
        answer(server)
        server.stdin.write(message(3, struct.pack(">I", 0),
                                   string(bytes(path)),
                                   struct.pack(">II", 1, 0)))
        yield server, answer(server)[9:]
        server.kill()


def read_request(number, handle, offset):
    return message(5, struct.pack(">I", number), string(handle),
                   struct.pack(">QI", offset, READ))


@pytest.fixture
def full(tmp_path):
    """A server whose output pipe has no room: an answer's last piece fills its
    one page. It has 1,000 requests more. (The process, its memory before)"""
    with opened(tmp_path / "file", FILE) as (server, handle):
        before = peak_kib(server.pid)
        server.stdin.write(b"".join(
            read_request(i, handle, i % 32 * READ) for i in range(REQUESTS)))
        left = (READ + 13) // PAGE * PAGE
        while left > 0:
            left -= len(os.read(server.stdout.fileno(), left))
        wait_until("the server stands still",
                   lambda: stands_still(server.pid), PATIENCE_S)
        yield server, before


def test_a_client_that_reads_slowly(full):
    """Two answers or three wait for it, not all that it asked for."""
    server, before = full
    assert peak_kib(server.pid) - before < 2048


def test_a_client_that_goes(full):
    """Though its requests wait, and the pipe that it read is full."""
    server, _ = full
    server.stdout.close()
    server.stdin.close()
    server.wait(PATIENCE_S)


def test_what_cannot_be_read(tmp_path):
    """An error, unlike the end of what can."""
    for path, status, says in ((tmp_path, 1, "read: Is a directory"),
                               ("/dev/null", 0, "")):
        fd = os.open(path, os.O_RDONLY)
        done = subprocess.run([f"{OURS}/sftp-server", "-e"], stdin=fd,
                              capture_output=True, timeout=PATIENCE_S)
        os.close(fd)
        assert done.returncode == status
        assert says.encode() in done.stderr


def jail(folder):
    """Our sftp-server, with the libraries and files that stock's needs."""
    needed = subprocess.run(["ldd", f"{STOCK}/sftp-server"], check=True,
                            capture_output=True, text=True).stdout
    libraries = re.findall(r"(/\S+) \(0x", needed)
    assert libraries, needed
    for path in libraries:
        os.makedirs(f"{folder}{os.path.dirname(path)}", exist_ok=True)
        shutil.copy(path, f"{folder}{path}")
    shutil.copy(f"{OURS}/sftp-server", folder)
    for name in ("dev", "etc"):
        (folder / name).mkdir()
    (folder / "dev" / "null").touch()
    (folder / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\n")


def test_in_a_jail(tmp_path):
    """It starts there, copies, and answers a check-file."""
    needs_root()
    jail(tmp_path)
    data = bytes(range(256)) * 64
    asked = [
        (1, struct.pack(">I", 3)),
        (3, struct.pack(">I", 0), string(b"/file"),
         struct.pack(">II", 2 | 8 | 16 | 1, 0)),
        (6, struct.pack(">I", 1), string(b"\0" * 4), bytes(8), string(data)),
        (5, struct.pack(">I", 2), string(b"\0" * 4), bytes(8),
         struct.pack(">I", len(data))),
        (200, struct.pack(">I", 3), string(b"check-file-handle"),
         string(b"\0" * 4), string(b"sha256"), struct.pack(">QQI", 0, 0, 0)),
    ]
    with subprocess.Popen(["chroot", tmp_path, "/sftp-server", "-e"],
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as server:
        server.stdin.write(b"".join(message(*m) for m in asked))
        server.stdin.flush()
        *_, read, digests = [answer(server) for _ in asked]
        server.stdin.close()
    assert server.returncode == 0
    assert (tmp_path / "file").read_bytes() == data
    assert read == bytes([103]) + struct.pack(">I", 2) + string(data)
    assert digests.endswith(string(b"sha256") + hashlib.sha256(data).digest())
