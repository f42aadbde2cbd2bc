"""What the windows say of themselves: logs, the escape ~#, the USDT probe."""

import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
from signal import SIGKILL, SIGTERM

import pytest

from loopback import FRONT, HOST, OURS, PORT, STOCK, Relay, read, wait_until

MIB = 1024 * 1024
SOME = 3 * MIB
NEAR, FAR = 5000, 5001          # ends of a forwarding
DELAYS_S = (0.1, 0.4, 1.6)              # of the relay, each way
CLOSING = (r"channel \d+: peak window (\d+), least rtt \d+\.\d ms, "
           r"received (\d+) bytes, \d+\.\d MB/s$")
CHANWIN = re.compile(
    r"channel \d+: chanwin t_us=\d+ target=\d+ window=\d+ backlog=\d+ "
    r"granted=\d+ consumed=\d+ bdp=(\d+) rtt_us=\d+ adjust=(\d+) "
    r"limited=(\w+)$", re.M)
# Every reason, and what it takes in a round trip (bytes) to see it
REASONS = {"base": 0, "path": MIB, "peer": 4 * MIB, "reader": 0,
           "budget": 2 * MIB}


SENT = (r"channel \d+: sent (\d+) bytes, held up by the peer's window (\d+) % "
        r"of the time, by the connection (\d+) %, without data (\d+) %$")


def closing(log):
    return re.findall(CLOSING, log.replace("\r", ""), re.M)


def fetch(place, *options, n=SOME, port=PORT):
    """What ssh says while it receives n bytes."""
    done = place.run(place.ssh(*options, HOST, f"head -c {n} /dev/zero",
                               port=port, level="INFO"))
    assert done.returncode == 0 and len(done.stdout) == n, done.stderr
    return done.stderr


def test_client_logs_what_it_received(place):
    place.sshd()
    assert [n for _, n in closing(fetch(place, "-v"))] == [str(SOME)]
    assert closing(fetch(place)) == []


def test_server_logs_what_it_received(place):
    sshd = place.sshd()
    send(place, place.path("copy")).communicate(timeout=300)
    lines = wait_until("the line", lambda: closing(read(sshd.log)))
    assert [n for _, n in lines] == [str(SOME)]


def send(place, path):
    """An ssh that has sent SOME, and goes on until its input ends."""
    ssh = place.start(place.ssh(HOST, f"cat > {path}"), stdin=subprocess.PIPE)
    ssh.stdin.write(bytes(SOME))
    ssh.stdin.flush()
    wait_until("the data", lambda: len(read(path)) == SOME)
    return ssh


@pytest.mark.parametrize("signal", [SIGKILL, SIGTERM])
@pytest.mark.parametrize("level, lines", [("VERBOSE", 1), ("INFO", 0)])
def test_server_logs_it_when_the_client_is_gone(place, level, lines, signal):
    """Killed, or with a word of good-bye: it never closed the channel."""
    sshd = place.sshd(OURS, f"LogLevel {level}")
    ssh = send(place, place.path("copy"))
    assert closing(read(sshd.log)) == []
    ssh.send_signal(signal)
    ssh.wait()
    wait_until("its end", lambda: not place.processes("sshd-session"))
    assert [n for _, n in closing(read(sshd.log))] == [str(SOME)] * lines


def sender(place, command, source):
    """What held up an ssh -v that sent: window, connection, data (%)."""
    done = place.run(["sh", "-c", f"({source}) | " + shlex.join(
        place.ssh("-v", HOST, command, level="INFO"))])
    assert done.returncode == 0, done.stderr
    (count, *percents), = re.findall(SENT, done.stderr.replace("\r", ""), re.M)
    assert int(count) == 20 * MIB
    assert 98 <= sum(map(int, percents)) <= 102
    return dict(zip(("window", "path", "no data"), map(int, percents)))


ALL_AT_ONCE = f"head -c {20 * MIB} /dev/zero"
WAITS_S = (3, 12, 48)


