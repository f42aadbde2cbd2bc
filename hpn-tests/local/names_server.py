#!/usr/bin/env python3
"""An sftp server (draft-ietf-secsh-filexfer-02) that wants files outside of the
target, for sftp -D and scp -D. All its files have the content "EVIL!".

    names_server.py HOW NAME KIND [VERSION]

HOW is "entry": each directory but those below an entry has an entry NAME (with
backslashes as of Python) of a KIND (file, dir, link to a directory); those have
a file EVIL. "root": the working directory is "/", and only what is listed first
has the entry. "realpath": NAME is the answer to REALPATH and to what expands
"~user". The protocol's VERSION is 3, or an older one, with which our engine
takes no copies."""

import os
import struct
import sys

(INIT, OPEN, CLOSE, READ, LSTAT, OPENDIR, READDIR, REALPATH, STAT, EXPAND) = \
    1, 3, 4, 5, 7, 11, 12, 16, 17, 200
VERSION, STATUS, HANDLE, DATA, NAMES, ATTRS = 2, 101, 102, 103, 104, 105
EOF, FAILURE = 1, 4
EVIL = "names_server.evil"      # such a file nobody has, even in the root
MODES = {"file": 0o100666, "dir": 0o40777, "link": 0o120777}


def string(data):
    return struct.pack(">I", len(data)) + data


def take(data):
    end = 4 + struct.unpack_from(">I", data)[0]
    return data[4:end], data[end:]


def attrs(kind):
    return struct.pack(">IQIII", 1 | 4 | 8, 6 if kind == "file" else 4096,
                       MODES[kind], 1, 1)


def names(*entries):
    return NAMES, struct.pack(">I", len(entries)) + b"".join(
        string(name) + string(name) + attrs(kind) for name, kind in entries)


def status(code):
    return STATUS, struct.pack(">I", code) + string(b"") + string(b"")


class Server:
    def __init__(self, how, name, kind, version=3):
        self.how, self.kind, self.version = how, kind, int(version)
        self.name = name.encode().decode("unicode_escape").encode()
        self.here = b"/" if how == "root" else b"/nowhere"
        self.listed, self.first = set(), True

    def kind_of(self, path, follows=True):
        if path.endswith(EVIL.encode()):
            return "file"
        if path.rstrip(b"/") in (b"/nowhere", b"", b"/nowhere/dir", b"."):
            return "dir"
        return "dir" if self.kind == "link" and follows else self.kind

    def answer(self, kind, body):
        if kind == READ:
            _, rest = take(body)
            offset = struct.unpack_from(">Q", rest)[0]
            return status(EOF) if offset else (DATA, string(b"EVIL!\n"))
        path, rest = take(body)
        if kind == CLOSE:
            return status(0)
        if kind == EXPAND:
            path = b"/nowhere/" + take(rest)[0]
        if kind in (REALPATH, EXPAND):
            return names((self.name if self.how == "realpath" else
                          self.here if path == b"." else path, "dir"))
        if kind in (STAT, LSTAT):
            return ATTRS, attrs(self.kind_of(path, kind == STAT))
        if kind == OPEN:
            return HANDLE, string(b"file")
        if kind == OPENDIR:
            self.listed.discard(path)
            return HANDLE, string(path)
        if kind == READDIR and path not in self.listed:
            self.listed.add(path)
            own = self.first if self.how == "root" else self.how == "entry" \
                and path.rstrip(b"/") in (b"/nowhere", b"", b".")
            self.first = False
            return names((self.name, self.kind) if own else
                         (EVIL.encode(), "file"))
        return status(EOF if kind == READDIR else FAILURE)

    def run(self):
        read = sys.stdin.buffer.read
        while size := read(4):
            message = read(struct.unpack(">I", size)[0])
            if message[0] == INIT:
                reply = bytes([VERSION]) + struct.pack(">I", self.version) + \
                    string(b"expand-path@openssh.com") + string(b"1")
            else:
                kind, body = self.answer(message[0], message[5:])
                reply = bytes([kind]) + message[1:5] + body
            os.write(1, string(reply))


if __name__ == "__main__":
    Server(*sys.argv[1:]).run()
