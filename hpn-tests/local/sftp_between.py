#!/usr/bin/env python3
"""Between a client and sftp-server, as the subsystem: passes on a request once
the one before it was answered. Once the first request for a digest was
answered, FILE is OTHER:

    sftp_between.py SERVER FILE OTHER
"""

import os
import struct
import subprocess
import sys

DIGEST = b"check-file-handle"           # in its request


def exactly(fd, size):
    got = b""
    while len(got) < size:
        data = os.read(fd, size - len(got))
        if not data:
            return None
        got += data
    return got


def message(fd):
    """A message with its length, or None."""
    head = exactly(fd, 4)
    body = head and exactly(fd, struct.unpack(">I", head)[0])
    return head + body if body else None


def main(server, name, other):
    with subprocess.Popen([server], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, bufsize=0) as child:
        while (request := message(0)) is not None:
            os.write(child.stdin.fileno(), request)
            if (reply := message(child.stdout.fileno())) is None:
                break
            if DIGEST in request and os.path.exists(other):
                os.rename(other, name)
            while reply:
                reply = reply[os.write(1, reply):]
        child.stdin.close()
        return child.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
