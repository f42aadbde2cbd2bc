"""scp over several connections, where TCP's buffers are as Linux has them at
both ends and the server is stock."""

import statistics

import pytest

from scene import scenario
from spec import GB, transfer

pytestmark = pytest.mark.page("copies")


def copy(direction, **fields):
    return transfer("1g-200ms", direction, GB, tool="scp", server="stock",
                    tcp_buffers="default", **fields)


def pair(direction):
    """Stock's scp, and ours with eight connections"""
    return {"stock": copy(direction, client="stock"),
            "eight": copy(direction, connections=8)}


def seconds(scene, key):
    return scene[key].result["seconds"]


@scenario("connections-get", "netem", **pair("get"))
@scenario("connections-put", "netem", **pair("put"))
def test_eight(scene, measured):
    """Time of the whole command, of stock's"""
    measured.at_most("eight: of stock's time", seconds(scene, "eight") /
                     seconds(scene, "stock"), 1 / 5, "{:.3f}")


LOSS_SEEDS = (1, 2, 3)


@scenario("connections-loss", "netem", **{
    f"{key}{seed}": copy("put", loss="0.1%", seed=seed, **fields)
    for seed in LOSS_SEEDS for key, fields in {
        "one": {}, "eight": {"connections": 8}}.items()})
def test_loss(scene, measured):
    """Losses keep the congestion window of CUBIC small: each connection has
    one of its own. Times are of the whole command."""
    ratios = [seconds(scene, f"one{seed}") / seconds(scene, f"eight{seed}")
              for seed in LOSS_SEEDS]
    measured.note("goodput of eight, of that of one, seed by seed: " +
                  ", ".join(f"{ratio:.2f}" for ratio in ratios))
    measured.at_least("median", statistics.median(ratios), 5, "{:.2f}")
