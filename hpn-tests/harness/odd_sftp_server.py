#!/usr/bin/env python3
"""Stands before an sftp server, and does one odd thing: for sftp -D and scp -D.

    odd_sftp_server.py LOG SERVER [FAULT [NUMBER [FILE]]]

FAULT, at the NUMBERth (3) read or write:
    write-fails     it says that one write failed, and that later ones didn't
    read-fails      one read
    ends            the file ends there for one read, not for later ones
    closes          it ends
    deaf            it answers, and takes nothing more from its socket
    wrong-id        it answers a request that nobody sent
    too-much        it sends more than was asked for; with FILE, once that, or
                    a file in it, has data
    shrinks         FILE, here or the client's, loses all but its first MiB
    rewrites        the same, and FILE has its size again before the replies to
                    further writes
    grows           FILE has another MiB
    interrupts      the client, its parent, gets a SIGINT
or always:
    short           reads return half of what was asked for
    reorders        replies to reads and writes come in pairs, the second first
    slow            reads and writes take 10 ms each
    no-limits       it doesn't know limits@openssh.com
    patient         it answers the first request once NUMBER have come, or
                    nothing has for three seconds
    end-is-once     what asks for more of a directory after its end fails
    torn-entries    all directories are endless, and names have half of their
                    attributes
    wrong-entries   names of a directory answer a request that nobody sent
    stub            a read is answered with three bytes in all
    sizeless        all files have a size of 0, and reads never end
    proc            all files have a size of 0, and a read gets 4 KiB
    close-fails     what closes a file that was written to fails
    setstat-fails   what sets the attributes of one fails
    realpath-fails  of what is not "."
    few             it allows NUMBER handles, and has no more
    refuses         it has NUMBER handles, says that it has 1000, and refuses
                    more with the status FILE, once it has truncated the file
    shares          it has NUMBER handles for all that write to LOG together
    locks           all that write to LOG open no path that one has open; those
                    refused are in LOG.refused
    stops           the client gets a SIGINT before the first reply to a MKDIR
                    or OPENDIR
    no-limit        it says that there is none: 0
    wordy           its statuses have 200 kB of text
    long-reply      it answers a write with 250 kB
    one-by-one      it takes a request once it has sent the last reply, and
                    few replies fit into the socket that nobody has read
    holds           what is read of the first file, but for its first NUMBER
                    bytes, comes once FILE (1) others are closed, or nobody
                    asks for anything
It leaves in LOG.flights the kinds of requests that came together, in LOG the
most reads or writes that waited at once, and in LOG.open the most handles that
were open at once, the most files that were incomplete, and the most files that
were open for reading while a large one was.
"""

import fcntl
import glob
import os
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import time

from sftp_wire import (ATTRS, CLOSE, DATA, EOF, EXTENDED, FAILURE, FOR_WRITING,
                       FSETSTAT, HANDLE, INIT, LSTAT, MKDIR, NAME, OPEN,
                       OPENDIR, READ, READDIR, REALPATH, REPLY, STAT, STATUS,
                       TRUNCATE, UNSUPPORTED, VERSION, WRITE, Message, framed,
                       message, read_request, string, write_all)

MIB = 1 << 20
LARGE = 16 * MIB    # bytes: more than that is copied alone


def attributes(st, size):
    return struct.pack(">IQIIIII", 1 | 2 | 4 | 8,
                       st.st_size if size is None else size, st.st_uid,
                       st.st_gid, st.st_mode, int(st.st_atime),
                       int(st.st_mtime))


