"""The main jobs, shown: a file down through ssh and up through scp, a tree and
a login, between two hosts 200 ms apart at 1 Gbit/s. Three cases stand side by
side: stock as Debian installs it, our packages at both ends, and our packages
at the client only. Prints seconds in ten lines, the path of the picture first.
The page beside it (build/demo) has goodput, windows and memory as well."""

import concurrent.futures
import html
import os
import sys

import project                          # noqa: F401
import artifacts
import lab
from spec import link, raw_of, transfer

SIZE = 256 << 20                        # bytes
LINK = link("1g-200ms")

# Who is at the ends, and with which limits of the kernel's TCP buffers
CASES = {
    "Debian": {"client": "stock", "server": "stock",
               "tcp_buffers": "default"},
    "packages": {"client": "openssh", "server": "openssh",
                 "tcp_buffers": "package"},
    "client only": {"client": "openssh", "server": "stock",
                    "tcp_buffers": {"client": "package",
                                    "server": "default"}},
}
# Further cases, of one job each: the largest buffers, and more connections
MORE = {
    "ssh host cat": {
        "stock, raised": {"client": "stock", "server": "stock"},
        "ours, raised": {"client": "openssh", "server": "openssh"},
    },
    "scp up": {
        "client, 8": {**CASES["client only"], "streams": 8},
    },
}
LEGEND = """\
Debian:       stock at both ends, TCP's buffers as Linux has them: at most
              4 MiB to send, 6 MiB to receive
packages:     our packages at both ends, which raise both to 64 MiB
client only:  our packages at the client; the server is stock, and its buffers
              are as Linux has them
client, 8:    the same with "-X streams=8"
raised, raw:  TCP's buffers are raised to 512 MiB at both ends"""
DEMO = os.path.join(lab.BUILD, "demo")

# What to type next
NEXT = "Next: ./bootstrap install --prefix=/opt/openssh-bdp " \
    "(packages: make deb-quick)"

# name: tool, direction
JOBS = {
    "ssh host cat": ("ssh", "get"),
    "scp up": ("scp", "put"),
}
# Jobs of which only the seconds are of interest
FILES = [4, 50, 4096]                   # directories, files in each, bytes
SMALL = {
    "tree": {"tool": "scp", "tree": FILES,
             "bytes": FILES[0] * FILES[1] * FILES[2]},
    "login": {"tool": "ssh", "bytes": 1},
}
# What is printed: what was done, and the job
PRINTED = {
    f"ssh host cat, {SIZE / 1e6:.0f} MB down": "ssh host cat",
    f"scp, {SIZE / 1e6:.0f} MB up": "scp up",
    f"scp -r, {FILES[0] * FILES[1]} files of 4 KiB down": "tree",
    "a login: ssh host command": "login",
}
COLUMNS = {"Debian": "stock", "packages": "ours, both ends",
           "client only": "ours, client only"}


def transfers():
    """All transfers of the demo: (job, side) to spec."""
    specs = {}
    for direction in ("get", "put"):
        specs["raw TCP", direction] = raw_of(transfer(LINK, direction, SIZE))
    for job, (tool, direction) in JOBS.items():
        for side, ends in {**CASES, **MORE[job]}.items():
            specs[job, side] = transfer(LINK, direction, SIZE, tool=tool,
                                        **ends)
    for job, fields in SMALL.items():
        for side, ends in CASES.items():
            specs[job, side] = transfer(LINK, "get", logins=0, **fields,
                                        **ends)
    return specs


def measure(specs):
    print(f"measuring {len(specs)} transfers of {SIZE >> 20} MiB",
          file=sys.stderr, flush=True)
    pool = lab.Pool()
    futures = {key: pool.start(spec, "demo-" + "-".join(key).replace(
        ",", "").replace(" ", "-")) for key, spec in specs.items()}
    try:
        for n, done in enumerate(concurrent.futures.as_completed(
                futures.values()), 1):
            done.result()
            if sys.stderr.isatty():
                print(f"\r{n} of {len(specs)}", end="\r", file=sys.stderr,
                      flush=True)
        return {key: future.result() for key, future in futures.items()}
    finally:
        pool.executor.shutdown(cancel_futures=True)


