"""What tests of several streams share: a folder with a source, and servers
that tell what they did."""

import contextlib
import filecmp
import functools
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from loopback import read, wait_until
from sftp_tools import (BOTH, ODD, OURS, SERVER, content,  # noqa: F401
                        digests, hears_interrupts, program, run)

MIB = 1 << 20
SIZE = 40 * MIB + 12345         # bytes; from 32 MiB on it has several
LARGE = 160 * MIB + 12345
AGAIN_MOST = 64 * MIB           # what scp -Z may send besides what is missing
SLOW = "-l400000"               # 50 MB/s, all streams together
LARGE_SLOW = "-l640000"         # 2 s for LARGE
TOOLS = pytest.mark.parametrize("tool", ["scp", "sftp"])
wait_for = functools.partial(wait_until, "the copy")


def closes_late(until):
    """Before a server or an ssh: "FILE=WORD=N" lets no copy of a large file end
    until FILE has so many lines with WORD."""
    return until and f"{ODD} waits={until}"


class Place:
    """A folder with a source, and servers that tell what they did."""

    def __init__(self, path):
        self.path = path
        self.source, self.dest = path / "source", path / "dest"
        self.server = path / "server"
        self.clients = []               # of begin()
        self.serve()

    def serve(self, first="", more="", server=SERVER, until=""):
        """A script that the first server runs before it begins, and one that
        the others run. Their logs are "log" and "others". until: see
        closes_late(); copy() asserts it."""
        self.until = until
        program(self.server, f"""
            cd {shlex.quote(str(self.path))}
            echo $$ >> pids
            if mkdir first 2>/dev/null; then {first or ":"}
                exec {closes_late(until)} {server} -e -l debug 2>> log
            fi
            {more}
            exec {server} -e -l debug 2>> others""")

    def argv(self, tool, direction, source, dest, *options, streams=4):
        """What to run, and its input."""
        for name in {"pids", "log", "others", self.until.split("=")[0]} - {""}:
            (self.path / name).write_text("")
        if (self.path / "first").exists():
            (self.path / "first").rmdir()
        own = ["-q", *options, "-D", self.server]
        if streams is not None:
            own += ["-X", f"streams={streams}"]
        if tool == "sftp":
            deep = "-r" if os.path.isdir(self.path / source) else ""
            return ([f"{OURS}/sftp", *own, "-b", "-"],
                    f"{direction} -p {deep} {source} {dest}\n")
        ends = (f"x:{source}", dest) if direction == "get" else \
            (source, f"x:{dest}")
        if os.path.isdir(self.path / source):
            own.append("-r")
        return [f"{OURS}/scp", *own, *ends], ""

    def copy(self, tool, direction, *options, source=None, dest=None, **kw):
        argv, batch = self.argv(tool, direction, source or self.source,
                                dest or self.dest, *options, **kw)
        done = run(list(map(str, argv)), self.path, input=batch)
        if self.until:
            name, word, count = self.until.split("=")
            lines = read(self.path / name).splitlines()
            assert sum(word in line for line in lines) >= int(count)
        return done

    def log(self):
        """What all servers said"""
        return read(self.path / "log") + read(self.path / "others")

    def pids(self):
        return list(map(int, (self.path / "pids").read_text().split()))

    def moved(self):
        """Bytes of content read or written, and for digests, of each handle"""
        return [sum(map(int, pair)) for pair in re.findall(
            r'close ".*" bytes read (\d+) written (\d+)', self.log())]

    def sent(self):
        """Bytes of content that went to or from the servers"""
        return sent_in(self.log())


@pytest.fixture
def place(tmp_path):
    here = Place(tmp_path)
    yield here
    for client in here.clients:
        if client.poll() is None:       # its test has failed
            client.kill()


@pytest.fixture
def large(place):
    fill(place, "file")
    made_long_ago(place.source)
    return place


def fill(place, what):
    """A source: a large file, or a tree with one."""
    if what == "tree":
        tree(place.source, 60)
    else:
        place.source.write_bytes(content(LARGE if what == "large" else SIZE))


def sent_in(log):
    """Bytes of content that the data in an sftp-server's log has"""
    return sum(map(int, re.findall(
        r"(?:sent data|write .* off \d+) len (\d+)", log)))


def tree(top, files=300, size=100_000):
    (top / "deep").mkdir(parents=True)
    for i in range(files):
        (top / ("deep" if i % 3 else "") / str(i)).write_bytes(
            content(size + i, i))
    (top / "large").write_bytes(content(SIZE))
    (top / "empty").write_bytes(b"")
    return top


def runs(pid):
    """Whether a process is there, and has not ended."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")")[-1].split()[0] not in "ZX"
    except OSError:
        return False


def looks_complete(source, dest, timed=False):
    """Whether a file has its source's size and other content. If timed, one
    that has its source's time counts, too, whatever its size: a copy with -p
    gets the time when it is complete."""
    if not os.path.exists(dest):
        return False
    there, here = os.stat(dest), os.stat(source)
    alike = there.st_size == here.st_size or \
        timed and int(there.st_mtime) == int(here.st_mtime)
    filecmp.clear_cache()       # it knows files by size and time
    return alike and not filecmp.cmp(source, dest, shallow=False)


def files_of(source, dest):
    """Name, and both paths, of each file of a tree; "" is a file's own name."""
    names = [""] if os.path.isfile(source) else [
        os.path.relpath(os.path.join(folder, name), source)
        for folder, _, found in os.walk(source) for name in found]
    return [(name, *(os.path.join(end, name) if name else str(end)
                     for end in (source, dest))) for name in names]


