"""scp over several streams, where TCP's buffers are as Linux has them at
both ends and the server is stock."""

import statistics

import pytest

from scene import scenario
from several import compare, copy, seconds, several

pytestmark = pytest.mark.page("copies")


@scenario("streams-get", "netem", **several("get"))
@scenario("streams-put", "netem", **several("put"))
def test_streams(scene, measured):
    compare(scene, measured)


LOSS_SEEDS = (1, 2, 3)


@scenario("streams-loss", "netem", **{
    f"{key}{seed}": copy("put", loss="0.1%", seed=seed, **fields)
    for seed in LOSS_SEEDS for key, fields in {
        "one": {}, "eight": {"streams": 8}}.items()})
def test_loss(scene, measured):
    """Losses keep the congestion window of CUBIC small: each stream has
    one of its own. Times are of the whole command."""
    ratios = [seconds(scene, f"one{seed}") / seconds(scene, f"eight{seed}")
              for seed in LOSS_SEEDS]
    measured.note("goodput of eight, of that of one, seed by seed: " +
                  ", ".join(f"{ratio:.2f}" for ratio in ratios))
    measured.at_least("median", statistics.median(ratios), 5, "{:.2f}")
