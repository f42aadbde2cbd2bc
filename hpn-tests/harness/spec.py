"""What a transfer is: its path, what moves over it, what else happens. This
file declares all fields; lab/guest carries them out, and paths/reference.py
lists them in README.md. A field that Path declares is also one of raw TCP's,
the reference.

Below them is what follows from a path: its BDP, when slow start is over, how
many bytes show its full rate."""

import dataclasses
import fractions
import math
import os
import re
import sys

from checked import (Checked, Each, Either, Flag, Keyed, Like, List, Map,
                     Number, OneOf, OrMap, SpecError, Whole, checked, field)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "lab", "guest"))
from net import TCP_BUFFER_MAX          # noqa: E402

GB = 10**9
MIB = 1 << 20
AES = "aes128-gcm@openssh.com"

TOOLS = ("raw", "ssh", "scp", "scp-O", "scp-3", "sftp", "copier")
OPENSSH = TOOLS[1:]             # all but raw TCP
STREAMS = TOOLS[:2]             # what takes its data from a command
COPIES = TOOLS[2:]              # what copies a file
RELAYED = ("jump", "relay")     # of these raw TCP has its own
VIA = {                         # ways, and the tools that have them
    "jump": STREAMS, "proxycommand": OPENSSH, "L": ("ssh",), "R": ("ssh",),
    "D": ("ssh",), "streamlocal": ("ssh",), "relay": TOOLS,
}

COUNT = Whole(1, 10**12, "bytes")
SECONDS = Number(0, 10**5, "s")
SHARE = r"\d+(\.\d+)?%"
LOSS = Like(rf"{SHARE}|(random|gemodel|state)( {SHARE})+",
            '"0.1%", "gemodel 0.01% 10%"')
TREE = Like(r"openssh|stock|fixed|without|debian12|nowhere|peers/\w+",
            "openssh, stock, fixed, without, debian12")
REORDER = Like(rf"delay \d+[mu]s reorder {SHARE}", '"delay 2ms reorder 99%"')
OPTIONS = Each(Like(r"\w+[ =].+", '"RekeyLimit 64M"'))


HOST = OneOf("client", "jump", "server", what="host")
TCP_BUFFERS = OrMap(OneOf("raised", "default", "package"), HOST)
SYSCTLS = Map(HOST,
              Map(Like(r"\w+", "NAME"), Like(r".+", "VALUE")))
READER = Either(Keyed(rate=COUNT),
                Keyed(("stop_s",), stop_after=COUNT, stop_s=SECONDS),
                Keyed(burst=COUNT, every_s=SECONDS),
                Keyed(stalls=Each(List(bytes=COUNT, seconds=SECONDS))))
STALLS = Keyed(what=OneOf("path", "process", "reader"), at=Each(COUNT),
               seconds=Each(SECONDS))
# What may happen to a path, beside that its fields change
EVENTS = {"down": Whole(0, 1), "clock_s": Number(-10**6, 10**6, "s"),
          "mtu": Whole(576, 1500, "bytes")}


def change(fields):
    """Checks what a path is to change to."""
    Keyed([*PATH_FIELDS, *EVENTS], **EVENTS, **{
        name: f.metadata["check"] for name, f in PATH_FIELDS.items()})(fields)


