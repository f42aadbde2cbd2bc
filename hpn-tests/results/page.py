"""page.py: a page of each file of results, peers.md from peers.json and so on;
with "collect PART", that file first from what the tests left in the folder of
build that is named so: interop, load, faults, upstream, sanitized, fuzz,
tools, day, random or copies. New draws and copies are added to the old ones.
Our own fuzzers (fuzz) are on the page of sanitizers, too."""

import glob
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "hpn-tests", "peers"))
import peers                            # noqa: E402

PAGES = {"interop": "peers", "load": "load", "faults": "faults",
         "upstream": "upstream", "sanitized": "sanitizers",
         "tools": "tools", "day": "day", "random": "random",
         "copies": "copies"}

PEERS = """\
# Peers

Written by `make check-interop`, from what it measured.

Clients and servers that others wrote move 64 MiB each way, with stock OpenSSH
10.0p1 at the other end and with ours; on loopback every byte is compared. This
is 500 Mbit/s over 100 ms, in virtual time: goodput in MB/s from the first byte
to the last, slow start included, without compression. TCP's buffers are raised
to 512 MiB at both ends. All rows are of one run; ours below 0.95 of stock's is
a failure. Plain TCP on the same path: {raw}.

"get" is from server to client, "put" from client to server. A window helps
who receives: ours opens "put" to our sshd and "get" with our ssh. In the other
direction the peer's own window decides, and in sftp how many requests it has
under way.
"""

MODES = """
"many" of russh has 256 requests under way, by default they are 16.

## Uploads of the Go client

"readfrom" is `ReadFrom` with `UseConcurrentWrites`, "many" the same with 1,024
requests per file, "at" is `WriteAt` (`ReadAt`) from 64 goroutines, "one" is
`ReadFrom` as it is by default, "exec" is `cat`; "get" above is `WriteTo` in all
but "at". 64 requests of 32 KiB are 2 MiB a round trip: by default that is the
client's own limit, whatever the window; with more of them an upload runs at the
path's rate.

"""


LOAD = """\
# Load

Of `make check-load`, on loopback. A limit that is given is held to: memory of
a connection and its CPU time at most 1.02 of stock's, memory after all channels
what it was after the first 1,000.

| what | figure | stock | ours |
|---|---|--:|--:|\
"""

FAULTS = """\
# Faults

Of `make check-faults`: copies by ssh, scp and sftp, get and put, with a fault
in the middle. Each goes on, and the bytes are the same, or ends with an error,
which says what was wrong; ours that calls wrong bytes good, leaves a process
behind, or says nothing is a failure of the tests. Stock is OpenSSH 10.0p1 at
both ends, where it was tried. Numbers are of copies.

| fault | stock | ours |
|---|---|---|\
"""

UPSTREAM = """\
# Upstream's tests

Of `make check-upstream`: upstream's own, none of them changed, on OpenSSH
{base} as it is and on ours. A test that comes out otherwise with ours is a
failure. "interop-tests" are with PuTTY, Dropbear and conch.

| target | tests | stock: passed | failed | skipped | ours: passed | failed \
| skipped |
|---|--:|--:|--:|--:|--:|--:|--:|\
"""

SANITIZED = """\
# Under sanitizers

Of `make check-sanitized`: ours, built by clang with ASan and UBSan; upstream's
file-tests, unit tests, those of t-exec that aren't skipped here, and upstream's
fuzzers. A report of a sanitizer, a failed test and what stops a fuzzer is a
finding each. The last rows are of `make fuzz`, under both sanitizers, too: a
fuzzed peer of whole conversations with sftp-server, with channels, and with
sftp. To use more CPU time, memory or descriptors than allowed is a finding
there.

| what | runs | findings |
|---|--:|--:|\
"""

TOOLS = """\
# Tools

Of `make check-tools`: what people do over ssh, as seconds from Enter to
prompt. Sizes are in the rows. The link carries {rate} Mbit/s and loses
nothing. "client" has ours at
the client only, "server" at the server only; "-" is a tool that speaks SSH
itself. "TCP" is what plain TCP takes for the same bytes, without a login.

The last column says what limits the step with ours at both ends. "The path" is
held to: the bytes take at most 1 / 0.9 of raw TCP's time, beside the time of
the same command with nothing to move. (A connection that has logged in sends
more at once than a new one, so it can be less.) Round trips are the tool's own,
the login's among them: from the shortest to the longest RTT that was measured,
else all of the time. Nothing may take longer than stock's seconds / 0.97.

The lab's clock stands still while a program computes, so CPU is no limit here.
"""

