"""QuickStart's key exchange: what ssh sends before the server has said
anything, and what becomes of it."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

import peers
from early_relay import PORT, Relay, packet, packets
from loopback import (OURS, STOCK, place, read,     # noqa: F401
                      wait_until)

HOST = "root@127.0.0.1"
KEXINIT, SHARE, NEWKEYS = 20, 30, 21
QUICK_KEX_WAIT_S = 10
SAID = "sent early"
FALLBACK = "did not take"


@pytest.fixture
def home(place):                        # noqa: F811
    os.mkdir(place.path(".ssh"), 0o700)
    return place


@pytest.fixture
def relay(home):
    """One in front of our sshd."""
    home.sshd()
    relay = Relay(home)
    yield relay
    relay.close()


def login(place, *options, quick="yes", level="DEBUG1",     # noqa: F811
          command="echo ran", **kwargs):
    return place.run(place.ssh("-o", f"QuickStart={quick}", *options, HOST,
                               command, port=PORT, level=level), **kwargs)


def good(done):
    assert done.returncode == 0 and done.stdout == "ran\n", done.stderr
    return done


def remember(place, *options, **kwargs):                # noqa: F811
    done = good(login(place, *options, **kwargs))
    assert SAID not in done.stderr
    return done


def is_early(connection):
    kinds = [kind for kind, _ in packets(connection.early)]
    return kinds == [KEXINIT, SHARE]


def silent(place, *options, **kwargs):                  # noqa: F811
    """A login that nobody is told more of than of one with stock."""
    # From 10.1 on ssh warns of a key exchange that is not post-quantum
    quiet = ["-o", "IgnoreUnknown=WarnWeakCrypto", "-o", "WarnWeakCrypto=no"]
    done = good(login(place, *quiet, *options, level="INFO", **kwargs))
    assert done.stderr == "", done.stderr


LOGIN, KEX, SINCE = 3, 4, 6


def fields(place):                      # noqa: F811
    """The only line of quick_hosts."""
    lines = read(place.path("quick_hosts")).splitlines()
    assert len(lines) == 1
    return lines[0].split()


def restart(place, *options, tree=OURS):        # noqa: F811
    for sshd in [s for s in place.started if hasattr(s, "log")]:
        sshd.terminate()
        sshd.wait()
    place.sshd(tree, *options)


def test_early(home, relay):
    """KEXINIT and the share go out with our banner; all bytes are in stock's
    order, and first_kex_packet_follows is not set."""
    remember(home, quick="no")
    assert not os.path.exists(home.path("quick_hosts"))
    remember(home)
    assert packets(relay.connections[0].early) == []
    relay.counted()
    done = good(login(home))
    assert f"first packet of {fields(home)[KEX]} {SAID}" in done.stderr
    assert "QuickStart: 6 round trips saved" in done.stderr
    good(login(home, quick="no"))
    early, late = relay.connections
    assert is_early(early) and packets(late.early) == []
    ours, stock = packets(early.sent), packets(late.sent)
    assert [k for k, _ in ours] == [k for k, _ in stock] == \
        [KEXINIT, SHARE, NEWKEYS]
    # All but the cookie; then first_kex_packet_follows and a reserved number
    assert ours[0][1][17:] == stock[0][1][17:]
    assert ours[0][1][-5:] == bytes(5)


def test_no_is_stock(home, relay):
    remember(home)
    done = good(login(home, quick="no"))
    assert SAID not in done.stderr
    assert packets(relay.connections[1].early) == []


@pytest.mark.parametrize("level", ["INFO", "DEBUG1"])
@pytest.mark.parametrize("mode", [
    "close", b"SSH-2.0-x\r\n", b"SSH-2.0-OpenSSH_9.9\r\n",
    b"SSH-2.0-OpenSSH_9.9\r\nno packet, but text of more than 16 bytes",
    b"SSH-2.0-OpenSSH_9.9\r\n" + packet(b"\1\0\0\0\2\0\0\0\3bad\0\0\0\0")],
    ids=["close", "other", "banner", "text", "disconnect"])
def test_rejected(home, relay, mode, level):
    """A server that takes nothing early gets one connection more, once."""
    remember(home)
    relay.counted()
    relay.mode = mode
    if level == "INFO":
        silent(home)
    else:
        done = good(login(home))
        assert SAID in done.stderr and FALLBACK in done.stderr
        assert "QuickStart: 5 round trips saved" in done.stderr
    assert relay.counted() == 2
    for _ in range(3):
        silent(home)
        assert relay.counted() == 1


def test_verbose(home, relay):
    """LogLevel VERBOSE says no more than stock of a connection that failed."""
    remember(home)
    relay.mode = "close"
    said = []
    for quick in ("yes", "no"):
        done = good(login(home, quick=quick, level="VERBOSE"))
        said.append(re.sub(r"[\d.]+", "", done.stderr))
    assert said[0] == said[1] and "Authenticated" in said[0]


def test_tried_again_in_a_day(home, relay):
    remember(home)
    relay.mode = "close"
    silent(home)
    relay.mode = "pass"
    assert fields(home)[SINCE] != "0"
    path = home.path("quick_hosts")
    for ago_s, quick in ((23 * 3600, False), (25 * 3600, True)):
        words = fields(home)
        words[SINCE] = f"{int(time.time()) - ago_s:x}"
        with open(path, "w") as f:
            f.write(" ".join(words) + "\n")
        relay.counted()
        silent(home)
        assert is_early(relay.connections[0]) == quick
    assert fields(home)[SINCE] == "0"


@pytest.mark.parametrize("banner", [b"", b"SSH-2.0-OpenSSH_9.9\r\n"])
def test_hangs(home, relay, banner):
    """As some boxes do: 10 s later it is stock's login, and the connection that
    hung is closed."""
    remember(home)
    relay.counted()
    relay.mode, relay.hangs_with = "hang", banner
    start_s = time.monotonic()
    silent(home, command="sleep 3; echo ran")
    end_s = time.monotonic()
    assert end_s - start_s >= 12.5
    assert end_s - relay.connections[0].left_s >= 2.5
    assert relay.counted() == 2
    silent(home)
    assert relay.counted() == 1


def test_hangs_for_less(home, relay):
    """A user's ServerAliveInterval ends it sooner, as with stock."""
    remember(home)
    relay.mode, relay.always = "hang", True
    relay.hangs_with, said = b"SSH-2.0-OpenSSH_9.9\r\n", []
    for quick in ("yes", "no"):
        relay.counted()
        start_s = time.monotonic()
        done = login(home, "-o", "ServerAliveInterval=2",
                     "-o", "ServerAliveCountMax=1", quick=quick, level="INFO")
        assert 2 <= time.monotonic() - start_s < QUICK_KEX_WAIT_S
        assert done.returncode == 255 and relay.counted() == 1
        said.append(done.stderr)
    assert said[0] == said[1] and "timed out" in said[0]


