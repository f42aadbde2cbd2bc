"""More sessions of a connection, over ssh's private socket
(openssh/extra-session.h). The tests play the part of scp."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from loopback import (OURS, PORT, STOCK, place,         # noqa: F401
                      read, wait_until)

ENV = "SSH_SFTP_SESSIONS"
OPEN, REPORT, END = 1, 2, 3
PATIENCE_S = 300                        # of a busy machine
INIT = struct.pack(">IBI", 5, 1, 3)
MAX = 9                                 # ssh's own limit


def message(kind, length=4):
    return struct.pack(">II", length, kind)


class Session:
    """One sftp session, over a pair of descriptors."""

    def __init__(self, fdin, fdout):
        self.fdin, self.fdout = fdin, fdout

    def read(self, count):
        data = b""
        # A socket whose other end had more to read is reset
        with contextlib.suppress(ConnectionResetError):
            while len(data) < count and \
                    (more := os.read(self.fdin, count - len(data))):
                data += more
        return data

    def reply(self):
        """Type and body; None at the end."""
        head = self.read(5)
        if len(head) < 5:
            return None
        length, kind = struct.unpack(">IB", head)
        return kind, self.read(length - 1)

    def starts(self):
        """Whether it is a session of an sftp-server."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            os.write(self.fdout, INIT)
            return (self.reply() or (0,))[0] == 2
        return False

    def ask(self, kind, ident, body):
        data = struct.pack(">IBI", 5 + len(body), kind, ident) + body
        while data:
            data = data[os.write(self.fdout, data):]

    def works(self):
        """Whether it still answers: REALPATH of a name."""
        self.ask(16, 7, struct.pack(">I", 1) + b"/")
        return (self.reply() or (0,))[0] == 104

    def put(self, path, data, size=32768):
        """Writes a file, all of whose requests are in flight."""
        path = path.encode()
        self.ask(3, 1, struct.pack(">I", len(path)) + path +
                 struct.pack(">II", 2 | 8 | 16, 0))
        kind, body = self.reply()
        assert kind == 102, body
        handle = body[4:]
        for at in range(0, len(data), size):
            self.ask(6, 2, handle + struct.pack(">Q", at) + struct.pack(
                ">I", len(data[at:at + size])) + data[at:at + size])
        for _ in range(0, len(data), size):
            kind, body = self.reply()
            assert kind == 101 and body[4:8] == bytes(4)

    def close(self):
        for fd in {self.fdin, self.fdout}:
            os.close(fd)


class Scp:
    """ssh, started as scp starts it, with a socket for more sessions."""

    def __init__(self, place, *options, env=None, words=("-s", "sftp"),
                 level="INFO", fds=()):
        self.control, theirs = socket.socketpair()
        self.err_path = place.path("ssh.err")
        self.err = open(self.err_path, "w")
        if env is None:
            env = (f"{theirs.fileno()}:{os.fstat(theirs.fileno()).st_ino}")
        self.ssh = place.start(
            place.ssh(*options, *words[:-1], "root@127.0.0.1", words[-1],
                      level=level),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err,
            env=dict(os.environ, **{ENV: env}),
            pass_fds=[theirs.fileno(), *fds])
        theirs.close()
        self.control.settimeout(PATIENCE_S)
        self.main = Session(self.ssh.stdout.fileno(), self.ssh.stdin.fileno())
        self.extra = []

    def session(self):
        mine, theirs = socket.socketpair()
        self.control.sendall(message(OPEN))
        socket.send_fds(self.control, [b"\0"], [theirs.fileno()] * 2)
        theirs.close()
        self.extra.append(Session(os.dup(mine.fileno()), mine.detach()))
        return self.extra[-1]

    def report(self):
        """Time (us) held up, least RTT (us), sessions."""
        self.control.sendall(message(REPORT))
        data = b""
        while len(data) < 32:
            data += self.control.recv(32 - len(data))
        assert struct.unpack(">II", data[:8]) == (28, REPORT)
        return struct.unpack(">QQQ", data[8:])

    def is_closed(self):
        """Whether ssh has closed the socket."""
        with contextlib.suppress(ConnectionResetError):
            while data := self.control.recv(4096):
                assert data
        return True

    def end(self, status=0):
        """The first session ends, then ssh, with no word."""
        self.ssh.stdin.close()
        assert self.ssh.wait(PATIENCE_S) == status
        for session in self.extra:
            assert session.reply() is None
            session.close()
        self.ssh.stdout.close()
        self.control.close()
        self.err.close()
        assert [line for line in read(self.err_path).splitlines()
                if "Permanently added" not in line] == []


