"""page.py: docs/compatibility.md from docs/compatibility.json; with
"collect", the latter from what the tests left in build/interop first."""

import glob
import json
import os
import sys

import peers

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(TOP, "docs", "compatibility.json")
PAGE = os.path.join(TOP, "docs", "compatibility.md")

HEAD = """\
# Compatibility

Written by the suite in `interop/`, from what it measured: `make check-interop`.

Clients and servers that others wrote move 64 MiB each way, with stock OpenSSH
10.0p1 at the other end and with ours; on loopback every byte is compared. This
is 500 Mbit/s over 100 ms, in virtual time: goodput in MB/s from the first byte
to the last, slow start included, without compression. All rows are of one run;
ours below 0.95 of stock's is a failure. Plain TCP on the same path: {raw}.

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


def collect():
    found = []
    for path in sorted(glob.glob(os.path.join(TOP, "build", "interop",
                                              "*.json"))):
        with open(path) as f:
            found.append(json.load(f))
    os.makedirs(os.path.dirname(RESULTS), exist_ok=True)
    with open(RESULTS, "w") as f:
        f.write("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n")


def table(rows):
    yield "| peer | what | direction | stock | ours | of stock | of TCP |"
    yield "|---|---|---|--:|--:|--:|--:|"
    for r in rows:
        yield (f"| {r['peer']} | {r['mode']} | {r['direction']} | "
               f"{r['stock']:.2f} | {r['ours']:.2f} | "
               f"{r['ours'] / r['stock']:.2f} | "
               f"{100 * r['ours'] / r['raw']:.0f} % |")


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


def page(rows):
    raw = ", ".join(f"{r} MB/s" for r in sorted({r["raw"] for r in rows}))
    lines = [HEAD.format(raw=raw).rstrip("\n")]
    for role in ("client", "server"):
        lines.append(f"\n## {role.title()}s, with our {other(role)}\n")
        lines += table(r for r in rows if r["role"] == role)
    lines.append(MODES.rstrip("\n") + "\n")
    lines += table(r for r in rows if r["role"] == "client" and
                   r["direction"] == "put" and r["peer"].startswith("Go"))
    lines.append("")
    missing = sorted({f"- {role}: {name}, {mode}" for role, name, mode, _
                      in wanted() - measured(rows)})
    if missing:
        lines += ["## Not measured\n", *missing, ""]
    lines.append("## Versions\n")
    lines += sorted({f"- {r['peer']}: {r['version']}" for r in rows})
    return "\n".join(lines) + "\n"


def read():
    with open(RESULTS) as f:
        return json.load(f)


def main():
    if sys.argv[1:] == ["collect"]:
        collect()
    with open(PAGE, "w") as f:
        f.write(page(read()))


if __name__ == "__main__":
    main()
