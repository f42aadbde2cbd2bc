#!/usr/bin/python3 -B
"""Between a client and a server, for one of several streams: the replies are
bad from the third on, in one of the ways of BAD. Or only what closes a file
fails ("close-fails"), or ends it ("close-ends"). Or it says nothing from the
second reply on ("silent"). Or the file that is named grows before each question
for attributes ("grows=FILE"). Or FILE is OTHER once the first request for a
digest was answered ("swaps=FILE=OTHER"). Or what it tells of a path stays as it
was for 2 s ("stale"). Or the first file that is opened is cut to half, and
it ends when it is asked for its attributes ("cuts"). Or each WRITE goes to the
end of its file, whatever its offset, and there is no fstatvfs ("appends"). Or
data goes slowly, and no large file is closed, until FILE has N lines with WORD,
or for a minute ("waits=FILE=WORD=N").

    bad_stream.py HOW SERVER..."""

import collections
import os
import struct
import subprocess
import sys
import threading
import time

from sftp_wire import (APPEND, CLOSE, FAILURE, FSTAT, OPEN, READ, STAT, WRITE,
                       Message, framed, message, write_all)

BAD = {
    "short": lambda head: head[:3],
    "unknown": lambda head: head[:1] + b"\xff\xff\xff\xfe" + bytes(4),
    "another": lambda head: b"\x66" + head[1:] + b"\0\0\0\1x",
    "long": lambda head: b"\x67" + head[1:] + struct.pack(
        ">I", 261_500) + bytes(261_500),
    "cut": lambda head: b"\x67" + head[1:] + b"\0\1\0\0",
    "empty": lambda head: b"",
}


class Between:
    def __init__(self, how, *server):
        self.how, *self.files = how.split("=")
        self.server = subprocess.Popen(server, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, bufsize=0)
        self.closing, self.digests = set(), set()       # ids, as bytes
        self.asked, self.told, self.cut = {}, {}, None
        self.moved = collections.Counter()      # requests, by handle
        self.late_s = time.monotonic() + 60

    def wait(self, kind, handle):
        path, word, count = self.files
        self.moved[handle] += kind != CLOSE
        end_s = self.late_s
        if kind != CLOSE or self.moved.pop(handle) < 3:
            end_s = min(end_s, time.monotonic() + 0.1)
        while time.monotonic() < end_s:
            with open(path) as f:
                if sum(word in line for line in f) >= int(count):
                    self.late_s = 0
                    break
            time.sleep(0.01)

    def feed(self):
        """Requests."""
        while request := message(0):
            if self.how == "waits" and request[0] in (READ, WRITE, CLOSE):
                self.wait(request[0], request[5:13])
            if request[0] == CLOSE and self.how == "close-ends":
                os._exit(1)
            if request[0] == CLOSE:
                self.closing.add(request[1:5])
            if b"check-file-handle" in request:
                self.digests.add(request[1:5])
            if request[0] == OPEN and self.how == "cuts" and not self.cut:
                self.cut = Message(request[5:]).string()
                os.truncate(self.cut, os.path.getsize(self.cut) // 2)
            if request[0] == STAT:
                if request[9:] == self.cut:
                    os._exit(1)
                self.asked[request[1:5]] = request[9:]
            if request[0] in (FSTAT, STAT) and self.how == "grows":
                with open(*self.files, "ab") as f:
                    f.write(b"one more line\n")
            if request[0] == OPEN and self.how == "appends":
                end = 9 + int.from_bytes(request[5:9], "big")
                request = request[:end + 3] + \
                    bytes([request[end + 3] | APPEND]) + request[end + 4:]
            write_all(self.server.stdin.fileno(), framed(request))
        self.server.stdin.close()

    def run(self):
        """Replies."""
        threading.Thread(target=self.feed, daemon=True).start()
        n = 0
        while reply := message(self.server.stdout.fileno()):
            n += 1
            if self.how == "close-fails" and reply[1:5] in self.closing:
                reply = reply[:5] + struct.pack(">I", FAILURE) + reply[9:]
            elif n > 3 and self.how in BAD:
                reply = BAD[self.how](reply[:5])
            elif self.how == "swaps" and reply[1:5] in self.digests and \
                    os.path.exists(self.files[1]):
                os.rename(*reversed(self.files))
            elif self.how == "stale" and reply[1:5] in self.asked:
                path, now = self.asked.pop(reply[1:5]), time.monotonic()
                if now > self.told.get(path, (0, 0))[0] + 2:
                    self.told[path] = now, reply
                old = self.told[path][1]
                reply = old[:1] + reply[1:5] + old[5:]
            elif self.how == "appends":
                reply = reply.replace(b"fstatvfs@", b"notthere@")
            if n == 1 or self.how != "silent":
                write_all(1, framed(reply))
        self.server.wait()


if __name__ == "__main__":
    Between(*sys.argv[1:]).run()