def sshd(place, tree=STOCK, *options):                   # noqa: F811
    return place.sshd(tree, f"Subsystem sftp {tree}/sftp-server", *options)


@pytest.mark.parametrize("most", [1, 2, 10, 100])
def test_as_many_as_the_server_allows(place, most):     # noqa: F811
    """MaxSessions, and ssh's own limit: what is too much ends at once, says
    nothing, and harms nobody."""
    sshd(place, STOCK, f"MaxSessions {most}")
    scp = Scp(place)
    assert scp.main.starts()
    sessions = [scp.session() for _ in range(MAX + 2)]
    assert [s.starts() for s in sessions] == \
        [i < min(most - 1, MAX) for i in range(MAX + 2)]
    assert scp.report()[2] == min(most, MAX + 1)
    assert scp.main.works()
    if most > 1:
        assert sessions[0].works()
        # One that has ended makes room
        sessions[0].close()
        scp.extra.remove(sessions[0])
        wait_until("the end of a session",
                   lambda: scp.report()[2] == min(most, MAX + 1) - 1)
        assert scp.session().starts()
    scp.end()


def test_a_server_of_ours(place):                       # noqa: F811
    """Its windows follow the path: there is one session, and it is told at once
    that no more follow."""
    sshd(place, OURS)
    scp = Scp(place, level="DEBUG1")
    assert scp.main.starts()
    assert scp.is_closed()
    assert read(scp.err_path).count(
        "equesting no-more-sessions@openssh.com") == 1
    assert scp.main.works()
    scp.ssh.stdin.close()
    assert scp.ssh.wait(PATIENCE_S) == 0


def test_the_same_command_and_environment(place):       # noqa: F811
    sshd(place, STOCK, "AcceptEnv BDP_*")
    scp = Scp(place, "-o", "SetEnv=BDP_TEST=x", words=(
        f"echo $BDP_TEST ${ENV}.; cat",))
    assert scp.main.read(4) == b"x .\n"
    for _ in range(3):
        assert scp.session().read(4) == b"x .\n"
    scp.end()


def test_forced_command(place):                         # noqa: F811
    sshd(place, STOCK, "ForceCommand internal-sftp")
    scp = Scp(place)
    assert scp.main.starts()
    assert scp.session().starts()
    scp.end()


LATER = """#!/bin/sh
[ ! -e "$0.used" ] || { %s; }
touch "$0.used"
exec %s/sftp-server
"""


@pytest.mark.parametrize("later", ["exit 3", "kill -9 $$",
                                   "echo no >&2; exit 1", "exec sleep 1000"])
def test_a_second_server_fails(place, later):           # noqa: F811
    """A restricted account. One that hangs does so until the first ends."""
    script = place.path("later")
    with open(script, "w") as f:
        f.write(LATER % (later, OURS))
    os.chmod(script, 0o755)
    place.sshd(STOCK, f"Subsystem sftp {script}")
    scp = Scp(place)
    assert scp.main.starts()
    session = scp.session()
    if "sleep" not in later:
        assert not session.starts()
    assert scp.main.works()
    scp.end()


def meets(place, interface):                            # noqa: F811
    """scp's ssh, paramiko's server that it meets, and its first session."""
    from hostile import paramiko
    listener = place.inside(
        lambda: socket.create_server(("127.0.0.1", PORT)))
    scp = Scp(place)
    server = paramiko.Transport(listener.accept()[0])
    listener.close()
    server.add_server_key(paramiko.Ed25519Key(filename=place.path("host")))
    server.start_server(server=interface)
    return scp, server, server.accept(PATIENCE_S)


