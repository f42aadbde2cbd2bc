#!/usr/bin/python3 -B
"""A server for one of several streams: a good one at first, whose replies are
bad from the third on. Or only what closes a file fails ("close-fails"), or ends
it ("close-ends"). Or it says nothing from the second reply on ("silent"). Or
the file that is named grows before each question for attributes ("grows=FILE").

    bad_stream.py HOW SERVER..."""

import os
import struct
import subprocess
import sys
import threading

BAD = {
    "short": lambda head: head[:3],
    "unknown": lambda head: head[:1] + b"\xff\xff\xff\xfe" + bytes(4),
    "another": lambda head: b"\x66" + head[1:] + b"\0\0\0\1x",
    "long": lambda head: b"\x67" + head[1:] + struct.pack(
        ">I", 261_500) + bytes(261_500),
    "cut": lambda head: b"\x67" + head[1:] + b"\0\1\0\0",
    "empty": lambda head: b"",
}


CLOSE, STATS = 4, (8, 17)
FAILURE = b"\0\0\0\4"
closing = set()         # ids, as bytes


def feed(how, server):
    while head := sys.stdin.buffer.read(4):
        message = sys.stdin.buffer.read(int.from_bytes(head, "big"))
        if message[0] == CLOSE and how == "close-ends":
            os._exit(1)
        if message[0] == CLOSE:
            closing.add(message[1:5])
        if message[0] in STATS and how.startswith("grows="):
            with open(how.removeprefix("grows="), "ab") as f:
                f.write(b"one more line\n")
        server.stdin.write(head + message)
        server.stdin.flush()
    server.stdin.close()


def main(how, *server):
    server = subprocess.Popen(server, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    threading.Thread(target=feed, args=[how, server], daemon=True).start()
    n = 0
    while head := server.stdout.read(4):
        message = server.stdout.read(int.from_bytes(head, "big"))
        n += 1
        if how == "close-fails" and message[1:5] in closing:
            message = message[:5] + FAILURE + message[9:]
        elif n > 3 and how in BAD:
            message = BAD[how](message[:5])
        if n == 1 or how != "silent":
            os.write(1, struct.pack(">I", len(message)) + message)
    server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
