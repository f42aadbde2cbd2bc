"""report.py [RESULTS [FOLDER]]: a page, report.html, and the pictures in it as
SVG and PNG, in build/bench or FOLDER, of a file of the bench (the last one, if
none is named). Prints the tables of goodput, of copies and of the CPU."""

import base64
import html
import os
import sys

import results
import tables
from project import BENCH, TOP, BenchError, main as run_main

STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto;
  padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; margin: 1em 0; font-size: 15px }
th, td { padding: 0.25em 0.7em; border-bottom: 1px solid #ddd;
  text-align: right }
th:first-child, td:first-child { text-align: left; white-space: nowrap }
th { border-bottom: 2px solid #888; vertical-align: bottom }
td.ours { font-weight: bold; color: #0060a0 }
img { max-width: 100% }
p.note { color: #555; font-size: 15px }
"""


def sections(data):
    """Heading, picture, table and what to know, from top to bottom."""
    links = data.links()
    where = links.get(tables.LONG)
    long_link = f"{tables.LONG} ({tables.rate(where)}, RTT " \
        f"{where['rtt_us'] / 1000:g} ms)" if where else tables.LONG
    return (
        ("Goodput over ten links, MB/s", "goodput", tables.headline(data),
         "ssh host cat, the client receives; both ends are of one side. From "
         "the first byte to the last, slow start included. ssh's handshake has "
         "opened TCP's window a little by then, so that ssh can be ahead of "
         "raw TCP. \"of raw\" is ours of raw TCP, paired."),
        (f"Whole commands at {tables.ENDS_MS} ms, seconds", "commands",
         tables.commands(data),
         "Login included. Brackets give the multiple of the limit, which is "
         "one round trip and the time of the bytes at the link's rate. The "
         "client receives. The picture shows stock with Linux's default "
         "buffers, and ours with the package's buffers."),
        ("A file by scp, seconds", "copy", tables.copies(data),
         "Of the whole command, login included; the client receives, and both "
         "ends are of one side. TCP's buffers at both ends are those of "
         "openssh-bdp-tuning for \"packages\", Linux's defaults for "
         "\"defaults\", and raised to 512 MiB otherwise."),
        ("A file by scp, MB/s, by which end is ours", None, tables.ends(data),
         f"RTT {tables.ENDS_MS} ms; the file's size over the seconds of the "
         "whole command."),
        ("Other copiers, seconds", None, tables.copiers(data),
         "Of the whole command, login included, with a stock server. "
         "\"packages\" and \"defaults\" as above."),
        (f"Over time, {long_link}", "window", None,
         "Goodput is a mean over a round trip or a few. In flight is what the "
         "sender's TCP has sent and not seen acknowledged."),
        (f"Tools, MB/s: {long_link}", None, tables.jobs(data), ""),
        (f"Each client with each server, MB/s: {long_link}", None,
         tables.pairings(data), "The client receives."),
        ("Memory", "memory", None, ""),
        ("Start, files, echo, memory", None, tables.other(data),
         "Full rate is 90 % of what the link carries, for a round trip. Files "
         "are 200 of 4 KiB in 10 directories, login included. For raw TCP the "
         "echo is its RTT beside the same bulk data."),
        ("CPU", "cpu", tables.cpu(data),
         "Over the loopback in real time, less what a connection without data "
         "costs. \"of stock\" is s/GB, of paired runs. Memory is the peak of "
         "ssh and scp, of sshd and sftp-server."),
    )


def html_table(rows):
    head, *body = rows
    mine = [i for i, c in enumerate(head) if c.split(",")[0] == "ours"]

    def line(cells, tag):
        return "<tr>" + "".join(
            f"<{tag}{' class=ours' if tag == 'td' and own(i, cells) else ''}>"
            f"{html.escape(c)}</{tag}>" for i, c in enumerate(cells)) + "</tr>"

    def own(i, cells):
        return i in mine or "ours" in cells

    return "<table>" + line(head, "th") + \
        "".join(line(row, "td") for row in body) + "</table>"


def image(folder, picture, says):
    with open(os.path.join(folder, f"{picture}.svg"), "rb") as f:
        data = base64.b64encode(f.read()).decode()
    return f'<img alt="{html.escape(says)}" ' \
        f'src="data:image/svg+xml;base64,{data}">'


def origin(data, path):
    """What was measured, where and when."""
    machines = {f"{m['cpu']}, {m['cores']} cores, Linux {m['kernel']}"
                for m in (r["machine"] for r in data.records)}
    versions = {f"{side}: {v['version']} ({v['programs']})" for r in
                data.records for side, v in r["versions"].items()}
    times = sorted(r["time"] for r in data.records)
    virtual = any(r["clock"] == "virtual" for r in data.records)
    return [f"{len(data.records)} runs from {times[0]} to {times[-1]}: "
            f"{os.path.basename(path)}", *sorted(machines), *sorted(versions),
            "Links are netem's in " + (
                "virtual time, in which a CPU costs nothing: goodput is that "
                "of the protocol." if virtual else "real time.") +
            " A cell is the median over the repetitions, (least..most) where "
            "they differ by more than 1 %."]


def page(data, path, folder, drawn):
    # (here, so that tables need no matplotlib)
    from pictures import PICTURES
    parts = []
    for heading, picture, rows, note in sections(data):
        picture = picture if picture in drawn else None
        if not picture and (not rows or len(rows) < 2):
            continue
        parts.append(f"<h2>{html.escape(heading)}</h2>")
        if picture:
            parts.append(image(folder, picture, PICTURES[picture][1]))
        if rows and len(rows) > 1:
            parts.append(html_table(rows))
        if note:
            parts.append(f"<p class=note>{html.escape(note)}</p>")
    about = "".join(f"<li>{html.escape(line)}</li>"
                    for line in origin(data, path))
    return ("<!DOCTYPE html><html lang=en><meta charset=utf-8>"
            "<title>openssh-bdp: where it stands</title>"
            f"<style>{STYLE}</style><h1>openssh-bdp: where it stands</h1>"
            f"{''.join(parts)}<h2>What was measured</h2><ul>{about}</ul>"
            "</html>\n")


def main(argv):
    path = argv[0] if argv else results.newest()
    data = results.Results(results.load(path))
    if not data.records:
        raise BenchError(f"{path}: no runs")
    try:
        import pictures
    except ImportError as e:
        raise BenchError(f"no pictures: {e}") from None
    folder = argv[1] if len(argv) > 1 else BENCH
    os.makedirs(folder, exist_ok=True)
    drawn = pictures.draw(data, folder, results.digest(path))
    target = os.path.join(folder, "report.html")
    with open(target, "w") as f:
        f.write(page(data, path, folder, drawn))
    said = [tables.text(rows) for rows in (
        tables.headline(data, brief=True), tables.commands(data),
        tables.copies(data),
        tables.ends(data), tables.copiers(data), tables.cpu(data))
        if len(rows) > 1]
    print("\n\n".join(said + ["From "]) +
          f"{os.path.relpath(path, TOP)}: {os.path.relpath(target, TOP)}, and "
          "beside it " + ", ".join(f"{d}.svg and .png" for d in drawn))


if __name__ == "__main__":
    run_main("report", main, sys.argv[1:])
