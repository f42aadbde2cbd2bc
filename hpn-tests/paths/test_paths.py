"""A path that loses all packets and tells nobody: ours ends as stock."""

import subprocess

import pytest

from loopback import OURS, STOCK, place, read, wait_until     # noqa: F401

SERVER = "10.9.0.2"
# A machine of its own for sshd
FAR = f"""ip link add far type veth peer name near netns "$1"
    ip addr add {SERVER}/24 dev far
    ip link set far up
    shift
    exec "$@" """
NEAR = "ip addr add 10.9.0.1/24 dev near; ip link set near up"
# Frames of either direction get an address that nobody has.
FORGET = f"""ip link set near arp off address 02:00:00:00:00:01
    ip neigh replace {SERVER} lladdr 02:00:00:00:00:02 nud permanent dev near"""


@pytest.mark.parametrize("tree", [STOCK, OURS], ids=["stock", "ours"])
def test_idle_session_ends_when_a_nat_has_forgotten_it(place, tree):
    """Both ends notice by their keepalives, without a packet from the path."""
    sshd = place.sshd(
        tree, f"ListenAddress {SERVER}", "ClientAliveInterval 1",
        "ClientAliveCountMax 2", prefix=(
            "unshare", "-n", "-p", "--fork", "--kill-child", "sh", "-ec", FAR,
            "sh", f"/proc/{place.holder.pid}/ns/net"))
    try:
        place.as_root(NEAR)
        session = place.start(place.ssh(
            "-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2",
            SERVER, "echo up; exec sleep 600", tree=tree, level="INFO"),
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        assert session.stdout.readline() == "up\n"
        place.as_root(FORGET)
        _, error = session.communicate(timeout=120)
        assert session.returncode == 255
        assert error.endswith(f"\nTimeout, server {SERVER} not responding.\n")
        wait_until("sshd's timeout", lambda: "Timeout, client not responding"
                   in read(sshd.log))
    finally:
        sshd.kill()
