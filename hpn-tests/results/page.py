"""page.py [--check]: writes the figures into the page of each file of results,
peers.md from peers.json and so on, or checks that they are there. page.py
collect PART: makes that file first, of what the tests left in the folder of
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
sys.path[:0] = [os.path.join(TOP, "hpn-tests", folder)
                for folder in ("peers", "lib")]
import documents                        # noqa: E402
import peers                            # noqa: E402

PAGES = {"interop": "peers", "load": "load", "faults": "faults",
         "upstream": "upstream", "sanitized": "sanitizers",
         "tools": "tools", "day": "day", "random": "random",
         "copies": "copies"}

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


def head(names, left):
    """A table's first two lines. The first `left` columns are text, the others
    numbers."""
    count = names.count("|") + 1
    return f"| {names} |\n|" + left * "---|" + (count - left) * "--:|"


def of_peers(rows):
    yield head("peer | what | direction | stock | ours | of stock | of TCP", 3)
    for r in rows:
        yield (f"| {r['peer']} | {r['mode']} | {r['direction']} | "
               f"{r['stock']:.2f} | {r['ours']:.2f} | "
               f"{r['ours'] / r['stock']:.2f} | "
               f"{100 * r['ours'] / r['raw']:.0f} % |")


def load(rows):
    yield head("what | figure | stock | ours", 2)
    for r in rows:
        yield (f"| {r['what']} | {r['figure']} | {r['stock'] or '-'} | "
               f"{r['ours']} |")


def faults(rows):
    yield head("fault | stock | ours", 3)
    for r in rows:
        cells = [", ".join(f"{count} {outcome}" for outcome, count in
                           sorted(r[who].items())) or "-"
                 for who in ("stock", "ours")]
        yield f"| {r['fault']} | {' | '.join(cells)} |"


OUTCOMES = ("passed", "failed", "skipped")


def upstream(rows):
    yield f"With OpenSSH {rows[0]['base']}:\n"
    yield head("target | tests | stock: passed | failed | skipped | "
               "ours: passed | failed | skipped", 1)
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
    yield head("what | runs | findings", 1)
    for r in rows:
        cells = "doesn't build here | -" if r["runs"] is None else \
            f"{r['runs']:,} | {r['findings']}"
        yield f"| {r['what']} | {cells} |"


def wanted():
    """(role, peer, what, direction) of all that there is to measure."""
    return {(role, name, mode, direction)
            for role, table in peers.ROLES.items()
            for name, peer in table.items() for mode in peer.modes
            for direction in peers.DIRECTIONS}


def measured(rows):
    return {(r["role"], r["peer"], r["mode"], r["direction"]) for r in rows}


def interop(rows):
    """The parts of the page, by name."""
    def of(role, *wanted):
        return "\n".join(of_peers(
            r for r in rows if r["role"] == role and (not wanted or (
                r["direction"], r["peer"][:2]) == wanted)))

    raw = ", ".join(f"{r} MB/s" for r in sorted({r["raw"] for r in rows}))
    missing = sorted({f"- {role}: {name}, {mode}" for role, name, mode, _
                      in wanted() - measured(rows)})
    return {"raw TCP": f"Plain TCP on the same path: {raw}.",
            "clients": of("client"), "servers": of("server"),
            "uploads of Go": of("client", "put", "Go"),
            "not measured": "\n".join(missing) or "Nothing.",
            "versions": "\n".join(sorted({f"- {r['peer']}: {r['version']}"
                                          for r in rows}))}


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
    yield f"The link carries {found[0]['rate_mbit']} Mbit/s."
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
    yield head("hour | connections | keystrokes | new keys | burst (MB/s) | "
               "window (MiB) | ssh (KiB) | sshd-session (KiB) | descriptors",
               0)
    for r in rows:
        memory = " | ".join(str(r["processes"][name]["rss_kib"])
                            for name in ("ssh", "sshd-session"))
        descriptors = sum(p["descriptors"] for p in r["processes"].values())
        yield (f"| {r['hour']} | {r['answered']} | {r['echoed']} | "
               f"{r['rekeys']} | {r['last_mb_s']:.2f} | "
               f"{r['window'] / 2**20:.1f} | {memory} | {descriptors} |")


def draws(rows):
    nine, most = (sum(r.get("seeds") == n for r in rows) for n in (9, 36))
    yield f"Draws: {len(rows)}; with nine seeds: {nine}; with 36: {most}.\n"
    yield head("figure | least | 1 in 100 under | 1 in 10 under | median | "
               "most", 1)
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
    yield head("row | path | seconds | measured", 4)
    for r in rows:
        seconds = ", ".join(f"{key} {s:.1f}" for key, s in
                            r["seconds"].items())
        yield (f"| {r['row']} | {'; '.join(r['paths'])} | {seconds} | "
               f"{'; '.join(r['measured'])} |")


LINES = {"load": load, "faults": faults, "upstream": upstream,
         "sanitized": sanitized, "tools": tools, "day": a_day, "random": draws,
         "copies": copies}


def parts(part):
    """What is written into a page, by the names of its places there."""
    rows = read(part)
    return interop(rows) if part == "interop" else \
        {"figures": "\n".join(LINES[part](rows))}


def read(part):
    with open(file(part, "json")) as f:
        return json.load(f)


if __name__ == "__main__":
    if sys.argv[1:2] == ["collect"]:
        collect(sys.argv[2])
    documents.update({file(part, "md"): parts(part) for part in PAGES})
