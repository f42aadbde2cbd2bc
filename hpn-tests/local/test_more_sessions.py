"""scp and sftp over several sessions of one connection: where a server's window
holds an upload up, and only there. Through a proxy, as here, they have to be
asked for (-X sessions=N, CopySessions); hpn-tests/netem/test_sessions.py has
those that come by themselves."""

import ctypes
import filecmp
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import sys
import threading
import time

import pytest

from lane_place import (LARGE, kill, kills, looks_complete, made_long_ago,
                        missing, moved_in, pretenders, sent_little, untimed)
from loopback import (OURS, PORT, STOCK, open_files,    # noqa: F401
                      place, read, wait_until)
from sftp_tools import content, digests

HERE = os.path.dirname(os.path.abspath(__file__))
SLOW = f"{sys.executable} -B {HERE}/slow_path.py"
MIB = 1 << 20
SIZE = 48 * MIB + 12345
RATE = 4e6                      # bytes/s that each server takes
LATE_S = 0.005                  # each way
TOOLS = pytest.mark.parametrize("tool", ["scp", "sftp"])
MORE = re.compile(r"\d+ more sessions, beside 1\b")


class Far:
    """A server that is slow and far, and copies to and from it."""

    def __init__(self, here):
        self.here = here
        self.source, self.dest = here.path("source"), here.path("dest")
        self.pids = here.path("pids")

    def serve(self, *options, tree=STOCK, more="", rate=RATE, server=None):
        """sshd with a script as its sftp server. Its later runs begin with
        `more`."""
        script = self.here.path("server")
        server = server or f"{tree}/sftp-server"
        with open(script, "w") as f:
            f.write(f"""#!/bin/sh
if mkdir {self.here.path("first")} 2>/dev/null; then :
else :; {more}
fi
echo $$ >> {self.pids}
{SLOW} rate {rate} | exec {server}
""")
        os.chmod(script, 0o755)
        self.sshd = self.here.sshd(tree, f"Subsystem sftp {script}", *options)
        return self

    def argv(self, tool, direction, *options, recursive=False,
             more=("-X", "sessions=10")):
        remote = f"root@127.0.0.1:{self.dest}"
        ends = [self.source, remote] if direction == "put" else \
            [f"root@127.0.0.1:{self.source}", self.dest]
        own = ["-S", f"{OURS}/ssh", "-i", self.here.path("user"),
               *self.ssh_options(), *more, *options]
        if recursive:
            own.append("-r")
        if tool == "scp":
            return [f"{OURS}/scp", "-v", *own, *ends]
        batch = self.here.path("batch")
        with open(batch, "w") as f:
            f.write(f"{direction} {'-r' if recursive else ''} {self.source} "
                    f"{self.dest}\n")
        return [f"{OURS}/sftp", "-v", "-b", batch, *own, "root@127.0.0.1"]

    def direct(self, tool, direction, *options, **kwargs):
        """argv of a copy that goes through no proxy."""
        argv = self.argv(tool, direction, *options, **kwargs)
        at = next(i for i, a in enumerate(argv)
                  if a.startswith("ProxyCommand"))
        del argv[at - 1:at + 1]
        return [argv[0], f"-P{PORT}", *argv[1:]]

    def ssh_options(self):
        return ["-F", "none", "-o", "IdentitiesOnly=yes", "-o",
                "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
                f"UserKnownHostsFile={self.here.path('known_hosts')}", "-o",
                f"ProxyCommand={SLOW} relay {PORT} {LATE_S}"]

    def copy(self, tool, direction, *options, **kwargs):
        """Copies, and the number of sessions that there were."""
        done = self.here.run(self.argv(tool, direction, *options, **kwargs))
        assert done.returncode == 0, done.stderr
        assert digests(self.source) == digests(self.dest)
        self.log = done.stderr
        return self.sessions()

    def sessions(self):
        return len(read(self.pids).split())

    def relays(self):
        """The relays that the connections go through"""
        return [pid for pid in self.here.processes()
                if "slow_path.py\0relay" in read(f"/proc/{pid}/cmdline")]

    def copying(self, run):
        """The sftp-server of the script's run number `run`, in a list, once it
        has a file of the copy open."""
        def group(pid):
            return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[2:3]

        def has_file(pid):
            return any(path.startswith(self.dest) for path in open_files(pid))

        victim = read(self.pids).split()[run]
        return [pid for pid in self.here.processes("sftp-server")
                if group(pid) == group(victim) and has_file(pid)]


