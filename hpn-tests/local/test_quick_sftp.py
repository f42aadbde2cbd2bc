"""QuickStart with scp and sftp: what goes out with the login, and what becomes
of it."""

import os
import re
import shutil
import subprocess

import pytest

from loopback import OURS, STOCK, place, read   # noqa: F401
from quick_login import restart
from sftp_tools import content, digests

HOST = "root@127.0.0.1"
SMALL, EDGE, LARGE = 1000, 32768, 1 << 20       # bytes
SERVER = f"Subsystem sftp {OURS}/sftp-server"
BETWEEN = os.path.join(os.path.dirname(__file__), "sftp_between.py")
AHEAD = 510 * 1024                      # bytes of a download's first READs


@pytest.fixture
def home(place):                        # noqa: F811
    os.mkdir(place.path(".ssh"), 0o700)
    return place


class Done:
    """A command that ran, and what its log tells."""

    def __init__(self, done):
        self.status, self.stderr = done.returncode, done.stderr
        self.sent_early = [int(n) for n in re.findall(
            r"QuickStart: (\d+) bytes sent with the session", done.stderr)]
        self.at_once = "QuickStart: sftp's requests sent at once" \
            in done.stderr
        self.told = [line for line in done.stderr.splitlines()
                     if not re.match(r"(\S+: )?debug\d|Authenticated|Bytes|"
                                     r"Transferred|OpenSSH_|Connect|Exec"
                                     r"| |$|Attached|sftp> ", line)]
        self.server_ended = "The server ends the session" in done.stderr


def scp(home, *argv, quick="yes", ssh=OURS, tree=OURS):
    words = [] if quick is None else ["-o", f"QuickStart={quick}"]
    return Done(home.run([
        f"{tree}/scp", "-S", f"{ssh}/ssh", "-F", "none", "-P", "2222", "-i",
        home.path("user"), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
        "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=DEBUG3", "-o",
        f"UserKnownHostsFile={home.path('known_hosts')}", "-vvv", *words,
        *map(str, argv)]))


def sftp(home, batch, *argv, quick="yes"):
    with open(home.path("batch"), "w") as f:
        f.write(batch)
    return Done(home.run([
        f"{OURS}/sftp", "-S", f"{OURS}/ssh", "-F", "none", "-P", "2222", "-i",
        home.path("user"), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
        "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=DEBUG3", "-o",
        f"UserKnownHostsFile={home.path('known_hosts')}", "-o",
        f"QuickStart={quick}", "-vvv", *argv, "-b", home.path("batch"), HOST]))


def source(home, size=SMALL, name="source"):
    path = home.path(name)
    with open(path, "wb") as f:
        f.write(content(size))
    os.utime(path, (1234567890, 1234567890))
    return path


def same(one, other):
    with open(one, "rb") as a, open(other, "rb") as b:
        return a.read() == b.read()


def remember(home, server=SERVER, tree=OURS):
    """Two logins: the first remembers the key and the server's sftp."""
    home.sshd(tree, server)
    path = source(home, name="first")
    for _ in range(2):
        done = scp(home, path, f"{HOST}:{home.path('first.copy')}")
        assert done.status == 0, done.stderr
    return done


@pytest.mark.parametrize("size", [0, 1, SMALL, EDGE, EDGE + 1, LARGE])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_scp(home, direction, size):
    remember(home)
    path, copy = source(home, size), home.path("copy")
    with open(copy, "wb") as f:
        f.write(b"there before, and longer" * 100000)
    ends = [path, f"{HOST}:{copy}"] if direction == "put" else \
        [f"{HOST}:{path}", copy]
    done = scp(home, "-p", *ends)
    assert done.status == 0 and same(path, copy), done.stderr
    assert done.told == []
    assert os.stat(copy).st_mtime == 1234567890
    assert done.at_once and len(done.sent_early) == 1
    # Nobody waits for the end.
    assert done.server_ended
    if direction == "put":
        assert done.sent_early[0] > min(size, EDGE)


