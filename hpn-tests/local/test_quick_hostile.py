"""QuickStart and servers that lie: whatever answers what ssh sent early, ssh
ends by itself, says why, and runs no command twice."""

import contextlib
import filecmp
import os
import socket
import subprocess
import threading
import time

import pytest

from hostile import (BOUNDED, MSG_EXT_INFO, PACKET, PATIENCE_S, WINDOW, Hostile,
                     Raw, Server, ext_info, paramiko)
from loopback import OURS, PORT, place, read, wait_until    # noqa: F401

HOST = "root@127.0.0.1"
SERVICE, ACCEPT, REQUEST, FAILURE, SUCCESS = 5, 6, 50, 51, 52
OPEN, CONFIRM, REFUSE, ADJUST, DATA, EOF, CLOSE, CHANNEL_REQUEST = \
    90, 91, 92, 93, 94, 96, 97, 98
UNIMPLEMENTED, IGNORE = 3, 2
GLOBAL_REQUEST, REQUEST_FAILURE = 80, 82
ALGORITHMS = (b"server-sig-algs", b"ssh-ed25519")
QUICK = ext_info(*ALGORITHMS, BOUNDED, b"0")
# Without one that paramiko has the early share would be a wrong guess
QUICKLY = ["-o", "QuickStart=yes",
           "-o", "KexAlgorithms=curve25519-sha256@libssh.org"]


class Liar(Hostile):
    """It notes what it hears since the keys, and says what it is told to."""

    def __init__(self, sock, extensions):
        super().__init__(sock, extensions)
        self.local_version = "SSH-2.0-OpenSSH_10.0"
        self.said = []

    def listen(self):
        message, m = super().listen()
        if message in (SERVICE, REQUEST, OPEN, DATA, EOF, CLOSE,
                       CHANNEL_REQUEST, GLOBAL_REQUEST):
            self.said.append((message, m.asbytes()))
            return IGNORE, m
        return message, m

    def heard_of(self, message):
        return [body for kind, body in self.said if kind == message]


