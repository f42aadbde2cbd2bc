"""The TCP buffers of sshd's sockets: raised for who has logged in, the kernel's
own for all others, and nothing said or lost where they can't be raised."""

import contextlib
import os
import re
import signal
import socket
import subprocess

import pytest

from loopback import (OURS, PORT, STOCK, place,      # noqa: F401
                      read, wait_until)

MIB = 1 << 20
UNTOUCHED = {"tcp_rmem": "4096 131072 6291456",
             "tcp_wmem": "4096 16384 4194304"}
FORCED = re.compile(r"TCP buffers: send (\d+), receive (\d+) bytes")
SO_RCVBUFFORCE, SO_BUF_LOCK = 33, 72
STRANGERS = 100
SEGMENT = 1 << 16           # bytes, the largest on a loopback


def untouched(place, **more):                           # noqa: F811
    """The kernel as it is installed. Skips where root may not raise a buffer
    (a container's root) or can't have autotuning back (before Linux 5.14)."""
    with socket.socket() as s:
        try:
            s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, MIB)
            s.setsockopt(socket.SOL_SOCKET, SO_BUF_LOCK, 0)
        except OSError as e:
            pytest.skip(f"buffers can't be raised here: {e}")
    lines = [f"echo {value} > /proc/sys/net/ipv4/{name}"
             for name, value in {**UNTOUCHED, **more}.items()]
    assert place.run(["sh", "-ec", "\n".join(lines)]).returncode == 0


def sockets(place):                                     # noqa: F811
    """Of each connection's server end what ss says of memory: rb and tb are
    the buffers' sizes, r is what lies in the receive buffer; and the scale of
    its window."""
    said = place.run(["ss", "-Htmin", f"( sport = :{PORT} )"]).stdout
    return [{**{k: int(v) for k, v in
                re.findall(r"([a-z]+)(\d+)[,)]", info)},
             "scale": int((re.search(r"wscale:\d+,(\d+)", info) or [0, -1])[1])
             } for info in re.findall(r"skmem:\((.*)", said)]


def log_in(place, *arguments, **kwargs):                # noqa: F811
    """A session that stays, which ssh has begun to read from."""
    session = place.start(place.ssh(*arguments, "root@127.0.0.1",
                                    "echo up; cat > /dev/null"), text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          **kwargs)
    assert session.stdout.readline() == "up\n"
    return session


def forced(sshd):
    return [tuple(map(int, sizes)) for sizes in
            FORCED.findall(read(sshd.log))]


def size_mib():
    """What sshd may give: twice 128 MiB, a 64th of the memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    return min(256, memory / 64 / MIB)


def test_raised_by_the_login(place):                    # noqa: F811
    untouched(place)
    if size_mib() < 8:
        pytest.skip("too little memory for larger buffers")
    sshd = place.sshd(OURS, "LogLevel DEBUG1")
    stranger = place.inside(
        lambda: socket.create_connection(("127.0.0.1", PORT)))
    before = wait_until("its socket", lambda: sockets(place))
    assert 131072 - 4096 < before[0]["rb"] <= 131072
    assert before[0]["tb"] < 4 * MIB
    stranger.close()
    session = log_in(place)
    raised = max(sockets(place), key=lambda s: s["rb"])
    (send, receive), = forced(sshd)
    # A cgroup may allow less memory than the machine has
    assert 6 * MIB < send <= size_mib() * MIB
    assert 0.999 * send < receive <= send
    assert raised["rb"] in (receive, receive - 1)
    assert raised["tb"] in (send, send - 1)
    # Its window can be as large as the buffer
    assert 65536 << raised["scale"] >= receive / 2
    session.communicate("")
    assert session.returncode == 0


@pytest.mark.parametrize("later", [
    "4096 262144 6291456", "4096 87380 6291456", "4096 131073 67108864"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_other_sizes(place, later, when):               # noqa: F811
    """A buffer grows whatever the kernel's sizes are, also if they change while
    sshd runs."""
    untouched(place, **({"tcp_rmem": later} if when == "before" else {}))
    place.sshd(OURS)
    untouched(place, tcp_rmem=later)
    session = log_in(place)
    session.stdin.write("x" * 200 * MIB)
    session.stdin.flush()
    received = max(s["rb"] for s in sockets(place))
    session.communicate("")
    assert session.returncode == 0
    assert received > 2 * 262144


@pytest.mark.parametrize("option, more", [
    ("ChannelWindowMax none", {}),
    ("Match User root\n  ChannelWindowMax none", {}),
    ("ChannelWindowMax 64M", {"tcp_rmem": f"4096 131072 {512 * MIB}",
                              "tcp_wmem": f"4096 16384 {512 * MIB}"})])
def test_left_alone(place, option, more):               # noqa: F811
    """Not raised: the kernel's autotuning is on, up to its own maximum."""
    untouched(place, **more)
    sshd = place.sshd(OURS, "LogLevel DEBUG1", option)
    session = log_in(place)
    session.stdin.write("x" * 200 * MIB)
    session.stdin.flush()
    received = max(s["rb"] for s in sockets(place))
    session.communicate("")
    assert forced(sshd) == [(0, 0)]
    assert 131072 < received <= int((more or UNTOUCHED)["tcp_rmem"].split()[2])


