"""The suite itself: that a row can fail, and what it leaves then."""

import json
import os
import subprocess
import sys

import pytest

import lab
from measure import Transfer
from scenarios import ROWS
from spec import transfer


def run(*arguments, **env):
    env |= {k: v for k, v in os.environ.items()
            if k != "REQUIRE_ALL" and not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-B", f"{lab.TOP}/hpn-tests/run.py", *arguments],
        cwd=lab.TOP, capture_output=True, text=True, timeout=600, env=env)


@pytest.mark.parametrize("reason, every, status", [
    ("no mandoc", "0", 0), ("no build/stock: see \"make stock\"", "0", 1),
    ("no mandoc", "1", 1), ("no vfat in this kernel", "1", 0)])
def test_run_fails_if_what_could_run_is_skipped(tmp_path, reason, every,
                                                status):
    (tmp_path / "test_a.py").write_text(
        f"import pytest\n\ndef test_a():\n    pytest.skip({reason!r})\n\n"
        "def test_b():\n    pass\n")
    done = run(tmp_path, REQUIRE_ALL=every)
    assert done.returncode == status
    assert done.stdout.endswith(
        "\n1 passed, 1 failed, 0 skipped\n" if status and every == "1" else
        f"\nskipped: 1 {reason}{' (which this machine has)' * status}\n"
        "1 passed, 0 failed, 1 skipped\n"), done.stdout


def test_a_row_can_fail():
    """Stock OpenSSH is not raw TCP: the row fails and leaves all there is to
    see. A row that is to fail until some day passes only as long as it does;
    one that never was to fail says so. Without its peer a row is skipped."""
    done = run("hpn-tests/paths/test_scenarios.py", "--level", "self")
    out = done.stdout
    assert done.returncode == 1, out + done.stderr
    assert out.endswith("\n1 passed, 2 failed, 1 skipped\n"), out[-500:]
    assert "1 of the passed are known to fail until: Doomsday" in out
    assert "self-is-stock] FAILED goodput, of raw TCP: " in out
    assert "missed: goodput, of raw TCP: " in out
    assert "holds now, but is marked as failing until 'Doomsday'" in out
    assert 'skipped: 1 no build/nowhere: see "make nowhere" (which this ' \
        'machine has)\n' in out
    folder = os.path.relpath(
        os.path.join(lab.BUILD, "artifacts", "self-is-stock"), lab.TOP)
    assert f"logs, trace and picture: {folder}" in out
    folder = os.path.join(lab.TOP, folder)
    with open(os.path.join(folder, "picture.png"), "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"
    row = next(r for r in ROWS if r.name == "self-is-stock")
    raw = next(iter(row.references))
    for name in ("report.txt", "transfers.json", "self-is-stock/ssh.log",
                 *(f"{end}/{name}" for end in ("self-is-stock", raw)
                   for name in ("series", "ss.log", "result.json"))):
        assert os.path.getsize(os.path.join(folder, name)) > 0, name
    ours = os.path.join(lab.BUILD, "artifacts", "self-is-well")
    with open(os.path.join(ours, "self-is-well", "window.jsonl")) as f:
        assert json.loads(f.readline())["target"] >= 2 << 20


def test_damaged_bytes_are_found(tmp_path):
    t = Transfer(transfer("1g-200ms", "get", 1000), str(tmp_path))
    t.result = {"exits": [0], "sha256": ["0" * 64]}
    with pytest.raises(lab.LabError, match="damaged"):
        lab.check(t)
