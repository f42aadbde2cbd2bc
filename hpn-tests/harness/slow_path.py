"""A path that has a round trip time, whatever this machine's load. It takes all
it gets at once, however much that is, as a web socket or an HTTP proxy may, and
hands it over later, between its own input and output and PORT of 127.0.0.1 or a
command.

    slow_path.py DELAY_S PORT [RATE SWING FILE]
    slow_path.py DELAY_S [RATEB/s] COMMAND...

DELAY_S is that of each way. What goes to the output passes at RATE bytes a
second, which swings by the share SWING in 4 s. The most bytes that it held for
the output are written into FILE when it ends."""

import collections
import contextlib
import functools
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import time

READ = 1 << 16                          # bytes
PERIOD_S = 4


class Way:
    """What waits from one descriptor to another."""

    def __init__(self, source, sink, delay_s, rate=None):
        self.source, self.sink = source, sink
        self.delay_s, self.rate = delay_s, rate
        self.waiting = collections.deque()      # (due_s, data)
        self.free_s = self.held = self.most = 0
        os.set_blocking(sink, False)

    def receive(self):
        data = os.read(self.source, READ)
        now_s = time.monotonic()
        if self.rate:
            self.free_s = max(self.free_s, now_s) + \
                len(data) / self.rate(now_s)
        self.waiting.append((max(self.free_s, now_s) + self.delay_s, data))
        self.held += len(data)
        self.most = max(self.most, self.held)
        return data

    def send(self):
        """Sends what is due. Returns the seconds to wait; None: for ever."""
        while self.waiting:
            due_s, data = self.waiting[0]
            if (wait_s := due_s - time.monotonic()) > 0:
                return wait_s
            if not data:
                sys.exit(0)
            try:
                sent = os.write(self.sink, data)
            except BlockingIOError:
                return 0.001
            self.held -= sent
            self.waiting.popleft()
            if sent < len(data):
                self.waiting.appendleft((due_s, data[sent:]))
        return None


def rate_at(mean, swing, now_s):
    """Bytes a second."""
    return mean * (1 + swing * math.sin(2 * math.pi * now_s / PERIOD_S))


def carry(ways):
    with selectors.DefaultSelector() as ready:
        for way in ways:
            ready.register(way.source, selectors.EVENT_READ, way)
        while True:
            waits_s = [w for w in (way.send() for way in ways)
                       if w is not None]
            for key, _ in ready.select(min(waits_s, default=None)):
                if not key.data.receive():
                    ready.unregister(key.fileobj)


def main(delay_s, target, *more):
    delay_s, rate, note = float(delay_s), None, None
    if target.endswith("B/s"):
        rate = functools.partial(rate_at, float(target[:-3]), 0)
        target, *more = more
    if target.isdigit():
        far = socket.create_connection(("127.0.0.1", int(target)))
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        out, back = far.fileno(), far.fileno()
        if more:
            rate = functools.partial(rate_at, *map(float, more[:2]))
            note = more[2]
    else:
        far = subprocess.Popen([target, *more], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
        out, back = far.stdin.fileno(), far.stdout.fileno()
    down = Way(back, 1, delay_s, rate)
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(0))
    try:
        with contextlib.suppress(OSError):      # either end has gone
            carry([Way(0, out, delay_s), down])
    finally:
        if note:
            with open(note, "w") as f:
                f.write(f"{down.most}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
