"""scp and sftp of build/openssh, connected to a server without ssh between
them: the concurrent files of a tree, and servers that misbehave."""

import filecmp
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

from loopback import SLOW_PATH, wait_until
from sftp_tools import (LARGE, OURS, SERVER, SMALL,    # noqa: F401
                        STOCK, client, content, copy, digests, entries,
                        hears_interrupts, make_tree, named, odd, on_small_disk,
                        program, run, scp, scp_argv, sftp, sftp_argv, torn)

MIB = 1 << 20


def most(tmp_path):
    return int((tmp_path / "log").read_text())


def on_terminal(cwd, *argv):
    """Its status; what it printed is in "out"."""
    return subprocess.run(["script", "-qec", shlex.join(argv), "out"], cwd=cwd,
                          stdout=subprocess.DEVNULL, timeout=300).returncode


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "tree")


@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_tree_arrives_whole(tmp_path, tree, tool, direction):
    assert copy(tmp_path, tool, direction, SERVER, tree, tmp_path / "copy",
                "-rp") == (0, "")
    assert entries(tree) == entries(tmp_path / "copy")


@pytest.mark.parametrize("size", [0, 1, 32768, 255 * 1024])
@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_small_file_replaces_a_longer_one(tmp_path, direction, tool, size):
    source, dest = tmp_path / "source", tmp_path / "dest"
    source.write_bytes(content(size))
    os.utime(source, (1234567890, 1234567890))
    dest.write_bytes(b"there before, and longer" * 20000)
    assert copy(tmp_path, tool, direction, SERVER, source, dest) == (0, "")
    assert dest.read_bytes() == source.read_bytes()
    assert os.stat(dest).st_mtime == 1234567890


@pytest.mark.parametrize("direction", ["get", "put"])
@pytest.mark.parametrize("target", ["no/dest", "/dev/full", "pipe"])
def test_errors_of_a_target_are_stocks(tmp_path, direction, target):
    (tmp_path / "source").write_bytes(content(SMALL))
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDWR)
    said = []
    for build in (STOCK, OURS):
        said.append(copy(tmp_path, "scp", direction, SERVER, tmp_path /
                         "source", tmp_path / target, build=build))
    os.close(reader)
    (stock, stock_says), (ours, says) = said
    assert ours == stock == 1
    assert says == stock_says.replace(STOCK, OURS) and target in says


def test_source_of_unknown_size_arrives_whole(tmp_path):
    with open("/proc/version", "rb") as f:
        version = f.read()
    for ends in (("/proc/version", "x:dest"), ("x:/proc/version", "get")):
        assert scp(tmp_path, SERVER, *ends) == (0, "")
    assert (tmp_path / "dest").read_bytes() == version
    assert (tmp_path / "get").read_bytes() == version


@pytest.mark.parametrize("options, end", [([], "10 4"), (["-p"], "10 10 4")])
def test_end_of_an_upload_is_one_flight(tmp_path, odd, options, end):
    """It waits for the data to be acknowledged."""
    (tmp_path / "source").write_bytes(content(MIB))
    assert scp(tmp_path, odd(), *options, "source", "x:dest") == (0, "")
    assert digests(tmp_path / "dest") == digests(tmp_path / "source")
    flights = (tmp_path / "log.flights").read_text().splitlines()
    assert flights[-1] == end


@pytest.mark.parametrize("tool, command, says", [
    ("sftp", "put -f source dest", ""),
    # What can't be flushed
    ("sftp", "get -f source /dev/null", 'local sync "/dev/null": Invalid'),
    # Braces are part of a name
    ("scp", "x:{source,dest} dest", "{source,dest}: No such file")])
def test_rare_copy_is_as_stocks(tmp_path, tool, command, says):
    (tmp_path / "source").write_bytes(content(MIB))
    server = program(tmp_path / "server", f"exec {SERVER} -e -l debug 2> log")
    said = []
    for build in (STOCK, OURS):
        argv = sftp_argv(server, build=build) if tool == "sftp" else \
            scp_argv(server, *command.split(), build=build)
        status, error = run(argv, tmp_path, input=command)
        said.append((status, error.replace(build, "")))
        done = re.findall('(write|fsync|close) "',
                          (tmp_path / "log").read_text())
        assert (done[-3:] == ["write", "fsync", "close"]) == ("put" in command)
    assert said[0] == said[1] and says in said[0][1]