@checked
class Path(Checked):
    """The path between the hosts. Raw TCP, the reference, has the same."""
    rate_mbit: float = field(Number(0.1, 10**5, "Mbit/s"),
                             "rate of either direction", needed=True)
    rtt_us: int = field(Whole(10, 10**7, "us"),
                        "round-trip time without a queue", needed=True)
    cc: str = field(OneOf("cubic", "bbr", "reno"),
                    "congestion control of both ends; by default cubic")
    tcp_buffers: str = field(
        TCP_BUFFERS,
        "maximum of TCP's buffers, of all hosts or of those named: raised (512 "
        "MiB; used if left out), default (the kernel's), package (that of "
        "openssh-bdp-tuning)")
    gso: int = field(Flag, "segmentation offload: hosts pass up to 64 KB at "
                     "once to the router, as to a network card")
    queue_bdp: float = field(Number(0, 1000, "BDP"),
                             "the router's queue; by default 1")
    queue_packets: int = field(
        Whole(1, 10**8, "packets"),
        "instead of queue_bdp: packets in the queue and in flight")
    loss: str = field(LOSS, "loss in either direction, see netem(8)")
    reorder: str = field(REORDER, "reordering, see netem(8)")
    jitter_percent: int = field(Whole(1, 100, "%"),
                                "jitter, of the one-way delay")
    aqm: int = field(Flag, "the router runs fq_codel and marks packets (ECN) "
                     "instead of dropping them")
    changes: list = field(
        Each(List(seconds=SECONDS, fields=change)),
        "new values of fields, this long after the first byte; also `down` (1 "
        "cuts the link, 0 restores it), `clock_s` (steps the clock) and `mtu` "
        "(larger packets do not reach the client, and nobody is told)")
    seed: int = field(Whole(1, 2**31),
                      "of netem's random numbers; by default 1")
    slot_us: int = field(
        Whole(0, 10**6, "us"), "interval at which the link delivers "
        "packets; by default computed from rate and RTT")
    sysctls: dict = field(SYSCTLS, "sysctls of hosts, named as in net/ipv4")

    def __post_init__(self):
        super().__post_init__()
        if self.queue_bdp is not None and self.queue_packets is not None:
            raise SpecError("queue_bdp and queue_packets: only one can be")
        if bdp(self) > TCP_BUFFER_MAX:
            raise SpecError(
                f"a BDP of {bdp(self) // 10**6} MB: TCP's buffers in the lab "
                f"grow to {TCP_BUFFER_MAX // MIB} MiB")
        path, last_s = dict(self.path_fields(), changes=None), 0
        for at_s, fields in self.changes or []:
            if at_s < last_s:
                raise SpecError(f"changes: {at_s} s comes after {last_s} s")
            last_s = at_s
            path.update((n, v) for n, v in fields.items() if n not in EVENTS)
            Path(**path)

    def path_fields(self):
        """What was given of the path."""
        return {n: v for n, v in self.given().items() if n in PATH_FIELDS}


PATH_FIELDS = {f.name: f for f in dataclasses.fields(Path)}


def always(value):
    return True


def moves(check, text, tools=TOOLS, raw=None, **more):
    """A field of a transfer that is no path. tools are those that know it;
    raw tells of a value whether the reference has it, too."""
    return field(check, text, tools=tools, raw=raw or (lambda value: False),
                 **more)


