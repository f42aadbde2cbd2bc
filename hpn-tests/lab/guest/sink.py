"""sink.py SERIES [READER]: reads standard input to its end and writes what had
arrived by when to SERIES, a line "seconds bytes" at most every 10 ms; at the
end its SHA-256 to SERIES.sha256.

READER is JSON, how to read:
    {"rate": N}                     N bytes a second
    {"stop_after": N}               nothing more after N bytes, for good
    {"stop_after": N, "stop_s": T}  or for so long
    {"burst": N, "every_s": T}      N bytes at once, then nothing until T
                                    seconds after the last burst
    {"stalls": [[N, T], ...]}       nothing for T seconds once N bytes came
"""

import hashlib
import json
import os
import sys
import time

INTERVAL_S = 0.010
CHUNK = 256 << 10


class Pace:
    """When to read on, by the clock and what has been read."""

    def __init__(self, reader):
        self.reader = reader
        self.start_s = None
        self.stopped = False

    def wait(self, received, series):
        now_s = time.monotonic()
        if self.start_s is None:
            self.start_s = now_s
        r = self.reader
        until_s = now_s
        if "rate" in r:
            until_s = self.start_s + received / r["rate"]
        elif "burst" in r:
            until_s = self.start_s + received // r["burst"] * r["every_s"]
        elif "stalls" in r:
            if r["stalls"] and received >= r["stalls"][0][0]:
                until_s = now_s + r["stalls"].pop(0)[1]
        elif "stop_after" in r and received >= r["stop_after"] and \
                not self.stopped:
            self.stopped = True
            series.write(f"{now_s:.6f} {received}\n")
            until_s = now_s + r.get("stop_s", 1e6)
        if until_s > now_s:
            time.sleep(until_s - now_s)


def main():
    pace = Pace(json.loads(sys.argv[2])) if len(sys.argv) > 2 else None
    digest = hashlib.sha256()
    received, written_s = 0, 0.0
    with open(sys.argv[1], "w", buffering=1) as series:
        while data := os.read(0, CHUNK):
            now_s = time.monotonic()
            received += len(data)
            digest.update(data)
            if now_s - written_s >= INTERVAL_S:
                series.write(f"{now_s:.6f} {received}\n")
                written_s = now_s
            if pace:
                pace.wait(received, series)
        series.write(f"{time.monotonic():.6f} {received}\n")
    with open(sys.argv[1] + ".sha256", "w") as f:
        f.write(digest.hexdigest())


main()
