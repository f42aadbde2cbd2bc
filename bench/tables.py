"""The tables of the report and of README.md: what they say, as lists of
cells. A cell is the median; its spread follows where it is over 1 %.

tables.py [--check]: writes those of README.md from results/, or checks that
they are there, and that the pictures are of these results."""

import os
import sys
import textwrap

import project
import results as files
from documents import update
from links import BUFFERS, payload_mb_s
from results import Results
from runs import ENDS_MS, LOADS, LONG, SHARED

NAMES = {"ours": "ours", "stock": "stock", "raw": "raw TCP",
         "chain": "bare chain"}
TOOLS = {"ssh": "ssh host cat", "scp": "scp", "scp-O": "scp -O",
         "sftp": "sftp"}
WAYS = {"get": "down", "put": "up"}
NEVER = "-"                 # not measured, or not reached
BUFFERS_SAID = {None: "raised", "package": "packages", "default": "defaults"}


def digits(value):
    places = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{places}f}"


def cell(values, scale=1):
    if values is None:
        return NEVER
    median, least, most = (v * scale for v in
                           (values.median, values.least, values.most))
    if most - least <= 0.01 * abs(median):
        return digits(median)
    return f"{digits(median)} ({digits(least)}..{digits(most)})"


def median(values):
    return NEVER if values is None else digits(values.median)


def percent(values):
    return NEVER if values is None else f"{values.median:.0%}"


def rate(link):
    mbit = link["rate_mbit"]
    return f"{mbit / 1000:g} Gbit/s" if mbit >= 1000 else f"{mbit} Mbit/s"


def sides(results):
    """Columns: raw TCP, a chain, stock, ours, peers that have a server."""
    there = Results([r for r in results.records
                     if r["tool"] != "copier"]).sides()
    return ["raw"] + [s for s in ("chain", "stock", "ours") if s in there] + \
        [s for s in there if s not in NAMES]


def name(side):
    return NAMES.get(side, side)


def spread(values):
    """Of least and most, the most that any of them have."""
    return max((v.most - v.least) / v.median for v in values if v)


def headline(results, brief=False):
    """MB/s of "ssh host cat" over each link, both ends of one side; ours of
    raw TCP. brief: no congestion control, and the spread has a column of its
    own, the widest of the row."""
    found = results.select(kind="goodput", direction="get")
    columns = sides(found)
    rows = [["link", "rate", "RTT, ms", "loss"] + ["TCP"] * (not brief) +
            [name(s) for s in columns] + ["of raw"] + ["spread"] * brief]
    for link_name, link in found.links().items():
        values = {s: found.of_side(s, "goodput_mb_s", link=link_name,
                                   tool="ssh") for s in columns}
        if not any(values.values()):
            continue
        ours, raw = values.get("ours"), values["raw"]
        rows.append([link_name, rate(link), f"{link['rtt_us'] / 1000:g}",
                     link.get("loss", NEVER)] + [link["cc"]] * (not brief) +
                    [(median if brief else cell)(values[s])
                     for s in columns] +
                    [percent(ours and raw and ours.ratio_to(raw))] +
                    [f"{spread(values.values()):.0%}"] * brief)
    return rows


def jobs(results):
    """MB/s of each tool both ways, over the long link."""
    found = results.select(kind="goodput", link=LONG)
    columns = sides(found)
    rows = [[""] + [name(s) for s in columns]]
    for tool, said in TOOLS.items():
        for direction, way in WAYS.items():
            values = [found.of_side(s, "goodput_mb_s", tool=tool,
                                    direction=direction) for s in columns]
            if any(values[1:]):
                rows.append([f"{said}, {way}"] + [cell(v) for v in values])
    return rows


def pairings(results):
    """MB/s of "ssh host cat" over the long link, of each client and server;
    only if each was measured with each."""
    found = results.select(kind="goodput", link=LONG, tool="ssh",
                           direction="get")
    there = found.sides()
    rows = [["client"] + [f"server: {name(s)}" for s in there]]
    for client in there:
        rows.append([name(client)] + [
            cell(found.figure("goodput_mb_s", client=client, server=server))
            for server in there])
    if len(there) < 2 or any(NEVER in row for row in rows):
        return rows[:1]
    return rows


def copy_links(results):
    """The links over which a file was copied, by RTT in ms: first those with
    TCP's buffers raised, then those as our package has them, then those with
    the kernel's own."""
    found = results.select(kind="copy").links()
    return [{link["rtt_us"] / 1000: link_name
             for link_name, link in found.items()
             if link.get("tcp_buffers", "raised") == buffers}
            for buffers in BUFFERS]


