"""That the demo holds."""

import json
import os
import subprocess
import sys

import lab
from measure import WINDOW_STOCK


def test_demo():
    """The demo's transfers, its table and its picture."""
    folder = os.path.join(lab.BUILD, "demo")
    for name in ("results.json", "window.png"):
        if os.path.exists(os.path.join(folder, name)):
            os.unlink(os.path.join(folder, name))
    demo = os.path.join(lab.HERE, "demo.py")
    done = subprocess.run([sys.executable, "-B", demo], cwd=lab.TOP,
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    with open(os.path.join(folder, "results.json")) as f:
        rows = {(r["job"], r["side"]): r for r in json.load(f)["rows"]
                if r["side"]}
    assert len(rows) == 6
    assert rows["ssh host cat", "ours"]["share"] >= 0.95
    for (job, side), r in rows.items():
        if side == "stock":
            assert r["peak_window"] == WINDOW_STOCK
            assert rows[job, "ours"]["goodput"] > 3 * r["goodput"]
        else:
            assert r["peak_window"] > WINDOW_STOCK
        assert f"{job:16}{side}" in done.stdout
    with open(os.path.join(folder, "window.png"), "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"
