"""The kernel's TCP buffers: what the package's do, against buffers that are
raised as far as they can be; and what ssh -v says of one that is too small."""

import re

import pytest

from scene import scenario
from spec import GB, transfer


def copy(direction, **fields):
    return transfer("1g-200ms", direction, GB, tool="scp", **fields)


@scenario("buffers-get", "netem", raised=copy("get"),
          package=copy("get", tcp_buffers="package"))
@scenario("buffers-put", "netem", raised=copy("put"),
          package=copy("put", tcp_buffers="package"))
@pytest.mark.page("copies")
def test_packages_buffers_are_as_good_as_raised(scene, measured):
    """Time of the whole command, of that with buffers of 512 MiB."""
    measured.at_most("package, of raised",
                     scene["package"].result["seconds"] /
                     scene["raised"].result["seconds"], 1.05, "{:.3f}")


def small(host, name):
    """1 MiB at most"""
    return transfer("1g-200ms", "put", 30 * 10**6,
                    sysctls={host: {name: f"4096 16384 {1 << 20}"}})


SAID = re.compile(r"limited by the receiver's buffer for (\d+) % of it, by the "
                  r"send buffer for (\d+) %(?:: raise net\.ipv4\.(.*))?$", re.M)
PACKAGE = "(package openssh-bdp-tuning)"


@scenario("says-peers-receive-buffer", "netem",
          f"tcp_rmem on 10.77.2.1 {PACKAGE}", copy=small("server", "tcp_rmem"))
@scenario("says-our-send-buffer", "netem", f"tcp_wmem here {PACKAGE}",
          copy=small("client", "tcp_wmem"))
@scenario("says-no-buffer", "netem", "",
          copy=transfer("100m-100ms", "put", 60 * 10**6))
def test_log_names_the_limiting_buffer(scene, measured):
    log = scene["copy"].read("ssh.log").replace("\r", "")
    (receiver, sender, remedy), = SAID.findall(log)
    measured.holds(f"receiver {receiver} %, sender {sender} %: {remedy}",
                   remedy == scene.case)