@pytest.fixture
def far(place):                                         # noqa: F811
    return Far(place)


@pytest.fixture
def large(far):
    with open(far.source, "wb") as f:
        f.write(content(SIZE))
    return far


@pytest.fixture
def larger(far):
    with open(far.source, "wb") as f:
        f.write(content(LARGE))
    return far


@pytest.fixture
def tree(far):
    os.mkdir(far.source)
    for i in range(20):
        with open(f"{far.source}/{i}", "wb") as f:
            f.write(content(8 * MIB + i, i))
    return far


def shares(log):
    """Bytes that each session was sent, the largest first."""
    return sorted(map(int, re.findall(
        r"debug1: channel \d+: sent (\d+) bytes", log)), reverse=True)


@TOOLS
def test_a_large_file(large, tool):
    """It begins as one stream, and goes on over more sessions of the one
    connection."""
    assert large.serve().copy(tool, "put") > 1
    assert MORE.search(large.log)
    assert "copied in parts over" in large.log
    assert read(large.sshd.log).count("Accepted publickey") == 1


def test_auto_says_nothing(far):
    """While ssh looks at the connection, for connections=auto."""
    with open(far.source, "wb") as f:
        f.write(content(2 * MIB))
    argv = far.serve().direct("scp", "put", more=("-X", "connections=auto"))
    argv.remove("-v")
    done = far.here.run(argv)
    assert [line for line in done.stderr.splitlines()
            if not line.startswith("Warning: Permanently added")] == []
    assert (done.returncode, done.stdout) == (0, "")
    assert digests(far.source) == digests(far.dest)


@TOOLS
def test_a_tree(tree, tool):
    assert tree.serve().copy(tool, "put", recursive=True) > 1
    assert read(tree.sshd.log).count("Accepted publickey") == 1
    assert sorted(os.listdir(tree.dest)) == sorted(os.listdir(tree.source))
    assert shares(tree.log)[1] > 8 * MIB


@pytest.mark.parametrize("preserve", [(), ("-p",)])
def test_small_files(far, preserve):
    """They are complete soon, so that a session can hardly see one that is
    written."""
    os.mkdir(far.source)
    for i in range(900):
        with open(f"{far.source}/{i}", "wb") as f:
            f.write(content(100_000, i))
    number = far.serve(rate=6e6).copy("scp", "put", *preserve, recursive=True)
    assert number > 1
    assert "a lane has other files" not in far.log
    assert shares(far.log)[1] > 100_000


@TOOLS
def test_a_download_has_one(large, tool):
    """The window is ours there."""
    assert large.serve().copy(tool, "get", "-l", "200000") == 1


ONE = [(), ("-X", "sessions=1"), ("-o", "CopySessions=1"),
       ("-o", "CopySessions=10", "-X", "sessions=1")]


@pytest.mark.parametrize("more", ONE)
@TOOLS
def test_one_by_default(large, tool, more):
    """Nothing but stock's messages then."""
    assert large.serve(rate=2e7).copy(tool, "put", more=more) == 1
    assert "Requesting no-more-sessions@openssh.com" in large.log


@pytest.mark.parametrize("more,number", [
    (("-o", "CopySessions=2"), 2),
    (("-o", "CopySessions=1", "-X", "sessions=2"), 2)])
@TOOLS
def test_copy_sessions(large, tool, more, number):
    """ssh's configuration says how many, unless -X does."""
    assert large.serve().copy(tool, "put", more=more) == number
    assert "Requesting no-more-sessions@openssh.com" not in large.log


def test_auto_is_typed(large):
    """It counts, and not what ssh's configuration says. Through a proxy it
    means one."""
    assert large.serve(rate=2e7).copy(
        "scp", "put", more=("-o", "CopySessions=10",
                            "-X", "sessions=auto")) == 1
    assert "Requesting no-more-sessions@openssh.com" in large.log


