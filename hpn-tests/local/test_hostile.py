"""Peers that mean ill, as clients of our sshd and as servers of our ssh: it
takes no more memory than it has to, ends the connection with one clear line
or goes on, and serves the next one as ever."""

import contextlib
import os
import re
import socket
import struct
import subprocess
import threading
import time

import pytest

from loopback import (OURS, PORT, PRISTINE, going_first, place,  # noqa: F401
                      read, status_kib, wait_until)

paramiko = pytest.importorskip("paramiko")

KIB, MIB = 1024, 1024 * 1024
WINDOW, PACKET = 2 * MIB, 32 * KIB
MORE_THAN_STOCK_KIB = 8 * KIB
PATIENCE_S = 300                        # of a busy machine

MSG_IGNORE, MSG_EXT_INFO, MSG_GLOBAL_REQUEST = 2, 7, 80
MSG_WINDOW_ADJUST, MSG_DATA, MSG_REQUEST = 93, 94, 98
MSG_SUCCESS, MSG_FAILURE = 99, 100
MSG_PING, MSG_PONG = 192, 193
BOUNDED = b"bounded-input@openssh-bdp"
PROBE = b"path-probe@openssh-bdp"

# A reader that has stopped, and goes when sshd does
STOPPED = "while kill -0 $PPID 2>/dev/null; do sleep 0.1; done"
ZERO = bytes(PACKET)


class Raw(bytes):
    """Bytes as they are, with no length before them."""


def packed(*fields):
    """Numbers as uint32, bytes as strings."""
    return b"".join(
        f if isinstance(f, Raw) else
        struct.pack(">I", len(f)) + f if isinstance(f, bytes) else
        struct.pack(">I", f) for f in fields)


def lie(claimed, data=b""):
    """A string that says it is longer than what comes."""
    return Raw(struct.pack(">I", claimed) + data)


