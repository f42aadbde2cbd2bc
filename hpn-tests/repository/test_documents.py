"""The parts of documents that programs write are what these write now."""

import subprocess
import sys

import pytest

from tracked import TOP


@pytest.mark.parametrize("program", [
    "hpn-tests/results/page.py", "hpn-tests/netem/reference.py",
    "bench/tables.py", "patches/tools/table"])
def test_documents(program):
    done = subprocess.run([sys.executable, "-B", program, "--check"], cwd=TOP,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
