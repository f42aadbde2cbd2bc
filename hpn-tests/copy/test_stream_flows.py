"""scp over several streams to sshd, each through a relay: one that falls
silent, and ends far away."""

import os
import pathlib
import random
import re
import signal
import subprocess
import sys

import pytest

from stream_place import (BOTH, MIB, SIZE, goes_on, kill, kills, made_long_ago,
                          pretenders, sent_in, ssh_script, wait_for)
from loopback import HOST, OURS, PORT, SLOW_PATH, STOCK, read
from sftp_tools import content, digests, program

STREAMS = 4
LATE_S = 0.002                  # each way

# A path on which much more than 16 MiB are in flight
FAR_STREAMS = 8
FAR_LATE_S = 0.1
FAR_SIZE = 288 * MIB
FAR_RATE = "-l640000"           # 80 MB/s: a BDP of 15 MiB


class Flows:
    """Copies over some connections. Further ones ask every 2 s whether the
    server is alive, and not every 10 s."""

    def __init__(self, here, build, streams=STREAMS, late_s=LATE_S, until=""):
        self.here, self.streams = here, streams
        self.log = here.path("log")
        self.source, self.dest = (pathlib.Path(here.path(name))
                                  for name in ("source", "dest"))
        self.told, self.err = here.path("relays"), here.path("err")
        here.sshd(build, f"Subsystem sftp exec {build}/sftp-server -e -l debug "
                  f"2>> {self.log}")
        self.relay = program(
            here.path("relay"), f'echo "$$ ${{FURTHER-0}}" >> {self.told}\n'
            f"exec {sys.executable} -B {SLOW_PATH} {late_s} {PORT}")
        self.ssh = ssh_script(
            here, until,
            'export FURTHER=1; set -- -oServerAliveInterval=2 "$@"')

    def relays(self):
        """(pid, whether it is a further connection's) of each"""
        return [(int(pid), stream != "0") for pid, stream in
                map(str.split, read(self.told).splitlines())]

    def begin(self, direction, *options):
        open(self.told, "w").close()
        into = "/." if self.source.is_dir() and self.dest.is_dir() else ""
        ends = [f"{self.source}{into}", f"{HOST}:{self.dest}"] \
            if direction == "put" else \
            [f"{HOST}:{self.source}{into}", self.dest]
        return self.here.start(
            self.here.scp("-v", *(["-r"] if self.source.is_dir() else []),
                          "-o", f"ProxyCommand={self.relay}",
                          "-X", f"streams={self.streams}", *options,
                          *map(str, ends), ssh=self.ssh),
            stdin=subprocess.DEVNULL, stderr=open(self.err, "w"))

    def copy(self, _, direction, *options, **__):
        open(self.log, "w").close()
        return self.end(self.begin(direction, *options, FAR_RATE))

    def sent(self):
        return sent_in(read(self.log))

    def end(self, client):
        """Its status and what it said. A relay that has stopped may have its
        stderr still."""
        return client.wait(100), read(self.err)


@pytest.mark.parametrize("build,direction", [(OURS, "put"), (STOCK, "get")],
                         ids=["ours-put", "stock-get"])
def test_others_copy_what_a_silent_flow_left(place, build, direction):
    """Its relay keeps the connection, but forwards nothing. Its ssh notices."""
    flows = Flows(place, build, until=f"{place.path('err')}=used:=1")
    flows.source.write_bytes(content(SIZE))
    client = flows.begin(direction, "-l80000")
    wait_for(lambda: read(flows.log).count(" flags ") >= STREAMS)
    silent = next(pid for pid, further in flows.relays() if further)
    os.kill(silent, signal.SIGSTOP)
    status, error = flows.end(client)
    assert status == 0, error
    assert digests(flows.source) == digests(flows.dest)
    lost = re.findall(r"debug1: stream \d is not used: (.*?)\r?$", error, re.M)
    assert lost in (["Connection closed"],
                    ["Couldn't send packet: Broken pipe"])


@pytest.mark.parametrize("build", [OURS, STOCK], ids=["ours", "stock"])
@BOTH
def test_resume_from_far_sends_little_again(place, build, direction):
    """Of a copy that was killed in its second half."""
    flows = Flows(place, build, FAR_STREAMS, FAR_LATE_S)
    flows.source.write_bytes(content(FAR_SIZE // 2, 1) +
                             content(FAR_SIZE // 2, 2))
    made_long_ago(flows.source)
    rnd = random.Random(f"{build == OURS} {direction} "
                        f"{os.environ.get('SEED', 1)}")
    hits = 0
    while hits < kills(1):
        flows.dest.unlink(missing_ok=True)
        least = rnd.uniform(0.5, 0.8) * FAR_SIZE
        client = flows.begin(direction, FAR_RATE)
        wait_for(lambda: flows.dest.exists() and
                 flows.dest.stat().st_blocks * 512 >= least)
        who = rnd.choice(["client", "relays"])
        kill([client.pid] if who == "client" else
             [pid for pid, _ in flows.relays()])
        status = flows.end(client)[0]
        hits += status != 0         # or the copy had ended
        assert (status > 0) == (who == "relays") if status else \
            digests(flows.dest) == digests(flows.source)
        # What is on its way still comes.
        wait_for(lambda: not place.processes("ssh", "sftp-server"))
        assert pretenders(flows.source, flows.dest) == []
        goes_on(flows, direction, who)
