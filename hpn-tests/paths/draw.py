"""Random trials: transfers of which the number determines the path, the tool,
the direction and whose programs are at the ends. Stock OpenSSH at both ends
and, if a limit needs it, raw TCP take the same path with the same random seed.

Limits: 0.98 of stock's goodput; where ours receives and the BDP is over 2 MiB,
also 0.95 of raw TCP's. The rule: a path with loss or jitter has the seeds 1 to
SEEDS. The ratios, paired by seed, have a geometric mean and lower and upper
one-sided 95 % confidence bounds (Student's t on the logarithms). A trial passes
if the lower bounds reach the limits, fails if an upper bound is below its
limit, and is otherwise inconclusive. Other paths: one seed, no bounds."""

import math
import random
import statistics

from lab import LabError
from measure import WINDOW_STOCK
from scenarios import BUDGET
from spec import AES, MIB, Path, bdp, raw_of, transfer

RANGES = {"A": range(1, 201), "B": range(1001, 1201)}
SEEDS = 8
T = 1.895                       # Student's, 95 %, of SEEDS - 1
STOCK_LEAST, RAW_LEAST = 0.98, 0.95
OURS, STOCK = "openssh", "stock"
# Strata: n % 4 is the BDP, n // 4 % 2 who receives, n // 8 % 4 whether packets
# are lost, n % 3 the buffers
BDP_MIB = ((0.1, 1.99), (2.01, 3.99), (4.01, 32), (4.01, 32))
RECEIVERS = (OURS, STOCK)
BUFFERS = ("raised", "package", "default")
# Chosen by CPU time (a trial takes 20 s): a faster link needs more bytes,
# as a growing file is looked at each 20 ms only
RATE_MBIT = (5, 1000)
RTT_US = (5e3, 6e5)
# Bytes: slow start moves two BDP, in half of the time that ten take. With
# several seeds each has 0.6 of them.
BYTES_BDP, SECONDS, BYTES_LEAST, WITH_SEEDS = 10, 1.5, 8 * MIB, 0.6
# What stock's scp and sftp send before the first answer
STOCK_REQUESTS = 64 * 261120


def spread(dice, least, most):
    """Between the two, each factor as likely."""
    return math.exp(dice.uniform(math.log(least), math.log(most)))


def rounded(value):
    return float(f"{value:.2g}")


def drawn_path(n, dice):
    bits = 8 * MIB * spread(dice, *BDP_MIB[n % 4])
    rtt_us = rounded(spread(dice, max(RTT_US[0], bits / RATE_MBIT[1]),
                            min(RTT_US[1], bits / RATE_MBIT[0])))
    path = Path(
        rate_mbit=float(f"{bits / rtt_us:.4g}"), rtt_us=int(rtt_us),
        queue_bdp=rounded(spread(dice, 0.1, 4)),
        cc=dice.choice(("cubic", "bbr")), tcp_buffers=BUFFERS[n % 3])
    if n // 8 % 4 == 0:
        path = path.but(loss=f"{rounded(spread(dice, 0.001, 0.5)):g}%")
    if dice.random() < 1 / 12:
        path = path.but(jitter_percent=dice.randint(1, 20))
    return path


def by_chance(path):
    return bool(path.loss or path.jitter_percent)


