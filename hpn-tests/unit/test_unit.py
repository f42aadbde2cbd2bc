"""The unit tests, ours and upstream's, in upstream's framework."""

import os
import subprocess

import pytest

from loopback import OURS as OPENSSH, STOCK

UNITTESTS = os.path.join(OPENSSH, "regress", "unittests")


def make(tree, *targets):
    """make in a tree, with our unit tests' rules read after its own."""
    done = subprocess.run(
        ["make", "-s", "-f", "Makefile", "-f",
         os.path.join(OPENSSH, "regress", "bdp-unit.mk"),
         f"BDP_SRC={UNITTESTS}", *targets],
        cwd=tree, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def run(tree, program, **env):
    return subprocess.run([f"./{program}"], cwd=tree, capture_output=True,
                          text=True, timeout=600, env={**os.environ, **env})


# Where the rest of the series is not there, it has no tests. Of the core alone
# a long queue takes more memory than its length: its mapping is not upstream's.
CORE = os.environ.get("UPTO") == "core"
PROGRAMS = ["core" if CORE else "test_modules", "test_chanbuf"]
CHANBUF = ["contents", "buffer", "channel"] if CORE else [None]


@pytest.mark.parametrize("program", PROGRAMS)
def test_our_unit_tests_pass(program):
    make(OPENSSH, f"bdp-{program}")
    for only in CHANBUF if program == "test_chanbuf" else [None]:
        done = run(OPENSSH, f"bdp-{program}",
                   **({"TEST_CHANBUF_ONLY": only} if only else {}))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "tests ok" in done.stdout


@pytest.mark.parametrize("only", ["memory", "channel"])
def test_stock_buffers_fail(only):
    """That the buffer tests can fail: upstream's buffers do. (Its sshbuf test
    proper would copy 64 GB.)"""
    make(STOCK, "bdp-test_chanbuf")
    done = run(STOCK, "bdp-test_chanbuf", TEST_CHANBUF_ONLY=only)
    assert done.returncode != 0
    assert "failed" in done.stdout + done.stderr


def test_upstream_unit_tests_pass():
    make(OPENSSH, "unit")