@pytest.mark.parametrize("kind", ["large", "tree"])
def test_a_download_after_an_upload(request, kind):
    """In one sftp: the sessions are there, and not for downloads."""
    far = request.getfixturevalue(kind).serve()
    back = far.here.path("back")
    argv = far.argv("sftp", "put", recursive=kind == "tree")
    with open(far.here.path("batch"), "a") as f:
        f.write(f"get -r {far.dest} {back}\n")
    done = far.here.run(argv)
    assert done.returncode == 0, done.stderr
    assert far.sessions() > 1
    assert digests(far.source) == digests(back)
    received = sorted(map(int, re.findall(
        r"debug1: channel \d+: peak window .*, received (\d+) bytes",
        done.stderr)))
    assert len(received) > 1 and received[-2] < MIB < received[-1]


def test_what_others_see(large):
    """Whoever is told when a file that was written to is closed finds it
    complete."""
    libc = ctypes.CDLL(None, use_errno=True)
    folder = os.path.dirname(large.dest)
    fd = libc.inotify_init1(0)
    assert libc.inotify_add_watch(fd, folder.encode(), 0x8) > 0  # CLOSE_WRITE
    sizes = []

    def look():
        while not sizes or sizes[-1] is not None:
            events, at = os.read(fd, 65536), 0
            while at < len(events):
                length = struct.unpack_from("I", events, at + 12)[0]
                name = events[at + 16:at + 16 + length].rstrip(b"\0").decode()
                at += 16 + length
                if name == "end":
                    sizes.append(None)
                elif name == os.path.basename(large.dest):
                    sizes.append(os.path.getsize(large.dest))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        assert large.serve().copy("scp", "put") > 1
    finally:
        open(f"{folder}/end", "w").close()
        watcher.join()
        os.close(fd)
    assert sizes[:-1] and set(sizes[:-1]) == {SIZE}


@pytest.mark.parametrize("value", ["0", "11", "x"])
def test_a_bad_copy_sessions(place, value):             # noqa: F811
    done = place.run([f"{OURS}/ssh", f"-oCopySessions={value}", "-F", "none",
                      "host"])
    assert done.returncode == 255 and "CopySessions" in done.stderr


@pytest.fixture
def ask(far):
    """Runs scp or sftp with an ssh that ends at once, and returns whether it
    was given the socket."""
    wrapper, log = far.here.path("wrapper"), far.here.path("given")
    with open(wrapper, "w") as f:
        f.write(f'#!/bin/sh\necho "${{SSH_SFTP_SESSIONS-none}}" > {log}\n')
    os.chmod(wrapper, 0o755)

    def given(tool, direction, *options, more=(), **kwargs):
        argv = far.direct(tool, direction, *options, more=more, **kwargs)
        argv[argv.index("-S") + 1] = wrapper
        assert far.here.run(argv).returncode != 0
        return re.sub(r"^\d+:\d+", "socket", read(log).strip())

    return given


def test_who_may_ask(far, ask):
    """scp knows what it will copy: what is too small is no question."""
    os.mkdir(far.source)
    for name in "ab":
        with open(f"{far.source}/{name}", "wb") as f:
            f.truncate(16 * MIB)
    assert ask("scp", "put", recursive=True) == "socket:option"
    assert ask("scp", "get", recursive=True) == "none"
    assert ask("scp", "put", more=("-X", "sessions=auto"),
               recursive=True) == "socket:auto"
    assert ask("scp", "put", more=("-X", "sessions=1"),
               recursive=True) == "none"
    assert ask("scp", "put", "-O", recursive=True) == "none"
    assert ask("scp", "put", "-X", "connections=2", recursive=True) == "none"
    os.truncate(f"{far.source}/a", 16 * MIB - 1)
    assert ask("scp", "put", recursive=True) == "none"
    assert ask("scp", "put", more=("-X", "sessions=2"),
               recursive=True) == "socket"
    # Nobody knows what its user will type
    assert ask("sftp", "put", recursive=True) == "socket:option"


SEVERAL = pytest.mark.parametrize("option", ["X", "o"])
OPTIONS = {"X": "connections=", "o": "CopyConnections="}