def drawn_transfer(n):
    dice = random.Random(n)
    path = drawn_path(n, dice)
    receiver = RECEIVERS[n // 4 % 2]
    sender = OURS if receiver == STOCK else dice.choice((OURS, STOCK))
    direction = dice.choice(("get", "put"))
    ends = (receiver, sender) if direction == "get" else (sender, receiver)
    count = max(BYTES_BDP * bdp(path), SECONDS * path.rate_mbit * 125000)
    if by_chance(path):
        count *= WITH_SEEDS
    # Stock's default cipher is another; a rekey in mid-transfer is luck, too
    return transfer(path, direction, max(int(count), BYTES_LEAST),
                    client=ends[0], server=ends[1], cipher=AES, sparse=True,
                    tool=dice.choice(("ssh", "scp", "scp-O", "sftp")))


def bounds(ours, others):
    """The mean of the paired ratios, and what it is at least and at most."""
    logs = [math.log(a / b) for a, b in zip(ours, others)]
    error = T * statistics.stdev(logs) / math.sqrt(len(logs)) \
        if len(logs) > 1 else 0
    mean = statistics.fmean(logs)
    return [round(math.exp(x), 4) for x in (mean, mean - error, mean + error)]


def decide(found):
    """Of (bounds, limit) each: pass, fail or inconclusive."""
    if any(most < limit for (_, _, most), limit in found):
        return "fail"
    passes = all(least >= limit for (_, least, _), limit in found)
    return "pass" if passes else "inconclusive"


class Draw:
    """Number n. specs has its transfers by name, once it is measured."""

    def __init__(self, n):
        self.spec = spec = drawn_transfer(n)
        self.number, self.name, self.specs = n, f"random-{n}", {}
        self.receiver = RECEIVERS[n // 4 % 2]
        self.seeds = range(1, (SEEDS if by_chance(spec) else 1) + 1)
        self.limits = {"stock": STOCK_LEAST}
        if self.receiver == OURS and bdp(spec) > WINDOW_STOCK:
            self.limits["raw"] = RAW_LEAST

    def name_of(self, who, seed):
        return f"{self.name}-{who}-seed{seed}"

    def measure(self, transfers):
        """Its row of random.json."""
        for seed in self.seeds:
            one = self.spec.but(seed=seed)
            for who, spec in (
                    ("ours", one), ("raw", raw_of(one)),
                    ("stock", one.but(client=STOCK, server=STOCK))):
                if who == "ours" or who in self.limits:
                    self.specs[self.name_of(who, seed)] = spec
        transfers.add(self.specs)
        try:
            found = {who: [transfers[self.name_of(who, s)] for s in self.seeds]
                     for who in ("ours", *self.limits)}
        except LabError as e:
            return {**self.words(), "result": "fail",
                    "error": str(e).splitlines()[0]}
        rates = {who: [t.goodput() for t in those]
                 for who, those in found.items()}
        ratios = {who: bounds(rates["ours"], rates[who])
                  for who in self.limits}
        left = [name for t in found["ours"] for name in t.result["left"]]
        return {**self.words(), "left": left,
                "result": "fail" if left else decide(
                    [(ratios[who], self.limits[who]) for who in ratios]),
                "mb_s": {who: round(statistics.geometric_mean(r), 2)
                         for who, r in rates.items()}, "of": ratios,
                "memory_mib": round(max(
                    max(t.peak_memory(end) for t in found["ours"]) -
                    max(t.peak_memory(end) for t in found["stock"])
                    for end in ("client", "server")) / MIB, 1)}

    def words(self):
        """What it is, for a reader of the page."""
        s = self.spec
        chance = "".join([f", {s.loss} loss" if s.loss else "",
                          f", {s.jitter_percent} % jitter"
                          if s.jitter_percent else ""])
        return {"draw": self.number, "seeds": len(self.seeds),
                "bdp_mib": round(bdp(s) / MIB, 2),
                "receives": self.receiver.replace(OURS, "ours"),
                "loss": bool(s.loss), "buffers": s.tcp_buffers,
                "path": f"{s.rate_mbit:g} Mbit/s x {s.rtt_us / 1000:g} ms"
                        f"{chance}, queue {s.queue_bdp:g} BDP, {s.cc}",
                "copy": f"{s.bytes / 1e6:.0f} MB, {s.tool} {s.direction}, "
                        f"client {s.client}, server {s.server}".replace(
                            OURS, "ours"),
                "bound": round(min(1, self.window() / bdp(s)), 3)}

    def window(self):
        """Bytes in flight that the receiver's window allows, or the requests
        of stock's scp and sftp."""
        window = WINDOW_STOCK if self.receiver == STOCK else BUDGET
        asks = self.spec.client == STOCK and self.spec.tool in ("scp", "sftp")
        return min(window, STOCK_REQUESTS) if asks else window