# Each piece is gone before the next one comes: the window ends between two.
IN_PIECES = "exec " + shlex.join([sys.executable, "-c", f"""\
import sys, time
for size in [{MIB // 16}] * 48 + [{17 * MIB}]:
    sys.stdout.buffer.write(bytes(size))
    sys.stdout.flush()
    time.sleep(0.01)
"""])


@pytest.mark.parametrize("tree, reason, command, source", [
    (OURS, "window", "sleep {}; cat >/dev/null", ALL_AT_ONCE),
    (STOCK, "window", "sleep {}; cat >/dev/null", ALL_AT_ONCE),
    (OURS, "window", "sleep 2; sleep {}; cat >/dev/null", IN_PIECES),
    (OURS, "no data", "cat >/dev/null", f"head -c {10 * MIB} /dev/zero; "
     f"sleep {{}}; head -c {10 * MIB} /dev/zero")],
    ids=["ours", "stock", "in pieces", "no data"])
def test_log_says_what_the_sender_waited_for(place, tree, reason, command,
                                             source):
    """The command or its source waits {} seconds for the reason: one of waits
    that get longer is more than this machine takes for all the rest."""
    place.sshd(tree)
    for wait_s in map(str, WAITS_S):
        held_up = sender(place, command.replace("{}", wait_s),
                         source.replace("{}", wait_s))
        if held_up[reason] > 50:
            break
    assert held_up.pop(reason) > 50 and max(held_up.values()) < 50


def test_server_logs_what_it_sent(place):
    sshd = place.sshd()
    fetch(place)
    count, _, _, _ = wait_until(
        "the line", lambda: re.findall(SENT, read(sshd.log), re.M))[0]
    assert int(count) == SOME


LIMITED = (r"TCP was sending for \d+\.\d s, limited by the receiver's buffer "
           r"for (\d+) % of it, by the send buffer for (\d+) %(.*)$")


@pytest.mark.parametrize("sizes, remedy", [
    ("4096 4096 4096",
     ": raise net.ipv4.tcp_rmem on 127.0.0.1 (package openssh-bdp-tuning)"),
    ("4096 131072 6291456", "")])
def test_log_names_the_buffer_that_limited_tcp(place, sizes, remedy):
    """Once, at -v, at the end of a connection."""
    place.as_root(f"echo {sizes} > /proc/sys/net/ipv4/tcp_rmem")
    place.sshd()
    for level, lines in (("-v", 1), ("-q", 0)):
        done = place.run(["sh", "-c", f"{ALL_AT_ONCE} | " + shlex.join(
            place.ssh(level, HOST, "cat >/dev/null", level="INFO"))])
        assert done.returncode == 0, done.stderr
        found = re.findall(LIMITED, done.stderr.replace("\r", ""), re.M)
        assert len(found) == lines, done.stderr
        for *limited, said in found:
            assert said == remedy if remedy or max(map(int, limited)) < 10 \
                else said.startswith(": raise net.ipv4.tcp_"), found


def reasons(log):
    """Those that the lines give, and the most that came in a round trip
    (bytes). Each adjust has its line."""
    log = log.replace("\r", "")
    lines = CHANWIN.findall(log)
    assert [adjust for _, adjust, _ in lines] == \
        re.findall(r"channel \d+: window \d+ sent adjust (\d+)$", log, re.M)
    found = {reason for _, _, reason in lines}
    assert lines and found <= set(REASONS)
    return found, max(int(bdp) for bdp, _, _ in lines)


def reasons_until(place, wanted, transfer):
    """Those that transfer(port) gives over a path that is long enough for the
    reason that is wanted: what comes in a round trip of it is as much as that
    takes, however slow this machine is."""
    for delay_s in DELAYS_S:
        relay = Relay(place, delay_s=delay_s)
        found, most = reasons(transfer(FRONT))
        relay.said()
        if wanted in found or most >= REASONS[wanted]:
            break
    assert wanted in found, f"{most} bytes in a round trip"
    return found


