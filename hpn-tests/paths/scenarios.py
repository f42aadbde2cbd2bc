"""The table of scenarios: data. test_scenarios.py runs them; what a row can't
say has a file of its own. hpn-tests/README.md lists the fields of a row and of
its transfer (harness/spec.py), and what a row can require (requirements.py).

Each is measured against raw TCP on the same path in the same run. A row with a
word that doesn't exist, or a value that can't be, is an error before anything
runs."""

import functools
import os

from checked import (Checked, Each, Like, OneOf, SpecError, Whole, checked,
                     field)
from requirements import REQUIREMENTS, required
from spec import (GB, MIB, Spec, bdp, link, raw_name, raw_of, transfer)

BUDGET = 128 * MIB              # bytes, of all windows: WINDOW_BUDGET_DEFAULT
LEVELS = ("check", "netem", "grid", "self")


def spec(value):
    if not isinstance(value, Spec):
        raise SpecError(f"{value!r} is no transfer(...)")


@checked
class Row(Checked):
    name: str = field(Like(r"[\w.-]+", "a word"), "unique",
                      needed=True)
    level: str = field(
        OneOf(*LEVELS, what="level"),
        "check runs in \"make check\", netem in \"make check-netem\", grid in "
        "\"make check-netem-full\", self in test_suite.py", needed=True)
    spec: Spec = field(spec, "`transfer(path, direction, bytes, ...)`",
                       needed=True)
    must: dict = field(required, "`{requirement: limit}`, see below",
                       needed=True)
    until: str = field(Like(r".+", "an issue"),
                       "expected failure until this is done; passing early "
                       "fails the run")
    seeds: tuple = field(Each(Whole(1, 2**31)),
                         "measure with each of these seeds; ratios are of the "
                         "median, `unspent` and counts of the first")

    def __post_init__(self):
        super().__post_init__()
        for name in self.must:
            REQUIREMENTS[name].applies(self.spec)

    @functools.cached_property
    def transfers(self):
        """Those to measure, by name: one of each seed."""
        sampled = self.spec.but(unspent=True) if "unspent" in self.must \
            else self.spec
        if not self.seeds:
            return {self.name: sampled}
        return {f"{self.name}-seed{seed}": sampled.but(seed=seed)
                for seed in self.seeds}

    @functools.cached_property
    def references(self):
        """Of each transfer that of raw TCP, by name."""
        return {raw_name(s): raw_of(s) for s in self.transfers.values()}


ROWS = []
OTHER = {}                              # transfers of the files beside


def row(name, level, spec, must, **more):
    try:
        if name in (r.name for r in ROWS):
            raise SpecError("is there already")
        ROWS.append(Row(name=name, level=level, spec=spec, must=must, **more))
    except SpecError as e:
        raise SpecError(f"row {name!r}: {e}") from None


# 1. The grid, and the cells of it that "check" runs

TOOLS = ("ssh", "scp", "scp-O", "sftp")
TELLING = {"10m-300ms-ssh-get", "100m-100ms-sftp-put", "1g-20ms-ssh-get",
           "1g-100ms-scp-O-put"}


def grid_row(rate, rtt, tool, direction):
    name = f"{rate}-{rtt}ms-{tool}-{direction}"
    spec = transfer(f"{rate}-{rtt}ms", direction, tool=tool)
    if tool in ("scp", "sftp"):
        spec = spec.but(bytes=min(spec.bytes, 2 * GB))
    if name in TELLING:         # whose retransmissions may be lost, too
        spec = spec.but(bytes=2 * spec.bytes)
    # The windows' budget is less than this BDP
    least = 0.95 * min(1, BUDGET / bdp(spec))
    row(name, "check" if name in TELLING else "grid", spec,
        {"steady": round(least, 3)})


for rate in ("10m", "100m", "1g", "10g"):
    for rtt in (1, 20, 100, 200, 300):
        for tool in TOOLS:
            for direction in ("get", "put"):
                grid_row(rate, rtt, tool, direction)

# An sshd on Debian 12's 9.2p1 is told of no bounded buffers. Uploads to it
# gain 3 MiB a round trip, which is 4 s for 10 Gbit/s x 100 ms.
UNSAID = os.path.basename(os.environ.get("BDP_BUILD", "")) == "bookworm"

