"""The programs of a transfer, by spec["tool"] and spec["via"]: each function
starts them and returns the processes whose end is the transfer's end."""

import json
import os
import shlex
import subprocess
import sys
import time

import net

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.environ["LAB_OUT"]
LAB = "/run/lab"
SOURCE = f"{LAB}/source"
COPY = f"{LAB}/copy"          # where scp and sftp put it
PYTHON = sys.executable
PORT, FORWARDED = 5000, 6000
MASTER = f"{LAB}/master"


def out(name):
    return os.path.join(OUT, name)


def series_path(i=0):
    return out("series" + (f".{i}" if i else ""))


def leave(result):
    """What in_lab() of lab.py returns"""
    with open(out("result.json"), "w") as f:
        json.dump(result, f)


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def wait_until(what, condition, timeout_s=60):
    """Polls; the lab's clock moves on only while all is idle."""
    end_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end_s:
            raise TimeoutError(f"waited {timeout_s} s for {what}")
        time.sleep(0.010)


def on(host, argv, **kwargs):
    return subprocess.Popen(["ip", "netns", "exec", host] + argv, **kwargs)


def pipe(first, second):
    """Hands the one's output to the other only, so that either end shows."""
    first.stdout.close()
    return [first, second]


def listens(host, port):
    return f":{port} " in subprocess.run(
        ["ip", "netns", "exec", host, "ss", "-Htln"],
        capture_output=True, text=True).stdout


def reached(spec, host):
    """The host where one that connects to host gets to it."""
    return "jump" if spec.get("via") == "relay" else host


def start_relay(spec, port):
    """The path in user space, from the host in the middle to the server."""
    stalls = spec.get("stalls", {})
    script = [{"from": "server" if spec["direction"] == "get" else "client",
               "at": at, "do": "freeze", "seconds": seconds}
              for at, seconds in zip(stalls["at"], stalls["seconds"])] \
        if stalls.get("what") == "path" else []
    relay = on("jump", [PYTHON, f"{HERE}/relay.py",
                        f"0.0.0.0:{port}",
                        f"{net.address(spec, 'server')}:{port}",
                        json.dumps(script), str(spec["rtt_us"] / 2e6),
                        str(spec["rate_mbit"] * 125000)],
               stdout=subprocess.DEVNULL)
    wait_until("the relay", lambda: listens("jump", port))
    return relay


# OpenSSH's two ends

def start_sshd(host, tree, spec):
    """sshd of a tree on a host. Returns once it listens."""
    config, log = f"{LAB}/sshd_config.{host}", out(
        "sshd.log" if host == "server" else f"sshd-{host}.log")
    lines = [f"HostKey {LAB}/host", f"AuthorizedKeysFile {LAB}/user.pub",
             "StrictModes no", "PermitRootLogin yes", "UsePAM no",
             "PidFile none", "LogLevel DEBUG2",
             f"Subsystem sftp {tree}/sftp-server",
             f"SetEnv PATH={tree}:/usr/bin:/bin"]
    for name in ("session", "auth"):    # programs of their own since 9.8, 10.0
        if os.path.exists(f"{tree}/sshd-{name}"):
            lines.append(f"Sshd{name.title()}Path {tree}/sshd-{name}")
    # The first line of an option counts.
    lines += [*spec.get("sshd_options", []), "MaxSessions 100"]
    with open(config, "w") as f:
        f.write("\n".join(lines) + "\n")
    sshd = on(host, [f"{tree}/sshd", "-D", "-f", config, "-E", log])
    wait_until(f"sshd on {host}", lambda: sshd.poll() is not None or
               b"Server listening on 0.0.0.0" in read(log))
    if sshd.poll() is not None:
        raise SystemExit(f"sshd did not start: {read(log).decode()}")
    return sshd


def stop_server(server, port, *children):
    """Ends a server on the host "server" and all processes with these names,
    and returns once its port is free for the next one."""
    server.terminate()
    server.wait()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if read(f"/proc/{pid}/comm").decode().strip() in children:
            os.kill(int(pid), 9)
    wait_until("the port", lambda: not listens("server", port))


def configure_client(spec):
    """Keys, and a configuration that ssh, scp and sftp read with -F."""
    keygen = os.path.join(spec["keygen"], "ssh-keygen")
    for key in ("host", "user"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f",
                        f"{LAB}/{key}"], check=True)
    if spec.get("agent"):
        start_agent(spec)
    lines = [f"Host {host}\nHostName {net.address(spec, reached(spec, host))}"
             for host in net.hosts(spec)[1:]]
    lines += ["Host *", "User root", f"IdentityFile {LAB}/user",
              "IdentitiesOnly yes", "BatchMode yes",
              "StrictHostKeyChecking accept-new", "ExitOnForwardFailure yes",
              f"UserKnownHostsFile {LAB}/known_hosts"]
    if spec.get("cipher"):
        lines.append(f"Ciphers {spec['cipher']}")
    if spec.get("via") == "proxycommand":
        lines.append("ProxyCommand socat -b 262144 - TCP:%h:%p")
    if spec.get("agent"):
        lines.append(f"IdentityAgent {LAB}/agent")
    lines += spec.get("ssh_options", [])
    with open(f"{LAB}/ssh_config", "w") as f:
        f.write("\n".join(lines) + "\n")


