"""How a session ends that doesn't end as it should: what has come whole, with
its exit status, is a success, as with stock OpenSSH; what was lost is not."""

import contextlib
import fcntl
import os
import pty
import signal
import socket
import struct
import subprocess
import termios

import pytest

from hostile import (KIB, MIB, MSG_DATA, MSG_REQUEST, PACKET, PATIENCE_S,
                     Client, Raw, Server, is_full)
from loopback import HOST, OURS, STOCK, wait_until

MSG_EOF = 96
SAID = b"all of it\n"
OPENSSH, OTHER = "SSH-2.0-OpenSSH_10.0", "SSH-2.0-other"


def says(client, data=SAID, eof=True, status=0):
    """The server's output of a command, and how that has ended."""
    to = client.channel.remote_chanid
    for at in range(0, len(data), 32 * KIB):
        client.server.say(MSG_DATA, to, data[at:at + 32 * KIB])
    if status is not None:
        client.server.say(MSG_REQUEST, to, b"exit-status", Raw(b"\0"),
                          status)
    if eof:
        client.server.say(MSG_EOF, to)


def drops(client):
    """The connection ends, as if the server's process had. It takes what ssh
    still sends: a reset for that would race with what ssh has yet to read."""
    client.server.listening.clear()
    client.server.sock.shutdown(socket.SHUT_WR)


def end(client):
    if client.ssh.stdin:
        with contextlib.suppress(BrokenPipeError):
            client.ssh.stdin.close()
    status = client.ssh.wait(PATIENCE_S)
    client.server.listening.set()
    client.server.close()
    client.peak.stop()
    return status


@pytest.mark.parametrize("tree, version, eof, said, status", [
    (STOCK, OTHER, False, 0, 0),
    (OURS, OTHER, False, 0, 0),
    (OURS, OTHER, True, 0, 0),
    (OURS, OTHER, False, 3, 3),
    (OURS, OTHER, True, None, 255),
    (OURS, OPENSSH, True, 0, 0),
    # OpenSSH sends the status first, then what is left of the output
    (OURS, OPENSSH, False, 0, 255)])
def test_lost_connection_is_an_error_unless_all_came(place, tree, version, eof,
                                                     said, status):
    client = Client(place, tree, version=version)
    says(client, eof=eof, status=said)
    drops(client)
    assert client.ssh.stdout.read() == SAID
    assert end(client) == status, client.log()


def left_with_output(place, data=bytes(MIB)):
    """ssh has the whole output, whose reader has stopped, and no connection."""
    client = Client(place)
    says(client, data)
    drops(client)
    wait_until("the end of the connection",
               lambda: "bytes left" in client.log())
    return client


def test_lagging_reader_gets_what_came(place):
    """Though nothing comes any more."""
    data = os.urandom(MIB)
    client = left_with_output(place, data)
    assert client.ssh.poll() is None
    assert client.ssh.stdout.read() == data
    assert end(client) == 0, client.log()


def test_signal_ends_the_wait_for_a_reader(place):
    """Stock OpenSSH doesn't wait, and its output is cut off with status 0."""
    client = left_with_output(place)
    client.ssh.send_signal(signal.SIGTERM)
    assert end(client) == 255


def test_reader_that_goes_is_no_error(place):
    client = left_with_output(place)
    client.ssh.stdout.close()
    assert end(client) == 0, client.log()


def closed(client):
    """The session's end, as it should be."""
    client.channel.close()
    return end(client)


@pytest.mark.parametrize("tree", [STOCK, OURS])
def test_closed_terminal_is_no_error(place, tree):
    """EIO is no error of the command's."""
    leader, follower = pty.openpty()
    client = Client(place, tree, stdout=follower)
    os.close(follower)
    os.close(leader)
    says(client)
    assert closed(client) == 0, client.log()


