"""Transfers drawn at random: from a number, always the same one. A draw is a
path, a tool, a direction and whose programs are at the ends, with the same by
stock OpenSSH and by raw TCP for comparison, and what must hold. test_random.py
measures draws."""

import math
import random
import statistics

from measure import WINDOW_STOCK
from scenarios import BUDGET
from spec import AES, GB, MIB, amount, bdp, link, raw_name, raw_of, transfer

SEEDS = (1, 2, 3)               # of netem, where packets are lost
BYTES_MAX = GB * 3 // 4
OURS, STOCK = "openssh", "stock"
ENDS = ((OURS, OURS), (OURS, STOCK), (STOCK, OURS))     # client, server
UNSPENT_MAX = 8 * MIB
# What an end of ours may take over stock's, where its reader keeps up
MEMORY_MORE = 16 * MIB
RAW_LEAST, STOCK_LEAST = 0.95, 0.97
# Stock returns credit late, so its window is never all in flight
STOCK_WINDOW_LEAST = 0.75


def spread(dice, least, most):
    """Between the two, each factor as likely, with two digits."""
    value = math.exp(dice.uniform(math.log(least), math.log(most)))
    return float(f"{value:.2g}")


def drawn_transfer(dice):
    rate = f"{spread(dice, 5, 2500):g}m"
    path = link(f"{rate}-{spread(dice, 2, 600):g}ms")
    path = path.but(
        queue_bdp=spread(dice, 0.1, 4), cc=dice.choice(("cubic", "bbr")),
        tcp_buffers=dice.choice(("raised", "default")))
    if dice.random() < 0.5:
        path = path.but(loss=f"{spread(dice, 0.001, 0.5):g}%")
    if dice.random() < 0.25:
        path = path.but(jitter_percent=dice.randint(1, 20))
    client, server = dice.choice(ENDS)
    spec = transfer(path, dice.choice(("get", "put")),
                    min(amount(path), BYTES_MAX), client=client, server=server,
                    tool=dice.choice(("ssh", "scp", "scp-O", "sftp")))
    # Stock's default is another; a rekey in mid-transfer is luck, too
    return spec.but(cipher=AES)


class Draw:
    """Number n. specs has its transfers by name: ours, stock's and raw TCP's,
    each with all seeds."""

    def __init__(self, n):
        self.spec = spec = drawn_transfer(random.Random(n))
        self.number, self.name = n, f"random-{n}"
        receiver, sender = (spec.client, spec.server) \
            if spec.direction == "get" else (spec.server, spec.client)
        self.stock_receives = receiver == STOCK
        self.holds_credit = sender == STOCK
        seeds = SEEDS if spec.loss else (None,)
        ours = [spec.but(seed=s, unspent=self.holds_credit or None)
                for s in seeds]
        self.names = {"ours": [], "stock": [], "raw": []}
        self.specs = {}
        for s, one in zip(seeds, ours):
            mark = f"-seed{s}" if s else ""
            self.add("ours", self.name + mark, one)
            self.add("stock", f"{self.name}-stock{mark}", one.but(
                client=STOCK, server=STOCK, unspent=None))
            self.add("raw", raw_name(one), raw_of(one))

    def add(self, what, name, spec):
        self.names[what].append(name)
        self.specs[name] = spec

    def row(self):
        """The row of scenarios.py that measures it again."""
        more = {n: v for n, v in self.spec.given().items()
                if n not in ("rate_mbit", "rtt_us", "direction", "bytes")}
        fields = ", ".join(f"{n}={v!r}" for n, v in more.items())
        seeds = f", seeds={SEEDS}" if self.spec.loss else ""
        s = self.spec
        return (f'row("{self.name}", "netem",\n    transfer("'
                f'{s.rate_mbit:g}m-{s.rtt_us}us", "{s.direction}", {s.bytes},\n'
                f"        {fields}),\n    {{\"goodput\": {RAW_LEAST}}}{seeds})")

    def check(self, m, transfers):
        """Measures into m what must hold. transfers are by name. Returns the
        figures, for the page of results."""
        ours, stock, raw = ([transfers[n] for n in self.names[what]]
                            for what in ("ours", "stock", "raw"))
        rate = {what: statistics.median(t.goodput() for t in found)
                for what, found in (("ours", ours), ("stock", stock),
                                    ("raw", raw))}
        m.note("MB/s: " + ", ".join(f"{what} {mb:.2f}"
                                    for what, mb in rate.items()))
        left = [name for t in ours for name in t.result["left"]]
        m.holds(f"processes left: {left or 'none'}", not left)
        of_limit = rate["ours"] / min(rate["raw"], self.share(raw))
        m.at_least("of raw TCP's or the window's share", of_limit, RAW_LEAST,
                   "{:.1%}")
        of_stock = rate["ours"] / rate["stock"]
        m.at_least("of stock's", of_stock, STOCK_LEAST, "{:.1%}")
        figures = {"draw": self.number, "of_limit": round(of_limit, 4),
                   "of_stock": round(of_stock, 4)}
        if self.holds_credit and not self.stock_receives:
            held = max(n for t in ours for _, n in t.unspent())
            m.at_most("unspent credit, MiB", held / MIB, UNSPENT_MAX / MIB,
                      "{:.1f}")
            figures["unspent_mib"] = round(held / MIB, 2)
        for end in ("client", "server"):
            more = max(t.peak_memory(end) for t in ours) - \
                max(t.peak_memory(end) for t in stock)
            m.at_most(f"memory of the {end} over stock's, MiB", more / MIB,
                      MEMORY_MORE / MIB, "{:.1f}")
        figures["missed"] = list(m.missed)
        return figures

    def share(self, raw):
        """MB/s that the receiver's window allows."""
        if not self.stock_receives:
            return statistics.median(t.goodput() for t in raw) * \
                min(1, BUDGET / bdp(self.spec))
        rtt_us = max(self.spec.rtt_us,
                     1000 * statistics.median(t.loaded_rtt_ms() for t in raw))
        return STOCK_WINDOW_LEAST * WINDOW_STOCK / rtt_us
