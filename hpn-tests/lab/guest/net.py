"""The lab's network: hosts in namespaces of their own, a router between each
and the next.

    client 10.77.1.1 --- 10.77.1.2 router1 10.77.2.2 --- 10.77.2.1 server

or, with a jump host in the middle,

    client 10.77.1.1 --- router1 --- 10.77.2.1 jump
    jump   10.77.3.1 --- router2 --- 10.77.4.1 server

With a relay, it runs on that host and is what makes rate and delay.

Delay, rate and loss sit on a router's two egresses, never on a host's own:
there they would reach into TCP's small-queue accounting."""

import os
import re
import subprocess
import time

TCP_BUFFER_MAX = 512 << 20          # bytes, what "raised" buffers may grow to
PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                       "..", "debian", "overlay", "10-long-path.conf")
PACKET = 1514                       # bytes, as netem counts them
QUEUE_MIN = 64                      # packets


def sh(command):
    subprocess.run(["sh", "-ec", command], check=True)


def ip(lines, host=None):
    """Runs ip's commands, in the namespace of host if one is named; all by
    one process, as each takes a user mode kernel 20 ms."""
    subprocess.run(["ip"] + (["-n", host] if host else []) + ["-batch", "-"],
                   input="\n".join(lines) + "\n", text=True, check=True)


def tc(lines, host):
    subprocess.run(["tc", "-n", host, "-batch", "-"],
                   input="\n".join(lines) + "\n", text=True, check=True)


def hosts(spec):
    return ["client", "jump", "server"] if spec.get("via") in \
        ("jump", "relay") else ["client", "server"]


def address(spec, host):
    """Where others reach host: its side that looks to the client."""
    return f"10.77.{max(2 * hosts(spec).index(host), 1)}.1"


def queue_packets(spec):
    """netem's limit: what is on its way in one direction, and the queue of
    queue_bdp BDPs. The BDP is the largest that the path will have."""
    if "queue_packets" in spec:
        return spec["queue_packets"]
    paths = [spec]
    for _, change in spec.get("changes", []):
        paths.append(dict(paths[-1], **change))
    bdp = max(p["rate_mbit"] * p["rtt_us"] / 8 for p in paths)
    held = bdp / 2 + spec["rate_mbit"] * spec.get("slot_us", 0) / 8
    return int((held + spec.get("queue_bdp", 1) * bdp) / PACKET) + QUEUE_MIN


def netem(spec):
    """The netem arguments for one egress of a router.

    slot_us makes the link deliver in bursts that far apart, as interrupt
    moderation does: a lab in virtual time would wake its readers for each
    single packet, ten times as often as a real machine."""
    # With a jump host, the path is two such links
    delay_us = spec["rtt_us"] // 2 // (len(hosts(spec)) - 1)
    jitter = spec.get("jitter_percent", 0) * delay_us // 100
    args = [f"delay {delay_us}us" + (f" {jitter}us" if jitter else ""),
            f"limit {queue_packets(spec)}"]
    if not spec.get("aqm"):
        args.append(f"rate {spec['rate_mbit']}mbit")
    if spec.get("loss"):
        args.append(f"loss {spec['loss']}")
    if spec.get("slot_us"):
        args.append(f"slot {spec['slot_us']}us {spec['slot_us']}us")
    return " ".join(args)


