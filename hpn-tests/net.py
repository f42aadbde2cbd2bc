"""The lab's network: client - router - server, in namespaces of their own.

    client 10.77.1.1 --- 10.77.1.2 router 10.77.2.2 --- 10.77.2.1 server

Delay, rate and loss sit on the router's two egresses, never on a host's own:
there they would reach into TCP's small-queue accounting.
"""

import subprocess

HOSTS = {"client": "10.77.1.1", "server": "10.77.2.1"}
TCP_BUFFER_MAX = 512 << 20          # bytes, what "raised" buffers may grow to


def sh(command, host=None):
    """Runs a shell command, in the namespace of host if one is named."""
    prefix = ["ip", "netns", "exec", host] if host else []
    subprocess.run(prefix + ["sh", "-ec", command], check=True)


def join(host, network, cc):
    """Links host to the router. Packets leave as they will be on the wire:
    TCP's super-packets would pass netem's delay and rate 64 KB at once. The
    route names the congestion control, as a namespace may not make just any
    of the kernel's its default."""
    sh(f"ip link add v{host} type veth peer name r{host};"
       f"ip link set v{host} netns {host}; ip link set r{host} netns router")
    for name, ns, address in ((f"v{host}", host, f"{network}.1"),
                              (f"r{host}", "router", f"{network}.2")):
        sh(f"ip addr add {address}/24 dev {name};"
           f"ethtool -K {name} tso off gso off gro off >/dev/null 2>&1;"
           f"ip link set {name} gso_max_segs 1 up; ip link set lo up", ns)
    sh(f"ip route add default via {network}.2 congctl {cc}", host)


def netem(spec):
    """The netem arguments for one egress of the router.

    slot_us makes the link deliver in bursts that far apart, as interrupt
    moderation does: a lab in virtual time would wake its readers for each
    single packet, ten times as often as a real machine.
    """
    args = [f"delay {spec['rtt_us'] // 2}us", f"rate {spec['rate_mbit']}mbit",
            f"limit {spec.get('queue_packets', 1000000)}"]
    if spec.get("slot_us"):
        args.append(f"slot {spec['slot_us']}us {spec['slot_us']}us")
    return " ".join(args)


def set_up(spec):
    for ns in ("client", "router", "server"):
        sh(f"ip netns add {ns}")
    cc = spec.get("cc", "cubic")
    join("client", "10.77.1", cc)
    join("server", "10.77.2", cc)
    sh("echo 1 > /proc/sys/net/ipv4/ip_forward", "router")
    for host in HOSTS:
        tcp = "echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save;"
        if spec.get("tcp_buffers", "raised") == "raised":
            for f in ("tcp_rmem", "tcp_wmem"):
                tcp += (f"echo 4096 131072 {TCP_BUFFER_MAX} "
                        f"> /proc/sys/net/ipv4/{f};")
        sh(tcp, host)
        sh(f"tc qdisc add dev r{host} root netem {netem(spec)}", "router")
