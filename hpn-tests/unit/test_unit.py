"""The unit tests, ours and upstream's, in upstream's framework."""

import os
import subprocess

import pytest

from loopback import OURS as OPENSSH

UNITTESTS = os.path.join(OPENSSH, "regress", "unittests")


def make(*targets):
    """make in build/openssh, with our unit tests' rules read after its own."""
    done = subprocess.run(
        ["make", "-s", "-f", "Makefile", "-f",
         os.path.join(OPENSSH, "regress", "bdp-unit.mk"),
         f"BDP_SRC={UNITTESTS}", *targets],
        cwd=OPENSSH, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def run(program, **env):
    return subprocess.run([f"./{program}"], cwd=OPENSSH, capture_output=True,
                          text=True, timeout=600, env={**os.environ, **env})


# Where the rest of the series is not there, it has no tests. Of the core alone
# a long queue takes more memory than its length: its mapping is not upstream's.
CORE = os.environ.get("UPTO") == "core"
PROGRAMS = ["core" if CORE else "test_modules", "test_chanbuf"]
CHANBUF = ["contents", "buffer", "channel"] if CORE else [None]


@pytest.mark.parametrize("program", PROGRAMS)
def test_our_unit_tests_pass(program):
    make(f"bdp-{program}")
    for only in CHANBUF if program == "test_chanbuf" else [None]:
        done = run(f"bdp-{program}",
                   **({"TEST_CHANBUF_ONLY": only} if only else {}))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "tests ok" in done.stdout


def test_upstream_unit_tests_of_sshbuf_pass():
    program = "regress/unittests/sshbuf/test_sshbuf"
    make("regress-prep", program)
    done = run(program)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.level("netem")
def test_upstream_unit_tests_pass():
    make("unit")