def test_refused_by_the_server(place):                  # noqa: F811
    """The channel opens, and the subsystem is refused."""
    hostile = pytest.importorskip("hostile")

    class Once(hostile.Welcoming):
        def check_channel_subsystem_request(self, channel, name):
            self.slow_s += 1
            return self.slow_s == 1

    scp, server, first = meets(place, Once(0))
    session = scp.session()
    assert session.reply() is None
    first.sendall(b"alive")
    assert scp.main.read(5) == b"alive"
    first.send_exit_status(0)
    first.close()
    scp.end()
    server.close()


def test_an_open_that_is_not_answered(place):           # noqa: F811
    """A server that never says whether there is a session: ssh ends with the
    first one."""
    hostile = pytest.importorskip("hostile")
    held = threading.Event()

    class Mute(hostile.Welcoming):
        def check_channel_request(self, kind, chanid):
            if chanid != 0:
                held.set()
                over.wait(PATIENCE_S)
            return super().check_channel_request(kind, chanid)

        def check_channel_subsystem_request(self, channel, name):
            return True

    over = threading.Event()
    scp, server, first = meets(place, Mute(0))
    scp.session()
    assert held.wait(PATIENCE_S)
    # The thread that answers waits, so these go out by themselves.
    first.send_exit_status(0)
    first.close()
    try:
        scp.end()
    finally:
        over.set()
        server.close()


def test_the_connection_ends(place):                    # noqa: F811
    sshd(place)
    scp = Scp(place)
    assert scp.main.starts()
    session = scp.session()
    assert session.starts()
    for pid in place.processes("sshd-session"):
        os.kill(pid, signal.SIGKILL)
    assert scp.main.reply() is None
    assert session.reply() is None
    scp.ssh.stdin.close()
    assert scp.ssh.wait(PATIENCE_S) == 255


def test_ssh_dies(place):                               # noqa: F811
    sshd(place)
    scp = Scp(place)
    assert scp.main.starts()
    sessions = [scp.session() for _ in range(3)]
    assert all(s.starts() for s in sessions)
    scp.ssh.kill()
    assert all(s.reply() is None for s in (scp.main, *sessions))
    assert scp.is_closed()
    wait_until("the servers' ends", lambda: not place.processes("sftp-server"))


def test_scp_dies(place):                               # noqa: F811
    """All its descriptors close at once."""
    sshd(place)
    scp = Scp(place)
    assert scp.main.starts()
    for _ in range(3):
        assert scp.session().starts()
    scp.control.close()
    for session in scp.extra:
        session.close()
    scp.ssh.stdin.close()
    scp.ssh.stdout.close()
    scp.ssh.wait(PATIENCE_S)
    wait_until("the servers' ends", lambda: not place.processes("sftp-server"))


@pytest.mark.parametrize("message", [
    b"\0\0\0\4\0\0\0\0", b"\0\0\0\4\0\0\0\4", b"\0\0\0\4\377\377\377\377",
    b"\0\0\0\0", b"\0\0\0\5\0\0\0\1\0", b"\0\0\0\3\0\0\0",
    b"\377\377\377\377", b"\0\0\0\4\0\0\0\1x", b"\0\3\0\0" + bytes(0x30000)],
    ids=lambda m: m[:9].hex())
def test_hostile_messages(place, message):              # noqa: F811
    """ssh closes the socket, and that is all."""
    sshd(place)
    scp = Scp(place)
    assert scp.main.starts()
    assert scp.session().starts()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        scp.control.sendall(message)
    assert scp.is_closed()
    assert scp.main.works()
    assert scp.extra[0].works()
    scp.end()


@pytest.mark.parametrize("count", [1, 3, 100])
def test_another_number_of_descriptors(place, count):   # noqa: F811
    """They are closed, too."""
    sshd(place)
    scp = Scp(place)
    assert scp.main.starts()
    mine, theirs = socket.socketpair()
    scp.control.sendall(message(OPEN))
    socket.send_fds(scp.control, [b"\0"], [theirs.fileno()] * count)
    theirs.close()
    assert scp.is_closed()
    assert mine.recv(1) == b""
    assert scp.main.works()
    scp.end()