def start_agent(spec):
    """An agent that has the user's key, of which only the public half stays
    in a file."""
    subprocess.run([f"{spec['keygen']}/ssh-agent", "-a", f"{LAB}/agent"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([f"{spec['keygen']}/ssh-add", "-q", f"{LAB}/user"],
                   check=True, env={**os.environ,
                                    "SSH_AUTH_SOCK": f"{LAB}/agent"})
    os.unlink(f"{LAB}/user")


def log_in_before(spec):
    """Sends a packet to the server, so that ARP costs a login nothing. Logins
    to the server, all but the first of which know its key."""
    host = net.address(spec, reached(spec, net.hosts(spec)[1]))
    on("client", ["bash", "-c", f"echo > /dev/udp/{host}/9"]).wait()
    time.sleep(4 * spec["rtt_us"] / 1e6)
    for _ in range(spec["logins"]):
        assert on("client", ssh_argv(spec) + ["server", "true"],
                  stdin=subprocess.DEVNULL).wait() == 0


def ssh_argv(spec, *options):
    argv = [f"{spec['client']}/ssh", "-F", f"{LAB}/ssh_config", *options]
    if spec.get("via") == "jump":
        argv += ["-J", "jump"]
    return argv


def logged(spec, *options):
    return ssh_argv(spec, "-vv", "-E", out("ssh.log"), *options)


# What feeds and what takes the data

def source_command(spec):
    if spec.get("bare"):
        return f"head -c {spec['bytes']} /dev/zero"
    if "pause" in spec:
        at, pause_s = spec["pause"]
        return shlex.join(["sh", "-c", f"head -c {at} {SOURCE}; sleep "
                           f"{pause_s}; tail -c +{at + 1} {SOURCE}"])
    if "pace" in spec:
        at_once, wait_s = spec["pace"]
        times = -(-spec["bytes"] // at_once)
        return shlex.join(["sh", "-c", f"for i in $(seq {times}); do head -c "
                           f"{at_once}; sleep {wait_s}; done < {SOURCE}"])
    return f"cat {SOURCE}"


def sink_command(spec, i=0):
    if spec.get("bare") and "reader" not in spec:
        return "cat > /dev/null"        # nothing but ssh to use the CPU
    argv = [PYTHON, f"{HERE}/sink.py", series_path(i)]
    if "reader" in spec:
        argv.append(json.dumps(spec["reader"]))
    elif spec.get("stalls", {}).get("what") == "reader":
        argv.append(json.dumps({"stalls": list(zip(
            spec["stalls"]["at"], spec["stalls"]["seconds"]))}))
    return shlex.join(argv)


def script(name, command):
    path = f"{LAB}/{name}"
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\nexec {command}\n")
    os.chmod(path, 0o755)
    return path


def sockets(spec, ends, i=0):
    """Plain sockets, which source and sink have as their own input and
    output: ends are (host, address) of the one that listens and of the one
    that connects to it, with a tunnel between them or not."""
    sender = "server" if spec["direction"] == "get" else "client"
    processes = []
    for host, address in ends:
        program = script(f"source{i}", source_command(spec)) \
            if host == sender else script(f"sink{i}", sink_command(spec, i))
        processes.append(on(host, ["socat", address, f"EXEC:{program},nofork"]))
        if "LISTEN" in address:
            path = address.split(":")[1].split(",")[0]
            wait_until(address, lambda: os.path.exists(path) or
                       path.isdigit() and listens(host, path))
    return processes


# The tools

def raw(spec):
    """Plain TCP; by way of the host in the middle, two such connections and
    what connects them."""
    ends, between = ("server", "client"), []
    if spec.get("via") == "jump":
        between = [on("jump", ["socat", "-b", "262144", f"TCP-LISTEN:{PORT}",
                               f"TCP:{net.address(spec, 'server')}:{PORT}"])]
        wait_until("the relay", lambda: listens("jump", PORT))
    elif spec.get("via") == "relay":
        start_relay(spec, PORT)
    elif spec["direction"] == "put":
        ends = ("client", "server")
    at = "jump" if "via" in spec else ends[0]
    return between + sockets(spec, [
        (ends[0], f"TCP-LISTEN:{PORT}"),
        (ends[1], f"TCP:{net.address(spec, at)}:{PORT}")])


def session(spec, argv, i=0):
    """ssh host cat, or cat | ssh host."""
    source, sink = source_command(spec), sink_command(spec, i)
    if spec["direction"] == "get":
        client = on("client", argv + ["server", source],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        taker = subprocess.Popen(["sh", "-c", sink], stdin=client.stdout)
        return pipe(client, taker)
    feeder = subprocess.Popen(["sh", "-c", source], stdout=subprocess.PIPE)
    client = on("client", argv + ["server", sink], stdin=feeder.stdout)
    return pipe(feeder, client)


def start_master(spec):
    master = on("client", logged(spec, "-M", "-S", MASTER, "-N") + ["server"],
                stdin=subprocess.DEVNULL)
    wait_until("the master", lambda: os.path.exists(MASTER))
    time.sleep(3 * spec["rtt_us"] / 1e6)    # what it asks is answered
    with open(out("shared"), "w") as f:
        f.write(f"{time.monotonic():.6f}")
    return master


def through_master(spec, *options):
    return ssh_argv(spec, "-S", MASTER, "-o", "ControlMaster=no", *options)


def ssh(spec):
    if spec.get("second_channel"):
        return session(spec, logged(spec, "-M", "-S", MASTER))
    if "channels" not in spec:
        return session(spec, logged(spec))
    start_master(spec)
    return [process for i in range(spec["channels"])
            for process in session(spec, through_master(spec), i)]


FORWARDS = {    # option, the host where one connects, and to what; the same of
                # the listener at the other end
    "L": ("-L{front}:127.0.0.1:{back}", "client", "TCP:127.0.0.1:{front}",
          "server", "TCP-LISTEN:{back}"),
    "R": ("-R{front}:127.0.0.1:{back}", "server", "TCP:127.0.0.1:{front}",
          "client", "TCP-LISTEN:{back}"),
    "D": ("-D{front}", "client",
          "SOCKS4A:127.0.0.1:127.0.0.1:{back},socksport={front}",
          "server", "TCP-LISTEN:{back}"),
    "streamlocal": ("-L{lab}/{front}:{lab}/{back}", "client",
                    "UNIX-CONNECT:{lab}/{front}",
                    "server", "UNIX-LISTEN:{lab}/{back}"),
}


def forward(spec):
    forwards = [[word.format(front=FORWARDED + i, back=PORT + i, lab=LAB)
                 for word in FORWARDS[spec["via"]]]
                for i in range(spec.get("channels", 1))]
    on("client", logged(spec, "-N", *[f[0] for f in forwards]) + ["server"],
       stdin=subprocess.DEVNULL)
    front = forwards[-1][1]
    wait_until("the forwarding", lambda: listens(front, FORWARDED +
               len(forwards) - 1) or os.path.exists(f"{LAB}/{FORWARDED}"))
    return [process for i, (_, front, connect, back, listen)
            in enumerate(forwards)
            for process in sockets(spec, [(back, listen), (front, connect)],
                                   i)]


def copy(spec):
    """scp, scp -O, scp -3 from the server to itself, and sftp."""
    remote = "server:"
    argv = {"scp": ["scp", "-s"], "scp-O": ["scp", "-O"],
            "scp-3": ["scp", "-s", "-3"],
            "sftp": ["sftp", "-b", f"{LAB}/batch"]}[spec["tool"]]
    if "tree" in spec:
        argv.append("-rp")
    argv = [f"{spec['client']}/{argv[0]}", "-vv", "-S",
            f"{spec['client']}/ssh", "-F", f"{LAB}/ssh_config"] + argv[1:]
    if spec.get("shared"):
        start_master(spec)
        argv += ["-o", f"ControlPath={MASTER}"]
    if "streams" in spec:
        argv += ["-X", f"streams={spec['streams']}"]
    if spec["tool"] == "sftp":
        with open(f"{LAB}/batch", "w") as f:
            f.write(f"{spec['direction']} {SOURCE} {COPY}\n")
        argv.append("server")
    elif spec["tool"] == "scp-3":
        argv += [remote + SOURCE, remote + COPY]
    elif spec["direction"] == "get":
        argv += [remote + SOURCE, COPY]
    else:
        argv += [SOURCE, remote + COPY]
    with open(out("ssh.log"), "w") as log:
        return [on("client", argv, stdin=subprocess.DEVNULL, stdout=log,
                   stderr=log)]


def copier(spec):
    """A program of somebody else's, by its command line."""
    ends = [f"server:{SOURCE}", COPY] if spec["direction"] == "get" else \
        [SOURCE, f"server:{COPY}"]
    words = dict(zip(("source", "target"), ends),
                 ssh=f"{spec['client']}/ssh", config=f"{LAB}/ssh_config")
    argv = []
    for word in spec["command"]:
        for name, value in words.items():
            word = word.replace(f"{{{name}}}", value)
        argv.append(word)
    with open(out("ssh.log"), "w") as log:
        return [on("client", argv, stdin=subprocess.DEVNULL, stdout=log,
                   stderr=log)]


def start(spec):
    if spec["tool"] == "raw":
        return raw(spec)
    if spec["tool"] == "copier":
        return copier(spec)
    if spec.get("via") in FORWARDS:
        return forward(spec)
    return (ssh if spec["tool"] == "ssh" else copy)(spec)
