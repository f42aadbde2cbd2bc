"""The pictures of the report, with matplotlib. Each takes Results and returns
a figure; None if what it shows was not measured. The colours are told apart
by those who see no red or green, and each thing has a mark of its own."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt         # noqa: E402
from matplotlib.ticker import FuncFormatter    # noqa: E402

from links import bdp, payload_mb_s     # noqa: E402
from plot_window import COLOURS         # noqa: E402
from results import Results             # noqa: E402
from runs import LONG                   # noqa: E402
from tables import copied, copy_links, limit_s, name, sides    # noqa: E402

MIB = 1 << 20
WINDOW_STOCK = 2 * MIB                  # bytes
COLOUR = {"raw": "#767676", "stock": COLOURS["stock"],
          "ours": COLOURS["ours"]}
MARK = {"raw": "D", "stock": "s", "ours": "o"}
PEERS = ["#008060", "#9a4f96", "#a07800"]
QUIET = "#555555"
plt.rcParams.update({"font.size": 10, "axes.spines.top": False,
                     "axes.spines.right": False, "svg.hashsalt": "bench"})


def styles(there):
    """A colour and a mark for each side."""
    peers = [s for s in there if s not in COLOUR]
    return {s: (COLOUR.get(s) or PEERS[peers.index(s) % len(PEERS)],
                MARK.get(s, "^v<>"[peers.index(s) % 4] if s in peers else ""))
            for s in there}


def plain(axis):
    """Figures on a log axis as one says them."""
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(FuncFormatter(lambda v, _: ""))


def spread(wanted, least):
    """The values, from the highest down, moved so far that each is at least
    that much below the one before. Those that touch have the mean of where
    they wanted to be."""
    groups = []                         # of those that touch: mean, count
    for value in wanted:
        groups.append([value, 1])
        while len(groups) > 1 and groups[-2][0] - groups[-1][0] < \
                least * (groups[-2][1] + groups[-1][1]) / 2:
            (b, n), (a, m) = groups.pop(), groups.pop()
            groups.append([(a * m + b * n) / (m + n), m + n])
    return [mean + least * ((count - 1) / 2 - i)
            for mean, count in groups for i in range(count)]


def beside(axes, labels):
    """Labels at the right of a picture, each (text, (x, y), colour) with a
    thread to where its line ends, and far enough from each other."""
    fraction = axes.transData + axes.transAxes.inverted()
    labels = sorted(labels, key=lambda label: -label[1][1])
    wanted = [fraction.transform(point)[1] for _, point, _ in labels]
    at = spread(wanted, 0.075)
    for (text, point, colour), y in zip(labels, at):
        axes.annotate(text, point, (1.03, y), textcoords="axes fraction",
                      va="center", color=colour, annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": colour,
                                  "alpha": 0.4, "linewidth": 0.8})


def goodput(results):
    """Over each link, against its RTT."""
    found = results.select(kind="goodput", tool="ssh", direction="get")
    raw = results.select(kind="goodput", tool="raw", direction="get")
    found = Results(raw.records + found.records)
    table, columns = found.links(), sides(found)
    if not table:
        return None
    figure, axes = plt.subplots(figsize=(8.6, 5.6))
    rtts = [link["rtt_us"] / 1e3 for link in table.values()]
    span = [min(rtts) / 1.6, max(rtts) * 1.6]
    limit = [WINDOW_STOCK / (ms * 1e3) for ms in span]      # MB/s
    top = 1.9 * max(payload_mb_s(link) for link in table.values())
    axes.plot(span, limit, "--", color=QUIET, linewidth=1, zorder=1)
    for link_name, link in table.items():
        x, y = link["rtt_us"] / 1e3, payload_mb_s(link)
        axes.plot([x / 1.17, x * 1.17], [y, y], color="black", linewidth=2.5,
                  solid_capstyle="butt", zorder=2)
        loss = f"\n{link['loss']} loss" if link.get("loss") else ""
        axes.annotate(link_name + loss, (x, y), (0, 10), ha="center",
                      textcoords="offset points", fontsize=9,
                      linespacing=0.95)
    lowest = top
    for side, (colour, mark) in styles(columns).items():
        points = [(link["rtt_us"] / 1e3, v) for n, link in table.items() if
                  (v := found.of_side(side, "goodput_mb_s", link=n))]
        if not points:
            continue
        lowest = min([lowest] + [v.least for _, v in points])
        x, values = zip(*points)
        y = [v.median for v in values]
        axes.errorbar(x, y, [[v.median - v.least for v in values],
                             [v.most - v.median for v in values]], fmt=mark,
                      color=colour, linestyle="none", capsize=3, zorder=4,
                      markersize={"raw": 12, "stock": 9}.get(side, 6),
                      markerfacecolor="none" if side == "raw" else colour,
                      markeredgewidth=1.3)
    axes.set(xscale="log", yscale="log", xlim=span,
             ylim=(lowest / 1.8, top), xlabel="RTT, ms",
             ylabel="goodput, MB/s",
             title="ssh host cat: from the first byte to the last")
    key(axes, columns)
    axes.annotate("2 MiB a round trip", (WINDOW_STOCK / (top / 4 * 1e3),
                                         top / 4), (6, 4), color=QUIET,
                  textcoords="offset points")
    plain(axes.xaxis)
    plain(axes.yaxis)
    axes.set_xticks([t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500)
                     if span[0] <= t <= span[1]])
    axes.grid(alpha=0.25)
    return figure


def key(axes, columns):
    """What the marks are, in their colours, beside the picture."""
    y = 0.62
    axes.plot([1.025, 1.06], [y, y], transform=axes.transAxes, color="black",
              clip_on=False, linewidth=2.5)
    axes.text(1.075, y, "link rate", transform=axes.transAxes, va="center")
    for side, (colour, mark) in styles(columns).items():
        y -= 0.07
        axes.plot([1.042], [y], mark, transform=axes.transAxes, color=colour,
                  markerfacecolor="none" if side == "raw" else colour,
                  clip_on=False, markersize=8)
        axes.text(1.075, y, name(side), transform=axes.transAxes,
                  color=colour, va="center", weight="bold")


def copy(results):
    """Seconds to copy a file against the RTT; of one RTT there is none."""
    found = results.select(kind="copy", direction="get", load=None)
    if len({r["link"]["rtt_us"] for r in found.records}) < 2:
        return None
    columns = sides(found)[1:]
    figure, axes = plt.subplots(figsize=(8.6, 4.6))
    labels = []
    for names, note, line in zip(
            copy_links(found), ("buffers raised", "as packages set them",
                                "kernel defaults"), ("-", "--", ":")):
        for side, (colour, mark) in styles(columns).items():
            points = [(ms, v.median) for ms, link_name in names.items() if
                      (v := found.of_side(side, "command_s", link=link_name))]
            if points:
                axes.plot(*zip(*points), mark + line, color=colour,
                          linewidth=2.2 if line == "-" else 1.5, markersize=6,
                          markerfacecolor=colour if line == "-" else "white")
                labels.append((f"{name(side)}, {note}", points[-1], colour))
    link = found.records[0]["link"]
    least_s = link["bytes"] / 1e6 / payload_mb_s(link)
    end_ms = 1.03 * axes.dataLim.x1
    axes.axhline(least_s, color=QUIET, linewidth=1, linestyle="--")
    labels.append((f"the link needs {least_s:.1f} s", (end_ms, least_s),
                   QUIET))
    axes.set(xlim=(0, end_ms), ylim=(0, 1.08 * axes.dataLim.y1),
             xlabel="RTT, ms", ylabel="seconds",
             title=f"scp of a file of {link['bytes'] / 1e9:g} GB at "
             f"{link['rate_mbit'] / 1000:g} Gbit/s, seconds in all")
    axes.grid(alpha=0.25)
    beside(axes, labels)
    return figure


def commands(results):
    """Seconds of whole commands against the RTT, as they are installed: stock
    on a kernel with default buffers, ours with the package's buffers; and
    the limit. A picture each."""
    found = results.select(kind="copy", direction="get")
    _, package, untouched = copy_links(found)
    if len(copied(found)) < 2 or not package:
        return None
    figure, rows = plt.subplots(2, 3, figsize=(8.6, 5.2), sharex=True)
    lines = (("stock", untouched, "stock, as installed"),
             ("ours", package, "with our packages"))
    table = found.links()
    for axes, (load, what) in zip(rows.flat, copied(found)):
        for side, names, _ in lines:
            points = [(ms, v.median) for ms, link in sorted(names.items()) if
                      (v := found.of_side(side, "command_s", link=link,
                                          load=load))]
            colour, mark = styles([side])[side]
            axes.plot(*zip(*points), mark + "-", color=colour, linewidth=2.2,
                      markersize=5)
        axes.plot(*zip(*((ms, limit_s(table[link], load))
                         for ms, link in sorted(package.items()))), "--",
                  color=QUIET, linewidth=1.2)
        axes.set(xlim=(0, 1.05 * axes.dataLim.x1),
                 ylim=(0, 1.1 * axes.dataLim.y1), title=what)
        axes.grid(alpha=0.25)
    for axes in rows[-1]:
        axes.set_xlabel("RTT, ms")
    for axes in rows[:, 0]:
        axes.set_ylabel("seconds")
    figure.legend(handles=[
        plt.Line2D([], [], color=COLOUR[side], marker=MARK[side], label=said)
        for side, _, said in lines] + [plt.Line2D(
            [], [], color=QUIET, linestyle="--", label="a round trip, and the "
            "bytes at the link's rate")],
        loc="upper center", ncols=3, frameon=False,
        bbox_to_anchor=(0.5, 0.02))
    figure.tight_layout()
    return figure


def rates(rows):
    """(seconds, MB/s) from (seconds, bytes so far). (The last row may be near
    the one before.)"""
    return [((t + before_s) / 2, (n - before) / (t - before_s) / 1e6)
            for (before_s, before), (t, n) in zip(rows, rows[1:-1])]


def window(results):
    """Goodput, window and bytes in flight over time, on the long link."""
    found = results.select(kind="goodput", link=LONG, direction="get",
                           repetition=1)
    shown = [(r, r["client"] if r["tool"] == "ssh" else "raw")
             for r in found.records if r["tool"] == "raw" or
             r["tool"] == "ssh" and r["client"] == r["server"]]
    shown = [(r, s) for r, s in shown if r["series"].get("arrived_bytes")]
    if "ours" not in [s for _, s in shown]:
        return None
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(8.6, 6.6), sharex=True)
    colours = styles([s for _, s in shown])
    link = shown[0][0]["link"]
    end_s = 1.05 * max(r["series"]["arrived_bytes"][-1][0] for r, s in shown
                       if s in ("raw", "ours"))
    ends = {top: [], bottom: []}        # label, where its line ends, colour
    for r, side in shown:
        colour, label = colours[side][0], name(side)
        arrived = r["series"]["arrived_bytes"]
        points = [p for p in rates(arrived) if p[0] <= end_s]
        took_s = arrived[-1][0]
        style = {"color": colour, "linewidth": 2}
        if side == "raw":               # under ours, wide
            style.update(linewidth=5, alpha=0.45)
        top.plot(*zip(*points), **style, zorder=2 if side == "raw" else 3)
        late = f" ({took_s:.0f} s in all)" if took_s > end_s else ""
        ends[top].append((label + late, points[-1], colour))
        if side != "raw":
            rows = [(t, n / MIB) for t, n in r["series"].get(
                "window_bytes", []) if t <= end_s]
            stays = [(0, WINDOW_STOCK / MIB), (end_s, WINDOW_STOCK / MIB)]
            bottom.step(*zip(*(rows or stays)), where="post", **style)
            ends[bottom].append((f"{label}, window", (rows or stays)[-1],
                                 colour))
            if not rows:                # and as much is in flight
                continue
        flight = [(t, n / MIB) for t, n in r["series"]["in_flight_bytes"]
                  if t <= took_s - link["rtt_us"] / 1e6]
        if flight:
            bottom.plot(*zip(*flight), color=colour, linestyle=":",
                        linewidth=2)
            ends[bottom].append((f"{label}, in flight", flight[-1], colour))
    for axes, limit, said in ((top, payload_mb_s(link), "the link carries"),
                              (bottom, bdp(link) / MIB, "the link's BDP")):
        axes.axhline(limit, color=QUIET, linewidth=1, linestyle="--")
        ends[axes].append((said, (end_s, limit), QUIET))
        axes.set_xlim(0, end_s)
        axes.set_ylim(0, 1.08 * max(axes.dataLim.y1, limit))
        axes.grid(alpha=0.25)
        beside(axes, ends[axes])
    top.set(ylabel="goodput, MB/s",
            title=f"ssh host cat, {link['bytes'] / 1e6:.0f} MB at "
            f"{link['rate_mbit'] / 1000:g} Gbit/s, "
            f"RTT {link['rtt_us'] / 1000:g} ms")
    bottom.set(ylabel="channel window, and in flight, MiB",
               xlabel="seconds from the first byte")
    return figure


def memory(results):
    """Peak memory of each end against the BDP."""
    found = results.select(kind="goodput", tool="ssh", direction="get")
    table = found.links()
    columns = [s for s in sides(found) if s != "raw"]
    if not table or not columns:
        return None
    figure, axes = plt.subplots(figsize=(8.6, 5))
    bdps = {n: bdp(link) / MIB for n, link in table.items()}
    span = [min(bdps.values()) / 1.5, max(bdps.values()) * 1.5]
    labels, ends = [], (("client", "receives"), ("server", "sends"))
    for side, (colour, mark) in styles(columns).items():
        for (end, does), fill in zip(ends, (colour, "white")):
            points = sorted(
                (bdps[n], v.median / MIB) for n in table if
                (v := found.of_side(side, f"{end}_rss_bytes", link=n)))
            if points:
                axes.plot(*zip(*points), mark, color=colour, markersize=8,
                          markerfacecolor=fill, markeredgewidth=1.5)
                labels.append((f"{name(side)}, {end} ({does})", points[-1],
                               colour))
    if not labels:
        return None
    axes.set(xscale="log", yscale="log", xlim=span, ylim=(1, span[1]),
             xlabel="BDP of the link, MiB", ylabel="peak memory, MiB",
             title="ssh host cat: peak resident memory of each end")
    axes.plot(span, span, "--", color=QUIET, linewidth=1, zorder=1)
    axes.annotate("as much as the BDP", (40, 40), (-8, 0), ha="right",
                  textcoords="offset points", color=QUIET)
    for link_name, x in bdps.items():
        axes.annotate(link_name, (x, 1), (-1, 5), rotation=90, color=QUIET,
                      textcoords="offset points", ha="center", fontsize=9)
    beside(axes, labels)
    plain(axes.xaxis)
    plain(axes.yaxis)
    axes.grid(alpha=0.25)
    return figure


def cpu(results):
    """CPU seconds per GB, of both ends, by cipher."""
    found = results.select(kind="cpu", direction="get")
    ciphers = list(dict.fromkeys(r["cipher"] for r in found.records))
    columns = sides(found)
    if not ciphers:
        return None
    look = styles(columns)
    figure, axes = plt.subplots(
        figsize=(8.6, 0.8 + len(ciphers) * (0.45 + 0.42 * len(columns))))
    y, ticks = 0, []
    for cipher in ciphers:
        first = y
        for side in columns:
            client, server, both, speed = (
                found.of_side(side, figure, cipher=cipher, tool="ssh")
                for figure in
                ("client_cpu_s_per_gb", "server_cpu_s_per_gb", "cpu_s_per_gb",
                 "mb_s"))
            if both is None:
                continue
            colour = look[side][0]
            # medians of the parts are not quite those of the whole
            share = client.median / (client.median + server.median)
            axes.barh(y, both.median * share, color=colour)
            axes.barh(y, both.median * (1 - share), color=colour, alpha=0.5,
                      left=both.median * share)
            axes.errorbar([both.median], [y], xerr=[
                [both.median - both.least], [both.most - both.median]],
                color="black", capsize=3, linewidth=1)
            axes.annotate(f"{name(side)}: {both.median:.2f} s, "
                          f"{speed.median:.0f} MB/s",
                          (max(both.most, both.median), y), (6, 0),
                          textcoords="offset points", va="center",
                          color=colour)
            y += 1
        ticks.append(((first + y - 1) / 2, cipher.split("@")[0]))
        y += 0.6
    axes.set_yticks(*zip(*ticks))
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.45 * axes.dataLim.x1)
    axes.set(xlabel="CPU seconds per GB: dark is the client (receives), "
             "light the server (sends)",
             title="ssh host cat over the loopback, in real time")
    axes.grid(axis="x", alpha=0.25)
    return figure


PICTURES = {        # name: function, and what it says to who can't see it
    "goodput": (goodput, "Goodput of each link against its RTT, on log axes, "
                "with the links' rates and the line of 2 MiB a round trip"),
    "commands": (commands, "Seconds of six commands against the RTT, stock and "
                 "ours"),
    "copy": (copy, "Seconds to copy a file against the RTT, stock and ours"),
    "window": (window, "Goodput, window and bytes in flight over time"),
    "memory": (memory, "Peak memory of each end against the BDP"),
    "cpu": (cpu, "CPU seconds per GB of both ends, by cipher"),
}


def save(figure, path, source):
    """source is the digest of the file that it shows."""
    what = {"Date": None, "Description": f"of {source}"} \
        if path.endswith(".svg") else {"Description": f"of {source}"}
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata=what)
    plt.close(figure)


def draw(results, folder, source):
    """Writes each as SVG and PNG. Returns the names of those there are."""
    drawn = []
    for picture, (function, _) in PICTURES.items():
        figure = function(results)
        if figure is None:
            continue
        for kind in ("svg", "png"):
            save(figure, f"{folder}/{picture}.{kind}", source)
        drawn.append(picture)
    return drawn