def test_descriptors_that_come_late(place):             # noqa: F811
    """ssh waits for them, and for nothing else meanwhile."""
    sshd(place)
    scp = Scp(place)
    assert scp.main.starts()
    mine, theirs = socket.socketpair()
    for byte in message(OPEN):
        scp.control.sendall(bytes([byte]))
        assert scp.main.works()
    time.sleep(1)
    assert scp.main.works()
    socket.send_fds(scp.control, [b"\0"], [theirs.fileno()] * 2)
    theirs.close()
    scp.extra.append(Session(os.dup(mine.fileno()), mine.detach()))
    assert scp.extra[0].starts()
    scp.end()


def test_reports_that_nobody_reads(place):              # noqa: F811
    """ssh keeps few, then closes the socket."""
    sshd(place)
    scp = Scp(place)
    assert scp.main.starts()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for _ in range(100000):
            scp.control.sendall(message(REPORT))
    assert scp.is_closed()
    assert scp.main.works()
    scp.end()


def test_sessions_that_still_send(place):               # noqa: F811
    """The first session ends while the others' servers send as much as they
    may. The connection has to go on for a forwarding."""
    script = place.path("later")
    with open(script, "w") as f:
        f.write(LATER % ("exec cat /dev/zero", STOCK))
    os.chmod(script, 0o755)
    place.sshd(STOCK, f"Subsystem sftp {script}")
    scp = Scp(place, "-L", f"{PORT + 1}:127.0.0.1:{PORT}")
    assert scp.main.starts()
    forwarded = place.inside(
        lambda: socket.create_connection(("127.0.0.1", PORT + 1)))
    assert forwarded.recv(4) == b"SSH-"
    for _ in range(5):
        assert scp.session().read(1 << 20) == bytes(1 << 20)
    scp.ssh.stdin.close()
    for session in scp.extra:
        while session.read(1 << 20):
            pass
        session.close()
    wait_until("the servers' ends", lambda: not place.processes("cat"))
    scp.extra.clear()
    forwarded.sendall(b"SSH-2.0-x\r\n")
    assert forwarded.recv(4096)
    forwarded.close()
    scp.end()


def test_a_report(place):                               # noqa: F811
    """The time that a window was used up, and no other."""
    sshd(place, STOCK)
    scp = Scp(place)
    assert scp.main.starts()
    session = scp.session()
    assert session.starts()
    before_us, rtt_us, sessions = scp.report()
    assert sessions == 2
    assert 0 < rtt_us < 1000000
    assert before_us < 1000000
    servers = place.processes("sftp-server")
    for pid in servers:
        os.kill(pid, signal.SIGSTOP)
    os.set_blocking(session.fdout, False)
    since_s = time.monotonic()

    def held_for_a_second():
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(session.fdout, struct.pack(">I", 32768) + bytes(32768))
        return scp.report()[0] - before_us > 1000000

    wait_until("a second without room", held_for_a_second)
    assert scp.report()[0] - before_us <= \
        (time.monotonic() - since_s) * 1000000
    for pid in servers:
        os.kill(pid, signal.SIGCONT)
    scp.end()


def test_while_keys_are_renewed(place, tmp_path):       # noqa: F811
    """Sessions are opened and carry data while the connection rekeys."""
    sshd(place, STOCK)
    scp = Scp(place, "-o", "RekeyLimit=200K")
    assert scp.main.starts()
    data = os.urandom(3 << 20)
    sessions = [scp.main]
    for i in range(5):
        sessions[-1].put(str(tmp_path / f"file{i}"), data)
        sessions.append(scp.session())
        assert sessions[-1].starts()
    for i in range(5):
        assert (tmp_path / f"file{i}").read_bytes() == data
    scp.end()


def test_through_a_master(place):                       # noqa: F811
    """A client of a shared connection doesn't take part: there is no answer,
    and the first session works."""
    sshd(place)
    path = place.path("master")
    place.start(place.ssh("-N", "-o", "ControlMaster=yes", "-o",
                          f"ControlPath={path}", "root@127.0.0.1"))
    wait_until("the master", lambda: os.path.exists(path))
    scp = Scp(place, "-o", f"ControlPath={path}")
    assert scp.main.starts()
    session = scp.session()
    scp.control.sendall(message(REPORT))
    assert scp.main.works()
    scp.control.settimeout(1)
    with pytest.raises(socket.timeout):
        scp.control.recv(1)
    scp.end()
    assert session.fdin


