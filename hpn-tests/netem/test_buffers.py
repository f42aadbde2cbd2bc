"""The kernel's TCP buffers: what the package's do, and what sshd does by
itself, against buffers that are raised as far as they can be; and what
ssh -v says of one that is too small."""

import re

import pytest

from scene import scenario
from spec import GB, transfer

HALF = {"client": "package", "server": "default"}


def copy(direction, **fields):
    return transfer("1g-200ms", direction, GB, tool="scp", **fields)


@scenario("buffers-get", "netem", raised=copy("get"),
          package=copy("get", tcp_buffers="package"),
          half=copy("get", tcp_buffers=HALF))
@scenario("buffers-put", "netem", raised=copy("put"),
          package=copy("put", tcp_buffers="package"),
          half=copy("put", tcp_buffers=HALF))
@pytest.mark.page("copies")
def test_as_good_as_raised(scene, measured):
    """Time of the whole command, of that with buffers of 512 MiB."""
    raised_s = scene["raised"].result["seconds"]
    for name in ("package", "half"):
        measured.at_most(f"{name}, of raised",
                         scene[name].result["seconds"] / raised_s, 1.05,
                         "{:.3f}")


def small(direction, host, name, **fields):
    """1 MiB at most; where that is the server's, its sshd is stock, as ours
    would raise it."""
    return transfer("1g-200ms", direction, 30 * 10**6,
                    sysctls={host: {name: f"4096 16384 {1 << 20}"}}, **fields)


PACKAGE = ", or install openssh-bdp-tuning there"
SAID = re.compile(r"the (\w+)'s TCP buffer was full (\d+) % of the time: "
                  r"raise net\.ipv4\.(\w+) on ([\w ]+)(, .*)?$", re.M)


@scenario("says-our-receive-buffer", "netem",
          ("receiver", "tcp_rmem", "this machine"),
          copy=small("get", "client", "tcp_rmem"))
@scenario("says-peers-receive-buffer", "netem",
          ("receiver", "tcp_rmem", "server"),
          copy=small("put", "server", "tcp_rmem", server="stock"))
@scenario("says-no-buffer", "netem", None,
          copy=transfer("100m-100ms", "put", 60 * 10**6))
def test_ssh_says(scene):
    said = SAID.findall(scene["copy"].read("ssh.log").replace("\r", ""))
    if scene.case is None:
        assert said == []
        return
    (end, percent, sysctl, host, more), = said
    assert (end, sysctl, host) == scene.case and more == PACKAGE
    assert 50 <= int(percent) <= 100
