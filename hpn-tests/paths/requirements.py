"""What a row of the table can require, each with what its limit may be and the
fields that its transfer has to have. It takes the row's transfers and
references, one pair a seed, and the limit, and tells the measured value."""

import dataclasses
import re
import statistics

from checked import Number, OneOf, SpecError, Whole, known, within
from measure import WINDOW_STOCK
from spec import GB, MIB, steady_after_s

REQUIREMENTS = {}                       # by name
SHARE = Number(0, 1)
TIMES = Number(1, 100)
COUNT = Whole(1, 10**6)
BYTES = Whole(1, 10**12, "bytes")
MS = Number(1, 10**4, "ms")
OPTION = OneOf("sack", "ts", "wscale")


@dataclasses.dataclass
class Requirement:
    """What may be required."""
    measure: object             # the function that measures it
    limit: object               # what its limit may be,
    at_most: bool               # and whether it is the most, the least or it
    needs: list                 # fields that the transfer has to have,
    least_bytes: int            # and its least bytes

    def applies(self, spec):
        """Raises SpecError where it can't be measured."""
        name = self.measure.__name__
        for field in self.needs:
            if getattr(spec, field) is None:
                raise SpecError(f"{name}: needs a transfer with {field}")
        if spec.bytes < self.least_bytes:
            raise SpecError(f"{name}: needs {self.least_bytes} bytes, not "
                            f"{spec.bytes}")


def requirement(limit, at_most=False, needs=(), least_bytes=1):
    """Makes a function one, by its name."""
    def add(measure):
        REQUIREMENTS[measure.__name__] = Requirement(
            measure, limit, at_most, needs, least_bytes)
        return measure
    return add


def required(must):
    """Checks what a row requires: {name: limit}."""
    if not isinstance(must, dict) or not must:
        raise SpecError(f"{must!r} is not {{requirement: limit}}")
    for name, limit in must.items():
        known(name, REQUIREMENTS, "requirement")
        within(name, REQUIREMENTS[name].limit, limit)


def ratio(pairs, of):
    """Median over the seeds of ours to that of raw TCP's."""
    return statistics.median(of(t) for t, _ in pairs) / \
        statistics.median(of(raw) for _, raw in pairs)


def simple(name, text, what, of, limit=SHARE, form="{:.1%}", **more):
    """One that compares a figure of ours with raw TCP's."""
    def measure(m, pairs, bound):
        (m.at_most if "at_most" in more else m.at_least)(
            what, ratio(pairs, of), bound, form)

    measure.__name__, measure.__doc__ = name, text
    requirement(limit, **more)(measure)


@requirement(SHARE)
def steady(m, pairs, least):
    """Rate at which the sender's TCP delivered data after slow start, as a
    fraction of raw TCP's."""
    after_s = steady_after_s(pairs[0][0].spec)
    m.at_least("steady part, of raw TCP",
               ratio(pairs, lambda t: t.steady(after_s)), least, "{:.1%}")
    m.note("as its reader saw it: "
           f"{ratio(pairs, lambda t: t.goodput(after_s)):.1%}")


simple("goodput", "Goodput of the transfer, as a fraction of raw TCP's.",
       "goodput, of raw TCP", lambda t: t.goodput())
simple("settled", "Goodput at the reader after slow start, as a fraction "
       "of raw TCP's.", "goodput after slow start, of raw TCP",
       lambda t: t.goodput(steady_after_s(t.spec)))
simple("times", "Goodput of the whole transfer, as a multiple of raw TCP's.",
       "goodput, times raw TCP's", lambda t: t.goodput(), TIMES, "{:.2f}")


@requirement(SHARE)
def late(m, pairs, least):
    """Goodput of the second half, as a fraction of raw TCP's. It depends on
    loss, and not on the random length of slow start."""
    m.at_least("second half, of raw TCP", ratio(pairs, lambda t: t.late()),
               least, "{:.1%}")
    m.note(f"all of it: {ratio(pairs, lambda t: t.goodput()):.1%}")


@requirement(SHARE, at_most=True)
def held_up(m, pairs, most):
    """Fraction of the samples in which the sender's TCP could send, but had no
    data from ssh."""
    held = [sample for t, _ in pairs for sample in t.held_up()]
    m.at_least("samples of the sender", len(held), 40, "{}")
    m.at_most("of them held up by us", sum(held) / len(held), most, "{:.1%}")


@requirement(OPTION, at_most=None)
def lacks(m, pairs, option):
    """TCP option that is off. The others are on."""
    seen = {name for _, text in pairs[0][0].sender_samples()
            for name in re.findall(rf" ({'|'.join(OPTION.names)})\b", text)}
    m.holds(f"TCP options, but {option}: {', '.join(sorted(seen))}",
            seen == {*OPTION.names} - {option})


