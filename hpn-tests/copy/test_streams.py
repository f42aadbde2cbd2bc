"""scp and sftp over several streams (-X streams=N), without ssh between."""

import filecmp
import os
import re
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from stream_place import (BOTH, LARGE, MIB, SIZE, SLOW, TOOLS,   # noqa: F401
                          begin, fill, goes_on, kill, large, logins,
                          made_long_ago, missing, place, pretenders, runs,
                          sent_in, ssh_script, stopped, tree, wait_for)
from loopback import (HOST, PORT, needs_root,              # noqa: F401
                      place as loopback_place, read, stands_still)
from sftp_tools import (ODD, OURS, SERVER, content, digests, entries, run)


@TOOLS
@BOTH
def test_large_file_goes_over_several_streams(large, tool, direction):
    """Its attributes are as with one."""
    large.serve(until="others=flags=2")     # of open
    assert large.copy(tool, direction, SLOW, "-p") == (0, "")
    assert entries(large.dest) == entries(large.source)
    assert len(large.pids()) == 4
    moved = large.moved()
    assert sum(n > MIB for n in moved) >= 2
    assert SIZE <= sum(moved) < SIZE + MIB


def test_local_command_gets_no_descriptors_of_streams(large):
    seen = []
    for streams in (1, 4):
        large.serve(until=f"pids=={streams}")
        argv, batch = large.argv("sftp", "put", large.source, large.dest, SLOW,
                                 streams=streams)
        assert run(list(map(str, argv)), large.path, input=batch +
                   "!ls /proc/self/fd > open\n") == (0, "")
        assert len(large.pids()) == streams
        seen.append((large.path / "open").read_text())
    assert seen[0] == seen[1]


@TOOLS
@BOTH
@pytest.mark.parametrize("before", [1000, SIZE, SIZE + 3 * MIB])
def test_file_that_is_there_is_replaced(large, tool, direction, before):
    """scp writes in place: only its time may show that it changes."""
    large.dest.write_bytes(content(before, 7))
    made_long_ago(large.dest)
    large.serve(until="others=flags=1")
    assert large.copy(tool, direction, SLOW) == (0, "")
    assert filecmp.cmp(large.source, large.dest, shallow=False)


@TOOLS
@BOTH
def test_tree_goes_over_several_streams(place, tool, direction):
    tree(place.source)
    for name in ("", "deep", "deep/1"):
        os.utime(place.source / name, (1234567890, 1234567890))
    place.serve(until="others=flags=1")
    assert place.copy(tool, direction, "-l160000", "-p") == (0, "")
    assert entries(place.dest) == entries(place.source)
    assert sent_in(read(place.path / "others")) > 0


@BOTH
def test_small_files_need_no_streams(place, direction):
    place.source.write_bytes(content(MIB))
    assert place.copy("scp", direction) == (0, "")
    assert len(place.pids()) == 1


def test_copies_between_servers_have_no_further_streams(place):
    tree(place.source)
    assert place.copy("scp", "put", SLOW, "-3", "-r",
                      source=f"y:{place.source}") == (0, "")
    assert len(place.pids()) == 2


def test_unreadable_files_stop_no_others(place):
    """Each is tried on a further stream, on the first one, and again if others
    were open: streams may share the handles that a server has."""
    place.source.mkdir()
    for i in range(600):
        (place.source / str(i)).write_bytes(content(20000, i))
    bad = [place.source / str(i) for i in range(0, 600, 20)]
    for path in bad:
        path.chmod(0)
    place.serve(until="others=flags=60")
    status, error = place.copy("scp", "get", "-l80000", streams=8)
    assert status == 1
    assert error.count("Permission denied") == len(bad)
    opened = re.findall(r'open "(.*)" flags', place.log())
    assert len(opened) < 600 + 10 * len(bad)
    for path in bad:
        path.unlink()
    assert digests(place.dest) == digests(place.source)


@BOTH
@pytest.mark.parametrize("streams", [1, 4])
def test_reget_and_reput_complete_a_file(large, direction, streams):
    """reget and reput. With several streams, the last 64 MiB may have gaps."""
    with open(large.source, "ab") as f:
        f.truncate(100 * MIB)
    large.dest.write_bytes(large.source.read_bytes()[:80 * MIB])
    large.serve(until="others=flags=1" * (streams > 1))
    status, error = large.copy("sftp", f"re{direction}", SLOW, streams=streams)
    assert status == 0, error
    assert digests(large.dest) == digests(large.source)
    again = 64 * MIB if streams > 1 else 0
    assert 20 * MIB + again <= large.sent() < 21 * MIB + again