def test_bounded_by_the_option(place):                  # noqa: F811
    untouched(place)
    sshd = place.sshd(OURS, "LogLevel DEBUG1", "ChannelWindowMax 3500K",
                      "Match User root", "ChannelWindowMax 4M")
    log_in(place).communicate("")
    assert forced(sshd) == [(8 * MIB, 8 * MIB)]


def flood(connection):
    """Sends until the peer's kernel takes no more."""
    connection.setblocking(False)
    with contextlib.suppress(BlockingIOError, ConnectionError):
        connection.send(b"SSH-2.0-stranger\r\n")
        while True:
            connection.send(bytes(65536))


def strangers(place, tree):                             # noqa: F811
    """The kernel's memory (bytes) for 100 connections that don't log in, and
    whose processes have stopped: they fill what buffers they have. Then the
    sizes (bytes) of the largest receive and send buffer."""
    place.sshd(tree)
    connections = place.inside(lambda: [
        socket.create_connection(("127.0.0.1", PORT))
        for _ in range(STRANGERS)])
    try:
        for connection in connections:
            connection.recv(10)                         # accepted, and served
        # Of 9.2, a session's processes have the listener's name
        listener = place.started[-1].pid
        served = [pid for pid in place.processes(
            "sshd", "sshd-session", "sshd-auth") if pid != listener]
        assert len(served) >= STRANGERS
        for pid in served:
            os.kill(pid, signal.SIGSTOP)
        for _ in range(5):
            for connection in connections:
                flood(connection)
        seen = [s for s in sockets(place) if s["rb"]]
        assert len(seen) >= STRANGERS
        return sum(s["r"] + s["t"] for s in seen), \
            *(max(s[kind] for s in seen) for kind in ("rb", "tb"))
    finally:
        for connection in connections:
            connection.close()
        for pid in place.processes("sshd", "sshd-session", "sshd-auth"):
            os.kill(pid, signal.SIGKILL)
        place.started[-1].wait()
        # Those that it has started may have its socket still.
        wait_until("their end", lambda: not place.processes(
            "sshd", "sshd-session", "sshd-auth"))


def test_strangers_get_no_more_than_today(place):       # noqa: F811
    untouched(place)
    ours, receive, send = strangers(place, OURS)
    stock, stock_receive, stock_send = strangers(place, STOCK)
    print(f"{STRANGERS} strangers: {ours} bytes, stock {stock}; largest "
          f"receive buffer {receive}, stock {stock_receive}; send buffer "
          f"{send}, stock {stock_send}")
    assert stock > STRANGERS * 60000                    # they did fill theirs
    assert receive <= stock_receive
    assert send <= 1.25 * stock_send        # it grows as TCP opens its window
    # The kernel takes a last segment while a buffer has any room at all
    assert ours <= stock + STRANGERS * SEGMENT


def listens(place):                                     # noqa: F811
    """The size (bytes) of the listener's receive buffer."""
    said = place.run(["ss", "-Htlnm", f"( sport = :{PORT} )"]).stdout
    return int(re.search(r"rb(\d+)", said)[1])