@SEVERAL
@pytest.mark.parametrize("value", ["2", "auto"])
def test_not_with_connections(large, option, value):
    """Further connections have windows of their own: ssh is asked for no
    session, and tells the server so. With auto there may be some while nothing
    has been decided, and on loopback nothing is."""
    large.serve(rate=2e7)
    wrapper, log = large.here.path("wrapper"), large.here.path("first.log")
    with open(wrapper, "w") as f:
        # Of the first ssh: what it says, and whether it has the socket
        f.write(f"""#!/bin/sh
mkdir {wrapper}.first 2>/dev/null || exec {OURS}/ssh "$@"
echo "socket ${{SSH_SFTP_SESSIONS+is there}}" > {log}
exec {OURS}/ssh "$@" 2>> {log}
""")
    os.chmod(wrapper, 0o755)
    done = large.here.run(large.direct(
        "scp", "put", "-S", wrapper, f"-{option}", OPTIONS[option] + value))
    assert done.returncode == 0, done.stderr
    assert "more sessions, beside" not in done.stderr
    assert read(log).count("equesting no-more-sessions@openssh.com") == \
        (value == "2")
    has_socket = "socket is there\n" in read(log)
    assert has_socket == ((option, value) != ("X", "2"))


@SEVERAL
def test_auto_that_stays_at_one(large, option):
    """Through a proxy, auto has one connection, which may have sessions."""
    assert large.serve().copy("scp", "put", f"-{option}",
                              f"{OPTIONS[option]}auto") > 1
    assert read(large.sshd.log).count("Accepted publickey") == 1


def test_a_limit(large):
    assert large.serve().copy("scp", "put", "-X", "sessions=2") == 2


def test_the_rate_limit_is_for_the_sum(far):
    """-l: half as much again as one session can have"""
    size = 96 * MIB
    with open(far.source, "wb") as f:
        f.write(content(size))
    far.serve(rate=1e7)
    client = far.here.start(far.argv("scp", "put", "-l120000"),
                            stderr=open(far.here.path("err"), "w"))
    wait_until("the copy", lambda: os.path.exists(far.dest))
    began = time.monotonic()
    assert client.wait(300) == 0
    took_s = time.monotonic() - began
    assert far.sessions() > 1
    assert took_s > 0.7 * size * 8 / 120e6
    assert digests(far.source) == digests(far.dest)


@pytest.mark.parametrize("value", ["0", "11", "-1", "x", ""])
@TOOLS
def test_a_bad_number(large, tool, value):
    done = large.here.run(large.argv(tool, "put", "-X", f"sessions={value}"))
    assert done.returncode in (1, 255)
    assert f'Invalid number of sessions "{value}"' in done.stderr


@pytest.mark.parametrize("size", [1, 31 * MIB])
def test_small_files_have_one(far, size):
    with open(far.source, "wb") as f:
        f.write(content(size))
    assert far.serve(rate=3e7).copy("scp", "put") == 1


def test_a_server_of_ours_has_one(large):
    """Its window is what the path asks for, or what its owner wants."""
    assert large.serve(tree=OURS, rate=2e7).copy("scp", "put") == 1
    assert large.log.count("no-more-sessions@openssh.com") == 1


@pytest.mark.parametrize("more", [(), ("-X", "sessions=10")])
def test_nearby_has_one(large, more):
    """On a LAN, where a slow server fills its window, too. Unless the user asks
    for sessions, all that is sent is stock's."""
    large.serve(rate=2e7)
    done = large.here.run(large.direct("scp", "put", more=more))
    assert done.returncode == 0, done.stderr
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert large.sessions() == 1
    at_once = "Requesting no-more-sessions@openssh.com" in done.stderr
    assert at_once == (not more)


@pytest.mark.parametrize("what", ["most", "fails", "differs", "hangs up",
                                  "killed", "silent"])
@pytest.mark.parametrize("kind", ["large", "tree"])
def test_no_second_session(request, kind, what):
    """The copy goes on with the session that there is, and says nothing."""
    far = request.getfixturevalue(kind)
    options, more = [], {
        "fails": "exit 1", "hangs up": "exec </dev/null >/dev/null",
        "differs": f"exec {OURS}/sftp-server", "killed": "kill -9 $$",
        "silent": "exec sleep 300"
    }.get(what, "")
    if what == "most":
        options = ["MaxSessions 1"]
    argv = far.serve(*options, more=more, rate=1e7).argv(
        "scp", "put", "-q", recursive=kind == "tree")
    argv.remove("-v")
    done = far.here.run(argv)
    assert (done.returncode, done.stderr) == (0, "")
    assert digests(far.source) == digests(far.dest)