@pytest.fixture
def quick(place):                                       # noqa: F811
    """quick(extensions): ssh, which has logged in here before, and the liar
    that it meets now."""
    os.mkdir(place.path(".ssh"), 0o700)
    sshd = place.sshd()
    options = [*QUICKLY, HOST, "command"]
    done = place.run(place.ssh(*QUICKLY, HOST, "true"))
    assert done.returncode == 0, done.stderr
    sshd.terminate()
    sshd.wait()
    found = []

    def meet(extensions=QUICK, *more):
        listener = place.inside(
            lambda: socket.create_server(("127.0.0.1", PORT)))
        log = place.path("ssh.log")
        ssh = place.start(["env", "--default-signal=INT,TERM",
                           *place.ssh("-E", log, *more, *options,
                                      level="DEBUG2")],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ssh.log = log
        listener.settimeout(PATIENCE_S)
        liar = Liar(listener.accept()[0], extensions)
        listener.close()
        liar.add_server_key(paramiko.Ed25519Key(filename=place.path("host")))
        liar.start_server(server=paramiko.ServerInterface())
        found.append(liar)
        return ssh, liar

    yield meet
    for liar in found:
        liar.close()


def early(liar):
    """The session has come with the signature."""
    wait_until("a session", lambda: liar.heard_of(CHANNEL_REQUEST))
    assert [kind for kind, _ in liar.said] == [SERVICE, REQUEST, OPEN,
                                              CHANNEL_REQUEST]
    assert b"publickey" in liar.heard_of(REQUEST)[0]
    return liar


def accept(liar):
    liar.say(ACCEPT, b"ssh-userauth")


def confirm(liar, mine=0, theirs=0):
    liar.say(CONFIRM, mine, theirs, WINDOW, 1 << 15)


def status(liar, number=0):
    liar.say(CHANNEL_REQUEST, 0, b"exit-status", Raw(b"\0"), number)


def ends(ssh, liar, word, expected=255):
    """With an exit status, and a word of the log."""
    ssh.stdin.close()
    assert ssh.wait(PATIENCE_S) == expected, read(ssh.log)
    assert word in read(ssh.log), read(ssh.log)


def test_honest(quick):
    ssh, liar = quick()
    accept(early(liar))
    liar.say(SUCCESS)
    confirm(liar)
    status(liar, 3)
    liar.say(CLOSE, 0)
    ends(ssh, liar, "round trips saved", 3)


def before_the_login(liar):
    accept(liar)
    confirm(liar)


def data_before_the_login(liar):
    accept(liar)
    liar.say(DATA, 0, b"x" * 1000)


def twice(liar):
    accept(liar)
    liar.say(SUCCESS)
    confirm(liar)
    confirm(liar, 0, 5)


def of_another(liar):
    accept(liar)
    liar.say(SUCCESS)
    confirm(liar, 7)


def data_before_it_is_confirmed(liar):
    accept(liar)
    liar.say(SUCCESS)
    for _ in range(3000):
        liar.say(DATA, 0, b"x" * 1000)
    liar.say(EOF, 0)
    liar.say(CLOSE, 0)
    liar.say(REFUSE, 0, 1, b"no", b"")


def refused(liar):
    accept(liar)
    liar.say(SUCCESS)
    liar.say(REFUSE, 0, 1, b"no sessions here", b"")


def refused_and_confirmed(liar):
    accept(liar)
    liar.say(SUCCESS)
    liar.say(REFUSE, 0, 1, b"no sessions here", b"")
    confirm(liar)


def no_success(liar):
    accept(liar)
    for _ in range(20):
        liar.say(FAILURE, b"publickey", Raw(b"\0"))


def partly(liar):
    accept(liar)
    for _ in range(20):
        liar.say(FAILURE, b"publickey,password", Raw(b"\1"))
    liar.sock.close()


def without_service(liar):
    liar.say(FAILURE, b"publickey", Raw(b"\0"))
    liar.say(SUCCESS)


def success_at_once(liar):
    liar.say(SUCCESS)
    liar.say(SUCCESS)
    confirm(liar)
    liar.sock.close()


def unimplemented(liar):
    for number in range(3, 20):
        liar.say(UNIMPLEMENTED, number)
    liar.sock.close()


def refused_then_confirmed(liar):
    accept(liar)
    liar.say(FAILURE, b"publickey", Raw(b"\0"))
    liar.say(SUCCESS)
    confirm(liar)
    confirm(liar)


LIES = {
    before_the_login: "bad message during authentication: type 91",
    data_before_the_login: "bad message during authentication: type 94",
    without_service: "bad message during authentication: type 51",
    success_at_once: "bad message during authentication: type 52",
    twice: "open confirmation for non-opening channel 0",
    of_another: "open confirmation packet referred to nonexistent channel 7",
    data_before_it_is_confirmed: "open failed",
    refused: "open failed: administratively prohibited: no sessions here",
    refused_and_confirmed: "open failed",
    no_success: "Permission denied (publickey)",
    refused_then_confirmed: "Permission denied (publickey)",
    partly: "Authenticated using \"publickey\" with partial success",
    unimplemented: "closed by",
}


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_lies(quick, lie):
    ssh, liar = quick()
    early(liar)
    with contextlib.suppress(EOFError, OSError, paramiko.SSHException):
        lie(liar)
    ends(ssh, liar, LIES[lie])
    assert ssh.stdout.read() == b""


def test_ext_info_too_late(quick):
    """Without algorithms it is stock's login, in which none may follow."""
    ssh, liar = quick(ext_info(BOUNDED, b"0"))
    wait_until("the service", lambda: liar.said)
    accept(liar)
    wait_until("none", lambda: liar.heard_of(REQUEST))
    with contextlib.suppress(EOFError, OSError, paramiko.SSHException):
        liar.say(MSG_EXT_INFO, Raw(QUICK))
    ends(ssh, liar, "bad message during authentication: type 7")
    assert not liar.heard_of(OPEN)


@pytest.mark.parametrize("goes", [False, True])
def test_proof_that_never_comes(quick, goes):
    """ssh waits some seconds for the proof of new host keys, and ends as it
    would have. A server that goes meanwhile changes nothing."""
    new = paramiko.ECDSAKey.generate()
    ssh, liar = quick(QUICK, "-o", "UpdateHostKeys=yes")
    accept(early(liar))
    liar.say(SUCCESS)
    liar.say(GLOBAL_REQUEST, b"hostkeys-00@openssh.com", Raw(b"\0"),
             liar.get_server_key().asbytes(), new.asbytes())
    confirm(liar)
    status(liar, 3)
    liar.say(CLOSE, 0)
    if goes:
        wait_until("the wait", lambda: "waiting for the proof" in
                   read(ssh.log))
        liar.sock.close()
    ends(ssh, liar, "waiting for the proof", 3)
    assert "closed by" not in read(ssh.log)


# Through a ControlMaster: the channel that was just opened

LAST = 0xffffffff


@pytest.mark.parametrize("opened", [
    [], [b"session", b"session"], [b"session", b"unknown"]],
    ids=["none", "refused", "another"])
def test_last_channel_that_is_none(place, opened):      # noqa: F811
    """A command for a session that the server did not open runs nowhere: not in
    the session before it either."""
    server, ran = Server(place, options=["MaxSessions 1"]), place.path("ran")
    for number, kind in enumerate(opened):
        server.client.say(OPEN, kind, number, WINDOW, PACKET)
    server.client.say(CHANNEL_REQUEST, LAST, b"exec", Raw(b"\1"),
                      f"touch {ran}".encode())
    assert server.client.is_answered()
    assert "no session was opened: exec ignored" in server.log()
    server.finish()
    assert not os.path.exists(ran)


def test_last_channel(place):                           # noqa: F811
    server, ran = Server(place), place.path("ran")
    server.client.say(OPEN, b"session", 0, WINDOW, PACKET)
    server.client.say(CHANNEL_REQUEST, LAST, b"exec", Raw(b"\1"),
                      f"touch {ran}".encode())
    wait_until("the command", lambda: os.path.exists(ran))
    server.finish()


def number_of(liar, n):
    """The number that the client gave the channel of its n-th session."""
    name = 4 + len("session")
    return int.from_bytes(liar.heard_of(OPEN)[n][name:name + 4], "big")


def test_last_channel_not_understood(quick, place):     # noqa: F811
    """A server of ours that does not know such requests gets none."""
    path = place.path("c")
    ssh, liar = quick(QUICK, "-M", "-S", path)
    wait_until("the signature", lambda: liar.heard_of(REQUEST))
    accept(liar)
    liar.say(SUCCESS)
    wait_until("the session", lambda: liar.heard_of(OPEN))
    confirm(liar, number_of(liar, 0))
    wait_until("the question", lambda: [
        m for m in liar.heard_of(GLOBAL_REQUEST) if b"last-channel" in m])
    liar.say(REQUEST_FAILURE)
    wait_until("the command", lambda: liar.heard_of(CHANNEL_REQUEST))
    wait_until("the master", lambda: os.path.exists(path))
    other = place.start(place.ssh("-S", path, HOST, "another"),
                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until("its session", lambda: len(liar.heard_of(OPEN)) == 2)
    time.sleep(0.5)
    assert len(liar.heard_of(CHANNEL_REQUEST)) == 1
    confirm(liar, number_of(liar, 1), 1)
    wait_until("its command", lambda: len(liar.heard_of(CHANNEL_REQUEST)) == 2)
    assert b"another" in liar.heard_of(CHANNEL_REQUEST)[1]
    for process in (other, ssh):
        process.kill()
        process.wait()


def scp(place, source, target):                         # noqa: F811
    return [f"{OURS}/scp", "-S", f"{OURS}/ssh", "-F", "none", "-P", str(PORT),
            "-i", place.path("user"), "-o", "IdentitiesOnly=yes",
            "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
            "-o", f"UserKnownHostsFile={place.path('known_hosts')}", *QUICKLY,
            place.path(source), f"{HOST}:{place.path(target)}"]


class Counting:
    """A server that counts the data of scp's session, and hands it to an
    sftp-server."""

    def __init__(self, liar):
        self.liar, self.count, self.taken = liar, 0, 0
        self.confirmed = threading.Event()
        self.server = subprocess.Popen(
            [f"{OURS}/sftp-server", "-e"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        self.confirmed.wait()
        while data := os.read(self.server.stdout.fileno(), 1 << 15):
            self.liar.say(DATA, 0, data)

    def take(self):
        """All that comes, until nothing has come for a while."""
        quiet_s = time.monotonic()
        while time.monotonic() < quiet_s + 0.3:
            said = self.liar.heard_of(DATA)[self.taken:]
            for body in said:
                self.taken += 1
                self.count += len(body) - 8
                self.server.stdin.write(body[8:])
                quiet_s = time.monotonic()
            self.server.stdin.flush()
            time.sleep(0.01)
        return self.count


@pytest.mark.parametrize("window", [0, 1000, 40_000, 100_000])
def test_window_of_early_data(place, window):           # noqa: F811
    """What goes early is taken off the window that the server grants later, and
    off the next ones if that is too small."""
    os.mkdir(place.path(".ssh"), 0o700)
    with open(place.path("large"), "wb") as f:
        f.write(os.urandom(300_000))
    sshd = place.sshd(OURS, f"Subsystem sftp {OURS}/sftp-server")
    for _ in range(2):
        done = place.run(scp(place, "large", "copy"))
        assert done.returncode == 0, done.stderr
    sshd.terminate()
    sshd.wait()
    listener = place.inside(lambda: socket.create_server(("127.0.0.1", PORT)))
    listener.settimeout(PATIENCE_S)
    client = place.start(scp(place, "large", "again"),
                         stderr=subprocess.PIPE)
    liar = Liar(listener.accept()[0], QUICK)
    listener.close()
    liar.add_server_key(paramiko.Ed25519Key(filename=place.path("host")))
    liar.start_server(server=paramiko.ServerInterface())
    wait_until("early data", lambda: liar.heard_of(DATA))
    counting = Counting(liar)
    early_bytes = counting.take()
    assert 32_000 < early_bytes <= 36 * 1024
    accept(liar)
    liar.say(SUCCESS)
    liar.say(CONFIRM, 0, 0, window, 1 << 15)
    counting.confirmed.set()
    granted = window
    end_s = time.monotonic() + PATIENCE_S
    while not liar.heard_of(EOF) and not liar.heard_of(CLOSE):
        assert counting.take() <= max(granted, early_bytes)
        assert time.monotonic() < end_s
        if counting.count == max(granted, early_bytes):
            granted += 50_000
            liar.say(ADJUST, 0, 50_000)
    status(liar)
    liar.say(CLOSE, 0)
    assert client.wait(PATIENCE_S) == 0, client.stderr.read()
    assert filecmp.cmp(place.path("large"), place.path("again"), shallow=False)
    counting.server.stdin.close()
    counting.server.wait(PATIENCE_S)
    liar.close()