DAY = """\
# A day

Of `make check-day`: one connection of ours for {hours} hours of the lab's time.
Each hour has short connections through a forwarding, a keystroke a minute and a
burst, over a path that is another each time; some have nothing but keepalives,
one has rsync. An hour ends with the same burst over the first path, which the
last columns describe, and a minute of keepalives. TCP's buffers are raised to
512 MiB at both ends. What must hold: each connection was answered, and the last
hour ends as the first did.

| hour | connections | keystrokes | new keys | burst (MB/s) | window (MiB) | \
ssh (KiB) | sshd-session (KiB) | descriptors |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|\
"""

RANDOM = """\
# Paths drawn at random

Of `make check-random`, {draws} draws. A draw's number gives a path (5 Mbit/s to
2.5 Gbit/s, 2 to 600 ms, losses, jitter, a queue of 0.1 to 4 BDP, CUBIC or BBR,
TCP buffers untouched or raised to 512 MiB), a tool, a direction and the
programs at both ends; at least one is ours. Stock at both ends and raw TCP take
the same path in the same run. Where packets are lost, each figure is the median
of three seeds. If that misses, or one run on a path with jitter does, it is the
mean of nine seeds, which may be lower by twice its standard error, and by no
more than 14 %: which packets are lost or overtaken is luck, and plain TCP's
goodput differs as much. If nine seeds miss, too, and differ too much to tell,
it is the mean of 36. Draws with nine seeds: {nine}; with 36: {most}.

What must hold: the bytes are the same, no process is left, a stock sender never
has 8 MiB of unspent credit, an end of ours takes at most 16 MiB more than
stock's, and goodput is at least 0.95 of the limit and 0.97 of stock's. The
limit is raw TCP's goodput, or, if that is less, what the receiver's window or
the 64 requests of stock's scp and sftp allow. Our window towards a stock sender
gains 4 MiB in a round trip, up to a BDP, 3 MiB, and a part of what waits behind
lost segments. Where ours misses, raw TCP takes the path once more with a
receive window that gains as much, up to a BDP and 7 MiB, and its goodput is the
limit. Where stock receives, the limit is no more than what stock at both ends
carries.

| figure | least | 1 in 100 under | 1 in 10 under | median | most |
|---|--:|--:|--:|--:|--:|\
"""

COPIES = """\
# Copies over several streams

Of `make check-copies`: scp in the lab's time, over four and eight streams
(`-X streams=N`), and with TCP's buffers as our package sets them. Seconds are
those of the whole command; the last column says what was required. A row is one
run, or one for each seed where packets are lost. Rows without `four` are of the
engine before this one, whose option was `-X connections=8`.

| row | path | seconds | measured |
|---|---|---|---|\
"""

BUFFERS = {"raised": "TCP buffers raised to 512 MiB",
           "package": "TCP buffers as the package sets them"}


def file(part, kind):
    return os.path.join(HERE, f"{PAGES[part]}.{kind}")


def left(part):
    """The rows that the tests left."""
    folder = os.path.join(TOP, os.environ.get("BDP_BUILD", "build"), part)
    found, lines = [], []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as f:
            found.append(json.load(f))
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        with open(path) as f:
            lines += map(json.loads, f)
    return found + list(OF_LINES[part](lines)) if lines else found


def of_faults(runs):
    counts = {}
    for run in runs:
        row = counts.setdefault(run["fault"], {
            "role": "fault", "fault": run["fault"], "stock": {}, "ours": {}})
        count = row[run["who"]]
        count[run["outcome"]] = count.get(run["outcome"], 0) + run["runs"]
    return [counts[fault] for fault in sorted(counts)]


def base():
    """The version of upstream that all is built from."""
    with open(os.path.join(TOP, "openssh", "UPSTREAM")) as f:
        return re.search("^VERSION=(.*)", f.read(), re.M)[1]


def of_upstream(runs):
    """A row for each target: tests by outcome, and which didn't pass."""
    rows = {}
    for run in runs:
        row = rows.setdefault(run["target"], {
            "role": "upstream", "target": run["target"], "base": base(),
            "stock": {}, "ours": {}, "not passed": []})
        count = row[run["who"]]
        count[run["outcome"]] = count.get(run["outcome"], 0) + run["tests"]
        if run["outcome"] != "passed":
            what = f"{run['name']} {run['outcome']}"
            row["not passed"].append(
                [run["who"], f"{what}: {run['why']}" if run["why"] else what])
    return rows.values()


def of_sanitized(runs):
    """A row for each; the tests of t-exec are one."""
    rows = {}
    for run in runs:
        row = rows.setdefault(run["what"], {
            "role": "sanitized", "what": run["what"], "runs": 0,
            "findings": 0})
        row["findings"] += run["findings"]
        row["runs"] = None if run["runs"] is None else \
            row["runs"] + run["runs"]
    return rows.values()


OF_LINES = {"faults": of_faults, "upstream": of_upstream,
            "sanitized": of_sanitized, "fuzz": of_sanitized, "day": list}


