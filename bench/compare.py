"""compare.py OLD [NEW]: prints which figures changed by more than both their
spreads and 1 %, from one file of the bench to another (the last one).

Figures of virtual time are held against each other as they are. Those of real
time depend on the machine: what is compared is their ratio to stock OpenSSH's,
or raw TCP's, in the same repetition."""

import os
import sys

import results
from project import BenchError, main as run_main
from results import Results

LEAST = 0.01        # changes that are less are none
WHAT = ("kind", "link", "tool", "direction", "client", "server", "cipher")
MORE = ("goodput_mb_s", "late_mb_s", "mb_s", "files_per_s")
NEITHER = ("peak_window_bytes", "lost_share", "loaded_rtt_ms")


def jobs(data):
    """What was measured, repetitions apart: the fields that select it."""
    found = {}
    for r in data.records:
        fields = {f: r["link"]["name"] if f == "link" else r[f]
                  for f in WHAT if f in r}
        found.setdefault(tuple(fields.values()), fields)
    return found


def reference(data, fields):
    """Fields of the run that a figure of real time is a ratio to; None for
    the reference itself."""
    if fields["tool"] == "raw" or (fields["client"], fields["server"]) == \
            ("stock", "stock"):
        return None
    other = dict(fields, client="stock", server="stock")
    if data.select(**other).records:
        return other
    other = {k: v for k, v in fields.items() if k not in ("client", "server")}
    return dict(other, tool="raw")


def figures(data):
    """(job, figure): its Values, or those of its ratio."""
    found = {}
    for key, fields in jobs(data).items():
        records = data.select(**fields).records
        for name in records[0]["figures"]:
            values = data.figure(name, **fields)
            if values is None:
                continue
            if records[0]["clock"] == "real":
                other = reference(data, fields)
                base = other and data.figure(name, **other)
                values = base and values.ratio_to(base)
                if not values:
                    continue
                name += f", of {other.get('client', 'raw TCP')}"
            found[key, name] = values
    return found


def changed(old, new):
    """By what share the median is another, if that is beyond the spread."""
    if new.least <= old.most and old.least <= new.most:
        return None
    if old.median == 0:
        return float("inf")
    share = new.median / old.median - 1
    return share if abs(share) > LEAST else None


def compare(old, new):
    """Lines that say what changed; how many figures were compared."""
    before, after = figures(old), figures(new)
    lines, both = [], [k for k in before if k in after]
    for key, name in both:
        a, b = before[key, name], after[key, name]
        share = changed(a, b)
        if share is None:
            continue
        figure = name.split(",")[0]
        word = "other" if figure in NEITHER else "better" \
            if (share > 0) == (figure in MORE) else "worse"
        lines.append(f"{word:7}{share:+8.1%}  {'/'.join(key)} {name}: "
                     f"{said(a)} -> {said(b)}")
    return sorted(lines), len(both)


def said(v):
    return f"{v.median:.4g}" + (
        f" ({v.least:.4g}..{v.most:.4g})" if v.count > 1 else "")


def same_links(old, new):
    """The same link has to be the same path."""
    before, after = old.links(), new.links()
    for name in set(before) & set(after):
        if before[name] != after[name]:
            raise BenchError(f"{name} is another link in the other file: "
                             f"{before[name]}, {after[name]}")


def main(argv):
    if not argv or not argv[0]:
        raise BenchError("OLD=file is missing: what to compare with")
    old = Results(results.load(argv[0]))
    paths = [argv[0], argv[1] if len(argv) > 1 else results.newest()]
    if os.path.realpath(paths[0]) == os.path.realpath(paths[1]):
        raise BenchError(f"{paths[0]} is both OLD and NEW")
    new = Results(results.load(paths[1]))
    same_links(old, new)
    lines, count = compare(old, new)
    if not count:
        raise BenchError("the two files have no run in common")
    print("\n".join(lines + [f"{len(lines)} of {count} figures changed beyond "
                             f"their spread, {paths[0]} -> {paths[1]}"]))


if __name__ == "__main__":
    run_main("bench-compare", main, sys.argv[1:])