@pytest.mark.parametrize("streams, gaps", [(1, 0), (4, 64 * MIB)])
@BOTH
def test_copy_is_shorter_until_it_is_whole(place, direction, streams, gaps):
    """With several streams, less than 64 MiB of what is there has gaps."""
    place.source.write_bytes(content(LARGE))
    place.serve(until="others=flags=1" * (streams > 1))
    client = begin(place, "scp", direction, "-l160000", streams=streams)
    shorter = 0
    while client.poll() is None:
        time.sleep(0.01)
        if not place.dest.exists():
            continue
        before = place.dest.stat().st_size
        with open(place.dest, "rb") as f:
            there = f.read(max(before - gaps, 0))
        with open(place.source, "rb") as f:
            assert f.read(len(there)) == there
        shorter += before < LARGE
        if before >= LARGE:
            break
    assert shorter > 3
    # The last chunk may be under way.
    wait_for(lambda: place.dest.stat().st_size == LARGE)
    client.communicate(timeout=100)
    assert client.returncode == 0
    assert digests(place.dest) == digests(place.source)
    assert (sent_in(read(place.path / "others")) > 0) == (streams > 1)


def test_connections_are_streams(large):
    """The option's name in earlier versions"""
    large.serve(until="pids==3")
    assert large.copy("scp", "get", SLOW, "-X", "connections=3",
                      streams=None) == (0, "")


@BOTH
@pytest.mark.parametrize("what", ["large", "tree"])
def test_rate_limit_is_for_all_streams(place, direction, what):
    fill(place, what)
    place.serve(until="others=flags=1")
    client = begin(place, "scp", direction, "-l160000")
    wait_for(lambda: sent_in(read(place.path / "others")) > 0)
    began_s, before = time.monotonic(), place.sent()
    assert client.communicate(timeout=100)[1] == "" and client.returncode == 0
    bits = (place.sent() - before) * 8
    assert time.monotonic() - began_s > 0.7 * bits / 160e6


# Streams that are no good

# What the server of further streams does, and the first one's
SERVERS = {
    "ends": ("exit 1", ""),
    "greets": ("echo Welcome to this server; exit 0", ""),
    "is silent": ("exec sleep 1000 < /dev/null > /dev/null", ""),
    "is another": (r"printf '\0\0\0\5\2\0\0\0\3'; exec cat > /dev/null", ""),
    "floods": ("exec cat /dev/zero", ""),
    "stays": ("trap '' TERM; exec sleep 1000 < /dev/null > /dev/null", ""),
    # Nonsense loses only its stream
    **{how: (f"exec {ODD} {how} {SERVER} -e", "") for how in (
        "short", "unknown", "another", "long", "cut", "empty")},
    "sends no data": (f"exec {ODD} empty-data {SERVER} -e", ""),
    # What was acknowledged is there
    "ends at a close": (f"exec {ODD} close-ends {SERVER} -e", ""),
    "has 12 descriptors": ("ulimit -n 12", "ulimit -n 12"),
}


@BOTH
@pytest.mark.parametrize("name", SERVERS)
def test_copy_arrives_whatever_a_streams_server_does(large, direction, name):
    """The copy goes on with what there is, in silence."""
    more, first = SERVERS[name]
    large.serve(more=more, first=first, until="pids==4")
    assert large.copy("scp", direction, "-l160000", "-p") == (0, "")
    assert entries(large.dest) == entries(large.source)
    for pid in large.pids():
        assert not os.path.exists(f"/proc/{pid}")


@BOTH
def test_read_only_files_survive_a_lost_stream(place, direction):
    """They can be opened for writing once only."""
    fill(place, "tree")
    for path in place.source.glob("[0-9]*"):
        path.chmod(0o444)
    place.serve(until="others=flags=1",
                more=f"exec {ODD} close-ends {SERVER} -e -l debug 2>> others")
    assert place.copy("scp", direction, "-l160000", "-p") == (0, "")
    assert entries(place.dest) == entries(place.source)


@BOTH
def test_streams_stay_with_the_file_that_was_opened(large, direction):
    """Another one gets its name before further streams open it."""
    name = large.source if direction == "get" else large.dest
    kept = digests(large.source)
    (large.path / "other").write_bytes(b"other")
    large.serve(until="others=flags=1", more=f"exec {ODD} replaces={name}="
                f"other {SERVER} -e -l debug 2>> others")
    assert large.copy("scp", direction, "-l80000") == (0, "")
    assert name.stat().st_size == 5
    assert direction == "put" or digests(large.dest) == kept


