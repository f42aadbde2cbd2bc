#!/usr/bin/python3 -B
"""Stands before an sftp server, and does one odd thing: for sftp -D and scp -D.

    [LOG=FILE] odd_sftp_server.py FAULT[=WORD]... SERVER [ARGUMENT...]

FAULT=NUMBER=FILE, at the NUMBERth (3) read or write:
    write-fails     it says that one write failed, and that later ones didn't
    read-fails      one read
    ends            the file ends there for one read, not for later ones
    closes          it ends
    deaf            it answers, and takes nothing more from its socket
    wrong-id        it answers a request nobody sent, and no later read or write
    too-much        it sends more than was asked for; with FILE, once that, or
                    a file in it, has data
    shrinks         FILE, here or the client's, loses all but its first MiB
    rewrites        the same, and FILE has its size again before the replies to
                    further writes, when the client sends no more
    grows           FILE has another MiB
    interrupts      the client, its parent, gets a SIGINT
    long-reply      it answers a write with 250 kB
    stub            a read is answered with three bytes in all
or always:
    half            reads return half of what was asked for
    reorders        replies to reads and writes come in pairs, the second first
    slow            reads and writes take 10 ms each
    no-limits       it doesn't know limits@openssh.com
    patient         it answers the first request once NUMBER have come, or
                    nothing has for three seconds
    end-is-once     what asks for more of a directory after its end fails
    torn-entries    all directories are endless, and names have half of their
                    attributes
    crowd           all directories are endless, and have 10,000 names at once
    wrong-entries   names of a directory answer a request that nobody sent
    sizeless        all files have a size of 0, and reads never end
    proc            all files have a size of 0, and a read gets 4 KiB
    close-fails     what closes a file that was written to fails
    setstat-fails   what sets the attributes of one fails
    realpath-fails  of what is not "."
    few             it allows NUMBER handles, and has no more
    fewer           it allows NUMBER handles, and has 5 once 60 were open
    refuses         it has NUMBER handles, says that it has 1000, and refuses
                    more with the status FILE, once it has truncated the file
    shares          it has NUMBER handles for all that write to LOG together,
                    and takes 10 ms to close one
    locks           all that write to LOG open no path that one has open; those
                    refused are in LOG.refused
    stops           the client gets a SIGINT before the first reply to a MKDIR
                    or OPENDIR
    old             its version of the protocol is 2
    no-limit        it says that there is none: 0
    wordy           its statuses have 200 kB of text
    one-by-one      it takes a request once it has sent the last reply, and
                    few replies fit into the socket that nobody has read
    holds           what is read of the first file, but for its first NUMBER
                    bytes, comes once FILE others are closed
or as one of several streams:
    a name in BAD   replies are bad from the fourth on
    silent          it says nothing from the second reply on
    close-ends      what closes a file ends it
    grows-often=FILE        that grows before each question for attributes
    replaces=FILE=OTHER     OTHER gets the name FILE before that is opened
    empty-data      all data is empty
    bad-data        the first READ of a file fails, and all other data is empty
    swaps=FILE=OTHER        FILE is OTHER once a digest was told
    stale           what it tells of a path stays as it was for 0.5 s
    cuts            the first file that is opened is cut to half, and it ends
                    when it is asked for its attributes
    last-bytes      of each WRITE it takes only the last byte
    appends         each WRITE goes to the end of its file, whatever its offset,
                    and there is no fstatvfs
    waits=FILE=WORD=N       data goes slowly, and no large file is closed, until
                    FILE has N lines with WORD, or for a minute
or without a server, see Names:
    entry=NAME=KIND[=VERSION], root=..., realpath=...

It leaves in LOG.flights the kinds of requests that came together, in LOG the
most reads or writes that waited at once, and in LOG.open the most handles that
were open at once, the most files that were incomplete, and the most files that
were open for reading while a large one was. Without LOG it has the server's
extensions, and leaves directories and handles to it."""

import collections
import contextlib
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

