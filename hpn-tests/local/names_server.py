#!/usr/bin/env python3
"""An sftp server (draft-ietf-secsh-filexfer-02) that wants files outside of the
target, for sftp -D and scp -D. All its files have the content "EVIL!".

    names_server.py HOW NAME KIND

HOW is "entry": each directory but those below an entry has an entry NAME (with
backslashes as of Python) of a KIND (file, dir); those have a file "evil". Or it
is "realpath": that is what REALPATH is answered with."""

import os
import struct
import sys

(INIT, OPEN, CLOSE, READ, LSTAT, OPENDIR, READDIR, REALPATH, STAT) = \
    1, 3, 4, 5, 7, 11, 12, 16, 17
VERSION, STATUS, HANDLE, DATA, NAMES, ATTRS = 2, 101, 102, 103, 104, 105
EOF, FAILURE = 1, 4


def string(data):
    return struct.pack(">I", len(data)) + data


def take(data):
    end = 4 + struct.unpack_from(">I", data)[0]
    return data[4:end], data[end:]


def attrs(kind):
    return struct.pack(">IQI", 1 | 4, 6 if kind == "file" else 4096,
                       0o100644 if kind == "file" else 0o40755)


def names(*entries):
    return NAMES, struct.pack(">I", len(entries)) + b"".join(
        string(name) + string(name) + attrs(kind) for name, kind in entries)


def status(code):
    return STATUS, struct.pack(">I", code) + string(b"") + string(b"")


class Server:
    def __init__(self, how, name, kind):
        self.how, self.kind = how, kind
        self.name = name.encode().decode("unicode_escape").encode()
        self.listed = set()

    def kind_of(self, path):
        if path.endswith(b"evil"):
            return "file"
        if path.rstrip(b"/") in (b"/nowhere", b"", b"/nowhere/dir", b"."):
            return "dir"
        return self.kind

    def answer(self, kind, body):
        if kind == READ:
            _, rest = take(body)
            offset = struct.unpack_from(">Q", rest)[0]
            return status(EOF) if offset else (DATA, string(b"EVIL!\n"))
        path, _ = take(body)
        if kind == CLOSE:
            return status(0)
        if kind == REALPATH:
            return names((self.name if self.how == "realpath" else
                          b"/nowhere" if path == b"." else path, "dir"))
        if kind in (STAT, LSTAT):
            return ATTRS, attrs(self.kind_of(path))
        if kind == OPEN:
            return HANDLE, string(b"file")
        if kind == OPENDIR:
            self.listed.discard(path)
            return HANDLE, string(path)
        if kind == READDIR and path not in self.listed:
            self.listed.add(path)
            own = path.rstrip(b"/") in (b"/nowhere", b"", b".")
            return names((self.name, self.kind) if own and
                         self.how == "entry" else (b"evil", "file"))
        return status(EOF if kind == READDIR else FAILURE)

    def run(self):
        read = sys.stdin.buffer.read
        while size := read(4):
            message = read(struct.unpack(">I", size)[0])
            if message[0] == INIT:
                reply = bytes([VERSION]) + struct.pack(">I", 3)
            else:
                kind, body = self.answer(message[0], message[5:])
                reply = bytes([kind]) + message[1:5] + body
            os.write(1, string(reply))


if __name__ == "__main__":
    Server(*sys.argv[1:]).run()