def test_ended_meanwhile(home, relay):
    """The login of somebody who ends it is not tried early again."""
    remember(home)
    relay.counted()
    relay.mode = "hang"
    ssh = home.start(home.ssh("-o", "QuickStart=yes", HOST, "true",
                              port=PORT), stdin=subprocess.DEVNULL)
    wait_until("the early packets", lambda: relay.connections and
               is_early(relay.connections[0]))
    ssh.kill()
    ssh.wait()
    relay.counted()
    silent(home)
    assert relay.counted() == 1


def test_forged_signature(home, relay):
    """The answer to the guess is no good: ssh ends at once, as stock does,
    and neither asks for it again nor runs the command."""
    remember(home)
    relay.forge, said = True, []
    for quick in ("yes", "no"):
        relay.counted()
        start_s = time.monotonic()
        done = login(home, quick=quick, level="INFO")
        assert time.monotonic() - start_s < QUICK_KEX_WAIT_S
        assert (done.returncode, done.stdout) == (255, "")
        assert is_early(relay.connections[0]) == (quick == "yes")
        assert relay.counted() == 1
        said.append(done.stderr)
    assert said[0] == said[1] and "incorrect signature" in said[0]


def test_connect_timeout(home, relay):
    """It holds, as with stock: no second connection."""
    remember(home)
    relay.mode, relay.always = "hang", True
    said = []
    for quick in ("yes", "no"):
        relay.counted()
        done = login(home, "-o", "ConnectTimeout=2", quick=quick, level="INFO")
        assert done.returncode == 255
        assert relay.counted() == 1
        said.append(done.stderr)
    assert said[0] == said[1] and "timed out during banner" in said[0]


