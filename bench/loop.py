"""Measures a run over the loopback, in real time: CPU seconds per GB of each
end, MB/s, and peak memory.

All of it runs at real-time priority, where that is allowed: two runs of the
same are then a few percent apart, and not up to a half, as nobody else's
processes come between."""

import contextlib
import fcntl
import os
import select
import socket
import subprocess
import tempfile
import time

import pytest

import project
import runs
from loopback import Place, read, status_kib, wait_until

GB = 10**9
COUNT = GB // 2             # bytes, of each run
RAW_PORT = 5000
MEMORY = "/dev/shm"         # scp's files are there
PROGRAMS = {"client": (("ssh",), ("scp",)),     # of an end; which stand in
            "server": (("sshd-session", "sshd"), ("sftp-server",))}
LOOK_S = 0.05
PRIORITY = 5
# What makes a peer that has it, as HPN-SSH, use neither cipher nor MAC
NO_CIPHER = ("NoneEnabled=yes", "NoneSwitch=yes", "NoneMacEnabled=yes")
NO_CIPHER_SERVER = ("NoneEnabled yes", "NoneMacEnabled yes")
CHAIN = os.path.join(project.BUILD, "chain")    # see chain.c
PIPE_SIZE = 256 * 1024


class LoopError(Exception):
    pass


def may_be_real_time():
    """Whether real_time() has an effect."""
    with real_time():
        return os.sched_getscheduler(0) == os.SCHED_FIFO


@contextlib.contextmanager
def real_time():
    """This process, and those that it starts meanwhile. (The system keeps 5 %
    of each second for others.)"""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def reap(process):
    """The exit status and CPU seconds of a process, with all that it has
    waited for. (Not its memory: ru_maxrss begins with that of who started
    it.)"""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


class Memory:
    """Peaks of programs, of those that descend from processes."""

    def __init__(self, *pids):
        self.pids, self.peaks = pids, {}

    def look(self):
        pids = list(self.pids)
        while pids:
            pid = pids.pop()
            pids += read(f"/proc/{pid}/task/{pid}/children").split()
            name = read(f"/proc/{pid}/comm").strip()
            peak = status_kib(pid, "VmHWM") * 1024
            self.peaks[name] = max(self.peaks.get(name, 0), peak)

    def wait(self, process):
        """Until it has ended; it is left to be reaped."""
        fd = os.pidfd_open(process.pid)
        while not select.select([fd], [], [], LOOK_S)[0]:
            self.look()
        os.close(fd)

    def of(self, end):
        """Bytes, of all its programs; None if none was seen."""
        return sum(next((self.peaks[n] for n in names if n in self.peaks), 0)
                   for names in PROGRAMS[end]) or None


def end_server(sshd):
    """Ends it when it has waited for its session."""
    wait_until("the session's end", lambda: not read(
        f"/proc/{sshd.pid}/task/{sshd.pid}/children"))
    sshd.terminate()
    return reap(sshd)[1]


def transfer(place, r, client, count):
    """The argv of ssh or scp, what makes its input, and the copy."""
    argv = place.ssh(*(
        word for option in NO_CIPHER for word in ("-o", option)) if
        r["cipher"] == "none" else ("-c", r["cipher"]), tree=client)
    get = r["direction"] == "get"
    source, sink = f"head -c {count} /dev/zero", "cat > /dev/null"
    if r["tool"] == "ssh":
        return argv + ["root@127.0.0.1", source if get else sink], \
            None if get else source.split()
    paths = [f"{place.memory}/{name}" for name in ("source", "copy")]
    with open(paths[0], "wb") as f:
        subprocess.run(source.split(), stdout=f, check=True)
    paths[not get] = "root@127.0.0.1:" + paths[not get]
    return [f"{client}/scp", "-S", f"{client}/ssh"] + [
        "-P" if word == "-p" else word for word in argv[1:]] + paths, None


def by_ssh(place, r, trees, count):
    """Seconds, CPU seconds of client and server, and their peak memory, of
    one connection."""
    client, server = (os.path.join(project.BUILD, trees[r[end]])
                      for end in ("client", "server"))
    sshd = place.sshd(server, f"Subsystem sftp {server}/sftp-server",
                      *(NO_CIPHER_SERVER if r["cipher"] == "none" else ()))
    argv, source = transfer(place, r, client, count)
    with open(place.path("errors"), "w+") as errors:
        feeder = None
        if source:
            feeder = subprocess.Popen(source, stdout=subprocess.PIPE)
        start_s = time.monotonic()
        process = place.start(
            argv, stderr=errors, stdout=subprocess.DEVNULL,
            stdin=feeder.stdout if feeder else subprocess.DEVNULL)
        if feeder:
            feeder.stdout.close()
        memory = Memory(process.pid, sshd.pid)
        memory.wait(process)
        seconds = time.monotonic() - start_s
        status, client_s = reap(process)
        if feeder:
            feeder.wait()
        errors.seek(0)
        if status != 0:
            raise LoopError(f"{r['tool']}: exit status {status}: "
                            f"{errors.read()}")
    return seconds, client_s, end_server(sshd), memory


