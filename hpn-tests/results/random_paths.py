"""random_paths.py: the page of random paths, as the others of content.py, and
its picture."""

import hashlib
import os
import statistics
import sys

from content import grid
from gather import TOP, file

sys.path.insert(0, os.path.join(TOP, "hpn-tests", "harness"))  # plot_window

DRAWS = 200
HOW = """\
A trial's number determines its path, tool and ends. The trials are stratified:

- by BDP: a quarter each are under 2 MiB and 2 to 4 MiB, half are 4 to 32 MiB;
- by the receiver: ours or stock;
- by loss: a quarter have loss;
- by TCP's buffers: raised to 512 MiB, the package's, or Linux's defaults.

The rest is random: the rate (5 Mbit/s to 1 Gbit/s), the RTT (5 to 600 ms),
jitter (in about one trial of 12), queue, congestion control, tool and
direction. If ours (openssh-bdp) receives, the sender is ours or stock
(unmodified OpenSSH) at random; if stock receives, the sender is ours. Stock at
both ends and raw TCP take the same path with the same random seed.

The limits and the rule were fixed before measuring. Goodput must be at least
0.98 of stock's. If ours receives and the BDP is over 2 MiB, goodput must also
be at least 0.95 of raw TCP's. A trial with loss or jitter consists of runs
with the seeds 1 to 8. (There were five seeds until seven trials without loss
or jitter had been measured.) For such a trial, the tables give the geometric
mean of the ratios, paired by seed. Brackets give its lower and upper one-sided
95 % confidence bounds (Student's t on the logarithms). The trial passes if the
lower bounds reach the limits. It fails if an upper bound is below its limit.
Otherwise it is inconclusive. Without loss or jitter the lab repeats exactly,
so a trial is one run without bounds. Within one build, no result is replaced
by a second measurement. Of range B, 60 trials were first measured at commit
a4f7911. After changes to the copy engine, all 200 were measured at 4f1e2b5. Of
the 60, 1047 then passed instead of failing, 1029 failed instead of being
inconclusive, and 1008, 1027 and 1036 were inconclusive instead of passing.
Wrong bytes, an error or a leftover process is a failure.

"Bound" is the fraction of the link's rate that the receiver's window or
stock's 64 requests allow; no limit applies to it. "Memory" is an end's peak
memory less stock's."""
RESULTS = ("fail", "inconclusive", "pass")
# Of a trial that ended with an error
NOTHING = {"of": {}, "mb_s": {}, "memory_mib": "", "left": []}


def ratio(row, who):
    """A ratio and its bounds, or else what was wrong, as text"""
    if who not in row["of"]:
        return row.get("error", "")
    mean, least, most = row["of"][who]
    return f"{mean:.2f}" + f" ({least:.2f}-{most:.2f})" * (least != most)


def table(rows):
    return grid(["trial", "BDP, MiB", "path ", "copy ", "buffers ", "ours",
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
        ["BDP, MiB ", "receives ", "loss ", "trials", *RESULTS,
         "of stock, median", "of raw TCP, median"], [
            [("under 2", "2 to 4", "over 4")[size], receiver,
             "yes" if loss else "none", len(these),
             *(sum(r["result"] == x for r in these) for x in RESULTS),
             median(these, "stock"), median(these, "raw")]
            for (size, receiver, loss), these in sorted(found.items())])


def failures(rows):
    """A sentence on those that failed, or nothing"""
    slower = [r for r in rows if r["of"].get("stock", [9])[-1] < 0.98]
    numbers = ", ".join(str(r["draw"]) for r in slower)
    rates = [r["of"]["stock"][0] for r in slower]
    return "" if not rows else (
        (f" Trials {numbers} were slower than stock ({min(rates):.2f} to "
         f"{max(rates):.2f} of its rate)." if slower else "") +
        f" The other {len(rows) - len(slower)} had less than 0.95 of raw TCP.")


def page(rows):
    rows = [{**NOTHING, **r} for r in rows]
    by = {x: [r for r in rows if r["result"] == x] for x in RESULTS}
    rest = DRAWS - len(rows)
    return [
        "Random paths, tools and ends",
        f"Failed: {len(by['fail'])} of {len(rows)} trials. Inconclusive: "
        f"{len(by['inconclusive'])}. Passed: {len(by['pass'])}." +
        failures(by["fail"]) +
        f" Still to be measured: {rest} of {DRAWS}." * (rest > 0),
        "![Goodput of each trial as a ratio to stock's, against the BDP]"
        "(random.svg)",
        strata(rows), HOW, *(part for x in RESULTS if by[x]
                             for part in (f"## {x.title()}", table(by[x])))]


def source():
    """What the picture says that it is of."""
    with open(file("random", "json"), "rb") as f:
        return f"of {hashlib.sha256(f.read()).hexdigest()}"


def is_drawn():
    with open(file("random", "svg")) as f:
        return source() in f.read()


def draw(rows):
    """The picture: ratios to stock over the BDP"""
    from plot_window import COLOURS, plt
    figure, axes = plt.subplots(figsize=(8.6, 4.6))
    for result, colour in zip(RESULTS, ("stock", "", "ours")):
        for receives, mark in (("ours", "o"), ("stock", "x")):
            these = [(r["bdp_mib"], *r["of"]["stock"]) for r in rows if "of" in
                     r and (r["result"], r["receives"]) == (result, receives)]
            for x, mean, least, most in these:
                axes.plot([x, x], [least, most], color=COLOURS[colour])
            axes.plot([t[0] for t in these], [t[1] for t in these], mark,
                      color=COLOURS[colour],
                      label=f"{result}, {receives} receives: {len(these)}")
    axes.axhline(0.98, color="#555555", linewidth=1, linestyle="--")
    axes.axvline(2, color="#555555", linewidth=1, linestyle=":")
    axes.set(xlabel="BDP, MiB (dots: 2 MiB)",
             ylabel="goodput, of stock's (dashes: 0.98)")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda v, _: f"{v:g}")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9)
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "random"}):
        figure.savefig(file("random", "svg"), bbox_inches="tight",
                       metadata={"Date": None, "Description": source()})
