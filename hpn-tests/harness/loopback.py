"""ssh and sshd of a tree under build/, talking over the loopback of a network
of their own (see in-tree). What runs there is known by that network: nothing
else is ever looked at or ended."""

import contextlib
import ctypes
import glob
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
IN_TREE = os.path.join(HERE, "in-tree")
SLOW_PATH = os.path.join(HERE, "slow_path.py")
BUILD = os.path.join(TOP, os.environ.get("BDP_BUILD", "build"))
OURS = os.path.join(BUILD, "openssh")
STOCK = os.path.join(BUILD, "stock")
PORT, FRONT = 2222, 2300        # of sshd, and of the relay before it
USER = "user"                   # who logs in, and whose programs run
HOST = f"{USER}@127.0.0.1"
ORDINARY = pwd.getpwnam("nobody")[2:4]  # uid, gid
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def going_first():
    """This thread, and what it starts meanwhile, get a CPU before all else, if
    we may say so: for what is to be seen at the pace of the clock. (Linux keeps
    5 % of each second for others.) Not for what is busy all the time."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def become_root():
    with contextlib.suppress(PermissionError):      # who was not before
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)


@contextlib.contextmanager
def as_user():
    """Root, and what it starts, is an ordinary user, or until become_root()."""
    if os.geteuid() == 0:
        uid, gid = ORDINARY
        os.setgroups([])
        os.setresgid(gid, gid, 0)
        os.setresuid(uid, uid, 0)
    try:
        yield
    finally:
        become_root()


def user_folder():
    """A new one below /tmp. pytest's are for root alone."""
    with as_user():
        if not os.access(f"{OURS}/ssh", os.X_OK):
            pytest.skip(f"no {OURS}/ssh that a user may run")
        path = pathlib.Path(tempfile.mkdtemp(prefix="bdp-"))
        path.chmod(0o755)
    return path


def read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def program(path, script):
    """A script that a shell runs; its path."""
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\n{script}\n")
    os.chmod(path, 0o755)
    return str(path)


def preload(folder, source):
    """The path of what LD_PRELOAD takes, made there of C."""
    library = os.path.join(folder, "preload.so")
    shutil.which("cc") or pytest.skip("no C compiler")
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", library, "-",
                    "-ldl"], input=source, text=True, check=True)
    return library


# A reader that has stopped, and goes when sshd does. Its parent is another
# process then, perhaps since before it began; that one's pid may be a third
# one's by now.
STOPPED = "while grep -qs sshd /proc/$PPID/comm && " \
    "grep -qx \"PPid:.$PPID\" /proc/$$/status; do sleep 0.1; done"


def wait_until(what, condition, timeout_s=300):
    """What the condition returned, once it is true."""
    end_s = time.monotonic() + timeout_s
    while not (value := condition()):
        if time.monotonic() > end_s:
            pytest.fail(f"waited {timeout_s} s for {what}")
        time.sleep(0.01)
    return value


def wire_name(macro):
    """A name of our own on the wire, as the headers of openssh/ have it."""
    text = "".join(map(read, sorted(glob.glob(f"{TOP}/openssh/*/*.h"))))
    domain = re.search(r'define BDP_DOMAIN\s+"(.*)"', text)[1]
    return re.search(rf'define {macro}\s+"(.*@)" BDP_DOMAIN', text)[1] + domain


def status_kib(pid, field, file="status"):
    """VmHWM and the like; 0 when the process is gone."""
    for line in read(f"/proc/{pid}/{file}").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    return 0


def make_says(words, tree=OURS, makefile="Makefile", **env):
    """What make has for these words, as "$(CFLAGS)", in a tree."""
    return subprocess.run(
        ["make", "-s", "-f", makefile, "-f", "-", "bdp-show"], text=True,
        check=True, input=f"bdp-show:\n\t@echo {words}\n", cwd=tree,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, **env}).stdout.strip()


def children(pid):
    return [int(p) for p in read(f"/proc/{pid}/task/{pid}/children").split()]


def cpu_ticks(pid):
    """Of user and system time; 0 when the process is gone."""
    return sum(map(int, read(f"/proc/{pid}/stat").rsplit(")")[-1]
                   .split()[11:13]))


def stands_still(pid):
    """Whether a process wanted no time in a second."""
    def state():
        fields = read(f"/proc/{pid}/stat").rsplit(")")[-1].split()
        return fields[:1], fields[11:13]

    before = state()
    time.sleep(1)
    return before[0] == ["S"] and state() == before


