"""scp over several connections, where nobody has tuned anything: untouched
buffers of TCP at both ends, and a server of stock."""

from scene import scenario
from spec import GB, transfer


def copy(direction, path="1g-200ms", **fields):
    fields = {"server": "stock", "tcp_buffers": "default", **fields}
    return transfer(path, direction, GB, tool="scp", **fields)


def pair(direction, **fields):
    """Stock's scp, and ours with eight connections"""
    return {"stock": copy(direction, client="stock", **fields),
            "eight": copy(direction, connections=8, **fields)}


@scenario("connections-get", "netem", **pair("get"))
@scenario("connections-put", "netem", **pair("put"))
def test_eight(scene, measured):
    """Time of the whole command, of stock's. No more than five of the eight
    connections begin in the first 30 s (sftp-spacing.h)."""
    measured.at_most("of stock's time", scene["eight"].result["seconds"] /
                     scene["stock"].result["seconds"], 1 / 3.5, "{:.3f}")
