"""Runs transfers in the lab and reads what they leave: the one piece of
plumbing under the demo and the tests.

A transfer is a dict. What moves:
    tool        raw (plain TCP), ssh, scp, scp-O, scp-3 (to itself) or sftp
    direction   get (server to client) or put
    client, server   trees below build/: pristine, openssh, fixed or debian12
    bytes       how many; lab.payload says which
    tree        [directories, files in each, bytes in each], instead of bytes
    channels    so many at once, through a ControlMaster or a forwarding
    via         jump (a third host), proxycommand, L, R, D, streamlocal, or
                relay (a third host, where faults/relay.py is the path)
    cipher, ssh_options, sshd_options
    pause       [bytes, seconds]: the source has nothing for so long then
    prelude     [times, bytes, seconds]: it has so many so often, each followed
                by a wait, and then the rest
    pace        [bytes, seconds]: it has so many, then nothing for so long,
                again and again
The path (guest/net.py has the details):
    rate_mbit, rtt_us, cc, tcp_buffers   raised (the default) or default
    sysctls     {host: {name below net/ipv4: value}}
    queue_bdp   the queue, in BDPs (1), or queue_packets
    aqm         the router has fq_codel, and marks instead of dropping (ECN)
    loss, reorder, jitter_percent   as netem takes them; seed of its dice (1)
    changes     [[seconds since the first byte, {fields of the path}], ...]
What else happens:
    reader      see guest/sink.py
    second_channel   the reader stops for good: use another channel then
    shell       {"every_s": T}: keystrokes on a terminal beside
    kill        {"end": client or server, "at": bytes}
    stalls      {"what": path (what it holds up comes at once), process (that
                receives) or reader, "at": [bytes, ...], "seconds": [...]}
    disk        size of the receiver's disk, which is too small
How it is looked at:
    unspent     sample the sender's socket often
    trace       sshtrace runs at both ends
    bare        no sampling, no check, so that CPU time is ssh's own
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "guest"))
import payload                          # noqa: E402
from measure import Transfer            # noqa: E402

TOP = os.path.dirname(HERE)
BUILD = os.path.join(TOP, "build")
LAB = os.path.join(BUILD, "lab")
TREES = ("client", "server")


class LabError(Exception):
    pass


def slot_us(spec):
    """Length of netem's bursts: 40 packets or 0.2 ms, but small against the
    RTT: on a LAN, none."""
    packets_us = 40 * 1514 * 8 // spec["rate_mbit"]
    return min(max(packets_us, 200), spec["rtt_us"] // 200) \
        if spec["rtt_us"] >= 10000 else 0


def with_paths(spec):
    spec = dict(spec, keygen=os.path.join(BUILD, "openssh"))
    for end in TREES:
        if end in spec:
            spec[end] = os.path.join(BUILD, spec[end])
    if spec.get("trace"):
        spec["trace"] = os.path.join(BUILD, "sshtrace", "sshtrace")
    spec.setdefault("slot_us", slot_us(spec))
    return spec


def missing_tree(spec):
    """The name of a tree that the transfer needs and that is not built."""
    return next((spec[end] for end in TREES if end in spec and
                 not os.path.exists(os.path.join(BUILD, spec[end], ".built"))),
                None)


def key(spec):
    """What a result depends on: the transfer, the programs, the lab."""
    parts = [json.dumps(spec, sort_keys=True), str(virtual_time())]
    files = [os.path.join(folder, name) for sub in ("guest", "lab")
             for folder, _, names in os.walk(os.path.join(HERE, sub))
             for name in names if not name.endswith(".pyc")]
    files += [os.path.join(BUILD, spec[end], ".built")
              for end in TREES if end in spec]
    parts += [f"{f} {os.stat(f).st_mtime_ns}" for f in sorted(files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def last_count(path):
    """The last byte count in a series that is still being written."""
    try:
        with open(path) as f:
            return int(f.read().split("\n")[-2].split()[1])
    except (FileNotFoundError, IndexError):
        return 0


def check(transfer):
    """Raises LabError for a transfer that failed or damaged its bytes."""
    spec, result = transfer.spec, transfer.result
    if "kill" in spec or "disk" in spec:
        return                          # what is expected, the test knows
    if any(result.get("exits", [0])):
        raise LabError(f"exit status {result['exits']}:\n" +
                       transfer.read("ssh.log")[-500:] +
                       transfer.read("lab.log")[-1000:])
    if "tree" in spec and result.get("sha256"):
        raise LabError(f"differs: {result['sha256'][0]}")
    for digest in result.get("sha256", []):
        if digest != payload.digest(spec["bytes"]):
            raise LabError("bytes arrived damaged")


def run(spec, name, progress=None, cpu=0, reuse=False):
    """Runs one transfer on that CPU of the host; its files go to
    build/lab/NAME. progress is called with the bytes that have arrived. With
    reuse, one that is there and was made just so will do."""
    folder = os.path.join(LAB, name)
    known = key(spec)
    transfer = Transfer(spec, folder)
    if reuse and transfer.read("key") == known:
        return transfer
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    timeout_s = 900 + spec["bytes"] // 10**7
    argv = [os.path.join(HERE, "lab", "run"), "-o", folder, "-m", "8G",
            "-s", str(spec.get("seed", 1)), "-t", str(timeout_s),
            sys.executable, os.path.join(HERE, "guest", "transfer.py"),
            json.dumps(with_paths(spec))]
    with open(os.path.join(folder, "lab.log"), "w") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL,
                                   env=dict(os.environ, LAB_PIN=str(cpu)))
        while process.poll() is None:
            if progress:
                progress(last_count(os.path.join(folder, "series")))
            time.sleep(0.2)
    transfer = Transfer(spec, folder)
    try:
        if process.returncode != 0:
            raise LabError(transfer.read("lab.log")[-2000:])
        check(transfer)
    except LabError as e:
        raise LabError(f"{name}: failed, see {folder}: {e}") from None
    with open(os.path.join(folder, "key"), "w") as f:
        f.write(known)
    return transfer


@functools.lru_cache(maxsize=None)
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

    def start(self, spec, name, progress=None, reuse=False):
        return self.executor.submit(self._run, spec, name, progress, reuse)

    def _run(self, spec, name, progress, reuse):
        cpu = self.cpus.get()
        try:
            return run(spec, name, progress, cpu, reuse)
        finally:
            self.cpus.put(cpu)