class Peak:
    """The most memory (VmHWM, KiB) that a process was ever seen to have."""

    def __init__(self, pid):
        self.pid = pid
        self.before = self.kib = status_kib(pid, "VmHWM")
        assert self.before > 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.done.wait(0.002) and os.path.exists(
                f"/proc/{self.pid}"):
            self.look()

    def look(self):
        self.kib = max(self.kib, status_kib(self.pid, "VmHWM"))

    def stop(self):
        self.done.set()
        self.thread.join()
        self.look()
        return self.kib


class Place:
    """A network and mounts of their own, with keys to log in with. ids: who
    runs the programs."""

    def __init__(self, folder, ids=ORDINARY):
        self.folder = str(folder)
        self.started = []
        self.ids = ids
        os.chown(folder, *ids)
        # Root's own shell and what it reads at login are none of our business
        with open("/etc/passwd") as f, open(self.path("passwd"), "w") as mine:
            mine.writelines(line for line in f
                            if line.split(":")[0] not in
                            ("root", "sshd", "nobody", USER))
            for name, uid, gid in (("root", 0, 0), (USER, *ORDINARY)):
                mine.write(f"{name}:x:{uid}:{gid}::{self.folder}:/bin/sh\n")
            mine.write("sshd:x:74:74:sshd:/var/empty:/bin/false\n")
        # Ends with its input: whatever becomes of us
        self.holder = subprocess.Popen(
            [IN_TREE, "/", "sh", "-ec",
             'mount --bind "$1" /etc/passwd; echo up; exec cat', "sh",
             self.path("passwd")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.holder.stdout.readline() != b"up\n":
            self.holder.wait()
            pytest.skip("no network or mount namespace for us here")
        self.net = os.stat(f"/proc/{self.holder.pid}/ns/net")
        for key in ("host", "user"):
            assert self.run([f"{STOCK}/ssh-keygen", "-q", "-t", "ed25519",
                             "-N", "", "-f", self.path(key)]).returncode == 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, argv, root=False, **kwargs):
        """As the user, unless root is the point."""
        uid, gid = (0, 0) if root else self.ids
        process = subprocess.Popen(
            ["nsenter", "-t", str(self.holder.pid), "-m", "-n", "-S", str(uid),
             "-G", str(gid), *argv], umask=0o022, **kwargs)
        self.started.append(process)
        return process

    def run(self, argv, timeout_s=300, **kwargs):
        process = self.start(argv, text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             **kwargs)
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()      # end() kills its children
            pytest.fail(f"not done after {timeout_s} s: {argv}")
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def as_root(self, script):
        done = self.run(["sh", "-ec", script], root=True)
        assert done.returncode == 0, done.stderr

    def mounted(self, script):
        """A folder that a script makes of {at}: in here, and as we see it."""
        at = self.path("mounted")
        os.mkdir(at)
        self.as_root(script.format(at=at))
        return at, f"/proc/{self.holder.pid}/root{at}"

    def inside(self, function):
        """Its value; called in a thread that has gone into the network, where
        sockets that it makes stay."""
        result = []

        def body():
            fd = os.open(f"/proc/{self.holder.pid}/ns/net", os.O_RDONLY)
            if LIBC.setns(fd, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            os.close(fd)
            result.append(function())

        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        assert result, "see the thread's exception"
        return result[0]

    def processes(self, *names):
        """Pids of what runs in here, of these names if any are given."""
        pids = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                net = os.stat(f"/proc/{pid}/ns/net")
            except OSError:
                continue
            if os.path.samestat(net, self.net) and \
                    int(pid) != self.holder.pid and \
                    (not names or read(f"/proc/{pid}/comm").strip() in names):
                pids.append(int(pid))
        return pids

    def limit(self, pid, more_kib):
        """A process has the memory it has and so much more; None: what there
        is. It may have ended meanwhile, as one of a login that is done."""
        size = "unlimited" if more_kib is None else \
            (status_kib(pid, "VmSize") + more_kib) << 10
        done = self.run(["prlimit", f"--pid={pid}", f"--as={size}:"],
                        root=status_kib(pid, "Uid") == 0)
        assert done.returncode == 0 or "No such process" in done.stderr, \
            done.stderr

    def wait_for_port(self, port):
        wait_until(f"port {port}", lambda: f":{port} " in
                   self.run(["ss", "-Htln"]).stdout)

    def end(self):
        """Ends what is still here, by pid, children of what dies too."""
        while pids := self.processes():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in self.started:
                process.poll()
            time.sleep(0.01)
        self.holder.stdin.close()
        self.holder.wait()

    # OpenSSH's two ends

    def sshd(self, tree=OURS, *options, port=PORT, prefix=()):
        """sshd of a tree, started by the prefix. Returns once it listens."""
        config, log = self.path(f"sshd_config.{port}"), \
            self.path(f"sshd.{port}.log")
        lines = [f"Port {port}", "ListenAddress 127.0.0.1",
                 f"HostKey {self.path('host')}",
                 f"AuthorizedKeysFile {self.path('user')}.pub",
                 "StrictModes no", "PermitRootLogin yes", "UsePAM no",
                 "PidFile none", "MaxStartups 1000", "LogLevel VERBOSE"]
        if os.path.exists(f"{tree}/sshd-session"):
            lines.append("PerSourcePenalties no")
        for name in ("session", "auth"):    # since 9.8, 10.0
            if os.path.exists(f"{tree}/sshd-{name}"):
                lines.append(f"Sshd{name.title()}Path {tree}/sshd-{name}")
        named = {o.split()[0] for o in options}
        with open(config, "w") as f:
            f.write("\n".join([o for o in lines if o.split()[0] not in named] +
                              list(options)) + "\n")
        pathlib.Path(log).unlink(missing_ok=True)
        sshd = self.start([*prefix, f"{tree}/sshd", "-D", "-f", config, "-E",
                           log], root=True, stdin=subprocess.DEVNULL)
        sshd.log = log
        wait_until("sshd", lambda: sshd.poll() is not None or
                   "Server listening on" in read(log))
        assert sshd.poll() is None, read(log)
        os.chmod(log, 0o644)
        return sshd

    def ssh(self, *arguments, tree=OURS, port=PORT, level="ERROR"):
        """The argv of ssh to the sshd. (-v goes on from level.)"""
        return [f"{tree}/ssh", "-F", "none", "-p", str(port), "-i",
                self.path("user"), "-o", "IdentitiesOnly=yes", "-o",
                "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
                f"LogLevel={level}", "-o",
                f"UserKnownHostsFile={self.path('known_hosts')}", *arguments]

    def scp(self, *arguments, tree=OURS, port=PORT, ssh=None):
        """The argv of scp over ssh, that of the same tree."""
        argv = self.ssh(tree=tree, port=port)
        return [f"{tree}/scp", "-q", "-S", ssh or argv[0], *argv[1:3], "-P",
                str(port), *argv[5:], *arguments]

    def still_serves(self, port=PORT):
        done = self.run(self.ssh(HOST, "echo alive", port=port))
        return done.stdout == "alive\n"


class Relay:
    """lab/guest/relay.py, from FRONT to PORT. under: its starter, as chrt."""

    def __init__(self, place, script=(), delay_s=0, rate=0, under=()):
        self.process = place.start(
            [*under, sys.executable, "-B",
             os.path.join(TOP, "hpn-tests", "lab", "guest", "relay.py"),
             str(FRONT), str(PORT), json.dumps(list(script)), str(delay_s),
             str(rate)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.next() == {"listening": FRONT}

    def next(self):
        """What it says next; None: nothing, it has ended."""
        limit = threading.Timer(600, self.process.kill)
        limit.daemon = True
        limit.start()
        line = self.process.stdout.readline()
        limit.cancel()
        return json.loads(line) if line else None

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def said(self):
        """Ends it. All that it has said until then."""
        self.process.terminate()
        return [json.loads(line) for line in self.process.communicate()[0]
                .splitlines()]


def needs_root():
    become_root()
    if os.geteuid() != 0:
        pytest.skip("no root: no namespaces, and sshd logs in only itself")


def a_place(request, ids):
    needs_root()
    # What a test makes, the user may write
    umask = os.umask(0 if ids == ORDINARY else 0o022)
    try:
        here = Place(user_folder(), ids)
        try:
            yield here
        finally:
            here.end()
    finally:
        os.umask(umask)
    if not getattr(request.node, "has_failed", False):
        shutil.rmtree(here.folder)


@pytest.fixture(name="tmp_path")
def user_path():
    """As pytest's, but where a user may go. tally.py removes it."""
    path = user_folder()
    with as_user():
        yield path


@pytest.fixture
def place(request):
    yield from a_place(request, ORDINARY)


@pytest.fixture(name="place")
def root_place(request):
    """For what is root's: packages, traces, servers that log in only root."""
    yield from a_place(request, (0, 0))
