"""What people do over ssh takes no longer with ours, at either end or at both;
and where stock's window was the limit, the bytes come at raw TCP's rate. Leaves
build/tools for the page."""

import json
import os

import pytest

import jobs
import lab

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(lab.BUILD, "tools")
STOCK_LEAST = 0.97              # stock's seconds of ours
TCP_LEAST = 0.9                 # of raw TCP's rate


def run(job):
    """The job's result, see inside.py."""
    ends = {name: [os.path.join(lab.BUILD, tree) for tree in trees]
            for name, trees in jobs.ENDS.items()}
    return lab.in_lab(os.path.join(HERE, "inside.py"), dict(
        lab.with_paths(job.path), tool=job.tool, mib=job.mib, files=job.files,
        ends=ends, search=jobs.SEARCH, last=job.wanted()[-1].name),
        f"tools-{job.name}", 7200)


def of_tcp(step, result):
    """Share of raw TCP's rate at which the step's bytes came with ours at both
    ends: what it took longer than with nothing to move."""
    seconds = result["seconds"]["both"]
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
            row["of_tcp"] = round(of_tcp(step, result), 2)
        yield row


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


def faults(job, result):
    """What should hold and doesn't, a sentence each."""
    found = [f"{name}: {seconds['error']}" for name, seconds
             in result["seconds"].items() if "error" in seconds]
    if found:
        return found
    stock = result["seconds"]["stock"]
    for step in job.wanted():
        for name, seconds in result["seconds"].items():
            if stock[step.name] < STOCK_LEAST * seconds[step.name]:
                found.append(f"{step.name}, {name}: {seconds[step.name]:.2f} "
                             f"s, stock {stock[step.name]:.2f} s")
        if step.limit == "path":
            share = of_tcp(step, result)
            if share < TCP_LEAST:
                found.append(f"{step.name}: {share:.2f} of raw TCP's rate")
    return found


@pytest.mark.parametrize("job", [
    pytest.param(j, id=j.name, marks=pytest.mark.level(j.level))
    for j in jobs.JOBS])
def test_job_meets_its_limits(job):
    tool = jobs.TOOLS[job.tool]
    if why := tool.absent():
        if job.level != "check":
            leave(job, {"skipped": why})
        pytest.skip(why)
    result = run(job)
    if job.level != "check":
        leave(job, result)
    print(json.dumps(result, indent=1))
    assert not faults(job, result)
