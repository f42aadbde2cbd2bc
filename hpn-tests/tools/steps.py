"""The tools' commands. Each function is a generator of Steps, which inside.py
runs and times one after the other; what it does in between takes no part of the
time, and sees to it that what arrived is what was sent."""

import os
import random
import shutil
import subprocess
from dataclasses import dataclass

import tools
from tools import LAB

FILES = f"{LAB}/files"              # what is made once, for all ends
HERE, THERE = f"{LAB}/here", f"{LAB}/there"     # the ends' own folders
MIB = 1 << 20
SMALL = 4096                        # bytes of a small file
OBJECTS = 5000                      # of the repository: commit, tree and blob
BLOB = 16384                        # bytes


class StepError(Exception):
    pass


@dataclass
class Step:
    """One command. Round trips limit it with ours at
    both ends, unless it has one of the last two."""
    name: str
    what: str                       # what it does
    argv: list                      # run at the client
    moved: int = 0                  # bytes that it carries, if many
    # The same command with next to nothing to move: what it takes longer than
    # that is the bytes' time. Of a step that the path limits.
    idle: str = None
    own: str = None                 # how the tool limits itself


def run(argv, **kwargs):
    """Beside the clock. Its output; raises StepError if it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, **kwargs)
    if done.returncode != 0:
        raise StepError(f"{argv[:3]}: {done.stdout}{done.stderr}")
    return done.stdout


def same(one, other):
    run(["diff", "-r", one, other])


def clear(*paths):
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)
        if os.path.exists(path):
            os.unlink(path)


def data(path, size, seed=1):
    """Bytes that no tool can make smaller."""
    dice = random.Random(seed)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        for at in range(0, size, MIB):
            f.write(dice.randbytes(min(MIB, size - at)))
    return path


def once(name, make):
    """The path of what make(path) makes, unless it is there."""
    path = f"{FILES}/{name}"
    if not os.path.exists(path):
        os.makedirs(FILES, exist_ok=True)
        make(path)
    return path


def small_files(path, count, size=SMALL):
    """20 to a folder."""
    for i in range(count):
        data(f"{path}/{i // 20}/{i}", size, i)


def parts(path, mib):
    """Files of 1 MiB."""
    for i in range(mib):
        data(f"{path}/{i}", MIB, i)


def change(path, share, step):
    """Changes a share of a file, in blocks of that many bytes."""
    dice = random.Random(7)
    size = os.path.getsize(path)
    with open(path, "r+b") as f:
        for at in range(0, size - step, int(step / share)):
            f.seek(at)
            f.write(dice.randbytes(step))


def tar(job):
    source = once("parts", lambda p: parts(p, job["mib"]))
    moved = job["mib"] * MIB
    yield Step("login", "no tar, but `ssh host true`",
               ["ssh", "server", "true"])
    for way, what, pipe in (
            ("up", f"`tar c | ssh host tar x`, {job['mib']} MiB in files of 1 "
             "MiB", f"tar -C {source} -c . | ssh server tar -C {{}} -x"),
            ("down", "`ssh host tar c | tar x`, the same",
             f"ssh server tar -C {source} -c . | tar -C {{}} -x")):
        to = f"{THERE}/{way}"
        os.makedirs(to)
        yield Step(f"tar {way}", what, ["sh", "-c", pipe.format(to)], moved,
                   idle="login")
        same(source, to)
        clear(to)


def rsync(job):
    byte = once("byte", lambda p: data(p, 1))
    yield Step("byte", "one file of 1 byte, up",
               ["rsync", "-a", byte, f"server:{THERE}/byte"])
    source = once("file", lambda p: data(p, job["mib"] * MIB))
    moved = job["mib"] * MIB
    file, up, down = f"{HERE}/file", f"{THERE}/up", f"{HERE}/down"
    shutil.copy2(source, file)
    again = ["rsync", "-a", file, f"server:{up}"]
    yield Step("file up", f"one file of {job['mib']} MiB, up", again, moved,
               idle="byte")
    same(file, up)
    yield Step("file down", "the same, down",
               ["rsync", "-a", f"server:{up}", down], moved, idle="byte")
    same(file, down)
    clear(down)
    change(file, 0.01, 1 << 14)
    yield Step("file again", "the file again, 1 % changed, up", again)
    same(file, up)
    clear(file, up)
    tree, up, down = f"{HERE}/tree", f"{THERE}/tree", f"{HERE}/copy"
    small_files(tree, job["files"])
    again = ["rsync", "-a", f"{tree}/", f"server:{up}/"]
    yield Step("tree up", f"{job['files']:,} files of 4 KiB, up", again)
    same(tree, up)
    yield Step("tree down", "the same, down",
               ["rsync", "-a", f"server:{up}/", f"{down}/"])
    same(tree, down)
    for i in range(0, job["files"], 100):
        data(f"{tree}/{i // 20}/{i}", SMALL, -i)
    yield Step("tree again", "the tree again, 1 % of the files changed, up",
               again)
    same(tree, up)


def repository(path, commits, seed=1):
    """A bare one, in which each commit changes one file."""
    run(["git", "init", "-q", "--bare", "-b", "main", path])
    dice = random.Random(seed)
    with subprocess.Popen(["git", "-C", path, "fast-import", "--quiet"],
                          stdin=subprocess.PIPE) as importer:
        for i in range(commits):
            blob = dice.randbytes(BLOB)
            importer.stdin.write(
                b"commit refs/heads/main\n"
                b"committer A <a@b> %d +0000\ndata 1\nx\n"
                b"M 100644 inline f%d\ndata %d\n%s\n" %
                (1600000000 + i, i % 20, BLOB, blob))
        importer.stdin.close()
    run(["git", "-C", path, "repack", "-q", "-a", "-d"])


def objects(path):
    listed = run(["git", "-C", path, "rev-list", "--objects", "main"])
    return len(listed.splitlines())


def git(job):
    one = once("one.git", lambda p: repository(p, 1, 2))
    origin = once("origin.git", lambda p: repository(p, OBJECTS // 3))
    moved = sum(e.stat().st_size for e in os.scandir(f"{origin}/objects/pack"))
    clones = {}
    for name, source, what, much in (
            ("clone one", one, "clone of 1 commit", ()),
            ("clone", origin, "clone of 5,000 objects, "
             f"{moved // 10**6} MB", (moved, "clone one"))):
        clones[name] = f"{HERE}/{name.replace(' ', '-')}"
        yield Step(name, what, ["git", "clone", "-q", f"server:{source}",
                                clones[name]], *much)
        if objects(clones[name]) != objects(source):
            raise StepError(f"{name}: objects are missing")
    yield Step("fetch", "fetch of nothing new",
               ["git", "-C", clones["clone"], "fetch", "-q"])
    for name, source, what, much in (
            ("push one", "clone one", "push of 1 commit", ()),
            ("push", "clone", "push of the 5,000 objects",
             (moved, "push one"))):
        to = f"{THERE}/{name.replace(' ', '-')}"
        run(["git", "init", "-q", "--bare", "-b", "main", to])
        yield Step(name, what, ["git", "-C", clones[source], "push", "-q",
                                f"server:{to}", "main"], *much)
        if objects(to) != objects(clones[source]):
            raise StepError(f"{name}: objects are missing")


def sshfs(job):
    many = once("many", lambda p: small_files(p, 1000, 100))
    source = once("file", lambda p: data(p, job["mib"] * MIB))
    moved = job["mib"] * MIB
    place = f"{HERE}/mount"
    os.makedirs(place)
    mount = ["sshfs", f"server:{LAB}", place]
    there = f"{place}/{os.path.relpath(THERE, LAB)}/file"
    try:
        yield Step("mount", "mount", mount)
        yield Step("write", f"sequential write of {job['mib']} MiB",
                   ["dd", f"if={source}", f"of={there}", "bs=1M",
                    "conv=fsync", "status=none"], moved,
                   own="what the kernel writes ahead")
        same(source, f"{THERE}/file")
        run(["fusermount3", "-u", place])       # and nothing is cached
        run(["nsenter", "--net=/run/netns/client", *mount])
        yield Step("read", "sequential read of it",
                   ["dd", f"if={there}", "of=/dev/null", "bs=1M",
                    "status=none"], moved, own="what the kernel reads ahead")
        folder = f"{place}/{os.path.relpath(many, LAB)}"
        yield Step("ls", "`ls -lR` of 1,000 files",
                   ["sh", "-c", f"ls -lR {folder} > {HERE}/listing"])
        if tools.read(f"{HERE}/listing").count(b"-rw") != 1000:
            raise StepError("ls: files are missing")
    finally:
        run(["fusermount3", "-uz", place])


def borg(job):
    source = once("file", lambda p: data(p, job["mib"] * MIB))
    moved = job["mib"] * MIB
    place = f"ssh://server{THERE}/borg"
    yield Step("init", "a new repository",
               ["borg", "init", "-e", "none", place])
    yield Step("create", f"create, {job['mib']} MiB",
               ["borg", "create", "-C", "none", f"{place}::a", source], moved,
               idle="init")
    yield Step("extract", "extract",
               ["sh", "-c", f"cd {HERE} && borg extract {place}::a"], moved,
               idle="init")
    same(source, f"{HERE}{source}")


TOOLS = {f.__name__: f for f in (tar, rsync, git, sshfs, borg)}
