"""Which runs a benchmark is made of: data. A run is a dict:

    kind        goodput, setup, files, echo, copy (the lab) or cpu (the
                loopback)
    link        its name in links.tsv, of kind copy in copy.tsv; "loopback"
    tool        raw, ssh, scp, scp-O or sftp; or copier, of a client that is
                known by its command line
    direction   get (the client receives) or put
    load        of some copies: a key of LOADS; else it is the link's bytes
    client, server   a side: ours, stock, a peer's name, or "chain", what SSH
                can't do without (see chain.c); not of raw TCP
    cipher      of kind cpu; "none" is neither cipher nor MAC, as some peers
                have it
    repetition  from 1; in the lab it is the seed, of the losses above all

Its id names all of that. Runs that are to be held against each other come one
after the other."""

import itertools
from typing import NamedTuple, Optional

TOOLS = ("ssh", "scp", "scp-O", "sftp")
CIPHERS = ("chacha20-poly1305@openssh.com", "aes128-gcm@openssh.com",
           "aes256-gcm@openssh.com", "aes128-ctr")
CHAIN = {CIPHERS[0]: "chacha20-poly1305",    # a chain has these, of OpenSSL
         CIPHERS[1]: "aes-128-gcm", CIPHERS[2]: "aes-256-gcm"}
LONG, SHARED = "pacific", "fibre"       # for set-up and files; for the echo
QUICK_REPS = 3      # of what chance has a part in, see chance()
ENDS_MS = 200       # at this RTT each client copies with each server
LOADS_MS = (1, 25, 100, 200, 300)       # at these there are LOADS, too


class Load(NamedTuple):
    """What a command transfers, and what that is called."""
    what: str
    tool: str
    bytes: int
    tree: Optional[list] = None         # directories, files in each, bytes


LOADS = {"login": Load("ssh host command", "ssh", 1),
         "1k": Load("scp of 1 KB", "scp", 10**3),
         "1m": Load("scp of 1 MB", "scp", 10**6),
         "100m": Load("scp of 100 MB", "scp", 10**8),
         "files": Load("scp -r of 1,000 files", "scp", 1000 * 4096,
                       [20, 50, 4096])}


def run(kind, link, tool, direction, pair=None, cipher=None, load=None):
    found = {"kind": kind, "link": link, "tool": tool, "direction": direction}
    if load:
        found["load"] = load
    if pair:
        found.update(client=pair[0], server=pair[1])
    if cipher:
        found["cipher"] = cipher
    return found


def identity(r):
    fields = ("kind", "link", "tool", "direction", "load", "client",
              "server", "cipher", "repetition")
    return "/".join(str(r[f]) for f in fields if f in r)


def each(kind, link, tools, directions, pairs, ciphers=(None,)):
    """With raw TCP first, where it says what the path carries."""
    found = []
    for cipher, direction in itertools.product(ciphers, directions):
        if kind in ("goodput", "echo", "cpu"):
            found.append(run(kind, link, "raw", direction, cipher=cipher))
        found += [run(kind, link, tool, direction, pair, cipher)
                  for tool in tools for pair in pairs]
    return found


def quick(links, sides):
    """Both ends of one side: every link by ssh down, what else there is once"""
    pairs = [(side, side) for side in sides]
    found = each("cpu", "loopback", ["ssh"], ["get"], pairs, CIPHERS[:2])
    for link in links:
        found += each("goodput", link, ["ssh"], ["get"], pairs)
    if LONG in links:
        found += each("goodput", LONG, ["scp"], ["put"], pairs)
        found += each("setup", LONG, ["ssh"], ["get"], pairs)
        found += each("files", LONG, ["scp"], ["get"], pairs)
    if SHARED in links:
        found += each("echo", SHARED, ["ssh"], ["get"], pairs)
    return found


def full(links, sides, bare):
    """Every tool, both directions, each side with each; CPU time, of which each
    end's is known, both ends of one side."""
    pairs, alike = (list(itertools.product(sides, sides)),
                    [(side, side) for side in sides])
    both = ("get", "put")
    found = []
    for cipher in CIPHERS:
        found += each("cpu", "loopback", ["ssh", "scp"], both,
                      alike + [("chain", "chain")] * (cipher in CHAIN),
                      [cipher])
    found += [r for r in each("cpu", "loopback", ["ssh"], both,
                              [(side, side) for side in bare], ["none"])
              if r["tool"] != "raw"]
    for link in links:
        found += each("goodput", link, TOOLS, both, pairs)
        found += each("setup", link, ["ssh"], ["get"], pairs)
    if LONG in links:
        found += each("files", LONG, ["scp", "sftp"], both, pairs)
    if SHARED in links:
        found += each("echo", SHARED, ["ssh"], both, pairs)
    return found


def copies(links, sides, copiers=()):
    """A file by scp. Over every link the client receives it, and both ends are
    of one side. At ENDS_MS, with TCP's buffers raised, each client copies both
    ways with each server. At LOADS_MS the client receives the LOADS, too.
    Copiers do the same with a stock server, where stock does."""
    found = []
    for name, link in links.items():
        ends = [(side, side) for side in sides]
        if link.get("tcp_buffers") == "package":
            ends = [("ours", "ours")]     # it is for ours
        if link["rtt_us"] / 1000 in LOADS_MS:
            found += [run("copy", name, load.tool, "get", pair, load=key)
                      for key, load in LOADS.items() for pair in ends]
        if link["rtt_us"] == ENDS_MS * 1000 and "tcp_buffers" not in link:
            found += each("copy", name, ["scp"], ("get", "put"),
                          list(itertools.product(sides, sides)))
        else:
            found += each("copy", name, ["scp"], ["get"], ends)
        found += [dict(r, tool="copier", client=c) for r in found
                  for c in copiers if r["link"] == name and
                  r["tool"] == "scp" and
                  (r["client"], r["server"]) == ("stock", "stock")]
    return found


def chance(r, links, virtual):
    """Whether a repetition may measure something else: the lab's clock is its
    own, and without losses a transfer is the same each time."""
    return r["kind"] == "cpu" or not virtual or "loss" in links[r["link"]]


def plan(links, sides, is_quick, reps=None, only="", virtual=True, bare=(),
         copy_links=None, copiers=()):
    """All runs, a repetition of all before the next one of any; with only,
    those with its words in their id. bare: sides that can do without a
    cipher. copy_links: those over which a file is copied, which takes long:
    it is repeated only where chance has a part in it."""
    rows = quick(links, sides) if is_quick else full(links, sides, bare) + \
        copies(copy_links or {}, sides, copiers)
    links = {**links, **(copy_links or {})}
    found = []
    for repetition in range(1, (reps or QUICK_REPS) + 1):
        found += [dict(r, repetition=repetition) for r in rows
                  if repetition == 1 or reps or
                  not is_quick and r["kind"] != "copy" or
                  chance(r, links, virtual)]
    return [r for r in found if all(
        word in identity(r) for word in only.split())]
