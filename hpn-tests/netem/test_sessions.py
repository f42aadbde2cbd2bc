"""scp to a stock server: what several sessions of one connection gain, without
being asked for, and that there is one where they gain nothing."""

import math
import re

import pytest

from scene import scenario
from spec import GB, transfer

pytestmark = pytest.mark.page("copies")
AFTER_S = 12        # seconds in which sessions are added
TREE = [1, 200, 16 << 20]


def put(path="1g-200ms", count=GB, **fields):
    return transfer(path, "put", count, tool="scp",
                    **{"server": "stock", **fields})


def solid(*path, **fields):
    return put(*path, solid=1, **fields)


STOCK = put(client="stock")


@scenario("sessions-put", "netem", case=8, stock=STOCK,
          ours=solid(count=3 * GB // 2))
@scenario("sessions-put-tree", "netem", case=8, stock=STOCK,
          ours=put(count=math.prod(TREE), tree=TREE))
def test_goodput(scene, measured):
    """Steady goodput, in multiples of stock's."""
    ours, stock = (scene[s].steady(AFTER_S) for s in ("ours", "stock"))
    measured.at_least("times stock's steady goodput", ours / stock,
                      scene.case, "{:.1f}")


@scenario("sessions-put-100m", case=0.8, ours=solid(count=10**8),
          one=solid(count=10**8, ssh_options=["CopySessions 1"]))
def test_time(scene, measured):
    """Seconds of the whole command, of those of one session."""
    measured.at_most("of the time of one", scene["ours"].result["seconds"] /
                     scene["one"].result["seconds"], scene.case, "{:.3f}")
    for side, count in (("ours", 0), ("one", 1)):
        said = scene[side].read("ssh.log").count(
            "Requesting no-more-sessions@openssh.com")
        measured.holds(f"{side}: no-more-sessions at once: {said}",
                       said == count)


@scenario("sessions-lan", "netem", ours=solid("1g-200us"),
          one=put("1g-200us", sessions=1))
@scenario("sessions-ours", "netem", ours=solid(server="openssh"),
          one=put(server="openssh", sessions=1))
def test_one(scene, measured):
    """More sessions that there were; time, of that of one."""
    asked = re.findall(r"(\d+) more sessions", scene["ours"].read("ssh.log"))
    measured.at_most("more sessions", sum(map(int, asked)), 0, "{:.0f}")
    measured.at_most("of the time of one", scene["ours"].result["seconds"] /
                     scene["one"].result["seconds"], 1.02, "{:.3f}")
