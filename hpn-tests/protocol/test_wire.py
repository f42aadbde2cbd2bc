"""What goes over the wire, as a stock peer sees it."""

import re

import pytest

from hostile import (MSG_GLOBAL_REQUEST, MSG_OPEN, MSG_PING, MSG_REQUEST,
                     MSG_REQUEST_FAILURE, MSG_WINDOW_ADJUST, PING, Client, Raw,
                     Server)
from loopback import HOST, OURS, STOCK, read, wait_until, wire_name

KIB = 1024
MSG_EOF, MSG_CLOSE = 96, 97
FIRST_OF_SERVICES = 50                  # below it there are keys (RFC 4250)


def extensions(log):
    """Names in EXT_INFO, in their order, as a debugging log tells them."""
    return re.findall(r"(?:kex_ext_info_\w+|ext_info_got): "
                      r"(\S+?)(?:=<| \(unrec)", log)


@pytest.mark.parametrize("said_by", ["sshd", "ssh"])
def test_our_extensions_are_the_last(place, said_by):
    trees = (OURS, STOCK) if said_by == "sshd" else (STOCK, OURS)
    sshd = place.sshd(trees[0], "LogLevel DEBUG2")
    done = place.run(place.ssh(HOST, "true", tree=trees[1], level="DEBUG2"))
    assert done.returncode == 0, done.stderr
    if said_by == "sshd":
        names = extensions(done.stderr)
        end = names.index(wire_name("BDP_BOUNDED_INPUT"))
        assert names[:3] == ["server-sig-algs",
                             "publickey-hostbound@openssh.com",
                             "ping@openssh.com"]
        # 10.5p1 has one more; after the login a second EXT_INFO may follow
        assert names[3:end] in ([], ["agent-forward"])
        assert names[end + 1] == wire_name("BDP_LAST_CHANNEL")
        assert names[end + 2:end + 3] in ([], ["server-sig-algs"])
    else:
        names = extensions(read(sshd.log))
        assert names == ["ext-info-in-auth@openssh.com",
                         wire_name("BDP_BOUNDED_INPUT")]


# A command that ends before ssh has said EOF would race with that.
STOCKS_LOGIN = "PreferredAuthentications=none,publickey"
COMMANDS = ["cat", f"cat; head -c {900 * KIB} /dev/zero",
            "cat; head -c 5 /dev/zero"]


def conversation(place, ssh, sshd, command):
    """Kinds of messages that ssh sent and received, by its own log. (It has
    no line for data, adjusts and pings: those are below.) What the server says
    of a command's end comes in any order. The login is stock's, see
    test_login.py."""
    server = place.sshd(sshd)
    done = place.run(["sh", "-c", '"$@" < /dev/null 2>&1 > /dev/null', "sh",
                      *place.ssh("-o", STOCKS_LOGIN, HOST, command,
                                 tree=ssh, level="DEBUG3")])
    server.terminate()
    server.wait()
    assert done.returncode == 0, done.stdout
    sent, received = ([int(kind) for kind in re.findall(
        rf"{way} packet: type (\d+)", done.stdout)]
        for way in ("send", "receive"))
    started = received.index(99)
    return sent, received[:started], sorted(received[started:])


def without_probe(conversed):
    """Less sshd's probe before it confirms the session, and the reply."""
    sent, before, after = map(list, conversed)
    sent.remove(MSG_REQUEST_FAILURE)
    probe = before.index(91) - 1
    assert before.pop(probe) == MSG_GLOBAL_REQUEST
    return sent, before, after


@pytest.mark.parametrize("command", COMMANDS)
def test_conversations_are_stocks(place, command):
    stock = conversation(place, STOCK, STOCK, command)
    assert MSG_OPEN in stock[0] and 91 in stock[1] and MSG_CLOSE in stock[2]
    assert conversation(place, OURS, STOCK, command) == stock
    assert without_probe(conversation(place, STOCK, OURS, command)) == stock
    # The command goes right behind the session's opening
    stock[0].remove(MSG_REQUEST)
    stock[0].insert(stock[0].index(MSG_OPEN) + 1, MSG_REQUEST)
    assert without_probe(conversation(place, OURS, OURS, command)) == stock


def heard(peer):
    """Kinds of messages since the login, but for adjusts: how many these are
    is a matter of moments."""
    return [kind for kind in peer.heard
            if kind >= FIRST_OF_SERVICES and kind != MSG_WINDOW_ADJUST]


@pytest.mark.parametrize("length", [0, 5, 900 * KIB])
def test_ssh_says_what_stock_says(place, length):
    """And one ping, behind the request for the command. (If it is answered as
    late as a busy machine does, others follow, as on a path with a relay.)"""
    says = []
    for tree in (STOCK, OURS):
        client = Client(place, tree, extensions=PING, slow_s=0.1,
                        probed=lambda answer: None)
        client.channel.sendall(bytes(length))
        client.take(length)
        client.ssh.stdin.close()
        wait_until("EOF", lambda: MSG_EOF in client.server.heard)
        client.server.say(MSG_REQUEST, client.channel.remote_chanid,
                          b"exit-status", Raw(b"\0"), 0)
        client.channel.shutdown_write()
        client.channel.close()
        wait_until("CLOSE", lambda: MSG_CLOSE in client.server.heard)
        assert client.end()[0] == 0, client.log()
        says.append(heard(client.server))
    stock, ours = says
    stock.insert(stock.index(MSG_REQUEST) + 1, MSG_PING)
    assert ours == stock


@pytest.mark.parametrize("length", [0, 5, 900 * KIB])
def test_sshd_says_what_stock_says(place, length):
    """And one keepalive, before it confirms the session; see above."""
    says = []
    for tree in (STOCK, OURS):
        server = Server(place, tree)
        server.client.probed = lambda answer: None
        channel = server.session("wc -c", slow_s=0.1)
        channel.sendall(bytes(length))
        channel.shutdown_write()
        assert channel.makefile().read().strip() == str(length).encode()
        assert channel.recv_exit_status() == 0
        wait_until("CLOSE", lambda: MSG_CLOSE in server.client.heard)
        assert server.client.is_answered()
        kinds = heard(server.client)
        started = kinds.index(99)
        says.append(kinds[:started] + sorted(kinds[started:]))
        server.finish()
    stock, ours = says
    stock.insert(stock.index(91), MSG_GLOBAL_REQUEST)
    assert ours == stock
