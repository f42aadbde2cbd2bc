"""Copies over several streams, where TCP's buffers are as Linux has them at
both ends and the server is stock, and the same of stock's scp."""

import statistics

import pytest

from scene import scenario
from spec import GB, MIB, transfer


def copy(direction, **fields):
    return transfer("1g-200ms", direction, **{
        "bytes": GB, "tool": "scp", "server": "stock",
        "tcp_buffers": "default", **fields})


def several(direction, **fields):
    """Stock's scp, and ours with four and with eight streams"""
    return {"stock": copy(direction, client="stock", **fields),
            "four": copy(direction, streams=4, **fields),
            "eight": copy(direction, streams=8, **fields)}


def seconds(scene, key):
    """Of the whole command"""
    return scene[key].result["seconds"]


def compare(scene, measured):
    for key, most in (("four", 0.32), ("eight", 0.19)):
        measured.at_most(f"{key}: of stock's time", seconds(scene, key) /
                         seconds(scene, "stock"), most, "{:.3f}")


@scenario("streams-get", "netem", **several("get"))
@scenario("streams-put", "netem", **several("put"))
@pytest.mark.page("copies")
def test_streams_divide_the_time(scene, measured):
    compare(scene, measured)


TREE = {"bytes": 40 * 24 * MIB, "tree": [1, 40, 24 * MIB]}


@scenario("streams-tree-get", "netem", **several("get", **TREE))
@scenario("streams-tree-put", "netem", **several("put", **TREE))
def test_streams_divide_the_time_of_a_tree(scene, measured):
    compare(scene, measured)


LOSS_SEEDS = (1, 2, 3)


@scenario("streams-loss", "netem", **{
    f"{key}{seed}": copy("put", loss="0.1%", seed=seed, **fields)
    for seed in LOSS_SEEDS for key, fields in {
        "one": {}, "eight": {"streams": 8}}.items()})
@pytest.mark.page("copies")
def test_streams_multiply_goodput_under_loss(scene, measured):
    """Losses keep the congestion window of CUBIC small: each stream has
    one of its own."""
    ratios = [seconds(scene, f"one{seed}") / seconds(scene, f"eight{seed}")
              for seed in LOSS_SEEDS]
    measured.note("goodput of eight, of that of one, seed by seed: " +
                  ", ".join(f"{ratio:.2f}" for ratio in ratios))
    measured.at_least("median", statistics.median(ratios), 5, "{:.2f}")


@scenario("streams-shared", "netem", **{
    key: copy("put", tcp_buffers="raised", shared=True, **fields)
    for key, fields in {"one": {}, "eight": {"streams": 8}}.items()})
def test_sessions_multiply_goodput_at_stock(scene, measured):
    """Eight sessions of one connection, which is there, each have a window of
    2 MiB at a stock server."""
    measured.at_least("goodput of eight, of that of one",
                      scene["one"].shared_s() / scene["eight"].shared_s(), 6,
                      "{:.2f}")
