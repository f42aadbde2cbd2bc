#!/usr/bin/env python3
"""Between a client and sftp-server, as the subsystem: passes on a request once
the one before it was answered, and does one odd thing:

    sftp_between.py SERVER change NUMBER FILE OTHER
    sftp_between.py SERVER replace NUMBER FILE OTHER
    sftp_between.py SERVER hold

change, replace: once the NUMBERth READ was answered (0: the question for the
file's attributes; digest: that for a digest of its content), FILE has the
content of OTHER, or is OTHER.
hold: the answer to the second READ comes behind that to the fourth.
"""

import os
import struct
import subprocess
import sys

READ, STATS = 5, (7, 17)
DIGEST = b"check-file-handle"           # in its request
ENOUGH = 4                              # READs that were answered


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


def write(data):
    while data:
        data = data[os.write(1, data):]


def change(what, name, other):
    if what == "replace":
        os.rename(other, name)
        return
    with open(name, "r+b") as f, open(other, "rb") as new:
        f.write(new.read())
        f.truncate()


def main(server, what, number="0", *words):
    with subprocess.Popen([server], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, bufsize=0) as child:
        kept, reads, stats = b"", 0, 0
        while (request := message(0)) is not None:
            os.write(child.stdin.fileno(), request)
            if (reply := message(child.stdout.fileno())) is None:
                break
            reads += request[4] == READ
            stats += request[4] in STATS
            if what == "hold" and request[4] == READ and reads == 2:
                kept = reply
                continue
            if words and (request[4] == READ and str(reads) == number or
                          request[4] in STATS and stats == 1 and
                          number == "0" or
                          DIGEST in request and number == "digest"):
                change(what, *words)
                words = ()
            write(reply)
            if reads == ENOUGH:
                write(kept)
                kept = b""
        child.stdin.close()
        return child.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
