"""-X connections=auto, CopyConnections and -X pace=: how many connections there
are, and that a file which begins as one stream and goes on in parts is safe."""

import filecmp
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import pytest

from lane_place import (BOTH, MIB, SIZE, SLOW, TOOLS, Place, begin, cut,
                        killed_at_any_moment, logins, tree, wait_for)
from loopback import place as loopback_place, read  # noqa: F401
from sftp_tools import OURS, SERVER, STOCK, content, entries, run

pytestmark = pytest.mark.skipif(not os.path.exists(SERVER),
                                reason="no build/openssh: see \"make openssh\"")

HERE = os.path.dirname(os.path.abspath(__file__))
SLOW_SSH = os.path.join(HERE, "slow_ssh.py")
# A server with a round trip time of 100 ms
LATE = f"{sys.executable} -B {HERE}/slow_path.py late 0.05 {SERVER}"


class SlowPlace(Place):
    """Each connection is slow_ssh.py."""

    def serve(self, first="", more="", server=SERVER, rate=8, env=""):
        self.server.write_text(f"""#!/bin/sh
            cd {shlex.quote(str(self.path))}
            echo $$ >> pids
            if mkdir first 2>/dev/null; then :; {first}
            else :; {more}
            fi
            {env} exec {SLOW_SSH} "{server} -e -l debug" {rate} \\
                2>> {shlex.quote(str(self.path / "log"))}
            """)
        self.server.chmod(0o755)

    def argv(self, tool, direction, source, dest, *options, lanes="auto"):
        argv, batch = super().argv(tool, direction, source, dest, *options,
                                   lanes=lanes)
        argv[argv.index("-D")] = "-S"
        if lanes is None:
            at = argv.index("connections=None")
            argv[at - 1:at + 1] = []
        if tool == "sftp":
            argv.append("x")
        return argv, batch


@pytest.fixture
def place(tmp_path):
    return SlowPlace(tmp_path)


@pytest.fixture
def large(place):
    place.source.write_bytes(content(SIZE))
    os.utime(place.source, (1234567890, 1234567890))
    return place


@TOOLS
@BOTH
def test_auto_grows(large, tool, direction):
    """It begins with one, and has more soon, but no more than five at once."""
    assert large.copy(tool, direction, "-p") == (0, "")
    assert entries(large.dest) == entries(large.source)
    assert len(large.pids()) == 5
    busy = [n for n in large.moved() if n > MIB]
    assert len(busy) >= 3 and SIZE <= sum(busy) < SIZE + MIB


@BOTH
def test_without_pace(large, direction):
    large.serve(rate=1)
    assert large.copy("scp", direction, "-X", "pace=off") == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert len(large.pids()) == 8


def test_several_sources(large):
    """scp connects once for each, and keeps places for those to come: no more
    than five connections begin at once."""
    sources = [large.source, large.path / "second", large.path / "third"]
    for source in sources[1:]:
        os.link(large.source, source)
    large.dest.mkdir()
    large.serve(rate=40)
    argv, _ = large.argv("scp", "get", large.source, large.dest, lanes=5)
    at = argv.index(f"x:{large.source}")
    argv[at:at + 1] = [f"x:{source}" for source in sources]
    assert run(list(map(str, argv)), large.path) == (0, "")
    for source in sources:
        assert filecmp.cmp(large.source, large.dest / source.name,
                           shallow=False)
    assert len(large.pids()) == 5


@BOTH
def test_auto_stays_at_one(large, direction):
    """ssh says that nothing holds it up. The file is copied as ever: it has no
    mark at any time."""
    large.serve(env="NOT_HELD=1")
    assert large.copy("scp", direction) == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert large.moved() == [SIZE]


def test_one_connection_waits_for_no_mark(place):
    """A long upload that stays at one needs no marks: the end of it is as fast
    as the beginning."""
    took_s = []
    for count in (56, 3 * 56):
        place.source.write_bytes(content(count * MIB))
        place.serve(env="NOT_HELD=1", rate=100, server=LATE)
        began_s = time.monotonic()
        assert place.copy("scp", "put") == (0, "")
        took_s.append(time.monotonic() - began_s)
        assert filecmp.cmp(place.source, place.dest, shallow=False)
        place.dest.unlink()
    assert took_s[1] < 12 * took_s[0]


def test_the_limit_is_no_reason(large):
    """What -l holds up, more connections don't help."""
    large.serve(rate=50)
    assert large.copy("scp", "put", "-l80000") == (0, "")
    assert len(large.pids()) == 1


