"""SFTP (draft-ietf-secsh-filexfer-02) as bytes: what the odd servers have, and
a client that sends what it is told to."""

import os
import struct
import subprocess
import threading

INIT, OPEN, CLOSE, READ, WRITE, LSTAT, FSTAT, SETSTAT, FSETSTAT, OPENDIR, \
    READDIR, _, MKDIR, _, REALPATH, STAT = 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, \
    12, 13, 14, 15, 16, 17
VERSION, STATUS, HANDLE, DATA, NAME, ATTRS, EXTENDED, REPLY = \
    2, 101, 102, 103, 104, 105, 200, 201
OK, EOF, NO_FILE, DENIED, FAILURE, UNSUPPORTED = 0, 1, 2, 3, 4, 8
FOR_READING, FOR_WRITING, APPEND, CREATE, TRUNCATE = 1, 2, 4, 8, 16  # SSH_FXF_*
HELLO = struct.pack(">BI", INIT, 3)


def string(data):
    data = os.fsencode(data)
    return struct.pack(">I", len(data)) + data


def framed(*bodies):
    return b"".join(map(string, bodies))


def write_all(fd, data):
    data = memoryview(data)
    while data:
        data = data[os.write(fd, data):]


def exactly(fd, count):
    """Bytes; fewer, at the end."""
    data = b""
    while len(data) < count and (more := os.read(fd, count - len(data))):
        data += more
    return data


def message(fd):
    """The next one's body; none, at the end."""
    head = exactly(fd, 4)
    return head and exactly(fd, int.from_bytes(head, "big"))


class Message:
    """A body that is taken to pieces."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, form=">I"):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def string(self):
        return self.take(self.number())


def open_request(path, flags, kind=OPEN):
    tail = struct.pack(">II", flags, 0) if kind == OPEN else b""
    return struct.pack(">BI", kind, 7) + string(path) + tail


def read_request(number, handle, offset, count):
    return struct.pack(">BI", READ, number) + string(handle) + \
        struct.pack(">QI", offset, count)


def write_request(number, handle, offset, data):
    return struct.pack(">BI", WRITE, number) + string(handle) + \
        struct.pack(">Q", offset) + string(data)


def check_request(handle, algs, start, length, block):
    return struct.pack(">BI", EXTENDED, 8) + string(b"check-file-handle") + \
        string(handle) + string(algs) + \
        struct.pack(">QQI", start, length, block)


class Session:
    """Sends requests as they are, and reads what comes back. Those in ahead
    go out before the server has said its version."""

    def __init__(self, server, *options, ahead=(), stderr=None):
        self.process = subprocess.Popen([server, *options],
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0,
                                        stderr=stderr)
        self.deadline = threading.Timer(200, self.process.kill)
        self.deadline.daemon = True
        self.deadline.start()
        self.send(HELLO, *ahead)
        version = self.receive()
        assert version[:5] == struct.pack(">BI", VERSION, 3)
        self.extensions = version[5:]

    def send(self, *bodies):
        write_all(self.process.stdin.fileno(), framed(*bodies))

    def receive(self):
        return message(self.process.stdout.fileno())

    def ask(self, body):
        self.send(body)
        return self.receive()

    def open(self, path, kind=OPEN, flags=FOR_READING):
        reply = self.ask(open_request(path, flags, kind))
        assert reply[:5] == struct.pack(">BI", HANDLE, 7)
        return reply[9:]

    def are_written(self, count):
        """Takes the replies to writes with the numbers up to count."""
        for number in range(count):
            assert self.receive()[:9] == struct.pack(">BII", STATUS, number,
                                                     OK)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            assert self.process.wait(60) == 0
        finally:
            self.process.kill()
            self.deadline.cancel()

    def check(self, handle, algs, start, length, block):
        """The digests, or the status"""
        reply = Message(self.ask(check_request(handle, algs, start, length,
                                               block)))
        kind, number = reply.number(">B"), reply.number()
        assert number == 8
        if kind == STATUS:
            return reply.number()
        assert (kind, reply.string(), reply.string()) == \
            (REPLY, b"check-file", b"sha256")
        return reply.data[reply.at:]