def limit_s(link, load):
    """Seconds that physics wants for a load (None: a file of the link's
    bytes): one round trip, and the bytes at the link's rate."""
    count = LOADS[load].bytes if load else link["bytes"]
    return link["rtt_us"] / 1e6 + count / 1e6 / payload_mb_s(link)


def copied(results):
    """What was copied, in the order of size: (key, its name)."""
    there = {r.get("load") for r in results.select(kind="copy").records}
    named = [(key, load.what) for key, load in LOADS.items()]
    named.insert(len(named) - 1, (None, "scp of 1 GB"))
    return [(key, what) for key, what in named if key in there]


def shown(results):
    """Columns of copies: (links by RTT, side, heading)."""
    found = results.select(kind="copy", direction="get")
    columns = sides(found)[1:]
    return [(names, s, name(s) + note) for names, note in
            zip(copy_links(found), ("", ", packages", ", defaults"))
            for s in columns if note != ", packages" or s == "ours"]


def commands(results):
    """Seconds of whole commands at ENDS_MS, and of how many times the limit
    that is; only if there are loads beside the file."""
    rows = [["", "limit"] + [title for _, _, title in shown(results)]]
    if len(copied(results)) < 2 or not shown(results):
        return rows
    for load, what in copied(results):
        cells = []
        for names, side, _ in shown(results):
            at = names.get(ENDS_MS)
            took = results.of_side(side, "command_s", kind="copy", link=at,
                                   load=load, direction="get")
            least_s = took and limit_s(results.links()[at], load)
            cells.append(f"{digits(took.median)} ({took.median / least_s:.1f})"
                         if took else NEVER)
        at = next(names[ENDS_MS] for names, *_ in shown(results)
                  if ENDS_MS in names)
        rows.append([what, digits(limit_s(results.links()[at], load))] + cells)
    return rows


def copies(results):
    """Seconds that scp takes for a file, by RTT, both ends of one side."""
    found = results.select(kind="copy", direction="get", load=None)
    columns = shown(found)
    rows = [["RTT, ms"] + [title for _, _, title in columns]]
    for rtt_ms in sorted({ms for names, *_ in columns for ms in names}):
        rows.append([f"{rtt_ms:g}"] + [
            cell(found.of_side(s, "command_s", link=names.get(rtt_ms)))
            for names, s, _ in columns])
    return rows


def copiers(results):
    """Seconds of each copier's whole command with a stock server, beside
    stock's scp and, where it was measured with that server, ours; a row for
    each load, direction and link."""
    found = results.select(kind="copy", server="stock")
    names = sorted({r["client"] for r in found.records
                    if r["tool"] == "copier"})
    rows = [["", "RTT, ms", "TCP's buffers", "stock", "ours"] + names]
    for load, what in copied(results) if names else ():
        for direction, way in WAYS.items():
            for link_name, link in found.links().items():
                runs = found.select(link=link_name, load=load,
                                    direction=direction)
                took = [runs.figure("command_s", client=c)
                        for c in ("stock", "ours", *names)]
                if any(took[2:]):
                    rows.append([f"{what}, {way}", f"{link['rtt_us'] / 1000:g}",
                                 BUFFERS_SAID[link.get("tcp_buffers")]] +
                                [cell(t) for t in took])
    return rows


def ends(results):
    """MB/s of scp for a file both ways, by which ends are ours; only if all
    were measured."""
    found = results.select(kind="copy", tool="scp", load=None)
    found = found.select(link=copy_links(found)[0].get(ENDS_MS))
    rows = [["patched", "neither", "client", "server", "both"]]
    for direction, word in (("get", "download"), ("put", "upload")):
        row = [word]
        for client, server in (("stock", "stock"), ("ours", "stock"),
                               ("stock", "ours"), ("ours", "ours")):
            runs = found.select(client=client, server=server,
                                direction=direction)
            values = runs.figure("command_s")
            row.append(NEVER if values is None else digits(
                runs.records[0]["link"]["bytes"] / 1e6 / values.median))
        rows.append(row)
    return rows if not any(NEVER in row for row in rows) else rows[:1]


