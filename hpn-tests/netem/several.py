"""Copies over several streams, where TCP's buffers are as Linux has them at
both ends and the server is stock, and the same of stock's scp."""

from spec import GB, transfer


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
    return scene[key].result["seconds"]


def compare(scene, measured):
    """Time of the whole command, of stock's"""
    for key, most in (("four", 0.32), ("eight", 0.19)):
        measured.at_most(f"{key}: of stock's time", seconds(scene, key) /
                         seconds(scene, "stock"), most, "{:.3f}")
