"""transfer.py SPEC: one transfer in the lab (run by lab.py, inside lab/run).

SPEC is a JSON object; see lab.py for its fields. Leaves in $LAB_OUT: series
(what had arrived when), ssh.log and sshd.log, samples (memory, and the
sender's socket if asked for) and result.json.
"""

import json
import os
import resource
import subprocess
import sys
import threading
import time

import net

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.environ["LAB_OUT"]
LAB = "/run/lab"
SOURCE, COPY = f"{LAB}/source", f"{LAB}/copy"
PORT = 5000
SAMPLE_S = 0.020
PYTHON = sys.executable


def on(host, argv, **kwargs):
    return subprocess.Popen(["ip", "netns", "exec", host] + argv, **kwargs)


def out(name):
    return os.path.join(OUT, name)


def keys(tree):
    for key in ("host", "user"):
        subprocess.run([f"{tree}/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                        f"{LAB}/{key}"], check=True)


def start_sshd(tree):
    """sshd of a built tree, on the server. Returns once it listens."""
    with open(f"{LAB}/sshd_config", "w") as f:
        f.write(f"""HostKey {LAB}/host
AuthorizedKeysFile {LAB}/user.pub
StrictModes no
PermitRootLogin yes
UsePAM no
PidFile none
SshdSessionPath {tree}/sshd-session
SshdAuthPath {tree}/sshd-auth
Subsystem sftp {tree}/sftp-server
LogLevel DEBUG2
""")
    sshd = on("server", [f"{tree}/sshd", "-D", "-f", f"{LAB}/sshd_config",
                         "-E", out("sshd.log")])
    while b"Server listening on 0.0.0.0" not in read(out("sshd.log")):
        if sshd.poll() is not None:
            raise SystemExit(f"sshd did not start: {read(out('sshd.log'))}")
        time.sleep(0.010)
    return sshd


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return b""


def ssh_options(spec):
    options = ["-F", "none", "-i", f"{LAB}/user", "-o", "BatchMode=yes",
               "-o", "StrictHostKeyChecking=no",
               "-o", f"UserKnownHostsFile={LAB}/known_hosts"]
    if spec.get("cipher"):
        options += ["-c", spec["cipher"]]
    return options


def raw(spec):
    sender, receiver = (("server", "client") if spec["direction"] == "get"
                        else ("client", "server"))
    source = on(sender, [PYTHON, f"{HERE}/rawtcp.py", "send", str(PORT),
                         str(spec["bytes"])])
    while f":{PORT} " not in subprocess.run(
            ["ip", "netns", "exec", sender, "ss", "-Htln"],
            capture_output=True, text=True).stdout:
        time.sleep(0.010)
    sink = on(receiver, [PYTHON, f"{HERE}/rawtcp.py", "recv",
                         net.HOSTS[sender], str(PORT), "--", PYTHON,
                         f"{HERE}/sink.py", out("series")])
    return [source, sink]


def sink_command(spec, series):
    """What takes the data at the receiving end."""
    if spec.get("bare"):                # nothing but ssh to use the CPU
        return "cat > /dev/null"
    stop = f"stop_after={spec['stop_after']} " if "stop_after" in spec else ""
    digest = f" {LAB}/digest" if spec.get("file") else ""
    return f"{stop}{PYTHON} {HERE}/sink.py {series}{digest}"


def ssh(spec):
    argv = [f"{spec['client']}/ssh", "-vv", "-E", out("ssh.log")]
    argv += ssh_options(spec) + [f"root@{net.HOSTS['server']}"]
    if "stop_after" in spec:
        argv[1:1] = ["-M", "-S", f"{LAB}/master"]
    source = (f"cat {SOURCE}" if spec.get("file")
              else f"head -c {spec['bytes']} /dev/zero")
    sink = sink_command(spec, out("series"))
    if spec["direction"] == "get":
        client = on("client", argv + [source], stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE)
        return [client, subprocess.Popen(["sh", "-c", sink],
                                         stdin=client.stdout)]
    feeder = subprocess.Popen(["sh", "-c", source],
                              stdout=subprocess.PIPE)
    return [feeder, on("client", argv + [sink], stdin=feeder.stdout)]


def scp(spec):
    remote = f"root@{net.HOSTS['server']}:"
    ends = ([remote + SOURCE, COPY] if spec["direction"] == "get"
            else [SOURCE, remote + COPY])
    log = open(out("ssh.log"), "w")
    return [on("client", [f"{spec['client']}/scp", "-vv", "-S",
                          f"{spec['client']}/ssh"] + ssh_options(spec) + ends,
               stdin=subprocess.DEVNULL, stdout=log, stderr=log)]


TOOLS = {"raw": raw, "ssh": ssh, "scp": scp}


def memory(names):
    """Peak resident memory (bytes) of the processes of each name, and what
    is resident now."""
    found = {name: [0, 0] for name in names}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        status = read(f"/proc/{pid}/status").decode(errors="replace")
        fields = dict(line.split(":\t", 1) for line in status.splitlines()
                      if ":\t" in line)
        name = fields.get("Name")
        if name in found and "VmHWM" in fields:
            for i, field in enumerate(("VmHWM", "VmRSS")):
                value = int(fields[field].split()[0]) * 1024
                found[name][i] = max(found[name][i], value)
    return found


def sender_socket(spec):
    """Bytes that the sending end of the connection has written to its
    socket: acknowledged ones plus those in the send queue."""
    host = "server" if spec["direction"] == "get" else "client"
    text = subprocess.run(["ip", "netns", "exec", host, "ss", "-Htin",
                           "( sport = :22 or dport = :22 )"],
                          capture_output=True, text=True).stdout
    written = 0
    for word in text.split():
        if word.startswith("bytes_acked:"):
            written = int(word.split(":")[1])
    queue = text.split()
    return written + int(queue[2]) if len(queue) > 2 else 0


class Sampler(threading.Thread):
    """Writes a JSON line of samples every SAMPLE_S of the lab's time. With
    scp it is also who sees the file grow: its series."""

    def __init__(self, spec):
        super().__init__(daemon=True)
        self.spec = spec
        self.end = threading.Event()
        self.peak = {"ssh": 0, "sshd-session": 0}

    def sample(self, n):
        row = {"t_s": time.monotonic()}
        if n % 5 == 0:
            found = memory(self.peak)
            for name, (peak, now) in found.items():
                self.peak[name] = max(self.peak[name], peak)
                row[name] = now
        if self.spec.get("unspent"):
            row["written"] = sender_socket(self.spec)
        return row

    def run(self):
        n = 0
        series = (open(out("series"), "w", buffering=1)
                  if self.spec["tool"] == "scp" else None)
        with open(out("samples"), "w", buffering=1) as f:
            while not self.end.wait(SAMPLE_S):
                f.write(json.dumps(self.sample(n)) + "\n")
                n += 1
                if series and os.path.exists(COPY):
                    series.write(f"{time.monotonic():.6f} "
                                 f"{os.path.getsize(COPY)}\n")
        if series:
            series.write(f"{time.monotonic():.6f} {os.path.getsize(COPY)}\n")


def stopped_reader(spec):
    """The reader has stopped for good. Waits until what is in flight has
    arrived, then uses a second channel of the same connection."""
    while b"\n" not in read(out("series")) or \
            int(read(out("series")).split()[-1]) < spec["stop_after"]:
        time.sleep(0.050)
    time.sleep(30 * spec["rtt_us"] / 1e6)
    second = subprocess.run(
        ["ip", "netns", "exec", "client", f"{spec['client']}/ssh", "-S",
         f"{LAB}/master", "-F", "none", "-o", "ControlMaster=no",
         f"root@{net.HOSTS['server']}", "echo second channel"],
        capture_output=True, text=True, timeout=60)
    return second.stdout.strip()


def running(name):
    return any(read(f"/proc/{pid}/comm").decode().strip() == name
               for pid in filter(str.isdigit, os.listdir("/proc")))


def record_cpu(sshd):
    """Leaves the CPU time (us) of ssh and sshd in lab.cpu, as the UML process
    does from outside of a guest, where no time passes for programs."""
    while running("sshd-session"):
        time.sleep(0.010)
    sshd.terminate()                    # it has reaped its sessions
    sshd.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out("lab.cpu"), "w") as f:
        f.write(f"{used.ru_utime * 1e6:.0f} {used.ru_stime * 1e6:.0f}\n")


def digest_of(spec):
    """SHA-256 of what arrived, when a file was sent."""
    if spec["tool"] == "scp":
        return subprocess.run(["sha256sum", COPY], capture_output=True,
                              text=True).stdout.split()[0]
    return read(f"{LAB}/digest").decode()


def main():
    spec = json.loads(sys.argv[1])
    net.set_up(spec)
    if spec["tool"] != "raw":
        keys(spec["client"])
        sshd = start_sshd(spec["server"])
    if spec.get("file"):
        subprocess.run(["cp", out("source"), SOURCE], check=True)
    sampler = None if spec.get("bare") else Sampler(spec)
    if sampler:
        sampler.start()
    result = {}
    processes = TOOLS[spec["tool"]](spec)
    if "stop_after" in spec:
        result["second_channel"] = stopped_reader(spec)
    else:
        result["exits"] = [p.wait() for p in processes]
    if sampler:
        sampler.end.set()
        sampler.join()
        result["peak_memory"] = sampler.peak
    if spec.get("bare") and os.environ["LAB_BACKEND"] == "host":
        record_cpu(sshd)
    if spec.get("file"):
        result["sha256"] = digest_of(spec)
    with open(out("result.json"), "w") as f:
        json.dump(result, f)
    if "stop_after" in spec:
        for p in processes:
            p.kill()


main()
