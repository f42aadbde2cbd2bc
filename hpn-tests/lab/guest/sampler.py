"""What is looked at while a transfer runs."""

import json
import os
import re
import stat
import subprocess
import threading
import time

from tools import COPY, out, read, series_path

MEMORY_S = 0.2
SOCKETS_S = MEMORY_S
QUICK_S = 0.020         # to look at a sender's socket or a growing file
SAMPLES = 200           # and no more often than that
SPARSE_SAMPLES = 10     # nor, of a sparse transfer, than that
WINDOW = 2 << 20        # bytes, of a new channel
PROGRAMS = ("ssh", "sshd-session", "sshd")


def memory(names):
    """Peak resident memory (bytes) of the processes of each name, and what
    is resident now."""
    found = {name: [0, 0] for name in names}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        status = read(f"/proc/{pid}/status").decode(errors="replace")
        fields = dict(line.split(":\t", 1) for line in status.splitlines()
                      if ":\t" in line)
        name = fields.get("Name")
        if name in found and "VmHWM" in fields:
            for i, field in enumerate(("VmHWM", "VmRSS")):
                value = int(fields[field].split()[0]) * 1024
                found[name][i] = max(found[name][i], value)
    return found


class Sockets:
    """What ss -tio says of the transfer's connections on a host. A shell that
    stays there runs it: to enter a network each time is dear in a lab that
    traces each system call."""

    FILTER = "( sport = :22 or dport = :22 or sport = :5000 or dport = :5000 )"

    def __init__(self, host):
        self.shell = subprocess.Popen(
            ["ip", "netns", "exec", host, "sh", "-c",
             'while read -r _; do ss -Htino "$1"; echo .; done', "sh",
             self.FILTER], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)

    def look(self):
        self.shell.stdin.write("\n")
        self.shell.stdin.flush()
        return "".join(iter(self.shell.stdout.readline, ".\n"))

    def end(self):
        self.shell.communicate()


def written(text):
    """Bytes that an end has written to its socket, from ss: acknowledged
    ones plus those in the send queue."""
    words = text.split()
    acked = [int(w.split(":")[1]) for w in words
             if w.startswith("bytes_acked:")]
    return sum(acked[:1]) + int(words[2]) if len(words) > 2 else 0


def credit(sender):
    """The credit (bytes) that the sender has received, by its log, or 0 if that
    has none. It comes later than it was sent by what a lost segment holds it
    up."""
    log = read(out("ssh.log" if sender == "client" else "sshd.log"))
    adjusts = [int(n) for n in re.findall(rb"rcvd adjust (\d+)\r?\n", log)]
    if not adjusts:
        return 0                        # nothing is known of it
    # The first window is an adjust if the server grants it
    first = 0 if adjusts[:1] == [WINDOW] else WINDOW
    return first + sum(adjusts)


def arrived(spec):
    """Bytes that have arrived, on the first channel."""
    if spec["tool"] in ("raw", "ssh"):
        lines = read(series_path()).split(b"\n")
        return int(lines[-2].split()[1]) if len(lines) > 1 else 0
    try:
        there = os.stat(COPY)
    except FileNotFoundError:
        return 0
    if stat.S_ISDIR(there.st_mode):
        return there.st_size            # more than 0: it has begun
    # A copy in parts is as long as its source from the beginning.
    return min(there.st_size, 512 * there.st_blocks)


class Sampler(threading.Thread):
    """Writes samples as lines of JSON, in the lab's time, and what ss says.
    Where a file is copied it is also who sees it grow: the series."""

    def __init__(self, spec):
        super().__init__(daemon=True)
        self.spec = spec
        self.copied = spec["tool"] not in ("raw", "ssh")
        self.sender = "server" if spec["direction"] == "get" else "client"
        self.end = threading.Event()
        self.peak = dict.fromkeys(PROGRAMS, 0)
        self.due_s = {}
        self.start_s = time.monotonic()

    def due(self, what, every_s, now_s, samples):
        """Less often in a long transfer: every 1/samples of its time so far,
        and at its end"""
        if now_s < self.due_s.get(what, 0) and not self.end.is_set():
            return False
        self.due_s[what] = now_s + max(every_s,
                                       (now_s - self.start_s) / samples)
        return True

    def sample(self, row, ss):
        samples = SPARSE_SAMPLES if self.spec.get("sparse") else SAMPLES
        if self.due("memory", MEMORY_S, row["t_s"], samples):
            for name, (peak, now) in memory(self.peak).items():
                self.peak[name] = max(self.peak[name], peak)
                row[name] = now
        if self.spec.get("unspent"):
            row["written"] = written(self.sockets[self.sender].look())
            row["credit"] = credit(self.sender)
        if self.due("sockets", SOCKETS_S, row["t_s"], samples):
            for host, sockets in self.sockets.items():
                ss.write(f"{row['t_s']:.3f} {host}\n{sockets.look()}")
        return row

    def run(self):
        quick = self.copied or self.spec.get("unspent")
        interval_s = QUICK_S if quick else MEMORY_S
        self.sockets = {host: Sockets(host) for host in ("client", "server")}
        done = False
        with open(out("samples"), "w", buffering=1) as f, \
                open(out("ss.log"), "w", buffering=1) as ss:
            series = open(series_path(), "w", buffering=1) if self.copied \
                else None
            while not done:
                done = self.end.wait(interval_s)
                row = self.sample({"t_s": time.monotonic()}, ss)
                if len(row) > 1:
                    f.write(json.dumps(row) + "\n")
                if series and (count := arrived(self.spec)):
                    series.write(f"{time.monotonic():.6f} {count}\n")
            for sockets in self.sockets.values():
                sockets.end()