@pytest.mark.parametrize("same", [False, True])
def test_another_root(tree, same):
    """A session that sees other files gets none of a tree; and none leaves a
    trace at the target."""
    other = tree.here.path("other")
    os.makedirs(f"{other}/source")
    os.mkdir(tree.dest)
    seen = tree.here.path("seen")
    bound = tree.here.path("bound")
    with open(bound, "w") as f:
        f.write(f"#!/bin/sh\nexec unshare -m sh -c 'mount --bind "
                f"{tree.dest if same else other} {tree.dest} && "
                f"exec {STOCK}/sftp-server'\n")
    os.chmod(bound, 0o755)
    tree.serve(more=f"run={bound}", server=f"${{run:-{STOCK}/sftp-server}}")
    watch = tree.here.start(
        ["sh", "-c", f"cd {tree.dest}; while sleep 0.01; do ls -a . source; "
         "done"],
        stdout=open(seen, "w"))
    argv = tree.argv("scp", "put", recursive=True)
    argv[-1] += "/"
    done = tree.here.run(argv)
    watch.terminate()
    watch.wait()
    assert done.returncode == 0, done.stderr
    assert tree.sessions() > 1
    assert ("a lane has other files" in done.stderr) == (not same)
    assert digests(tree.source) == digests(f"{tree.dest}/source")
    assert os.listdir(f"{other}/source") == []
    assert set(read(seen).split()) == {
        ".", "..", ".:", "source", "source:", *os.listdir(tree.source)}


@pytest.mark.parametrize("kind", ["large", "tree"])
def test_few_handles(request, kind):
    """All files are copied. One file goes in one stream."""
    far = request.getfixturevalue(kind)
    far.serve(server=f"sh -c 'ulimit -n 12; exec {STOCK}/sftp-server'")
    number = far.copy("scp", "put", recursive=kind == "tree")
    assert (number > 1) == (kind == "tree")
    assert "Failure" not in far.log


@pytest.mark.parametrize("kind", ["large", "tree"])
def test_disk_full(request, kind):
    """An error, and what is left of each file is a beginning of it."""
    far = request.getfixturevalue(kind)
    here, small, left = far.here, far.here.path("small"), far.here.path("left")
    if kind == "tree":
        for name in sorted(os.listdir(far.source))[8:]:
            os.unlink(f"{far.source}/{name}")
    os.mkdir(small)
    done = here.run(["mount", "-t", "tmpfs", "-osize=24m", "none", small])
    if done.returncode != 0:
        pytest.skip("no file system of its own for a test")
    far.dest = f"{small}/dest"
    argv = far.serve(rate=1e7).argv("scp", "put", "-q",
                                    recursive=kind == "tree")
    argv.remove("-v")
    done = here.run(argv)
    # Only in there it is mounted.
    assert here.run(["cp", "-r", far.dest, left]).returncode == 0
    assert done.returncode == 1 and far.sessions() > 1
    assert f'write remote "{far.dest}' in done.stderr
    assert '": Failure' in done.stderr
    names = os.listdir(left) if kind == "tree" else [""]
    files = {name: tuple(f"{top}/{name}" if name else top
                         for top in (far.source, left)) for name in names}
    there = 0
    for source, dest in files.values():
        with open(source, "rb") as whole, open(dest, "rb") as part:
            data = part.read()
            assert whole.read(len(data)) == data
        there += len(data)
    assert MIB < there <= 24 * MIB
    if kind == "tree":
        failed = re.findall(r'upload ".*" to ".*/(\d+)" failed', done.stderr)
        assert sorted(failed) == sorted(
            name for name, pair in files.items()
            if os.path.getsize(pair[0]) != os.path.getsize(pair[1]))


def test_forced_command(large):
    """A restricted account, which has sftp and nothing else."""
    assert large.serve().here.path("server")
    large.sshd.terminate()
    large.sshd.wait()
    shutil.rmtree(large.here.path("first"), ignore_errors=True)
    large.sshd = large.here.sshd(
        STOCK, f"ForceCommand {large.here.path('server')}",
        f"Subsystem sftp {STOCK}/sftp-server")
    assert large.copy("scp", "put") > 1


@pytest.mark.parametrize("kind, tool", [("large", "scp"), ("tree", "scp"),
                                        ("tree", "sftp")])
