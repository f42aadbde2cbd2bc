"""run.py [--at-once] PATH... [PYTEST OPTION...]: tests, by pytest. Ends
with "N passed, N failed, N skipped" alone on a line, and before it one that
says why, if any were skipped. Exits 1 if any failed, if there were none, or if
one was skipped for something else than what this machine lacks: such a reason
begins with "no".

--at-once: by several processes, each of which takes the next file (tally.py
has the exceptions), two more than there are CPUs: tests wait a lot. Each test's
line is whole; failures are told at the end, of all of them. One after the
other where pytest-xdist is missing, and where the lab is in real
time, which others would disturb. A test that hangs fails after TIMEOUT_S, and
says where, if pytest-timeout is there; PYTEST_TIMEOUT sets another time.

Where REQUIRE_ALL=1 is set, as CI does, nothing may be skipped but what this
machine's kernel lacks: what else it can't run is a failure with the same
reason. (A conftest.py at the top can't say so: configure removes all files of
that name.)"""

import importlib.util
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "harness"))      # lab.py, tally.py
WORKERS_MAX = 6
TIMEOUT_S = 2400        # the longest test takes 16 minutes on a busy machine


def at_once():
    """The options for it, if it is possible."""
    if not importlib.util.find_spec("xdist"):
        print("no pytest-xdist: one test after the other")
        return []
    import lab
    if not lab.virtual_time():
        print("the lab is in real time: one test after the other")
        return []
    return ["-n", str(min(os.cpu_count() or 1, WORKERS_MAX - 2) + 2),
            "--dist", "loadfile"]


def main():
    arguments = sys.argv[1:]
    options = ["-v", "-rs", "-p", "no:cacheprovider", "-p", "tally"]
    if "--at-once" in arguments:
        arguments.remove("--at-once")
        options += at_once()
        os.environ.setdefault("PYTEST_TIMEOUT", str(TIMEOUT_S))
    status = pytest.main(options + arguments)
    from tally import LACKS, TALLY      # which pytest has loaded
    if status == pytest.ExitCode.NO_TESTS_COLLECTED and not TALLY.reasons:
        print("no test has that in its name")
    failed = TALLY.count("failed")
    if status != 0 and failed == 0:
        failed = 1                      # pytest itself did not get through
    passed = TALLY.count("passed")
    wrong = [why for why in TALLY.reasons if not LACKS.match(why)]
    if TALLY.reasons:
        print("skipped: " + "; ".join(
            f"{count} {why}" + " (which this machine has)" * (why in wrong)
            for why, count in TALLY.reasons.most_common()))
    if TALLY.expected:
        print(f"{len(TALLY.expected)} of the passed are known to fail until: "
              f"{', '.join(sorted(set(TALLY.expected.values())))}")
    print(f"{passed} passed, {failed} failed, {TALLY.count('skipped')} "
          f"skipped", flush=True)
    return failed != 0 or passed == 0 or wrong != []


if __name__ == "__main__":
    sys.exit(main())
