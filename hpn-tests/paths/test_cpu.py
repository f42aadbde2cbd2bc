"""CPU time of both ends: at 200 ms at most 1.3 times that at 1 ms. Virtual time
hides it, so it is the time that the guest's programs took of the host. Links
deliver in the same bursts near and far, as these decide how often one wakes."""

from scene import scenario
from spec import GB, transfer


def twins(count, **more):
    return {name: transfer(path, "get", count, bare=True, slot_us=200,
                           queue_packets=1000000, **more)
            for name, path in (("near", "1g-1ms"), ("far", "1g-200ms"))}


def cpu_ratio(scene):
    near, far = scene["near"], scene["far"]
    return (far.cpu_s() / far.spec.bytes) / \
        (near.cpu_s() / near.spec.bytes)


SLOW = {"rate": 20 * 10**6}


@scenario("cpu-big-window", **twins(GB // 2))
@scenario("cpu-stock-server", "netem", **twins(GB // 2, server="stock"))
@scenario("cpu-slow-reader", "netem", **twins(GB // 4, reader=SLOW))
@scenario("cpu-slow-reader-stock-server", "netem",
          **twins(GB // 4, reader=SLOW, server="stock"))
def test_cpu_does_not_grow_with_the_path(scene, measured):
    near = scene["near"]
    measured.note(f"{near.cpu_s() * GB / near.spec.bytes:.1f} s/GB at 1 ms")
    measured.at_most("CPU time at 200 ms, of that at 1 ms", cpu_ratio(scene),
                     1.3, "{:.2f} x")


FIXED = {"client": "fixed", "server": "fixed"}
STOCK = {"client": "stock", "server": "stock"}


@scenario("cpu-fixed-window", "netem",
          near=twins(GB // 25, **STOCK)["near"],
          far=twins(GB // 25, **FIXED)["far"])
def test_cpu_limit_fails_with_a_fixed_window(scene, measured):
    """That the above can fail: stock OpenSSH, given a window of 64 MiB.
    (With it, it needs as much at 1 ms: all that is not in the pipe waits in
    the sender's buffer.)"""
    ratio = cpu_ratio(scene)
    measured.holds(f"CPU time at 200 ms, of that at 1 ms: {ratio:.2f} x, "
                   f"more than 1.30 x", ratio > 1.3)