@pytest.mark.parametrize("tool,direction", [
    ("scp", "get"), ("scp", "put"), ("sftp", "put")])
def test_copy_needs_no_fsetstat(large, tool, direction):
    """It says what one over one stream says."""
    said = []
    for streams in (1, 4):
        large.serve(server=f"{SERVER} -P fsetstat", until="others=flags=1" *
                    (streams > 1))
        said.append(large.copy(tool, direction, SLOW, streams=streams))
        assert sum(n != 0 for n in large.moved()) >= min(streams, 2)
        assert digests(large.dest) == digests(large.source)
        large.dest.unlink()
    assert said[0] == said[1] and said[0][0] == 0


@pytest.mark.parametrize("more,why", [
    ("head -c 9 > /dev/null; exit 1", "Connection closed"),
    (r"printf '\0\0\0\5\2\0\0\0\3'; exec cat > /dev/null",
     "the copy has ended"),
    (f"{SERVER} -e -l debug 2>> others | (head -c 7; sleep 0.2; cat); exit",
     None),
    (f"exec {ODD} stale {SERVER} -e -l debug 2>> others", None)],
    ids=["ends", "another", "in-pieces", "stale"])
def test_slow_server_loses_no_stream(large, more, why):
    """Whether its introduction comes in pieces, or it keeps attributes a while.
    Other streams are lost, and -v says why."""
    large.serve(more=more, until="pids==2" if why else "others=flags=1")
    argv, _ = large.argv("scp", "put", large.source, large.dest, "-v",
                         "-l80000", streams=2)
    argv.remove("-q")
    status, error = run(list(map(str, argv)), large.path)
    assert status == 0
    assert filecmp.cmp(large.source, large.dest, shallow=False)
    assert re.findall(r"debug1: stream 1 is not used: (.*?)\r?$", error,
                      re.M) == ([why] if why else [])
    assert why or " flags " in read(large.path / "others")      # it is used


def test_others_copy_what_a_hanging_stream_left(large):
    """60 s later."""
    client = begin(large, "scp", "put", "-l4000", "-v", streams=3)
    wait_for(lambda: len(large.pids()) == 3 and
             large.dest.exists() and large.dest.stat().st_size > MIB)
    with stopped(large.pids()[1]):
        error = client.communicate(timeout=200)[1]
    assert client.returncode == 0
    assert re.findall(r"stream \d is not used: (.*)", error)[:1] == \
        ["it does not answer"]
    assert filecmp.cmp(large.source, large.dest, shallow=False)


@TOOLS
def test_failed_close_of_a_stream_is_an_error(large, tool):
    """What it has written may not be there."""
    large.serve(more=f"exec {ODD} close-fails {SERVER} -e -l debug 2>> others",
                until="others=flags=1")
    status, error = large.copy(tool, "put", "-l40000")
    assert status == 1 and "close remote: Failure" in error
    large.serve()
    assert goes_on(large, "put") == ""


@BOTH
@pytest.mark.parametrize("what", ["file", "tree"])
@pytest.mark.parametrize("limit,least,most", [(12, 1, 1), (24, 2, 7)])
def test_streams_leave_descriptors_for_files(place, direction, what, limit,
                                             least, most):
    fill(place, what)
    argv, _ = place.argv("scp", direction, place.source, place.dest,
                         "-l160000", streams=8)
    assert run(["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh",
                *map(str, argv)], place.path) == (0, "")
    assert digests(place.dest) == digests(place.source)
    assert least <= len(place.pids()) <= most


# All servers but the first see what is in "other". (Another working folder
# would not do: scp and sftp make paths absolute.)
ANOTHER = "exec unshare -m sh -c 'exec 2>> others; mount --bind other . && " \
    f"cd \"$PWD\" && exec {SERVER} -e -l debug'"


