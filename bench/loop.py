"""Measures a run over the loopback, in real time: CPU seconds per GB of each
end, MB/s."""

import os
import subprocess
import tempfile
import time

import pytest

import project
from loopback import Place, read, wait_until

GB = 10**9
COUNT = GB // 2             # bytes, of each run
RAW_PORT = 5000


class LoopError(Exception):
    pass


def reap(process):
    """The exit status and CPU seconds of a process, with all that it has
    waited for. (Not its memory: ru_maxrss begins with that of who started
    it.)"""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def end_server(sshd):
    """Ends it when it has waited for its session."""
    wait_until("the session's end", lambda: not read(
        f"/proc/{sshd.pid}/task/{sshd.pid}/children"), timeout_s=30)
    sshd.terminate()
    return reap(sshd)[1]


def by_ssh(place, r, trees, count):
    """Seconds, and CPU seconds of client and server, of one connection."""
    client, server = (os.path.join(project.BUILD, trees[r[end]])
                      for end in ("client", "server"))
    sshd = place.sshd(server)
    source, sink = f"head -c {count} /dev/zero", "cat > /dev/null"
    argv = place.ssh("-c", r["cipher"], "root@127.0.0.1",
                     source if r["direction"] == "get" else sink, tree=client)
    with open(place.path("errors"), "w+") as errors:
        feeder = None
        if r["direction"] == "put":
            feeder = subprocess.Popen(source.split(), stdout=subprocess.PIPE)
        start_s = time.monotonic()
        process = place.start(
            argv, stderr=errors, stdout=subprocess.DEVNULL,
            stdin=feeder.stdout if feeder else subprocess.DEVNULL)
        if feeder:
            feeder.stdout.close()
        status, client_s = reap(process)
        seconds = time.monotonic() - start_s
        if feeder:
            feeder.wait()
        errors.seek(0)
        if status != 0:
            raise LoopError(f"ssh: exit status {status}: {errors.read()}")
    return seconds, client_s, end_server(sshd)


def by_tcp(place, r, count):
    """The same of plain TCP: socat at both ends."""
    here, there = ([f"OPEN:/dev/zero,readbytes={count}", "listen"],
                   ["connect", "OPEN:/dev/null"])
    ends = {"listen": f"TCP-LISTEN:{RAW_PORT},bind=127.0.0.1,reuseaddr",
            "connect": f"TCP:127.0.0.1:{RAW_PORT},retry=50,interval=0.02"}
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
    return time.monotonic() - start_s, client, server


def measure(r, trees):
    """Figures of a run: of COUNT bytes, less what a connection costs that
    carries none. That one comes first, and warms up what there is to warm."""
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        try:
            place = Place(folder)
        except pytest.skip.Exception as e:
            raise LoopError(str(e)) from None
        try:
            connect = (lambda count: by_tcp(place, r, count)) \
                if r["tool"] == "raw" else \
                (lambda count: by_ssh(place, r, trees, count))
            none, whole = connect(1), connect(COUNT)
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
    return figures, {}
