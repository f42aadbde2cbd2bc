"""content.py: what each page of results says. A function takes the rows of
its file and returns the page's parts: title, verdict, and the rest, in which
what failed comes first."""

import collections
import os
import sys
import textwrap

from gather import TOP

sys.path.insert(0, os.path.join(TOP, "hpn-tests", "peers"))
import peers as table_of_peers          # noqa: E402

WIDTH = 36                  # characters of the longest bar


def fill(text):
    return textwrap.fill(" ".join(text.split()), 79, break_on_hyphens=False,
                         break_long_words=False)


def grid(head, rows):
    """A table; the first column is text, and so is one whose head ends in a
    blank."""
    line = ["---" if not i or name.endswith(" ") else "--:"
            for i, name in enumerate(head)]
    return "\n".join([
        f"| {' | '.join(name.strip() for name in head)} |",
        f"|{'|'.join(line)}|", *(f"| {' | '.join(map(str, row))} |"
                                 for row in rows)])


def bars(rows, unit):
    """A graph: a line for each (what, stock's, ours)."""
    top = max(max(stock, ours) for _, stock, ours in rows)
    longest = min(46, max(len(what.replace("`", "")) for what, *_ in rows))
    rate = unit != "s"
    key = f"    # ours, {unit}; - what stock takes longer" if not rate else \
        f"    # stock, {unit}; + what ours has more"
    lines = [key, ""]
    for what, stock, ours in rows:
        less, more = sorted((stock, ours))
        first = max(1, round(WIDTH * less / top))
        bar = "#" * first + ("+" if rate else "-") * \
            (round(WIDTH * more / top) - first)
        name = what.replace("`", "")[:longest]
        lines.append(f"    {name:{longest}} {bar:{WIDTH}} "
                     f"{stock:6.1f} -> {ours:.1f}")
    return "\n".join(lines)


def steps_of(row, prefix=""):
    """(what, seconds, seconds of raw TCP or None) of each step of a tool.
    "The same" is said in full."""
    what = ""
    for step in row["steps"]:
        same = step["what"] in ("the same, down", "`ssh host tar c | tar x`, "
                                "the same")
        what = what.replace(", up", ", down") \
            if same and ", up" in what else step["what"]
        yield prefix + what, step["seconds"], step.get("tcp")


def items(lines):
    return "\n".join(f"- {line}" for line in lines)


# Peers

PEERS_HOW = """\
Each transfer copies 64 MiB at 500 Mbit/s with an RTT of 100 ms, in virtual
time and without compression. Rates are in MB/s from the first byte to the
last, slow start included. TCP's buffers are raised to 512 MiB at both ends.
Stock is OpenSSH 10.0p1, and ours is openssh-bdp built on it. Raw TCP reaches
{raw} on the same path. TCP's window has grown during the login, so ssh
can be faster than raw TCP. All rows come from one run, which fails if ours is
below 0.95 of stock's rate. A test on loopback compares every byte.

"get" is from server to client, "put" from client to server. Our sshd speeds up
"put", and our ssh "get". In the other direction the peer's own window limits
the rate. With sftp, the number of its outstanding requests limits it too."""
MODES = """\
"exec" pipes the data through `cat`. In "many", russh has 256 requests
outstanding instead of its default 16. For "put", the Go client has four modes:

- "one" is `ReadFrom` with its defaults.
- "readfrom" is `ReadFrom` with `UseConcurrentWrites`.
- "many" is "readfrom" with 1,024 requests per file.
- "at" is `WriteAt` from 64 goroutines.

For "get", "at" is `ReadAt`, and the other three are `WriteTo`. The Go client's
own limit is 64 requests of 32 KiB, or 2 MiB a round trip. With more requests,
an upload reaches the path's rate."""


def wanted():
    """(role, peer, what, direction) of all that there is to measure."""
    return {(role, name, mode, direction)
            for role, table in table_of_peers.ROLES.items()
            for name, peer in table.items() for mode in peer.modes
            for direction in table_of_peers.DIRECTIONS}


def measured(rows):
    return {(r["role"], r["peer"], r["mode"], r["direction"]) for r in rows}


def of_peers(rows):
    return grid(["peer", "what ", "direction ", "stock", "ours", "of stock",
                 "of TCP"], [
        [r["peer"], r["mode"], r["direction"], f"{r['stock']:.2f}",
         f"{r['ours']:.2f}", f"{r['ours'] / r['stock']:.2f}",
         f"{100 * r['ours'] / r['raw']:.0f} %"] for r in rows])


