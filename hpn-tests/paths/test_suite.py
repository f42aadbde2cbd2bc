"""The suite itself: that a row can fail, and what it leaves then; how goodput
is read."""

import json
import os
import subprocess
import sys

import pytest

import lab
from measure import Missing, Series, Transfer
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


# How the files that a transfer leaves are read

@pytest.fixture
def left(tmp_path):
    """left(spec, FILE=TEXT, ...): a transfer that has left these files."""
    def make(spec=transfer("1g-200ms"), **files):
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        return Transfer(spec, str(tmp_path))
    return make


def test_damaged_bytes_are_found(left):
    t = left(transfer("1g-200ms", "get", 1000))
    t.result = {"exits": [0], "sha256": ["0" * 64]}
    with pytest.raises(lab.LabError, match="damaged"):
        lab.check(t)


def test_series_gives_goodput():
    s = Series("1.0 0\n2.0 1000000\n3.0 3000000\n4.0 5000000\n9.0 5000000\n")
    assert s.first_s() == 2.0
    assert s.seconds() == 2.0           # the last line has nothing new
    assert s.seconds(3000000) == 1.0
    assert s.goodput() == pytest.approx(2.0)
    assert s.goodput(1.0) == pytest.approx(2.0)
    assert s.late(16, 1.0) == pytest.approx(2.0)
    # what had been held up, and came at once, counts for the first half
    held = Series("1 1\n2 1\n3 4000000\n3.5 6000000\n4 7000000\n6 8000000\n")
    assert held.late(16, 0.5) == pytest.approx(0.8)
    assert held.late(32, 0.5) == pytest.approx(4 / 3)
    assert s.arrived(2.5) == pytest.approx(2000000)
    assert s.between(0.5, 1.0) == pytest.approx(2.0)
    with pytest.raises(Missing):
        s.at(6000000)
    with pytest.raises(Missing):
        s.goodput(2.5)


@pytest.mark.parametrize("stall_s", [0, 2])
def test_steady_part_ends_with_the_data(left, stall_s):
    """It begins when slow start is over. That files and channels are closed
    round trips later does not make it slow. A stall in the middle does."""
    segment, second = 1000, 10**7       # bytes; each second
    looks = [(t / 4, int(min(t / 4, 2 + max(0, t / 4 - 2 - stall_s), 4) *
                         second)) for t in range(1, 16 + 4 * stall_s)]
    end_s = 4 + stall_s
    looks += [(end_s + t, 4 * second) for t in (0, 0.3, 0.6, 0.9)]
    looks += [(end_s + 1.2, 4 * second + 400)]
    t = left(transfer("1g-200ms", "get", 4 * second),
             series=f"0.1 1\n{end_s} {4 * second}\n", ss_log="".join(
                 f"{t_s:.3f} server\nESTAB 0 0 a b\n\t bytes_sent:{n} "
                 f"data_segs_out:{n // segment} delivered:{n // segment}\n"
                 for t_s, n in looks))
    if stall_s:
        assert t.steady(0.4) < 0.8 * second / 1e6
    else:
        assert t.steady(0.4) == pytest.approx(second / 1e6, rel=0.01)
