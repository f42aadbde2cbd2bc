"""day_inside.py DAY: one connection for many hours, in the lab (run by
test_day.py, inside lab/run). DAY is that of test_day.py, with client, server
and keygen. Leaves $LAB_OUT/result.json with a row for each hour.

An hour: connections through a forwarding at even intervals, a keystroke a
minute, and a burst over a path that is another in each hour. Idle hours have
none of these. In the hour "night" rsync copies a file and a tree. Each ends
with the same burst over the first path, and then a minute in which nothing
happens but keepalives."""

import ctypes
import json
import os
import pty
import re
import socket
import subprocess
import sys
import threading
import time

HPN_TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(HPN_TESTS, "lab", "guest")]
import net                              # noqa: E402
import steps                            # noqa: E402
import tools                            # noqa: E402
from tools import FORWARDED, LAB, PORT  # noqa: E402

CLONE_NEWNET = 0x40000000
REPLY = 2048                            # bytes of a short connection's answer
MIB = 1 << 20
QUIET_S = 60


def enter(host):
    """This thread is in that host's network from now on."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{host}") as f:
        if libc.setns(f.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {host}")


def answer():
    """The server's service: reads a line, writes REPLY bytes, closes."""
    enter("server")
    with socket.create_server(("127.0.0.1", PORT)) as listener:
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.recv(16)
                connection.sendall(bytes(REPLY))


def ask():
    """One short connection through the forwarding; whether it was answered."""
    with socket.create_connection(("127.0.0.1", FORWARDED)) as s:
        s.sendall(b"question\n")
        return len(s.recv(REPLY, socket.MSG_WAITALL)) == REPLY and \
            s.recv(1) == b""


def processes():
    """Resident memory (KiB) and descriptors of ssh and of sshd's processes,
    by name."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        name = tools.read(f"/proc/{pid}/comm").strip().decode()
        status = tools.read(f"/proc/{pid}/status").decode()
        if name not in ("ssh", "sshd-session", "sshd") or \
                not (rss := re.search(r"VmRSS:\s+(\d+)", status)):
            continue
        row = found.setdefault(name, {"count": 0, "rss_kib": 0,
                                      "descriptors": 0})
        row["count"] += 1
        row["rss_kib"] += int(rss[1])
        row["descriptors"] += len(os.listdir(f"/proc/{pid}/fd"))
    return found


class LogTail:
    """What is new in a log."""

    def __init__(self, name):
        self.path, self.at = tools.out(name), 0

    def new(self):
        with open(self.path, "rb") as f:
            f.seek(self.at)
            text = f.read().decode(errors="replace")
            self.at = f.tell()
        return text


class Day:
    def __init__(self, day):
        self.day = day
        self.path = net.Path(day)
        self.first = {n: day[n] for n in ("rate_mbit", "rtt_us")}
        tools.configure_client(day)
        tools.start_sshd("server", day["server"], day)
        threading.Thread(target=answer, daemon=True).start()
        tools.on("client", tools.logged(
            day, "-M", "-S", tools.MASTER, "-N", "-L",
            f"{FORWARDED}:127.0.0.1:{PORT}") + ["server"],
            stdin=subprocess.DEVNULL)
        tools.wait_until("the forwarding",
                         lambda: tools.listens("client", FORWARDED))
        enter("client")
        self.argv = tools.through_master(day)
        self.log = LogTail("ssh.log")
        self.source = steps.data(f"{LAB}/files/file", day["night_mib"] * MIB)
        self.tree = f"{LAB}/files/tree"
        steps.small_files(self.tree, day["night_files"])
        pid, self.terminal = pty.fork()
        if pid == 0:
            argv = tools.through_master(day, "-tt") + ["server", "cat"]
            os.execvp(argv[0], argv)
        time.sleep(10)

    def keystroke(self):
        os.write(self.terminal, b"x")
        return os.read(self.terminal, 1) == b"x"

    def burst(self, mib):
        """MB/s of a transfer of mib MiB from the server."""
        start_s = time.monotonic()
        done = subprocess.run(
            [*self.argv, "server", f"head -c {mib * MIB} {self.source}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        assert done.returncode == 0
        return mib * MIB / (time.monotonic() - start_s) / 1e6

    def night(self):
        """rsync of a file that has changed a little, and of a tree."""
        steps.change(self.source, 0.01, 1 << 14)
        for source in (self.source, f"{self.tree}/"):
            to = f"{LAB}/night/{os.path.basename(source.rstrip('/'))}"
            os.makedirs(f"{LAB}/night", exist_ok=True)
            steps.run(["rsync", "-a", "-e", " ".join(self.argv), source,
                       f"server:{to}"])
            steps.same(source, to)

    def hour(self, number):
        day, row = self.day, {"hour": number, "answered": 0, "echoed": 0}
        start_s = time.monotonic()
        idle = number in day["idle"]
        if not idle:
            self.path.change(day["paths"][number % len(day["paths"])])
        if number in day["nights"]:
            self.night()
        count = 0 if idle else day["connections"]
        for i in range(count):
            due_s = start_s + (i + 1) * (day["hour_s"] - 300) / (count + 1)
            time.sleep(max(due_s - time.monotonic(), 0))
            row["answered"] += ask()
            if i % max(count // 60, 1) == 0:
                row["echoed"] += self.keystroke()
            if i == count // 2:
                row["burst_mb_s"] = self.burst(day["burst_mib"])
        time.sleep(max(start_s + day["hour_s"] - 300 - time.monotonic(), 0))
        if not idle:
            self.path.change(self.first)
        text = self.log.new()
        row["last_mb_s"] = self.burst(day["burst_mib"])
        last = self.log.new()
        row["window"] = max(map(int, re.findall(r"chanwin .*\btarget=(\d+)",
                                                last)), default=0)
        row["rekeys"] = (text + last).count("SSH2_MSG_NEWKEYS received")
        time.sleep(max(start_s + day["hour_s"] - time.monotonic(), QUIET_S))
        row["processes"] = processes()
        row["seconds"] = time.monotonic() - start_s
        return row


def main():
    words = json.loads(sys.argv[1])
    day, rows = Day(words), []
    for number in range(words["hours"]):
        rows.append(day.hour(number))
        print(json.dumps(rows[-1]), flush=True)
    tools.leave(rows)
    os._exit(0)                         # not after threads that still wait


main()