@BOTH
def test_auto_and_a_tree(place, direction):
    tree(place.source)
    assert place.copy("scp", direction, "-p") == (0, "")
    assert entries(place.dest) == entries(place.source)
    assert len(place.pids()) >= 3


@BOTH
def test_what_is_left_of_a_tree(place, direction):
    """Half of what was copied, until the last files have begun."""
    place.serve(env="NOT_HELD=1")
    place.source.mkdir()
    for i in range(60):
        (place.source / str(i)).write_bytes(content(200_000, i))
    argv, _ = place.argv("scp", direction, place.source, place.dest, "-vv")
    argv.remove("-q")
    status, error = run(list(map(str, argv)), place.path)
    assert status == 0
    facts = [tuple(map(int, found)) for found in re.findall(
        r"sftp_auto_wants: .* (\d+) bytes, (\d+) left", error)]
    assert facts[0][1] == facts[0][0] // 2
    copied, left = facts[-1]
    assert copied + left == 60 * 200_000


@BOTH
def test_what_is_left_of_a_tree_that_is_resumed(place, direction):
    """What is there already is not left."""
    place.source.mkdir()
    place.dest.mkdir()
    for i in range(60):
        data = content(200_000, i)
        (place.source / str(i)).write_bytes(data)
        (place.dest / str(i)).write_bytes(data[:150_000 if i < 50 else 0])
    argv, _ = place.argv("scp", direction, f"{place.source}/.", place.dest,
                         "-Z", "-vv")
    argv.remove("-q")
    status, error = run(list(map(str, argv)), place.path)
    assert status == 0
    copied, left = map(int, re.findall(
        r"sftp_auto_wants: .* (\d+) bytes, (\d+) left", error)[-1])
    assert copied + left == 50 * 50_000 + 10 * 200_000


@pytest.mark.parametrize("value,number", [(1, 1), (4, 4)])
def test_copy_connections(large, value, number):
    """What ssh says that the configuration says"""
    large.serve(env=f"COPY_CONNECTIONS={value}")
    assert large.copy("scp", "put", lanes=None) == (0, "")
    assert len(large.pids()) == number
    assert large.copy("scp", "put", lanes=1) == (0, "")
    assert len(large.pids()) == 1


@pytest.mark.parametrize("option", ["connections=9", "connections=Auto1",
                                    "connections=", "pace=", "pace=5"])
def test_a_bad_value(large, option):
    for tool in ("scp", "sftp"):
        status, error = run([f"{OURS}/{tool}", "-X", option, "-D",
                             str(large.server), "x:a", "b"], large.path)
        assert status == 255 and "Invalid" in error


@BOTH
@pytest.mark.parametrize("refused", ["exit 1", "exec cat /dev/zero"])
def test_refused(large, direction, refused):
    """Once is enough."""
    large.serve(more=refused)
    assert large.copy("scp", direction) == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert len(large.pids()) == 5


@BOTH
def test_the_mark_is_there_before_a_lane_is(large, direction):
    """A login takes its time, and so does the mark: both at once."""
    large.serve(more="sleep 8; touch logged_in", rate=2)
    client = begin(large, "scp", direction)
    wait_for(lambda: large.dest.exists() and
             large.dest.stat().st_size > SIZE or client.poll() is not None)
    assert client.poll() is None
    assert not (large.path / "logged_in").exists()
    cut(large, client, "all")


@BOTH
def test_one_is_refused(large, direction):
    """Of the seven that begin at once: the others go on."""
    large.serve(more="mkdir refused 2>/dev/null && exit 1", rate=6)
    assert large.copy("scp", direction, "-X", "pace=off") == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert len(large.pids()) == 8


@pytest.mark.parametrize("what", ["file", "tree"])
@BOTH
def test_killed_at_any_moment(place, direction, what):
    killed_at_any_moment(place, direction, what, "auto ", 1.8)


# Logins

@pytest.fixture
def login_place(loopback_place):                        # noqa: F811
    here = loopback_place
    with open(here.path("source"), "wb") as f:
        f.write(content(SIZE))
    with open(here.path("config"), "w") as f:
        f.write(f"Match originalhost many\n  CopyConnections 3\n"
                f"Host far many hop\n  HostName 127.0.0.1\n  Port 2222\n"
                f"  User root\n"
                f"  IdentityFile {here.path('user')}\n  IdentitiesOnly yes\n"
                f"  StrictHostKeyChecking no\n  LogLevel ERROR\n"
                f"  UserKnownHostsFile {here.path('known_hosts')}\n")
    return here