def test_full_disk(home):
    """What was written stays there, as with stock, up to the first WRITE that
    failed; the first bytes went out with the login."""
    full = home.path("full")
    os.mkdir(full)
    home.run(["mount", "-t", "tmpfs", "-o", "size=2m", "full", full])
    remember(home)
    path = source(home, 4 * LARGE)
    seen = f"/proc/{home.holder.pid}/root{full}/copy"
    for quick in ("yes", "no"):
        done = scp(home, path, f"{HOST}:{full}/copy", quick=quick)
        assert done.status == 1 and len(done.sent_early) == (quick == "yes")
        with open(seen, "rb") as f:
            left = f.read()
        os.unlink(seen)
        # A WRITE that failed may have written part of its data.
        assert 1.5 * LARGE < len(left) <= 2 * LARGE
        assert content(4 * LARGE).startswith(left)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_into_a_directory(home, size):
    remember(home)
    path = source(home, size)
    os.mkdir(home.path("dir"))
    for target in ("dir", "dir/", ".", "", "~/dir", "~"):
        os.chmod(path, 0o640)
        done = scp(home, path, f"{HOST}:{target}")
        where = home.path("dir" if "dir" in target else "")
        assert done.status == 0 and done.at_once, (target, done.stderr)
        assert done.server_ended and done.told == []
        if "dir" in target:
            copy = os.path.join(where, "source")
            assert same(path, copy)
            assert os.stat(copy).st_mode & 0o777 == 0o640
            os.unlink(copy)


@pytest.mark.parametrize("target,error", [
    ("no/such/place", "No such file or directory"),
    ("no/", None), ("fifo/x", None)])
def test_no_such_target(home, target, error):
    """Errors are stock's, and the exit status too."""
    remember(home)
    path = source(home)
    os.mkfifo(home.path("fifo"))
    told = [scp(home, path, f"{HOST}:{home.path(target)}", quick=quick)
            for quick in ("yes", "no")]
    assert told[0].at_once and not told[1].at_once
    assert told[0].status == told[1].status == 1
    assert told[0].told == told[1].told != []
    assert error is None or error in told[0].told[0]


def test_no_such_source(home):
    remember(home)
    os.mkdir(home.path("dir"))
    os.mkfifo(home.path("fifo"))
    for name in ("missing", "dir", "fifo"):
        done = [scp(home, f"{HOST}:{home.path(name)}", home.path("copy"),
                    quick=quick) for quick in ("yes", "no")]
        assert done[0].status == done[1].status != 0
        assert done[0].told == done[1].told != [], name
        assert not os.path.exists(home.path("copy"))


def test_a_tree(home):
    remember(home)
    os.makedirs(home.path("tree/deep"))
    for n in range(20):
        source(home, n * 1000, f"tree/deep/{n}")
    for ends in ([home.path("tree"), f"{HOST}:{home.path('up')}"],
                 [f"{HOST}:{home.path('tree')}", home.path("down")]):
        done = scp(home, "-r", *ends)
        assert done.status == 0 and done.at_once, done.stderr
        copy = "up" if ends[0] == home.path("tree") else "down"
        for n in range(20):
            assert same(home.path(f"tree/deep/{n}"),
                        home.path(f"{copy}/deep/{n}"))


def test_several(home):
    """Into a directory that is made, and one that is there."""
    remember(home)
    paths = [source(home, size, f"s{n}")
             for n, size in enumerate((LARGE, 0, 1000))]
    for name in ("dir", "down"):
        os.mkdir(home.path(name))
    for _ in range(2):
        done = scp(home, *paths, f"{HOST}:{home.path('dir')}")
        assert done.status == 0, done.stderr
        assert not done.server_ended
        for n in range(3):
            assert same(paths[n], home.path(f"dir/s{n}"))
    done = scp(home, *[f"{HOST}:{path}" for path in paths],
               home.path("down"))
    assert done.status == 0, done.stderr
    for n in range(3):
        assert same(paths[n], home.path(f"down/s{n}"))


@pytest.mark.parametrize("batch", [
    "put {s} {d}/copy\n", "put -p {s} {d}/copy", "put {s} copy\n",
    "get {s} {d}/copy\n", "get source {d}/copy\n", "put {s} {d}\n"])
def test_sftp(home, batch):
    remember(home)
    path = source(home)
    os.mkdir(home.path("dir"))
    where = "dir" if "{d}\n" in batch else "copy"
    words = {"s": path, "d": home.path("dir" if where == "dir" else "")}
    done = sftp(home, batch.format(**words))
    copy = home.path("dir/source" if where == "dir" else "copy")
    assert done.status == 0 and same(path, copy), done.stderr
    assert done.at_once and done.server_ended, done.stderr
    assert done.told == []


def test_sftp_of_more(home):
    """What follows finds the server there."""
    remember(home)
    path = source(home)
    done = sftp(home, f"put {path} one\nput {path} two\nrm one\n")
    assert done.status == 0 and not done.server_ended, done.stderr
    assert same(path, home.path("two"))
    assert not os.path.exists(home.path("one"))


