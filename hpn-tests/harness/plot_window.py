"""plot_window.py RESULTS.json PICTURE.png: goodput and channel window over
time, from what the demo measured."""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt         # noqa: E402

BIN_S = 0.2                             # goodput is a mean over one RTT
STOCK_WINDOW = 2 << 20                  # bytes
COLOURS = {"": "#999999", "stock": "#cc5500", "ours": "#0060a0",
           "Debian": "#cc5500", "packages": "#0060a0",
           "client only": "#2a8a3e"}
LABELS = {"": "raw TCP", "stock": "OpenSSH", "ours": "OpenSSH-bdp",
          "Debian": "as Debian installs it: 4 and 6 MiB",
          "packages": "our packages at both ends: 64 MiB",
          "client only": "our packages at the client: 64 MiB;\n"
                         "server stock: 4 and 6 MiB"}
FAST = ("", "ours", "packages")         # those that the time axis is for


def goodput(series):
    """(seconds, MB/s) of bins of BIN_S."""
    points, last, edge = [], 0, BIN_S
    for t, n in series:
        while t >= edge:
            points.append((edge - BIN_S / 2, (n - last) / BIN_S / 1e6))
            last, edge = n, edge + BIN_S
    return points


def end_s(row):
    total = row["series"][-1][1]
    return next(t for t, n in row["series"] if n >= total)


def draw(rows, title, top, bottom):
    shown_s = 1.15 * max(end_s(r) for r in rows if r["side"] in FAST)
    for r in rows:
        side = r["side"]
        style = {"color": COLOURS[side], "label": LABELS[side],
                 "linewidth": 2, "zorder": 3 if side in FAST[1:] else 2}
        points = [p for p in goodput(r["series"]) if p[0] <= end_s(r)]
        top.plot(*zip(*points), **style)
        if side and r["window"]:
            t, window = zip(*r["window"])
            bottom.plot(t, [w / 2**20 for w in window], **style)
        elif side and side != "ours":   # a stock receiver: it never changes
            bottom.plot([0, end_s(r)], [STOCK_WINDOW / 2**20] * 2, **style)
    top.set_title(title)
    for axes in (top, bottom):
        axes.set_xlim(0, shown_s)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    bottom.set_xlabel("seconds from the first byte")


def main(results, picture):
    with open(results) as f:
        data = json.load(f)
    jobs = list(dict.fromkeys(r["job"] for r in data["rows"] if r["side"]))
    figure, axes = plt.subplots(2, len(jobs), figsize=(4.2 * len(jobs), 6),
                                sharey="row", squeeze=False)
    for i, job in enumerate(jobs):
        rows = [r for r in data["rows"] if r["job"] == job and
                r["side"] in COLOURS]
        direction = rows[0]["direction"]
        rows = [r for r in data["rows"] if not r["side"] and
                r["direction"] == direction] + rows
        draw(rows, job, axes[0][i], axes[1][i])
    axes[0][0].set_ylabel("goodput, MB/s")
    axes[1][0].set_ylabel("channel window, MiB")
    link = data["link"]
    title = (f"{data['size'] / 1e6:.0f} MB at "
             f"{link['rate_mbit'] / 1000:g} Gbit/s, "
             f"RTT {link['rtt_us'] / 1000:g} ms")
    lines = {label: line for pair in axes for a in pair
             for line, label in zip(*a.get_legend_handles_labels())}
    if LABELS["Debian"] in lines:
        title += "; sizes below: limits of TCP's buffers (raw TCP: 512 MiB)"
    figure.suptitle(title)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.legend(lines.values(), lines, loc="lower center", frameon=False,
                  ncol=min(4, len(jobs) + 1))
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