# Rows that a run adds to those that are kept, by what tells one from another
KEPT = {"random": "draw", "copies": "row"}


def with_kept(part, rows):
    found = {r[KEPT[part]]: r for r in read(part) + rows}
    return [found[which] for which in sorted(found)]


def with_other_fuzzers(rows, ours):
    """Ours, or else upstream's, are new; the others stay. Ours are last."""
    kept = [r for r in read("sanitized")
            if r["what"].startswith("fuzz_") != ours]
    return kept + rows if ours else rows + kept


def collect(part):
    rows = left(part)
    if not rows:
        sys.exit(f"page.py: the tests left no results in build/{part}")
    if part in KEPT:
        rows = with_kept(part, rows)
    if part in ("sanitized", "fuzz"):
        rows = with_other_fuzzers(rows, part == "fuzz")
        part = "sanitized"
    with open(file(part, "json"), "w") as f:
        f.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def table(rows):
    yield "| peer | what | direction | stock | ours | of stock | of TCP |"
    yield "|---|---|---|--:|--:|--:|--:|"
    for r in rows:
        yield (f"| {r['peer']} | {r['mode']} | {r['direction']} | "
               f"{r['stock']:.2f} | {r['ours']:.2f} | "
               f"{r['ours'] / r['stock']:.2f} | "
               f"{100 * r['ours'] / r['raw']:.0f} % |")


def load(rows):
    yield LOAD.rstrip("\n")
    for r in rows:
        yield (f"| {r['what']} | {r['figure']} | {r['stock'] or '-'} | "
               f"{r['ours']} |")


def faults(rows):
    yield FAULTS.rstrip("\n")
    for r in rows:
        cells = [", ".join(f"{count} {outcome}" for outcome, count in
                           sorted(r[who].items())) or "-"
                 for who in ("stock", "ours")]
        yield f"| {r['fault']} | {' | '.join(cells)} |"


OUTCOMES = ("passed", "failed", "skipped")


def upstream(rows):
    yield UPSTREAM.replace("{base}", rows[0]["base"]).rstrip("\n")
    for r in rows:
        cells = [str(r[who].get(o, 0)) for who in ("stock", "ours")
                 for o in OUTCOMES]
        yield (f"| {r['target']} | {sum(r['ours'].values())} | "
               f"{' | '.join(cells)} |")
    yield ""
    who = {}
    for r in rows:
        for w, what in r["not passed"]:
            who.setdefault(what, []).append(w)
    for what, alike in sorted(who.items()):
        yield f"- {what} ({', '.join(alike)})"


def sanitized(rows):
    yield SANITIZED.rstrip("\n")
    for r in rows:
        cells = "doesn't build here | -" if r["runs"] is None else \
            f"{r['runs']:,} | {r['findings']}"
        yield f"| {r['what']} | {cells} |"


def other(role):
    return "sshd" if role == "client" else "ssh"


def wanted():
    """(role, peer, what, direction) of all that there is to measure."""
    return {(role, name, mode, direction)
            for role, table in peers.ROLES.items()
            for name, peer in table.items() for mode in peer.modes
            for direction in peers.DIRECTIONS}


def measured(rows):
    return {(r["role"], r["peer"], r["mode"], r["direction"]) for r in rows}


def interop(rows):
    raw = ", ".join(f"{r} MB/s" for r in sorted({r["raw"] for r in rows}))
    yield PEERS.format(raw=raw).rstrip("\n")
    for role in ("client", "server"):
        yield f"\n## {role.title()}s, with our {other(role)}\n"
        yield from table(r for r in rows if r["role"] == role)
    yield MODES.rstrip("\n") + "\n"
    yield from table(r for r in rows if r["role"] == "client" and
                     r["direction"] == "put" and r["peer"].startswith("Go"))
    yield ""
    missing = sorted({f"- {role}: {name}, {mode}" for role, name, mode, _
                      in wanted() - measured(rows)})
    if missing:
        yield from ("## Not measured\n", *missing, "")
    yield "## Versions\n"
    yield from sorted({f"- {r['peer']}: {r['version']}" for r in rows})


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
    end = list(found[least])[-1]
    return 1000 * (found[most][end] - found[least][end]) / (most - least)


def limit(row, step, rows):
    """What limits a step with ours at both ends, as text."""
    if step["limit"] == "path":
        return f"the path: {step['of_tcp']:.2f} of raw TCP's rate"
    seconds = list(step["seconds"].values())[-1]
    why = f": {step['why']}" if step["why"] else ""
    if step["limit"] == "own window":
        # beside what its first step, which moves nothing, takes
        seconds -= list(row["steps"][0]["seconds"].values())[-1]
        flight = step["moved"] / seconds * row["rtt_ms"] / 1000 / 2**10
        return f"the tool's own window{why}; {flight:,.0f} KiB a round trip"
    count = trips(row, step, rows)
    if count is None:
        count = 1000 * seconds / row["rtt_ms"]
    return f"{count:.0f} round trips{why}"


