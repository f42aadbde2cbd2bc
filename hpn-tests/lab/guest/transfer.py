"""transfer.py SPEC: one transfer in the lab (run by lab.py, inside lab/run).

SPEC is a JSON object; see lab.py for its fields. Leaves in $LAB_OUT: series
(what had arrived when), ssh.log and sshd.log, samples, ss.log and result.json.
"""

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import threading
import time

import net
import payload
import sampler
import tools
from tools import out, read, wait_until

# Programs of which none may be left when a transfer is over, however it ended
OURS = ("ssh", "scp", "sftp", "sshd-session", "sshd-auth", "sftp-server",
        "cat", "socat")


def running(names):
    """Processes of these names, as (pid, name); zombies excepted."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        stat = read(f"/proc/{pid}/stat").decode(errors="replace")
        name, state = stat[stat.find("(") + 1:stat.rfind(")")], \
            stat[stat.rfind(")") + 2:][:1]
        if name in names and state not in "ZX":
            found.append((int(pid), name))
    return found


def stopped_reader(spec):
    """The reader has stopped for good. Waits until what is in flight has
    arrived, then uses a second channel of the same connection."""
    wait_until("the reader", lambda: sampler.arrived(spec) >=
               spec["reader"]["stop_after"], timeout_s=600)
    time.sleep(30 * spec["rtt_us"] / 1e6)
    second = tools.on("client", tools.through_master(spec) +
                      ["server", "echo second channel"],
                      stdout=subprocess.PIPE, text=True)
    return second.communicate(timeout=60)[0].strip()


def change_path(spec, path):
    """Carries out spec["changes"], at seconds since the first byte."""
    wait_until("the first byte", lambda: sampler.arrived(spec) > 0)
    start_s = time.monotonic()
    with open(out("changes"), "w", buffering=1) as f:
        for at_s, fields in spec["changes"]:
            time.sleep(max(start_s + at_s - time.monotonic(), 0))
            path.change(fields)
            f.write(f"{time.monotonic():.6f} {json.dumps(fields)}\n")


def end_at_once(failure):
    """If a thread fails, so does the transfer."""
    threading.__excepthook__(failure)
    os._exit(1)


def kill(spec):
    """Kills an end's processes when the bytes of kill's "at" have arrived."""
    names = {"client": ("ssh",), "server": ("sshd-session",)}
    wait_until("the moment to kill", lambda: sampler.arrived(spec) >=
               spec["kill"]["at"], timeout_s=600)
    pids = [pid for pid, _ in running(names[spec["kill"]["end"]])]
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def hold_process(spec, seconds):
    """Stops the receiving process for so long."""
    names = {"get": ("ssh",), "put": ("sshd-session",)}[spec["direction"]]
    pids = [pid for pid, _ in running(names)]
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def hold_path(path, seconds):
    """Nothing arrives on either side for so long, and then at once what was
    due: netem's next slot is that far away."""
    slot_us = path.spec["slot_us"]
    path.change({"slot_us": int(seconds * 1e6)})
    time.sleep(seconds)
    path.change({"slot_us": slot_us})


def stall(spec, path):
    """Stops the receiving process or the path: at each number of bytes that
    has arrived, for its number of seconds. Writes the start and the end of each
    stall to "stalls". (A reader stops itself, and so does a relay.)"""
    with open(out("stalls"), "w", buffering=1) as f:
        for at, seconds in zip(spec["stalls"]["at"],
                               spec["stalls"]["seconds"]):
            wait_until("a stall", lambda at=at: sampler.arrived(spec) >= at,
                       timeout_s=600)
            start_s = time.monotonic()
            if spec["stalls"]["what"] == "path":
                hold_path(path, seconds)
            else:
                hold_process(spec, seconds)
            f.write(f"{start_s:.6f} {time.monotonic():.6f}\n")


def shell_beside(spec, end):
    """A terminal on the master's connection: of each key when it was pressed,
    and the time (ms) to its echo. One every spec["shell"]["every_s"]."""
    pid, terminal = pty.fork()
    if pid == 0:
        argv = ["ip", "netns", "exec", "client"] + \
            tools.through_master(spec, "-tt") + ["server", "printf x; cat"]
        os.execvp(argv[0], argv)
    echoes = []
    os.read(terminal, 1)                # it is there
    while not end.wait(spec["shell"]["every_s"]):
        start_s = time.monotonic()
        os.write(terminal, b"x")
        os.read(terminal, 1)
        echoes.append((start_s, (time.monotonic() - start_s) * 1000))
    os.kill(pid, signal.SIGTERM)
    return echoes


