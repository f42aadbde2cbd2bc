"""Trees. Of many small files round trips count, of larger ones the rate."""

import math

from scene import scenario
from spec import MIB, transfer

TREE = [20, 50, 4096]
LOGIN_S = 6 * 0.2


# Round trips of 200 ms in 8 s, ssh's login included, where one file after the
# other takes 4 each.
GOAL = 40
GOAL_BETWEEN = 60           # two logins, one after the other: 56.5 measured


def files(path, tool, direction, client, server):
    return transfer(path, direction, math.prod(TREE), tree=TREE, tool=tool,
                    client=client, server=server)


def tree(tool, direction, server="openssh"):
    return {"ours": files("1g-200ms", tool, direction, "openssh",
                          server)}


def on_lan(tool, direction):
    return {side: files("1g-200us", tool, direction, side, side)
            for side in ("openssh", "stock")}


@scenario("small-files-scp-get", "netem", GOAL, **tree("scp", "get"))
@scenario("small-files-scp-put", "check", GOAL, **tree("scp", "put"))
@scenario("small-files-sftp-get", "netem", GOAL, **tree("sftp", "get"))
@scenario("small-files-sftp-put", "netem", GOAL, **tree("sftp", "put"))
@scenario("small-files-scp-get-stock", "netem", GOAL,
          **tree("scp", "get", "stock"))
@scenario("small-files-scp-put-stock", "netem", GOAL,
          **tree("scp", "put", "stock"))
@scenario("small-files-sftp-get-stock", "netem", GOAL,
          **tree("sftp", "get", "stock"))
@scenario("small-files-sftp-put-stock", "netem", GOAL,
          **tree("sftp", "put", "stock"))
@scenario("small-files-scp-3", "netem", GOAL_BETWEEN, **tree("scp-3", "get"))
def test_small_files(scene, measured):
    """1,000 files of 4 KiB in 20 directories."""
    t = scene["ours"]
    measured.at_most("round trips", t.result["seconds"] / 0.2, scene.case,
                     "{:.1f}")


@scenario("small-files-lan-scp-get", "netem", **on_lan("scp", "get"))
@scenario("small-files-lan-scp-put", "netem", **on_lan("scp", "put"))
@scenario("small-files-lan-sftp-get", "netem", **on_lan("sftp", "get"))
@scenario("small-files-lan-sftp-put", "netem", **on_lan("sftp", "put"))
def test_small_files_on_a_lan(scene, measured):
    """What overlaps costs nothing where round trips do not."""
    ours, stock = (scene[side].result["seconds"]
                   for side in ("openssh", "stock"))
    measured.at_most(f"time, of stock's {stock:.2f} s", ours / stock, 1.0,
                     "{:.2f}")


def whole(path, shape, direction, **fields):
    """A tree, and one file of as many bytes"""
    count = math.prod(shape)
    return {key: transfer(path, direction, count, tool="scp", **fields,
                          **({"tree": shape} if key == "tree" else {}))
            for key in ("tree", "one")}


@scenario("files-64k-get", "netem", **whole(
    "1g-200ms", [20, 50, 65536], "get"))
@scenario("files-64k-put", "netem", **whole(
    "1g-200ms", [20, 50, 65536], "put"))
def test_middle_files(scene, measured):
    """1,000 files of 64 KiB, of 30 round trips and the time that their bytes
    take at 1 Gbit/s"""
    least_s = 30 * 0.2 + 1000 * 65536 * 8 / 1e9
    measured.at_most("of that", (scene["tree"].result["seconds"] - LOGIN_S) /
                     least_s, 1.3, "{:.2f}")


LARGE = [1, 40, 24 * MIB]


@scenario("files-24m-get", "netem", **whole("1g-200ms", LARGE, "get"))
@scenario("files-24m-put", "netem", **whole("1g-200ms", LARGE, "put"))
@scenario("files-100m-get", "netem", **whole(
    "1g-200ms", [1, 10, 100 * MIB], "get"))
@scenario("files-100m-put", "netem", **whole(
    "1g-200ms", [1, 10, 100 * MIB], "put"))
@scenario("files-50m-10g-get", "grid", **whole(
    "10g-100ms", [4, 50, 50 * MIB], "get"))
@scenario("files-50m-10g-put", "grid", **whole(
    "10g-100ms", [4, 50, 50 * MIB], "put"))
def test_large_files(scene, measured):
    """The rate of a tree, of that of one file of as many bytes, without the
    login"""
    tree, one = (scene[key].result["seconds"] - LOGIN_S
                 for key in ("tree", "one"))
    measured.at_least("rate, of one file's", one / tree, 0.85, "{:.3f}")
