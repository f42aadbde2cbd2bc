"""Faults: each ends with a clear error or goes on, and leaves no process."""

import re

from scene import scenario
from spec import MIB, raw_of, transfer

PATH = "1g-100ms"
COUNT = 256 * MIB
AT = 30 * 10**6                         # bytes


def killed(end, direction, tool="ssh"):
    return {"ours": transfer(PATH, direction, COUNT, tool=tool,
                             kill={"end": end, "at": AT})}


def none_left(measured, t):
    measured.holds(f"processes left: {', '.join(t.result['left']) or 'none'}",
                   not t.result["left"])


DOWN = [[1, {"down": 1}], [6, {"down": 0}]]
DOWN_SPEC = transfer(PATH, "get", COUNT, changes=DOWN)


@scenario("link-down", ours=DOWN_SPEC, raw=raw_of(DOWN_SPEC))
@scenario("link-down-put", "netem", ours=DOWN_SPEC.but(direction="put"),
          raw=raw_of(DOWN_SPEC.but(direction="put")))
def test_transfer_survives_a_link_that_is_down(scene, measured):
    """For 5 s: goes on as raw TCP does."""
    t, raw = scene["ours"], scene["raw"]
    measured.at_least("time, s: the link was down", t.series.seconds(), 5,
                      "{:.1f}")
    measured.at_most("time, of raw TCP's", t.series.seconds() /
                     raw.series.seconds(), 1.1, "{:.2f} x")
    none_left(measured, t)


LOST = "Connection (reset|closed)|Broken pipe|lost connection|closed by remote"


@scenario("sshd-killed-get", **killed("server", "get"))
@scenario("sshd-killed-put", **killed("server", "put"))
@scenario("sshd-killed-scp-put", **killed("server", "put", "scp"))
def test_lost_server_is_an_error(scene, measured):
    """It says what it was."""
    t = scene["ours"]
    text = t.read("ssh.log") + t.read("lab.log")
    lines = [line for line in text.splitlines()
             if not line.startswith("debug") and re.search(LOST, line)]
    measured.holds(f"exit {t.result['exits']}", any(t.result["exits"]))
    measured.holds(f"error: {lines[-1] if lines else 'none'}", lines)
    none_left(measured, t)


@scenario("client-killed-get", **killed("client", "get"))
@scenario("client-killed-put", **killed("client", "put"))
def test_killed_client_leaves_no_process(scene, measured):
    """sshd sees that it is gone, and so do the commands at both ends."""
    t = scene["ours"]
    measured.holds(f"exit {t.result['exits']}", -9 in t.result["exits"])
    none_left(measured, t)


@scenario("client-alive", "netem", ours=transfer(
    "100m-1s", "get", 3 * 10**6, client="stock",
    tcp_buffers={"client": "raised", "server": "default"},
    sysctls={"server": {"tcp_wmem": "4096 16384 32768"}},
    sshd_options=["ClientAliveInterval 2", "ClientAliveCountMax 1"]))
def test_early_writes_are_no_quiet_client(scene, measured):
    """sshd's main loop wakes up to write early. It does not take that for a
    quiet client: it asks no more often than stock's, which asks once."""
    probes = scene["ours"].read("sshd.log").count("keepalive@openssh.com")
    measured.at_most("times that sshd asks", probes, 1, "{}")