def row(key, transfer, raw):
    """One row of the table and, for the picture, what it was like over time."""
    ssh = transfer.spec.tool != "raw"
    return {
        **artifacts.plot_row(key[0], key[1] if ssh else "", transfer),
        "goodput": transfer.goodput(),          # MB/s
        "share": transfer.goodput() / raw.goodput(),
        "peak_window": transfer.peak_window() if ssh else None,     # bytes
        "client_memory": transfer.peak_memory("client") if ssh else None,
        "server_memory": transfer.peak_memory("server") if ssh else None,
    }


def table(rows):
    """The table as lines of text."""
    def mib(value):
        return "" if value is None else f"{value / 2**20:.1f}"

    lines = [f"{SIZE / 1e6:.0f} MB at {LINK.rate_mbit / 1000:g} Gbit/s over "
             f"{LINK.rtt_us / 1000:g} ms", "",
             f"{'':16}{'':14}{'goodput':>9}{'of raw':>8}{'window':>8}"
             f"{'peak memory (MiB)':>20}",
             f"{'':16}{'':14}{'MB/s':>9}{'TCP':>8}{'MiB':>8}"
             f"{'client':>11}{'server':>9}"]
    for r in rows:
        name = (r["job"] if r["side"] else
                "raw TCP, " + {"get": "down", "put": "up"}[r["direction"]])
        lines.append(
            f"{name:16}{r['side']:14}{r['goodput']:9.2f}{r['share']:8.0%}"
            f"{mib(r['peak_window']):>8}{mib(r['client_memory']):>11}"
            f"{mib(r['server_memory']):>9}".rstrip())
    return "\n".join([*lines, "", LEGEND]) + "\n"


def page(text):
    """The table and the picture as HTML, for a browser."""
    return ("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n"
            "<title>openssh-bdp: the demo</title>\n"
            f"<pre>{html.escape(text, quote=False)}</pre>\n"
            "<img src=\"window.png\" style=\"max-width: 100%\" "
            "alt=\"Goodput and window over time\">\n")


def summary(seconds, folder):
    """What the demo prints, of the seconds of each (job, side)."""
    def line(what, cells):
        return f"{what:32}" + "".join(
            f"{cell:>{len(head) + 3}}" for cell, head in
            zip(cells, COLUMNS.values()))

    lines = [f"Picture: {folder}/window.png, with all figures: "
             f"{folder}/index.html", "",
             line("seconds at 1 Gbit/s, RTT 200 ms", COLUMNS.values())]
    for what, job in PRINTED.items():
        lines.append(line(what, (f"{seconds[job, side]:.1f}"
                                 for side in COLUMNS)))
        if job == "scp up":
            lines.append(line("the same over 8 streams", (
                "", "", f"{seconds[job, 'client, 8']:.1f}")))
    return "\n".join([*lines, "",
                      "The SHA-256 of every file that arrived is right.", NEXT])


def hint(transfers):
    """What helps on a path that loses packets; None where it doesn't."""
    lost = max(t.lost() for t in transfers)
    return lost and (
        f"{lost:.2%} of one transfer's segments were lost. Where a long path "
        "loses\npackets, \"TCPCongestion bbr\" in ssh_config and sshd_config "
        "carries more.")


def main():
    os.makedirs(DEMO, exist_ok=True)
    done = measure(transfers())
    measured = list(done.values())
    seconds = {key: t.result["seconds"] for key, t in done.items()}
    rows = []
    for key, t in done.items():
        if key[0] not in SMALL:
            assert t.result["sha256"]       # lab.py has compared it
            rows.append(row(key, t, done["raw TCP", t.spec.direction]))
    results = os.path.join(DEMO, "results.json")
    picture = os.path.join(DEMO, "window.png")
    folder = os.path.relpath(DEMO)
    said = summary(seconds, folder)
    done = artifacts.draw(rows, SIZE, LINK.given(), results, picture)
    if done.returncode != 0:
        raise lab.LabError(f"no picture: {done.stderr}")
    with open(os.path.join(DEMO, "index.html"), "w") as f:
        f.write(page(f"{said}\n\n{table(rows)}"))
    print(said)
    if lost := hint(measured):
        print(lost)


if __name__ == "__main__":
    try:
        main()
    except lab.LabError as e:
        sys.exit(f"demo: {e}")
    except KeyboardInterrupt:
        sys.exit("demo: interrupted")