PUT, GET = ("source", "x:dest"), ("x:source", "dest")
NO = ("-X", "ahead=no")


@pytest.mark.parametrize("argv, first", [
    (PUT, "1 200 17"), (GET, "1 200 7 17"), (("source", "x:"), "1 200 17"),
    ((*NO, *PUT), "1"), ((*NO, *GET), "1"), (("x:sour*", "dest"), "1"),
    (("source", "x:~/dest"), "1")])
def test_scp_asks_with_init(tmp_path, odd, argv, first):
    """The limits, and what the target or the source is, but no more where a
    pattern or a tilde has to be expanded."""
    (tmp_path / "source").write_bytes(content(1000))
    server = odd("patient", len(first.split()) + (first == "1"))
    assert scp(tmp_path, server, *argv) == (0, "")
    assert (tmp_path / "source").read_bytes() == content(1000)
    if "x:" not in argv:
        assert (tmp_path / "dest").read_bytes() == content(1000)
    flights = (tmp_path / "log.flights").read_text().splitlines()
    assert flights[0] == first
    assert " ".join(flights).split().count("200") == 1


@pytest.mark.parametrize("options, first", [((), "1 200 16"), (NO, "1")])
def test_sftp_asks_with_init(tmp_path, odd, options, first):
    server = odd("patient", len(first.split()) + (first == "1"))
    assert sftp(tmp_path, server, "pwd\n", *options) == (0, "")
    flights = (tmp_path / "log.flights").read_text().splitlines()
    assert " ".join(flights) == "1 200 16"
    assert flights[0] == first


def test_copy_between_servers_leaves_the_input_alone(tmp_path, tree):
    """It waits for replies of both servers, not for somebody who types."""
    argv, _ = client("scp-3", "get", SERVER, tree, tmp_path / "copy", "-rp")
    with subprocess.Popen(["timeout", "9m", *argv], stdin=subprocess.PIPE) as p:
        assert p.wait() == 0
    assert entries(tmp_path / "copy") == entries(tree)


@pytest.mark.parametrize("tool, direction", [
    ("scp", "get"), ("scp", "put"), ("scp-3", "get")])
def test_files_that_fail_are_named(tmp_path, tree, tool, direction):
    """The others arrive, and it ends with 1."""
    into = tmp_path / "copy"
    for name in ("3/7", "4/deep/0"):        # a directory is in the way
        (into / name).mkdir(parents=True)
    status, error = copy(tmp_path, tool, direction, SERVER, f"{tree}/.", into,
                         "-rp")
    assert status == 1
    for name in ("3/7", "4/deep/0"):
        assert any(name in line for line in error.splitlines()), error
        (into / name).rmdir()
        (tree / name).unlink()
    assert len(error.splitlines()) <= 6, error
    assert digests(into) == digests(tree)


@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_tree_without_a_real_path_fails(tmp_path, odd, tree, tool, direction):
    status, error = copy(tmp_path, tool, direction, odd("realpath-fails"),
                         tree, tmp_path / "copy", "-r")
    assert status == 1 and "path canonicalization failed" in error, error


@pytest.mark.parametrize("columns", [40, 100])
@pytest.mark.parametrize("ends", ["x:{0}/[012] x:{0}/large .",
                                  "{0}/[012] {0}/large x:"])
