"""sshtrace: its verdict in unit tests, and in transfers that have one known
limit each; its options; its page."""

import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import termios

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.append(os.path.join(TOP, "hpn-tests", "harness"))
import lab                              # noqa: E402
from loopback import (OURS, PORT, STOCK, going_first,    # noqa: E402, F401
                      preload, read, root_place, wait_until)
from spec import transfer               # noqa: E402

BUILT = os.path.join(TOP, "build", "sshtrace")
SSHTRACE = os.path.join(BUILT, "sshtrace")
MB = 10**6
SMALL = f"4096 16384 {1 << 20}"         # bytes, a TCP buffer of 1 MiB at most


@pytest.fixture(scope="module", autouse=True)
def built():
    done = subprocess.run(["bench/sshtrace/build", BUILT], cwd=TOP,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_verdict_unit_tests_pass():
    done = subprocess.run([os.path.join(BUILT, "verdict_test")],
                          capture_output=True, text=True)
    assert done.stdout == "tests ok\n"


# Transfers with a known limit each: what it is, seen from the sending end, and
# from the receiving one. The sender's buffer does not show at the other end,
# nor does a slow source.

# What sshtrace says to do, at the sending end and at the receiving one. The
# name typed is that of the ssh at the client; sshd knows an address.
PACKAGE = ", or install openssh-bdp-tuning there"
REMEDIES = {
    "receiver-buffer": (
        r"raise net\.ipv4\.tcp_rmem on [\d.]+" + PACKAGE,
        "raise net.ipv4.tcp_rmem on this machine" + PACKAGE),
    "sender-buffer": (
        "raise net.ipv4.tcp_wmem on this machine" + PACKAGE, None),
    "receiver-buffer-put": (
        "raise net.ipv4.tcp_rmem on server" + PACKAGE,
        "raise net.ipv4.tcp_rmem on this machine" + PACKAGE),
}

LIMITS = {
    "stock-window-get": (
        transfer("1g-200ms", "get", 100 * MB, client="stock"),
        "ssh-window", "ssh-window"),
    "stock-window-put": (
        transfer("1g-200ms", "put", 100 * MB, server="stock"),
        "ssh-window", "ssh-window"),
    "receiver-buffer": (
        transfer("1g-200ms", "get", 30 * MB,
                 sysctls={"client": {"tcp_rmem": SMALL}}),
        "receiver-buffer", "receiver-buffer"),
    "receiver-buffer-put": (
        transfer("1g-200ms", "put", 30 * MB,
                 sysctls={"server": {"tcp_rmem": SMALL}}),
        "receiver-buffer", "receiver-buffer"),
    "sender-buffer": (
        transfer("1g-200ms", "get", 30 * MB,
                 sysctls={"server": {"tcp_wmem": SMALL}}),
        "sender-buffer", "far-end"),
    "loss": (
        transfer("100m-100ms", "get", 40 * MB, loss="0.1%"),
        "congestion", None),
    "path": (
        transfer("100m-100ms", "get", 150 * MB),
        "congestion", None),
    "slow-reader": (
        transfer("100m-20ms", "get", 15 * MB, reader={"rate": MB}),
        "reader", "reader"),
    "slow-source": (
        transfer("100m-20ms", "get", 15 * MB, pace=[MB // 10, 0.1]),
        "source", "far-end"),
}


@pytest.fixture(scope="module")
def transfers(request):
    """Those that the selected tests want, under way."""
    names = [item.callspec.params["limited"] for item in request.session.items
             if item.path == request.path and
             "limited" in getattr(item, "fixturenames", ())]
    specs = {name: LIMITS[name][0] for name in names
             if not lab.missing_tree(LIMITS[name][0])}
    pool = lab.Pool()
    yield {name: pool.start(spec.but(trace=True), f"sshtrace-{name}")
           for name, spec in specs.items()}
    pool.executor.shutdown(cancel_futures=True)


def shares(rows):
    """Percent of the time that each limit has."""
    time_us = collections.Counter()
    for row in rows:
        time_us[row["limit"]] += row["interval_us"]
    return {limit: us * 100 // sum(time_us.values())
            for limit, us in time_us.most_common()}


# What "make check" has of them; the rest is "make check-sshtrace"
QUICK = ("loss", "slow-reader")


@pytest.mark.parametrize("limited", [
    name if name in QUICK else
    pytest.param(name, marks=pytest.mark.level("netem")) for name in LIMITS])
def test_names_the_limit(transfers, limited):
    spec, *wanted = LIMITS[limited]
    missing = lab.missing_tree(spec)
    if missing:
        pytest.skip(f"no build/{missing}: see \"make {missing}\"")
    done = transfers[limited].result()
    assert done.result["traces"] == [0, 0]
    ends = ("server", "client") if spec.direction == "get" \
        else ("client", "server")
    for end, direction, limit in zip(ends, ("send", "receive"), wanted):
        rows = done.traced(end)
        assert len(rows) >= 5
        assert {row["direction"] for row in rows} == {direction}
        if spec.loss and direction == "send":
            assert sum(row["retransmits"] for row in rows) > 0
        assert limit is None or shares(rows).get(limit, 0) >= 75, \
            f"{end}: {shares(rows)}"
    for end, wanted in zip(ends, REMEDIES.get(limited, (None, None))):
        said = {row.get("remedy") for row in done.traced(end)
                if row["limit"].endswith("-buffer")} - {None}
        assert [re.fullmatch(wanted or "", text) is not None
                for text in said] == [True] * bool(wanted), said
        assert not any("remedy" in row for row in done.traced(end)
                       if not row["limit"].endswith("-buffer"))


# On loopback, in real time

class Trace:
    """sshtrace beside what follows."""

    def __init__(self, place, name, *options):
        self.out, self.err = place.path(name), place.path(name + ".err")
        with open(self.out, "w") as out, open(self.err, "w") as err:
            self.process = place.start([SSHTRACE, "--json", *options],
                                       stdout=out, stderr=err)

    def seen(self):
        """Rows so far."""
        return [json.loads(line) for line in
                read(self.out).splitlines(keepends=True) if line[-1] == "\n"]

    def rows(self, enough=bool):
        """Ends it when those that it has are enough."""
        wait_until("its rows", lambda: self.process.poll() is not None or
                   enough(self.seen()))
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=300) == 0, read(self.err)
        return self.seen()


def whole_seconds(rows, direction):
    return [row for row in rows if row["direction"] == direction and
            row["interval_us"] > 500000]


def six_seconds(rows):
    """Of each end, of which the first has what was before."""
    return all(len(whole_seconds(rows, direction)) >= 6
               for direction in ("send", "receive"))


def fetch(place, source, sink="", host="127.0.0.1", prefix=()):
    """A transfer from a shell's command, to another if there is one, both
    endless, that is under way. The prefix starts ssh."""
    mark = place.path("logged-in")
    ssh = place.ssh(f"root@{host}", f"touch {mark}; {source}")
    place.start(["sh", "-c", f'"$@" {sink} > /dev/null', "sh", *prefix, *ssh],
                stdin=subprocess.DEVNULL)
    wait_until("the login", lambda: os.path.exists(mark))


# A write() that costs 50 ns of CPU for each byte: 20 MB/s at most. The other
# end needs little CPU for that.
BUSY_WRITE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

static long long
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

ssize_t
write(int fd, const void *data, size_t len)
{
	ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
	ssize_t done = real(fd, data, len);
	long long end = cpu_ns() + done * 50;

	while (done > 0 && cpu_ns() < end)
		;
	return done;
}
"""


@pytest.fixture
def loop():
    """A busy process, in its own session: Linux may divide a CPU among
    sessions. Yields the CPU that it runs on."""
    cpu = min(os.sched_getaffinity(0))
    process = subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c",
                                "while :; do :; done"], start_new_session=True)
    yield cpu
    process.kill()
    process.wait()


@pytest.mark.parametrize("end, program", [
    ("send", "sshd-session"), ("receive", "ssh")], ids=["send", "receive"])
def test_lack_of_cpu_is_named(place, loop, end, program):
    """One end runs, or waits for the loop, all the time."""
    busy = ["env", f"LD_PRELOAD={preload(place.folder, BUSY_WRITE)}"]
    place.sshd(prefix=busy if end == "send" else ())
    fetch(place, "cat /dev/zero", prefix=busy if end == "receive" else ())
    for pid in place.processes(program):
        with contextlib.suppress(ProcessLookupError):   # of the login
            os.sched_setaffinity(pid, {loop})
    rows = Trace(place, "rows", "--port", str(PORT)).rows(six_seconds)
    seen = shares(whole_seconds(rows, end)[1:])
    assert seen.get("cpu", 0) >= 75, seen


def test_bpf_and_probe(place):
    """The window is that of our ssh, which has the probe."""
    place.sshd()
    fetch(place, "cat /dev/zero")
    trace = Trace(place, "rows", "--port", str(PORT))

    def windows(rows):
        return {row["channel_window_bytes"] for row in rows
                if row["direction"] == "receive"} - {0}

    rows = trace.rows(lambda rows: windows(rows) or
                      "no BPF" in read(trace.err))
    if "no BPF" in read(trace.err):
        pytest.skip(f"no BPF: {read(trace.err).strip()}")
    assert {row["seen_by"] for row in rows} == {"bpf"}
    assert min(windows(rows)) >= 2 << 20


def test_probe_in_a_container(place):
    """With pids that are not the kernel's."""
    place.sshd()
    done = place.run(["unshare", "-p", "--fork", "--mount-proc", SSHTRACE,
                      "--json", "--", "sh", "-c", '"$@" > /dev/null', "sh",
                      *place.ssh("root@127.0.0.1", "timeout 9 cat /dev/zero")])
    if "no BPF" in done.stderr:
        pytest.skip(f"no BPF: {done.stderr.strip()}")
    windows = {json.loads(line).get("channel_window_bytes", 0)
               for line in done.stdout.splitlines()} - {0}
    assert windows and min(windows) >= 2 << 20, done


SLOWLY = "while :; do head -c 500000; sleep 0.1; done"


@pytest.mark.parametrize("limit, source, sink", [
    ("source", SLOWLY + " < /dev/zero", ""),
    ("reader", "cat /dev/zero", f"| ({SLOWLY})")],
    ids=["source", "reader"])
@pytest.mark.parametrize("options", [[], ["--ss"]], ids=["bpf", "ss"])
def test_slow_application(place, limit, source, sink, options):
    """What BPF counts and what the looks tell agree; so do both ends, if the
    receiving one has the reader."""
    with going_first():                 # it is not for want of a CPU
        place.sshd()
        fetch(place, source, sink)
    trace = Trace(place, "rows", "--port", str(PORT), *options)
    rows = trace.rows(six_seconds)
    if not options and "no BPF" in read(trace.err):
        pytest.skip(f"no BPF: {read(trace.err).strip()}")
    for direction, wanted in (("send", limit), ("receive", {
            "reader": "reader", "source": "far-end"}[limit])):
        seen = shares(whole_seconds(rows, direction)[1:])
        assert seen.get(wanted, 0) >= 75, (direction, seen)


LONG = "2001:db8:1111:2222:3333:4444:5555:6666"
TERMINALS = (       # columns and lines; what there is room for, and not
    (80, 24, ["CHAN", "2001:db8:1", "recv"], ["RETR", "PID", "6666]"]),
    (132, 24, ["CPU%", "RETR", "PID", f"[{LONG}]:{PORT}"], []),
    (40, 24, ["PEER", "LIMITED"], ["RTTms"]),
    (80, 4, ["3 more"], ["2001:db8:1"]))


class Terminal:
    """One that has sshtrace's live table."""

    def __init__(self, place, columns, lines):
        self.fd, other = os.openpty()
        termios.tcsetwinsize(other, (lines, columns))
        self.process = place.start([SSHTRACE, "--ss", "--port", str(PORT)],
                                   stdout=other, stderr=other)
        os.close(other)

    def table(self):
        """The second one, and ends it."""
        said = ""
        while said.count("PEER") < 3 and self.process.poll() is None:
            said += os.read(self.fd, 65536).decode()
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=300) == 0, said
        os.close(self.fd)
        return said.split("\x1b[H\x1b[J")[2].splitlines()


def test_live_table(place):
    """It keeps to the terminal."""
    # sshd cannot bind it before the kernel's check for duplicates has ended
    place.run(["ip", "addr", "add", f"{LONG}/128", "dev", "lo", "nodad"])
    place.sshd(OURS, "ListenAddress 127.0.0.1", f"ListenAddress {LONG}")
    for host, source in (("127.0.0.1", "cat /dev/zero"),
                         (LONG, "while head -c 99999 /dev/zero; do "
                                "sleep 0.1; done")):
        fetch(place, source, host=host)
        os.unlink(place.path("logged-in"))
    shown = [Terminal(place, columns, lines)
             for columns, lines, *_ in TERMINALS]
    for terminal, (columns, lines, there, gone) in zip(shown, TERMINALS):
        table = terminal.table()
        assert max(map(len, table)) <= columns and len(table) < lines, table
        assert [w for w in there if w not in "\n".join(table)] == [], table
        assert [w for w in gone if w in "\n".join(table)] == [], table


def test_limit_of_the_path_is_named(place):
    """BPF, where the path carries less than the ends could."""
    done = place.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf",
                      "rate", "80mbit", "burst", "128kb", "latency", "50ms"])
    if done.returncode != 0:
        pytest.skip(f"no tbf: {done.stderr.strip()}")
    with going_first():
        place.sshd()
        fetch(place, "cat /dev/zero")
    trace = Trace(place, "rows", "--port", str(PORT))
    rows = trace.rows(six_seconds)
    if "no BPF" in read(trace.err):
        pytest.skip(f"no BPF: {read(trace.err).strip()}")
    seen = shares(whole_seconds(rows, "send")[1:])
    assert seen.get("congestion", 0) >= 75, seen