@checked
class Spec(Path):
    """A transfer."""
    # What moves
    tool: str = moves(OneOf(*TOOLS, what="tool"),
                      "raw is TCP without SSH; scp-3 copies from the server to "
                      "itself; copier is `command`", needed=True)
    command: list = moves(
        Each(Like(r"(?s).+", '"{source}"')),
        "the copier and its options: {source} and {target} are paths, with "
        "\"server:\" before the path at the server; {config} is an "
        "ssh_config, {ssh} the client's ssh", ("copier",))
    direction: str = moves(OneOf("get", "put", what="direction"),
                           "get is from server to client", raw=always,
                           needed=True)
    client: str = moves(TREE, "whose ssh, a tree in build/", OPENSSH)
    server: str = moves(TREE, "whose sshd, a tree in build/", OPENSSH)
    bytes: int = moves(COUNT, "size of the file, or of each channel's data",
                       raw=always, needed=True)
    tree: list = moves(List(directories=COUNT, files=COUNT, bytes=COUNT),
                       "directories, files in each, bytes in each, instead of "
                       "one file; `bytes` is their product", COPIES)
    pause: list = moves(List(bytes=COUNT, seconds=SECONDS),
                        "the source stops once, after these bytes, for these "
                        "seconds", STREAMS, raw=always)
    pace: list = moves(List(bytes=COUNT, seconds=SECONDS),
                       "the source sends these bytes, waits, and repeats that",
                       STREAMS)
    channels: int = moves(Whole(1, 90), "channels in parallel, through a "
                          "ControlMaster or a forwarding", ("ssh",))
    via: str = moves(OneOf(*VIA, what="way"),
                     "through a third host (jump), a proxy that delays the "
                     "data (relay, see lab/guest/relay.py), a ProxyCommand or "
                     "a forwarding", raw=lambda via: via in RELAYED)
    cipher: str = moves(Like(r"[\w@.-]+", f'"{AES}"'),
                        "as in ssh_config; by default ssh's default", OPENSSH)
    ssh_options: list = moves(OPTIONS, "lines of ssh_config", OPENSSH)
    sshd_options: list = moves(OPTIONS, "lines of sshd_config", OPENSSH)
    logins: int = moves(Whole(0, 99), "number of logins before the transfer; "
                        "with 0, only ARP resolves the address", OPENSSH)
    agent: bool = moves(Flag, "the user's key is only in an agent", OPENSSH)
    streams: int = moves(
        Whole(1, 8), "`-X streams=`; needs our client", COPIES)
    shared: bool = moves(Flag, "through a ControlMaster that already runs",
                         COPIES)
    # What else happens
    reader: dict = moves(
        READER, "a slow reader: reads `rate` bytes a second; or stops after "
        "`stop_after` bytes, for `stop_s` or for good; or reads `burst` bytes "
        "every `every_s`; or stops at each of `stalls`", STREAMS)
    second_channel: bool = moves(
        Flag, "when the reader has stopped for good, open another channel",
        ("ssh",))
    shell: dict = moves(Keyed(every_s=SECONDS),
                        "a terminal in parallel, with a keystroke every "
                        "`every_s`; needs `channels`", ("ssh",))
    kill: dict = moves(
        Keyed(end=OneOf("client", "server"), at=COUNT),
        "kill this end's processes when `at` bytes have arrived", OPENSSH)
    stalls: dict = moves(
        STALLS, "when each of `at` bytes has arrived, stop the path, the "
        "receiving process or the reader for the `seconds` in the same place; "
        "data that the path held back then arrives at once",
        raw=lambda stalls: stalls["what"] == "path")
    # How it is looked at
    unspent: bool = moves(Flag, "sample the sender's socket every 20 ms",
                          OPENSSH)
    sparse: bool = moves(
        Flag, "sample memory and sockets after each tenth of the time so far "
        "(by default, each 200th), because sampling takes more CPU time than "
        "the transfer", raw=always)
    trace: bool = moves(Flag, "run sshtrace at both ends", OPENSSH)
    bare: bool = moves(Flag, "no sampling and no comparison, so that all CPU "
                       "time is ssh's", STREAMS)

    def __post_init__(self):
        super().__post_init__()
        for name in self.given():
            if name not in PATH_FIELDS:
                self.check_tool(name, SPEC_FIELDS[name].metadata["tools"])
        if self.via:
            self.check_tool(f"via {self.via}", VIA[self.via])
        for end in ("client", "server"):
            if self.tool != "raw" and not getattr(self, end):
                raise SpecError(f"{end} is missing")
        for wrong, why in self.contradictions():
            if wrong:
                raise SpecError(why)

    def check_tool(self, what, tools):
        if self.tool not in tools:
            raise SpecError(f"{self.tool} has no {what}: only "
                            f"{', '.join(tools)}")

    def contradictions(self):
        """Whether it is so that ..., and what to say then."""
        yield (self.tool == "copier" and not self.command,
               "command: a copier needs one")
        yield (self.tree and self.bytes != math.prod(self.tree),
               f"bytes: the tree has {math.prod(self.tree or [])}")
        yield (any("mtu" in fields for _, fields in self.changes or []) and
               (self.direction == "put" or self.gso or self.via == "relay"),
               "mtu: only of a get, without gso or a relay")
        if self.stalls:
            yield (len(self.stalls["at"]) != len(self.stalls["seconds"]),
                   "stalls: at and seconds are of different lengths")
            if self.stalls["what"] == "reader":
                self.check_tool("reader that stalls", STREAMS)
            if self.stalls["what"] == "process":
                self.check_tool("process that stalls", OPENSSH)
        for name, at in (("pause", self.pause and self.pause[0]),
                         ("kill", self.kill and self.kill["at"]),
                         ("stalls", self.stalls and max(self.stalls["at"])),
                         ("reader", (self.reader or {}).get("stop_after"))):
            yield (at and at >= self.bytes,
                   f"{name}: at {at} bytes, of {self.bytes}")


