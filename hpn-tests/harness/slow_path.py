"""A path that has a round trip time, whatever this machine's load. It takes all
it gets at once, however much that is, as a web socket or an HTTP proxy may, and
hands it over later, between its own input and output and PORT of 127.0.0.1 or a
command.

    slow_path.py DELAY_S PORT [RATE SWING FILE]
    slow_path.py DELAY_S [RATEB/s] COMMAND...

DELAY_S is that of each way. What goes to the output passes at RATE bytes a
second, which swings by the share SWING in 4 s. The most bytes that it held for
the output are written into FILE when it ends."""

import contextlib
import math
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

READ = 1 << 16                          # bytes
PERIOD_S = 4


class Way:
    """What waits from one descriptor to another, until either has ended."""

    def __init__(self, source, sink, delay_s, ended, rate=0, swing=0):
        self.source, self.sink, self.delay_s = source, sink, delay_s
        self.ended, self.rate, self.swing = ended, rate, swing
        self.waiting = queue.Queue()            # (due_s, data)
        self.taken = self.sent = self.most = 0
        for run in (self.take, self.send):
            threading.Thread(target=run, daemon=True).start()

    def take(self):
        free_s, data = 0, True
        while data:
            data = b""
            with contextlib.suppress(OSError):
                data = os.read(self.source, READ)
            now_s = time.monotonic()
            free_s = max(free_s, now_s)
            if self.rate:
                free_s += len(data) / self.rate / (1 + self.swing * math.sin(
                    2 * math.pi * now_s / PERIOD_S))
            self.taken += len(data)
            self.most = max(self.most, self.taken - self.sent)
            self.waiting.put((free_s + self.delay_s, data))

    def send(self):
        data = True
        with contextlib.suppress(OSError):
            while data:
                due_s, data = self.waiting.get()
                time.sleep(max(due_s - time.monotonic(), 0))
                left = data
                while left:
                    count = os.write(self.sink, left)
                    left, self.sent = left[count:], self.sent + count
        self.ended.set()


def main(delay_s, target, *more):
    delay_s, rate, ended = float(delay_s), (), threading.Event()
    if target.endswith("B/s"):
        rate, (target, *more) = (float(target[:-3]),), more
    if target.isdigit():
        far = socket.create_connection(("127.0.0.1", int(target)))
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        out = back = far.fileno()
        rate = map(float, more[:2])
    else:
        far = subprocess.Popen([target, *more], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
        out, back = far.stdin.fileno(), far.stdout.fileno()
    signal.signal(signal.SIGHUP, lambda *_: ended.set())
    Way(0, out, delay_s, ended)
    down = Way(back, 1, delay_s, ended, *rate)
    ended.wait()
    if target.isdigit() and more:
        with open(more[2], "w") as f:
            f.write(f"{down.most}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