def test_ss_and_pid(place):
    """Of two connections the one whose client was named; no BPF is wanted."""
    sshd = place.sshd(STOCK)
    clients = [place.start(place.ssh("root@127.0.0.1", "cat", tree=STOCK),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for _ in range(2)]
    for client in clients:
        client.stdin.write(b"x")
        client.stdin.flush()
        client.stdout.read(1)
    one = Trace(place, "one", "--ss", "--pid", str(clients[1].pid))
    served = Trace(place, "served", "--ss", "--pid", str(sshd.pid))
    rows = one.rows()
    assert {row["pid"] for row in rows} == {clients[1].pid}
    assert {row["remote"] for row in rows} == {f"127.0.0.1:{PORT}"}
    assert read(one.err) == ""
    assert (rows[0]["seen_by"], rows[0]["limit"]) == ("tcp_info", "idle")
    assert rows[0]["channel_window_bytes"] == 2 << 20
    assert {row["local"] for row in served.rows(
        lambda rows: len(rows) >= 2)} == {f"127.0.0.1:{PORT}"}


def test_command_keeps_status_and_output(place):
    """Its exit status, its output, and where the time went."""
    place.sshd()
    done = place.run([SSHTRACE, "--ss", "--", *place.ssh(
        "root@127.0.0.1", f"head -c {50 * MB} /dev/zero | wc -c; sleep 9; "
        "exit 3")])
    assert done.returncode == 3
    assert done.stdout == f"{50 * MB}\n"
    lines = done.stderr.splitlines()
    assert "MB in" in lines[0] and lines[0].endswith("Limited by:")
    assert any(line.endswith("%  idle") for line in lines[1:]), done.stderr


@pytest.mark.parametrize("command, status", [
    (["true"], 0), (["sh", "-c", "exit 42"], 42),
    (["sh", "-c", "kill -9 $$"], 137), (["/no/such"], 127), (["/"], 126)])
def test_exit_status(command, status):
    done = subprocess.run([SSHTRACE, "--ss", "--json", "--", *command],
                          capture_output=True, text=True)
    assert done.returncode == status
    assert "had no TCP connection of its own" in done.stderr
    summary = json.loads(done.stdout)
    assert summary["summary"] is True and summary["connections"] == 0


def test_command_is_told_of_signals(tmp_path):
    ready = tmp_path / "ready"
    process = subprocess.Popen(
        [SSHTRACE, "--ss", "--", "sh", "-c",
         f"trap 'exit 5' TERM; touch {ready}; while :; do sleep 0.1; done"])
    wait_until("the command", ready.exists)
    process.terminate()
    assert process.wait(timeout=300) == 5


@pytest.mark.parametrize("options, said", [
    (["--port", "0"], "a port is to be a number from 1 to 65535"),
    (["--port", "22x"], 'not "22x"'), (["--pid", "-1"], "a pid is to be"),
    (["--pid", "2147483647"], "there is no process 2147483647"),
    (["--pid", "1", "--", "true"], "exclude each other"),
    (["scp", "a", "b:"], "usage: sshtrace"), (["--nosuch"], "usage:")])
def test_bad_options(options, said):
    done = subprocess.run([SSHTRACE, *options], capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr and done.stdout == ""


def test_not_root():
    if os.geteuid() != 0:
        pytest.skip("no root, who can become another")
    done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups",
                           SSHTRACE, "--", "true"],
                          capture_output=True, text=True)
    if "Permission denied" in done.stderr:
        pytest.skip("no way to here for others")
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == "sshtrace: no BPF: only root may; " \
        "from TCP_INFO alone, less finely"