def test_connect_timeout_of_a_server_that_closes(home, relay):
    """The second connection has what is left of ConnectTimeout."""
    remember(home)
    relay.counted()
    relay.mode = "close"
    silent(home, "-o", "ConnectTimeout=5")
    assert relay.counted() == 2


def test_connect_timeout_of_a_slow_server(home, relay):
    """If ssh waits for less than ConnectTimeout, as it sent something early,
    the second connection has all of that time."""
    remember(home)
    relay.counted()
    relay.slow_s, relay.always = 12, True
    good(login(home, "-o", "ConnectTimeout=15"))
    assert relay.counted() == 2


def test_turned_away(home, relay):
    """A server that says why, as sshd for PerSourcePenalties and MaxStartups,
    is not asked twice."""
    remember(home)
    relay.always, relay.mode = True, b"Not allowed at this time\r\n"
    said = []
    for quick in ("yes", "no"):
        relay.counted()
        done = login(home, quick=quick, level="INFO")
        assert done.returncode == 255 and relay.counted() == 1
        said.append(done.stderr)
    assert said[0] == said[1]


def test_lines_before_the_banner(home, relay):
    relay.before = b"Welcome\r\nto this host\r\n"
    remember(home)
    relay.counted()
    silent(home)
    assert is_early(relay.connections[0]) and relay.counted() == 1


def test_slow_banner_behind_lines(home, relay):
    """Stock waits for it, as long as it takes."""
    relay.before = b"Welcome\r\n"
    remember(home)
    relay.counted()
    relay.slow_s = 12
    silent(home)
    assert is_early(relay.connections[0]) and relay.counted() == 2
    silent(home)
    assert relay.counted() == 1


def test_quotes_are_stocks(home, relay):
    """What the server says is escaped once."""
    remember(home)
    relay.always = True
    for mode, level, line in (
            (b"SSH-2.0-OpenSSH_\303\\\r\n", "DEBUG1", "software version .*"),
            (b"Welcome\r\nSSH-\303\\x\r\n", "INFO", "Bad remote .*")):
        relay.mode, said = mode, []
        for quick in ("yes", "no"):
            done = login(home, quick=quick, level=level)
            said.append(re.search(line, done.stderr).group())
        assert said[0] == said[1] and r"\303\\" in said[0]
        for fields_ in [fields(home)]:
            fields_[SINCE] = "0"
            with open(home.path("quick_hosts"), "w") as f:
                f.write(" ".join(fields_) + "\n")


@pytest.mark.parametrize("tree", [OURS, STOCK])
def test_other_key_exchange(home, relay, tree):
    """A server that has lost the one that was negotiated: one more connection,
    once. So it is when it has it again."""
    remember(home)
    restart(home, "KexAlgorithms ecdh-sha2-nistp256", tree=tree)
    relay.counted()
    silent(home)
    assert relay.counted() == 2
    silent(home)
    assert is_early(relay.connections[0]) and relay.counted() == 1
    restart(home, tree=tree)
    for connections in (2, 1):
        silent(home)
        assert is_early(relay.connections[0])
        assert relay.counted() == connections


@pytest.mark.parametrize("first, second", [
    ("ecdh-sha2-nistp256", "ecdh-sha2-nistp384"),
    ("ecdh-sha2-nistp256", "curve25519-sha256"),
    ("diffie-hellman-group14-sha256", "diffie-hellman-group16-sha512")])