def test_a_session_is_cut(request, kind, tool):
    """A server ends in mid copy: what it had is copied again."""
    far = request.getfixturevalue(kind).serve()
    client = far.here.start(
        far.argv(tool, "put", recursive=kind == "tree"),
        stderr=open(far.here.path("err"), "w"))
    wait_until("a second session", lambda: far.sessions() > 1)
    wait_until("what it copies", lambda: far.copying(1))
    for pid in far.copying(1):
        os.kill(pid, signal.SIGKILL)
    assert client.wait(300) == 0, read(far.here.path("err"))
    assert digests(far.source) == digests(far.dest)
    error = read(far.here.path("err"))
    assert ("copying it again over another session" in error) == \
        (kind == "tree")
    # sftp's OPEN truncates, and a ForceCommand's server may still get it.
    assert ("may be incomplete: the session that was lost could still change"
            in error) == (kind == "tree" and tool == "sftp")


@pytest.mark.parametrize("who", ["scp", "ssh", "sshd-session", "relay"])
def test_the_end(large, who):
    """Whatever dies, or if the network is cut, what is there looks incomplete;
    -Z completes it."""
    large.serve()
    client = large.here.start(large.argv("scp", "put"),
                              stderr=open(large.here.path("err"), "w"))
    wait_until("a second session", lambda: large.sessions() > 1)
    wait_until("what it copies", lambda: large.copying(1))
    for pid in [client.pid] if who == "scp" else large.relays() \
            if who == "relay" else large.here.processes(who):
        os.kill(pid, signal.SIGKILL)
    assert client.wait(300) != 0
    if who != "scp":
        assert "Connection closed" in read(large.here.path("err"))
    wait_until("the servers' ends",
               lambda: not large.here.processes("sftp-server"))
    assert not looks_complete(large.source, large.dest)
    os.unlink(large.pids)
    assert large.copy("scp", "put", "-Z") >= 1


@pytest.mark.parametrize("kind,rate,most_s,usual", [
    ("large", RATE, 9, 1), ("tree", RATE, 9, 2), ("larger", 1e7, 5, 1)],
    ids=["large", "tree", "larger"])
def test_killed_at_any_moment(request, kind, rate, most_s, usual):
    """Whoever is killed, and when: nothing looks complete that isn't, and -Z
    completes it, and sends little besides what is missing. KILLS=100 does so
    more often."""
    far = request.getfixturevalue(kind)
    rnd = random.Random(f"{kind} {os.environ.get('SEED', 1)}")
    os.mkdir(far.dest)
    made_long_ago(pathlib.Path(far.source))
    copy = f"{far.dest}/{os.path.basename(far.source)}"
    log = far.here.path("log")
    for _ in range(kills(usual)):
        shutil.rmtree(copy, ignore_errors=True)
        if os.path.exists(copy):
            os.unlink(copy)
        shutil.rmtree(far.here.path("first"), ignore_errors=True)
        far.serve(rate=rate)
        preserve = rnd.choice([(), ("-p",)])
        client = far.here.start(far.argv("scp", "put", *preserve,
                                         recursive=kind == "tree"),
                                stderr=open(far.here.path("err"), "w"))
        time.sleep(rnd.uniform(0.5, most_s))
        who = rnd.choice(["scp", "ssh", "sshd-session", "sftp-server", "all"])
        names = ["scp", "ssh", "sshd-session", "sftp-server"]
        victims = far.here.processes(*names if who == "all" else [who])
        kill(victims[-1:] if who == "sftp-server" else victims)
        status = client.wait(300)
        wait_until("the servers' ends",
                   lambda: not far.here.processes("sftp-server"))
        assert pretenders(far.source, copy, bool(preserve)) == [], who
        if status == 0:
            assert digests(far.source) == digests(copy), who
        far.sshd.terminate()
        far.sshd.wait()
        count = missing(far.source, copy) + untimed(far.source, copy)
        open(log, "w").close()
        far.serve(rate=1e8,
                  server=f"{STOCK}/sftp-server -e -l info 2>> {log}")
        done = far.here.run(far.argv("scp", "put", "-Z",
                                     recursive=kind == "tree"))
        assert done.returncode == 0, (who, done.stderr)
        assert digests(far.source) == digests(copy), who
        sent_little(count, sum(moved_in(read(log))), who, status)
        far.sshd.terminate()
        far.sshd.wait()
