"""The suite itself: that a row can fail, and what it leaves then; that a run
which was interrupted goes on; how a series is read."""

import json
import os
import subprocess
import sys

import pytest

import lab
import scenarios
from measure import WINDOW_STOCK, Missing, Series, Transfer
from spec import transfer


def run_self(*options):
    """The rows of the level "self", by a run of their own."""
    env = {k: v for k, v in os.environ.items()
           if k != "REQUIRE_ALL" and not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-B", os.path.join(lab.TOP, "hpn-tests", "run.py"),
         "hpn-tests/netem/test_scenarios.py", "--level", "self", *options],
        cwd=lab.TOP, env=env, capture_output=True, text=True, timeout=600)


def result_time(name):
    return os.stat(os.path.join(lab.LAB, name, "result.json")).st_mtime_ns


def test_a_row_can_fail():
    """Stock OpenSSH is not raw TCP: the row fails and leaves all there is to
    see. A row that is to fail until some day passes only as long as it does;
    one that never was to fail says so. Without its peer a row is skipped."""
    done = run_self()
    out = done.stdout
    assert done.returncode == 1, out + done.stderr
    assert out.endswith("\n1 passed, 2 failed, 1 skipped\n"), out[-500:]
    assert "1 of the passed are known to fail until: Doomsday" in out
    assert "self-is-stock] FAILED goodput, of raw TCP: " in out
    assert "missed: goodput, of raw TCP: " in out
    assert "holds now, but is marked as failing until 'Doomsday'" in out
    assert 'no build/nowhere: see "make nowhere"' in out
    folder = os.path.relpath(
        os.path.join(lab.BUILD, "artifacts", "self-is-stock"), lab.TOP)
    assert f"logs, trace and picture: {folder}" in out
    folder = os.path.join(lab.TOP, folder)
    with open(os.path.join(folder, "picture.png"), "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"
    raw = next(iter(self_row().references))
    for name in ("report.txt", "transfers.json", "self-is-stock/ssh.log",
                 *(f"{end}/{name}" for end in ("self-is-stock", raw)
                   for name in ("series", "ss.log", "result.json"))):
        assert os.path.getsize(os.path.join(folder, name)) > 0, name
    ours = os.path.join(lab.BUILD, "artifacts", "self-is-well")
    with open(os.path.join(ours, "self-is-well", "window.jsonl")) as f:
        assert json.loads(f.readline())["target"] >= 2 << 20


def self_row():
    return next(r for r in scenarios.ROWS if r.name == "self-is-stock")


def test_interrupted_run_is_resumed():
    """What was measured stays, unless it was with something else."""
    first = run_self("-k", "self-is-stock")
    assert "0 passed, 1 failed, 0 skipped" in first.stdout
    marker = os.path.join(lab.LAB, "unfinished-self")
    raw = next(iter(self_row().references))
    before = [result_time(n) for n in ("self-is-stock", raw)]
    open(marker, "w").close()           # as an interrupted run leaves it
    with open(os.path.join(lab.LAB, "self-is-stock", "key"), "w") as f:
        f.write("made by other programs")
    again = run_self("-k", "self-is-stock", "--resume")
    assert "0 passed, 1 failed, 0 skipped" in again.stdout
    assert not os.path.exists(marker)
    assert result_time("self-is-stock") > before[0]
    assert result_time(raw) == before[1]


# How the files that a transfer leaves are read

@pytest.fixture
def left(tmp_path):
    """left(spec, FILE=TEXT, ...): a transfer that has left these files."""
    def make(spec=transfer("1g-200ms"), **files):
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        return Transfer(spec, str(tmp_path))
    return make


def samples(*rows, **more):
    """The file of samples: (t_s, written) each."""
    return "".join(json.dumps({"t_s": t_s, "written": written, **more}) + "\n"
                   for t_s, written in rows)


def sockets(*looks, form="cubic mss:1448 cwnd:100 {}"):
    """What ss said of the server, from 2 s on."""
    return "".join(f"{i}.000 server\n{form.format(look)}\n"
                   for i, look in enumerate(looks, 2))


def test_held_up_is_room_and_nothing_to_send(left):
    """In the congestion window, before the end."""
    t = left(series="0.5 1\n9.0 1000\n", ss_log=sockets(
        "unacked:100 notsent:9999", "unacked:10 notsent:0", "unacked:99",
        "unacked:50 notsent:9999", "unacked:1", "unacked:1"))
    assert t.held_up() == [False, True, False, False]


@pytest.mark.parametrize("what, via, held", [
    ("path", None, True), ("path", "relay", False), ("process", None, False)])
def test_credit_that_the_path_holds_up_is_not_unspent(left, what, via, held):
    before, after = WINDOW_STOCK - 1000000, 8000000
    t = left(
        transfer("1g-200ms", "put", 4000000, via=via, stalls={
            "what": what, "at": [1000000], "seconds": [1]}),
        series="0.5 1\n9.0 100\n", stalls="2.0 3.0\n", sshd_log="debug2: "
        "channel 0: chanwin t_us=2000000 granted=9000000\n", samples=samples(
            (1, 1000000), (2.5, 1000000), (3.5, 1000000), (8, 4000000)))
    assert [count for _, count in t.unspent()] == \
        [before, before if held else after, after]


def test_credit_behind_a_lost_segment_is_not_unspent(left, tmp_path,
                                                     monkeypatch):
    """The sender's log tells what has come."""
    monkeypatch.setenv("LAB_OUT", str(tmp_path))
    import sampler
    monkeypatch.setattr(sampler, "out", lambda name: str(tmp_path / name))
    assert sampler.credit("client") == 0
    left(sshd_log="debug2: channel 0: rcvd adjust 98304\r\n",
         ssh_log="".join(f"debug2: channel 0: rcvd adjust {n}\r\n"
                         for n in (2097152, 1000000)) + "rcvd adjust 99")
    assert sampler.credit("server") == WINDOW_STOCK + 98304
    credit = sampler.credit("client")
    assert credit == WINDOW_STOCK + 1000000
    t = left(transfer("1g-200ms", "put", 4000000), series="0.5 1\n9.0 100\n",
             sshd_log="debug2: channel 0: chanwin t_us=1000000 "
             "granted=9000000\n", samples=samples(
                 (1, 2000000), (8, 4000000), credit=credit))
    assert [count for _, count in t.unspent()] == [credit - 2000000]


@pytest.mark.parametrize("size", [1, 0.9])
def test_segments_that_are_sent_again_do_not_count(left, size):
    t = left(ss_log=sockets(
        "data_segs_out:1 bytes_sent:22", "data_segs_out:1100 bytes_sent:"
        f"{int(1448000 * size) + 72400} bytes_retrans:72400 retrans:3/100",
        form="cubic mss:1448 rcvmss:536 {}"))
    assert t.mean_segment() == size


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
