"""Peers that mean ill, as clients of our sshd and as servers of our ssh: it
takes no more memory than it has to, ends the connection with one clear line
or goes on, and serves the next one as ever."""

import functools
import os
import re
import signal
import struct
import threading
import time

import pytest

from hostile import (BOUNDED, KIB, MIB, MSG_DATA, MSG_EXT_INFO, MSG_FAILURE,
                     MSG_IGNORE, MSG_PONG, MSG_REQUEST_FAILURE, MSG_SUCCESS,
                     MSG_WINDOW_ADJUST, PACKET, PATIENCE_S, PING, STOPPED,
                     WINDOW, ZERO, Client, Raw, Server, ext_info, fill,
                     is_full, lie, packed, send)
from loopback import OURS, STOCK, wait_until

MORE_THAN_STOCK_KIB = 8 * KIB

# How late a peer answers, so that the path looks long. A slow machine needs
# more. If pings are answered after 5 s, ssh's window does not get there.
LATE_S = (1, 2, 4)


def late(answer_s):
    """Answers each probe answer_s seconds after it came."""
    return lambda answer: threading.Timer(answer_s, answer).start()


ENDS = pytest.mark.parametrize("end", [Server, Client], ids=["sshd", "ssh"])


def stock_and_ours(place, attack, end=Server, status=0):
    """The attack on each: no more memory than stock's, and some."""
    peaks = []
    for tree in (STOCK, OURS):
        here = end(place, tree)
        attack(here)
        peaks.append(here.finish(status))
    print("peak KiB, stock and ours:", *peaks)
    assert peaks[1] <= peaks[0] + MORE_THAN_STOCK_KIB


# Both ends