def interop(rows):
    faster = [r for r in rows if r["ours"] >= 1.5 * r["stock"]]
    gains = [r["ours"] / r["stock"] for r in faster]
    least = min(r["ours"] / r["stock"] for r in rows)
    raw = ", ".join(f"{r} MB/s" for r in sorted({r["raw"] for r in rows}))
    missing = sorted({f"{role}: {name}, {mode}" for role, name, mode, _
                      in wanted() - measured(rows)})
    sides = {role: [r for r in rows if r["role"] == role]
             for role in ("client", "server")}
    return [
        "Clients and servers of other projects",
        "With TCP buffers of 512 MiB at both ends, "
        f"{len(faster)} of {len(rows)} transfers with "
        f"{len({r['peer'] for r in rows})} peers are {min(gains):.2f} to "
        f"{max(gains):.2f} times as fast with ours at the other end. The peer "
        "or the path limits the others. Each transfer reaches at least "
        f"{least:.2f} of stock's rate.",
        *(["Not measured: " + "; ".join(missing)] if missing else []),
        bars([(f"{r['peer']} {r['mode']}, {r['direction']}", r["stock"],
               r["ours"]) for r in faster], "MB/s"),
        PEERS_HOW.format(raw=raw),
        "## Clients, with our sshd", of_peers(sides["client"]),
        "## Servers, with our ssh", of_peers(sides["server"]),
        MODES, "## Versions",
        items(sorted({f"{r['peer']}: {r['version']}" for r in rows}))]


# Load, faults

FIGURES = {"got in; were told to come again": "logged in; refused at first"}

def load(rows):
    one = next(r for r in rows if r["figure"] == "memory of one, KiB")
    return [
        "Many channels, connections and logins at once",
        "10,000 channels, 1,000 connections and 500 logins all succeed. A "
        f"connection takes {float(one['ours']) / float(one['stock']):.3f} "
        "times stock's memory, and no process is left behind.",
        fill("The tests run on loopback. An idle connection may use at most "
             "1.02 times stock's memory and CPU time. Memory after "
             "all channels must be about the same as after the first 1,000."),
        grid(["what", "figure ", "stock", "ours"], [
            [r["what"], FIGURES.get(r["figure"], r["figure"]),
             r["stock"] or "-", r["ours"]] for r in rows])]


SILENT = ("cut short, said nothing", "wrong data, exit 0")
OUTCOMES = {"goes on": "completed", "error": "failed with an error",
            "cut short, said nothing": "truncated without an error",
            "wrong data, exit 0": "with wrong data and status 0"}


def counted(outcomes):
    return ", ".join(f"{count} {OUTCOMES.get(outcome, outcome)}"
                     for outcome, count in sorted(outcomes.items())) or "-"


def silent(row, who):
    return sum(row[who].get(outcome, 0) for outcome in SILENT)


def faults(rows):
    def of(who, rows):
        bad = sum(silent(r, who) for r in rows)
        return f"{bad or 'none'} of {sum(sum(r[who].values()) for r in rows)}"

    rows = sorted(rows, key=lambda r: -silent(r, "stock"))
    both = [r for r in rows if r["stock"]]
    alone = [r for r in rows if not r["stock"]]
    return [
        "Copies with a fault in the middle",
        "Wrong or truncated data was copied without an error in "
        f"{of('ours', both)} copies with ours, and {of('stock', both)} with "
        "stock (first row). Other faults were tried with ours only: "
        f"{of('ours', alone)} copies had such data.",
        fill("ssh, scp and sftp copy in both directions. A copy must complete "
             "with the same bytes, or fail with a message that names the "
             "cause. The test fails if our programs accept wrong bytes, "
             "leave a process behind, or fail without a message. Stock is "
             "OpenSSH 10.0p1 at both ends. Numbers count copies; \"-\" means "
             "not tried."),
        grid(["fault", "stock ", "ours "], [
            [r["fault"], counted(r["stock"]), counted(r["ours"])]
            for r in rows])]


# Upstream's tests, sanitizers

STATES = ("passed", "failed", "skipped")
OUR_FUZZERS = ("fuzz_window", "fuzz_wire", "fuzz_server", "fuzz_client")


def upstream(rows):
    failed, passed = (sum(r["ours"].get(state, 0) for r in rows)
                      for state in ("failed", "passed"))
    who = {}
    for r in rows:
        for w, what in r["not passed"]:
            who.setdefault(what, []).append(w)
    alike = all(r["stock"] == r["ours"] for r in rows)
    return [
        "Upstream's own tests",
        f"With our programs, {passed} of upstream's tests pass and "
        f"{failed or 'none'} fail{'s' * (failed == 1)}"
        f"{', the same as with stock' if alike else ''}.",
        items(f"{what} ({', '.join(sorted(w, reverse=True))})"
              for what, w in sorted(who.items())),
        fill(f"The tests are unmodified. Stock is OpenSSH {rows[0]['base']}. "
             "The target \"interop-tests\" tests against PuTTY, Dropbear and "
             "conch."),
        grid(["target", "tests", "stock: passed", "failed", "skipped",
              "ours: passed", "failed", "skipped"], [
            [r["target"], sum(r["ours"].values()),
             *(r[w].get(s, 0) for w in ("stock", "ours") for s in STATES)]
            for r in rows])]


