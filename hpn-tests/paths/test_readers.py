"""Readers that are slow, stop, come in bursts: what they cost, and how soon
they have the path again."""

from scene import scenario
from spec import GB, MIB, bdp, link, raw_of, steady_after_s, transfer

PATH = "1g-200ms"
SLACK = 4 * MIB                 # what ssh itself may grow by, buffers rounded
RECEIVER = {"get": "client", "put": "server"}


def reading(direction, reader, count, **more):
    spec = transfer(PATH, direction, count, reader=reader, **more)
    return {"ours": spec, "raw": raw_of(spec.but(bytes=GB // 2))}


def memory(t, start_s, end_s):
    """What the receiver had resident at most from start_s to end_s."""
    return max(n for t_s, n in t.memory(RECEIVER[t.spec.direction])
               if start_s <= t_s <= end_s)


def base_memory(t):
    """What it had with the first byte: before there was a backlog."""
    return memory(t, 0, t.series.first_s() + 0.2)


def bounded(measured, growth, window, most=""):
    """Memory grows by no more than a window (bytes each)."""
    measured.at_most(f"growth, MiB, at a window of {most}{window / MIB:.1f}",
                     growth / MIB, (window + SLACK) / MIB, "{:.1f}")


def grown(t):
    """By how much the receiver's memory grew with the data, at most."""
    return memory(t, t.series.first_s(), t.series.at(t.series.total)) - \
        base_memory(t)


def stop_of(t):
    """When the reader stopped (s), and the window of that moment (bytes)."""
    stop_s = t.series.at(t.spec.reader["stop_after"])
    return stop_s, [w["target"] for w in t.window_trace()
                    if w["t_us"] / 1e6 <= stop_s][-1]


@scenario("stopped-reader", **reading("get", {"stop_after": 10**8}, GB,
                                      second_channel=True))
def test_stopped_reader_holds_one_window(scene, measured):
    """For good: the window of that moment, and other channels go on."""
    t = scene["ours"]
    stop_s, window = stop_of(t)
    growth = t.peak_memory("client") - memory(t, stop_s - 0.5, stop_s)
    bounded(measured, growth, window)
    # it did stop with data on the way: it is what the memory holds
    measured.at_least("growth, MiB", growth / MIB, 1, "{:.1f}")
    measured.holds(f"second channel says '{t.result['second_channel']}'",
                   t.result["second_channel"] == "second channel")


STOP = {"stop_after": 3 * 10**8, "stop_s": 5}


@scenario("stopping-reader-get", "netem", **reading("get", STOP, GB))
@scenario("stopping-reader-put", "netem", **reading("put", STOP, GB))
def test_stopping_reader_has_the_path_again(scene, measured):
    """For 5 s: bounded meanwhile, and the path again 10 RTT after."""
    t, raw = scene["ours"], scene["raw"]
    stop_s, window = stop_of(t)
    growth = memory(t, stop_s, stop_s + 5) - base_memory(t)
    bounded(measured, growth, window)
    measured.at_least("growth, MiB", growth / MIB, 1, "{:.1f}")
    rtt_s = t.spec.rtt_us / 1e6
    start_s = stop_s + 5 - t.series.first_s() + 10 * rtt_s
    measured.at_least(
        "10 RTT after it went on, of raw TCP",
        t.series.between(start_s, min(start_s + 5 * rtt_s,
                                      t.series.seconds())) /
        raw.goodput(steady_after_s(raw.spec)), 0.90, "{:.1%}")


SLOW = {"rate": 20 * 10**6}


@scenario("slow-reader-get", **reading("get", SLOW, GB // 4))
@scenario("slow-reader-put", "netem", **reading("put", SLOW, GB // 4))
def test_slow_reader_has_its_rate(scene, measured):
    """At a sixth of the path's rate: it has its rate, and once that is known
    the backlog is what it was with stock OpenSSH."""
    t = scene["ours"]
    first_s, end_s = t.series.first_s(), t.series.at(t.series.total)
    measured.at_least("of the rate it reads at",
                      t.goodput(1.0) / (SLOW["rate"] / 1e6), 0.95, "{:.1%}")
    peak = max(w["target"] for w in t.window_trace())
    # An sshbuf gives back what was read once that is half of it, so what is
    # read while a window arrives, in a round trip, is still there as well
    read = SLOW["rate"] * t.spec.rtt_us / 1e6
    bounded(measured, grown(t), peak + read, "what is read and at most ")
    half_s = (first_s + end_s) / 2
    late = [w["backlog"] for w in t.window_trace() if w["t_us"] / 1e6 > half_s]
    measured.at_least("adjusts in the second half", len(late), 50, "{}")
    # The stock window, what passes for scheduling, and a quarter RTT's
    # reading: rule 4, with the tolerances of test_link.c
    most = 2.25 * MIB + SLOW["rate"] * t.spec.rtt_us / 1e6 / 4
    measured.at_most("backlog in the second half, MiB", max(late) / MIB,
                     most / MIB, "{:.2f}")


BURSTS = {"burst": 50 * 10**6, "every_s": 1}


@scenario("bursty-reader-get", **reading("get", BURSTS, GB // 2))
@scenario("bursty-reader-put", "netem", **reading("put", BURSTS, GB // 2))
def test_bursty_reader_has_its_pace(scene, measured):
    """50 MB at once, each second, of the 119 that the path could bring."""
    t = scene["ours"]
    pace = BURSTS["burst"] / BURSTS["every_s"] / 1e6
    measured.at_least("of its pace", t.goodput(3.0) / pace, 0.90, "{:.1%}")
    peak = max(w["target"] for w in t.window_trace())
    bounded(measured, grown(t), peak, "at most ")


LONG = transfer("10g-50ms", "get", 20 * GB, queue_packets=1000000)


@scenario("long-and-large", "netem", ours=LONG)
def test_nothing_creeps_in_20_gb(scene, measured):
    """20 GB: counters pass 2^32 four times, and nothing creeps."""
    t = scene["ours"]
    ramp_s = t.series.at(4 * GB)
    trace = [w for w in t.window_trace() if w["t_us"] / 1e6 > ramp_s]
    measured.at_least("credit granted, of 2^32", trace[-1]["granted"] / 2**32,
                      4, "{:.2f}")
    targets = [w["target"] for w in trace]
    measured.at_most("window after 4 GB, largest of smallest",
                     max(targets) / min(targets), 1.10, "{:.3f}")
    end_s = t.series.at(t.series.total)
    late = [n for t_s, n in t.memory("client") if ramp_s < t_s < end_s]
    measured.at_least("samples of memory", len(late), 20, "{}")
    measured.at_most("memory after 4 GB, largest less smallest, MiB",
                     (max(late) - min(late)) / MIB, 1, "{:.2f}")
    measured.at_most(
        "window, of the BDP with 6 MiB and a queue as long again",
        max(targets) / (2 * bdp(link("10g-50ms")) + 6 * MIB), 1.05, "{:.2f}")
