"""What people do over ssh, as data: tools, the steps of each, and the paths.
steps.py has the commands; test_jobs.py runs them and says what must hold."""

import os
import shutil
import subprocess
from dataclasses import dataclass

import lab
from spec import Path, link

# Whose client and server
ENDS = {"stock": ("stock", "stock"), "client": ("openssh", "stock"),
        "server": ("stock", "openssh"), "both": ("openssh", "openssh")}

@dataclass(frozen=True)
class Step:
    """One command, from Enter to prompt."""
    name: str                   # as steps.py yields it
    what: str                   # what it does
    limit: str                  # path, own window or round trips: what limits
                                # it with ours at both ends
    why: str = None             # how the tool limits itself
    # The same command with next to nothing to move: what it takes longer than
    # that is the bytes' time. Of a step that the path limits.
    idle: str = None


@dataclass(frozen=True)
class Tool:
    name: str                   # the function in steps.py
    packages: list              # Debian packages
    programs: list              # found at run time
    steps: list                 # in their order
    kernel: str = None          # what the lab's kernel needs

    def absent(self):
        """Why it can't run here, or None."""
        for program in self.programs:
            if not shutil.which(program, path=SEARCH):
                return f"no {program}: apt-get install " + \
                    " ".join(self.packages)
        if self.kernel and not lab_kernel_has(self.kernel):
            return f"the lab's kernel has no {self.kernel}"
        return None

    def version(self):
        found = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Package} ${Version}, ",
             *self.packages], capture_output=True, text=True)
        return found.stdout.rstrip(", ") or "of unknown version"


@dataclass(frozen=True)
class Job:
    """A tool on a path."""
    level: str                  # check runs in "make check", netem doesn't
    tool: str                   # of TOOLS
    path: Path
    mib: int                    # size of what is large
    files: int                  # number of the small files
    last: str = None            # the last step that runs; all do if left out

    @property
    def buffers(self):
        return self.path.tcp_buffers or "raised"

    @property
    def name(self):
        words = [self.tool.replace(" ", "-"),
                 f"{self.path.rtt_us // 1000}ms"]
        if self.buffers != "raised":
            words.append(self.buffers)
        if self.last:
            words.append("part")
        return "-".join(words)

    def wanted(self):
        """The steps that run."""
        steps = TOOLS[self.tool].steps
        names = [s.name for s in steps]
        return steps[:names.index(self.last) + 1] if self.last else steps


SEARCH = "/usr/sbin:/usr/bin:/sbin:/bin"


def lab_kernel_has(option):
    """Whether lab/kernel.config has it, or this machine's kernel is used."""
    if not lab.virtual_time():
        return os.path.exists("/dev/fuse")
    with open(os.path.join(lab.MACHINE, "kernel.config")) as f:
        return f"{option}=y" in f.read().splitlines()


MIB = int(os.environ.get("MIB") or 256)
FILES = int(os.environ.get("FILES") or 2000)
TOOLS = {}


def tool(name, packages, programs, *steps, **more):
    TOOLS[name] = Tool(name=name, packages=packages.split(),
                       programs=programs.split(),
                       steps=[Step(name=n, what=what, limit=limit, **rest)
                              for n, what, limit, rest in steps], **more)


TRIPS = {}

tool("tar", "tar", "tar",
     ("login", "no tar, but `ssh host true`", "round trips", TRIPS),
     ("tar up", "`tar c | ssh host tar x`, {mib} MiB in files of 1 MiB",
      "path", {"idle": "login"}),
     ("tar down", "`ssh host tar c | tar x`, the same", "path",
      {"idle": "login"}))

tool("rsync", "rsync", "rsync",
     ("byte", "one file of 1 byte, up", "round trips", TRIPS),
     ("file up", "one file of {mib} MiB, up", "path", {"idle": "byte"}),
     ("file down", "the same, down", "path", {"idle": "byte"}),
     ("tree up", "{files} files of 4 KiB, up", "round trips", TRIPS),
     ("tree down", "the same, down", "round trips", TRIPS),
     ("file again", "the file again, 1 % changed, up", "round trips", TRIPS),
     ("tree again", "the tree again, 1 % of the files changed, up",
      "round trips", TRIPS))

tool("git", "git", "git",
     ("clone one", "clone of 1 commit", "round trips", TRIPS),
     ("clone", "clone of 5,000 objects, {pack} MB", "path",
      {"idle": "clone one"}),
     ("fetch", "fetch of nothing new", "round trips", TRIPS),
     ("push one", "push of 1 commit", "round trips", TRIPS),
     ("push", "push of the 5,000 objects", "path", {"idle": "push one"}))

tool("sshfs", "sshfs", "sshfs fusermount3",
     ("mount", "mount", "round trips", TRIPS),
     ("write", "sequential write of {mib} MiB", "own window",
      {"why": "what the kernel writes ahead"}),
     ("read", "sequential read of it", "own window",
      {"why": "what the kernel reads ahead"}),
     ("ls", "`ls -lR` of 1,000 files", "round trips", TRIPS),
     kernel="CONFIG_FUSE_FS")

tool("borg", "borgbackup", "borg",
     ("init", "a new repository", "round trips", TRIPS),
     ("create", "create, {mib} MiB", "path", {"idle": "init"}),
     ("extract", "extract", "path", {"idle": "init"}))


def jobs():
    """Everything at 20, 100 and 200 ms; where the window is the limit, with
    the package's TCP buffers too; and a small part for make check."""
    small = dict(mib=32, files=100)
    yield Job(level="check", tool="rsync", path=link("1g-200ms"),
              last="file up", **small)
    for name, t in TOOLS.items():
        large = dict(mib=MIB, files=FILES)
        for rtt in ("20ms", "100ms", "200ms"):
            yield Job(level="netem", tool=name, path=link(f"1g-{rtt}"),
                      **large)
        if any(s.limit == "path" for s in t.steps):
            yield Job(level="netem", tool=name, path=link("1g-200ms").but(
                tcp_buffers="package"), **large)


JOBS = list(jobs())