@BOTH
@pytest.mark.parametrize("what", ["file", "tree"])
def test_another_machines_files_stay_out(place, direction, what):
    """A second machine behind the name has other files (see SECURITY.md)."""
    needs_root()
    fill(place, what)
    made_long_ago(place.source)
    other = place.path / "other"
    other.mkdir()
    for name in ("source", "dest"):
        if what == "file":
            (other / name).write_bytes(content(SIZE, 9))
        else:
            shutil.copytree(place.source, other / name)
            (other / name / "only").write_bytes(b"other")
    before = digests(other)
    place.serve(more=ANOTHER, until="others=opened=1")
    assert place.copy("scp", direction, "-l80000", dest="dest",
                      source="source/." if what == "tree" else "source") == \
        (0, "")
    assert digests(place.dest) == digests(place.source)
    assert digests(other) == before


def test_another_machines_shorter_file_does_not_end_the_copy(place):
    """Each is another chance that a further stream takes its last bytes."""
    needs_root()
    place.source.mkdir()
    for name in "abcd":
        (place.source / name).write_bytes(content(SIZE))
    other = shutil.copytree(place.source, place.path / "other" / "source")
    for name in os.listdir(place.source)[1:]:
        os.truncate(other / name, 39 * MIB + 7)
    place.serve(more=ANOTHER, until="others=opened=3")
    status, error = place.copy("scp", "get", SLOW)
    assert pretenders(place.source, place.dest) == []
    assert digests(place.dest) == digests(place.source) or \
        status == 1 and "End of file" in error


@pytest.mark.parametrize("first", [False, True])
def test_lost_connection_leaves_no_gap(place, first):
    """Whether the first stream or others have the data that is missing."""
    fill(place, "large")
    place.serve(until="others=flags=3")
    whole = place.source.read_bytes()
    client = begin(place, "scp", "get", "-l160000")
    wait_for(lambda: place.log().count(" flags ") >= 4)
    sent = place.sent()                 # all will soon have requests
    wait_for(lambda: place.sent() > sent + MIB)
    kill(place.pids()[:1] if first else place.pids()[1:], signal.SIGSTOP)
    wait_for(lambda: not whole.startswith(place.dest.read_bytes()) and
             stands_still(client.pid))
    kill(place.pids())
    client.communicate(timeout=100)
    assert client.returncode > 0
    there = place.dest.read_bytes()
    assert len(there) < LARGE and whole.startswith(there)


@BOTH
@pytest.mark.parametrize("what", ["file", "tree"])
def test_others_copy_what_lost_streams_had(place, direction, what):
    fill(place, what)
    place.serve(until="killed==1")
    client = begin(place, "scp", direction, "-l160000")
    wait_for(lambda: len(place.pids()) == 4 and
             sent_in(read(place.path / "others")) > 8 * MIB)
    assert client.poll() is None
    kill(place.pids()[1:3])
    (place.path / "killed").write_text("\n")
    error = client.communicate(timeout=100)[1]
    assert client.returncode == 0, error
    assert digests(place.dest) == digests(place.source)


@BOTH
@pytest.mark.parametrize("streams", [1, 4])
def test_the_meter_tells_of_a_stall(large, direction, streams):
    argv, _ = large.argv("scp", direction, large.source, large.dest, "-l20000",
                         streams=streams)
    argv.remove("-q")
    out = large.path / "out"
    out.touch()
    with subprocess.Popen(["script", "-qefc", shlex.join(map(str, argv)), out],
                          stdout=subprocess.DEVNULL) as client:
        try:
            wait_for(lambda: re.search(r"\d%", out.read_text()) and
                     len(large.pids()) == streams)
            kill(large.pids(), signal.SIGSTOP)
            wait_for(lambda: "- stalled -" in out.read_text())
        finally:
            kill(large.pids(), signal.SIGCONT)
        assert client.wait(100) == 0
    assert digests(large.dest) == digests(large.source)


# Errors

@BOTH
@pytest.mark.parametrize("by, gone", [(-30 * MIB, False), (-30 * MIB, True),
                                      (5 * MIB, False)])
def test_source_may_grow_but_not_shrink(large, direction, by, gone):
    """Nor vanish. What it grew by is copied, too."""
    large.serve(until="changed==1")
    client = begin(large, "scp", direction, "-l40000")
    wait_for(lambda: large.dest.exists() and large.dest.stat().st_size > MIB)
    with open(large.source, "ab") as f:
        if by > 0:
            f.write(content(by, 3))
        else:
            f.truncate(SIZE + by)
    if gone:
        large.source.unlink()
    (large.path / "changed").write_text("\n")
    error = client.communicate(timeout=100)[1]
    if by > 0:
        assert (client.returncode, error) == (0, "")
        assert filecmp.cmp(large.source, large.dest, shallow=False)
    else:
        assert client.returncode == 1 and error
        assert large.dest.stat().st_size < SIZE