def record_cpu(sshd):
    """Leaves the CPU time (us) of ssh and sshd in lab.cpu, as the UML process
    does from outside of a guest, where no time passes for programs."""
    wait_until("sshd-session", lambda: not running(("sshd-session",)))
    sshd.terminate()                    # it has reaped its sessions
    sshd.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out("lab.cpu"), "w") as f:
        f.write(f"{used.ru_utime * 1e6:.0f} {used.ru_stime * 1e6:.0f}\n")


class Trace:
    """sshtrace at an end, its rows in trace.END."""

    def __init__(self, spec, host):
        with open(out(f"trace.{host}"), "w") as rows, \
                open(out(f"trace.{host}.log"), "w") as log:
            self.process = tools.on(host, [spec["trace"], "--json"],
                                    stdout=rows, stderr=log)

    def end(self):
        self.process.terminate()
        return self.process.wait()


def digests(spec):
    """SHA-256 of what arrived, of each channel; of a tree, what differs."""
    if "tree" in spec:
        return subprocess.run(["diff", "-r", tools.SOURCE, tools.COPY],
                              stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT).stdout.splitlines()
    if spec["tool"] in ("raw", "ssh"):
        return [read(tools.series_path(i) + ".sha256").decode()
                for i in range(spec.get("channels", 1))]
    return [subprocess.run(["sha256sum", tools.COPY], check=True,
                           capture_output=True, text=True).stdout.split()[0]]


def prepare(spec):
    """The network, the file, the servers. Returns path and servers."""
    path = net.Path(spec)
    if "tree" in spec:
        payload.make_tree(tools.SOURCE, *spec["tree"])
    else:
        payload.make(tools.SOURCE, spec["bytes"], holes="streams" not in spec)
    if spec["tool"] == "raw":
        return path, []
    tools.configure_client(spec)
    if spec.get("via") == "relay":
        servers = [tools.start_sshd("server", spec["server"], spec)]
        tools.start_relay(spec, 22)
        return path, servers
    servers = [tools.start_sshd(host, spec["server"], spec)
               for host in net.hosts(spec)[1:]]
    if "logins" in spec:
        tools.log_in_before(spec)
    return path, servers


def finish(spec, processes):
    """Waits for the end of a transfer. Returns exit statuses, and the names
    of programs that should have ended with it."""
    exits = [p.wait() for p in processes]
    ended_s = time.monotonic()
    for pid, name in running(("ssh",)) if spec["tool"] == "ssh" else []:
        if "channels" in spec or spec.get("via") in tools.FORWARDS:
            os.kill(pid, signal.SIGTERM)    # the master, the forwarder
    end_s = time.monotonic() + 30
    while running(OURS) and time.monotonic() < end_s:
        time.sleep(0.1)
    return {"exits": exits, "seconds": ended_s,
            "left": [name for _, name in running(OURS)]}


def main():
    spec = json.loads(sys.argv[1])
    path, servers = prepare(spec)
    threading.excepthook = end_at_once
    watch = None if spec.get("bare") else sampler.Sampler(spec)
    if watch:
        watch.start()
    traces = [Trace(spec, host) for host in ("client", "server")] \
        if spec.get("trace") else []
    end = threading.Event()
    start_s = time.monotonic()
    result = {"echo_ms": [], "start_s": start_s}
    processes = tools.start(spec)
    threads = []
    if (spec.get("stalls", {}).get("what"), spec.get("via")) in (
            ("process", None), ("process", "relay"), ("path", None)):
        threads.append(threading.Thread(target=stall, args=(spec, path),
                                        daemon=True))
        threads[-1].start()
    for field, run in (("changes", lambda: change_path(spec, path)),
                       ("kill", lambda: kill(spec)),
                       ("shell", lambda: result["echo_ms"].extend(
                           shell_beside(spec, end)))):
        if field in spec:
            threads.append(threading.Thread(target=run, daemon=True))
            threads[-1].start()
    if spec.get("second_channel"):
        result["second_channel"] = stopped_reader(spec)
    else:
        if "shell" in spec:             # it ends before its connection does
            for p in processes:
                p.wait()
            end.set()
            threads[-1].join()
        result.update(finish(spec, processes))
        result["seconds"] -= start_s
    result["traces"] = [trace.end() for trace in traces]
    if watch:
        watch.end.set()
        watch.join()
        result["peak_memory"] = watch.peak
    if spec.get("bare") and os.environ["LAB_BACKEND"] == "host":
        record_cpu(servers[0])
    if not any(result.get("exits", [1])) and not spec.get("bare"):
        result["sha256"] = digests(spec)
    tools.leave(result)
    for pid, _ in running(OURS):
        os.kill(pid, signal.SIGKILL)


main()
