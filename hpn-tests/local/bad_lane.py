#!/usr/bin/python3 -B
"""A server for one of several lanes: a good one at first, whose replies are bad
from the third on.

    bad_lane.py HOW SERVER..."""

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
        ">I", 100_000) + bytes(100_000),
    "cut": lambda head: b"\x67" + head[1:] + b"\0\1\0\0",
    "empty": lambda head: b"",
}


def feed(server):
    while data := os.read(0, 1 << 16):
        server.stdin.write(data)
        server.stdin.flush()
    server.stdin.close()


def main(how, *server):
    server = subprocess.Popen(server, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    threading.Thread(target=feed, args=[server], daemon=True).start()
    n = 0
    while head := server.stdout.read(4):
        message = server.stdout.read(int.from_bytes(head, "big"))
        n += 1
        if n > 3:
            message = BAD[how](message[:5])
        os.write(1, struct.pack(">I", len(message)) + message)
    server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
