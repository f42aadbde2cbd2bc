"""run.py and tally.py: what several processes count is what one counts, and a
test that was skipped for no good reason fails the run."""

import importlib.util
import os
import subprocess
import sys

import pytest

from tracked import TOP

FILE = """
import pytest

@pytest.fixture
def breaks():
    yield
    raise OSError

@pytest.mark.parametrize("i", range(3))
def test_passes(i, pytestconfig):
    pytestconfig.say(f"so far: {i}")

def test_fails():
    assert 0

def test_fails_afterwards(breaks):
    pass

def test_skips():
    pytest.skip("for this reason")
"""


@pytest.fixture
def run(tmp_path):
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(FILE)
    (tmp_path / "test_c.py").write_text(
        "import pytest\npytest.skip('a file', allow_module_level=True)\n")
    env = {k: v for k, v in os.environ.items()
           if k != "REQUIRE_ALL" and not k.startswith("PYTEST_")}

    def runs(*options, **more):
        return subprocess.run(
            [sys.executable, "-B", f"{TOP}/hpn-tests/run.py", *options,
             tmp_path],
            env={**env, "LAB": "uml", **more}, capture_output=True, text=True,
            timeout=300)
    return runs


@pytest.mark.parametrize("options", [[], ["--at-once"]],
                         ids=["one", "several"])
@pytest.mark.parametrize("all_of_them, count", [
    ("0", "6 passed, 4 failed, 3 skipped"),
    ("1", "6 passed, 7 failed, 0 skipped")])
def test_all_processes_are_counted(run, options, all_of_them, count):
    done = run(*options, REQUIRE_ALL=all_of_them)
    assert done.returncode == 1
    assert done.stdout.endswith(f"\n{count}\n"), done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("[so far: 2]") == 2
    assert all_of_them == "1" or "\nskipped: 2 for this reason (which this " \
        "machine has); 1 a file (which this machine has)\n" in done.stdout
    workers = "[gw0] " in done.stdout
    assert workers == (options != [] and
                       importlib.util.find_spec("xdist") is not None)
    for name in ("test_a.py", "test_b.py"):     # each failure is told
        assert f"{name}:14: AssertionError" in done.stdout


@pytest.mark.parametrize("reason, status", [
    ("no mandoc", 0), ("could not import 'x'", 0), ("no build/debian12", 0),
    ("no build/stock: see make stock", 1), ("for this reason", 1)])
def test_bad_reason_to_skip_fails_the_run(tmp_path, run, reason, status):
    (tmp_path / "test_c.py").write_text(
        f"import pytest\n\ndef test_a():\n    pytest.skip({reason!r})\n\n"
        "def test_b():\n    pass\n")
    done = run("-k", "test_c")
    assert done.returncode == status
    assert done.stdout.endswith(
        f"\nskipped: 1 {reason}{' (which this machine has)' * status}\n"
        "1 passed, 0 failed, 1 skipped\n")
