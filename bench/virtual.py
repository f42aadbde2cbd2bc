"""Measures a run in the lab: what it transfers, and what is told of it."""

import bisect
import math
import re

import project                          # noqa: F401
import lab
import runs
from links import payload_mb_s
from measure import Missing
from spec import PATH_FIELDS, Spec, steady_after_s

TREE = [10, 20, 4096]       # directories, files in each, bytes in each
ECHO_S = 10                 # of bulk data beside the keystrokes
POINTS = 120                # of a series that is kept, at most
FULL = 0.9                  # of what a link carries is its full rate


def spec(r, link, trees, copiers=None):
    """The run as a Spec of hpn-tests."""
    found = {f: link[f] for f in PATH_FIELDS if f in link}
    found.update(tool=r["tool"], direction=r["direction"],
                 bytes=link["bytes"], seed=r["repetition"])
    if r["tool"] != "raw":
        client = r["client"]
        if r["tool"] == "copier":
            client, found["command"] = r["server"], copiers[client]
        # peers may have a port of their own
        found.update(client=trees[client], server=trees[r["server"]],
                     ssh_options=["Port 22"], sshd_options=["Port 22"])
        if "cipher" in link:
            found["cipher"] = link["cipher"]
    if "load" in r:
        load = runs.LOADS[r["load"]]
        found["bytes"] = load.bytes
        if load.tree:
            found["tree"] = load.tree
    if r["kind"] == "copy":
        found["logins"] = 0     # the first login, without ARP
    if r["kind"] == "setup":
        found["bytes"] = 1
    elif r["kind"] == "files":
        found.update(tree=TREE, bytes=TREE[0] * TREE[1] * TREE[2])
    elif r["kind"] == "echo":
        found["bytes"] = link["rate_mbit"] * 125000 * ECHO_S
        if r["tool"] != "raw":
            found.update(channels=1, shell={"every_s": 0.05})
    return Spec(**found)


def to_full_rate_s(series, link):
    """Seconds from the first byte until 90 % of what the link carries come in
    a round trip (or 0.1 s); None if that never happens."""
    span_s = max(link["rtt_us"] / 1e6, 0.1)
    need = FULL * payload_mb_s(link) * 1e6 * span_s
    times = [t for t, _ in series.rows]
    for i, (t, n) in enumerate(series.rows):
        k = bisect.bisect_right(times, t + span_s) - 1
        if n > 0 and series.rows[k][1] - n >= need:
            return t - series.first_s()
        if times[-1] < t + span_s:
            return None
    return None


def late_mb_s(transfer):
    """Of the second half of the bytes; None where all came in a burst."""
    try:
        return transfer.late()
    except (Missing, StopIteration):
        return None


def in_flight(transfer):
    """(seconds, bytes) that the sender's TCP had under way."""
    rows = []
    for t_s, text in transfer.sender_samples():
        found = [(int(n), int(mss)) for mss, n in re.findall(
            r"\bmss:(\d+)[^\n]*?\bunacked:(\d+)", text)]
        rows.append((t_s, max([n * mss for n, mss in found], default=0)))
    return rows


def thin(rows, first_s, rtt_s):
    """The first and the last, and between them the last of each round trip, or
    of a few; in seconds since first_s."""
    rows = [(t - first_s, n) for t, n in rows if t >= first_s]
    if not rows:
        return []
    slot_s = math.ceil(rows[-1][0] / rtt_s / POINTS) * rtt_s or 1
    kept = rows[:1] + [
        row for row, after in zip(rows[1:], rows[2:])
        if (after[0] + 1e-6) // slot_s > (row[0] + 1e-6) // slot_s]
    return [[round(t, 3), int(n)] for t, n in
            kept + rows[-1:] * (len(rows) > 1)]


def bulk(r, link, transfer):
    series = transfer.series
    figures = {"goodput_mb_s": series.goodput(),
               "late_mb_s": late_mb_s(transfer),
               "to_full_rate_s": to_full_rate_s(series, link),
               "lost_share": transfer.lost()}
    if r["tool"] != "raw":
        figures.update(
            peak_window_bytes=transfer.peak_window(),
            client_rss_bytes=transfer.peak_memory("client"),
            server_rss_bytes=transfer.peak_memory("server"))
    first_s = series.first_s()
    rtt_s = link["rtt_us"] / 1e6
    kept = {"arrived_bytes": thin(series.rows, first_s, rtt_s),
            "in_flight_bytes": thin(in_flight(transfer), first_s, rtt_s)}
    if window := [(w["t_us"] / 1e6, w["target"])
                  for w in transfer.window_trace()]:
        kept["window_bytes"] = thin(window, first_s, rtt_s / 4)
    return figures, kept


def setup(r, link, transfer):
    """In round trips: virtual time has no others, nobody waits for a CPU."""
    rtt_s = link["rtt_us"] / 1e6
    return {"first_byte_rtt": (transfer.series.first_s() -
                               transfer.result["start_s"]) / rtt_s,
            "exit_rtt": transfer.result["seconds"] / rtt_s}, {}


def files(r, link, transfer):
    return {"files_per_s": TREE[0] * TREE[1] / transfer.result["seconds"]}, {}


def echo(r, link, transfer):
    """Once slow start is over."""
    figures = {"goodput_mb_s": transfer.goodput()}
    if r["tool"] == "raw":
        figures["loaded_rtt_ms"] = transfer.loaded_rtt_ms()
        return figures, {}
    start_s = transfer.series.first_s() + steady_after_s(transfer.spec)
    echoes = sorted(ms for t_s, ms in transfer.result["echo_ms"]
                    if t_s > start_s)
    if not echoes:
        raise Missing("no keystroke had its echo")
    for name, q in (("echo_p50_ms", 0.50), ("echo_p99_ms", 0.99)):
        figures[name] = echoes[int(len(echoes) * q)]
    return figures, {}


def copy(r, link, transfer):
    """Of the whole command, login included."""
    return {"command_s": transfer.result["seconds"]}, {}


MEASURES = {"goodput": bulk, "setup": setup, "files": files, "echo": echo,
            "copy": copy}


def start(pool, r, link, trees, name, copiers=None):
    """A Future of the transfer."""
    return pool.start(spec(r, link, trees, copiers), name)


def figures_of(r, link, transfer):
    try:
        return MEASURES[r["kind"]](r, link, transfer)
    except (Missing, ValueError, StopIteration) as e:
        raise lab.LabError(f"nothing to measure: {e}") from None
