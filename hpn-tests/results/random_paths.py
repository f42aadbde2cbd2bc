"""random_paths.py: the page of random paths, as the others of content.py, and
its picture."""

import hashlib
import os
import statistics
import sys

from content import grid
from gather import TOP, file

sys.path.insert(0, os.path.join(TOP, "hpn-tests", "lib"))   # plot_window

DRAWS = 200
HOW = """\
A draw follows from its number. A quarter of the BDPs are under 2 MiB, half are
4 to 32 MiB. In each part ours receives in half of the draws, a quarter of the
paths loses packets, and TCP's buffers are by turns raised to 512 MiB, the
package's and untouched. Dice decide the rest: 5 Mbit/s to 1 Gbit/s, 5 to
600 ms, jitter (1 of 12), queue, tool, direction, whose the other end is. Stock
at both ends and raw TCP take the same path with the same dice.

Limits and rule are older than the figures. Goodput is at least 0.98 of stock's,
and 0.95 of raw TCP's where ours receives and the BDP is over 2 MiB. With loss
or jitter there are eight seeds, fixed before. Ratios are paired by seed; in
brackets are one-sided bounds of 95 % of their geometric mean (Student's t, of
logarithms). A draw passes if the lower bounds reach the limits, fails if an
upper bound doesn't, and is inconclusive otherwise. On other paths the lab
repeats exactly, so there are no bounds. No draw is measured again. Wrong bytes,
an error or a process left is a fail.

"Bound" is the share of the link that the receiver's window or stock's 64
requests allow; no limit regards it. "Memory" is the peak of an end over
stock's."""
RESULTS = ("fail", "inconclusive", "pass")
# Of a draw that ended with an error
NOTHING = {"of": {}, "mb_s": {}, "memory_mib": "", "left": []}


def ratio(row, who):
    """A ratio and its bounds, or else what was wrong, as text"""
    if who not in row["of"]:
        return row.get("error", "")
    mean, least, most = row["of"][who]
    return f"{mean:.2f}" + f" ({least:.2f}-{most:.2f})" * (least != most)


def table(rows):
    return grid(["draw", "BDP, MiB", "path ", "copy ", "buffers ", "ours",
                 "stock", "raw TCP, MB/s", "of stock ", "of raw TCP ", "bound",
                 "memory, MiB", "commit "], [
        [r["draw"], r["bdp_mib"], r["path"],
         "; left: ".join([r["copy"], *r["left"]]), r["buffers"],
         *(r["mb_s"].get(who, "") for who in ("ours", "stock", "raw")),
         ratio(r, "stock"), ratio(r, "raw"), r["bound"], r["memory_mib"],
         r["commit"]] for r in rows])


def median(rows, who):
    ratios = [r["of"][who][0] for r in rows if who in r["of"]]
    return f"{statistics.median(ratios):.2f}" if ratios else ""


def strata(rows):
    found = {}
    for r in rows:
        size = sum(r["bdp_mib"] > least for least in (2, 4))
        found.setdefault((size, r["receives"], r["loss"]), []).append(r)
    return grid(
        ["BDP, MiB ", "receives ", "loss ", "draws", *RESULTS,
         "of stock, median", "of raw TCP, median"], [
            [("under 2", "2 to 4", "over 4")[size], receiver,
             "yes" if loss else "none", len(these),
             *(sum(r["result"] == x for r in these) for x in RESULTS),
             median(these, "stock"), median(these, "raw")]
            for (size, receiver, loss), these in sorted(found.items())])


def which(rows):
    return f" ({', '.join(str(r['draw']) for r in rows)})" if rows else ""


def page(rows):
    rows = [{**NOTHING, **r} for r in rows]
    by = {x: [r for r in rows if r["result"] == x] for x in RESULTS}
    rest = DRAWS - len(rows)
    return [
        "Random paths, tools and ends",
        f"Failed: {len(by['fail'])} of {len(rows)} draws"
        f"{which(by['fail'])}. Inconclusive: {len(by['inconclusive'])}. "
        f"Passed: {len(by['pass'])}." +
        f" Still to be measured: {rest} of {DRAWS}." * (rest > 0),
        "![Goodput of each draw, of stock's, over the BDP](random.svg)",
        strata(rows), HOW, *(part for x in RESULTS if by[x]
                             for part in (f"## {x.title()}", table(by[x])))]


def source():
    """What the picture says that it is of."""
    with open(file("random", "json"), "rb") as f:
        return f"of {hashlib.sha256(f.read()).hexdigest()}"


def is_drawn():
    path = file("random", "svg")
    if not os.path.exists(path):
        return False
    with open(path) as f:
        return source() in f.read()


def draw(rows):
    """The picture: ratios to stock over the BDP"""
    from plot_window import COLOURS, plt
    look = {"fail": (COLOURS["stock"], "X"), "pass": (COLOURS["ours"], "o"),
            "inconclusive": (COLOURS[""], "o")}
    figure, axes = plt.subplots(figsize=(8.6, 4.6))
    for result, (colour, mark) in look.items():
        for receives, fill in (("ours", colour), ("stock", "white")):
            these = [(r["bdp_mib"], *r["of"]["stock"]) for r in rows
                     if (r["result"], r["receives"]) == (result, receives)
                     and "of" in r]
            if these:
                x, mean, least, most = zip(*these)
                axes.errorbar(
                    x, mean, [[m - a for m, a in zip(mean, least)],
                              [b - m for m, b in zip(mean, most)]],
                    fmt=mark, color=colour, markerfacecolor=fill,
                    linewidth=0.8, markersize=5,
                    label=f"{result}, {receives} receives: {len(these)}")
    axes.axhline(0.98, color="#555555", linewidth=1, linestyle="--")
    axes.axvline(2, color="#555555", linewidth=1, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="BDP, MiB (dots: 2 MiB)",
             ylabel="goodput, of stock's (dashes: 0.98)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda v, _: f"{v:g}")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9)
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "random"}):
        figure.savefig(file("random", "svg"), bbox_inches="tight",
                       metadata={"Date": None, "Description": source()})