@requirement(SHARE)
def full_segments(m, pairs, least):
    """Mean size of a segment, as a fraction of a full one's."""
    m.at_least("mean segment, of a full one",
               min(t.mean_segment() for t, _ in pairs), least, "{:.1%}")


simple("first_gb", "Time for the first GB, as a multiple of raw TCP's.",
       "first GB, of raw TCP's time", lambda t: t.series.seconds(GB), TIMES,
       "{:.2f} x", at_most=True, least_bytes=GB)


@requirement(SHARE, needs=["pause"])
def after_pause(m, pairs, least):
    """Time from the first byte after the pause to the last one: raw TCP's
    divided by ours."""
    def seconds(t):
        at = t.spec.pause[0]
        return t.series.at(t.series.total) - t.series.at(at + 1)
    m.at_least("time after the pause, raw TCP's of ours",
               1 / ratio(pairs, seconds), least, "{:.1%}")


@requirement(COUNT, at_most=True)
def adjusts(m, pairs, most):
    """Largest number of window adjusts that a channel sent in a round trip."""
    t, _ = pairs[0]
    rtt_us, counts = t.spec.rtt_us, [0]
    channels = {}
    for w in t.window_trace():
        recent = channels.setdefault(w["channel"], [])
        recent.append(w["t_us"])
        while recent[0] <= w["t_us"] - rtt_us:
            recent.pop(0)
        counts.append(len(recent))
    m.at_least("adjusts a round trip", max(counts), 8, "{}")
    m.at_most("adjusts a round trip", max(counts), most, "{}")


@requirement(BYTES, at_most=True)
def unspent(m, pairs, most):
    """Largest unused credit that the sender held."""
    held = [n for _, n in pairs[0][0].unspent()]
    m.at_least("samples of unspent credit", len(held), 50, "{}")
    # one without credit would send nothing: that it was measured
    m.at_least("unspent credit, MiB", max(held) / MIB, 1, "{:.1f}")
    m.at_most("unspent credit, MiB", max(held) / MIB, most / MIB, "{:.1f}")


@requirement(SHARE)
def stock_window(m, pairs, least):
    """Goodput, as a fraction of what stock's window and the path allow."""
    t, raw = pairs[0]
    path = t.spec
    m.at_least("goodput, of 2 MiB a round trip", t.goodput(1.0) /
               min(WINDOW_STOCK / path.rtt_us, raw.goodput(1.0)),
               least, "{:.1%}")


def span(t):
    """Seconds from the first byte on any channel to the first channel's end,
    all of which are busy then; and when that begins and ends."""
    return (max(c.first_s() for c in t.channels),
            min(c.at(c.total) for c in t.channels))


@requirement(SHARE, needs=["channels"])
def together(m, pairs, least):
    """Goodput of all channels while all run, as a fraction of raw TCP's."""
    t, raw = pairs[0]
    start_s, end_s = span(t)
    start_s += steady_after_s(t.spec)
    count = sum(c.arrived(end_s) - c.arrived(start_s) for c in t.channels)
    m.at_least("all channels, of raw TCP", count / (end_s - start_s) / 1e6 /
               raw.goodput(steady_after_s(t.spec)), least, "{:.1%}")


@requirement(SHARE, needs=["channels"])
def share(m, pairs, least):
    """Bytes of the slowest channel, as a fraction of the fastest one's."""
    t, _ = pairs[0]
    start_s, end_s = span(t)
    counts = [c.arrived(end_s) - c.arrived(start_s) for c in t.channels]
    m.at_least("slowest channel, of the fastest", min(counts) / max(counts),
               least, "{:.1%}")


@requirement(MS, at_most=True, needs=["shell"])
def echo(m, pairs, most):
    """Time from keystroke to echo after slow start (99th percentile), less the
    RTT of raw TCP, which fills the path's queue."""
    t, raw = pairs[0]
    start_s = t.series.first_s() + steady_after_s(t.spec)
    echoes = sorted(ms for t_s, ms in t.result["echo_ms"] if t_s > start_s)
    rtt_ms = raw.loaded_rtt_ms()
    m.at_least("keystrokes", len(echoes), 40, "{}")
    p90, p99 = (echoes[int(len(echoes) * q)] - rtt_ms for q in (0.90, 0.99))
    m.at_most(f"echo p99, ms over raw TCP's RTT of {rtt_ms:.0f} ms", p99, most,
              "{:.0f}")
    m.note(f"p90 {p90:.0f}")


@requirement(COUNT)
def rekeys(m, pairs, least):
    """Number of rekeys of the client in mid-transfer."""
    log = pairs[0][0].read("ssh.log")
    m.at_least("new keys", log.count("SSH2_MSG_NEWKEYS received") - 1, least,
               "{}")