from sftp_wire import (APPEND, ATTRS, CLOSE, DATA, EOF, EXTENDED, FAILURE,
                       FOR_WRITING, FSETSTAT, FSTAT, HANDLE, INIT, LSTAT,
                       MKDIR, NAME, OK, OPEN, OPENDIR, READ, READDIR, REALPATH,
                       REPLY, STAT, STATUS, TRUNCATE, UNSUPPORTED, VERSION,
                       WRITE, Message, framed, message, string, write_all,
                       write_request)

MIB = 1 << 20
LARGE = 16 * MIB    # bytes: more than that is copied alone
LOG = os.environ.get("LOG")
MOVES = READ, WRITE
KEPT = ()           # instead of a reply
EVIL = "odd_sftp_server.evil"   # such a file nobody has, even in the root
EXPAND = b"expand-path@openssh.com"
TOP = b"/nowhere", b"/nowhere/.", b"", b"."
MODES = {"file": 0o100666, "dir": 0o40777, "link": 0o120777}
BAD = {
    "short": lambda head: head[:3],
    "unknown": lambda head: head[:1] + b"\xff\xff\xff\xfe" + bytes(4),
    "another": lambda head: b"\x66" + head[1:] + b"\0\0\0\1x",
    "long": lambda head: b"\x67" + head[1:] + string(bytes(261_500)),
    "cut": lambda head: b"\x67" + head[1:] + b"\0\1\0\0",
    "empty": lambda head: b"",
}


class Request(Message):
    def __init__(self, data):
        super().__init__(data)
        self.kind, self.id = self.number(">B"), self.number()
        self.wanted = int.from_bytes(data[-4:], "big")      # of a READ

    def reply(self, kind, body):
        return struct.pack(">BI", kind, self.id) + body

    def status(self, code):
        return self.reply(STATUS, struct.pack(">III", code, 0, 0))


def append(path, data):
    with open(path, "ab") as f:
        f.write(data)


def fail(*_):
    raise OSError


def attributes(st, size):
    return struct.pack(">IQIIIII", 1 | 2 | 4 | 8,
                       st.st_size if size is None else size, st.st_uid,
                       st.st_gid, st.st_mode, int(st.st_atime),
                       int(st.st_mtime))


def comes():
    """Whether the client has sent more. It has not if it waits for us."""
    while not select.select([0], [], [], 0.01)[0]:
        with contextlib.suppress(OSError), \
                open(f"/proc/{os.getppid()}/stat") as f:
            if f.read().rsplit(")")[-1].split()[0] in "RD":
                continue
        break
    return bool(select.select([0], [], [], 0)[0])


class Names:
    """A server that wants files outside of the target. All of its files have
    the content "EVIL!".

    "entry": each directory but those below an entry has an entry NAME (with
    backslashes as of Python) of a KIND (file, dir, link to a directory); those
    have a file EVIL. "root": the working directory is "/", and only what is
    listed first has the entry. "realpath": NAME is the answer to REALPATH and
    to what expands "~user". The protocol's VERSION is 3, or an older one, with
    which our engine takes no copies."""

    def __init__(self, how, name, kind, version=3):
        self.how, self.kind, self.version = how, kind, int(version)
        self.name = name.encode().decode("unicode_escape").encode()
        self.here = b"/" if how == "root" else b"/nowhere"
        self.listed, self.first = set(), True

    def attributes(self, kind):
        return struct.pack(">IQIII", 1 | 4 | 8, 6 if kind == "file" else 4096,
                           MODES[kind], 1, 1)

    def named(self, m, name, kind):
        return m.reply(NAME, bytes([0, 0, 0, 1]) + string(name) * 2 +
                       self.attributes(kind))

    def kind_of(self, path, follows):
        if path.endswith(EVIL.encode()):
            return "file"
        if path.rstrip(b"/") in (*TOP, b"/nowhere/dir"):
            return "dir"
        return "dir" if self.kind == "link" and follows else self.kind

    def ask(self, m):
        kind = m.kind
        if kind == INIT:
            m.id = self.version
            return m.reply(VERSION, string(EXPAND) + string("1"))
        path = m.string()
        if kind == READ:
            return m.status(EOF) if m.number(">Q") else \
                m.reply(DATA, string(b"EVIL!\n"))
        if kind == CLOSE:
            return m.status(OK)
        if kind == EXTENDED:
            if path != EXPAND:
                return m.status(UNSUPPORTED)
            path = b"/nowhere/" + m.string()
        if kind in (REALPATH, EXTENDED):
            return self.named(m, self.name if self.how == "realpath" else
                              self.here if path == b"." else path, "dir")
        if kind in (STAT, LSTAT):
            return m.reply(ATTRS, self.attributes(
                self.kind_of(path, kind == STAT)))
        if kind in (OPEN, OPENDIR):
            self.listed.discard(path)
            return m.reply(HANDLE, string(path))
        if kind == READDIR and path not in self.listed:
            self.listed.add(path)
            own = self.first if self.how == "root" else self.how == "entry" \
                and path.rstrip(b"/") in TOP
            self.first = False
            return self.named(m, self.name, self.kind) if own else \
                self.named(m, EVIL, "file")
        return m.status(EOF if kind == READDIR else FAILURE)