def aqm(spec, verb, device):
    """The link of a router that manages its queue, behind netem's delay."""
    burst = max(int(spec["rate_mbit"] * spec.get("slot_us", 0) // 8),
                2 * PACKET)
    return [f"qdisc {verb} dev {device} parent 1: handle 2: tbf rate "
            f"{spec['rate_mbit']}mbit burst {burst} limit 1g",
            f"qdisc {verb} dev {device} parent 2: handle 3: fq_codel ecn"]


class Path:
    """The routers of a network that is up, and what changes on them.

    Packets leave a host as they will be on the wire (gso_max_segs 1): TCP's
    super-packets would pass netem's delay and rate 64 KB at once. That is so
    with "gso", where more data fits into a buffer. The routes name the
    congestion control, as a namespace may not make just any of the kernel's its
    default."""

    def __init__(self, spec):
        self.spec = dict(spec)
        whole = "gso_max_segs 1"
        if spec.get("gso"):
            whole = ""
        if spec.get("via") == "relay":  # the links to it are as good as none
            self.spec.update(rate_mbit=10000, rtt_us=200, slot_us=0,
                             queue_packets=100000)
            whole = ""
        names = hosts(spec)
        routers = [f"router{i}" for i in range(1, len(names))]
        self.egresses = {}              # of each router
        links = [f"netns add {ns}" for ns in names + routers]
        inside = {ns: ["link set lo up"] for ns in names + routers}
        for i, router in enumerate(routers):
            ends = [(names[i], 2 * i + 1), (names[i + 1], 2 * i + 2)]
            for host, n in ends:
                links.append(f"link add up{n} netns {host} type veth "
                             f"peer name down{n} netns {router}")
                for ns, name, last in ((host, f"up{n}", 1),
                                       (router, f"down{n}", 2)):
                    inside[ns] += [f"addr add 10.77.{n}.{last}/24 dev {name}",
                                   f"link set {name} {whole} up"]
            for (host, n), (_, far) in zip(ends, reversed(ends)):
                inside[host].append(f"route add 10.77.{far}.0/24 via 10.77.{n}"
                                    f".2 congctl {spec.get('cc', 'cubic')}")
            self.egresses[router] = [f"down{n}" for _, n in ends]
        ip(links)
        for ns, lines in inside.items():
            ip(lines, ns)
            sysctl(ns, spec)
        self.qdiscs("add")

    def qdiscs(self, verb):
        for router, devices in self.egresses.items():
            lines = [f"qdisc {verb} dev {device} root handle 1: "
                     f"netem {netem(self.spec)}" for device in devices]
            if self.spec.get("reorder"):
                # On a stage of its own: netem's reordering skips the delay
                lines += [f"qdisc {verb} dev {device} parent 1: netem "
                          f"limit 100000 {self.spec['reorder']}"
                          for device in devices]
            if self.spec.get("aqm"):
                lines += [line for device in devices
                          for line in aqm(self.spec, verb, device)]
            tc(lines, router)

    def change(self, fields):
        """The path has these fields from now on; "down": 1 cuts it;
        "clock_s" steps the clock, which is the lab's own, by that time; "mtu"
        is the client's: veth drops larger packets, and sends no ICMP."""
        if "clock_s" in fields:
            assert os.environ["LAB_BACKEND"] == "uml"
            time.clock_settime(time.CLOCK_REALTIME,
                               time.time() + fields["clock_s"])
            return
        self.spec.update(fields)
        if "mtu" in fields:
            ip([f"link set up1 mtu {fields['mtu']}"], "client")
            return
        if "down" not in fields:
            self.qdiscs("change")
            return
        for router, devices in self.egresses.items():
            ip([f"link set {device} {'down' if fields['down'] else 'up'}"
                for device in devices], router)


def buffers(spec, host):
    """The host's sysctls of TCP's buffers."""
    which = spec.get("tcp_buffers", "raised")
    if isinstance(which, dict):
        which = which.get(host, "raised")
    if which == "raised":
        return dict.fromkeys(("tcp_rmem", "tcp_wmem"),
                             f"4096 131072 {TCP_BUFFER_MAX}")
    if which == "package":
        with open(PACKAGE) as f:
            return dict(re.findall(r"^net\.ipv4\.(\w+) = (.*)$", f.read(),
                                   re.M))
    return {}


def sysctl(ns, spec):
    values = {"tcp_no_metrics_save": "1", "ip_forward": "0"}
    if spec.get("aqm"):
        values["tcp_ecn"] = "1"
    if ns.startswith("router"):
        values["ip_forward"] = "1"
    else:
        values.update(buffers(spec, ns))
    values.update(spec.get("sysctls", {}).get(ns, {}))
    subprocess.run(
        ["ip", "netns", "exec", ns, "sh", "-ec", "".join(
            f"echo {value} > /proc/sys/net/ipv4/{name};"
            for name, value in values.items())], check=True)
