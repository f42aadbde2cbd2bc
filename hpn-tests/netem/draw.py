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
# Where chance decides: nine if the first seeds miss, and 36 if nine miss, too,
# but differ too much to tell
ALL_SEEDS = (range(1, 10), range(1, 37))
ERRORS = 2                      # then, so many standard errors are luck,
LUCK_MOST = 0.15                # and no more than this
BYTES_MAX = GB * 3 // 4
OURS, STOCK = "openssh", "stock"
ENDS = ((OURS, OURS), (OURS, STOCK), (STOCK, OURS))     # client, server
UNSPENT_MAX = 8 * MIB
# What an end of ours may take over stock's, where its reader keeps up
MEMORY_MORE = 16 * MIB
RAW_LEAST, STOCK_LEAST = 0.95, 0.97
# Stock returns credit late, so its window is never all in flight
STOCK_WINDOW_LEAST = 0.75
# What stock's scp and sftp send before the first answer: 64 requests of the
# length that our server allows
STOCK_REQUESTS = 64 * 261120
# A receive window of raw TCP like ours towards a stock sender, in bytes: it
# follows slow start up to the first number, then gains the second in each round
# trip, up to a BDP and the third. (Ours is a BDP and 3 MiB. It is three times
# what came in a round trip while that is below 1.5 MiB.)
WINDOW_FIRST, WINDOW_GAIN, WINDOW_MORE = 9 * MIB // 2, 3 * MIB, 3 * MIB


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
        self.names = {"ours": [], "stock": [], "raw": [], "window": []}
        self.specs = {}
        self.windowed = False
        self.seeds = SEEDS if spec.loss else (1,)
        self.add_seeds(self.seeds)

    def add_seeds(self, seeds):
        """Returns the specs that are new, by name."""
        old = set(self.specs)
        for s in seeds:
            mark = f"-seed{s}" if s > 1 or self.spec.loss else ""
            one = self.spec.but(seed=s if mark else None, sparse=True,
                                unspent=self.holds_credit or None)
            self.add("ours", self.name + mark, one)
            self.add("stock", f"{self.name}-stock{mark}", one.but(
                client=STOCK, server=STOCK, unspent=None))
            self.add("raw", raw_name(one), raw_of(one))
        if self.windowed:
            self.add_windowed()
        return {n: s for n, s in self.specs.items() if n not in old}

    def add_windowed(self):
        """Raw TCP with the window that our rule gives a stock sender, with the
        seeds that have none yet. Returns the specs that are new, by name."""
        self.windowed = True
        most = min(bdp(self.spec) + WINDOW_MORE, BUDGET)
        if self.spec.client == STOCK and self.spec.tool in ("scp", "sftp"):
            most = min(most, STOCK_REQUESTS)
        new = {}
        for name in self.names["raw"][len(self.names["window"]):]:
            new[f"{name}-window"] = self.specs[name].but(
                window=[min(WINDOW_FIRST, most), WINDOW_GAIN, most])
        for name, spec in new.items():
            self.add("window", name, spec)
        return new

    def has_rule(self):
        """Whether our window towards a stock sender is in force."""
        return self.holds_credit and not self.stock_receives

    def add(self, what, name, spec):
        self.names[what].append(name)
        self.specs[name] = spec

    def row(self):
        """The row of scenarios.py that measures it again."""
        more = {n: v for n, v in self.spec.given().items()
                if n not in ("rate_mbit", "rtt_us", "direction", "bytes")}
        fields = ", ".join(f"{n}={v!r}" for n, v in more.items())
        seeds = f", seeds={self.seeds}" if self.spec.loss else ""
        s = self.spec
        return (f'row("{self.name}", "netem",\n    transfer("'
                f'{s.rate_mbit:g}m-{s.rtt_us}us", "{s.direction}", {s.bytes},\n'
                f"        {fields}),\n    {{\"goodput\": {RAW_LEAST}}}{seeds})")

    def check(self, m, transfers):
        """Measures into m what must hold. transfers are by name; more are
        added if seeds miss. Returns the figures, for the page of results."""
        figures = {"draw": self.number}
        found = self.found(transfers)
        of_limit, of_stock, _ = self.ratios(found, statistics.median)
        if self.has_rule() and of_limit < RAW_LEAST:
            m.note(f"{of_limit:.1%} of raw TCP's with all the window it wants")
            figures["of_raw"] = round(of_limit, 4)
            transfers.add(self.add_windowed())
            found = self.found(transfers)
            of_limit, of_stock, _ = self.ratios(found, statistics.median)
        error = [0, 0]
        for seeds in ALL_SEEDS if self.is_chance() else ():
            misses = [e for ratio, least, e in (
                (of_limit, RAW_LEAST, error[0]),
                (of_stock, STOCK_LEAST, error[1])) if ratio < least * luck(e)]
            if not misses or 0 < ERRORS * max(misses) < LUCK_MOST:
                break
            have = len(found["ours"])
            m.note(f"{of_limit:.1%} and {of_stock:.1%} with {have} seeds")
            transfers.add(self.add_seeds([s for s in seeds if s > have]))
            found = self.found(transfers)
            of_limit, of_stock, by = self.ratios(found,
                                                 statistics.geometric_mean)
            error = [standard_error(found["ours"], found[what])
                     for what in (by, "stock")]
            figures["seeds"] = len(found["ours"])
            figures["errors"] = [round(e, 4) for e in error]
        ours, stock = found["ours"], found["stock"]
        m.note("MB/s: " + ", ".join(
            f"{what} {statistics.median(t.goodput() for t in those):.2f}"
            for what, those in found.items() if those))
        left = [name for t in ours for name in t.result["left"]]
        m.holds(f"processes left: {left or 'none'}", not left)
        for what, ratio, e, least in (
                ("of raw TCP's or the window's share", of_limit, error[0],
                 RAW_LEAST), ("of stock's", of_stock, error[1], STOCK_LEAST)):
            by = f" (standard error: {e:.1%})" if e else ""
            m.at_least(what + by, ratio, least * luck(e), "{:.1%}")
        figures.update(of_limit=round(of_limit, 4), of_stock=round(of_stock, 4))
        if self.has_rule():
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

    def is_chance(self):
        return bool(self.spec.loss or self.spec.jitter_percent)

    def found(self, transfers):
        return {what: [transfers[n] for n in names]
                for what, names in self.names.items()}

    def ratios(self, found, mean):
        """Of ours to the limit and to stock, of the means of their goodputs,
        and whose goodput is the limit: stock's, or raw TCP's with all the
        window it wants (raw) or with that of our rule (window)"""
        ours, stock, raw = (mean([t.goodput() for t in found[what]])
                            for what in ("ours", "stock", "raw"))
        limit = min(raw, self.share(found["raw"], raw))
        if found["window"]:
            window = mean([t.goodput() for t in found["window"]])
            if window < limit:
                return ours / window, ours / stock, "window"
        # While a lost segment is sent again, stock's window stands still
        by_stock = self.stock_receives and stock < limit
        return (ours / (stock if by_stock else limit), ours / stock,
                "stock" if by_stock else "raw")

    def share(self, transfers, raw):
        """MB/s that the window or the sender's requests allow where raw TCP
        has that many."""
        if self.stock_receives:
            rtt_us = max(self.spec.rtt_us, 1000 * statistics.median(
                t.loaded_rtt_ms() for t in transfers))
            return STOCK_WINDOW_LEAST * WINDOW_STOCK / rtt_us
        most = raw * min(1, BUDGET / bdp(self.spec))
        if self.spec.client == STOCK and self.spec.tool in ("scp", "sftp") \
                and STOCK_REQUESTS < bdp(self.spec):
            # Raw TCP's time, with the requests' rate instead of the link's
            us_per_byte = 1 / raw + self.spec.rtt_us / STOCK_REQUESTS - \
                8 / self.spec.rate_mbit
            most = min(most, 1 / us_per_byte)
        return most


def luck(error):
    """What a ratio may be of its least, with that standard error."""
    return math.exp(-min(ERRORS * error, LUCK_MOST))


def standard_error(ours, others):
    """Of the ratio of two transfers' goodputs, in parts of it."""
    logs = [[math.log(t.goodput()) for t in those] for those in (ours, others)]
    return math.sqrt(sum(statistics.variance(x) / len(x) for x in logs))