def ext_info(*pairs):
    return packed(len(pairs) // 2, *pairs)


class Hostile(paramiko.Transport):
    """An SSH peer that says what it is told to, and answers no probes of its
    own accord: probed(answer) is called for each."""

    def __init__(self, sock, extensions=None):
        super().__init__(sock, server_sig_algs=False)
        self.extensions = extensions
        self.heard = []                 # kinds of messages
        self.probes = self.open_probes = 0
        self.least_answer_s = PATIENCE_S
        self.probed = lambda answer: answer()
        self.listening = threading.Event()
        self.listening.set()
        self.messages = self.packetizer.read_message
        self.packetizer.read_message = self.listen
        self.daemon = True
        self.deadline = threading.Timer(PATIENCE_S, self.close)
        self.deadline.daemon = True
        self.deadline.start()

    def _sanitize_window_size(self, window_size):
        return self.default_window_size if window_size is None \
            else window_size

    def _sanitize_packet_size(self, max_packet_size):
        return self.default_max_packet_size if max_packet_size is None \
            else max_packet_size

    def takes(self, window, packet):
        """The window and the maximum packet (bytes) of channels from now on,
        however odd."""
        self.default_window_size = window
        self.default_max_packet_size = packet

    def is_answered(self, timeout_s=60):
        """Whether the peer still answers a request that it doesn't know."""
        self.completion_event = threading.Event()
        self.say(MSG_GLOBAL_REQUEST, b"unknown@example.com", Raw(b"\1"))
        return self.completion_event.wait(timeout_s)

    def say(self, message, *fields):
        m = paramiko.Message()
        m.add_bytes(bytes([message]) + packed(*fields))
        self._send_message(m)

    def _activate_outbound(self):
        super()._activate_outbound()
        if self.extensions is not None and not self.initial_kex_done:
            self.say(MSG_EXT_INFO, Raw(self.extensions))

    def listen(self):
        self.listening.wait()
        message, m = self.messages()
        self.heard.append(message)
        body = m.asbytes()
        if message == MSG_PING:
            self.probe(MSG_PONG, Raw(body))
        elif message == MSG_REQUEST and \
                body[4:8 + len(PROBE)] == packed(PROBE):
            assert body[-1] == 1, "no reply wanted"
            mine = struct.unpack(">I", body[:4])[0]
            self.probe(MSG_FAILURE, self._channels.get(mine).remote_chanid)
        elif message != MSG_PONG:
            return message, m
        return MSG_IGNORE, m

    def probe(self, message, *fields):
        came_s = time.monotonic()

        def answer():
            self.open_probes -= 1
            self.least_answer_s = min(self.least_answer_s,
                                      time.monotonic() - came_s)
            with contextlib.suppress(EOFError, OSError):
                self.say(message, *fields)

        self.probes += 1
        self.open_probes += 1
        assert self.open_probes == 1, "two probes under way"
        self.probed(answer)

    def send_until_it_ends(self, messages):
        """Whether the peer has ended the connection."""
        with contextlib.suppress(EOFError, OSError, paramiko.SSHException):
            for message in messages:
                if not self.is_active():
                    break
                self.say(*message)
        end_s = time.monotonic() + 10
        while self.is_active() and time.monotonic() < end_s:
            time.sleep(0.01)
        return not self.is_active()


class Peak:
    """The most memory (VmHWM, KiB) that a process ever had, as seen until just
    before it ended."""

    def __init__(self, pid):
        self.pid = pid
        self.before = self.kib = status_kib(pid, "VmHWM")
        assert self.before > 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.done.wait(0.002):
            self.look()

    def look(self):
        self.kib = max(self.kib, status_kib(self.pid, "VmHWM"))

    def stop(self):
        self.done.set()
        self.thread.join()
        self.look()
        return self.kib


def stands_still(pid):
    """Whether a process wanted no time in a second."""
    def state():
        fields = read(f"/proc/{pid}/stat").rsplit(")")[-1].split()
        return fields[0], fields[11:13]

    before = state()
    time.sleep(1)
    return before[0] == "S" and state() == before


def is_full(place, pid, source):
    """Whether nothing more goes, as nobody reads: a command that has always
    something to write waits, which one that only lacks a CPU does not."""
    sources = place.processes(source)
    return sources and all(stands_still(p) for p in (*sources, pid))


def send(channel, count):
    """So many bytes, a packet at a time: sendall() copies what is left for
    each."""
    for _ in range(count // PACKET):
        channel.sendall(ZERO)


def fill(channel, pid):
    """Sends until the window is shut for good: to be called when its reader
    has stopped. All that the process said before it answers has come: so time
    that this machine takes for it is not taken for a shut window."""
    def is_shut():
        return channel.transport.is_answered(PATIENCE_S) and \
            channel.out_window_size == 0

    channel.settimeout(2)
    for _ in range(400 * MIB // PACKET):
        with contextlib.suppress(socket.timeout):
            channel.send(ZERO)
            continue
        if is_shut() and stands_still(pid) and is_shut():
            return
    pytest.fail("the window is never shut")


# How late a client or server that makes a long path for itself answers. What
# it sends in that time is to be worth a large window, however slow this
# machine is.
LATE_S = (1, 4, 16)


def late(answer_s):
    """Answers probes, each so many seconds after it came."""
    return lambda answer: threading.Timer(answer_s, answer).start()


# Our sshd

class Server:
    """An sshd, and a hostile client that has logged in."""

    def __init__(self, place, tree=OURS, options=(), extensions=None):
        self.place = place
        self.sshd = place.sshd(tree, "LogLevel DEBUG2", *options)
        self.before = set(place.processes())
        sock = place.inside(
            lambda: socket.create_connection(("127.0.0.1", PORT)))
        self.client = Hostile(sock, extensions)
        self.client.start_client(timeout=PATIENCE_S)
        self.client.auth_publickey("root", paramiko.Ed25519Key(
            filename=place.path("user")))
        child = wait_until("the login", lambda: re.search(
            r"User child is on pid (\d+)", self.log()))
        self.peak = Peak(int(child.group(1)))
        self.channels = []              # one that nobody knows is closed

    def session(self, command, slow_s=0):
        """A channel with a command, asked for so long after it is open: then
        the round trip that sshd sees is that long."""
        channel = self.client.open_session()
        channel.settimeout(PATIENCE_S)
        time.sleep(slow_s)
        channel.exec_command(command)
        self.channels.append(channel)
        return channel

    def log(self):
        return read(self.sshd.log)

    def works(self):
        """The same connection still carries a session."""
        channel = self.session("cat")
        channel.sendall(b"alive")
        channel.shutdown_write()
        data = b""
        while more := channel.recv(100):
            data += more
        return data == b"alive"

    def finish(self):
        """Peak memory. sshd is then as it was, and serves others."""
        peak = self.peak.stop()
        self.client.close()
        wait_until("the connection's processes to go",
                   lambda: set(self.place.processes()) == self.before)
        assert self.place.still_serves(), self.log()
        assert "terminated by signal" not in self.log()
        self.sshd.terminate()
        self.sshd.wait()
        wait_until("nothing left", lambda: not self.place.processes())
        return peak


def stock_and_ours(place, attack):
    """The attack on each: no more memory than stock's, and some."""
    peaks = []
    for tree in (PRISTINE, OURS):
        server = Server(place, tree)
        attack(server)
        peaks.append(server.finish())
    print("peak KiB, stock and ours:", *peaks)
    assert peaks[1] <= peaks[0] + MORE_THAN_STOCK_KIB


def test_sshd_more_than_the_window(place):
    def attack(server):
        to = server.session(STOPPED).remote_chanid
        sent = [0]

        def data():
            while sent[0] < 64 * MIB:
                sent[0] += PACKET
                yield MSG_DATA, to, ZERO
        assert server.client.send_until_it_ends(data())
        assert sent[0] < 64 * MIB
        assert "peer ignored channel window" in server.log()

    stock_and_ours(place, attack)


def test_sshd_on_all_channels(place):
    """No more than each one's window, but that on eight channels."""
    def attack(server):
        for _ in range(8):
            server.session(STOPPED).sendall(bytes(WINDOW))
        assert server.works()           # so all of that has come
        assert server.peak.kib > server.peak.before + 6 * WINDOW // KIB

    stock_and_ours(place, attack)


def test_sshd_a_little_more_than_the_window(place):
    """Up to 10 % is put up with, and lost is nothing."""
    server = Server(place)
    go = place.path("go")
    channel = server.session(f"until [ -e {go} ]; do sleep 0.1; done; wc -c")
    n = (WINDOW + WINDOW // 20) // PACKET
    for _ in range(n):
        server.client.say(MSG_DATA, channel.remote_chanid, ZERO)
    wait_until("excess", lambda: "rcvd too much data" in server.log())
    open(go, "w").close()
    channel.shutdown_write()
    assert channel.makefile().read().strip() == str(n * PACKET).encode()
    assert server.works()
    server.finish()


def takes_much_late(place, late_s, limit, count):
    """A client, and a channel whose reader takes so many bytes and stops,
    over a path of so many seconds that it makes for itself."""
    server = Server(place, options=[f"ChannelWindowMax {limit}"],
                    extensions=ext_info(BOUNDED, b"0"))
    server.client.probed = late(late_s)
    channel = server.session(f"head -c {count} > /dev/null; echo; {STOPPED}",
                             slow_s=late_s)
    channel.sendall(bytes(2 * MIB))
    wait_until("an answer", lambda: server.client.least_answer_s < PATIENCE_S)
    send(channel, count - 2 * MIB)
    assert channel.recv(1) == b"\n"     # it has stopped
    return server, channel


def test_sshd_late_answers(place):
    """A client that answers probes a second late makes a path of a second for
    itself. The window it gets is ChannelWindowMax, and when the reader then
    stops that is the memory it can take; beyond it the connection ends."""
    limit = 16 * MIB
    for late_s in LATE_S:
        server, channel = takes_much_late(place, late_s, limit, 96 * MIB)
        if "limited=budget" in server.log():
            break
        server.finish()
    assert "limited=budget" in server.log()
    fill(channel, server.peak.pid)
    client = server.client
    # That much did come of it
    assert server.peak.kib > server.peak.before + limit // 2 // KIB
    assert client.send_until_it_ends(
        (MSG_DATA, channel.remote_chanid, ZERO) for _ in range(2000))
    assert "peer ignored channel window" in server.log()
    before = server.peak.before
    assert server.finish() <= \
        before + limit // 10 * 11 // KIB + MORE_THAN_STOCK_KIB


def test_sshd_floods_of_adjusts(place):
    """Of nothing: no harm."""
    server = Server(place)
    channel = server.session("cat")
    for _ in range(10000):
        server.client.say(MSG_WINDOW_ADJUST, channel.remote_chanid, 0)
    assert server.works()
    assert server.finish() <= server.peak.before + MORE_THAN_STOCK_KIB


def test_sshd_adjust_overflows(place):
    server = Server(place)
    to = server.session("cat").remote_chanid
    assert server.client.send_until_it_ends(
        (MSG_WINDOW_ADJUST, to, 0xffffffff) for _ in range(2))
    assert "overflows remote window" in server.log()
    server.finish()


def test_sshd_adjust_to_the_limit(place):
    """2^32 - 1 bytes of credit are allowed; one more is not."""
    server = Server(place)
    to = server.session("cat").remote_chanid
    server.client.say(MSG_WINDOW_ADJUST, to, 0xffffffff - WINDOW)
    assert server.works()
    assert server.client.send_until_it_ends([(MSG_WINDOW_ADJUST, to, 1)])
    assert "overflows remote window" in server.log()
    server.finish()


def of_no_channel(to, n):
    """Adjusts of all sizes, on a channel that is closed and on some that
    never were."""
    for i in range(n):
        for channel in (to, 1000 + i, 0x7fffffff):
            yield MSG_WINDOW_ADJUST, channel, (0, 1, WINDOW, 0xffffffff)[i % 4]


def test_sshd_adjusts_of_no_channel(place):
    """Nothing comes of them."""
    server = Server(place)
    server.session("cat")
    closed = server.session("true")
    assert closed.recv_exit_status() == 0
    closed.close()
    wait_until("the channel's end", lambda: "channel "
               f"{closed.remote_chanid}: free" in server.log())
    for message in of_no_channel(closed.remote_chanid, 1000):
        server.client.say(*message)
    assert server.works()
    assert server.log().count("window adjust for non-open channel") == 3000
    assert server.finish() <= server.peak.before + MORE_THAN_STOCK_KIB


@pytest.mark.parametrize("unknown, word", [
    (1, "data packet referred to nonexistent channel"),
    (0x7fffffff, "data packet referred to nonexistent channel"),
    (0xffffffff, "Invalid data channel id")])
def test_sshd_data_of_no_channel(place, unknown, word):
    """The end, as with stock."""
    for tree in (PRISTINE, OURS):
        server = Server(place, tree)
        server.session("cat")
        assert server.client.send_until_it_ends(
            (MSG_DATA, unknown, ZERO) for _ in range(100))
        assert word in server.log()
        server.finish()


TINY = 20000                            # packets


def tiny(transport, to):
    """One byte each, as fast as they go."""
    for _ in range(TINY):
        transport.say(MSG_DATA, to, b"x")


def adjusts(log):
    """Window adjusts that were sent."""
    return len(re.findall(r"channel \d+: window \d+ sent adjust \d+", log))


def test_sshd_one_byte_packets(place):
    """All of them arrive, none calls for an adjust of its own, and where the
    reader has stopped they take no more memory than stock takes for them."""
    def attack(server):
        tiny(server.client, server.session(STOPPED).remote_chanid)
        counted = server.session("wc -c")
        tiny(server.client, counted.remote_chanid)
        counted.shutdown_write()
        assert counted.makefile().read().strip() == str(TINY).encode()
        assert adjusts(server.log()) <= TINY // 1000

    stock_and_ours(place, attack)


def test_sshd_all_credit_and_no_reading(place):
    """What sshd reads ahead doesn't follow the credit it has: 256 KiB, where
    stock goes up to 16 MiB."""
    server = Server(place)
    client = server.client
    channel = server.session("cat /dev/zero")
    client.say(MSG_WINDOW_ADJUST, channel.remote_chanid, 0xf0000000)
    client.listening.clear()
    wait_until("it to stand still",
               lambda: is_full(place, server.peak.pid, "cat"))
    assert client.is_active()
    client.sock.close()
    client.listening.set()
    assert server.finish() <= server.peak.before + MORE_THAN_STOCK_KIB


LIES = {    # what is said, and a word of the line that it makes sshd log
    "data": ((MSG_DATA, 0, lie(PACKET, b"x")), "incomplete message"),
    "data-4g": ((MSG_DATA, 0, lie(0xffffffff, b"x")), "too large"),
    "data-short": ((MSG_DATA, 0, Raw(b"\0\0")), "incomplete message"),
    "data-trailing": ((MSG_DATA, 0, b"x", b"y"), "unexpected bytes remain"),
    "adjust-short": ((MSG_WINDOW_ADJUST, 0), "Invalid window adjust message"),
    "adjust-trailing": ((MSG_WINDOW_ADJUST, 0, 1, 1),
                        "Invalid window adjust message"),
    "pong": ((MSG_PONG, lie(100, b"path ")), "incomplete message"),
    "pong-4g": ((MSG_PONG, lie(0xffffffff)), "too large"),
    "pong-empty": ((MSG_PONG,), "incomplete message"),
    "answer-short": ((MSG_FAILURE, Raw(b"\0")),
                     "Invalid status confirm message"),
    "answer-4g": ((MSG_FAILURE, 0xffffffff),
                  "Invalid status confirm channel id"),
    "answer-trailing": ((MSG_FAILURE, 0, 0),
                        "Invalid status confirm message"),
}


@pytest.mark.parametrize("name", LIES)
def test_sshd_lies(place, name):
    message, word = LIES[name]
    server = Server(place)
    to = server.session("cat").remote_chanid
    assert to == 0
    assert server.client.send_until_it_ends([message])
    assert word in server.log(), server.log()[-2000:]
    server.finish()


def test_sshd_extension_too_late(place):
    """Once logged in, the peer is what it was."""
    server = Server(place)
    server.client.say(MSG_EXT_INFO, 1, BOUNDED, b"0")
    assert server.works()
    assert "peer bounded" not in server.log()
    server.finish()


BAD_EXTENSIONS = {
    "value": (packed(1, BOUNDED, lie(100, b"0")), "incomplete message"),
    "value-4g": (packed(1, BOUNDED, lie(0xffffffff)), "too large"),
    "name": (packed(1, lie(1000, BOUNDED)), "incomplete message"),
    "count": (packed(3, BOUNDED, b"0"), "incomplete message"),
    "trailing": (packed(1, BOUNDED, b"0", b"1"), "unexpected bytes remain"),
    "nul": (packed(1, BOUNDED, b"0\0" + b"1" * 100), None),
    "long": (packed(1, BOUNDED, b"0" * 200000), None),
    "version": (packed(1, BOUNDED, b"1"), None),
    "twice": (packed(2, BOUNDED, b"0", BOUNDED, b""), None),
}


@pytest.mark.parametrize("name", BAD_EXTENSIONS)
def test_sshd_extension(place, name):
    extensions, word = BAD_EXTENSIONS[name]
    if word is None:
        server = Server(place, extensions=extensions)
        assert server.works()
        mended = "peer bounded" in server.log()
        assert mended == (name == "twice")
        server.finish()
        return
    with pytest.raises((paramiko.SSHException, EOFError, OSError)):
        Server(place, extensions=extensions)
    log = place.path(f"sshd.{PORT}.log")
    wait_until("its end", lambda: not place.processes("sshd-session",
                                                      "sshd-auth"))
    assert word in read(log), read(log)[-2000:]
    assert place.still_serves()


def test_sshd_needs_no_probe(place):
    """On a direct path the round trip of SSH is that of the socket. What opens
    sessions shows it, if the client answers one of them in 5 ms: then there is
    no probe, whatever is opened and sent later."""
    for _ in range(5):
        with going_first():
            server = Server(place)
            for _ in range(8):
                server.session("cat")
        for _ in range(2):
            channel = server.session("cat > /dev/null")
            channel.sendall(bytes(8 * MIB))
            channel.shutdown_write()
            channel.recv_exit_status()
        probes = server.client.probes
        server.finish()
        if probes == 0:
            return
    pytest.fail("a probe each time, or none of 8 answers took less than 5 ms")


def test_sshd_no_answer(place):
    """Then there is one probe, and no more until it is answered."""
    server = Server(place)
    server.client.probed = lambda answer: None
    for _ in range(5):
        channel = server.session("cat > /dev/null", slow_s=0.1)
        channel.sendall(bytes(4 * MIB))
    assert server.client.probes == 1
    assert server.works()
    server.finish()


def test_sshd_two_answers(place):
    """The second one has no effect: the round trip stays the first one's."""
    slow_s, count = 1, WINDOW - PACKET
    server = Server(place, extensions=ext_info(BOUNDED, b"0"))
    client = server.client
    answers = []
    client.probed = answers.append
    channel = server.session(
        f"head -c {count} > /dev/null; echo; cat > /dev/null", slow_s=slow_s)
    sent_s = time.monotonic()
    channel.sendall(bytes(count))
    assert channel.recv(1) == b"\n"     # all of it was taken
    assert client.is_answered(PATIENCE_S)
    assert client.probes == 1
    client.probed = lambda answer: None     # to the next one there is none
    time.sleep(slow_s / 2)
    answers[0]()
    assert client.is_answered(PATIENCE_S)
    most_s = time.monotonic() - sent_s
    # One that counted would be a round trip so long that a quarter of it,
    # which is its weight, is more than the first one
    time.sleep(4 * most_s)
    assert client.probes == 1
    client.say(MSG_FAILURE, 0)
    client.say(MSG_SUCCESS, 0)
    before = len(server.log())
    channel.sendall(bytes(8 * MIB))
    channel.shutdown_write()
    assert channel.recv_exit_status() == 0
    channel.close()
    # What comes before a session's first request is a round trip, too
    seen_s = [int(us) / 1e6 for us in
              re.findall(r" rtt_us=(\d+)", server.log()[before:])]
    assert seen_s and min(slow_s, client.least_answer_s) <= min(seen_s)
    assert max(seen_s) <= most_s
    client.open_probes = 0              # the last one went with its channel
    assert server.works()
    server.finish()


def test_sshd_answers_to_nothing(place):
    """Under way or not, known channel or not: nothing comes of them."""
    server = Server(place)
    client = server.client
    to = server.session("cat").remote_chanid
    for i in range(2000):
        client.say(MSG_FAILURE, to)
        client.say(MSG_SUCCESS, to)
        client.say(MSG_FAILURE, 1000 + i)
        client.say(MSG_SUCCESS, 0x7fffffff, 1)  # trailing; and who is that?
        client.say(MSG_PONG, b"path " + struct.pack(">Q", i % 4))
    for length in (0, 1, 5, 12, 14, 30000):
        client.say(MSG_PONG, b"path " * (length // 5) + b"p" * (length % 5))
    assert server.works()
    assert server.finish() <= server.peak.before + MORE_THAN_STOCK_KIB


# Our ssh

class Welcoming(paramiko.ServerInterface):
    """Lets anybody in, and do anything, each after so long."""

    def __init__(self, slow_s):
        self.slow_s = slow_s
        self.exec = threading.Event()

    def get_allowed_auths(self, username):
        return "publickey"

    def check_auth_publickey(self, username, key):
        return paramiko.AUTH_SUCCESSFUL

    def check_channel_request(self, kind, chanid):
        time.sleep(self.slow_s)
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel, command):
        time.sleep(self.slow_s)
        self.exec.set()
        return True


class Client:
    """ssh of a tree, and a hostile server that it has logged in to. What it
    writes is read as far as take() says."""

    def __init__(self, place, tree=OURS, options=(), extensions=None,
                 probed=None, opens=True, takes=(WINDOW, PACKET),
                 stdout=subprocess.PIPE, version=None, slow_s=0):
        listener = place.inside(
            lambda: socket.create_server(("127.0.0.1", PORT)))
        self.log_path = place.path(f"ssh.{os.path.basename(tree)}.log")
        self.ssh = place.start(
            place.ssh(*options, "-E", self.log_path, "root@127.0.0.1",
                      "command", tree=tree, level="DEBUG2"),
            stdin=subprocess.PIPE, stdout=stdout)
        listener.settimeout(PATIENCE_S)
        sock = listener.accept()[0]
        listener.close()
        self.peak = Peak(self.ssh.pid)
        self.server = Hostile(sock, extensions)
        self.server.takes(*takes)
        self.server.local_version = version or self.server.local_version
        if probed:
            self.server.probed = probed
        self.server.add_server_key(
            paramiko.Ed25519Key(filename=place.path("host")))
        welcome = Welcoming(slow_s)
        self.channel = None
        try:
            self.server.start_server(server=welcome)
        except (EOFError, OSError, paramiko.SSHException):
            if opens:
                raise
        if opens:
            assert welcome.exec.wait(PATIENCE_S), self.log()
            self.channel = self.server.accept(PATIENCE_S)
            self.channel.settimeout(PATIENCE_S)
        self.peak.before = status_kib(self.ssh.pid, "VmHWM")

    def log(self):
        return read(self.log_path)

    def take(self, n):
        data = b"."
        while n > 0 and data:
            data = self.ssh.stdout.read1(min(n, MIB))
            n -= len(data)

    def works(self):
        """What is sent now comes out, when all before it has been taken."""
        self.channel.sendall(b"alive")
        return self.ssh.stdout.read(5) == b"alive"

    def end(self):
        """Exit status and peak memory."""
        with contextlib.suppress(EOFError, OSError, paramiko.SSHException):
            if self.server.is_active() and self.channel:
                self.channel.send_exit_status(0)
                self.channel.close()
        self.ssh.stdin.close()
        while self.ssh.stdout.read1(MIB):
            pass
        status = self.ssh.wait(PATIENCE_S)
        self.server.close()
        return status, self.peak.stop()


def test_ssh_more_than_the_window(place):
    peaks = []
    for tree in (PRISTINE, OURS):
        client = Client(place, tree)
        assert client.server.send_until_it_ends(
            (MSG_DATA, client.channel.remote_chanid, ZERO)
            for _ in range(64 * MIB // PACKET))
        status, peak = client.end()
        assert status == 255
        assert "peer ignored channel window" in client.log()
        peaks.append(peak)
    print("peak KiB, stock and ours:", *peaks)
    assert peaks[1] <= peaks[0] + MORE_THAN_STOCK_KIB


def gives_much_late(place, by, late_s, limit, count):
    """As above, with a server and a reader of what our ssh writes."""
    known = (BOUNDED, b"0") + \
        ((b"ping@openssh.com", b"0") if by == "ping" else ())
    client = Client(place, options=["-o", f"ChannelWindowMax={limit}"],
                    extensions=ext_info(*known), slow_s=late_s,
                    probed=late(late_s))
    reader = threading.Thread(target=client.take, args=(count,), daemon=True)
    reader.start()
    client.channel.sendall(bytes(2 * MIB))
    wait_until("an answer",
               lambda: client.server.least_answer_s < PATIENCE_S)
    send(client.channel, count - 2 * MIB)
    reader.join()
    return client


@pytest.mark.parametrize("by", ["ping", "request"])
def test_ssh_late_answers(place, by):
    """As with sshd; pongs are as good as refusals."""
    limit = 16 * MIB
    for late_s in LATE_S:
        client = gives_much_late(place, by, late_s, limit, 96 * MIB)
        if "limited=budget" in client.log():
            break
        assert client.end()[0] == 0
    assert "limited=budget" in client.log()
    fill(client.channel, client.peak.pid)
    assert client.peak.kib > client.peak.before + limit // 2 // KIB
    assert client.server.send_until_it_ends(
        (MSG_DATA, client.channel.remote_chanid, ZERO) for _ in range(2000))
    status, peak = client.end()
    assert status == 255
    assert "peer ignored channel window" in client.log()
    assert peak <= client.peak.before + limit // 10 * 11 // KIB + \
        MORE_THAN_STOCK_KIB


@pytest.mark.parametrize("name", LIES)
def test_ssh_lies(place, name):
    message, word = LIES[name]
    client = Client(place)
    assert client.channel.remote_chanid == 0
    assert client.server.send_until_it_ends([message])
    assert client.end()[0] == 255
    assert word in client.log(), client.log()[-2000:]


@pytest.mark.parametrize("name", BAD_EXTENSIONS)
def test_ssh_extension(place, name):
    extensions, word = BAD_EXTENSIONS[name]
    client = Client(place, extensions=extensions, opens=word is None)
    if word is None:
        assert client.works()
        assert ("peer bounded" in client.log()) == (name == "twice")
        assert client.end()[0] == 0
    else:
        assert client.end()[0] == 255
        assert word in client.log(), client.log()[-2000:]


def test_ssh_adjust_overflows(place):
    client = Client(place)
    assert client.server.send_until_it_ends(
        (MSG_WINDOW_ADJUST, 0, 0xffffffff) for _ in range(2))
    assert client.end()[0] == 255
    assert "overflows remote window" in client.log()


def test_ssh_adjusts_of_no_channel(place):
    client = Client(place)
    for message in of_no_channel(1, 1000):
        client.server.say(*message)
    assert client.works()
    status, peak = client.end()
    assert status == 0
    assert peak <= client.peak.before + MORE_THAN_STOCK_KIB


def test_ssh_one_byte_packets(place):
    peaks = []
    for tree in (PRISTINE, OURS):
        client = Client(place, tree)
        tiny(client.server, client.channel.remote_chanid)
        assert client.ssh.stdout.read(TINY) == b"x" * TINY
        assert client.works()
        assert adjusts(client.log()) <= TINY // 1000
        status, peak = client.end()
        assert status == 0
        peaks.append(peak)
    assert peaks[1] <= peaks[0] + MORE_THAN_STOCK_KIB


PING = ext_info(b"ping@openssh.com", b"0")


@pytest.mark.parametrize("extensions", [PING, None], ids=["ping", "request"])
def test_ssh_no_answer(place, extensions):
    client = Client(place, extensions=extensions, slow_s=0.1,
                    probed=lambda answer: None)
    reader = threading.Thread(target=client.take, args=(16 * MIB,),
                              daemon=True)
    reader.start()
    client.channel.sendall(bytes(16 * MIB))
    reader.join()
    assert client.server.probes == 1
    assert client.works()
    assert client.end()[0] == 0


@pytest.mark.parametrize("extensions", [PING, None], ids=["ping", "request"])
def test_ssh_answers_to_nothing(place, extensions):
    """Twice, unasked, for channels that there are not, and by pongs with every
    cookie that could be next."""
    client = Client(place, extensions=extensions, slow_s=0.1)
    server = client.server

    def twice(answer):
        answer()
        server.say(MSG_FAILURE, 0)
        server.say(MSG_SUCCESS, 0)
        server.say(MSG_PONG, b"path " + struct.pack(">Q", server.probes))

    server.probed = twice
    for i in range(2000):
        server.say(MSG_FAILURE, 0)
        server.say(MSG_SUCCESS, 0)
        server.say(MSG_FAILURE, 1000 + i)
        server.say(MSG_SUCCESS, 0x7fffffff, 1)
        server.say(MSG_PONG, b"path " + struct.pack(">Q", i % 4))
    for length in (0, 1, 5, 12, 14, 30000):
        server.say(MSG_PONG, b"path " * (length // 5) + b"p" * (length % 5))
    reader = threading.Thread(target=client.take, args=(16 * MIB,),
                              daemon=True)
    reader.start()
    client.channel.sendall(bytes(16 * MIB))
    reader.join()
    assert client.works()
    status, peak = client.end()
    assert status == 0
    assert peak <= client.peak.before + MORE_THAN_STOCK_KIB