def test_meters_of_a_tree_are_stocks(tmp_path, tree, ends, columns):
    """On a terminal, every file has its line, in stock's order."""
    seen = []
    for build in (STOCK, OURS):
        assert on_terminal(
            tmp_path, "sh", "-c", f"stty cols {columns}; exec {build}/scp -rp "
            f"-D {SERVER} {ends.format(tree)}") == 0
        lines = re.findall(
            r"([^\r\n]*100% +(\S+)) +(\S+/s)?[^\r\n]*\r?$",
            (tmp_path / "out").read_bytes().decode(errors="replace"), re.M)
        seen.append([line[0] for line in lines])
        # A file that is complete when its meter starts has a rate, too.
        small = [rate for _, size, rate in lines if size.startswith("409")]
        assert small and "0.0KB/s" not in small
    assert seen[0] == seen[1] and len(seen[0]) > 120


@pytest.mark.parametrize("direction", ["get", "put"])
def test_names_are_printed_in_stocks_order(tmp_path, tree, direction):
    said = [subprocess.run(
        [f"{build}/sftp", "-b", "-", "-D", SERVER], text=True, cwd=tmp_path,
        input=f"{direction} -r {tree} copy\n", capture_output=True).stdout
        for build in (STOCK, OURS)]
    assert said[0] == said[1] and len(said[0].splitlines()) > 40


def test_rate_is_of_the_file_that_is_shown(tmp_path):
    """Samples of the file before it, which has more bytes, tell nothing."""
    (tmp_path / "large").write_bytes(content(6 * MIB))
    (tmp_path / "small").write_bytes(content(2 * MIB))
    (tmp_path / "copy").mkdir()
    assert on_terminal(tmp_path, f"{OURS}/scp", "-l", "8000", "-D", SERVER,
                       f"x:{tmp_path}/large", f"x:{tmp_path}/small",
                       "copy") == 0
    text = (tmp_path / "out").read_text(errors="replace")
    rates = re.findall(r"small +[1-9]\d% +\S+ +(\d+\.\d)[KM]B/s", text)
    assert rates and float(rates[-1]) > 0, text


def test_error_of_a_file_follows_its_meter(tmp_path, odd):
    (tmp_path / "source").write_bytes(content(3 * MIB))
    assert on_terminal(tmp_path, f"{OURS}/scp", "-D", odd("read-fails", 9),
                       f"x:{tmp_path}/source", "copy") != 0
    text = (tmp_path / "out").read_bytes().decode(errors="replace")
    assert re.search(r"% [^\r\n]*\r?\n[^\r\n]*read remote", text), text


