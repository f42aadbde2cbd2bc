"""Reads links.tsv, and copy.tsv: the links over which a file is copied."""

import os
import re

from project import HERE, BenchError
from spec import PATH_FIELDS, Path

TABLE = os.path.join(HERE, "links.tsv")
COPIES = os.path.join(HERE, "copy.tsv")
BUFFERS = ("raised", "package", "default")     # of TCP
COLUMNS = ["name", "rate_mbit", "rtt_ms", "loss", "cc", "cipher", "buffers",
           "mb", "what"]


def number(text, least, most):
    value = float(text)
    if not least <= value <= most:
        raise ValueError(f"{text} is not from {least} to {most}")
    return value


def parse(fields):
    """A link, in the terms of hpn-tests/harness/lab.py, with name and what."""
    if len(fields) != len(COLUMNS):
        raise ValueError(f"{len(fields)} columns, not {len(COLUMNS)}")
    row = dict(zip(COLUMNS, fields))
    if not re.fullmatch(r"[a-z0-9-]+", row["name"]):
        raise ValueError(f"{row['name']!r} is no name: a-z, 0-9, -")
    link = {"name": row["name"], "what": row["what"],
            "rate_mbit": int(number(row["rate_mbit"], 1, 100000)),
            "rtt_us": int(number(row["rtt_ms"], 0.1, 10000) * 1000),
            "bytes": int(number(row["mb"], 1, 20000) * 1e6),
            "cc": row["cc"]}
    if row["cc"] not in ("cubic", "bbr"):
        raise ValueError(f"cc is cubic or bbr, not {row['cc']!r}")
    if row["loss"] != "-":
        if not re.fullmatch(r"\d+(\.\d+)?%", row["loss"]):
            raise ValueError(f"loss is like 0.1%, not {row['loss']!r}")
        link["loss"] = row["loss"]
    if row["cipher"] != "-":
        link["cipher"] = row["cipher"]
    if row["buffers"] not in BUFFERS:
        raise ValueError(f"buffers is {' or '.join(BUFFERS)}, not "
                         f"{row['buffers']!r}")
    if row["buffers"] != "raised":
        link["tcp_buffers"] = row["buffers"]
    Path(**{f: link[f] for f in PATH_FIELDS if f in link})
    return link


def read(path=TABLE):
    """The links by name, in the table's order."""
    found = {}
    with open(path) as f:
        lines = [(n, line.rstrip("\n")) for n, line in enumerate(f, 1)
                 if line.strip() and not line.startswith("#")]
    if not lines or lines[0][1].split("\t") != COLUMNS:
        raise BenchError(f"{path}: the first line is to name the columns "
                         f"{' '.join(COLUMNS)}, with tabs between")
    for n, line in lines[1:]:
        try:
            link = parse(line.split("\t"))
            if link["name"] in found:
                raise ValueError(f"{link['name']} is there already")
        except ValueError as e:
            raise BenchError(f"{path}:{n}: {e}") from None
        found[link["name"]] = link
    return found


def bdp(link):
    """Bytes in flight that fill it."""
    return link["rate_mbit"] * link["rtt_us"] / 8


def payload_mb_s(link):
    """MB/s of payload that it carries at most: 1448 bytes in a packet of
    1514."""
    return link["rate_mbit"] / 8 * 1448 / 1514
