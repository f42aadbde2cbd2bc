"""tunnel.py PORT DELAY_S RATE SWING FILE: a ProxyCommand to PORT of 127.0.0.1
that takes all it gets at once, however much that is, as a web socket or an HTTP
proxy may. Each way hands it over DELAY_S later. What goes to the client passes
at RATE bytes a second, which swings by the share SWING in 4 s. Writes the most
bytes that it held for the client into FILE when it ends."""

import collections
import math
import os
import selectors
import signal
import socket
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


def main():
    port, delay_s, rate, swing = map(float, sys.argv[1:5])
    far = socket.create_connection(("127.0.0.1", int(port)))
    far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    down = Way(far.fileno(), 1, delay_s, lambda now_s: rate * (
        1 + swing * math.sin(2 * math.pi * now_s / PERIOD_S)))
    ways = [Way(0, far.fileno(), delay_s), down]
    os.set_blocking(1, False)
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(0))
    try:
        with selectors.DefaultSelector() as ready:
            for way in ways:
                ready.register(way.source, selectors.EVENT_READ, way)
            while True:
                waits_s = [w for w in (way.send() for way in ways)
                           if w is not None]
                for key, _ in ready.select(min(waits_s, default=None)):
                    if not key.data.receive():
                        ready.unregister(key.fileobj)
    except OSError:
        pass                            # either end has gone
    finally:
        with open(sys.argv[5], "w") as f:
            f.write(f"{down.most}\n")


main()
