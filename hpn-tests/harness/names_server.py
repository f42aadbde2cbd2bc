#!/usr/bin/env python3
"""An sftp server that wants files outside of the target, for sftp -D and
scp -D. All its files have the content "EVIL!".

    names_server.py HOW NAME KIND [VERSION]

HOW is "entry": each directory but those below an entry has an entry NAME (with
backslashes as of Python) of a KIND (file, dir, link to a directory); those have
a file EVIL. "root": the working directory is "/", and only what is listed first
has the entry. "realpath": NAME is the answer to REALPATH and to what expands
"~user". The protocol's VERSION is 3, or an older one, with which our engine
takes no copies."""

import contextlib
import os
import struct
import sys

from sftp_wire import (ATTRS, CLOSE, DATA, EOF, EXTENDED, FAILURE,
                       HANDLE, INIT, LSTAT, NAME, OK, OPEN, OPENDIR, READ,
                       READDIR, REALPATH, STAT, STATUS, UNSUPPORTED, VERSION,
                       Message, framed, message, string)

EVIL = "names_server.evil"      # such a file nobody has, even in the root
EXPAND = b"expand-path@openssh.com"
TOP = b"/nowhere", b"/nowhere/.", b"", b"."
MODES = {"file": 0o100666, "dir": 0o40777, "link": 0o120777}


def attrs(kind):
    return struct.pack(">IQIII", 1 | 4 | 8, 6 if kind == "file" else 4096,
                       MODES[kind], 1, 1)


def names(name, kind):
    return NAME, struct.pack(">I", 1) + string(name) * 2 + attrs(kind)


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
        if path.rstrip(b"/") in (*TOP, b"/nowhere/dir"):
            return "dir"
        return "dir" if self.kind == "link" and follows else self.kind

    def answer(self, kind, m):
        path = m.string()
        if kind == READ:
            return status(EOF) if m.number(">Q") else \
                (DATA, string(b"EVIL!\n"))
        if kind == CLOSE:
            return status(OK)
        if kind == EXTENDED:
            if path != EXPAND:
                return status(UNSUPPORTED)
            path = b"/nowhere/" + m.string()
        if kind in (REALPATH, EXTENDED):
            return names(self.name if self.how == "realpath" else
                         self.here if path == b"." else path, "dir")
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
                and path.rstrip(b"/") in TOP
            self.first = False
            return names(self.name, self.kind) if own else names(EVIL, "file")
        return status(EOF if kind == READDIR else FAILURE)

    def run(self):
        while request := message(0):
            m = Message(request)
            kind = m.number(">B")
            if kind == INIT:
                reply = struct.pack(">BI", VERSION, self.version) + \
                    string(EXPAND) + string("1")
            else:
                number = m.take(4)
                reply, body = self.answer(kind, m)
                reply = bytes([reply]) + number + body
            os.write(1, framed(reply))


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        Server(*sys.argv[1:]).run()