# 10 MB/s: further logins come before the copy's end, however busy the machine
LASTS = "-l80000"


def ssh_copy(here, *options, direction="put", tree=OURS, tool="scp",
             host="far", program=None, environ=None):
    ends = [here.path("source"), f"{host}:{here.path('dest')}"]
    if direction == "get":
        ends = [f"{host}:{here.path('source')}", here.path("dest")]
    done = here.run([f"{OURS}/{tool}", "-q", "-S", program or f"{tree}/ssh",
                     "-F", here.path("config"), SLOW, *options, *ends],
                    env={**os.environ, **(environ or {})})
    assert filecmp.cmp(here.path("source"), here.path("dest"), shallow=False)
    assert (done.returncode, done.stderr) == (0, "")


def subsystem(server=SERVER):
    return f"Subsystem sftp {server}"


@pytest.mark.parametrize("host,options,number", [
    ("far", [], 1), ("many", [], 3), ("many", ["-oCopyConnections=2"], 2),
    ("far", ["-oCopyConnections=2", "-X", "connections=4"], 4),
    ("many", ["-X", "connections=1"], 1),
    ("far", ["-oCopyConnections=auto"], 1),
    ("many", ["-X", "connections=auto"], 1)])
def test_the_configuration(login_place, host, options, number):
    """Of that host, as ssh reads it: also Match. -X is first. A loopback is a
    LAN: auto stays at one there."""
    sshd = login_place.sshd(OURS, subsystem())
    ssh_copy(login_place, LASTS, *options, host=host)
    assert logins(sshd) == number


def test_the_configuration_says_nonsense(login_place):
    login_place.sshd(OURS, subsystem())
    for value in ("0", "9", "some"):
        done = login_place.run([f"{OURS}/ssh", "-oCopyConnections=" + value,
                                "-F", login_place.path("config"), "far"])
        assert done.returncode == 255 and "CopyConnections" in done.stderr
    done = login_place.run([f"{OURS}/ssh", "-G", "-oCopyConnections=Auto",
                            "-F", "none", "far"])
    assert "copyconnections auto\n" in done.stdout


def test_another_ssh(login_place):
    """It says nothing: CopyConnections would be unknown to it. -X counts."""
    sshd = login_place.sshd(OURS, subsystem())
    here = login_place
    config = read(here.path("config"))
    with open(here.path("config"), "w") as f:
        f.write("IgnoreUnknown CopyConnections\n" + config)
    ssh_copy(here, "-X", "connections=auto", tree=STOCK)
    assert logins(sshd) == 1
    ssh_copy(here, LASTS, "-X", "connections=3", tree=STOCK)
    assert logins(sshd) == 1 + 3


@BOTH
def test_through_a_master(login_place, direction):
    """The copy stays in it: no login at all."""
    here = login_place
    sshd = here.sshd(OURS, subsystem())
    path = here.path("master")
    here.start([f"{OURS}/ssh", "-F", here.path("config"), "-M", "-N", "-S",
                path, "far"], stdin=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists(path))
    for options in (["-X", "connections=4"], ["-X", "connections=auto"],
                    ["-oCopyConnections=4"]):
        ssh_copy(here, f"-oControlPath={path}", *options, direction=direction)
    assert logins(sshd) == 1


def test_through_a_jump_host(login_place):
    """Each connection has one of its own there, and its login asks nothing
    there either. auto can't see the path, and stays at one."""
    here = login_place
    sshd = here.sshd(OURS, subsystem())
    ssh_copy(here, LASTS, "-J", "hop", "-X", "connections=3")
    assert logins(sshd) == 2 * 3
    ssh_copy(here, "-J", "hop", "-X", "connections=auto")
    assert logins(sshd) == 2 * 3 + 2