@pytest.mark.parametrize("option", ["ControlMaster=yes", "ControlPersist=yes"])
def test_as_a_master(place, option):                    # noqa: F811
    sshd(place)
    path = place.path("master")
    scp = Scp(place, "-o", "ControlMaster=auto", "-o", option, "-o",
              f"ControlPath={path}")
    assert scp.main.starts()
    assert scp.is_closed()
    assert scp.main.works()
    scp.ssh.stdin.close()
    assert scp.ssh.wait(PATIENCE_S) == 0


def test_no_more_sessions(place):                       # noqa: F811
    """Stock says so at once; we, once no more will be asked for."""
    sshd(place)
    said = "equesting no-more-sessions@openssh.com"
    scp = Scp(place, level="DEBUG1")
    assert scp.main.starts()
    assert scp.session().starts()
    assert said not in read(scp.err_path)
    scp.control.sendall(message(END))
    assert scp.is_closed()
    assert read(scp.err_path).count(said) == 1
    assert scp.main.works()
    assert scp.extra[0].works()
    scp.ssh.stdin.close()
    assert scp.ssh.wait(PATIENCE_S) == 0
    done = place.run(place.ssh("root@127.0.0.1", "true", level="DEBUG1"))
    assert done.stderr.count(said) == 1


GARBAGE = ["", "x", "7", "3:", "3:1", "-1:1", "99999999999:1", "3:1x",
           "0:{inode}", "{fd}:1", "{fd}", "{fd}:{inode} ", "{fd}:-{inode}",
           "{file}:{file_inode}", "{pipe}:{pipe_inode}",
           "{datagram}:{datagram_inode}", "{tcp}:{tcp_inode}"]


@pytest.mark.parametrize("value", GARBAGE)
def test_an_odd_variable(place, tmp_path, value):       # noqa: F811
    """It is ignored, and nobody else's descriptor is touched."""
    sshd(place)
    with contextlib.ExitStack() as stack:
        near, far = socket.socketpair()
        fds = {"fd": far.fileno(), "file": os.open(tmp_path, os.O_RDONLY)}
        fds["pipe"], writer = os.pipe()
        pair = socket.socketpair(type=socket.SOCK_DGRAM)
        fds["datagram"] = pair[0].fileno()
        server = socket.create_server(("127.0.0.1", 0))
        tcp = socket.create_connection(server.getsockname())
        fds["tcp"] = tcp.fileno()
        for s in (near, far, *pair, server, tcp):
            stack.enter_context(s)
        names = dict(fds)
        for name, fd in fds.items():
            names[name + "_inode"] = os.fstat(fd).st_ino
        names["inode"] = names["fd_inode"]
        scp = Scp(place, env=value.format(**names), fds=fds.values())
        os.close(fds["file"]), os.close(fds["pipe"]), os.close(writer)
        assert scp.main.starts()
        assert scp.is_closed()
        # What is written to these is left to whoever they belong to
        near.sendall(message(END))
        pair[1].send(message(END))
        assert scp.main.works()
        assert scp.main.works()
        scp.end()
        assert far.recv(100) == message(END)
        assert pair[0].recv(100) == message(END)


def test_children_have_neither(place):                  # noqa: F811
    """Neither the variable nor the descriptor is for what ssh starts."""
    sshd(place)
    looks = place.path("looks")
    hop = place.ssh("-W", f"127.0.0.1:{PORT}", "root@127.0.0.1")
    with open(looks, "w") as f:
        f.write(f"""#!/bin/sh
{{ env | grep {ENV}; find /proc/$$/fd -lname 'socket:*'; }} > "$0.$1"
[ "$1" = local ] || exec {" ".join(hop)}
""")
    os.chmod(looks, 0o755)
    scp = Scp(place, "-o", "PermitLocalCommand=yes", "-o",
              f"LocalCommand={looks} local", "-o",
              f"ProxyCommand={looks} proxy")
    assert scp.main.starts()
    assert scp.session().starts()
    assert read(looks + ".local") == ""
    # ssh and ProxyCommand are connected by a socketpair or pipes
    assert ENV not in read(looks + ".proxy")
    assert all(line.endswith(("/0", "/1"))
               for line in read(looks + ".proxy").splitlines())
    scp.end()