class Server:
    def __init__(self, how, *server):
        self.fault, *self.words = how.split("=")
        number, self.path = (*self.words, "", "")[:2]
        self.number = int(number) if number.isdigit() else 3
        self.real = None
        assert self.fault in BAD or f" {self.fault}" in __doc__, how
        if self.fault in ("entry", "root", "realpath"):
            self.ask = Names(self.fault, *self.words).ask
        else:
            self.real = subprocess.Popen(server, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, bufsize=0)
        self.opened = (0, 0, 0)
        self.writing, self.large = set(), set()
        self.first, self.kept, self.whole = None, [], 0
        self.holding = int(self.path) if self.fault == "holds" else 0  # closes
        self.slow = 10 if self.fault == "one-by-one" else 0     # requests
        if self.slow and stat.S_ISSOCK(os.fstat(1).st_mode):
            with socket.socket(fileno=os.dup(1)) as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        self.transfers = self.most = self.replies = self.granted = 0
        self.size = 0 if self.fault in ("sizeless", "proc") else None
        self.handles, self.names, self.ended = set(), {}, set()
        self.paths = {}                 # of all handles
        self.told, self.cut = {}, None
        self.moved = collections.Counter()      # requests, by handle
        self.late_s = time.monotonic() + 60

    # What goes in and out

    def ask(self, m):
        """The real server's reply"""
        write_all(self.real.stdin.fileno(), framed(m.data))
        return message(self.real.stdout.fileno()) or sys.exit()

    def reply(self, data):
        self.replies += 1
        if self.fault == "wordy" and data[0] == STATUS:
            data = data[:9] + string(b"x" * 200000) + string(b"")
        if self.fault == "appends":
            data = data.replace(b"fstatvfs@", b"notthere@")
        if self.fault in BAD and self.replies > 3:
            data = BAD[self.fault](data[:5])
        if self.fault != "silent" or self.replies == 1:
            write_all(1, framed(data))

    def flush(self):
        """What was held back goes."""
        if self.whole and self.kept:
            os.truncate(self.path, self.whole)
        for data in self.kept:
            self.reply(data)
        self.kept = []

    def messages(self):
        """What has been sent so far, as one list."""
        if self.kept and self.fault != "holds" and not comes():
            self.flush()
        found = []
        while not found or LOG and self.fault not in ("one-by-one", "deaf") \
                and comes():
            found.append(Request(message(0) or sys.exit()))
        return found

    def count(self):
        now = (len(self.names) + len(self.handles), len(self.writing),
               len(self.handles) if self.large else 0)
        most = tuple(map(max, now, self.opened))
        if most != self.opened:
            self.opened = most
            with open(LOG + ".open", "w") as f:
                f.write("%d %d %d" % most)

    def run(self):
        while True:
            messages = self.messages()
            while self.fault == "patient" and len(messages) < self.number \
                    and select.select([0], [], [], 3)[0]:
                messages += self.messages()
            self.number = 0 if self.fault == "patient" else self.number
            if LOG:
                append(LOG + ".flights", b"%s\n" % b" ".join(
                    b"%d" % m.kind for m in messages))
                waiting = sum(m.kind in MOVES for m in messages)
                if waiting > self.most:
                    self.most = waiting
                    with open(LOG, "w") as f:
                        f.write(str(self.most))
            for m in messages:
                self.serve(m)

    # Requests

    def serve(self, m):
        if self.slow > 0:       # so that many jobs are worth it
            self.slow -= 1
            time.sleep(0.05)
        self.transfers += m.kind in MOVES
        kinds, once, does = FAULTS.get(self.fault, ((), False, None))
        answer = None
        try:
            if m.kind in kinds and (not once or self.transfers == self.number):
                answer = does(self, m)
                m.at = 5
            if answer is None:
                answer = self.answer(m)
        except OSError:
            answer = m.status(FAILURE)
        if answer is not KEPT:
            self.reply(answer)

    def answer(self, m):
        if not LOG:
            return self.ask(m)
        if m.kind == INIT:
            self.ask(m)
            extensions = b"" if self.fault == "no-limits" else \
                string(b"limits@openssh.com") + string(b"1")
            if self.fault == "locks":   # else an upload has one stream
                extensions += string(b"fstatvfs@openssh.com") + string(b"2")
            return m.reply(VERSION, extensions)
        if m.kind == EXTENDED:
            if m.string() != b"limits@openssh.com" or \
                    self.fault == "no-limits":
                return m.status(UNSUPPORTED)
            return m.reply(REPLY, struct.pack(
                ">QQQQ", 262144, 261120,
                4096 if self.fault == "wordy" else 261120,
                self.number if self.fault == "few" else
                0 if self.fault == "no-limit" else 1000))
        if m.kind in (STAT, LSTAT) and self.size is not None:
            data = self.ask(m)
            return data if data[0] != ATTRS else \
                data[:9] + struct.pack(">Q", self.size) + data[17:]
        return {OPEN: self.open, OPENDIR: self.open, CLOSE: self.close,
                READDIR: self.list}.get(m.kind, self.ask)(m)

    def share(self, path, opens):
        """Adds a path to those that all servers have open together, if it
        may, or removes it."""
        if self.fault not in ("shares", "locks"):
            return
        with open(LOG + ".shared", "ab+") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.seek(0)
            paths = f.read().split(b"\0")[:-1]
            if not opens:
                paths.remove(path)
            elif path in paths if self.fault == "locks" else \
                    len(paths) == self.number:
                append(LOG + ".refused", path + b"\n")
                raise OSError
            else:
                paths.append(path)
            f.truncate(0)
            f.writelines(p + b"\0" for p in paths)

    def open(self, m):
        path = m.string()
        flags = m.number() if m.kind == OPEN else 0
        full = len(self.names) + len(self.handles) >= self.number
        if self.fault in ("few", "fewer") and full:
            raise OSError
        self.share(path, True)
        if self.fault == "refuses" and full:
            if flags & TRUNCATE:
                open(path, "wb").close()
            return m.status(int(self.path))
        data = self.ask(m)
        handle = data[9:]
        if data[0] != HANDLE:
            self.share(path, False)
            return data
        self.paths[handle] = path
        if m.kind == OPENDIR:
            self.names[handle] = (path, sorted(os.listdir(path)))
        else:
            self.handles.add(handle)
            if flags & FOR_WRITING:
                self.writing.add(handle)
            elif os.path.getsize(path) > LARGE:
                self.large.add(handle)
            self.first = self.first or handle
        self.count()
        self.granted += 1
        if self.fault == "fewer" and self.granted == 60:
            self.number = 5
        return data

    def close(self, m):
        handle = m.string()
        data = self.ask(m)
        time.sleep(0.01 * (self.fault == "shares"))
        if handle in self.paths:
            self.share(self.paths.pop(handle), False)
        for handles in (self.writing, self.large, self.ended):
            handles.discard(handle)
        if self.names.pop(handle, None) is None:
            self.handles.discard(handle)
            self.holding -= handle != self.first
            if self.holding == 0:
                self.flush()
            if handle == self.first:
                self.first = b"closed"      # its number is used again
        return data

    def list(self, m):
        handle = m.string()
        path, names = self.names[handle]
        if self.fault == "torn-entries":
            return m.reply(NAME, bytes([0, 0, 0, 1]) + string(b"0") * 2 +
                           struct.pack(">II", 1, 0))
        if self.fault == "crowd":
            return m.reply(NAME, struct.pack(">I", 10000) + b"".join(
                string(b"%d" % i) * 2 + struct.pack(">II", 4, 0o100644)
                for i in range(10000)))
        if not names:
            once = self.fault == "end-is-once" and handle in self.ended
            self.ended.add(handle)
            return m.status(FAILURE if once else EOF)
        m.id += 1000000 * (self.fault == "wrong-entries")
        some = [names.pop() for _ in range(min(len(names), 10))]
        return m.reply(NAME, struct.pack(">I", len(some)) + b"".join(
            string(n) * 2 + attributes(os.lstat(os.path.join(path, n)),
                                       self.size) for n in some))

    # What is odd

    def shrink(self, m):
        self.whole = os.path.getsize(self.path)
        os.truncate(self.path, MIB)

    def rewrite(self, m):
        if self.transfers == self.number:
            self.shrink(m)
        if self.whole and m.kind == WRITE:
            self.kept.append(self.ask(m))
            return KEPT

    def reorder(self, m):
        self.kept.insert(0, self.ask(m))
        if len(self.kept) > 1:
            self.flush()
        return KEPT

    def hold(self, m):
        handle, offset = m.string(), m.number(">Q")
        data = self.ask(m)
        if self.holding > 0 and handle == self.first and data[0] == DATA and \
                offset >= self.number:
            self.kept.append(data)
            return KEPT
        return data

    def change_id(self, m):
        if self.transfers == self.number:
            m.data = m.data[:1] + struct.pack(">I", m.id + 1000000) + m.data[5:]
        return KEPT if self.transfers > self.number else None

    def add_data(self, m):
        end_s = time.monotonic() + 30
        while self.path and time.monotonic() < end_s and not any(
                os.path.isfile(path) and os.path.getsize(path)
                for path in [self.path, *glob.glob(f"{self.path}/*")]):
            time.sleep(0.01)
        return m.reply(DATA, string(self.ask(m)[9:] + b"x" * 10))

    def read_less(self, m):
        most = 4096 if self.fault == "proc" else max(m.wanted // 2, 1000)
        m.data = m.data[:-4] + struct.pack(">I", min(m.wanted, most))

    def interrupt(self, m):
        comes()         # the client has read some replies, or sends more
        os.kill(os.getppid(), signal.SIGINT)
        if self.fault != "interrupts":
            time.sleep(0.5)
            self.fault = None

    def close_and_fail(self, m):
        fails = not LOG or m.string() in self.writing
        m.at = 5
        data = self.answer(m)
        return m.status(FAILURE) if fails else data

    def cut_first(self, m):
        path = m.string()
        if m.kind == STAT and path == self.cut:
            os._exit(1)
        if m.kind == OPEN and not self.cut:
            self.cut = path
            os.truncate(path, os.path.getsize(path) // 2)

    def swap(self, m):
        file, other = self.words
        if m.string() == b"check-file-handle":
            data = self.ask(m)
            if os.path.exists(other):
                os.rename(other, file)
            return data

    def be_stale(self, m):
        path, data, now_s = m.string(), self.ask(m), time.monotonic()
        if now_s > self.told.get(path, (0, 0))[0] + 0.5:
            self.told[path] = now_s, data
        old = self.told[path][1]
        return old[:1] + data[1:5] + old[5:]

    def open_to_append(self, m):
        m.string()
        m.data = m.data[:m.at + 3] + bytes([m.data[m.at + 3] | APPEND]) + \
            m.data[m.at + 4:]

    def write_last(self, m):
        handle, offset, data = m.string(), m.number(">Q"), m.string()
        m.data = write_request(m.id, handle, offset + len(data) - 1, data[-1:])

    def wait(self, m):
        path, word, count = self.words
        handle = m.string()
        self.moved[handle] += m.kind != CLOSE
        end_s = self.late_s
        if m.kind != CLOSE or self.moved.pop(handle) < 3:
            end_s = min(end_s, time.monotonic() + 0.1)
        while time.monotonic() < end_s:
            with open(path) as f:
                if sum(word in line for line in f) >= int(count):
                    self.late_s = 0
                    break
            time.sleep(0.01)


# For which requests, whether only at the NUMBERth read or write, and what is
# done: it may change the request, or return a reply
FAULTS = {
    "old": ([INIT], False, lambda s, m: s.ask(m)[:1] + bytes([0, 0, 0, 2])),
    "write-fails": ([WRITE], True, fail),
    "read-fails": ([READ], True, fail),
    "ends": ([READ], True, lambda _, m: m.status(EOF)),
    "closes": (MOVES, True, lambda *_: sys.exit()),
    "deaf": (MOVES, True, lambda *_: socket.socket(
        fileno=os.dup(0)).shutdown(socket.SHUT_RD)),
    "wrong-id": (MOVES, False, Server.change_id),
    "too-much": ([READ], True, Server.add_data),
    "shrinks": (MOVES, True, Server.shrink),
    "rewrites": (MOVES, False, Server.rewrite),
    "grows": (MOVES, True, lambda s, _: append(s.path, b"x" * MIB)),
    "interrupts": (MOVES, True, Server.interrupt),
    "long-reply": ([WRITE], True, lambda _, m: m.reply(
        HANDLE, string(b"x" * 250000))),
    "stub": ([READ], True, lambda *_: struct.pack(">BH", DATA, 0)),
    "half": ([READ], False, Server.read_less),
    "proc": ([READ], False, Server.read_less),
    "reorders": (MOVES, False, Server.reorder),
    "slow": (MOVES, False, lambda *_: time.sleep(0.01)),
    "sizeless": ([READ], False, lambda _, m: m.reply(
        DATA, string(bytes(m.wanted)))),
    "close-fails": ([CLOSE], False, Server.close_and_fail),
    "setstat-fails": ([FSETSTAT], False, fail),
    "realpath-fails": ([REALPATH], False, lambda _, m: None if
                       m.string() == b"." else fail()),
    "stops": ([MKDIR, OPENDIR], False, Server.interrupt),
    "holds": ([READ], False, Server.hold),
    "close-ends": ([CLOSE], False, lambda *_: os._exit(1)),
    "grows-often": ([STAT, FSTAT], False, lambda s, _: append(
        s.words[0], b"one more line\n")),
    "replaces": ([OPEN], False, lambda s, m: os.path.exists(s.words[1]) and
                 os.replace(s.words[1], s.words[0])),
    "empty-data": ([READ], False, lambda _, m: m.reply(DATA, string(b""))),
    "bad-data": ([READ], False, lambda _, m: m.reply(DATA, string(b"")) if
                 m.string() and m.number(">Q") else m.status(FAILURE)),
    "swaps": ([EXTENDED], False, Server.swap),
    "stale": ([STAT], False, Server.be_stale),
    "cuts": ([OPEN, STAT], False, Server.cut_first),
    "last-bytes": ([WRITE], False, Server.write_last),
    "appends": ([OPEN], False, Server.open_to_append),
    "waits": ([READ, WRITE, CLOSE], False, Server.wait),
}

if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)    # no traceback
    server = Server(*sys.argv[1:])
    with server.real or contextlib.nullcontext(), \
            contextlib.suppress(ConnectionError):
        server.run()