class Server:
    def __init__(self, log, server, fault=None, number=3, path=None):
        self.log = log
        self.real = subprocess.Popen([server], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, bufsize=0)
        self.opened = (0, 0, 0)
        self.writing, self.large = set(), set()
        self.first, self.kept = None, []
        self.whole = 0
        self.holding = int(path or 1) if fault == "holds" else 0    # closes
        self.slow = 10 if fault == "one-by-one" else 0      # requests
        if fault == "one-by-one" and stat.S_ISSOCK(os.fstat(1).st_mode):
            with socket.socket(fileno=os.dup(1)) as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        self.fault, self.number, self.path = fault, int(number), path
        self.transfers = self.most = 0
        self.size = 0 if fault in ("sizeless", "proc") else None
        self.transfer = False           # a read or write is being answered
        self.handles, self.names, self.ended = set(), {}, set()
        self.paths = {}                 # of all handles
        self.held = None
        self.buffer = bytearray()

    # What goes in and out

    def ask(self, request):
        """The real server's reply"""
        write_all(self.real.stdin.fileno(), framed(request))
        return message(self.real.stdout.fileno())

    def reply(self, kind, number, body):
        if self.fault == "wordy" and kind == STATUS:
            body = body[:4] + string(b"x" * 200000) + string(b"")
        data = struct.pack(">IBI", len(body) + 5, kind, number) + body
        if self.fault == "reorders" and self.transfer:
            if self.held is None:
                self.held = data
                return
            data, self.held = data + self.held, None
        write_all(1, data)

    def flush(self):
        """Nothing more is coming for now: what was held back goes."""
        if self.held is not None:
            write_all(1, self.held)
            self.held = None
        if self.kept and self.fault == "rewrites":
            os.truncate(self.path, self.whole)
        for args in self.kept:
            self.reply(*args)
            self.holding = 0
        self.kept = []

    def status(self, number, code):
        self.reply(STATUS, number,
                   struct.pack(">I", code) + string(b"") + string(b""))

    def messages(self):
        """What has been sent so far, as one list."""
        if self.fault in ("one-by-one", "deaf"):
            return [Message(message(0) or sys.exit())]
        if not select.select([0], [], [], 0.5 if self.kept else 0.05)[0]:
            self.flush()
        while True:
            data = os.read(0, 1 << 20)
            if not data:
                raise SystemExit
            self.buffer += data
            if not select.select([0], [], [], 0.01)[0]:
                break
        found, at = [], 0
        while len(self.buffer) - at >= 4:
            end = at + 4 + struct.unpack_from(">I", self.buffer, at)[0]
            if len(self.buffer) < end:
                break
            found.append(Message(bytes(self.buffer[at + 4:end])))
            at = end
        del self.buffer[:at]
        return found

    # Requests

    def count(self):
        now = (len(self.names) + len(self.handles), len(self.writing),
               len(self.handles) if self.large else 0)
        most = tuple(map(max, now, self.opened))
        if most != self.opened:
            self.opened = most
            with open(self.log + ".open", "w") as f:
                f.write("%d %d %d" % most)

    def faulty(self, fault):
        return self.fault == fault and self.transfers == self.number

    def wait_for_data(self):
        end_s = time.monotonic() + 30
        while self.path and time.monotonic() < end_s and not any(
                os.path.isfile(path) and os.path.getsize(path)
                for path in [self.path, *glob.glob(f"{self.path}/*")]):
            time.sleep(0.01)

    def serve(self, m):
        if self.slow > 0:       # so that many jobs are worth it
            self.slow -= 1
            time.sleep(0.05)
        kind = m.number(">B")
        self.transfer = kind in (READ, WRITE)
        if self.fault == "stops" and kind in (MKDIR, OPENDIR):
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(0.5)
            self.fault = None
        number = m.number()
        if kind == INIT:
            self.ask(m.data)
            extensions = b"" if self.fault == "no-limits" else \
                string(b"limits@openssh.com") + string(b"1")
            if self.fault == "locks":   # else an upload has one stream
                extensions += string(b"fstatvfs@openssh.com") + string(b"2")
            self.reply(VERSION, 3, extensions)
            return
        if self.transfer:
            self.transfers += 1
            if self.fault == "slow":
                time.sleep(0.01)
            if self.faulty("shrinks") or self.faulty("rewrites"):
                self.whole = os.path.getsize(self.path)
                os.truncate(self.path, MIB)
            if self.faulty("grows"):
                with open(self.path, "ab") as f:
                    f.write(b"more" * (MIB // 4))
            if self.fault == "closes" and self.transfers == self.number:
                raise SystemExit
            if self.faulty("deaf"):
                with socket.socket(fileno=os.dup(0)) as s:
                    s.shutdown(socket.SHUT_RD)
            if self.faulty("wrong-id"):
                number += 1000000
            if self.faulty("interrupts"):
                os.kill(os.getppid(), signal.SIGINT)
        try:
            self.one(kind, number, m)
        except OSError:
            self.status(number, FAILURE)

    def share(self, path, opens):
        """Adds a path to those that all servers have open together, if it
        may, or removes it."""
        if self.fault not in ("shares", "locks"):
            return
        with open(self.log + ".shared", "ab+") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.seek(0)
            paths = f.read().split(b"\0")[:-1]
            if not opens:
                paths.remove(path)
            elif path in paths if self.fault == "locks" else \
                    len(paths) == self.number:
                with open(self.log + ".refused", "ab") as refused:
                    refused.write(path + b"\n")
                raise OSError
            else:
                paths.append(path)
            f.truncate(0)
            f.writelines(p + b"\0" for p in paths)

    def one(self, kind, number, m):
        if kind == EXTENDED:
            if m.string() != b"limits@openssh.com" or \
                    self.fault == "no-limits":
                self.status(number, UNSUPPORTED)
                return
            self.reply(REPLY, number, struct.pack(
                ">QQQQ", 262144, 261120,
                4096 if self.fault == "wordy" else 261120,
                self.number if self.fault == "few" else
                0 if self.fault == "no-limit" else 1000))
        elif kind in (STAT, LSTAT) and self.size is not None:
            reply = self.ask(m.data)
            self.reply(reply[0], number, reply[5:] if reply[0] != ATTRS else
                       reply[5:9] + struct.pack(">Q", self.size) + reply[17:])
        elif kind in (OPEN, OPENDIR):
            self.open(kind, number, m)
        elif kind == CLOSE:
            handle = m.string()
            failed = self.fault == "close-fails" and handle in self.writing
            reply = self.ask(m.data)
            if handle in self.paths:
                self.share(self.paths.pop(handle), False)
            self.writing.discard(handle)
            self.large.discard(handle)
            self.ended.discard(handle)
            if self.names.pop(handle, None) is None:
                self.handles.discard(handle)
                self.holding -= handle != self.first
                if handle != self.first and self.holding <= 0:
                    self.flush()
                elif handle == self.first:
                    self.first = b"closed"      # its number is used again
            if failed:
                raise OSError
            self.reply(reply[0], number, reply[5:])
        elif kind == READDIR:
            handle = m.string()
            path, names = self.names[handle]
            if self.fault == "torn-entries":
                self.reply(NAME, number, struct.pack(">I", 1) +
                           string(b"0") * 2 + struct.pack(">II", 1, 0))
                return
            if not names:
                once = self.fault == "end-is-once" and handle in self.ended
                self.ended.add(handle)
                self.status(number, FAILURE if once else EOF)
                return
            if self.fault == "wrong-entries":
                number += 1000000
            some = [names.pop() for _ in range(min(len(names), 10))]
            self.reply(NAME, number, struct.pack(">I", len(some)) + b"".join(
                string(n) * 2 + attributes(os.lstat(os.path.join(path, n)),
                                           self.size)
                for n in some))
        elif kind == READ:
            self.read(number, m)
        elif kind == WRITE and self.faulty("long-reply"):
            self.reply(HANDLE, number, string(b"x" * 250000))
        elif kind == WRITE and self.faulty("write-fails") or \
                kind == FSETSTAT and self.fault == "setstat-fails" or \
                kind == REALPATH and self.fault == "realpath-fails" and \
                m.string() != b".":
            raise OSError
        else:
            reply = self.ask(m.data)
            answer = reply[0], number, reply[5:]
            if kind == WRITE and self.fault == "rewrites" and self.whole:
                self.kept.append(answer)
            else:
                self.reply(*answer)

    def open(self, kind, number, m):
        path = m.string()
        flags = m.number() if kind == OPEN else 0
        full = len(self.names) + len(self.handles) >= self.number
        if self.fault == "few" and full:
            raise OSError
        self.share(path, True)
        if self.fault == "refuses" and full:
            if flags & TRUNCATE:
                open(path, "wb").close()
            self.status(number, int(self.path))
            return
        reply = self.ask(m.data)
        handle = reply[9:]
        if reply[0] == HANDLE:
            self.paths[handle] = path
        else:
            self.share(path, False)
        if reply[0] == HANDLE and kind == OPENDIR:
            self.names[handle] = (path, sorted(os.listdir(path)))
        elif reply[0] == HANDLE:
            self.handles.add(handle)
            if flags & FOR_WRITING:
                self.writing.add(handle)
            elif os.path.getsize(path) > LARGE:
                self.large.add(handle)
            self.first = self.first or handle
        self.count()
        self.reply(reply[0], number, reply[5:])

    def read(self, number, m):
        handle, offset, count = m.string(), m.number(">Q"), m.number()
        if self.fault == "short":
            count = min(count, max(count // 2, 1000))
        if self.fault == "proc":
            count = min(count, 4096)
        reply = self.ask(read_request(number, handle, offset, count))
        data = reply[9:] if reply[0] == DATA else b""
        if self.fault == "sizeless":
            data = bytes(count)
        if self.faulty("read-fails"):
            raise OSError
        if self.faulty("stub"):
            os.write(1, struct.pack(">IBH", 3, DATA, 0))
        elif self.faulty("too-much"):
            self.wait_for_data()
            self.reply(DATA, number, string(data + b"x" * 10))
        elif self.holding > 0 and handle == self.first and data and \
                offset >= self.number:
            self.kept.append((DATA, number, string(data)))
        elif data and not self.faulty("ends"):
            self.reply(DATA, number, string(data))
        else:
            self.status(number, EOF)

    def run(self, log):
        while True:
            messages = self.messages()
            while self.fault == "patient" and len(messages) < self.number \
                    and select.select([0], [], [], 3)[0]:
                messages += self.messages()
            self.number = 0 if self.fault == "patient" else self.number
            with open(log + ".flights", "a") as f:
                print(*(m.data[0] for m in messages), file=f)
            waiting = sum(m.data[0] in (READ, WRITE) for m in messages)
            if waiting > self.most:
                self.most = waiting
                with open(log, "w") as f:
                    f.write(str(self.most))
            for m in messages:
                self.serve(m)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)    # no traceback
Server(*sys.argv[1:]).run(sys.argv[1])