@ENDS
def test_data_past_the_window_ends_the_connection(place, end):
    def attack(here):
        to = here.session(STOPPED).remote_chanid
        assert here.peer.send_until_it_ends(
            (MSG_DATA, to, ZERO) for _ in range(64 * MIB // PACKET))
        wait_until("the word", lambda: "peer ignored channel window" in
                   here.log())

    stock_and_ours(place, attack, end, 255)


@ENDS
def test_empty_data_forgives_no_excess(place, end):
    """(With stock it does, and the queue grows to 128 MiB.)"""
    here = end(place)
    to = here.session(STOPPED).remote_chanid
    assert here.peer.send_until_it_ends(
        (MSG_DATA, to, ZERO if i % 5 else b"") for i in range(1000))
    assert here.finish(255) <= here.peak.before + MORE_THAN_STOCK_KIB


@ENDS
def test_adjusts_of_no_channel_are_ignored(place, end):
    """Those of all sizes, on channels that are closed or never were."""
    here, closed = end(place), 1
    if end is Server:
        here.session("cat")
        channel = here.session("true")
        assert channel.recv_exit_status() == 0
        closed = channel.remote_chanid
        channel.close()
        wait_until("the channel's end",
                   lambda: f"channel {closed}: free" in here.log())
    for i in range(1000):
        for channel in (closed, 1000 + i, 0x7fffffff):
            here.peer.say(MSG_WINDOW_ADJUST, channel,
                          (0, 1, WINDOW, 0xffffffff)[i % 4])
    assert here.works()
    assert here.log().count("window adjust for non-open channel") == 3000
    assert here.finish() <= here.peak.before + MORE_THAN_STOCK_KIB


NO_CHANNEL = "data packet referred to nonexistent channel"
ADJUST = "Invalid window adjust message"
STATUS = "Invalid status confirm message"
# What is said, and a word of the line with which that ends the connection;
# None: it goes on
ATTACKS = {
    "data": ([(MSG_DATA, 0, lie(PACKET, b"x"))], "incomplete message"),
    "data-4g": ([(MSG_DATA, 0, lie(0xffffffff, b"x"))], "too large"),
    "data-short": ([(MSG_DATA, 0, Raw(b"\0\0"))], "incomplete message"),
    "data-trailing": ([(MSG_DATA, 0, b"x", b"y")], "unexpected bytes remain"),
    "data-of-no-channel": ([(MSG_DATA, 0x7fffffff, ZERO)], NO_CHANNEL),
    "data-of-channel-4g": ([(MSG_DATA, 0xffffffff, ZERO)],
                           "Invalid data channel id"),
    "adjust-short": ([(MSG_WINDOW_ADJUST, 0)], ADJUST),
    "adjust-trailing": ([(MSG_WINDOW_ADJUST, 0, 1, 1)], ADJUST),
    "adjust-to-the-limit": ([(MSG_WINDOW_ADJUST, 0, 0xffffffff - WINDOW)],
                            None),
    "adjust-past-the-limit": ([(MSG_WINDOW_ADJUST, 0, 0xffffffff - WINDOW),
                               (MSG_WINDOW_ADJUST, 0, 1)],
                              "overflows remote window"),
    "adjusts-of-nothing": ([(MSG_WINDOW_ADJUST, 0, 0)] * 10000, None),
    "pong": ([(MSG_PONG, lie(100, b"path "))], "incomplete message"),
    "pong-4g": ([(MSG_PONG, lie(0xffffffff))], "too large"),
    "pong-empty": ([(MSG_PONG,)], "incomplete message"),
}
ANSWERS = {     # to requests of channels: sshd takes any for a sign of life
    "answer-short": ([(MSG_FAILURE, Raw(b"\0"))], STATUS),
    "answer-4g": ([(MSG_FAILURE, 0xffffffff)],
                  "Invalid status confirm channel id"),
    "answer-trailing": ([(MSG_FAILURE, 0, 0)], STATUS),
}


@pytest.mark.parametrize("name", [*ATTACKS, *ANSWERS])
@ENDS
def test_odd_message_does_no_harm(place, end, name):
    """It ends the connection with one line, or has no effect, as with stock."""
    messages, word = (ATTACKS | ANSWERS)[name]
    here = end(place)
    assert here.session("cat").remote_chanid == 0
    if word is None or end is Server and name in ANSWERS:
        for message in messages:
            here.peer.say(*message)
        assert here.works()
        assert here.finish() <= here.peak.before + MORE_THAN_STOCK_KIB
        return
    assert here.peer.send_until_it_ends(messages)
    here.finish(255)
    assert word in here.log(), here.log()[-2000:]


BAD_EXTENSIONS = {
    "value": (packed(1, BOUNDED, lie(100, b"0")), "incomplete message"),
    "value-4g": (packed(1, BOUNDED, lie(0xffffffff)), "too large"),
    "name": (packed(1, lie(1000, BOUNDED)), "incomplete message"),
    "count": (packed(3, BOUNDED, b"0"), "incomplete message"),
    "trailing": (packed(1, BOUNDED, b"0", b"1"), "unexpected bytes remain"),
    "nul": (packed(1, BOUNDED, b"0\0" + b"1" * 100), "contains nul byte"),
    "long": (packed(1, BOUNDED, b"0" * 200000), None),
    "version": (packed(1, BOUNDED, b"1"), None),
    "twice": (packed(2, BOUNDED, b"0", BOUNDED, b""), None),
}

@pytest.mark.parametrize("name", BAD_EXTENSIONS)
@ENDS
def test_bad_extension_is_refused_or_ignored(place, end, name):
    extensions, word = BAD_EXTENSIONS[name]
    here = end(place, extensions=extensions, opens=word is None)
    if word is None:
        assert here.works()
        assert ("peer's buffers are bounded" in here.log()) == (name == "twice")
        here.finish()
    else:
        assert here.peer.send_until_it_ends([])
        here.finish(255)
        assert word in here.log(), here.log()[-2000:]


def gets_all(here, channel):
    """Whether the window is all that it may be, before 96 MiB have been sent.
    (It may have been so, and be less where this machine has got slower.)"""
    for _ in range(96):
        send(channel, MIB)
        if re.findall(r" limited=(\w+)", here.log())[-1:] == ["budget"]:
            return True
    return False


def of_any_window(place, make):
    """What a peer can take that makes a long path for itself, by answering
    late: make(late_s, limit), an end, its channel, and what stops that one's
    reader. Beyond the limit the connection ends."""
    limit = 16 * MIB
    for late_s in LATE_S:
        here, channel, stop = make(place, late_s, limit)
        got_all = gets_all(here, channel)
        stop()
        if got_all:
            break
        here.finish()
    assert got_all
    fill(channel, here.peak.pid)
    # That much did come of it
    before = here.peak.before
    here.peak.look()
    assert here.peak.kib > before + limit // 2 // KIB
    assert here.peer.send_until_it_ends(
        (MSG_DATA, channel.remote_chanid, ZERO) for _ in range(2000))
    assert here.finish(255) <= \
        before + limit // 10 * 11 // KIB + MORE_THAN_STOCK_KIB
    assert "peer ignored channel window" in here.log()


@ENDS
def test_answers_to_nothing_are_ignored(place, end):
    """For channels that there are and are not, and pongs with every cookie that
    could be next and of any length."""
    here = end(place)
    to, say = here.session("cat").remote_chanid, here.peer.say
    for i in range(2000):
        say(MSG_REQUEST_FAILURE)
        say(MSG_FAILURE, to)
        say(MSG_SUCCESS, to)
        say(MSG_FAILURE, 1000 + i)
        say(MSG_SUCCESS, 0x7fffffff, 1)     # trailing; and who is that?
        say(MSG_PONG, b"path " + struct.pack(">Q", i % 4))
    for length in (0, 1, 5, 12, 14, 30000):
        say(MSG_PONG, b"path " * (length // 5) + b"p" * (length % 5))
    assert here.works()
    assert here.finish() <= here.peak.before + MORE_THAN_STOCK_KIB


INFLATES = "Packet inflates to more than 262144 bytes."


def inflating(size):
    """Returns a packet that inflates to `size` bytes."""
    return MSG_IGNORE, bytes(size - 5)


@pytest.mark.parametrize("size", [256 * KIB + 1, MIB, 100 * MIB])
@ENDS
def test_inflated_packet_is_bounded(place, end, size):
    """With a byte more than another may have, it ends the connection."""
    here = end(place, compress=True)
    here.peer.say(*inflating(256 * KIB))
    assert here.works()
    assert here.peer.send_until_it_ends([inflating(size)])
    assert here.finish(255) <= here.peak.before + MORE_THAN_STOCK_KIB
    assert here.log().count(INFLATES) == 1


# Our sshd

def test_sshd_bounds_each_of_many_channels(place):
    """No more than each one's window, but that on eight channels."""
    def attack(server):
        for _ in range(8):
            server.session(STOPPED).sendall(bytes(WINDOW))
        assert server.works()           # so all of that has come
        server.peak.look()
        assert server.peak.kib > server.peak.before + 6 * WINDOW // KIB

    stock_and_ours(place, attack)


def test_sshd_takes_a_tenth_past_the_window(place):
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


def takes_much_late(place, late_s, limit):
    """A client that answers late_s late, and a channel that is read."""
    server = Server(place, options=[f"ChannelWindowMax {limit}"],
                    extensions=ext_info(BOUNDED, b"0"))
    server.client.probed = late(late_s)
    channel = server.session(f"exec 3<&0; cat <&3 > /dev/null & echo $!; "
                             f"{STOPPED}; kill -9 $!", slow_s=late_s)
    reader = int(channel.recv(10))
    channel.sendall(bytes(2 * MIB))
    wait_until("an answer", lambda: server.client.least_answer_s < PATIENCE_S)
    return server, channel, lambda: os.kill(reader, signal.SIGSTOP)


def test_sshd_window_is_bounded_if_answers_are_late(place):
    """By ChannelWindowMax."""
    of_any_window(place, takes_much_late)


TINY = 20000                            # packets


def tiny(transport, to):
    """One byte each, as fast as they go."""
    for _ in range(TINY):
        transport.say(MSG_DATA, to, b"x")


@ENDS
def test_one_byte_packets_take_no_adjust_each(place, end):
    """All arrive, and take no more memory than stock takes for them."""
    def attack(here):
        if end is Client:
            tiny(here.peer, here.channel.remote_chanid)
            assert here.ssh.stdout.read(TINY) == b"x" * TINY
        else:
            tiny(here.peer, here.session(STOPPED).remote_chanid)
            counted = here.session("wc -c")
            tiny(here.peer, counted.remote_chanid)
            counted.shutdown_write()
            assert counted.makefile().read().strip() == str(TINY).encode()
        assert len(re.findall(r"channel \d+: window \d+ sent adjust \d+",
                              here.log())) <= TINY // 1000

    stock_and_ours(place, attack, end)


def test_sshd_reads_256_kib_ahead_of_any_credit(place):
    """Stock reads up to 16 MiB."""
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


def test_sshd_ignores_extensions_after_the_login(place):
    server = Server(place)
    server.client.say(MSG_EXT_INFO, 1, BOUNDED, b"0")
    assert server.works()
    assert "peer's buffers are bounded" not in server.log()
    server.finish()


def test_sshd_probes_once_until_it_is_answered(place):
    server = Server(place)
    server.client.probed = lambda answer: None
    for _ in range(5):
        channel = server.session("cat > /dev/null", slow_s=0.1)
        channel.sendall(bytes(4 * MIB))
    assert server.client.probes == 1
    assert server.works()
    server.finish()


def test_second_probe_answer_is_ignored(place):
    """The round trip stays the first one's."""
    slow_s, count = 1, WINDOW - PACKET
    server = Server(place, extensions=ext_info(BOUNDED, b"0"))
    client = server.client
    answers = []
    client.probed = answers.append
    sent_s = time.monotonic()
    channel = server.session(
        f"head -c {count} > /dev/null; echo; cat > /dev/null", slow_s=slow_s)
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
    client.say(MSG_REQUEST_FAILURE)
    client.say(MSG_REQUEST_FAILURE)
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


# Our ssh

def gives_much_late(by, place, late_s, limit):
    """As above, with a server and a reader of what our ssh writes."""
    known = (BOUNDED, b"0") + \
        ((b"ping@openssh.com", b"0") if by == "ping" else ())
    client = Client(place, options=["-o", f"ChannelWindowMax={limit}"],
                    extensions=ext_info(*known), slow_s=late_s,
                    probed=late(late_s))
    stopped = threading.Event()

    def take():
        while not stopped.is_set() and client.ssh.stdout.read1(MIB):
            pass

    threading.Thread(target=take, daemon=True).start()
    client.channel.sendall(bytes(2 * MIB))
    wait_until("an answer", lambda: client.server.least_answer_s < PATIENCE_S)
    return client, client.channel, stopped.set


@pytest.mark.parametrize("by", ["ping", "request"])
def test_ssh_window_is_bounded_if_answers_are_late(place, by):
    """Pongs are as good as refusals."""
    of_any_window(place, functools.partial(gives_much_late, by))


def pour(client, count):
    """Bytes through ssh to who reads its output."""
    reader = threading.Thread(target=client.take, args=(count,), daemon=True)
    reader.start()
    client.channel.sendall(bytes(count))
    reader.join()


BY = pytest.mark.parametrize("extensions", [PING, None],
                             ids=["ping", "request"])


@BY
def test_ssh_probes_once_until_it_is_answered(place, extensions):
    client = Client(place, extensions=extensions, slow_s=0.1,
                    probed=lambda answer: None)
    pour(client, 16 * MIB)
    assert client.server.probes == 1
    assert client.works()
    assert client.end()[0] == 0
