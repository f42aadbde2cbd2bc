"""Many small files: what counts is round trips."""

import math

from scene import scenario
from spec import transfer

TREE = [20, 50, 4096]


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