def in_background():
    """By nohup. Its standard input is its terminal, whose foreground is a
    group of processes that has gone: a read is EIO."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.setpgid(pid, pid)
    os.tcsetpgrp(0, pid)
    os.waitpid(pid, 0)


@pytest.mark.parametrize("tree", [STOCK, OURS])
@pytest.mark.parametrize("gone", [False, True])
def test_unreadable_terminal_is_no_error(place, tree, gone):
    """EIO (or EOF, if it has gone) is no error of the command's."""
    leader, follower = pty.openpty()
    client = Client(place, tree, stdin=follower, preexec_fn=in_background)
    os.close(follower)
    os.write(leader, b"input\n")
    if gone:
        os.close(leader)
    wait_until("EOF", lambda: MSG_EOF in client.server.heard)
    if not gone:
        os.close(leader)
        assert "Input/output error" in client.log()
    says(client)
    assert client.ssh.stdout.read(len(SAID)) == SAID
    assert closed(client) == 0, client.log()


def test_lost_output_is_an_error(place):
    """In whatever way the connection ends then."""
    for ends in (closed, lambda c: drops(c) or end(c)):
        with open("/dev/full", "wb") as full:
            client = Client(place, stdout=full)
        says(client)
        wait_until("the error", lambda: "write failed" in client.log())
        assert ends(client) == 255
        assert "write to standard output: No space left" in client.log()


def test_lost_output_ends_only_its_session(place):
    """The master writes for its clients. They end as others do, stock's too."""
    place.sshd()
    control = place.path("control")
    place.start(place.ssh("-M", "-N", "-S", control, HOST),
                stdin=subprocess.DEVNULL)
    wait_until("the master", lambda: os.path.exists(control))
    for tree in (STOCK, OURS):
        argv = place.ssh("-S", control, HOST, "echo", "much",
                         tree=tree)
        with open("/dev/full", "wb") as full:
            client = place.start(argv, stdin=subprocess.DEVNULL, stdout=full,
                                 stderr=subprocess.PIPE)
        err = client.communicate(timeout=PATIENCE_S)[1]
        assert client.returncode == 255, err
        assert b"write to standard output: No space left" in err
        done = place.run(argv)
        assert (done.returncode, done.stdout, done.stderr) == \
            (0, "much\n", "")


def test_reader_that_resets_is_no_error(place):
    """It has gone, and a socket tells so."""
    listener = socket.create_server(("127.0.0.1", 0))
    mine = socket.create_connection(listener.getsockname())
    reader = listener.accept()[0]
    client = Client(place, stdout=mine)
    mine.close()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                      struct.pack("ii", 1, 0))
    reader.close()
    listener.close()
    says(client)
    assert closed(client) == 0, client.log()
    assert "write failed" in client.log()


# Memory

def receive(channel, n):
    """Reads up to n bytes. Returns how many came before the channel's end."""
    came = 0
    while came < n:
        data = channel.recv(min(n - came, 64 * KIB))
        if not data:
            break
        came += len(data)
    return came


MUCH = 8 * MIB
# Nothing that was freed is left for a read while a packet finds no room.
KEEPS_NONE = ("env", "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4096")


def test_no_memory_ends_only_its_channel(place):
    """The lost one has no exit status."""
    go = place.path("go")
    server = Server(place, prefix=KEEPS_NONE)
    pid = server.peak.pid
    server.client.takes(512 * MIB, PACKET)
    first = server.session(f"head -c {4 * MUCH} /dev/zero")
    lost = server.session(
        f"until [ -e {go} ]; do sleep 0.1; done; cat /dev/zero")
    # All that the first one may hold it has
    server.client.listening.clear()
    wait_until("the network to be full", lambda: is_full(place, pid, "head"))
    place.limit(pid, 0)
    open(go, "w").close()
    wait_until("the loss", lambda: "read: memory allocation failed" in
               server.log())
    place.limit(pid, None)
    server.client.listening.set()
    assert receive(first, 4 * MUCH) == 4 * MUCH
    assert first.recv_exit_status() == 0
    assert receive(lost, MUCH) < MUCH
    assert lost.recv_exit_status() == -1
    assert server.works()
    server.finish()