@pytest.mark.parametrize("words", [["-X", "files=1"], ["-Z"], ["-l", "9999"],
                                   ["-X", "buffer=1000"]])
def test_not_planned(home, words):
    remember(home)
    path = source(home)
    done = scp(home, *words, path, f"{HOST}:{home.path('copy')}")
    assert done.status == 0 and same(path, home.path("copy")), done.stderr
    assert not done.at_once or done.sent_early[0] < 20


def test_no_is_stock(home):
    remember(home)
    path = source(home)
    done = scp(home, path, f"{HOST}:{home.path('copy')}", quick="no")
    assert done.status == 0 and same(path, home.path("copy"))
    assert not done.at_once and done.sent_early == []
    assert not done.server_ended


def test_not_remembered(home):
    """The version is waited for at the first login."""
    home.sshd(OURS, SERVER)
    path = source(home)
    for at_once in (False, True):
        done = scp(home, path, f"{HOST}:{home.path('copy')}")
        assert done.status == 0 and done.at_once == at_once
        assert same(path, home.path("copy"))


def test_another_sftp_server_since(home):
    """Stock's refuses the requests: the file is copied in the usual way, and
    the next login does not try again."""
    remember(home)
    for sshd in [s for s in home.started if hasattr(s, "log")]:
        sshd.terminate()
        sshd.wait()
    home.sshd(OURS, f"Subsystem sftp {STOCK}/sftp-server")
    for direction in ("put", "get"):
        path, copy = source(home, LARGE), home.path("copy")
        ends = [path, f"{HOST}:{copy}"] if direction == "put" else \
            [f"{HOST}:{path}", copy]
        done = scp(home, *ends)
        assert done.status == 0 and same(path, copy), done.stderr
        assert done.told == []
        assert done.at_once == (direction == "put")
        os.unlink(copy)


