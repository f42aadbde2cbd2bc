#!/usr/bin/python3 -B
"""In the place of ssh: an sftp server whose data comes and goes at a few MB/s,
as over a connection with small buffers. The first one says so to scp, over the
pair of openssh/quick-pair.h: it has logged in itself, through a socket, with
CopyConnections as COPY_CONNECTIONS in the environment says (1; 0 is auto), and
is held up all the time.

    slow_ssh.py SERVER MB_PER_S"""

import os
import socket
import struct
import subprocess
import sys
import threading
import time

RTT_US = 2000
TURN_S = 0.01


def say(pair):
    held = "NOT_HELD" not in os.environ
    began = time.monotonic()
    pair.sendall(b"hc" + bytes([int(os.environ.get("COPY_CONNECTIONS", 1)),
                                1]))
    try:
        while (said := pair.recv(100)) and b"w" not in said:
            pass
        while held and said:
            held_us = int((time.monotonic() - began) * 1e6)
            pair.sendall(b"u" + struct.pack(">QQ", held_us, RTT_US))
            time.sleep(0.05)
    except OSError:
        pass


def relay(source, sink, rate):
    """Until either has ended, whose end the sink sees in any case."""
    try:
        while data := os.read(source, int(rate * TURN_S)):
            view = memoryview(data)
            while view:
                view = view[os.write(sink, view):]
            time.sleep(len(data) / rate)
    except OSError:
        pass
    os.close(sink)


def main(server, rate):
    pair = os.environ.pop("SSH_QUICK_PAIR", None)
    if pair is not None:
        fd = int(pair.partition(".")[0])        # and its inode
        threading.Thread(target=say, args=[socket.socket(fileno=fd)],
                         daemon=True).start()
    child = subprocess.Popen(server.split(), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, bufsize=0)
    threading.Thread(target=relay, args=[0, child.stdin.fileno(), rate],
                     daemon=True).start()
    relay(child.stdout.fileno(), 1, rate)
    child.kill()
    sys.exit(child.wait())


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) * 1e6)
