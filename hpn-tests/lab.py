"""Runs transfers in the lab and reads what they leave: the one piece of
plumbing under the demo and the tests.

A transfer is a dict:
    tool        raw, ssh or scp
    direction   get (server to client) or put
    client, server   trees: pristine, openssh or fixed, below build/
    rate_mbit, rtt_us   the link; queue_packets: its queue (1,000,000)
    bytes       how many; zeroes, unless
    file        a file on the host to send instead
    cipher, cc, tcp_buffers   ssh -c; congestion control; raised or default
    stop_after  the reader stops for good after so many bytes
    unspent     sample the sender's socket
    bare        no sampling, so that CPU time is ssh's own
"""

import concurrent.futures
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
BUILD = os.path.join(TOP, "build")
STEADY_AFTER_S = 3.0
WINDOW_STOCK = 2 << 20              # bytes, CHAN_SES_WINDOW_DEFAULT

ADJUST = re.compile(r"channel \d+: window (\d+) sent adjust (\d+)")
CHANWIN = re.compile(r"chanwin (t_us=.*)")


class LabError(Exception):
    pass


class Transfer:
    """What one transfer left in its folder."""

    def __init__(self, spec, folder):
        self.spec = spec
        self.folder = folder
        self.result = json.loads(self.read("result.json") or "{}")
        self.series = [(float(t), int(n)) for t, n in
                       (line.split() for line in
                        self.read("series").splitlines())]

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name), errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def receiver_log(self):
        return self.read("ssh.log" if self.spec["direction"] == "get"
                         else "sshd.log")

    # Goodput: MB are 10^6 bytes, times are from the first byte to arrive

    def first_s(self):
        return next(t for t, n in self.series if n > 0)

    def seconds(self, count=None):
        """From the first byte to the one numbered count (the last)."""
        count = count or self.spec["bytes"]
        return next(t for t, n in self.series if n >= count) - self.first_s()

    def goodput(self, after_s=0.0):
        """Mean MB/s from after_s seconds after the first byte to the last."""
        start = self.first_s() + after_s
        end_t, end_n = next((t, n) for t, n in self.series
                            if n >= self.spec["bytes"])
        t, n = next((t, n) for t, n in self.series if t >= start and n > 0)
        if end_t <= t:
            raise LabError(f"{self.folder}: over within {after_s} s")
        return (end_n - n) / (end_t - t) / 1e6

    def arrived(self, t_s):
        """Bytes that had arrived at t_s, between two lines of the series."""
        before = (self.series[0][0], 0)
        for row in self.series:
            if row[0] >= t_s:
                part = (t_s - before[0]) / max(row[0] - before[0], 1e-9)
                return before[1] + part * (row[1] - before[1])
            before = row
        return self.series[-1][1]

    # The window, from the receiver's log at -vv

    def window_trace(self):
        """A dict for each adjust of ours; see channel-window.c."""
        return [{k: int(v) if v.isdigit() else v for k, v in
                 (word.split("=") for word in m.group(1).split())}
                for m in CHANWIN.finditer(self.receiver_log())]

    def peak_window(self):
        """Bytes; of stock peers too, which never leave their first window."""
        return max([WINDOW_STOCK] +
                   [int(m[1]) + int(m[2])
                    for m in ADJUST.finditer(self.receiver_log())])

    def unspent(self):
        """Bytes of credit that the sender had received and not yet sent, at
        each sample of its socket.

        Credit is on its way for half an RTT (the way back has no queue).
        What the sender wrote to its socket is that much more than channel
        data: handshake, then packet headers in a constant ratio.
        """
        samples = [json.loads(line) for line in
                   self.read("samples").splitlines()]
        rows = [(s["t_s"], s["written"]) for s in samples
                if s.get("written")]
        trace = self.window_trace()
        total = max(written for _, written in rows)
        start = max([w for t, w in rows if t < self.first_s()] or [0])
        ratio = self.spec["bytes"] / (total - start)
        result, i, granted = [], 0, WINDOW_STOCK
        for t_s, written in rows:
            while i < len(trace) and trace[i]["t_us"] / 1e6 + \
                    self.spec["rtt_us"] / 2e6 <= t_s:
                granted = trace[i]["granted"]
                i += 1
            sent = max(written - start, 0) * ratio
            if sent < self.spec["bytes"] * 0.999:
                result.append((t_s, granted - sent))
        return result

    # What it cost

    def peak_memory(self, end):
        name = {"client": "ssh", "server": "sshd-session"}[end]
        return self.result["peak_memory"][name]

    def cpu_s(self):
        """CPU time of the programs of a bare transfer: in UML that of all
        that ran in the guest, its kernel excepted."""
        return sum(map(int, self.read("lab.cpu").split())) / 1e6