def sanitized(rows):
    found = sum(r["findings"] for r in rows)
    ran = {r["what"].partition(",")[0] for r in rows}
    missing = [name for name in OUR_FUZZERS if name not in ran]
    return [
        "Tests and fuzzers under ASan and UBSan",
        f"{sum(r['runs'] or 0 for r in rows):,} runs of tests and fuzzers had "
        f"{found or 'no'} finding{'s' * (found != 1)}.",
        *(["Not measured: " + ", ".join(missing)] if missing else []),
        fill("clang builds our programs with ASan and UBSan, and upstream's "
             "tests and fuzzers run on them; bdp-modules has our unit tests. "
             "The last rows are our own fuzzers: fuzz_window calls the "
             "window's code, fuzz_server sends whole sessions to sftp-server, "
             "fuzz_wire to the channels, fuzz_client to scp and sftp. A "
             "finding is a sanitizer's report, a failed test or anything that "
             "stops a fuzzer, but not ssh-agent's intended end at a truncated "
             "request to lock it. Our fuzzers also report CPU time, memory or "
             "descriptors above a limit."),
        grid(["what", "runs", "findings"], [
            [r["what"], "does not build here" if r["runs"] is None
             else f"{r['runs']:,}",
             "-" if r["runs"] is None else r["findings"]]
            for r in sorted(rows, key=lambda r: -r["findings"])])]


# Tools

TOOLS_HOW = """\
Times are elapsed seconds. The link carries {rate} Mbit/s and loses no packets.
In the column "client", only the client is ours (openssh-bdp), in "server" only
the server. "TCP" is the time in which raw TCP transfers the same bytes,
without a login.

The last column gives what limits the step with ours at both ends. If the path
limits a step, the time of the same command without data is subtracted from the
step's time. The difference may be at most 1 / 0.9 of raw TCP's time.
TCP's window has grown during the login, so ssh can be faster than raw TCP.
Round trips include the login's. They are the time at the longest RTT less that
at the shortest, divided by the difference of the RTTs. A step may take at most
1 / 0.97 of stock's time. The lab's clock stands still while a program computes,
so the CPU never limits a step here."""
BUFFERS = {"raised": "TCP buffers raised to 512 MiB",
           "package": "TCP buffers as the package sets them"}


def trips(row, step, rows):
    """Round trips of a step, from the shortest and the longest RTT at which it
    was measured with these buffers; None if there is but one."""
    found = {r["rtt_ms"]: s["seconds"] for r in rows for s in
             r.get("steps", []) if s["name"] == step["name"] and
             (r["tool"], r["buffers"], r["mib"]) ==
             (row["tool"], row["buffers"], row["mib"])}
    if len(found) < 2:
        return None
    least, most = min(found), max(found)
    return 1000 * (found[most]["both"] - found[least]["both"]) / (most - least)


def limit(row, step, rows):
    """What limits a step with ours at both ends, as text."""
    if step["limit"] == "path":
        return f"the path: {step['of_tcp']:.2f} of raw TCP's rate"
    seconds = step["seconds"]["both"]
    why = f": {step['why']}" if step["why"] else ""
    if step["limit"] == "own window":
        # besides what its first step, which moves nothing, takes
        seconds -= row["steps"][0]["seconds"]["both"]
        flight = step["moved"] / seconds * row["rtt_ms"] / 1000 / 2**10
        return f"the tool's own window{why}; {flight:,.0f} KiB a round trip"
    count = trips(row, step, rows)
    if count is None:
        count = 1000 * seconds / row["rtt_ms"]
    return f"{count:.0f} round trips{why}"


def tools_row(row, step, rows):
    cells = [f"{step['seconds'][end]:.2f}"
             for end in ("stock", "client", "server", "both")]
    tcp = f"{step['tcp']:.2f}" if "tcp" in step else ""
    what = step["what"].replace("|", "\\|")
    return [f"{row['tool']}: {what}", f"{row['rtt_ms']:.0f}", *cells, tcp,
            limit(row, step, rows)]


def tools_table(alike, found):
    lines = []
    for name in dict.fromkeys(r["tool"] for r in alike):
        these = sorted((r for r in alike if r["tool"] == name),
                       key=lambda r: r["rtt_ms"])
        for i, step in enumerate(these[0]["steps"]):
            lines += [tools_row(r, r["steps"][i], found) for r in these]
    return grid(["what", "RTT (ms)", "stock", "client", "server", "both",
                 "TCP", "limit with both "], lines)


