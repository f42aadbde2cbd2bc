#!/usr/bin/env python3
"""leaks.py FOLDER: prints what sanitizers have reported there, and exits 1 if
they have. Of what upstream's programs leave to the end of the process only that
counts which is there many times: it grows. Other reports go."""

import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = {os.path.basename(path) for path in glob.glob(
    os.path.join(HERE, "..", "..", "openssh", "*", "*.c"))}
MANY = 100
LEAK = r"(Direct|Indirect) leak of \d+ byte\(s\) in (\d+) object"


def counts(leak, text):
    """Whether a leak is ours or grows. What hangs on another one's memory is
    no leak of its own."""
    kind, objects = leak.groups()
    return int(objects) >= MANY or kind == "Direct" and \
        not OURS.isdisjoint(re.findall(r"/([\w-]+\.c):\d+", text))


def findings(folder):
    found = []
    for path in sorted(glob.glob(f"{folder}/*")):
        with open(path, errors="replace") as f:
            blocks = f.read().split("\n\n")
        leaks = [(re.match(LEAK, b), b) for b in blocks]
        if any(leak for leak, _ in leaks):
            blocks = [b for leak, b in leaks if leak and counts(leak, b)]
        found += blocks
        if not blocks:
            os.unlink(path)
    return found


if __name__ == "__main__":
    found = findings(sys.argv[1])
    for one in found:
        print(one)
    sys.exit(found != [])