OTHER = (   # what, its unit; kind, figure, scale, and fields of the runs
    ("full rate after", "s", "goodput", "to_full_rate_s", 1,
     {"link": LONG, "tool": "ssh", "direction": "get"}),
    ("peak window", "MiB", "goodput", "peak_window_bytes", 2**-20,
     {"link": LONG, "tool": "ssh", "direction": "get"}),
    ("peak memory, client", "MiB", "goodput", "client_rss_bytes", 2**-20,
     {"link": LONG, "tool": "ssh", "direction": "get"}),
    ("peak memory, server", "MiB", "goodput", "server_rss_bytes", 2**-20,
     {"link": LONG, "tool": "ssh", "direction": "get"}),
    ("first byte after", "RTT", "setup", "first_byte_rtt", 1,
     {"link": LONG, "tool": "ssh"}),
    ("small files, scp down", "a second", "files", "files_per_s", 1,
     {"link": LONG, "tool": "scp", "direction": "get"}),
    ("echo beside bulk data, median", "ms", "echo", "echo_p50_ms", 1,
     {"link": SHARED, "tool": "ssh", "direction": "get"}),
    ("echo beside bulk data, 99 %", "ms", "echo", "echo_p99_ms", 1,
     {"link": SHARED, "tool": "ssh", "direction": "get"}),
)


def other(results):
    columns = [s for s in sides(results) if s != "chain"]
    rows = [["", "", "link"] + [name(s) for s in columns]]
    for what, unit, kind, figure, scale, fields in OTHER:
        values = [results.select(kind=kind).of_side(
            s, "loaded_rtt_ms" if s == "raw" and kind == "echo" else figure,
            **fields) for s in columns]
        if any(values[1:]):
            rows.append([what, unit, fields["link"]] +
                        [cell(v, scale) for v in values])
    return rows


def loads(found):
    """What was measured over the loopback: what it is called, and its
    fields."""
    there = list(dict.fromkeys((r["cipher"], r["tool"], r["direction"])
                               for r in found.records if r["tool"] != "raw"))
    ciphers = list(dict.fromkeys(cipher for cipher, *_ in there))
    tools, ways = list(TOOLS), list(WAYS)
    for cipher, tool, way in sorted(there, key=lambda job: (
            ciphers.index(job[0]), tools.index(job[1]), ways.index(job[2]))):
        yield [cipher.split("@")[0], f"{tool}, {WAYS[way]}"], \
            {"cipher": cipher, "tool": tool, "direction": way}


def cpu(results):
    """A row for each side: CPU seconds per GB of both ends together, MB/s, and
    the peak memory of each end."""
    found = results.select(kind="cpu")
    rows = [["cipher", "tool", "", "s/GB", "of stock", "MB/s", "client, MiB",
             "server, MiB"]]
    for said, fields in loads(found):
        stock = found.of_side("stock", "cpu_s_per_gb", **fields)
        for side in sides(found):
            used, speed, *peaks = (
                found.of_side(side, figure, **fields) for figure in
                ("cpu_s_per_gb", "mb_s", "client_rss_bytes",
                 "server_rss_bytes"))
            if used is None or side == "raw" and fields["tool"] != "ssh":
                continue
            rows.append(said + [name(side), cell(used),
                                cell(stock and used.ratio_to(stock)),
                                cell(speed)] + [cell(v, 2**-20)
                                                for v in peaks])
    return rows


def text(rows):
    """Rows as text: columns of figures to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = [i for i in range(len(rows[0])) if not any(
        row[i][:1].isdigit() for row in rows[1:])]
    return "\n".join("  ".join(
        c.ljust(w) if i in left else c.rjust(w)
        for i, (c, w) in enumerate(zip(row, widths))).rstrip()
        for row in rows)


RESULTS = os.path.join(project.HERE, "results")
PICTURES = {"readme": "readme", "copy": "copy", "commands": "copy"}


def parts():
    """The tables of README.md, by the names of their places there."""
    goodput, copied, either = (
        Results(files.load(os.path.join(RESULTS, f"{word}.jsonl")))
        for word in ("readme", "copy", "ends"))
    return {word: textwrap.indent(text(rows), "    ") + "\n"
            for word, rows in (
                ("goodput", headline(goodput, brief=True)),
                ("commands", commands(copied)),
                ("copies", copies(copied)), ("ends", ends(either)))}


def stale_pictures():
    """Those that are not of what was measured last."""
    for picture, word in PICTURES.items():
        shown = files.digest(os.path.join(RESULTS, f"{word}.jsonl"))
        with open(os.path.join(RESULTS, f"{picture}.svg")) as f:
            if f"of {shown}" not in f.read():
                yield f"{picture}.svg is not of {word}.jsonl"


if __name__ == "__main__":
    update({os.path.join(project.HERE, "README.md"): parts()})
    sys.exit("\n".join(stale_pictures()) or None)