def test_other_curve(home, relay, first, second):
    """As above, between methods whose packets have the same number."""
    options = ["-o", f"KexAlgorithms={first},{second}"]
    restart(home, f"KexAlgorithms {first},{second}")
    remember(home, *options)
    relay.counted()
    silent(home, *options)
    assert is_early(relay.connections[0])
    restart(home, f"KexAlgorithms {second}")
    relay.counted()
    silent(home, *options)
    assert relay.counted() == 2
    silent(home, *options)
    assert relay.counted() == 1


def test_another_list(home, relay):
    """What the list has up to the one that was negotiated decides."""
    restart(home, "KexAlgorithms ecdh-sha2-nistp256,ecdh-sha2-nistp384")
    good(login(home, quick="no"))
    for algs, early in (
            ("curve25519-sha256,ecdh-sha2-nistp256", False),
            ("curve25519-sha256,ecdh-sha2-nistp256,ecdh-sha2-nistp384", True),
            ("curve25519-sha256,ecdh-sha2-nistp384,ecdh-sha2-nistp256", False),
            ("ecdh-sha2-nistp256", False), ("ecdh-sha2-nistp256", True)):
        relay.counted()
        silent(home, "-o", f"KexAlgorithms={algs}")
        assert is_early(relay.connections[0]) == early
        assert relay.counted() == 1


def test_group_exchange(home, relay):
    """Its first packet is no share."""
    option = "KexAlgorithms=diffie-hellman-group-exchange-sha256"
    restart(home, option)
    for _ in range(3):
        remember(home, "-o", option)


def test_no_common_algorithm(home, relay):
    """Stock's message, and no second connection."""
    remember(home)
    said = []
    for quick in ("yes", "no"):
        relay.counted()
        done = login(home, "-o", "Ciphers=aes128-cbc", quick=quick,
                     level="INFO")
        assert done.returncode == 255 and relay.counted() == 1
        said.append(re.sub(r"port \d+", "port", done.stderr))
    assert said[0] == said[1] and "no matching cipher" in said[0]


def test_another_banner(home, relay):
    """An upgrade needs no second connection: the order of bytes is the same
    for each OpenSSH."""
    remember(home)
    restart(home, "VersionAddendum upgraded")
    relay.counted()
    silent(home)
    assert is_early(relay.connections[0]) and relay.counted() == 1
    silent(home)
    assert is_early(relay.connections[0]) and relay.counted() == 1


def test_unknown_software(home, relay):
    """With a banner that is none of those, nothing is remembered."""
    remember(home)
    relay.counted()
    relay.mode = b"SSH-2.0-Cisco-1.25\r\n"
    silent(home)
    assert relay.counted() == 2