SPEC_FIELDS = {f.name: f for f in dataclasses.fields(Spec)}


# What follows from a path

NAME = re.compile(r"(\d+(?:\.\d+)?)([kmg])-(\d+(?:\.\d+)?)(us|ms|s)")
MBIT = {"k": fractions.Fraction(1, 1000), "m": 1, "g": 1000}
US = {"us": 1, "ms": 1000, "s": 10**6}


def link(name):
    """The Path "1g-200ms": rate (k, m or g, bits a second), and RTT of both
    directions (us, ms or s)."""
    words = NAME.fullmatch(name)
    if not words:
        raise SpecError(f"no path {name!r}: a path is RATE-RTT, as 500m-80ms")
    rate, rate_unit, rtt, rtt_unit = words.groups()
    rate_mbit = fractions.Fraction(rate) * MBIT[rate_unit]
    rtt_us = fractions.Fraction(rtt) * US[rtt_unit]
    return Path(rate_mbit=plain(rate_mbit), rtt_us=plain(rtt_us))


def plain(fraction):
    return int(fraction) if fraction.denominator == 1 else float(fraction)


def bdp(path):
    """Bytes in flight that fill it."""
    return int(path.rate_mbit * path.rtt_us // 8)


def slow_start_rtts(path):
    """Round trips in which 10 segments become a BDP, doubled in each."""
    return math.log2(max(bdp(path) / 14480, 1))


def steady_after_rtts(path):
    """15 are enough for 470 MB in flight."""
    return max(15, math.ceil(slow_start_rtts(path)))


def steady_after_s(path):
    """When slow start is over, seconds after the first byte."""
    return steady_after_rtts(path) * path.rtt_us / 1e6 + 0.05


def amount(path):
    """Bytes enough for a slow start from 10 segments, which takes 2 BDP, for
    full rate until steady_after_s, and then 4 RTT and a second, in which a
    segment lost to a full queue shows as what it is. (2 BDP to spare: a
    handshake has opened ssh's congestion window already.)"""
    return max(int((steady_after_rtts(path) - slow_start_rtts(path) + 8) *
                   bdp(path)) + int(path.rate_mbit * 125000), 16 * MIB)


def transfer(path, direction="get", count=None, **fields):
    """The Spec of count bytes, or else amount(), by ssh with ours at both
    ends, unless fields say otherwise. path is a Path or the name of one."""
    if isinstance(path, str):
        path = link(path)
    spec = {"tool": "ssh", "client": "openssh", "server": "openssh",
            "direction": direction, **path.given()}
    # Where it takes more than 1 GB to fill the path, a cipher that needs no
    # new keys on the way: the default renews them every GB, which stops the
    # data for 3 RTT.
    if amount(path) > GB:
        spec["cipher"] = AES
    spec["bytes"] = amount(path) if count is None else count
    return Spec(**{**spec, **fields})


# The reference

def raw_of(spec):
    """Plain TCP on the same path. With several channels, for all that they
    carry."""
    raw = {name: value for name, value in spec.given().items()
           if name in PATH_FIELDS or SPEC_FIELDS[name].metadata["raw"](value)}
    raw["bytes"] *= spec.channels or 1
    return Spec(tool="raw", **raw)


def raw_name(spec):
    """The name of its reference: two transfers have the same if what raw TCP
    knows of them is the same."""
    raw = raw_of(spec).given()
    first = [raw.pop(name) for name in
             ("direction", "bytes", "rate_mbit", "rtt_us")]
    del raw["tool"]
    words = [*map(str, first), *(f"{n}-{v}" for n, v in raw.items())]
    return "raw-" + "-".join(words).translate(
        str.maketrans(" %[]{}\"':,", "__________"))