# and the three paths that the fork was made for, lossless with any queue
for path, count in (("1g-200ms", GB), ("10g-100ms", 2 * GB),
                    ("100m-300ms", GB)):
    for direction in ("get", "put"):
        must = {"steady": 0.95, "first_gb": 1.10, "adjusts": 64}
        if UNSAID and (path, direction) == ("10g-100ms", "put"):
            count, must = 5 * GB, {"late": 0.90, "adjusts": 64}
        row(f"fork-{path}-{direction}",
            "check" if (path, direction) == ("1g-200ms", "get") else "netem",
            transfer(path, direction, count, queue_packets=1000000), must)

# Requests of sftp, whose server has the file: as deep as the path
for path in ("1g-200ms", "10g-100ms"):
    for direction in ("get", "put"):
        row(f"deep-{path}-{direction}", "netem",
            transfer(path, direction, 2 * GB, tool="sftp",
                     queue_packets=1000000), {"steady": 0.95})
    # (A window towards stock senders gains 3 MiB a round trip: 125 MB take 4 s)
    row(f"deep-{path}-stock-server", "netem",
        transfer(path, "get", 5 * GB if path == "10g-100ms" else 2 * GB,
                 tool="sftp", server="stock", queue_packets=1000000),
        {"late": 0.90})
row("deep-1g-200ms-scp-3", "netem",
    transfer("1g-200ms", "get", GB, tool="scp-3", queue_packets=1000000),
    {"steady": 0.90})

# Where the system has no TCP_INFO (BSD, macOS), the RTT is SSH's own.
for end, direction in (("client", "get"), ("server", "put")):
    row(f"without-tcp-info-{direction}", "netem",
        transfer("1g-200ms", direction, GB, queue_packets=1000000,
                 **{end: "without"}),
        {"steady": 0.95, "first_gb": 1.10, "adjusts": 64})

# 2. Peers: stock 10.0p1 and Debian 12's own 9.2

for path in ("1g-50ms", "1g-200ms"):
    row(f"stock-client-{path}", "netem",
        transfer(path, "put", GB, client="stock"),
        {"steady": 0.95, "unspent": 8 * MIB})
    row(f"stock-server-{path}", "netem",
        transfer(path, "get", GB, server="stock"),
        {"steady": 0.95, "unspent": 8 * MIB})
    # What a stock receiver gives is its window a round trip: no less of that
    for end, direction in (("client", "get"), ("server", "put")):
        row(f"to-stock-{end}-{path}", "netem",
            transfer(path, direction, 256 * MIB, **{end: "stock"}),
            {"stock_window": 0.95})
