"""Runs transfers in the lab and reads what they leave: the one piece of
plumbing under the demo and the tests.

A transfer is a Spec: spec.py has its fields."""

import concurrent.futures
import functools
import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
MACHINE = os.path.join(TOP, "hpn-tests", "lab")
GUEST = os.path.join(MACHINE, "guest")
sys.path.insert(0, GUEST)
import payload                          # noqa: E402
from measure import Transfer            # noqa: E402

BUILD = os.path.join(TOP, os.environ.get("BDP_BUILD", "build"))
LAB = os.path.join(BUILD, "lab")
TREES = ("client", "server")


class LabError(Exception):
    pass


def slot_us(path):
    """Length of netem's bursts: 40 packets or 0.2 ms, but small against the
    RTT: on a LAN, none."""
    packets_us = int(40 * 1514 * 8 // path.rate_mbit)
    return min(max(packets_us, 200), path.rtt_us // 200) \
        if path.rtt_us >= 10000 else 0


def with_paths(spec):
    """The dict that lab/guest gets of a Spec, or of a Path alone: with where
    the programs are."""
    words = dict(spec.given(), keygen=os.path.join(BUILD, "openssh"))
    for end in TREES:
        if end in words:
            words[end] = os.path.join(BUILD, words[end])
    if "trace" in words:
        words["trace"] = os.path.join(BUILD, "sshtrace", "sshtrace")
    words.setdefault("slot_us", slot_us(spec))
    return words


def trees(spec):
    """The trees below build/ that the transfer needs."""
    return [tree for tree in (spec.client, spec.server) if tree]


def missing_tree(spec):
    """The name of a tree that the transfer needs and that is not built."""
    return next((tree for tree in trees(spec) if not os.path.exists(
        os.path.join(BUILD, tree, ".built"))), None)


def key(spec):
    """What a result depends on: the transfer, the programs, the lab."""
    parts = [json.dumps(spec.given(), sort_keys=True), str(virtual_time())]
    files = [os.path.join(folder, name)
             for folder, _, names in os.walk(MACHINE)
             for name in names if not name.endswith(".pyc")]
    files += [os.path.join(BUILD, tree, ".built") for tree in trees(spec)]
    parts += [f"{f} {os.stat(f).st_mtime_ns}" for f in sorted(files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def check(transfer):
    """Raises LabError for a transfer that failed or damaged its bytes."""
    spec, result = transfer.spec, transfer.result
    if spec.kill:
        return                          # what is expected, the test knows
    if any(result.get("exits", [0])):
        raise LabError(f"exit status {result['exits']}:\n" +
                       transfer.read("ssh.log")[-500:] +
                       transfer.read("lab.log")[-1000:])
    if len(transfer.read("changes").splitlines()) != len(spec.changes or []):
        raise LabError("the path did not change as it was to")
    if spec.tree and result.get("sha256"):
        raise LabError(f"differs: {result['sha256'][0]}")
    for digest in result.get("sha256", []):
        if digest != payload.digest(spec.bytes):
            raise LabError("bytes arrived damaged")


def launch(name, command, timeout_s, memory, cpu="", seed=1):
    """Runs Python with these words in the lab, on that CPU of the host. What it
    leaves is in the folder of that name, what it says there in lab.log. Raises
    LabError if it fails."""
    folder = os.path.join(LAB, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = os.path.join(folder, "lab.log")
    with open(path, "w") as log:
        done = subprocess.run(
            [os.path.join(MACHINE, "run"), "-o", folder, "-m", memory,
             "-s", str(seed), "-t", str(timeout_s), sys.executable, "-B",
             *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            env=dict(os.environ, LAB_PIN=str(cpu)))
    if done.returncode != 0:
        with open(path, errors="replace") as log:
            raise LabError(f"{name}: failed, see {folder}: "
                           f"{log.read()[-2000:]}")
    return folder


def in_lab(program, words, name, timeout_s, memory="8G", cpu=""):
    """Runs a program in the lab, with words as its argument. What it left in
    result.json."""
    folder = launch(name, [program, json.dumps(words)], timeout_s, memory, cpu)
    with open(os.path.join(folder, "result.json")) as f:
        return json.load(f)


def run(spec, name, cpu=0, reuse=False):
    """Runs one transfer on that CPU of the host; its files go to
    build/lab/NAME. With reuse, one that is there and was made just so will
    do."""
    folder = os.path.join(LAB, name)
    known = key(spec)
    transfer = Transfer(spec, folder)
    if reuse and transfer.read("key") == known:
        return transfer
    # Files may take 3/4 of the memory. The copy has no holes.
    files_gib = (spec.tool != "ssh") * spec.bytes / 0.75 / (1 << 30)
    launch(name, [os.path.join(GUEST, "transfer.py"),
                  json.dumps(with_paths(spec))],
           900 + int(spec.bytes * max(1e-7, 8e-6 / spec.rate_mbit)),
           f"{max(8, int(files_gib) + 3)}G", cpu, spec.seed or 1)
    transfer = Transfer(spec, folder)
    try:
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
                             cwd=MACHINE, check=True, capture_output=True,
                             text=True).stdout
    return backend.strip() == "uml"


class Pool:
    """Runs transfers, as many at once as there are CPUs (two at the most:
    each has GBs of queues), in real time one after the other. start()
    returns a Future of the Transfer; submit() that of any function, which
    gets a CPU as its last argument."""

    def __init__(self):
        self.cpus = queue.SimpleQueue()
        workers = min(len(os.sched_getaffinity(0)), 2) if virtual_time() else 1
        for cpu in range(workers):
            self.cpus.put(cpu)
        self.executor = concurrent.futures.ThreadPoolExecutor(workers)

    def submit(self, function, *arguments):
        return self.executor.submit(self._run, function, *arguments)

    def start(self, spec, name, reuse=False):
        return self.submit(lambda cpu: run(spec, name, cpu, reuse))

    def _run(self, function, *arguments):
        cpu = self.cpus.get()
        try:
            return function(*arguments, cpu)
        finally:
            self.cpus.put(cpu)