def slot_us(spec):
    """Length of netem's bursts: 40 packets or 0.2 ms, but small against the
    RTT: on a LAN, none."""
    packets_us = 40 * 1514 * 8 // spec["rate_mbit"]
    return min(max(packets_us, 200), spec["rtt_us"] // 200) \
        if spec["rtt_us"] >= 10000 else 0


def with_paths(spec):
    spec = dict(spec)
    for end in ("client", "server"):
        if end in spec:
            spec[end] = os.path.join(BUILD, spec[end])
    spec.setdefault("slot_us", slot_us(spec))
    return spec


def last_count(path):
    """The last byte count in a series that is still being written."""
    try:
        with open(path) as f:
            return int(f.read().split("\n")[-2].split()[1])
    except (FileNotFoundError, IndexError):
        return 0


def run(spec, name, progress=None, timeout_s=900, cpu=0):
    """Runs one transfer on that CPU of the host; its files go to
    build/lab/NAME. progress is called with the bytes that have arrived."""
    folder = os.path.join(BUILD, "lab", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    spec = dict(spec)
    if spec.get("file"):
        spec["bytes"] = os.path.getsize(spec["file"])
        os.link(spec["file"], os.path.join(folder, "source"))
    argv = [os.path.join(HERE, "lab", "run"), "-o", folder, "-m", "8G",
            "-t", str(timeout_s), sys.executable,
            os.path.join(HERE, "transfer.py"), json.dumps(with_paths(spec))]
    with open(os.path.join(folder, "lab.log"), "w") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL,
                                   env=dict(os.environ, LAB_PIN=str(cpu)))
        while process.poll() is None:
            if progress:
                progress(last_count(os.path.join(folder, "series")))
            time.sleep(0.2)
    transfer = Transfer(spec, folder)
    if spec.get("file"):
        os.unlink(os.path.join(folder, "source"))
    if process.returncode != 0 or any(transfer.result.get("exits", [0])):
        raise LabError(f"{name}: failed, see {folder}:\n" +
                       transfer.read("lab.log")[-2000:])
    return transfer


def virtual_time():
    """Whether the lab's clock is its own; else it is this machine's."""
    backend = subprocess.run(["sh", "-c", ". ./backend.sh; lab_backend"],
                             cwd=os.path.join(HERE, "lab"), check=True,
                             capture_output=True, text=True).stdout
    return backend.strip() == "uml"


class Pool:
    """Runs transfers, as many at once as there are CPUs (two at the most:
    each has GBs of queues), in real time one after the other. start()
    returns a Future of the Transfer."""

    def __init__(self):
        self.cpus = queue.SimpleQueue()
        workers = min(os.cpu_count() or 1, 2) if virtual_time() else 1
        for cpu in range(workers):
            self.cpus.put(cpu)
        self.executor = concurrent.futures.ThreadPoolExecutor(workers)

    def start(self, spec, name, progress=None):
        return self.executor.submit(self._run, spec, name, progress)

    def _run(self, spec, name, progress):
        cpu = self.cpus.get()
        try:
            return run(spec, name, progress, cpu=cpu)
        finally:
            self.cpus.put(cpu)
