"""What people do over ssh takes no longer with ours, at either end or at both;
and where stock's window was the limit, the bytes come at raw TCP's rate. Leaves
build/tools for the page."""

import os

import pytest

import jobs
import running
from spec import link

STOCK_LEAST = 0.97              # stock's seconds of ours
TCP_LEAST = 0.9                 # of raw TCP's rate


def faults(job, result):
    """What should hold and doesn't, a sentence each."""
    found = [f"{name}: {seconds['error']}" for name, seconds
             in result["seconds"].items() if "error" in seconds]
    if found:
        return found
    stock, ours = result["seconds"]["stock"], list(result["seconds"])[-1]
    for step in job.wanted():
        for name, seconds in result["seconds"].items():
            if stock[step.name] < STOCK_LEAST * seconds[step.name]:
                found.append(f"{step.name}, {name}: {seconds[step.name]:.2f} "
                             f"s, stock {stock[step.name]:.2f} s")
        if step.limit == "path":
            share = running.of_tcp(step, result, ours)
            if share < TCP_LEAST:
                found.append(f"{step.name}: {share:.2f} of raw TCP's rate")
    return found


@pytest.mark.parametrize("job", [
    pytest.param(j, id=j.name, marks=pytest.mark.level(j.level))
    for j in jobs.JOBS])
def test_tool(job):
    tool = jobs.TOOLS[job.tool]
    if why := tool.absent():
        if job.level != "check":
            running.leave(job, {"skipped": why})
        pytest.skip(why)
    result = running.run(job)
    if job.level != "check":
        running.leave(job, result)
    for line in running.lines(job, result):
        print(line)
    assert not faults(job, result)


JOB = jobs.Job(level="netem", tool="rsync", path=link("1g-200ms"), mib=10,
               files=10, last="file up")


def result_of(stock=8.0, both=3.0, **more):
    ends = {"stock": {"byte": 2.5, "file up": stock},
            "client": {"byte": 2.5, "file up": stock},
            "both": {"byte": 2.0, "file up": both, **more}}
    return {"seconds": ends, "tcp": {"file up": 1.0},
            "moved": {"byte": 0, "file up": 10 << 20}}


@pytest.mark.parametrize("result, said", [
    (result_of(), []),
    (result_of(both=3.2), ["file up: 0.83 of raw TCP's rate"]),
    (result_of(stock=2.5), ["file up, both: 3.00 s, stock 2.50 s"]),
    (result_of(error="it broke"), ["both: it broke"])])
def test_a_job_can_fail(result, said):
    assert faults(JOB, result) == said


def test_the_lab_has_all_steps():
    """Each step of the table is one that steps.py yields. What the path limits
    has a step to be held against."""
    with open(os.path.join(running.HERE, "steps.py")) as f:
        text = f.read()
    for tool in jobs.TOOLS.values():
        assert f"\ndef {tool.name}(job):\n" in text
        names = {step.name for step in tool.steps}
        for step in tool.steps:
            assert f'"{step.name}"' in text, step.name
            assert step.idle in names if step.limit == "path" else \
                step.limit in ("own window", "round trips")
