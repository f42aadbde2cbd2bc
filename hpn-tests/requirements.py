"""What a row of the table can require: each takes the row's transfers and
references, one pair a seed, and the limit, and tells the measured value."""

import statistics

from measure import WINDOW_STOCK
from scenarios import GB, MIB, steady_after_s


def ratio(pairs, of):
    """Median over the seeds of ours to that of raw TCP's."""
    return statistics.median(of(t) for t, _ in pairs) / \
        statistics.median(of(raw) for _, raw in pairs)


def steady(m, pairs, least):
    after_s = steady_after_s(pairs[0][0].spec)
    m.at_least("steady part, of raw TCP",
               ratio(pairs, lambda t: t.steady(after_s)), least, "{:.1%}")
    m.note("as its reader saw it: "
           f"{ratio(pairs, lambda t: t.goodput(after_s)):.1%}")


def goodput(m, pairs, least):
    m.at_least("goodput, of raw TCP", ratio(pairs, lambda t: t.goodput()),
               least, "{:.1%}")


def settled(m, pairs, least):
    """What the reader got, once slow start is over."""
    after_s = steady_after_s(pairs[0][0].spec)
    m.at_least("goodput after slow start, of raw TCP",
               ratio(pairs, lambda t: t.goodput(after_s)), least, "{:.1%}")


def times(m, pairs, least):
    m.at_least("goodput, times raw TCP's", ratio(pairs, lambda t: t.goodput()),
               least, "{:.0f}")


def late(m, pairs, least):
    """Over the second half of the bytes: by then it is the loss that decides,
    and not the luck of how long slow start went without."""
    m.at_least("second half, of raw TCP", ratio(pairs, lambda t: t.late()),
               least, "{:.1%}")
    m.note(f"all of it: {ratio(pairs, lambda t: t.goodput()):.1%}")


def held_up(m, pairs, most):
    """Share of the samples in which the sender's TCP could have sent, and
    had nothing to send: it is ours that held it up."""
    held = [sample for t, _ in pairs for sample in t.held_up()]
    m.at_least("samples of the sender", len(held), 40, "{}")
    m.at_most("of them held up by us", sum(held) / len(held), most, "{:.1%}")


def full_segments(m, pairs, least):
    """Bytes that a segment carried, on average."""
    m.at_least("mean segment, of a full one",
               min(t.mean_segment() for t, _ in pairs), least, "{:.1%}")


def first_gb(m, pairs, most):
    m.at_most("first GB, of raw TCP's time",
              ratio(pairs, lambda t: t.series.seconds(GB)), most, "{:.2f} x")


def after_pause(m, pairs, least):
    """From the first byte after the pause to the last one."""
    def seconds(t):
        at = t.spec["pause"][0]
        return t.series.at(t.series.total) - t.series.at(at + 1)
    m.at_least("time after the pause, raw TCP's of ours",
               1 / ratio(pairs, seconds), least, "{:.1%}")


def adjusts(m, pairs, most):
    """Window adjusts of one channel in any round trip."""
    t, _ = pairs[0]
    rtt_us, counts = t.spec["rtt_us"], [0]
    channels = {}
    for w in t.window_trace():
        recent = channels.setdefault(w["channel"], [])
        recent.append(w["t_us"])
        while recent[0] <= w["t_us"] - rtt_us:
            recent.pop(0)
        counts.append(len(recent))
    m.at_least("adjusts a round trip", max(counts), 8, "{}")
    m.at_most("adjusts a round trip", max(counts), most, "{}")


def unspent(m, pairs, most):
    """Credit that the sender holds and has not spent."""
    held = [n for _, n in pairs[0][0].unspent()]
    m.at_least("samples of unspent credit", len(held), 50, "{}")
    # one without credit would send nothing: that it was measured
    m.at_least("unspent credit, MiB", max(held) / MIB, 1, "{:.1f}")
    m.at_most("unspent credit, MiB", max(held) / MIB, most / MIB, "{:.1f}")


def stock_window(m, pairs, least):
    """Of what a window of 2 MiB a round trip can carry, or the link."""
    t, raw = pairs[0]
    path = t.spec
    m.at_least("goodput, of 2 MiB a round trip", t.goodput(1.0) /
               min(WINDOW_STOCK / path["rtt_us"], raw.goodput(1.0)),
               least, "{:.1%}")


def span(t):
    """Seconds from the first byte on any channel to the first channel's end,
    all of which are busy then; and when that begins and ends."""
    return (max(c.first_s() for c in t.channels),
            min(c.at(c.total) for c in t.channels))


def together(m, pairs, least):
    """All channels, once they run, until the first one ends."""
    t, raw = pairs[0]
    start_s, end_s = span(t)
    start_s += steady_after_s(t.spec)
    count = sum(c.arrived(end_s) - c.arrived(start_s) for c in t.channels)
    m.at_least("all channels, of raw TCP", count / (end_s - start_s) / 1e6 /
               raw.goodput(steady_after_s(t.spec)), least, "{:.1%}")


def share(m, pairs, least):
    t, _ = pairs[0]
    start_s, end_s = span(t)
    counts = [c.arrived(end_s) - c.arrived(start_s) for c in t.channels]
    m.at_least("slowest channel, of the fastest", min(counts) / max(counts),
               least, "{:.1%}")


def echo(m, pairs, most):
    """Keystroke to echo, once slow start is over: 99 % within the RTT that raw
    TCP has on the path, in the queue that it fills, and so many ms."""
    t, raw = pairs[0]
    start_s = t.series.first_s() + steady_after_s(t.spec)
    echoes = sorted(ms for t_s, ms in t.result["echo_ms"] if t_s > start_s)
    rtt_ms = raw.loaded_rtt_ms()
    m.at_least("keystrokes", len(echoes), 40, "{}")
    p90, p99 = (echoes[int(len(echoes) * q)] - rtt_ms for q in (0.90, 0.99))
    m.at_most(f"echo p99, ms over raw TCP's RTT of {rtt_ms:.0f} ms", p99, most,
              "{:.0f}")
    m.note(f"p90 {p90:.0f}")


def rekeys(m, pairs, least):
    log = pairs[0][0].read("ssh.log")
    m.at_least("new keys", log.count("SSH2_MSG_NEWKEYS received") - 1, least,
               "{}")