def test_a_jump_host_that_asks(login_place):
    """The hop lets the first one in only: the others get no password prompt
    there, and the copy goes on."""
    here = login_place
    sshd = here.sshd(OURS, subsystem(), "PasswordAuthentication yes")
    told, program = here.path("told"), here.path("ssh")
    with open(program, "w") as f:
        f.write(f'#!/bin/sh\necho "$SSH_COPY_LANE $*" >> {told}\n'
                'case " $*" in *" -W "*)\n'
                '  test -n "$SSH_COPY_LANE" && set -- -l nosuch "$@";;\n'
                f'esac\nexec {OURS}/ssh "$@"\n')
    os.chmod(program, 0o755)
    jump = f"{program} -F {here.path('config')} -W %h:%p hop"
    ssh_copy(here, LASTS, f"-oProxyCommand={jump}", "-X", "connections=3")
    assert logins(sshd) == 2
    assert read(sshd.log).count("Invalid user nosuch") == 2
    assert "Failed password" not in read(sshd.log)
    assert sorted(line.split()[0] == "1" for line in
                  read(told).splitlines()) == [False, True, True]


def test_the_users_algorithms_stay(login_place):
    """A further login takes the user's list, too: here it needs an algorithm
    that is not in the default one."""
    here = login_place
    sshd = here.sshd(OURS, subsystem(), "PubkeyAcceptedAlgorithms ssh-rsa",
                     f"AuthorizedKeysFile {here.path('rsa')}.pub")
    subprocess.run([f"{OURS}/ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f",
                    here.path("rsa")], check=True)
    ssh_copy(here, LASTS, "-i", here.path("rsa"), "-X", "connections=3",
             "-oPubkeyAcceptedAlgorithms=+ssh-rsa")
    assert logins(sshd) == 3


@pytest.mark.parametrize("tree", [OURS, STOCK], ids=["ours", "stock"])
def test_what_further_logins_must_not_do(login_place, tree):
    """Our ssh finds out by itself which keys need a touch. It also tells that
    the user has logged in, some time before the server answers."""
    here = login_place
    here.sshd(OURS, subsystem(f"sleep 0.5; exec {SERVER}"))
    told, program = here.path("told"), here.path("ssh")
    config = read(here.path("config"))
    with open(here.path("config"), "w") as f:
        f.write("IgnoreUnknown CopyConnections\n" + config)
    with open(program, "w") as f:
        f.write("#!/bin/sh\ntest -n \"$SSH_COPY_LANE\" && "
                f'echo "$*" >> {told}\nexec {tree}/ssh "$@"\n')
    os.chmod(program, 0o755)
    slow = [LASTS] if tree == STOCK else []     # else they begin at once
    done = here.run([f"{OURS}/scp", "-q", "-S", program, "-F",
                     here.path("config"), *slow, "-X", "connections=3",
                     here.path("source"), f"far:{here.path('dest')}"])
    assert (done.returncode, done.stderr) == (0, "")
    # The copy waits for no login.
    wait_for(lambda: os.path.exists(told) and
             len(read(told).splitlines()) == 2)
    words = [line.split() for line in read(told).splitlines()]
    keys = ["-oPubkeyAcceptedAlgorithms=-sk-*"] if tree == STOCK else []
    first = [*keys, "-oBatchMode=yes", "-oNumberOfPasswordPrompts=0",
             "-oPasswordAuthentication=no"]
    for line in words:
        assert line[:len(first)] == first
        assert "-oServerAliveCountMax=3" in line


def locked(here):
    """A key with a passphrase"""
    subprocess.run([f"{OURS}/ssh-keygen", "-q", "-t", "ed25519", "-N", "word",
                    "-f", here.path("locked")], check=True)


def answers(here, word, late_s=0):
    """Environment of a user who types that word"""
    with open(here.path("askpass"), "w") as f:
        f.write(f"#!/bin/sh\nsleep {late_s}\necho {word}\n")
    os.chmod(here.path("askpass"), 0o755)
    return {"SSH_ASKPASS": here.path("askpass"),
            "SSH_ASKPASS_REQUIRE": "force"}


def test_a_login_that_asked(login_place):
    """Further ones would fail where nobody may be asked, and sshd blocks those
    who fail often: there are none."""
    here = login_place
    sshd = here.sshd(OURS, subsystem(), "PubkeyAuthentication yes",
                     f"AuthorizedKeysFile {here.path('locked')}.pub")
    locked(here)
    environ = answers(here, "word")
    for value in ("no", "yes"):
        ssh_copy(here, LASTS, "-i", here.path("locked"), "-X", "connections=3",
                 f"-oQuickStart={value}", environ=environ)
    assert logins(sshd) == 2
    assert not turned_away(sshd)


# crypt(3) of "word"
WORD_DIGEST = "$6$openssh-bdp$uT0u970C3e8EBD924ZWGW/2p/u9mdqu7P97bspehP6HOO" \
    "D12yc2YznvPFVIbxM07dauYtA8FMpyKjBuen7woz/"


