"""Trees. Of many small files round trips count, of larger ones the rate."""

import math

from scene import scenario, scenarios
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


@scenarios(*(
    (f"small-files-{tool}-{direction}{name}",
     "check" if (tool, direction, name) == ("scp", "put", "") else "netem",
     GOAL, {"ours": files("1g-200ms", tool, direction, "openssh", server)})
    for name, server in (("", "openssh"), ("-stock", "stock"))
    for tool in ("scp", "sftp") for direction in ("get", "put")))
@scenario("small-files-scp-3", "netem", GOAL_BETWEEN, ours=files(
    "1g-200ms", "scp-3", "get", "openssh", "openssh"))
def test_small_files_take_few_round_trips(scene, measured):
    """1,000 files of 4 KiB in 20 directories."""
    t = scene["ours"]
    measured.at_most("round trips", t.result["seconds"] / 0.2, scene.case,
                     "{:.1f}")


@scenario("many-directories", "netem", wide=transfer(
    "1g-200ms", "get", 12000 * 1024, tree=[150, 80, 1024], tool="scp"),
    deep=transfer("1g-200ms", "get", 12000 * 1024, tree=[20, 600, 1024],
                  tool="scp"))
def test_directories_leave_room_for_files(scene, measured):
    """One may stay open until its files are copied."""
    wide, deep = (scene[key].result["seconds"] for key in ("wide", "deep"))
    measured.at_most(f"time of 12,000 files in 150 directories, of {deep:.1f} "
                     "s in 20", wide / deep, 1.5, "{:.2f}")


@scenarios(*(
    (f"small-files-lan-{tool}-{direction}", "netem", None,
     {side: files("1g-200us", tool, direction, side, side)
      for side in ("openssh", "stock")})
    for tool in ("scp", "sftp") for direction in ("get", "put")))
def test_small_files_take_no_longer_on_a_lan(scene, measured):
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


@scenarios(*((f"files-64k-{direction}", "netem", None,
              {"tree": whole("1g-200ms", [20, 50, 65536], direction)["tree"]})
             for direction in ("get", "put")))
def test_middle_files_have_the_paths_rate(scene, measured):
    """1,000 of 64 KiB: 30 round trips, and the time that their bytes take."""
    least_s = 30 * 0.2 + 1000 * 65536 * 8 / 1e9
    measured.at_most("of that", (scene["tree"].result["seconds"] - LOGIN_S) /
                     least_s, 1.3, "{:.2f}")


@scenarios(*(
    (f"files-{name}-{direction}", level, None, whole(path, shape, direction))
    for name, level, path, shape in (
        ("24m", "netem", "1g-200ms", [1, 40, 24 * MIB]),
        ("100m", "netem", "1g-200ms", [1, 10, 100 * MIB]),
        ("50m-10g", "grid", "10g-100ms", [4, 50, 50 * MIB]))
    for direction in ("get", "put")))
def test_large_files_have_the_rate_of_one(scene, measured):
    """Of one with as many bytes, without the login."""
    tree, one = (scene[key].result["seconds"] - LOGIN_S
                 for key in ("tree", "one"))
    measured.at_least("rate, of one file's", one / tree, 0.85, "{:.3f}")
