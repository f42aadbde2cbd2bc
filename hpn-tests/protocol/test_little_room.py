"""Peers that take packets of no byte, of one, of two, or of any size, into
windows of next to nothing. What they take is sent, the rest waits, and that
costs no time of the CPU."""

import os
import signal
import threading

import pytest

from hostile import (MSG_DATA, PATIENCE_S, WINDOW, Client, Raw, Server, packed)
from loopback import children, stands_still, wait_until

PACKETS = (0, 1, 2, 2 ** 32 - 1)
WINDOWS = (0, 1, 2, 3)
SAID = b"abcd"
SFTP_INIT = packed(5, Raw(b"\1"), 3)


def takes_no_more(peer, pid, channel, window, packet):
    """What fits has come, and with more that waits the peer goes on. Its
    process waits, too."""
    fits = window if packet else 0
    wait_until("what fits", lambda: len(channel.in_buffer) >= fits, PATIENCE_S)
    # In the first one's turn what was said may just have been read
    for _ in range(2):
        assert peer.is_answered(PATIENCE_S), (window, packet)
    wait_until("it to stand still", lambda: stands_still(pid), PATIENCE_S)
    assert len(channel.in_buffer) == fits
    if fits:
        assert channel.recv(fits) == SAID[:fits]


def test_sshd_without_room_does_not_spin(place):
    server = Server(place)
    for window in WINDOWS:
        for packet in PACKETS:
            said = place.path(f"said.{window}.{packet}")
            server.client.takes(window, packet)
            channel = server.session(
                f"printf {SAID.decode()}; touch {said}; cat")
            wait_until("the command", lambda: os.path.exists(said))
            takes_no_more(server.client, server.peak.pid, channel, window,
                          packet)
            # The one channel there is has several packets in a turn
            channel.close()
            wait_until("the channel's end", lambda: server.log().count(
                ": free: server-session") == len(server.channels))
    server.client.takes(WINDOW, 2 ** 15)
    assert server.works()
    server.finish()


@pytest.mark.parametrize("end", ["the client has gone", "it says no more"])
def test_sshd_without_room_ends(place, end):
    """Its only command is sftp without writing, and what that answers has no
    room: the process ends as it should."""
    server = Server(place, options=[
        "Subsystem sftp internal-sftp", "ForceCommand internal-sftp -R",
        "ClientAliveCountMax 1",
        *["ClientAliveInterval 10"] * (end == "it says no more")])
    server.client.takes(WINDOW, 0)
    channel = server.client.open_session()
    channel.invoke_subsystem("sftp")
    server.client.say(MSG_DATA, channel.remote_chanid, SFTP_INIT)
    wait_until("the answer", lambda: children(server.peak.pid) and all(
        stands_still(pid) for pid in children(server.peak.pid)))
    for _ in range(2):
        assert server.client.is_answered(PATIENCE_S)
    server.client.listening.clear()
    if end == "the client has gone":
        server.client.sock.close()
    wait_until("the connection's processes to go",
               lambda: set(place.processes()) == server.before, PATIENCE_S)
    server.client.listening.set()
    server.peak.stop()
    assert "terminated by signal" not in server.log()


@pytest.mark.parametrize("packet", PACKETS)
@pytest.mark.parametrize("window", WINDOWS)
def test_ssh_without_room_does_not_spin(place, window, packet):
    client = Client(place, takes=(window, packet))
    client.ssh.stdin.write(SAID)
    client.ssh.stdin.flush()
    takes_no_more(client.server, client.ssh.pid, client.channel, window,
                  packet)
    assert client.works()
    assert client.end()[0] == 0


LONGEST = 256 << 10                     # bytes of data: what is read ahead
MUCH = 32 << 20


@pytest.mark.parametrize("window", [MUCH, 2 ** 32 - 1])
@pytest.mark.parametrize("end", [Server, Client], ids=["sshd", "ssh"])
def test_packets_are_no_longer_than_what_is_read(place, end, window):
    """Much data for who takes packets of 4 GiB: all of it arrives. No packet
    has more than is read ahead; stock sends some of several MiB."""
    here = end(place, takes=(window, 2 ** 32 - 1))
    channel = here.session(f"head -c {MUCH} /dev/zero")
    if end is Client:
        threading.Thread(target=here.ssh.stdin.write, args=(bytes(MUCH),),
                         daemon=True).start()
    received = 0
    while received < MUCH:
        received += len(channel.recv(1 << 20) or pytest.fail("cut short"))
    assert 2 ** 15 <= here.peer.longest <= LONGEST
    here.peer.takes(WINDOW, 2 ** 15)
    assert here.works()
    here.finish()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_ssh_without_room(place, signum):
    client = Client(place, takes=(WINDOW, 0))
    client.ssh.stdin.write(SAID)
    client.ssh.stdin.flush()
    for _ in range(2):
        assert client.server.is_answered(PATIENCE_S)
    client.ssh.send_signal(signum)
    assert client.ssh.wait(PATIENCE_S) == 255
    assert client.end()[0] == 255
