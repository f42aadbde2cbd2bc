"""scp -X sessions=10 to a stock server: what several sessions of one connection
gain, and that there is one where they gain nothing."""

import math
import re

from scene import scenario
from spec import GB, transfer

AFTER_S = 12        # seconds in which sessions are added
TREE = [1, 100, 16 << 20]
TEN = {"sessions": 10}


def put(path="1g-200ms", count=GB, **fields):
    return transfer(path, "put", count, tool="scp",
                    **{"server": "stock", **fields})


STOCK = put(client="stock")


@scenario("sessions-put", "netem", case=8, stock=STOCK,
          ours=put(count=3 * GB // 2, **TEN))
@scenario("sessions-put-tree", "netem", case=8, stock=STOCK,
          ours=put(count=math.prod(TREE), tree=TREE, **TEN))
def test_goodput(scene, measured):
    """Steady goodput, in multiples of stock's."""
    ours, stock = (scene[s].steady(AFTER_S) for s in ("ours", "stock"))
    measured.at_least("times stock's steady goodput", ours / stock,
                      scene.case, "{:.1f}")


@scenario("sessions-lan", "netem", ours=put("1g-200us", **TEN),
          one=put("1g-200us", sessions=1))
@scenario("sessions-ours", "netem", ours=put(server="openssh", **TEN),
          one=put(server="openssh", sessions=1))
def test_one(scene, measured):
    """More sessions that were asked for; time, of that of one."""
    asked = re.findall(r"(\d+) more sessions", scene["ours"].read("ssh.log"))
    measured.at_most("more sessions", sum(map(int, asked)), 0, "{:.0f}")
    measured.at_most("of the time of one", scene["ours"].result["seconds"] /
                     scene["one"].result["seconds"], 1.02, "{:.3f}")