def tools(rows):
    found = [r for r in rows if "steps" in r]
    far = [(what, s) for r in found if (r["rtt_ms"], r["buffers"]) ==
           (200, "raised") for what, s, _ in steps_of(r, f"{r['tool']}: ")]
    gains = [s["stock"] / s["both"] for _, s in far]
    slower = [f"{what}, {r['rtt_ms']:.0f} ms, buffers {r['buffers']}: "
              f"{s['stock']:.2f} s, {end} {s[end]:.2f} s"
              for r in found for what, s, _ in steps_of(r, f"{r['tool']}: ")
              for end in ("client", "server", "both")
              if s["stock"] < 0.97 * s[end]]
    skipped = sorted({f"{r['tool']}, {r['rtt_ms']:.0f} ms, buffers "
                      f"{r['buffers']}: {r['skipped']}"
                      for r in rows if "skipped" in r})
    parts = [
        "rsync, git, backups and other tools over ssh",
        f"With ours at both ends, {sum(g >= 2 for g in gains)} of "
        f"{len(gains)} jobs take at most half of stock's time at 200 ms, and "
        f"the fastest takes {1 / max(gains):.2f} of it. If a job waits for "
        "the other end after each request, only its login gets shorter. Every "
        f"job takes at most {1 / min(gains):.2f} times stock's time. With ours "
        f"at one end or both, {len(slower)} steps exceed the limit of 1 / 0.97 "
        "of stock's time.",
        *([items([f"Slower than stock: {s}" for s in slower])] if slower else
          []),
        *([items(["not measured: " + s for s in skipped])] if skipped else []),
        bars(sorted(((what, s["stock"], s["both"]) for what, s in far
                     if 10 < s["stock"] < 100),
                    key=lambda row: -row[1] / row[2]), "s"),
        TOOLS_HOW.format(rate=found[0]["rate_mbit"])]
    for buffers, title in BUFFERS.items():
        alike = [r for r in found if r["buffers"] == buffers]
        if alike:
            parts += [f"## {title}", tools_table(alike, found)]
    return [*parts, "## Versions",
            items(sorted({f"{r['tool']}: {r['version']}" for r in found}))]


# Copies

COPIES = {
    "buffers-get": "both ends ours, download: the package's buffers and "
                   "512 MiB",
    "buffers-put": "both ends ours, upload: the package's buffers and 512 MiB",
    "streams-get": "stock server, download: stock's scp, ours over four and "
                   "over eight streams",
    "streams-loss": "stock server, upload with 0.1 % loss: one and eight "
                    "streams, three seeds",
    "streams-put": "stock server, upload: stock's scp, ours over four and "
                   "over eight streams"}


def title(row):
    return COPIES.get(row["row"], row["row"])


def by_case(seconds):
    """The times of each case; its seeds are numbered: one1, one2."""
    cases = collections.defaultdict(list)
    for key, s in seconds.items():
        cases[key.rstrip("0123456789")].append(f"{s:.1f}")
    return "; ".join(f"{case} {', '.join(times)}"
                     for case, times in cases.items())


def copies(rows):
    by = {r["row"]: r["seconds"] for r in rows}
    missed = [f"{title(r)}: {'; '.join(r['missed'])}"
              for r in rows if r["missed"]]
    get, put = by["streams-get"], by["streams-put"]
    lines = [(f"{way}, {case} streams, stock server", took["stock"],
              took[case]) for way, took in (("down", get), ("up", put))
             for case in ("four", "eight")]
    lines += [(f"{way}, both ends ours", took["stock"], by[rows]["package"])
              for way, took, rows in (("down", get, "buffers-get"),
                                      ("up", put, "buffers-put"))]
    return [
        "scp over several streams, and with the package's buffers",
        f"To and from a stock server, eight streams copy 1 GB in "
        f"{max(get['eight'], put['eight']):.0f} s. Stock's scp takes "
        f"{min(get['stock'], put['stock']):.0f} s. With ours at both ends, "
        "one connection takes "
        f"{by['buffers-get']['package']:.0f} s, with the buffers of "
        "openssh-bdp-tuning (64 MiB) as with 512 MiB.",
        *([items(missed)] if missed else []), bars(lines, "s"),
        fill("Times are in seconds of the whole command, for 1 GB at 1 Gbit/s "
             "x 200 ms, in virtual time, of one run for each seed. "
             "The last column gives each figure and its limit. Times include "
             "ARP. The [benchmark](../../bench/README.md#whole-commands) is of "
             "another commit and without ARP."),
        grid(["what", "path ", "seconds ", "measured "], [
            [title(r), "; ".join(r["paths"]),
             by_case(r["seconds"]),
             "; ".join(r["measured"])] for r in rows])]
