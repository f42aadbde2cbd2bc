"""What the tests of faults share: a file moved by ssh, scp or sftp through the
relay, how that came out, and where the outcome is written down."""

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess

import pytest

import lab
from loopback import (HOST, BUILD, FRONT, OURS, PORT, STOCK, Relay,   # noqa: F401
                      place, read, wait_until)

RESULTS = os.path.join(BUILD, "faults")
SIZE = 8 << 20                          # bytes
TREES = {"ours": OURS, "stock": STOCK}
DIRECTIONS = ("get", "put")
COPIES = [(tool, direction) for tool in ("ssh", "scp", "sftp")
          for direction in DIRECTIONS]
slow = pytest.mark.level("netem")       # not in "make check"
each = pytest.mark.parametrize("who", ["ours",
                                       pytest.param("stock", marks=slow)])

def runs(*quick, of=COPIES):
    """The copies, and which of them are quick, with our own programs."""
    return pytest.mark.parametrize("who, tool, direction", [
        pytest.param(who, *copy, marks=() if (who, copy) in
                     [("ours", q) for q in quick] else slow)
        for who in TREES for copy in of])


# What a user may be told; one of these, and not a page of it
LOST = ("Connection (to .* )?(reset|closed)|Broken pipe|closed by remote host|"
        "Connection lost")
CORRUPT = ("Corrupted MAC|message authentication code incorrect|"
           "Packet corrupt|[Bb]ad packet length|padding error")
TIMEOUT = "Timeout, server .* not responding"
LINES = 8
REAL_TIME = ("chrt", "-r", "1")
WRONG = "wrong data, exit 0"


@contextlib.contextmanager
def busy(place):                                        # noqa: F811
    """A loop for each CPU. What stands for the path has real-time priority
    beside it (REAL_TIME): skips the test if nobody may have that."""
    if subprocess.run([*REAL_TIME, "true"], check=False).returncode:
        pytest.skip("no real-time priority for us here")
    loops = [place.start(["sh", "-c", "while :; do :; done"])
             for _ in range(max(2, os.cpu_count()))]
    yield
    for loop in loops:
        assert loop.poll() is None
        loop.kill()
        loop.wait()


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def record(fault, who, outcome, count=1):
    """A line for hpn-tests/results: who is ours or stock, outcome "goes
    on" or "error"."""
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, "faults.jsonl"), "a") as f:
        json.dump({"fault": fault, "who": who, "outcome": outcome,
                   "runs": count}, f)
        f.write("\n")


class Ends:
    """A server, a file to move, and where it goes to."""

    def __init__(self, place, who="ours", *options, size=SIZE):  # noqa: F811
        self.place, self.who, self.tree = place, who, TREES[who]
        if not os.path.exists(f"{self.tree}/sshd"):
            pytest.skip(f"no {os.path.relpath(self.tree, lab.TOP)}")
        self.source, self.dest = place.path("source"), place.path("dest")
        if not os.path.exists(self.source):
            with open(self.source, "wb") as f:
                f.write(os.urandom(size))
        self.wanted = sha256(self.source)
        self.sshd = place.sshd(
            self.tree, f"Subsystem sftp {self.tree}/sftp-server", *options)
        self.before = set(place.processes())

    def argv(self, tool, direction, *options, port=FRONT):
        """(Keepalives: where a length was changed, the receiver waits for
        what nobody sends.)"""
        ssh = self.place.ssh(           # the first of an option counts
            *options, "-o", "ServerAliveInterval=20", "-o",
            "ConnectTimeout=120", tree=self.tree, port=port, level="INFO")
        if tool == "ssh":
            return ssh + [HOST, f"cat {self.source}" if direction
                          == "get" else f"cat > {self.dest}"]
        common = [f"{self.tree}/{tool}", "-S", ssh[0], "-o", f"Port={port}",
                  *ssh[1:ssh.index("-p")], *ssh[ssh.index("-p") + 2:]]
        if tool == "sftp":
            batch = self.place.path("batch")
            with open(batch, "w") as f:
                f.write(f"{direction} {self.source} {self.dest}\n")
            return common[:1] + ["-b", batch] + common[1:] + \
                [HOST]
        remote = f"{HOST}:"
        return common + ([remote + self.source, self.dest] if direction ==
                         "get" else [self.source, remote + self.dest])

    def start(self, tool, direction, *options, port=FRONT):
        if os.path.exists(self.dest):
            os.unlink(self.dest)
        ends = {}
        if tool == "ssh":
            name = "stdout" if direction == "get" else "stdin"
            ends[name] = open(self.dest, "wb") if direction == "get" else \
                open(self.source, "rb")
        process = self.popen(
            self.argv(tool, direction, *options, port=port), **ends)
        for f in ends.values():
            f.close()
        return process

    def popen(self, argv, **ends):
        return self.place.start(argv, text=True, **{
            "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
            "stderr": subprocess.PIPE, **ends})

    def outcome(self, process, then=None):
        """How a copy came out: "goes on" if it says that all is well, and it
        is; "error" if it says what was wrong. Nothing else will do. (then is
        called before what is left is looked for.)"""
        try:
            said = process.communicate(timeout=300)[1]
        except subprocess.TimeoutExpired:
            process.kill()      # end() kills its children
            pytest.fail(f"not done after 300 s: {process.args}")
        lines = [line for line in said.splitlines()
                 if "Permanently added" not in line]
        if then:
            then()
        self.none_left()
        if process.returncode == 0:
            if sha256(self.dest) == self.wanted:
                return "goes on", lines
            # Stock OpenSSH's ssh is known to: see patches/README.md
            assert self.who == "stock", f"wrong data, and no error: {lines}"
            return WRONG, lines
        # As upstream's: ended by the signal while it writes to an ssh that
        # has gone, sftp can't say anything
        broken = process.returncode == -signal.SIGPIPE
        assert (process.returncode > 0 or broken) and (
            lines or broken and f"{self.tree}/sftp" in process.args), \
            f"exit {process.returncode}: {said}"
        assert len(lines) <= LINES, \
            f"exit {process.returncode}, {len(lines)} lines: {said}"
        return "error", lines

    def log(self):
        return read(self.sshd.log)

    def none_left(self):
        wait_until("all processes of the connection to be gone",
                   lambda: set(self.place.processes()) <= self.before)

    def held(self, start, data="client", at=SIZE // 4):
        """What start() starts, once `at` bytes of data have come from that end
        and the relay holds the rest; and the relay."""
        relay = Relay(self.place, [{"from": data, "at": at, "do": "hold"}])
        self.before.add(relay.process.pid)
        process = start()
        assert relay.next()["do"] == "hold"
        return process, relay

    def held_copy(self, tool, direction, *options):
        return self.held(lambda: self.start(tool, direction, *options),
                         "server" if direction == "get" else "client")

    def through(self, script, tool, direction, *options):
        """A copy through the relay: its outcome, what was said to the user,
        what the relay has done."""
        relay = Relay(self.place, script)
        self.before.add(relay.process.pid)
        outcome, lines = self.outcome(self.start(tool, direction, *options))
        return outcome, lines, relay.said()


def some_line(lines, words):
    return any(re.search(words, line) for line in lines)