def turned_away(sshd):
    """Logins that failed, or gave up"""
    return re.findall(r"Connection \w+ by .*preauth", read(sshd.log))


def test_a_remembered_key_that_is_refused_now(login_place):
    """QuickStart opens the session before the login has succeeded. Further
    logins don't begin before that: here they would fail."""
    here = login_place
    keys = here.path("keys")
    sshd = here.sshd(OURS, subsystem(), f"AuthorizedKeysFile {keys}")
    locked(here)
    shutil.copy(here.path("user.pub"), keys)
    for _ in range(2):
        ssh_copy(here)                  # the key is remembered
    shutil.copy(here.path("locked.pub"), keys)
    ssh_copy(here, LASTS, "-i", here.path("user"), "-i", here.path("locked"),
             "-X", "connections=3", environ=answers(here, "word", 1))
    assert logins(sshd) == 3
    assert not turned_away(sshd)


@pytest.mark.parametrize("quick", ["no", "yes"])
def test_a_password_before_the_key(login_place, quick):
    """What was asked for before the last method counts."""
    here = login_place
    with open(here.path("shadow"), "w") as f:
        f.write(f"root:{WORD_DIGEST}:19000:0:99999:7:::\n")
    here.run(["mount", "--bind", here.path("shadow"), "/etc/shadow"])
    sshd = here.sshd(OURS, subsystem(), "PasswordAuthentication yes",
                     "AuthenticationMethods password,publickey")
    for number in (1, 2):
        ssh_copy(here, LASTS, "-X", "connections=3", f"-oQuickStart={quick}",
                 environ=answers(here, "word"))
        assert logins(sshd) == number
    assert not turned_away(sshd)


@pytest.mark.parametrize("certificate", [False, True])
def test_other_ways_to_know_a_host(login_place, certificate):
    """Its name without the port; and its key, though it has a certificate."""
    here = login_place
    options = []
    if certificate:
        for argv in (["-q", "-t", "ed25519", "-N", "", "-f", here.path("ca")],
                     ["-q", "-s", here.path("ca"), "-h", "-I", "host",
                      here.path("host.pub")]):
            subprocess.run([f"{OURS}/ssh-keygen", *argv], check=True)
        options = [f"HostCertificate {here.path('host-cert.pub')}"]
    sshd = here.sshd(OURS, subsystem(), *options)
    name = "[127.0.0.1]:2222" if certificate else "127.0.0.1"
    with open(here.path("other"), "w") as f:
        f.write(f"{name} {read(here.path('host.pub'))}")
    ssh_copy(here, LASTS, "-X", "connections=3", "-oStrictHostKeyChecking=yes",
             f"-oUserKnownHostsFile={here.path('other')}")
    assert logins(sshd) == 3
    assert not turned_away(sshd)


@pytest.mark.parametrize("files,number", [
    (["-oUserKnownHostsFile=/dev/null"], 1),
    (["-oUserKnownHostsFile=/dev/null",
      "-oGlobalKnownHostsFile={known_hosts}"], 3),
    (["-oHostKeyAlias=another", "-oQuickStart=no"], 3)])
def test_a_key_of_the_host_that_is_in_no_file(login_place, files, number):
    """Further logins insist on it, so they would fail."""
    here = login_place
    sshd = here.sshd(OURS, subsystem())
    ssh_copy(here)                      # the host is known from here on
    words = [word.format(known_hosts=here.path("known_hosts"))
             for word in files]
    ssh_copy(here, LASTS, "-X", "connections=3", *words)
    assert logins(sshd) == 1 + number
    assert not turned_away(sshd)


@pytest.mark.level("netem")
def test_a_refused_login_is_the_last(login_place):
    """None is begun after the pace allows it, either."""
    here = login_place
    sshd = here.sshd(OURS, subsystem(), "MaxSessions 1")
    program = here.path("ssh")
    with open(program, "w") as f:
        f.write(f'#!/bin/sh\necho >> {here.path("told")}\n'
                'test -n "$SSH_COPY_LANE" && set -- -l nosuch "$@"\n'
                f'exec {OURS}/ssh "$@"\n')
    os.chmod(program, 0o755)
    ssh_copy(here, "-l9000", "-X", "connections=8", program=program)
    assert logins(sshd) == 1 and len(read(here.path("told"))) == 5
