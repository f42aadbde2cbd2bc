"""Peers that say what a test tells them to: a client that has logged in to our
sshd, and a server that our ssh has logged in to. Without paramiko the tests
that import this are skipped."""

import contextlib
import re
import socket
import struct
import subprocess
import threading
import time

import pytest

from loopback import (HOST, OURS, PORT, STOPPED, USER, Peak,  # noqa: F401
                      read, stands_still, status_kib, wait_until, wire_name)

paramiko = pytest.importorskip("paramiko")

KIB, MIB = 1024, 1024 * 1024
WINDOW, PACKET = 2 * MIB, 32 * KIB
PATIENCE_S = 300                        # of a busy machine

MSG_IGNORE, MSG_EXT_INFO, MSG_GLOBAL_REQUEST, MSG_OPEN = 2, 7, 80, 90
MSG_WINDOW_ADJUST, MSG_DATA, MSG_REQUEST = 93, 94, 98
MSG_REQUEST_FAILURE, MSG_SUCCESS, MSG_FAILURE = 82, 99, 100
MSG_PING, MSG_PONG = 192, 193
BOUNDED = wire_name("BDP_BOUNDED_INPUT").encode()
PROBE = b"keepalive@openssh.com"

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


PING = ext_info(b"ping@openssh.com", b"0")


class Hostile(paramiko.Transport):
    """An SSH peer that says what it is told to, and answers no probes of its
    own accord: probed(answer) is called for each."""

    def __init__(self, sock, extensions=None, compress=False):
        super().__init__(sock, server_sig_algs=False)
        self.use_compression(compress)
        self.local_version = "SSH-2.0-OpenSSH_10.0"
        self.extensions = extensions
        self.heard = []                 # kinds of messages
        self.longest = 0                # bytes of data in one
        self.probes = self.open_probes = 0
        self.least_answer_s = PATIENCE_S
        self.probed = lambda answer: answer()
        self.listening = threading.Event()
        self.listening.set()
        self.messages = self.packetizer.read_message
        self.packetizer.read_message = self.listen
        self.banner_timeout = self.handshake_timeout = \
            self.auth_timeout = PATIENCE_S
        self.daemon = True
        self.gave_up = False
        self.deadline = threading.Timer(PATIENCE_S, self.give_up)
        self.deadline.daemon = True
        self.deadline.start()

    def _sanitize_window_size(self, window_size):
        return self.default_window_size if window_size is None \
            else window_size

    def _sanitize_packet_size(self, max_packet_size):
        return self.default_max_packet_size if max_packet_size is None \
            else max_packet_size

    def takes(self, window, packet):
        """The window and the maximum packet (bytes) of channels from now on"""
        self.default_window_size = window
        self.default_max_packet_size = packet

    def give_up(self):
        self.gave_up = True
        self.close()

    def is_answered(self, timeout_s=60):
        """Whether the peer still answers a request that it doesn't know."""
        self.completion_event = threading.Event()
        self.say(MSG_GLOBAL_REQUEST, b"unknown@example.com", Raw(b"\1"))
        # The end of the connection sets it, too
        return self.completion_event.wait(timeout_s) and self.is_active()

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
        if message == MSG_DATA:
            self.longest = max(self.longest, len(body) - 8)
        if message == MSG_PING:
            self.probe(MSG_PONG, Raw(body))
        elif message == MSG_GLOBAL_REQUEST and \
                body.startswith(packed(PROBE)):
            assert body[-1] == 1, "no reply wanted"
            self.probe(MSG_REQUEST_FAILURE)
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
        while self.is_active():
            time.sleep(0.01)
        return not self.gave_up


def is_full(place, pid, source):
    """Whether nothing more goes, as nobody reads: a command that has always
    something to write waits, which one that only lacks a CPU does not."""
    sources = place.processes(source)
    return sources and all(stands_still(p) for p in (*sources, pid))


def send(channel, count):
    """Sends `count` bytes, a packet at a time: sendall() copies all that is
    left for each packet."""
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


class Server:
    """An sshd, and a hostile client that has logged in."""

    def __init__(self, place, tree=OURS, options=(), extensions=None,
                 prefix=(), opens=True, takes=(WINDOW, PACKET),
                 compress=False):
        self.place = place
        self.sshd = place.sshd(tree, "LogLevel DEBUG2", *options,
                               prefix=prefix)
        self.before = set(place.processes())
        sock = place.inside(
            lambda: socket.create_connection(("127.0.0.1", PORT)))
        self.client = self.peer = Hostile(sock, extensions, compress)
        self.client.takes(*takes)
        self.peak = None
        try:
            self.client.start_client(timeout=PATIENCE_S)
            self.client.auth_publickey(USER, paramiko.Ed25519Key(
                filename=place.path("user")))
        except (EOFError, OSError, paramiko.SSHException):
            if opens:
                raise
            return
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

    def finish(self, status=0):
        """Peak memory. sshd is then as it was, and serves others, whatever
        status the end of the connection would be to a client."""
        peak = self.peak and self.peak.stop()
        self.client.close()
        wait_until("the connection's processes to go",
                   lambda: set(self.place.processes()) <= self.before)
        assert self.place.still_serves(), self.log()
        assert "terminated by signal" not in self.log()
        self.sshd.terminate()
        self.sshd.wait()
        wait_until("nothing left", lambda: not self.place.processes())
        return peak


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
    writes is read as far as take() says. how: as Popen()'s, such as stdin."""

    def __init__(self, place, tree=OURS, options=(), extensions=None,
                 probed=None, opens=True, takes=(WINDOW, PACKET),
                 version=None, slow_s=0, compress=False, **how):
        listener = place.inside(
            lambda: socket.create_server(("127.0.0.1", PORT)))
        self.log_path = place.path(f"ssh.{len(place.started)}.log")
        # Whoever started the tests may ignore signals, and then ssh does, too
        self.ssh = place.start(
            ["env", "--default-signal=INT,TERM",
             *place.ssh(*["-C"] * compress, *options, "-E", self.log_path,
                        HOST, "command", tree=tree,
                        level="DEBUG2")],
            **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **how})
        listener.settimeout(PATIENCE_S)
        sock = listener.accept()[0]
        listener.close()
        self.peak = Peak(self.ssh.pid)
        self.server = self.peer = Hostile(sock, extensions, compress)
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

    def session(self, command):
        """The channel that there is, whose output is not read."""
        return self.channel

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

    def finish(self, status=0):
        """Peak memory, once ssh has ended with that status."""
        ended, peak = self.end()
        assert ended == status, self.log()
        return peak
