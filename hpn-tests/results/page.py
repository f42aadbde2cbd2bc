"""page.py [--check]: writes a page of each file of results, peers.md from
peers.json and so on, and README.md, their list; or checks that they are
written. page.py collect PART: makes that file first, of what the tests left:
interop, load, faults, upstream, sanitized, fuzz, tools, random or copies.
The first paragraph of a page is its summary."""

import os
import sys

import content
import practice
import random_paths
from gather import collect, file, read, runs

# Of each page the part that has its measurements, the function that makes it of
# them, and what measures
PAGES = {
    **{name: ("tools", make, "make check-tools") for name, make in (
        ("rsync", practice.rsync), ("git", practice.git),
        ("backups", practice.backups))},
    "peers": ("interop", content.interop, "make check-interop"),
    "load": ("load", content.load, "make check-load"),
    "faults": ("faults", content.faults, "make check-faults"),
    "upstream": ("upstream", content.upstream, "make check-upstream"),
    "sanitizers": ("sanitized", content.sanitized,
                   "make check-sanitized` and `make fuzz"),
    "tools": ("tools", content.tools, "make check-tools"),
    "random": ("random", random_paths.page, "make check-random RANGE=B"),
    "copies": ("copies", content.copies, "make check-copies"),
}
INDEX = """\
# Results

Each page begins with its summary. "Ours" is openssh-bdp, "stock" unmodified
OpenSSH. The [benchmark](../../bench/README.md) gives rates over ten links and
times of whole commands. Programs write all these pages: do not edit them.

## Measured since the last rewrite

Each page names its commit; later commits may have changed the code again.

{current}
## Older code (measure again before you quote it)

{notes}

{older}"""
TABLE = """\
| page | summary | made by |
|---|---|---|
"""


def run_of(name):
    """What is known of the run that measured a page."""
    return runs()[PAGES[name][0]]


def origin(name):
    run = run_of(name)
    return f"Made by `{PAGES[name][2]}` on {run['machine']}, at commit " \
        f"{run['commit']} ({run['day']})" + \
        (f", {run['since']}" if "since" in run else ".")


def since(name):
    """What the commit of a page was before, or had; "" if it is current."""
    return run_of(name).get("since", "")


def doubt(name):
    """What the summary of a page begins with if the code has changed."""
    run = run_of(name)
    return f"Measured at {run['commit']} ({run['day']}), before the current " \
        "code. " if since(name) else ""


def notes(names):
    """What has changed since pages were measured, each once."""
    found = {}
    for name in filter(since, names):
        found.setdefault(since(name), []).append(name)
    return "\n\n".join(content.fill(
        f"The results of {listed(these)} are from "
        f"{listed(run_of(name)['commit'] for name in these)}, {text}")
        for text, these in found.items())


def listed(words):
    """Words, each once, as in a sentence."""
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} and {last}" if first else last


def page(name):
    """The text of one page, by the name of its file."""
    part, make, _ = PAGES[name]
    title, verdict, *rest = make(read(part))
    return "\n\n".join([f"# {title}", content.fill(doubt(name) + verdict),
                        content.fill(origin(name)), *rest]) + "\n"


def pages():
    """Name and text of all."""
    texts = {name: page(name) for name in PAGES}
    rows = {name: f"| [{text.partition(chr(10))[0][2:]}]({name}.md) | "
            f"{' '.join(text.split(chr(10) * 2)[1].split())} | "
            f"`{PAGES[name][2]}` |\n" for name, text in texts.items()}
    texts["README"] = INDEX.format(
        current=TABLE + "".join(rows[n] for n in rows if not since(n)),
        notes=notes(PAGES),
        older=TABLE + "".join(rows[n] for n in rows if since(n)))
    return texts


def kept(name):
    """The text that is there; None if there is none."""
    if not os.path.exists(file(name, "md")):
        return None
    with open(file(name, "md")) as f:
        return f.read()


def main():
    if sys.argv[1:2] == ["collect"]:
        collect(sys.argv[2])
        if sys.argv[2] == "random":
            random_paths.draw(read("random"))
    stale = [name for name, text in pages().items() if kept(name) != text]
    if not random_paths.is_drawn():
        sys.exit("random.svg is not of random.json")
    if stale and "--check" in sys.argv:
        sys.exit(f"page.py would change {', '.join(stale)}")
    for name in stale:
        with open(file(name, "md"), "w") as f:
            f.write(pages()[name])


if __name__ == "__main__":
    main()