def pretenders(source, dest, timed=False):
    """Names of the files of a tree that look complete and aren't"""
    return [name for name, *ends in files_of(source, dest)
            if looks_complete(*ends, timed)]


def missing_of(source, dest):
    """Bytes of a file, in blocks of 1 MiB, that are not at the target"""
    if not os.path.exists(dest):
        return os.path.getsize(source)
    count = 0
    with open(source, "rb") as whole, open(dest, "rb") as there:
        while block := whole.read(MIB):
            count += len(block) * (there.read(len(block)) != block)
    return count


def missing(source, dest):
    """The same, of a file or of all that are in a tree"""
    return sum(missing_of(*ends) for _, *ends in files_of(source, dest))


def made_long_ago(top):
    """Gives all files of a tree a time that no new file has."""
    for path in [top, *(top.rglob("*") if top.is_dir() else ())]:
        os.utime(path, (1234567890, 1234567890))


def kills(usual):
    """How many a test case makes: a fourth of KILLS in the environment."""
    return -(-int(os.environ["KILLS"]) // 4) if "KILLS" in os.environ \
        else usual


ENDS = ("client", "first", "stream", "all", "^C", "hangup")


def kill(pids, how=signal.SIGKILL):
    for pid in pids:
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            pass


@contextlib.contextmanager
def stopped(pid):
    """A process that stands still, if it is there"""
    try:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def begin(place, tool, direction, *options, **kw):
    """A copy that has begun, in a process group of its own"""
    into = tool == "scp" and place.dest.is_dir()
    argv, batch = place.argv(tool, direction,
                             f"{place.source}/." if into else place.source,
                             place.dest, *options, **kw)
    client = subprocess.Popen(
        list(map(str, argv)), stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, process_group=0, preexec_fn=hears_interrupts)
    place.clients.append(client)
    client.stdin.write(batch)
    client.stdin.flush()
    return client


def cut(place, client, who):
    """Ends some of a copy's processes (of ENDS). What the client said last."""
    pids = place.pids()
    kill({"first": pids[:1], "stream": pids[1:2],
          "all": [client.pid, *pids]}.get(who, [client.pid]),
         {"^C": signal.SIGINT, "hangup": signal.SIGHUP}.get(
             who, signal.SIGKILL))
    error = client.communicate(timeout=100)[1]
    assert client.returncode >= 0 or -client.returncode in (
        signal.SIGKILL, signal.SIGPIPE, signal.SIGHUP, signal.SIGINT), error
    # One that had just begun still serves what was in its pipe.
    wait_for(lambda: not any(map(runs, place.pids())))
    return error


def killed_at_any_moment(place, direction, what, seed, most_s, *options,
                         tool="scp", usual=5, **kw):
    """Whoever is killed, and when, of the first most_s seconds: nothing looks
    complete that isn't, and scp -Z completes it. With -Z among the options,
    the copy that is killed resumes one that was killed before."""
    rnd = random.Random(
        f"{seed}{direction} {what} {os.environ.get('SEED', 1)}")
    timed = tool == "sftp" or "-p" in options
    fill(place, what)
    made_long_ago(place.source)
    hits = 0
    while hits < kills(usual):
        shutil.rmtree(place.dest, ignore_errors=True)
        place.dest.unlink(missing_ok=True)
        if "-Z" in options:
            client = begin(place, tool, direction,
                           *(o for o in options if o != "-Z"), **kw)
            time.sleep(rnd.uniform(0.05, most_s))
            cut(place, client, "client")
        client = begin(place, tool, direction, *options, **kw)
        time.sleep(rnd.uniform(0.05, most_s))
        who = rnd.choice(ENDS)
        hits += client.poll() is None
        error = cut(place, client, who)
        if client.returncode == 0:
            assert digests(place.dest) == digests(place.source), (who, error)
        # After ^C stock's sftp sets the time of what it has, too
        told = timed and (tool, who) != ("sftp", "^C")
        assert pretenders(place.source, place.dest, told) == [], (who, error)
        goes_on(place, direction, who, error, **kw)


def goes_on(place, direction, *told, **kw):
    """scp -Z completes what a copy has left, sending little. What it said"""
    count = missing(place.source, place.dest)
    again = f"{place.source}/." if place.dest.is_dir() else place.source
    status, error = place.copy("scp", direction, "-Z", source=again, **kw)
    assert status == 0, (*told, error)
    assert digests(place.dest) == digests(place.source), (*told, error)
    sent = place.sent()             # -rP shows this of all tests
    print(f"{told} missing {count} sent {sent} besides {sent - count}")
    # Without digests the last MiB is sent to be compared
    sampled = MIB * ("the server can't compare all" in error)
    assert sent <= count + AGAIN_MOST + sampled, told
    return error


def ssh_script(here, until="", further=":"):
    """An ssh. further: what a further login runs first. until: closes_late()"""
    return program(here.path("ssh"), f'''
        case " $* " in
        *" -oBatchMode=yes "*) {further} ;;
        *) late="{closes_late(until)}" ;;
        esac
        exec $late {OURS}/ssh "$@"''')


def logins(sshd):
    return read(sshd.log).count("Accepted publickey")
