"""What a failed scenario leaves: build/artifacts/NAME with each transfer's
logs, window trace and samples, what was measured, and a picture."""

import json
import os
import re
import shutil
import subprocess
import sys

import lab
from measure import Transfer

FOLDER = os.path.join(lab.BUILD, "artifacts")
PLOT = os.path.join(lab.HERE, "plot_window.py")


def plot_row(job, side, transfer):
    """A transfer as plot_window.py wants it."""
    first_s = transfer.series.first_s()
    return {
        "job": job, "side": side, "direction": transfer.spec.direction,
        "series": [(t - first_s, n) for t, n in transfer.series.rows],
        "window": [(w["t_us"] / 1e6 - first_s, w["target"])
                   for w in transfer.window_trace()],
    }


def side_of(spec):
    """Whose window it is, as the picture names it: the receiver's."""
    if spec.tool == "raw":
        return ""
    receiver = spec.client if spec.direction == "get" else spec.server
    return "ours" if receiver == "openssh" else "stock"


def draw(rows, size, link, results, picture):
    """Writes what is to be seen to results, and draws it."""
    with open(results, "w") as f:
        json.dump({"size": size, "link": link, "rows": rows}, f)
    return subprocess.run([sys.executable, PLOT, results, picture],
                          capture_output=True, text=True)


def save(name, text, specs):
    """specs: those of the transfers by name. Returns the folder."""
    folder = os.path.join(FOLDER, re.sub(r"[^\w.-]", "_", name))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(folder, "report.txt"), "w") as f:
        f.write(text)
    with open(os.path.join(folder, "transfers.json"), "w") as f:
        json.dump({n: s.given() for n, s in specs.items()}, f, indent=1)
    rows = []
    for transfer_name, spec in specs.items():
        source = os.path.join(lab.LAB, transfer_name)
        if not os.path.isdir(source):
            continue
        try:
            shutil.copytree(source, os.path.join(folder, transfer_name))
        except shutil.Error:
            pass                # sockets; what a lab that runs has removed
        if not os.path.exists(os.path.join(source, "lab.status")):
            continue            # it runs, or was killed
        transfer = Transfer(spec, source)
        if trace := transfer.window_trace():
            with open(os.path.join(folder, transfer_name, "window.jsonl"),
                      "w") as f:
                f.writelines(json.dumps(w) + "\n" for w in trace)
        if transfer.series.total:
            side = side_of(spec)
            rows.append(plot_row(transfer_name if side else "", side,
                                 transfer))
    if any(r["side"] for r in rows):
        done = draw(rows, spec.bytes, spec.given(),
                    os.path.join(folder, "picture.json"),
                    os.path.join(folder, "picture.png"))
        if done.returncode != 0:
            with open(os.path.join(folder, "picture.err"), "w") as f:
                f.write(done.stderr)
    return folder