def tools(rows):
    found = [r for r in rows if "steps" in r]
    yield TOOLS.format(rate=found[0]["rate_mbit"]).rstrip("\n")
    for buffers, title in BUFFERS.items():
        alike = [r for r in found if r["buffers"] == buffers]
        if not alike:
            continue
        yield f"\n## {title}\n"
        yield ("| what | RTT (ms) | stock | client | server | both | TCP | "
               "what limits it then |")
        yield "|---|--:|--:|--:|--:|--:|--:|---|"
        for name in dict.fromkeys(r["tool"] for r in alike):
            these = sorted((r for r in alike if r["tool"] == name),
                           key=lambda r: r["rtt_ms"])
            for i, step in enumerate(these[0]["steps"]):
                for r in these:
                    yield tools_row(r, r["steps"][i], found)
    yield ""
    skipped = sorted({f"- {r['tool']}, {r['rtt_ms']:.0f} ms, buffers "
                      f"{r['buffers']}: {r['skipped']}"
                      for r in rows if "skipped" in r})
    if skipped:
        yield from ("## Not measured\n", *skipped, "")
    yield "## Versions\n"
    yield from sorted({f"- {r['tool']}: {r['version']}" for r in found})


def tools_row(row, step, rows):
    cells = [f"{step['seconds'][end]:.2f}" if end in step["seconds"] else "-"
             for end in ("stock", "client", "server", "both")]
    tcp = f"{step['tcp']:.2f}" if "tcp" in step else ""
    what = step["what"].replace("|", "\\|")
    return (f"| {row['tool']}: {what} | {row['rtt_ms']:.0f} | "
            f"{' | '.join(cells)} | {tcp} | {limit(row, step, rows)} |")


def a_day(rows):
    yield DAY.format(hours=len(rows)).rstrip("\n")
    for r in rows:
        memory = " | ".join(str(r["processes"][name]["rss_kib"])
                            for name in ("ssh", "sshd-session"))
        descriptors = sum(p["descriptors"] for p in r["processes"].values())
        yield (f"| {r['hour']} | {r['answered']} | {r['echoed']} | "
               f"{r['rekeys']} | {r['last_mb_s']:.2f} | "
               f"{r['window'] / 2**20:.1f} | {memory} | {descriptors} |")


def draws(rows):
    nine, most = (sum(r.get("seeds") == n for r in rows) for n in (9, 36))
    yield RANDOM.format(draws=len(rows), nine=nine, most=most).rstrip("\n")
    for name, figure in (("of_limit", "goodput, of the limit"),
                         ("of_stock", "goodput, of stock's"),
                         ("unspent_mib", "unspent credit, MiB")):
        values = sorted(r[name] for r in rows if name in r)
        if not values:
            continue
        some = [values[int(part * (len(values) - 1))]
                for part in (0, 0.01, 0.1, 0.5, 1)]
        yield f"| {figure} | {' | '.join(f'{v:.2f}' for v in some)} |"
    missed = [r for r in rows if r["missed"]]
    yield f"\n## Draws that missed: {len(missed)}\n"
    for r in missed:
        why = r.get("why")
        yield f"- {r['draw']}: {'; '.join(r['missed'])}" + \
            (f" ({why})" if why else "")
    ruled = [r for r in rows if "of_raw" in r and not r["missed"]]
    yield f"\n## Draws that our window's rule limits: {len(ruled)}\n"
    for r in ruled:
        yield (f"- {r['draw']}: {r['of_limit']:.0%} of raw TCP's goodput with "
               f"a window by that rule, {r['of_raw']:.0%} with all the window "
               "it wants")


def copies(rows):
    yield COPIES.rstrip("\n")
    for r in rows:
        seconds = ", ".join(f"{key} {s:.1f}" for key, s in
                            r["seconds"].items())
        yield (f"| {r['row']} | {'; '.join(r['paths'])} | {seconds} | "
               f"{'; '.join(r['measured'])} |")


LINES = {"interop": interop, "load": load, "faults": faults,
         "upstream": upstream, "sanitized": sanitized, "tools": tools,
         "day": a_day, "random": draws, "copies": copies}


def page(part):
    return "\n".join(LINES[part](read(part))) + "\n"


def read(part):
    with open(file(part, "json")) as f:
        return json.load(f)


def main():
    if sys.argv[1:2] == ["collect"]:
        collect(sys.argv[2])
    for part in PAGES:
        with open(file(part, "md"), "w") as f:
            f.write(page(part))


if __name__ == "__main__":
    main()
