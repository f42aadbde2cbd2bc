"""That the demo holds."""

import html
import json
import os
import subprocess
import sys

import demo
import project
import lab
from measure import WINDOW_STOCK, Transfer
from spec import transfer


def test_demo_shows_its_table_and_picture():
    """The demo's transfers, its table and its picture."""
    folder = os.path.join(lab.BUILD, "demo")
    for name in ("results.json", "window.png", "index.html"):
        if os.path.exists(os.path.join(folder, name)):
            os.unlink(os.path.join(folder, name))
    program = os.path.join(project.HERE, "demo.py")
    done = subprocess.run([sys.executable, "-B", program], cwd=lab.TOP,
                          capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    with open(os.path.join(folder, "index.html")) as f:
        page = html.unescape(f.read())
    with open(os.path.join(folder, "results.json")) as f:
        rows = {(r["job"], r["side"]): r for r in json.load(f)["rows"]
                if r["side"]}
    assert len(rows) == sum(len({**demo.CASES, **more})
                            for more in demo.MORE.values())
    for (job, side), r in rows.items():
        ends = {**demo.CASES, **demo.MORE[job]}[side]
        receiver = ends["client" if r["direction"] == "get" else "server"]
        if receiver == "stock":
            assert r["peak_window"] == WINDOW_STOCK
        else:
            assert r["peak_window"] > WINDOW_STOCK
        assert f"{job:16}{side:14}" in page
    for job in demo.JOBS:
        debian, packages, client_only = (rows[job, side]["goodput"]
                                         for side in demo.CASES)
        assert packages > 3 * debian
        assert client_only > 0.8 * debian
    assert rows["scp up", "client, 8"]["goodput"] > \
        1.5 * rows["scp up", "client only"]["goodput"]
    for side in ("packages", "ours, raised"):
        assert rows["ssh host cat", side]["share"] >= 0.95
    assert demo.LEGEND in page
    with open(os.path.join(folder, "window.png"), "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"
    assert "TCPCongestion" not in done.stdout       # nothing was lost
    # It begins with where that is, and is short
    where = os.path.relpath(folder, lab.TOP)
    assert done.stdout.startswith(f"Picture: {where}/window.png, ")
    assert done.stdout.endswith(demo.NEXT + "\n")
    assert done.stdout.rstrip("\n") in page
    lines = [line for line in done.stdout.splitlines() if line]
    assert len(lines) == 9
    for line in lines:
        if line.startswith(tuple(demo.PRINTED)):
            stock, both, _ = map(float, line.split()[-3:])
            assert both < 0.7 * stock, line


def test_hint_when_segments_are_lost(tmp_path):
    """The last look at the sender's socket tells; see ss(8)."""
    with open(tmp_path / "ss.log", "w") as f:
        for i, (sent, again) in enumerate([(1000, 0), (20000, 25)]):
            f.write(f"{i}.000 client\ncubic data_segs_out:9 retrans:0/9\n"
                    f"{i}.500 server\ncubic mss:1448 data_segs_out:{sent} "
                    f"segs_in:4 retrans:0/{again}\n")
    t = Transfer(transfer("1g-200ms"), str(tmp_path))
    assert t.lost() == 25 / 20000
    assert demo.hint([t]).startswith("0.12% of one transfer's")
    (tmp_path / "ss.log").write_text("0.5 server\ncubic data_segs_out:9\n")
    assert not demo.hint([Transfer(t.spec, str(tmp_path))])