def raised_sshd(place):                                 # noqa: F811
    """An sshd that has raised its listener, and that size (bytes)."""
    untouched(place)
    if size_mib() < 32:
        pytest.skip("too little memory for a larger window scale")
    sshd = place.sshd(OURS, "LogLevel DEBUG1")
    size = listens(place)
    assert size > 32 * MIB
    return sshd, size


def test_who_sends_too_much_before_accept_is_refused(place):    # noqa: F811
    """sshd stands still while strangers fill the listener's larger buffer.
    Then it closes them unserved; who has sent nothing logs in."""
    early = 12
    sshd, _ = raised_sshd(place)
    os.kill(sshd.pid, signal.SIGSTOP)
    connections = place.inside(lambda: [
        socket.create_connection(("127.0.0.1", PORT)) for _ in range(early)])

    def all_are_full():
        for connection in connections:
            flood(connection)
        held = [s["r"] for s in sockets(place)]
        return len(held) == early and min(held) > MIB

    wait_until("their data", all_are_full)
    session = place.start(place.ssh("root@127.0.0.1", "echo up; cat"),
                          text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
    wait_until("its connection", lambda: len(sockets(place)) == early + 1)
    os.kill(sshd.pid, signal.SIGCONT)
    assert session.stdout.readline() == "up\n"
    wait_until("their end", lambda: len(sockets(place)) == 1)
    held = sockets(place)[0]["r"]
    session.communicate("")
    assert session.returncode == 0
    for connection in connections:
        connection.close()
    said = read(sshd.log)
    assert said.count("it sent too much before the banner") == early
    assert said.count("Connection from 127.0.0.1") == 1
    assert held <= 131072
    # Those that waited counted
    assert re.search(r"lowered for 1\d connections", said)


def test_many_strangers_lower_the_listener(place):      # noqa: F811
    """A login works meanwhile, with the kernel's own scale."""
    many = 10
    sshd, size = raised_sshd(place)
    connections = place.inside(lambda: [
        socket.create_connection(("127.0.0.1", PORT)) for _ in range(many)])
    for connection in connections:
        connection.recv(10)                             # it is served
    wait_until("lowered", lambda: listens(place) == 131072)
    log_in(place).communicate("")
    assert listens(place) == 131072
    for connection in connections:
        connection.close()
    wait_until("raised", lambda: listens(place) == size)
    log_in(place).communicate("")
    (_, lowered), (_, usual) = forced(sshd)
    assert 131072 < lowered <= 2 * (65535 << 7) < usual


@pytest.mark.parametrize("way", ["no-capability", "inetd", "ipv6",
                                 "forwarder", "pipe"])
def test_where_it_is_not_as_usual(place, way):          # noqa: F811
    """A session works, nobody but a debug log says anything, and bytes arrive
    unharmed both ways."""
    untouched(place)
    place.run(["ip", "link", "set", "lo", "up"])
    config = place.path(f"sshd_config.{PORT}")
    options, client, where = [], [], "127.0.0.1"
    if way == "ipv6":
        options, where = ["ListenAddress ::1"], "::1"
    if way == "no-capability":
        sshd = place.sshd(OURS, prefix=["setpriv", "--bounding-set",
                                        "-net_admin"])
    else:
        sshd = place.sshd(OURS, *options)
    inetd = f"{OURS}/sshd -i -f {config} -E {sshd.log}"
    if way in ("inetd", "forwarder"):
        there = f"EXEC:'{inetd}',nofork" if way == "inetd" else \
            f"TCP:127.0.0.1:{PORT}"
        place.start(["socat", f"TCP-LISTEN:{PORT + 1},fork,reuseaddr", there])
        client = ["-o", f"Port={PORT + 1}"]
        wait_until("socat", lambda: f":{PORT + 1}" in place.run(
            ["ss", "-Htln"]).stdout)
    if way == "pipe":
        client = ["-o", f"ProxyCommand={inetd}"]
    data = bytes(range(256)) * 40000
    argv = place.ssh(*client, f"root@{where}", "cat", level="VERBOSE")
    if client and way != "pipe":
        argv[argv.index(str(PORT))] = str(PORT + 1)
    echo = place.start(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
    out, err = echo.communicate(data, timeout=120)
    assert echo.returncode == 0 and out == data, err.decode()
    assert not re.search(r"BUF|TCP buffers|not permitted", read(sshd.log) +
                         err.decode())
