"""run.py and tally.py: several processes count what one does."""

import importlib.util
import os
import subprocess
import sys

import pytest

import tally
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
def test_skipped_for_a_reason(tmp_path, run, reason, status):
    (tmp_path / "test_c.py").write_text(
        f"import pytest\n\ndef test_a():\n    pytest.skip({reason!r})\n\n"
        "def test_b():\n    pass\n")
    done = run("-k", "test_c")
    assert done.returncode == status
    assert done.stdout.endswith(
        f"\nskipped: 1 {reason}{' (which this machine has)' * status}\n"
        "1 passed, 0 failed, 1 skipped\n")


def test_what_a_worker_runs():
    """What makes something in build/openssh is not done at once, nor are the
    lab's transfers by two."""
    assert tally.unit("hpn-tests/netem/test_a.py::test_x[1]") == \
        tally.unit("hpn-tests/netem/test_b.py::test_y") == \
        "hpn-tests/netem"
    assert tally.unit("hpn-tests/unit/test_fuzz.py::test_x") == \
        tally.unit("hpn-tests/unit/test_unit.py::test_x")
    assert tally.unit("hpn-tests/faults/test_disk.py::test_x[a::b]") == \
        "hpn-tests/faults/test_disk.py"
    for path in tally.IN_BUILD:
        assert os.path.exists(os.path.join(TOP, path))


FOLDERS = """
import pytest

@pytest.fixture
def breaks(tmp_path):
    yield
    raise OSError

def test_passes(tmp_path):
    (tmp_path / "file").write_text("a")

def test_fails(tmp_path):
    assert (tmp_path / "file").write_text("a") == 2

def test_fails_afterwards(tmp_path, breaks):
    (tmp_path / "file").write_text("a")

def test_has_none():
    pass
"""


def test_folders_of_tests_that_passed_go(tmp_path):
    (tmp_path / "test_a.py").write_text(FOLDERS)
    subprocess.run(
        [sys.executable, "-B", f"{TOP}/hpn-tests/run.py",
         "--basetemp", tmp_path / "base", tmp_path / "test_a.py"],
        capture_output=True, timeout=300)
    left = (tmp_path / "base").glob("*/file")
    assert {f.resolve().parent.name for f in left} == \
        {"test_fails0", "test_fails_afterwards0"}


@pytest.mark.skipif(not importlib.util.find_spec("pytest_timeout"),
                    reason="no pytest-timeout")
def test_a_test_that_hangs(run, tmp_path):
    """It fails, and says where it stood."""
    assert "\ntimeout: 2400.0s\n" in run("--at-once").stdout
    (tmp_path / "test_d.py").write_text(
        "import time\n\ndef test_hangs():\n    time.sleep(1000)\n")
    done = run("--at-once", PYTEST_TIMEOUT="2")
    assert "    time.sleep(1000)\n" in done.stdout
    assert "\n6 passed, 5 failed, 3 skipped\n" in done.stdout
