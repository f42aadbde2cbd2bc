"""What people do over ssh takes no longer with ours, at either end or at both;
and where stock's window was the limit, the bytes come at raw TCP's rate. Leaves
build/tools for the page. steps.py has the tools' steps."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass

import pytest

import lab
from spec import Path, link

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(lab.BUILD, "tools")
STOCK_LEAST = 0.97              # stock's seconds of ours
TCP_LEAST = 0.9                 # of raw TCP's rate
MIB = int(os.environ.get("MIB") or 256)
FILES = int(os.environ.get("FILES") or 2000)
SEARCH = "/usr/sbin:/usr/bin:/sbin:/bin"
# Whose client and server
ENDS = {"stock": ("stock", "stock"), "client": ("openssh", "stock"),
        "server": ("stock", "openssh"), "both": ("openssh", "openssh")}
# Of each tool Debian's package, and the programs that run
TOOLS = {"tar": ("tar", "tar"), "rsync": ("rsync", "rsync"),
         "git": ("git", "git"), "sshfs": ("sshfs", "sshfs", "fusermount3"),
         "borg": ("borgbackup", "borg")}


@dataclass(frozen=True)
class Job:
    """A tool on a path."""
    level: str                  # check runs in "make check", netem doesn't
    tool: str                   # of TOOLS
    path: Path
    mib: int = MIB              # size of what is large
    files: int = FILES          # number of the small files
    last: str = None            # the last step that runs; all do if left out

    @property
    def buffers(self):
        return self.path.tcp_buffers or "raised"

    @property
    def name(self):
        words = [self.tool, f"{self.path.rtt_us // 1000}ms"]
        if self.buffers != "raised":
            words.append(self.buffers)
        if self.last:
            words.append("part")
        return "-".join(words)


def jobs():
    """Everything at 20, 100 and 200 ms; where the window is the limit, with
    the package's TCP buffers too; and a small part for make check."""
    yield Job("check", "rsync", link("1g-200ms"), 32, 100, "file up")
    for tool in TOOLS:
        for rtt in ("20ms", "100ms", "200ms"):
            yield Job("netem", tool, link(f"1g-{rtt}"))
        if tool != "sshfs":
            yield Job("netem", tool, link("1g-200ms").but(
                tcp_buffers="package"))


def absent(tool):
    """Why it can't run here, or None."""
    package, *programs = TOOLS[tool]
    for program in programs:
        if not shutil.which(program, path=SEARCH):
            return f"no {program}: apt-get install {package}"
    if tool == "sshfs" and not has_fuse():
        return "no FUSE in the lab's kernel"
    return None


def has_fuse():
    """Whether lab/kernel.config has it, or this machine's kernel is used."""
    if not lab.virtual_time():
        return os.path.exists("/dev/fuse")
    with open(os.path.join(lab.MACHINE, "kernel.config")) as f:
        return "CONFIG_FUSE_FS=y" in f.read().splitlines()


def version(tool):
    found = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Version}", TOOLS[tool][0]],
        capture_output=True, text=True)
    return found.stdout or "of unknown version"


def run(job):
    """The job's result, see inside.py."""
    ends = {name: [os.path.join(lab.BUILD, tree) for tree in trees]
            for name, trees in ENDS.items()}
    return lab.in_lab(os.path.join(HERE, "inside.py"), dict(
        lab.with_paths(job.path), tool=job.tool, mib=job.mib, files=job.files,
        ends=ends, search=SEARCH, last=job.last), f"tools-{job.name}", 7200)


def of_tcp(name, result):
    """Share of raw TCP's rate at which a step's bytes came with ours at both
    ends: what it took longer than with nothing to move."""
    seconds, idle = result["seconds"]["both"], result["steps"][name]["idle"]
    return result["tcp"][name] / (seconds[name] - seconds[idle])


def cells(result):
    """Of each step what was measured, rounded."""
    for name, step in result["steps"].items():
        row = {"name": name, "what": step["what"], "idle": step["idle"],
               "why": step["own"], "limit": "path" if step["idle"] else
               "own window" if step["own"] else "round trips",
               "seconds": {ends: round(seconds[name], 2) for
                           ends, seconds in result["seconds"].items()}}
        if step["moved"]:
            row.update(moved=step["moved"], tcp=round(result["tcp"][name], 2))
        if step["idle"]:
            row["of_tcp"] = round(of_tcp(name, result), 2)
        yield row


def leave(job, **more):
    """Leaves what the page wants."""
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, f"{job.name}.json"), "w") as f:
        json.dump({"role": "tool", "tool": job.tool, "mib": job.mib,
                   "rtt_ms": job.path.rtt_us / 1000, "buffers": job.buffers,
                   "rate_mbit": job.path.rate_mbit, **more}, f)


def faults(result):
    """What should hold and doesn't, a sentence each."""
    stock = result["seconds"]["stock"]
    for name, step in result["steps"].items():
        for ends, seconds in result["seconds"].items():
            if stock[name] < STOCK_LEAST * seconds[name]:
                yield (f"{name}, {ends}: {seconds[name]:.2f} s, stock "
                       f"{stock[name]:.2f} s")
        if step["idle"] and (share := of_tcp(name, result)) < TCP_LEAST:
            yield f"{name}: {share:.2f} of raw TCP's rate"


@pytest.mark.parametrize("job", [
    pytest.param(j, id=j.name, marks=pytest.mark.level(j.level))
    for j in jobs()])
def test_job_meets_its_limits(job):
    if why := absent(job.tool):
        if job.level != "check":
            leave(job, skipped=why)
        pytest.skip(why)
    result = run(job)
    print(json.dumps(result, indent=1))
    assert not result["errors"]
    if job.level != "check":
        leave(job, version=version(job.tool), steps=list(cells(result)))
    assert not list(faults(result))