for path, count in (("1g-80ms", GB // 2), ("1g-200ms", GB // 2),
                    ("10g-50ms", 2 * GB)):
    # A window that grows by a few MiB a round trip spreads the ACKs over all
    # of it. The sender's CUBIC takes that for a full path at 25 MB in flight,
    # and grows by 5 % a round trip from there: 88.9 %. With HyStart's ACK
    # trains off (hystart_detect 2 at both ends) it is 96.1 %.
    # Behind a relay sshd asks the client for the RTT.
    for what, direction, least, fields in (
            ("sender", "get", 0.90, {"server": "stock"}),
            ("relay", "put", 0.95, {"client": "stock", "via": "relay"})):
        row(f"stock-{what}-{bdp(link(path)) // 10**6}mb",
            "check" if (path, what) == ("1g-200ms", "sender") else "netem",
            transfer(path, direction, count, queue_packets=1000000, **fields),
            {"steady": least, "unspent": 8 * MIB},
            until="the sender's HyStart tells a window's limit from the path's"
            if path == "10g-50ms" else None)
# Stalls of 20 to 200 ms, and what comes at once afterwards. A relay is a path
# that is a program: it takes data no faster, so that the RTT is known in band
# only. What comes at once counts as the path's rate for two round trips, and
# credit follows. A stock sender gets slow near 16 MiB of it. What a direct path
# itself held up comes in one instant, and so does the credit for it: that is
# the whole window, for 20 ms.
STALLS = {"at": [350 * 10**6, 500 * 10**6, 650 * 10**6, 800 * 10**6],
          "seconds": [0.02, 0.05, 0.1, 0.2]}
for what, way, end in (
        ("process", "relay", "client"), ("path", "relay", "client"),
        ("path", "relay", "server"), ("path", "direct", "client"),
        ("path", "direct", "server"), ("process", "direct", "server"),
        ("reader", "direct", "client"), ("reader", "relay", "client"),
        ("process", "relay", "server"), ("reader", "relay", "server"),
        ("process", "direct", "client"), ("reader", "direct", "server")):
    row(f"stall-{what}-{way}-{end}", "netem",
        transfer("1g-200ms", "put" if end == "client" else "get", GB,
                 queue_packets=1000000, stalls={"what": what, **STALLS},
                 **({"via": "relay"} if way == "relay" else {}),
                 **{end: "stock"}),
        {"settled": 0.90, **({} if (what, way) == ("path", "direct") else
                             {"unspent": 15 * MIB})})
# The same where the kernels' own buffers bound what is in flight, 10 MB/s
row("stall-process-buffers-client", "netem",
    transfer("1g-200ms", "put", GB // 5, tcp_buffers="default",
             queue_packets=1000000, client="stock",
             stalls={"what": "process", "seconds": STALLS["seconds"],
                     "at": [at // 5 for at in STALLS["at"]]}),
    {"settled": 0.90, "unspent": 8 * MIB})
for end, direction in (("client", "put"), ("server", "get")):
    row(f"debian12-{end}", "check" if end == "server" else "netem",
        transfer("1g-200ms", direction, GB // 2, **{end: "debian12"}),
        {"steady": 0.95})

# 3. Loss, both ways

SEEDS = (1, 2, 3, 4, 5)
# Losses under CUBIC: of five seeds of raw TCP the median is below 95 % of that
# of five others in 1 of 4 cases (0.1 and 0.01 %, 10 seeds each, resampled).
CUBIC_SEEDS = SEEDS + (6, 7, 8, 9, 10)
LOSSES = {                              # fields, and bytes for CUBIC
    "loss-0.01": ({"loss": "0.01%"}, GB),
    "loss-0.1": ({"loss": "0.1%"}, GB // 4),
    "loss-bursts": ({"loss": "gemodel 0.01% 10%"}, GB),
    "reorder-1": ({"reorder": "delay 2ms reorder 99%"}, GB // 2),
    "jitter-10": ({"jitter_percent": 10}, GB),
}
for name, (fields, cubic) in LOSSES.items():
    row(f"{name}-bbr", "netem",
        transfer("1g-200ms", "get", GB // 2, cc="bbr", **fields),
        {"goodput": 0.95, "held_up": 0.02, "full_segments": 0.99},
        seeds=SEEDS)
    # Under CUBIC goodput is a matter of luck until many segments were lost:
    # raw TCP's own seeds differ by a factor of 3 over 500 MB.
    # With jitter it is slow start that decides, see README.md
    whole = {} if name == "jitter-10" else {"goodput": 0.95}
    row(f"{name}-cubic", "netem",
        transfer("1g-200ms", "get", cubic, **fields),
        {"late": 0.95, **whole, "held_up": 0.02, "full_segments": 0.99},
        seeds=CUBIC_SEEDS if name.startswith("loss") else SEEDS)

row("stock-server-scp-500m-80ms", "netem",
    transfer("500m-80ms", "put", tool="scp", server="stock", loss="0.05%"),
    {"goodput": 0.75, "held_up": 0.02}, seeds=SEEDS)

# A congestion control of one's own, where CUBIC has nearly nothing
for direction, end in (("put", "ssh_options"), ("get", "sshd_options")):
    row(f"congestion-{direction}", "netem",
        transfer("1g-200ms", direction, 64 * MIB, loss="0.1%",
                 **{end: ["TCPCongestion nosuch,bbr"]}),
        {"times": 10})

# 4. The kernel's own TCP buffers (4 MiB to send, 6 MiB to receive). ssh and
# sshd use all of their own, so they can have more goodput than raw TCP.

for direction in ("get", "put"):
    row(f"kernel-defaults-{direction}", "netem",
        transfer("1g-200ms", direction, 256 * MIB, tcp_buffers="default"),
        {"goodput": 0.95})
# As a real card sends: more data fits into a buffer
row("kernel-defaults-gso", "netem",
    transfer("1g-200ms", "get", 256 * MIB, tcp_buffers="default", gso=True),
    {"goodput": 0.95})

# What an old host or a box on the path takes away
for name, path, option in (("sack", "100m-100ms", "sack"),
                           ("timestamps", "1g-200ms", "ts"),
                           ("window_scaling", "100m-20ms", "wscale")):
    row(f"no-{name}", "netem", transfer(
        path, "get", 32 * MIB, sysctls={"client": {f"tcp_{name}": "0"}}),
        {"goodput": 0.95, "lacks": option})
# A tunnel on the path that swallows large packets, and no ICMP
row("mtu-black-hole", "netem", transfer(
    "100m-100ms", "get", 64 * MIB, changes=[[2, {"mtu": 1400}]],
    sysctls={"server": {"tcp_mtu_probing": "1"}}), {"goodput": 0.95})

# ssh writes while poll(2) does not call the socket writable, and so does sshd,
# in each turn of the main loop: scp's answers make more of them than adjusts.
row("fills-its-buffer", "netem",
    transfer("1g-200ms", "put", 64 * MIB, tcp_buffers="default"),
    {"times": 1.05})
row("fills-its-buffer-scp", "check",
    transfer("1g-200ms", "put", 256 * MIB, tcp_buffers="default", tool="scp"),
    {"times": 1.2})
row("fills-its-buffer-sshd", "netem",
    transfer("1g-200ms", "get", 64 * MIB,
             tcp_buffers={"client": "raised", "server": "default"}),
    {"times": 1.05})

# 5. A sender that has nothing to send for a while, and then a lot again. (A
# window towards stock senders gains 3 MiB a round trip, again, not 3 BDP.)

for end, direction, least in (("ours", "get", 0.90), ("ours", "put", 0.90),
                              ("stock", "get", 0.80)):
    row(f"pause-{end}-{direction}", "netem",
        transfer("1g-200ms", direction, GB, pause=[GB // 2, 5],
                 queue_packets=1000000,
                 **({"server": "stock"} if end == "stock" else {})),
        {"after_pause": least})

# 6. Many channels

for direction in ("get", "put"):
    row(f"mux-8-{direction}", "netem",
        transfer("1g-200ms", direction, 64 * MIB, channels=8,
                 queue_packets=1000000),
        {"together": 0.95, "share": 0.80})
row("forwarded-8", "netem",
    transfer("1g-200ms", "get", 128 * MIB, channels=8, via="L",
             queue_packets=1000000),
    {"together": 0.95, "share": 0.80})
# With a queue that drops, all that is behind a lost segment waits a round trip
# for it, a keystroke too: at 20 ms that is less than what is allowed. Where a
# router marks instead, what keeps a keystroke waiting is ours.
for path, fields in (("100m-20ms", {}), ("100m-100ms", {"aqm": 1}),
                     ("10m-20ms", {"aqm": 1})):
    for direction in ("get", "put"):
        row(f"shell-beside-{path}" + "-aqm" * len(fields) + f"-{direction}",
            "netem",
            transfer(path, direction, link(path).rate_mbit * 2500000,
                     channels=1, shell={"every_s": 0.05}, **fields),
            {"echo": 60, "together": 0.95})

# 7. No TCP_INFO, or not of the whole path

for via in ("jump", "proxycommand", "L", "R", "D", "streamlocal"):
    for direction in ("get", "put"):
        row(f"via-{via}-{direction}", "check" if via == "jump" and
            direction == "get" else "netem",
            transfer("1g-200ms", direction, 256 * MIB, via=via),
            {"goodput": 0.90, "adjusts": 64})

# A stock sender behind a jump host: no socket of ours tells of the whole path
for end, direction in (("client", "put"), ("server", "get")):
    row(f"via-jump-stock-{end}", "netem",
        transfer("1g-200ms", direction, GB, via="jump", **{end: "stock"}),
        {"settled": 0.90, "unspent": 8 * MIB})

# 8. New keys on the way: a stop of 3 RTT each

for path in ("100m-100ms", "1g-20ms"):
    row(f"rekey-{path}", "netem",
        transfer(path, "get", GB, ssh_options=["RekeyLimit 64M"]),
        {"goodput": 0.85, "rekeys": 10})

# What the suite tests itself with: a row that fails, one that is to fail and
# does, one that is to fail and doesn't, and one whose peer isn't built

for name, end, until in (("self-is-stock", "stock", None),
                         ("self-is-alone", "nowhere", None),
                         ("self-is-doomed", "stock", "Doomsday"),
                         ("self-is-well", "openssh", "Doomsday")):
    row(name, "self", transfer("1g-100ms", "get", 16 * MIB, client=end),
        {"goodput": 0.80}, until=until)