def test_no_meter_without_a_terminal(tmp_path):
    (tmp_path / "source").write_bytes(content(SMALL))
    done = subprocess.run([f"{OURS}/scp", "-D", SERVER, "source",
                           f"x:{tmp_path}/copy"], cwd=tmp_path, timeout=300,
                          capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_early_interrupt_waits_for_little(tmp_path, odd):
    """At the first read, sftp has not asked for more than 1 MiB."""
    (tmp_path / "source").write_bytes(content(LARGE))
    log = tmp_path / "served"
    server = odd("interrupts", 1, server=program(
        tmp_path / "real", f"exec {SERVER} -e -l info 2> {log}"))
    status, _ = run(sftp_argv(server), tmp_path, input="get source copy\n",
                    preexec_fn=hears_interrupts)
    assert status == 1
    served = re.search(r'^close ".*/source" bytes read (\d+)',
                       log.read_text(), re.M)
    assert 0 < int(served[1]) <= MIB


# Whichever of reading and sending comes first finds the end; for scp sending
# ends in a signal.
GONE = "Connection closed|Connection reset|Broken pipe|lost connection"
ODD = {
    "get": {
        "read-fails": "read remote",
        "closes": GONE,
        "wrong-id": "Unexpected reply",
        "too-much": "Received more data than asked for",
        "stub": "Received message too short 3|parse: incomplete message",
    },
    # A write that failed is not made good by those after it
    "put": {"write-fails": "write remote", "closes": GONE,
            "wrong-id": "Unexpected|Can't find"},
}


@pytest.mark.parametrize("direction, fault", [
    (direction, fault) for direction in ODD for fault in ODD[direction]])
@pytest.mark.parametrize("what", ["one", "many"])
def test_odd_server_damages_no_copy(tmp_path, odd, direction, fault, what):
    """One clear error and no hang. No incomplete file looks complete."""
    source, copied = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    for i in range(5 if what == "many" else 1):
        (source / str(i)).write_bytes(content(3 * MIB, i))
    server = odd(fault, *[3, copied] * (fault == "too-much"))
    status, error = copy(tmp_path, "scp", direction, server, source if what ==
                         "many" else source / "0", copied, "-r")
    assert status != 0
    assert re.search(ODD[direction][fault], error)
    names = os.listdir(source)
    # Nothing that wasn't asked for is written.
    written = {name: path.read_bytes() for name in names for path in
               [copied / name if what == "many" else copied] if path.exists()}
    assert written or direction == "put"
    if fault == "too-much":             # what came before it
        assert any(written.values())
    whole = {name: (source / name).read_bytes() for name in names}
    assert written != whole
    for name, data in written.items():
        assert whole[name].startswith(data), name


@pytest.mark.parametrize("kind", ["get", "put", "3"])
def test_file_after_a_tree_arrives_whole(tmp_path, monkeypatch, kind):
    """What a tree needed is gone, and memory that was freed is no tree."""
    monkeypatch.setenv("MALLOC_PERTURB_", "85")
    tree, file, dest = (tmp_path / name for name in ("tree", "file", "dest"))
    for path in (tree, dest):
        path.mkdir()
    (tree / "1").write_bytes(content(SMALL))
    file.write_bytes(content(100_000))
    source, target = {"get": ("x:", ""), "put": ("", "x:"),
                      "3": ("x:", "y:")}[kind]
    done = scp(tmp_path, SERVER, "-r", *(["-3"] if kind == "3" else []),
               *(f"{source}{path}" for path in (tree, file, tree, file)),
               f"{target}{dest}")
    assert done == (0, "")
    assert digests(dest / "tree") == digests(tree)
    assert digests(dest / "file") == digests(file)


@pytest.mark.parametrize("tool", ["scp", "sftp", "scp-3"])
def test_names_are_not_asked_for_after_their_end(tmp_path, odd, tree, tool):
    """The server refuses that."""
    (tree / "large").unlink()
    assert copy(tmp_path, tool, "get", odd("end-is-once"), tree,
                tmp_path / "copy", "-r") == (0, "")
    assert digests(tmp_path / "copy") == digests(tree)


@pytest.mark.parametrize("tool", ["ls", "get"])
@pytest.mark.parametrize("fault, says", [
    ("wrong-entries", "ID mismatch|Unexpected reply"),
    ("torn-entries", "couldn't decode attrib")])
def test_odd_names_end_a_directory(tmp_path, odd, tool, fault, says):
    """That nobody asked for; and without attributes, which are the end of the
    directory, as with stock OpenSSH."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "0").touch()
    status, error = sftp(tmp_path, odd(fault), "ls source\n" if tool == "ls"
                         else "get -r source copy\n")
    assert status in (1, 255)
    assert len(re.findall(says, error)) == 1, error[:1000]


@pytest.mark.parametrize("direction, fault, options, least, most_of_all", [
    *((direction, *row) for direction in ("get", "put") for row in (
        ("half", (), 1, 999), ("reorders", (), 1, 999),
        ("no-limits", (), 1, 999), ("no-limits", ("-R", "5"), 2, 6),
        ("no-limits", ("-X", "nrequests=5"), 2, 6),
        ("old", (), 2, 65))),
    # As in /proc, where to read behind the end can take the server long: no
    # more requests than of a stock client
    ("get", "proc", (), 17, 64)])
def test_file_arrives_in_any_permitted_way(tmp_path, odd, direction, fault,
                                           options, least, most_of_all):
    (tmp_path / "source").write_bytes(content(LARGE))
    assert sftp(tmp_path, odd(fault), f"{direction} source copy\n",
                *options) == (0, "")
    assert filecmp.cmp(tmp_path / "source", tmp_path / "copy", shallow=False)
    assert least <= most(tmp_path) <= most_of_all


def test_requests_do_not_wait_for_each_other(tmp_path, odd):
    """32 KiB each, towards a server without limits: more than 64 of them, once
    it is known that the path takes them."""
    (tmp_path / "source").write_bytes(content(40 << 20))
    server = program(tmp_path / "far", f"exec {sys.executable} -B "
                     f"{SLOW_PATH} 0.05 {odd('no-limits')}")
    assert sftp(tmp_path, server, "get source copy\n") == (0, "")
    assert filecmp.cmp(tmp_path / "source", tmp_path / "copy", shallow=False)
    assert most(tmp_path) > 64


@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_full_disk_is_an_error_for_each_file(tmp_path, tool, direction):
    """It leaves a beginning of its source. The others are whole."""
    source = tmp_path / "source"
    source.mkdir()
    for i in range(40):
        (source / str(i)).write_bytes(content(MIB // 10, i))
        (source / str(i)).chmod(0o444 if i % 2 else 0o644)
    argv, batch = client(tool, direction, SERVER, source,
                         tmp_path / "small" / "dest", "-r")
    status, error = on_small_disk(tmp_path, 2, argv, input=batch)
    assert status == 1
    says = 'write local "(.*)": No space left' if direction == "get" else \
        'write remote "(.*)": Failure'
    failed = re.findall(says, error)
    assert len(failed) == len(set(failed)) >= 20
    assert len(error.splitlines()) <= 2 * len(failed) + 1
    for name in os.listdir(tmp_path / "left"):
        part = (tmp_path / "left" / name).read_bytes()
        assert (source / name).read_bytes().startswith(part)
    for name in set(os.listdir(source)) - set(map(os.path.basename, failed)):
        assert filecmp.cmp(source / name, tmp_path / "left" / name,
                           shallow=False)


@pytest.mark.parametrize("tool, direction", [
    ("scp", "put"), ("sftp", "put"), ("scp-3", "get")])
def test_files_that_fail_are_closed(tmp_path, tool, direction):
    """At a server which lets no file be larger than 512 KB."""
    log = tmp_path / "log"
    server = program(tmp_path / "server", "trap '' XFSZ; ulimit -f 1000\n"
                     f"exec {SERVER} -e -l info 2>> {log}")
    (tmp_path / "source").write_bytes(content(9 * MIB))
    status, error = copy(tmp_path, tool, direction, server,
                         tmp_path / "source", tmp_path / "dest")
    assert status == 1 and "Failure" in error
    assert 'close "' in log.read_text()
    assert "forced" not in log.read_text()


ENDED = 'read (remote ".*source" |origin ".*source"): End of file'
WAYS = pytest.mark.parametrize("tool, direction", [
    ("scp", "get"), ("scp", "put"), ("sftp", "get"), ("sftp", "put"),
    ("scp-3", "get")])


def test_failed_copy_between_servers_is_empty(tmp_path, odd):
    """Even if its server sets no attributes. It has no old time."""
    source, dest = tmp_path / "source", tmp_path / "dest"
    source.write_bytes(content(600000))
    os.utime(source, (1, 1))
    server = odd("write-fails", 2, server=program(
        tmp_path / "real", f"exec {SERVER} -P fsetstat"))
    status, error = copy(tmp_path, "scp-3", "get", server, source, dest)
    assert (status, error.count("write dest")) == (1, 1), error
    assert dest.stat().st_size == 0 and dest.stat().st_mtime != 1


@WAYS
def test_growing_file_is_copied(tmp_path, odd, tool, direction):
    source, dest = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(content(24 * MIB))
    assert copy(tmp_path, tool, direction, odd("grows", 3, source), source,
                dest) == (0, "")
    grown = 2 if tool == "scp-3" else 1     # by each server
    assert source.stat().st_size == (24 + grown) * MIB
    # The target's server may let it grow after its end has been read.
    there = dest.read_bytes()
    assert len(there) >= (23 + grown) * MIB
    assert source.read_bytes().startswith(there)


@WAYS
def test_shrinking_file_is_an_error(tmp_path, odd, tool, direction):
    """It says so, and what was read is where it was, or nothing at all."""
    source, dest = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(content(24 * MIB))
    status, error = copy(tmp_path, tool, direction, odd("shrinks", 3, source),
                         source, dest)
    assert status == 1
    assert re.search(ENDED if direction == "get" else
                     'read local ".*source": it got shorter', error)
    assert source.stat().st_size == MIB
    assert (0 if tool == "scp-3" else MIB) <= dest.stat().st_size < 24 * MIB
    assert content(24 * MIB).startswith(dest.read_bytes())


@pytest.mark.parametrize("tool", ["scp", "sftp"])
def test_source_that_is_written_anew_is_an_error(tmp_path, odd, tool):
    """It was read to its end, and had its old size again when all was sent."""
    source = tmp_path / "source"
    source.write_bytes(content(24 * MIB))
    os.utime(source, (1, 1))
    status, error = copy(tmp_path, tool, "put", odd("rewrites", 3, source),
                         source, tmp_path / "copy")
    assert status == 1 and "it got shorter" in error
    assert source.stat().st_size == 24 * MIB


@pytest.mark.parametrize("tool", ["scp", "sftp", "scp-3"])
def test_data_after_the_end_leaves_no_hole(tmp_path, odd, tool):
    source, dest = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(content(9 * MIB))
    status, error = copy(tmp_path, tool, "get", odd("ends", 20), source, dest)
    assert status == 1
    assert re.search(ENDED, error)
    assert source.read_bytes().startswith(dest.read_bytes())


@pytest.mark.parametrize("tool", ["scp", "sftp", "scp-3"])
def test_file_shorter_than_its_size_arrives(tmp_path, tool):
    """Some in /sys have a size of 4096 and less to read."""
    path = "/sys/kernel/uevent_seqnum"
    if not os.path.exists(path) or \
            len(open(path).read()) == os.stat(path).st_size:
        pytest.skip(f"no {path}, or of another size than usual")
    assert copy(tmp_path, tool, "get", SERVER, path, tmp_path / "copy"
                ) == (0, "")
    assert re.fullmatch(r"\d+\n", (tmp_path / "copy").read_text())


def group_has_ended(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("direction", ["get", "put"])
@pytest.mark.parametrize("signum,send", [
    (signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill),
    (signal.SIGHUP, os.killpg)], ids=["INT", "TERM", "HUP"])
def test_interrupted_tree_fails(tmp_path, odd, tool, direction, signum, send):
    """By ^C, kill, or a window that is closed. No process is left."""
    source, dest = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    for i in range(400):            # each takes more than one request
        (source / str(i)).touch()
        os.truncate(source / str(i), 300000)
    argv, batch = client(tool, direction, odd("slow"), source, dest, "-r")
    (tmp_path / "batch").write_text(batch + "!touch next\n")
    with open(tmp_path / "batch") as stdin:
        process = subprocess.Popen(argv, cwd=tmp_path, stdin=stdin, text=True,
                                   stderr=subprocess.PIPE,
                                   start_new_session=True,
                                   preexec_fn=hears_interrupts)
    try:
        wait_until("files", lambda: dest.is_dir() and
                   len(os.listdir(dest)) > 50)
        send(process.pid, signum)
        _, error = process.communicate(timeout=300)
        assert process.returncode == 1
        wait_until("its end", lambda: group_has_ended(process.pid))
    finally:
        if not group_has_ended(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert ("Interrupt" in error) == \
        (tool == "sftp" and signum == signal.SIGINT)
    assert len(os.listdir(dest)) < 400
    assert not (tmp_path / "next").exists()
    # What is incomplete is named. 128 files are open at most, and as many may
    # wait for the reply to CLOSE.
    incomplete, names = torn(source, dest), named(error, dest)
    assert incomplete <= names, error
    # sftp waits for what it has asked for, which may complete all of them.
    waits = (tool, direction, signum) == ("sftp", "get", signal.SIGINT)
    assert (0 if waits else 1) <= len(incomplete) <= 128
    assert len(names) <= 256
    assert len(error.splitlines()) <= len(names) + 3, error