def by_tcp(place, r, count):
    """The same of plain TCP: socat at both ends."""
    here, there = ([f"OPEN:/dev/zero,readbytes={count}", "listen"],
                   ["connect", "OPEN:/dev/null"])
    ends = {"listen": f"TCP-LISTEN:{RAW_PORT},bind=127.0.0.1,reuseaddr",
            "connect": f"TCP:127.0.0.1:{RAW_PORT},retry=3000,interval=0.02"}
    used = []
    start_s = time.monotonic()
    for words in (here, there):
        used.append(place.start(["socat", "-u", "-b", "262144"] +
                                [ends.get(w, w) for w in words]))
    results = [reap(process) for process in used]
    if any(status for status, _ in results):
        raise LoopError("socat did not get through")
    server, client = (cpu_s for _, cpu_s in results)
    if r["direction"] == "put":
        client, server = server, client
    return time.monotonic() - start_s, client, server, None


def socket_pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        here = socket.create_connection(listener.getsockname())
        there, _ = listener.accept()
    for end in (here, there):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return here, there


def wide_pipe():
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    return tuple(os.fdopen(end, mode) for end, mode in zip(ends, ("rb", "wb")))


def by_chain(place, r, count):
    """The same of what SSH can't do without: as many processes as it has, with
    pipes and sockets between them as its are, that read, encrypt and write."""
    cipher = runs.CHAIN[r["cipher"]]
    scp, get = r["tool"] == "scp", r["direction"] == "get"
    sender, receiver = ("server", "client") if get else ("client", "server")
    source = ["head", "-c", str(count), "/dev/zero"]
    sealed, to_open = place.inside(socket_pair)
    # scp has sockets to its ssh, everything else has pipes
    plain, to_seal = socket.socketpair() if scp and not get \
        else reversed(wide_pipe())
    opened, to_sink = socket.socketpair() if scp and get \
        else reversed(wide_pipe())
    with contextlib.ExitStack() as files:
        for f in (sealed, to_open, plain, to_seal, opened, to_sink):
            files.enter_context(f)

        def open_file(name, mode):
            return files.enter_context(open(name, mode))

        nothing = open_file(os.devnull, "r+")
        given, taken, copy = nothing, nothing, ["cat"]
        if scp:
            with open(f"{place.memory}/source", "wb") as f:
                subprocess.run(source, stdout=f, check=True)
            given = open_file(f"{place.memory}/source", "rb")
            taken = open_file(f"{place.memory}/copy", "wb")
            source = copy = [CHAIN, "copy"]
        jobs = [(sender, source, given, plain),
                (sender, [CHAIN, "seal", cipher], to_seal, sealed),
                (receiver, [CHAIN, "open", cipher], to_open,
                 opened if scp or not get else nothing)]
        if scp or not get:
            jobs.append((receiver, copy, to_sink, taken))
        start_s = time.monotonic()
        started = [(end, place.start(argv, stdin=stdin, stdout=stdout))
                   for end, argv, stdin, stdout in jobs]
    used = {"client": 0, "server": 0}
    failed = []                 # one that fails may end others by SIGPIPE
    for i, (end, process) in enumerate(started):
        status, cpu_s = reap(process)
        if status != 0:
            failed.append(f"{jobs[i][1]}: exit status {status}")
        # who makes ssh's input is nobody's end
        used[end] += cpu_s if scp or get or i > 0 else 0
    if failed:
        raise LoopError(", ".join(failed))
    return time.monotonic() - start_s, used["client"], used["server"], None


def measure(r, trees):
    """Figures of a run: of COUNT bytes, less what a connection costs that
    carries none. That one comes first, and warms up what there is to warm."""
    with tempfile.TemporaryDirectory(prefix="bench.") as folder, \
            tempfile.TemporaryDirectory(prefix="bench.", dir=MEMORY) as memory:
        try:
            place = Place(folder, (0, 0))
            place.memory = memory
        except pytest.skip.Exception as e:
            raise LoopError(str(e)) from None
        try:
            with real_time():
                none, whole = (by_tcp(place, r, count) if r["tool"] == "raw"
                               else by_chain(place, r, count)
                               if r["client"] == "chain"
                               else by_ssh(place, r, trees, count)
                               for count in (1, COUNT))
        except (AssertionError, pytest.fail.Exception) as e:
            raise LoopError(str(e)) from None
        finally:
            place.end()
    figures = {"mb_s": COUNT / max(whole[0] - none[0], 1e-6) / 1e6}
    for i, end in ((1, "client"), (2, "server")):
        figures[f"{end}_cpu_s_per_gb"] = \
            (whole[i] - none[i]) * GB / COUNT
    figures["cpu_s_per_gb"] = figures["client_cpu_s_per_gb"] + \
        figures["server_cpu_s_per_gb"]
    if whole[3]:
        for end in PROGRAMS:
            figures[f"{end}_rss_bytes"] = whole[3].of(end)
    return figures, {}
