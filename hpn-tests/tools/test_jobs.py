"""What people do over ssh takes no longer with ours, at either end or at both;
and where stock's window was the limit, the bytes come at raw TCP's rate. Leaves
build/tools for the page."""

import json
import os

import pytest

import jobs
import running
from checked import SpecError
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


@pytest.mark.parametrize("given, error", [
    ({"tool": "rsink"}, "no tool 'rsink': did you mean 'rsync'?"),
    ({"last": "file upp"}, "no step 'file upp': did you mean 'file up'?"),
    ({"path": "1g-200ms"}, "path: '1g-200ms' is no Path"),
    ({"mb": 5}, "no field 'mb': did you mean 'mib'?"),
    ({"level": "full"}, "no level 'full'")])
def test_wrong_job(given, error):
    with pytest.raises(SpecError) as e:
        JOB.but(**given) if "mb" not in given else jobs.Job(
            **JOB.given(), **given)
    assert error in str(e.value)


@pytest.mark.parametrize("given, error", [
    ({"limit": "path"}, "step 'x': idle is for limit='path'"),
    ({"limit": "own window"}, "step 'x': why is missing"),
    ({"limit": "windows"}, "no limit 'windows': did you mean 'own window'?")])
def test_wrong_step(given, error):
    with pytest.raises(SpecError) as e:
        jobs.Step(name="x", what="it", **given)
    assert error in str(e.value)


def test_wrong_tool():
    step = jobs.Step(name="x", what="it", limit="path", idle="y")
    with pytest.raises(SpecError, match="no step 'y'"):
        jobs.Tool(name="t", packages=["t"], programs=["t"], steps=[step])


def test_absent():
    tool = jobs.TOOLS["git"].but(programs=["no-such-git"])
    assert tool.absent() == "no no-such-git: apt-get install git"
    assert jobs.TOOLS["git"].but(kernel="CONFIG_NO_SUCH").absent() or \
        not running.lab.virtual_time()


def test_the_lab_has_all_steps():
    """Each step of the table is one that steps.py yields, and no other is."""
    with open(os.path.join(running.HERE, "steps.py")) as f:
        text = f.read()
    for tool in jobs.TOOLS.values():
        assert f"\ndef {tool.name}(job):\n" in text
        for step in tool.steps:
            assert f'"{step.name}"' in text, step.name


def test_results_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "RESULTS", str(tmp_path))
    running.leave(JOB, result_of())
    with open(tmp_path / f"{JOB.name}.json") as f:
        row = json.load(f)
    assert row["rtt_ms"] == 200 and row["buffers"] == "raised"
    assert [s["name"] for s in row["steps"]] == ["byte", "file up"]
    assert row["steps"][1]["of_tcp"] == 1.0