def test_built_without_bpf(tmp_path):
    done = subprocess.run([os.path.join(HERE, "sshtrace", "build"), tmp_path],
                          env=dict(os.environ, BPF="no"),
                          capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == "sshtrace without BPF: BPF=no\n"
    done = subprocess.run([tmp_path / "sshtrace", "--", "true"],
                          capture_output=True, text=True)
    assert done.returncode == 0
    assert "no BPF: this sshtrace was built without it" in done.stderr


def test_man_page_is_clean():
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")
    page = os.path.join(HERE, "sshtrace", "sshtrace.1")
    said = subprocess.run(["mandoc", "-T", "lint", page], text=True,
                          capture_output=True).stdout.splitlines()
    # Which other pages this machine has is not the page's fault
    assert [line for line in said if "mandoc.db" not in line and
            "referenced manual not found" not in line] == []
    page = read(page)
    for limit in json.loads(subprocess.run(
            [SSHTRACE, "--ss", "--json", "--", "true"], capture_output=True,
            text=True).stdout)["limited_us"]:
        assert f" Pq {limit}\n" in page
    usage = subprocess.run([SSHTRACE, "--nosuch"], capture_output=True,
                           text=True).stderr
    for option in re.findall(r"--(\w+)", usage.split("usage:")[1]):
        assert f".It Fl -{option}" in page
