"""sink.py SERIES [HASH]: reads standard input to its end and writes what had
arrived by when to SERIES, a line "seconds bytes" at most every 10 ms. With
HASH, the SHA-256 of it all goes there. stop_after=N in the environment: reads
nothing more after N bytes, for good."""

import hashlib
import os
import sys
import time

INTERVAL_S = 0.010


def main():
    stop_after = int(os.environ.get("stop_after", 0))
    digest = hashlib.sha256() if len(sys.argv) > 2 else None
    received, written_s = 0, 0.0
    with open(sys.argv[1], "w", buffering=1) as series:
        while data := os.read(0, 1 << 18):
            now_s = time.monotonic()
            received += len(data)
            if digest:
                digest.update(data)
            if now_s - written_s >= INTERVAL_S:
                series.write(f"{now_s:.6f} {received}\n")
                written_s = now_s
            if stop_after and received >= stop_after:
                series.write(f"{now_s:.6f} {received}\n")
                time.sleep(1e6)
        series.write(f"{time.monotonic():.6f} {received}\n")
    if digest:
        with open(sys.argv[2], "w") as f:
            f.write(digest.hexdigest())


main()
