"""Runs a job in the lab and reads what it left."""

import json
import os
import shutil
import subprocess

import jobs
import lab

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(lab.BUILD, "tools")


def restic_repository():
    """An empty one. "restic init" looks how long its key takes it, and never
    ends where no time passes while it computes."""
    folder = os.path.join(lab.BUILD, "tools-restic")
    if not os.path.exists(folder):
        shutil.rmtree(folder + ".new", ignore_errors=True)
        subprocess.run(["restic", "-q", "-r", folder + ".new", "init"],
                       check=True, stdin=subprocess.DEVNULL,
                       env=dict(os.environ, RESTIC_PASSWORD="x"))
        os.rename(folder + ".new", folder)
    return folder


def run(job):
    """The job's result, see inside.py."""
    ends = {name: [os.path.join(lab.BUILD, tree) for tree in trees]
            for name, trees in job.ends().items()}
    more = {"repository": restic_repository()} if job.tool == "restic" else {}
    return lab.in_lab(os.path.join(HERE, "inside.py"), dict(
        lab.with_paths(job.path), tool=job.tool, mib=job.mib, files=job.files,
        ends=ends, search=jobs.SEARCH,
        last=job.wanted()[-1].name, **more),
        f"tools-{job.name}", 7200)


def of_tcp(step, result, ends):
    """Share of raw TCP's rate at which the step's bytes came: what it took
    longer than with nothing to move."""
    seconds = result["seconds"][ends]
    return result["tcp"][step.name] / (seconds[step.name] - seconds[step.idle])


def cells(job, result):
    """Of each step what was measured, rounded."""
    for step in job.wanted():
        row = {"name": step.name, "limit": step.limit, "why": step.why,
               "idle": step.idle,
               "what": step.what.format(
                   mib=job.mib, files=f"{job.files:,}",
                   pack=result["moved"][step.name] // 10**6),
               "seconds": {name: round(seconds[step.name], 2) for
                           name, seconds in result["seconds"].items()}}
        moved, tcp = result["moved"][step.name], result["tcp"].get(step.name)
        if moved:
            row.update(moved=moved, tcp=round(tcp, 2))
        if step.idle:
            row["of_tcp"] = round(of_tcp(
                step, result, list(result["seconds"])[-1]), 2)
        yield row


def lines(job, result):
    """The same, to read."""
    for end, seconds in result["seconds"].items():
        if "error" in seconds:
            yield f"{end}: {seconds['error']}"
            return
    for row in cells(job, result):
        words = [f"{n} {s:.2f}" for n, s in row["seconds"].items()]
        if "moved" in row:
            words.append(f"raw TCP {row['tcp']:.2f}")
        if "of_tcp" in row:
            words.append(f"of raw TCP {row['of_tcp']:.2f}")
        yield f"{row['name']}: " + ", ".join(words)


def leave(job, result):
    """Leaves what the page wants. What failed leaves nothing."""
    row = {"role": "tool", "tool": job.tool, "mib": job.mib,
           "rtt_ms": job.path.rtt_us / 1000, "rate_mbit": job.path.rate_mbit,
           "buffers": job.buffers}
    if "skipped" in result:
        row["skipped"] = result["skipped"]
    elif any("error" in seconds for seconds in result["seconds"].values()):
        return
    else:
        row.update(version=jobs.TOOLS[job.tool].version(),
                   steps=list(cells(job, result)))
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, f"{job.name}.json"), "w") as f:
        json.dump(row, f)
