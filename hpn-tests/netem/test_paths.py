"""Paths that change in mid-transfer."""

import json

from scene import scenario
from spec import GB, raw_of, transfer

RTT_CHANGES = [[4, {"rtt_us": 200000}], [14, {"rtt_us": 20000}]]
RATE_CHANGES = [[4, {"rate_mbit": 100}], [10, {"rate_mbit": 1000}]]


def changing(path, count, changes, cc):
    spec = transfer(path, "get", count, changes=changes, cc=cc)
    return {"ours": spec, "raw": raw_of(spec)}


@scenario("rtt-changes-cubic", "netem",
          **changing("1g-20ms", 9 * GB // 5, RTT_CHANGES, "cubic"))
# (Not under BBR: it takes the RTT for 20 ms for 10 s more, and falls to 2 % of
# the path with raw TCP as with ours.)
@scenario("rate-changes-cubic", "check",
          **changing("1g-100ms", GB, RATE_CHANGES, "cubic"))
@scenario("rate-changes-bbr", "netem",
          **changing("1g-100ms", GB, RATE_CHANGES, "bbr"))
def test_recovers(scene, measured):
    """10 RTT after each change, raw TCP's goodput again (over 1 s or 10 RTT,
    or until the next)."""
    ours, raw = scene["ours"], scene["raw"]
    path, changes = ours.spec, ours.spec.changes
    assert len(ours.read("changes").splitlines()) == len(changes)
    assert len(raw.read("changes").splitlines()) == len(changes)
    for i, (at_s, fields) in enumerate(changes):
        path = path.but(**fields)
        rtt_s = path.rtt_us / 1e6
        start_s = at_s + 10 * rtt_s
        end_s = min([start_s + max(1, 10 * rtt_s)] +
                    [c[0] for c in changes[i + 1:]] +
                    [ours.series.seconds(), raw.series.seconds()])
        assert end_s - start_s >= 0.5, "not long enough to see"
        measured.at_least(
            f"10 RTT after {json.dumps(fields)}, of raw TCP",
            ours.series.between(start_s, end_s) /
            raw.series.between(start_s, end_s), 0.90, "{:.1%}")