def test_key_refused(home):
    """The data waits for the session that comes after all, and goes once."""
    keys = home.path("authorized")
    subprocess.run([f"{STOCK}/ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                    "-f", home.path("other")], check=True)
    with open(keys, "w") as f:
        f.write(read(home.path("user.pub")))
    home.sshd(OURS, SERVER, f"AuthorizedKeysFile {keys}")
    path, copy = source(home, EDGE), home.path("copy")
    for _ in range(2):
        assert scp(home, path, f"{HOST}:{copy}").status == 0
    os.unlink(copy)
    with open(keys, "w") as f:
        f.write(read(home.path("other.pub")))
    done = scp(home, "-i", home.path("other"), path, f"{HOST}:{copy}")
    assert done.status == 0 and same(path, copy), done.stderr
    assert done.told == []
    assert done.at_once and "input are sent again" in done.stderr
    assert len(re.findall("Sent .* bytes before", done.stderr)) == 1


def test_refused_subsystem(home):
    remember(home)
    for sshd in [s for s in home.started if hasattr(s, "log")]:
        sshd.terminate()
        sshd.wait()
    home.sshd(OURS)
    path = source(home)
    done = [scp(home, path, f"{HOST}:{home.path('copy')}", quick=quick)
            for quick in ("yes", "no")]
    assert done[0].at_once and done[0].status == done[1].status == 255
    assert done[0].told == done[1].told
    assert not os.path.exists(home.path("copy"))


def test_exit_status_of_the_server(home):
    """It is waited for, and is scp's, as in stock."""
    with open(home.path("wrapper"), "w") as f:
        f.write(f"#!/bin/sh\n{OURS}/sftp-server\nsleep 1\n"
                f"touch {home.path('after')}\nexit 3\n")
    os.chmod(home.path("wrapper"), 0o755)
    home.sshd(OURS, f"Subsystem sftp {home.path('wrapper')}")
    path, copy = source(home), home.path("copy")
    for _ in range(3):
        done = scp(home, path, f"{HOST}:{copy}")
        assert same(path, copy), done.stderr
        assert done.status == 1
        assert os.path.exists(home.path("after"))
        os.unlink(home.path("after"))
    assert done.at_once and done.server_ended


@pytest.mark.parametrize("size", [LARGE, EDGE + 1, SMALL])
def test_source_that_is_replaced(home, size):
    """A file that another one replaces during the login is one of the two."""
    remember(home)
    for sshd in [s for s in home.started if hasattr(s, "log")]:
        sshd.terminate()
        sshd.wait()
    with open(home.path("wrapper"), "w") as f:
        f.write(f"#!/bin/sh\nmv {home.path('other')} {home.path('source')}\n"
                f"exec {OURS}/sftp-server\n")
    os.chmod(home.path("wrapper"), 0o755)
    home.sshd(OURS, f"Subsystem sftp {home.path('wrapper')}")
    path, copy = source(home, LARGE), home.path("copy")
    with open(home.path("other"), "wb") as f:
        f.write(b"another file " * LARGE)
        f.truncate(size)
    done = scp(home, path, f"{HOST}:{copy}")
    assert done.status == 0, done.stderr
    assert done.at_once and len(done.sent_early) == 1
    assert same(path, copy) and os.path.getsize(copy) == size


def test_force_command(home):
    """It gets the data as its input, once."""
    remember(home)
    for sshd in [s for s in home.started if hasattr(s, "log")]:
        sshd.terminate()
        sshd.wait()
    home.sshd(OURS, SERVER, "ForceCommand timeout 3 cat > "
              f"{home.path('got')}; exit 1")
    path = source(home)
    done = scp(home, path, f"{HOST}:{home.path('copy')}")
    assert done.status != 0 and done.at_once, done.stderr
    with open(home.path("got"), "rb") as f:
        assert f.read().count(content(SMALL)) == 1


@pytest.mark.parametrize("words", [["-R"], ["-P", "write"],
                                   ["-p", "open,close,read,stat,lstat,"
                                    "realpath"], ["-P", "open"]])
def test_what_the_server_permits(home, words):
    remember(home)
    for sshd in [s for s in home.started if hasattr(s, "log")]:
        sshd.terminate()
        sshd.wait()
    home.sshd(OURS, " ".join([SERVER, *words]))
    path = source(home)
    done = [scp(home, path, f"{HOST}:{home.path('copy')}", quick=quick)
            for quick in ("yes", "no")]
    assert done[0].status == done[1].status == 1, done[0].stderr
    assert done[0].told == done[1].told != []
    assert done[0].at_once
    done = [scp(home, f"{HOST}:{path}", home.path(f"copy.{quick}"),
                quick=quick) for quick in ("yes", "no")]
    assert done[0].status == done[1].status
    assert done[0].told == done[1].told


def sftp_both(home, batch, *argv, host=HOST, behind=False):
    """sftp with QuickStart and without: both leave the same below "there"."""
    found = []
    for quick in ("yes", "no"):
        shutil.rmtree(home.path("there"), ignore_errors=True)
        os.makedirs(home.path("there/dir"))
        with open(home.path("batch"), "w", newline="") as f:
            f.write(batch)
        words = [f"{OURS}/sftp", "-S", f"{OURS}/ssh", "-F", "none", "-P",
                 "2222", "-i", home.path("user"),
                 "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no",
                 "-o", f"QuickStart={quick}",
                 "-o", f"UserKnownHostsFile={home.path('known_hosts')}",
                 *argv, "-b"]
        if behind:
            words = ["sh", "-c", '{ read line; exec "$@"; } < "$0"',
                     home.path("batch"), *words, "-", host]
        else:
            words += [home.path("batch"), host]
        done = Done(home.run(words))
        found.append((done.status, [
            os.path.relpath(os.path.join(path, name), home.path(""))
            for path, _, names in os.walk(home.path("there"))
            for name in names]))
    assert found[0] == found[1]
    return found[0]


def test_sftp_in_a_directory(home):
    """A batch's file goes below the directory that the command line names."""
    remember(home)
    path = source(home)
    there = home.path("there")
    other = source(home, EDGE, "copy")
    assert sftp_both(home, f"put {path} ../copy\n",
                     host=f"{HOST}:{there}/dir") == (0, ["there/copy"])
    assert sftp_both(home, f"put {path} copy\n",
                     host=f"{HOST}:{there}/dir") == (0, ["there/dir/copy"])
    assert os.path.getsize(other) == EDGE


@pytest.mark.parametrize("end", ["\r\n", "\r", "\v\n", "\f\n"])
def test_sftp_line_ends(home, end):
    """They are no part of the file's name."""
    remember(home)
    path = source(home)
    there = home.path("there")
    assert sftp_both(home, f"put {path} {there}/copy{end}")[1] == \
        ["there/copy"]


def test_sftp_batch_that_was_read(home):
    """What somebody else has read from a file is no command."""
    remember(home)
    path = source(home)
    assert sftp_both(home, f"put {path} {home.path('there')}/copy\n",
                     behind=True) == (0, [])


def read_in_parts():
    """A file of which a READ returns less than there is, or None."""
    for path in ("/proc/crypto", "/proc/slabinfo", "/proc/timer_list"):
        try:
            with open(path, "rb", buffering=0) as f:
                first = len(f.read(EDGE))
                if first != 0 and first + len(f.read(EDGE)) > first:
                    return path
        except OSError:
            pass
    return None


@pytest.mark.skipif(read_in_parts() is None, reason="no such file")
def test_short_reads(home):
    """A file whose READs return less than there is comes whole."""
    remember(home)
    path, copy = read_in_parts(), home.path("copy")
    with open(path, "rb") as f:
        size = len(f.read())
    done = scp(home, f"{HOST}:{path}", copy)
    assert done.status == 0 and done.at_once, done.stderr
    assert os.path.getsize(copy) > 0.9 * size


def between(home, *words):
    """From now on the server's sftp is odd."""
    for sshd in [s for s in home.started if hasattr(s, "log")]:
        sshd.terminate()
        sshd.wait()
    home.sshd(OURS, " ".join(["Subsystem sftp", BETWEEN,
                              f"{OURS}/sftp-server", *map(str, words)]))


# Of a file of 1 KiB to 1 MiB, the READs are for 8, 247 and 255 KiB, and 255 KiB
@pytest.mark.parametrize("before,after", [
    (LARGE, 300000), (LARGE, 100000), (LARGE, 4000), (LARGE, 0),
    (LARGE, AHEAD), (AHEAD, LARGE), (AHEAD + 4, AHEAD), (300000, 4000),
    (4000, 6000), (4000, 100000), (4000, 300000), (4000, LARGE),
    (100000, 200000), (100000, 300000), (100000, LARGE), (0, 6000),
    (0, 100000), (0, LARGE)])
@pytest.mark.parametrize("way", ["change", "replace"])
def test_size_that_changes(home, before, after, way):
    """A download of a file that grows, shrinks or is replaced meanwhile is what
    it was at some time, or an error."""
    remember(home)
    path, copy = source(home, before), home.path("copy")
    for number in range(5):
        between(home, way, number, path, source(home, after, "other"))
        source(home, before)
        done = scp(home, f"{HOST}:{path}", copy)
        assert done.at_once, done.stderr
        with open(copy, "rb") as f:
            got = f.read()
        assert content(LARGE).startswith(got)
        if done.status == 0:
            assert len(got) in (before, after), (number, done.stderr)
        else:
            # (READs that are sent later may find a hole.)
            assert after < before or number == 4, (number, done.stderr)
            assert done.told


def test_replies_out_of_order(home):
    """A server that answers a later READ first: the file comes whole."""
    remember(home)
    between(home, "hold")
    path, copy = source(home, LARGE), home.path("copy")
    done = scp(home, f"{HOST}:{path}", copy)
    assert done.status == 0 and done.at_once, done.stderr
    assert same(path, copy)


@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("what", ["file", "tree"])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_several_connections(home, tool, what, direction):
    """-X connections=N, too: the parts of a large file and the files of a tree
    go over them, whatever was sent early."""
    remember(home)
    size = 40 * LARGE + 12345
    if what == "tree":
        os.mkdir(home.path("source"))
        for i in range(100):
            source(home, LARGE // 4 + i, f"source/{i}")
        source(home, size, "source/large")
    else:
        source(home, size)
    path, copy = home.path("source"), home.path("copy")
    more = ["-X", "connections=3"]      # -l would hold QuickStart back
    deep = ["-r"] if what == "tree" else []
    if tool == "sftp":
        done = sftp(home, f"{direction} -p {' '.join(deep)} {path} {copy}\n",
                    *more)
    else:
        ends = [path, f"{HOST}:{copy}"] if direction == "put" else \
            [f"{HOST}:{path}", copy]
        done = scp(home, "-p", *deep, *more, *ends)
    assert done.status == 0, done.stderr
    assert done.at_once
    assert digests(path) == digests(copy)
    assert re.search(r"copied in parts over [123] lanes", done.stderr)


@pytest.mark.parametrize("tool", ["scp", "sftp"])
def test_pace_of_a_wrong_guess(home, tool):
    """The server has changed: ssh connects a second time, and that counts. No
    more than five connections begin at once, as firewalls refuse a sixth."""
    remember(home)
    path, copy = source(home, 200 * LARGE), home.path("copy")
    sshd = restart(home, OURS, SERVER, "KexAlgorithms ecdh-sha2-nistp384")
    more = ["-X", "connections=8"]
    done = scp(home, *more, path, f"{HOST}:{copy}") if tool == "scp" else \
        sftp(home, f"put {path} {copy}\n", *more)
    assert done.status == 0 and same(path, copy), done.stderr
    assert len(re.findall(r"(?m)^Connection from", read(sshd.log))) == 5
