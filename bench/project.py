"""Where the project's parts are. Importing it makes hpn-tests/harness (the lab
and the loopback) importable."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
BUILD = os.path.join(TOP, os.environ.get("BDP_BUILD", "build"))
BENCH = os.path.join(BUILD, "bench")
sys.path.append(os.path.join(TOP, "hpn-tests", "harness"))


class BenchError(Exception):
    """What the user is told in one line."""


def main(name, function, *args):
    """Runs a command; an error is a line, and exit status 1."""
    try:
        return function(*args)
    except OSError as e:
        sys.exit(f"{name}: {e.filename}: {e.strerror}" if e.filename else
                 f"{name}: {e}")
    except BenchError as e:
        sys.exit(f"{name}: {e}")