def test_another_host_key(home, relay):
    """Who is not the host sees KEXINIT and a share, and stock's message is
    what the user sees."""
    remember(home)
    os.rename(home.path("host"), home.path("host.was"))
    subprocess.run([f"{STOCK}/ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                    "-f", home.path("other")], check=True)
    shutil.copy(home.path("other"), home.path("host"))
    restart(home)
    relay.counted()
    said = []
    for quick in ("yes", "no"):
        argv = home.ssh("-o", f"QuickStart={quick}", HOST, "true", port=PORT,
                        level="INFO")
        argv[argv.index("StrictHostKeyChecking=no")] = \
            "StrictHostKeyChecking=yes"
        done = home.run(argv)
        assert done.returncode == 255
        said.append(done.stderr)
    assert said[0] == said[1]
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in said[0]
    ours, stock = relay.connections
    assert is_early(ours)
    assert [k for k, _ in packets(ours.sent)] == \
        [k for k, _ in packets(stock.sent)] == [KEXINIT, SHARE]


@pytest.mark.parametrize("kind", [2, 31, 21])
def test_strict(home, relay, kind):
    """Any packet before the server's KEXINIT ends the connection, as with
    stock: IGNORE, an answer to what was sent early, NEWKEYS."""
    remember(home)
    relay.inject = packet(bytes([kind]) + (4).to_bytes(4, "big") + b"text")
    said = []
    for quick in ("yes", "no"):
        relay.counted()
        done = login(home, quick=quick, level="INFO")
        assert done.returncode == 255, done.stderr
        assert relay.counted() == 1
        said.append(re.sub(r"port \d+", "port", done.stderr))
    assert "strict KEX violation" in said[0] and said[0] == said[1]


def test_order_of_host_key_algorithms(home, relay):
    """known_hosts decides it, on the second connection too, which is made only
    where it has to be."""
    subprocess.run([f"{STOCK}/ssh-keygen", "-q", "-t", "ecdsa", "-N", "",
                    "-f", home.path("ecdsa")], check=True)
    shutil.copy(home.path("ecdsa"), home.path("host"))
    restart(home)
    remember(home)
    good(login(home, quick="no"))
    relay.counted()
    silent(home)
    assert relay.counted() == 1
    relay.mode = "close"
    silent(home)
    relay.mode = "pass"
    silent(home, quick="no")
    first, second, stock = [packets(c.sent)[0][1][17:]
                            for c in relay.connections]
    assert first == second == stock and b"ecdsa" in stock


def test_a_further_connection_of_scp(home, relay):
    """It has one place in the pace, so it does not connect a second time."""
    remember(home)
    restart(home, "KexAlgorithms ecdh-sha2-nistp384")
    relay.counted()
    done = login(home, env={**os.environ, "SSH_COPY_LANE": "1"})
    assert done.returncode == 255 and relay.counted() == 1
    assert "not as it was remembered" in done.stderr
    silent(home)


def test_proxy(home, relay):
    """Through a ProxyCommand, which is run again where it has to be."""
    log = home.path("runs")
    proxy = ["-o", f"ProxyCommand=sh -c 'echo run >> {log}; "
             f"exec socat - TCP:127.0.0.1:{PORT}'"]
    remember(home, *proxy)
    silent(home, *proxy)
    assert is_early(relay.connections[1])
    assert read(log) == "run\n" * 2
    relay.mode = b"SSH-2.0-OpenSSH_9.9\r\n"
    silent(home, *proxy)
    assert read(log) == "run\n" * 4
    silent(home, *proxy)
    assert read(log) == "run\n" * 5


def test_proxy_that_fails(home, relay):
    """It is run once, as with stock."""
    remember(home)
    log = home.path("runs")
    said = []
    for quick in ("yes", "no"):
        done = login(home, "-o", f"ProxyCommand=sh -c 'echo run >> {log}; "
                     "sleep 1'",
                     quick=quick, level="INFO")
        assert done.returncode == 255
        said.append(done.stderr)
    assert said[0] == said[1] and read(log) == "run\n" * 2


def test_jump(home, relay):
    jump = " ".join(home.ssh("-o", "QuickStart=yes", "-W", "%h:%p", HOST,
                             port=2222))
    options = ["-o", f"ProxyCommand={jump}"]
    remember(home, *options)
    relay.counted()
    silent(home, *options)
    assert is_early(relay.connections[0]) and relay.counted() == 1


def test_given_connection(home, relay):
    """ProxyCommand=-: no second one can be made. (Without -n the session would
    read from the connection, too, as stock's does.)"""
    remember(home)
    argv = home.ssh("-o", "QuickStart=yes", "-o", "ProxyCommand=-", "-n", HOST,
                    "true", port=PORT, level="DEBUG1")
    done = home.run(["bash", "-c", f'exec 3<>/dev/tcp/127.0.0.1/{PORT}; '
                     '"$@" <&3 >&3', "sh", *argv])
    assert done.returncode == 0 and SAID not in done.stderr


def test_no_key(home, relay):
    """What is remembered of the key exchange does not need the key."""
    subprocess.run([f"{STOCK}/ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f",
                    home.path("rsa")], check=True)
    with open(home.path("user.pub"), "a") as f:
        f.write(read(home.path("rsa.pub")))
    argv = home.ssh("-o", "QuickStart=yes", HOST, "echo ran", port=PORT,
                    level="DEBUG1")
    argv[argv.index("-i") + 1] = home.path("rsa")
    good(home.run(argv))
    assert fields(home)[LOGIN] == "-"
    done = good(home.run(argv))
    assert SAID in done.stderr and "signing at once" not in done.stderr
    assert "QuickStart: 1 round trips saved" in done.stderr


def test_beside_each_other(home, relay):
    """Logins at once don't take the guess from each other."""
    remember(home)
    argv = home.ssh("-o", "QuickStart=yes", HOST, "true", port=PORT)
    started = [home.start(argv, stdin=subprocess.DEVNULL) for _ in range(6)]
    assert [ssh.wait() for ssh in started] == [0] * 6
    assert fields(home)[SINCE] == "0"
    relay.counted()
    silent(home)
    assert is_early(relay.connections[0])


def test_one_behind_the_other(home, relay):
    """A login that keeps to stock for another's guess does not put its mark
    back."""
    remember(home)
    relay.counted()
    argv = home.ssh("-o", "QuickStart=yes", HOST, "true", port=PORT)
    first = home.start(argv, stdin=subprocess.DEVNULL)
    wait_until("the guess", lambda: fields(home)[SINCE] != "0")
    second = home.start(argv, stdin=subprocess.DEVNULL)
    assert [ssh.wait() for ssh in (first, second)] == [0, 0]
    assert [is_early(c) for c in relay.connections] == [True, False]
    assert fields(home)[SINCE] == "0"


def test_several_machines(home, relay):
    """Behind one name, by turns, with other key exchanges and banners: each
    login works, and few need a second connection."""
    remember(home)
    relay.counted()
    logins = 8
    for i in range(logins):
        restart(home, f"KexAlgorithms ecdh-sha2-nistp{(256, 384)[i % 2]}",
                f"VersionAddendum machine{i % 2}")
        silent(home)
    assert relay.counted() <= logins + 4


def test_where_nothing_can_be_written(home, relay):
    """What can't be taken back is not guessed."""
    remember(home)
    os.chmod(home.path("quick_hosts"), 0o644)
    relay.counted()
    silent(home)
    assert packets(relay.connections[0].early) == []


def test_rekeying(home, relay):
    remember(home)
    done = login(home, "-o", "RekeyLimit=100K",
                 command="for i in 1 2 3 4 5; do head -c 400000 /dev/zero; "
                 "sleep 1; done")
    assert SAID in done.stderr and len(done.stdout) == 2000000
    assert done.stderr.count("SSH2_MSG_NEWKEYS received") > 2


SERVERS = {name: peer for name, peer in peers.SERVERS.items()
           if name != "OpenSSH of Debian 12"}
# Debian's modules belong to Debian's Python
PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable


@pytest.mark.parametrize("name", SERVERS)
def test_others_servers(home, name):
    """As good as stock, with one connection; early where the software is known
    to take it."""
    if why := peers.absent("server", name):
        pytest.skip(why)
    peers.prepare(home.folder)
    shutil.copy(home.path("user.pub"), home.path(".ssh/authorized_keys"))
    os.chmod(home.folder, 0o700)
    home.start(peers.command(SERVERS[name].serves, home.folder, port="2222",
                             python=PYTHON), stdin=subprocess.DEVNULL)
    relay = Relay(home)
    exec_ = "exec" in SERVERS[name].modes
    words = {"command": "true"} if exec_ else {"command": "sftp"}
    options = [] if exec_ else ["-s"]
    try:
        wait_until(name, lambda: "Authenticated to" in login(
            home, *options, quick="no", **words).stderr, timeout_s=60)
        stock = login(home, *options, quick="no", level="INFO", **words)
        assert SAID not in login(home, *options, **words).stderr
        for quick in ("yes", "always"):
            relay.counted()
            done = login(home, *options, quick=quick, level="INFO", **words)
            assert (done.returncode, done.stdout, done.stderr) == \
                (stock.returncode, stock.stdout, stock.stderr)
            assert is_early(relay.connections[0]) == (name != "Apache MINA")
            assert relay.counted() == 1
    finally:
        relay.close()
