"""A path that has a round trip time, whatever this machine's load.

    slow_path.py relay PORT DELAY_S     stdin and stdout, to that port of
                                        127.0.0.1, each way late by DELAY_S
    slow_path.py late DELAY_S COMMAND   the same, to and from a command"""

import collections
import os
import select
import socket
import subprocess
import sys
import time

CHUNK = 1 << 16


class Way:
    """One way of a relay: data that leaves when its time has come."""

    def __init__(self, source, sink, late_s):
        self.source, self.sink, self.late_s = source, sink, late_s
        self.waiting = collections.deque()
        self.ended = False

    def receive(self):
        data = os.read(self.source, CHUNK)
        self.ended = not data
        self.waiting.append((time.monotonic() + self.late_s, data))

    def send_due(self):
        """Sends what is due; the seconds to wait for more, None: for none."""
        while self.waiting:
            due_s, data = self.waiting[0]
            if (wait_s := due_s - time.monotonic()) > 0:
                return wait_s
            self.waiting.popleft()
            if not data:
                sys.exit(0)
            while data:
                data = data[os.write(self.sink, data):]
        return None


def relay(port, late_s):
    far = socket.create_connection(("127.0.0.1", port))
    far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    carry([Way(0, far.fileno(), late_s), Way(far.fileno(), 1, late_s)])


def late(late_s, command):
    far = subprocess.Popen(command, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)
    carry([Way(0, far.stdin.fileno(), late_s),
           Way(far.stdout.fileno(), 1, late_s)])


def carry(ways):
    while True:
        waits_s = [w for w in (way.send_due() for way in ways)
                   if w is not None]
        ready = select.select([w.source for w in ways if not w.ended], [], [],
                              min(waits_s, default=None))[0]
        for way in ways:
            if way.source in ready:
                way.receive()


if __name__ == "__main__":
    if sys.argv[1] == "relay":
        relay(int(sys.argv[2]), float(sys.argv[3]))
    else:
        late(float(sys.argv[2]), sys.argv[3:])