# Ends

@TOOLS
@BOTH
def test_interruption_ends_all_streams(large, tool, direction):
    """^C, to the whole group as from a terminal."""
    large.serve(until="ended==1")
    client = begin(large, tool, direction, "-l40000")
    wait_for(lambda: len(large.pids()) == 4 and large.dest.exists())
    os.killpg(client.pid, signal.SIGINT)
    (large.path / "ended").write_text("\n")
    client.communicate(timeout=60)
    assert client.returncode > 0
    wait_for(lambda: not any(map(runs, large.pids())))
    assert large.dest.stat().st_size < SIZE
    large.serve()
    goes_on(large, direction)


@pytest.mark.parametrize("who", ["client", "servers"])
@BOTH
def test_resume_sends_what_is_missing(place, direction, who):
    """And 64 MiB more, at most."""
    size, least = 192 * MIB, 96 * MIB
    place.source.write_bytes(content(size))
    client = begin(place, "scp", direction, "-l100000")
    wait_for(lambda: place.dest.exists() and
             place.dest.stat().st_blocks * 512 >= least)
    kill([client.pid] if who == "client" else place.pids())
    client.communicate(timeout=100)
    assert (client.returncode > 0) == (who == "servers")
    cut = 64 * MIB * (direction == "get" and who == "servers")
    assert 0 < missing(place.source, place.dest) <= size - least + 8 * MIB + cut
    assert goes_on(place, direction) == ""


# Logins

def ssh_copy(here, direction, *options, program=None, port=PORT,
             server=f"{HOST}:"):
    """scp over sshd in here, which says nothing."""
    ends = [server + here.path("source"), here.path("dest")] \
        if direction == "get" else \
        [here.path("source"), server + here.path("dest")]
    done = here.run(here.scp(SLOW, "-X", "streams=4", *options, *ends,
                             ssh=program, port=port))
    assert (done.returncode, done.stderr) == (0, "")
    assert filecmp.cmp(here.path("source"), here.path("dest"), shallow=False)


@pytest.fixture
def login_place(loopback_place):
    with open(loopback_place.path("source"), "wb") as f:
        f.write(content(SIZE))
    return loopback_place


@BOTH
@pytest.mark.parametrize("words", [
    {}, {"port": 1, "server": "scp://user@127.0.0.1:2222/"}],
    ids=["host", "URI"])
def test_each_stream_logs_in_at_the_same_port(login_place, direction, words):
    here = login_place
    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}")
    ssh_copy(here, direction, **words, program=ssh_script(
        here, f"{sshd.log}=Accepted=4"))
    assert logins(sshd) == 4
    wait_for(lambda: not here.processes("ssh", "scp", "sftp-server"))


@BOTH
def test_refused_logins_ask_nobody(login_place, direction):
    """Those of a user whom the server doesn't know. Nothing is said."""
    here = login_place
    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}",
                     "PasswordAuthentication yes")
    ssh_copy(here, direction, program=ssh_script(
        here, f"{sshd.log}=Invalid=3", 'set -- -l nosuch "$@"'))
    assert logins(sshd) == 1
    assert read(sshd.log).count("Invalid user nosuch") == 3
    assert "Failed password" not in read(sshd.log)


@pytest.mark.parametrize("direction, limit, refusal", [
    ("put", "MaxStartups 1", "drop connection"),
    ("get", "MaxSessions 1", "no more sessions")])
def test_refused_streams_change_nothing(login_place, direction, limit,
                                        refusal):
    here = login_place
    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}", limit,
                     "AuthorizedKeysCommand /usr/bin/sleep 1",
                     "AuthorizedKeysCommandUser root")
    control = ["-o", f"ControlPath={here.path('control')}"] * \
        limit.startswith("MaxSessions")
    if control:
        here.start(here.ssh(*control, "-MN", HOST))
        wait_for(lambda: os.path.exists(here.path("control")))
    ssh_copy(here, direction, *control, program=ssh_script(
        here, f"{sshd.log}={refusal.split()[-1]}=1"))
    assert refusal in read(sshd.log)


def test_one_connection_has_one_session(login_place):
    """Some servers hang up at a second one."""
    here = login_place
    sshd = here.sshd(OURS, f"Subsystem sftp {SERVER}")
    ssh_copy(here, "put", "-X", "streams=1")
    assert logins(sshd) == read(sshd.log).count("Starting session: ") == 1