@pytest.mark.parametrize("reason, tree, options", [
    ("peer", STOCK, []), ("budget", OURS, ["-o", "ChannelWindowMax=3M"])],
    ids=["peer", "budget"])
def test_log_names_what_limited_the_window(place, reason, tree, options):
    place.sshd(tree)
    found = reasons_until(place, reason, lambda port: fetch(
        place, "-vv", *options, n=48 * MIB, port=port))
    assert ("peer" in found) <= (tree == STOCK)


# A source of 10 MB/s: soon nothing grows. A reader of 6 MB/s.
@pytest.mark.parametrize("reason, script, at_once, wait_s", [
    ("path", "for i in $(seq 80); do head -c 500000 /dev/zero; sleep 0.05; "
     "done", MIB, 0),
    ("reader", f"head -c {32 * MIB} /dev/zero", MIB // 16, 0.01)],
    ids=["path", "reader"])
def test_slow_end_limits_the_window(place, reason, script, at_once, wait_s):
    place.sshd()

    def transfer(port):
        log = place.path("ssh.log")
        pathlib.Path(log).unlink(missing_ok=True)
        ssh = place.start(place.ssh("-E", log, HOST, script, port=port,
                                    level="DEBUG2"),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        while ssh.stdout.read1(at_once):
            time.sleep(wait_s)
        assert ssh.wait(300) == 0
        return read(log)

    reasons_until(place, reason, transfer)


def test_escape_lists_windows_of_forwardings(place):
    """~# has a line more under a forwarding, and none under a terminal."""
    place.sshd()
    ssh = place.start(
        place.ssh("-tt", f"-L{NEAR}:127.0.0.1:{FAR}", HOST, "cat"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=open(place.path("err"), "w"))
    back = place.inside(lambda: socket.create_server(("127.0.0.1", FAR)))
    place.wait_for_port(NEAR)
    front = place.inside(lambda: socket.create_connection(("127.0.0.1", NEAR)))
    source = back.accept()[0]
    thread = threading.Thread(target=source.sendall, args=(bytes(SOME),))
    thread.start()
    front.settimeout(300)
    left = SOME
    while left > 0:
        left -= len(front.recv(MIB) or pytest.fail("cut short"))
    thread.join()
    ssh.stdin.write(b"\r~#")
    ssh.stdin.flush()
    wait_until("the list", lambda: "direct-tcpip" in read(place.path("err")))
    said = read(place.path("err")).replace("\r", "").splitlines()
    at = {kind: next(i for i, line in enumerate(said) if kind in line)
          for kind in ("client-session", "direct-tcpip")}
    line = re.compile(r" +window (\d+), rtt \d+\.\d ms, mean \d+\.\d MB/s, "
                      r"limited by (\w+)$")
    match = line.match(said[at["direct-tcpip"] + 1])
    assert match, said
    assert int(match.group(1)) >= 2 * MIB and match.group(2) in REASONS
    assert len([x for x in said if line.match(x)]) == 1, said
    for s in (front, source, back):
        s.close()
    ssh.kill()
    ssh.wait()


def probes(path):
    """The arguments of each probe of the window, in a program or object."""
    notes = subprocess.run(["readelf", "-n", path], text=True,
                           capture_output=True, check=True).stdout
    return re.findall(r"Provider: openssh\s+Name: window\s+Location: .*\s+"
                      r"Arguments: (.*)", notes)


@pytest.mark.parametrize("program", ["ssh", "sshd-session"])
def test_usdt_probe_is_there_if_configured(program):
    """Whatever headers this machine has."""
    path = os.path.join(OURS, program)
    if "-DWITH_USDT" not in read(f"{OURS}/Makefile"):
        assert probes(path) == []
        return
    assert len(probes(path)) == 1
    assert len(re.findall(r"-?\d+@", probes(path)[0])) == 8
