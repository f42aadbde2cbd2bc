"""What the files of a tree may take that scp and sftp copy in parallel:
descriptors, handles, memory; and what is left incomplete."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from loopback import SLOW_PATH, Peak, preload
from sftp_wire import FAILURE
from sftp_tools import (BOTH, ODD, OURS, STOCK, SERVER, SMALL,    # noqa: F401
                        client, content, copy, digests,
                        hears_interrupts, named, odd, program, run, scp,
                        scp_argv, torn)

MIB = 1 << 20


def most_open(folder, log="log"):
    """The most handles, incomplete files, and files beside a large one."""
    return map(int, (folder / f"{log}.open").read_text().split())


def nested(top, dirs=6, files=8, size=100, levels=4):
    """Directories that many levels deep, with files in each."""
    for i in range(dirs):
        for depth in range(1, levels + 1):
            folder = top.joinpath(str(i), *["deep"] * (depth - 1))
            folder.mkdir(parents=True)
            for k in range(files):
                (folder / str(k)).write_bytes(content(size + k, i * 50 + k))
    return top


def flat(top, files, size=SMALL):
    top.mkdir()
    for i in range(files):
        (top / str(i)).write_bytes(content(size, i))
    return top


# What there is little of

@BOTH
@pytest.mark.parametrize("taken", [0, 16, 22])
def test_tree_needs_few_descriptors(tmp_path, odd, direction, taken):
    """32 in all. Where whoever started it left 16 open, there are fewer than
    it has planned with; of 22, also too few to open a directory at once."""
    tree = nested(tmp_path / "tree")
    argv, _ = client("scp", direction, odd("few", 1000), tree,
                     tmp_path / "copy", "-rp")
    fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(taken)]
    try:
        # The server has as many as it likes.
        done = run(["sh", "-c", 'ulimit -S -n 32; exec "$0" "$@"', *argv],
                   tmp_path, pass_fds=fds)
    finally:
        for fd in fds:
            os.close(fd)
    assert done == (0, "")
    assert digests(tmp_path / "copy") == digests(tree)
    assert next(most_open(tmp_path)) <= 16


UNLIMITED = "ulimit -S -v unlimited; ulimit -S -d unlimited; exec "
# Which tree, what the server does, the client's limit, how many streams, and
# the handles that are open at once
SCARCE = {
    # None is open while its files wait for their turn
    "500 directories": (lambda top: nested(top, 100, 2, levels=5),
                        ("few", 1000), "-n 256", 1, (1, 255)),
    # Half of what the server allows, directories included
    "24 handles": (lambda top: nested(top, files=4), ("few", 24), "", 1,
                   (4, 12)),
    "handles that others take": (lambda top: flat(top, 200, 300000),
                                 ("fewer", 40), "", 1, (6, 40)),
    "no limit": (nested, ("no-limit",), "", 1, (17, 999)),
    # What one stream is refused, others have. A file is tried again until no
    # other is open
    **{f"{n} shared handles{files}": (
        lambda top: flat(top, 120, 20000), ("shares", n), "", f"4{files}",
        (1, n)) for n in (1, 2, 6) for files in ("", " -X files=1")},
    # Addresses, of which stock's scp needs 20,000 KiB, or private memory. The
    # server is slow, so that as many files are under way as may be
    **{f"memory {limit}": (lambda top: flat(top, 300), ("slow", 1000), limit, 1,
                           (1, 999)) for limit in (
        "-v 40000", "-v 300000", "-d 8000", "-d 80000")},
}


@BOTH
@pytest.mark.parametrize("name", SCARCE)
def test_tree_arrives_with_little_of(tmp_path, odd, direction, name):
    make, fault, limit, streams, (least, most) = SCARCE[name]
    tree = make(tmp_path / "tree")
    server = program(tmp_path / "unlimited", UNLIMITED + odd(*fault))
    argv, _ = client("scp", direction, server, tree, tmp_path / "copy", "-r")
    argv[1:1] = ["-X", *f"streams={streams}".split()]
    limit = f"ulimit -S {limit}; " if limit else ""
    assert run(["sh", "-c", f'{limit}exec "$0" "$@"', *argv],
               tmp_path) == (0, "")
    assert digests(tmp_path / "copy") == digests(tree)
    assert least <= next(most_open(tmp_path)) <= most


@pytest.mark.parametrize("tool, direction", [
    ("scp", "get"), ("scp", "put"), ("sftp", "put"), ("scp-3", "get")])
@pytest.mark.parametrize("number", [1, 2, 8, 63])
@pytest.mark.parametrize("status", [2, 3, 4])
def test_refused_handles_are_tried_again(tmp_path, odd, tool, direction,
                                         number, status):
    """The server has fewer than it says. What it refuses is copied later."""
    tree = nested(tmp_path / "tree", dirs=3, files=20, levels=2)
    assert copy(tmp_path, tool, direction, odd("refuses", number, status),
                tree, tmp_path / "copy", "-rp") == (0, "")
    assert digests(tmp_path / "copy") == digests(tree)
    assert next(most_open(tmp_path)) <= number


@BOTH
@pytest.mark.parametrize("options", ["-r", "-rZ"])
def test_server_may_lock_what_is_open(tmp_path, odd, direction, options):
    """It refuses what another stream has open: one stream copies the file."""
    tree = nested(tmp_path / "tree", dirs=2)
    (tree / "large").write_bytes(content(40 * MIB))
    if "Z" in options:
        (tmp_path / "copy").mkdir()
        (tmp_path / "copy" / "large").write_bytes(content(40 * MIB)[:MIB])
    ends = [f"{tree}/." if "Z" in options else tree, tmp_path / "copy"]
    ends[direction == "put"] = f"x:{ends[direction == 'put']}"
    refused = tmp_path / "log.refused"
    refused.touch()
    server = program(tmp_path / "late", f"exec {ODD} "
                     f"waits={refused}=large=1 {odd('locks')}")
    status, error = scp(tmp_path, server, options, "-X", "streams=4", *ends)
    assert status == 0 and (error == "" or "Z" in options), error
    assert "large" in refused.read_text()
    assert digests(tmp_path / "copy") == digests(tree)


def copy_between(tmp_path, tree, source, target):
    """scp -3 of a tree, from an odd server to another, which starts first."""
    server = program(tmp_path / "server", f"""
        odd='{source}' name=from
        mkdir '{tmp_path}/first' 2>/dev/null && odd='{target}' name=to
        LOG={tmp_path}/$name exec {ODD} $odd {SERVER}""")
    assert copy(tmp_path, "scp-3", "get", server, tree, tmp_path / "copy",
                "-rp") == (0, "")
    assert digests(tmp_path / "copy") == digests(tree)


@pytest.mark.parametrize("which", ["from", "to"])
@pytest.mark.parametrize("odd, least, most", [
    ("few=24", 9, 12), ("few=2", 0, 2), ("few=3", 0, 3), ("no-limits", 9, 16)])
def test_copy_needs_few_handles_of_one_server(tmp_path, which, odd, least,
                                              most):
    """Whichever of the two has few, or does not say how many it has. With two,
    files are copied one after the other."""
    servers = {"from": "few=1000", "to": "few=1000", which: odd}
    copy_between(tmp_path, nested(tmp_path / "tree", dirs=4), servers["from"],
                 servers["to"])
    handles, *_ = most_open(tmp_path, which)
    assert least <= handles <= most


@pytest.mark.parametrize("status", [3, 4])
def test_target_with_one_handle_gets_all(tmp_path, status):
    """It has one handle. The source, which is done with the first file, opens
    others, several times, before it tells what it has read."""
    copy_between(tmp_path, flat(tmp_path / "tree", 5), "holds=0=8",
                 f"refuses=1={status}")


@BOTH
def test_no_name_follows_an_interrupt(tmp_path, odd, direction):
    """^C while a directory is made or opened."""
    tree = nested(tmp_path / "tree", dirs=30, files=1, levels=1)
    argv, batch = client("sftp", direction, odd("stops"), tree,
                         tmp_path / "copy", "-r")
    done = subprocess.run(argv, cwd=tmp_path, input=batch, text=True,
                          capture_output=True, timeout=300,
                          preexec_fn=hears_interrupts)
    assert done.returncode == 1
    flights = (tmp_path / "log.flights").read_text().split()
    assert flights.count("12") + flights.count("14") <= 1  # READDIR, MKDIR


def peak_of(argv, cwd, seconds, **env):
    """The most bytes that it had by then, and its status if it has ended."""
    process = subprocess.Popen(argv, cwd=cwd, stderr=subprocess.DEVNULL,
                               env={**os.environ, **env})
    peak, status = Peak(process.pid), None
    with contextlib.suppress(subprocess.TimeoutExpired):
        status = process.wait(seconds)
    process.kill()
    process.wait()
    return peak.stop() << 10, status


def test_endless_data_takes_bounded_memory(tmp_path, odd):
    """All files are empty, it says, and no read of them ends. What is asked for
    and not yet written is bounded over all files, as is memory."""
    names = [str(i) for i in range(300)]
    for folder in ("tree", "copy"):
        (tmp_path / folder).mkdir()
    for name in names:
        (tmp_path / "tree" / name).touch()
        (tmp_path / "copy" / name).symlink_to("/dev/null")
    argv = scp_argv(odd("sizeless"), "-r", f"x:{tmp_path}/tree/.", "copy")
    # glibc keeps what was freed, by thread. What the program holds is asked.
    most, status = peak_of(argv, tmp_path, 8, MALLOC_ARENA_MAX="1",
                           MALLOC_MMAP_THRESHOLD_="16384")
    assert status is None and next(most_open(tmp_path)) > 10
    # It has 3 MiB, where the BDP is about 1
    assert most < 32 * MIB


def test_endless_names_take_bounded_memory(tmp_path, odd):
    """The server lists files that are not there. Each fails."""
    (tmp_path / "tree").mkdir()
    with subprocess.Popen(
            ["timeout", "-k9", "300", "prlimit", f"--data={200 * MIB}",
             *scp_argv(odd("crowd"), "-r", f"x:{tmp_path}/tree", "copy")],
            cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        said = {process.stderr.readline() for _ in range(100)}
        process.terminate()
    assert sum("No such file" in line for line in said) > 10, said


def test_reply_that_is_too_long_ends_the_copy(tmp_path, odd):
    """When it comes: it is not kept until its job looks at its replies."""
    flat(tmp_path / "tree", 3, MIB)
    status, said = scp(tmp_path, odd("long-reply", 5), "-r", "tree",
                       f"x:{tmp_path}/copy")
    assert status != 0
    assert "Expected SSH2_FXP_STATUS(101) packet, got 102" in said


def test_long_statuses_take_no_memory(tmp_path, odd):
    """Its statuses have 200 kB of text. Nobody reads it, and it is not kept."""
    (tmp_path / "tree").mkdir()
    with open(tmp_path / "tree" / "big", "wb") as f:
        f.truncate(1000 * MIB)
    most, status = peak_of(scp_argv(odd("wordy"), "-r", "tree",
                                    f"x:{tmp_path}/copy"), tmp_path, 10)
    assert status in (None, 0)
    assert os.path.getsize(tmp_path / "copy" / "big") > 8 * MIB
    assert 0 < most < 50 * MIB, f"{most / MIB:.0f} MiB"


def test_large_file_is_not_starved_by_small_ones(tmp_path):
    """It needs room for a request of 255 KiB. What a small file leaves is less,
    and is not for the next small file."""
    tree, log = flat(tmp_path / "tree", 400, 130000), tmp_path / "log"
    large = os.listdir(tree)[150]
    (tree / large).write_bytes(content(3 * MIB))
    server = program(tmp_path / "server", f"exec {sys.executable} -B "
                     f"{SLOW_PATH} 0.1 12e6B/s {SERVER} -e -l info 2> {log}")
    assert scp(tmp_path, server, "-r", f"x:{tree}", "copy") == (0, "")
    closed = re.findall(r'^close "[^"]*/(\d+)"', log.read_text(), re.M)
    before = closed.index(large)
    assert before < 300, f"{before} others were copied first"


def test_server_may_wait_for_its_reader(tmp_path, odd):
    """It takes no request until its last replies have been read. Names are so
    long that the requests of many files don't fit into a socket or pipe."""
    folder = tmp_path.joinpath("tree", *["d" * 250] * 8)
    folder.mkdir(parents=True)
    for i in range(150):
        (folder / str(i)).write_bytes(content(20000, i))
    assert scp(tmp_path, odd("one-by-one"), "-r", f"x:{tmp_path}/tree",
               "copy") == (0, "")
    assert digests(tmp_path / "copy") == digests(tmp_path / "tree")


# What one file does to others

def test_file_that_cannot_be_read_ends_scp_as_stocks(tmp_path):
    """/proc/self/mem is a regular file, and a read of its start fails."""
    for build in (STOCK, OURS):
        status, error = run(scp_argv(SERVER, "/proc/self/mem", "x:copy",
                                     build=build), tmp_path)
        assert (status, error.strip()) == (255, f"{build}/scp: read local "
                                           '"/proc/self/mem": Input/output '
                                           'error')


def without_one(tmp_path, tree):
    """The digests of a tree and its copy, but for the file "0", and what of
    that was copied."""
    there = (tmp_path / "copy" / "0").read_bytes()
    for path in (tmp_path / "copy" / "0", tree / "0"):
        path.unlink()
    return digests(tmp_path / "copy"), digests(tree), there


def test_file_that_cannot_be_read_stops_no_other(tmp_path, odd):
    tree = flat(tmp_path / "tree", 20, 300000)
    (tree / "0").unlink()
    (tree / "0").symlink_to("/proc/self/mem")
    status, error = scp(tmp_path, odd("few", 1000), "-r", "tree",
                        f"x:{tmp_path}/copy")
    assert status == 1
    assert 'read local "tree/0": Input/output error' in error
    assert len(error.splitlines()) == 3, error
    found, wanted, there = without_one(tmp_path, tree)
    assert found == wanted and there == b""


BAD_BLOCK = """
#define _GNU_SOURCE
#include <sys/stat.h>
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

ssize_t
pread64(int fd, void *p, size_t len, off_t at)
{
	ssize_t (*real)(int, void *, size_t, off_t);
	struct stat st;

	real = dlsym(RTLD_NEXT, "pread64");
	if (fstat(fd, &st) != 0 || st.st_size != BAD_SIZE)
		return real(fd, p, len, at);
	if (at >= BAD_FROM) {
		errno = EIO;
		return -1;
	}
	len = len < BAD_FROM - at ? len : BAD_FROM - at;
	return real(fd, p, len, at);
}

ssize_t
pread(int fd, void *p, size_t len, off_t at)
{
	return pread64(fd, p, len, at);
}
"""


def test_bad_block_is_told_once(tmp_path, odd):
    """While WRITEs are outstanding. What came before it is there."""
    size, start = 700001, 600000
    bad = preload(tmp_path, f"#define BAD_SIZE {size}\n"
                  f"#define BAD_FROM {start}\n{BAD_BLOCK}")
    tree = flat(tmp_path / "tree", 20, 300000)
    (tree / "0").write_bytes(content(size))
    argv, _ = client("scp", "put", odd("few", 1000), tree,
                     tmp_path / "copy", "-r")
    status, error = run(argv, tmp_path, env={**os.environ, "LD_PRELOAD": bad})
    assert status == 1
    assert len(error.splitlines()) == 3, error
    assert error.count('tree/0": Input/output error') == 1
    found, wanted, there = without_one(tmp_path, tree)
    assert found == wanted and there == content(size)[:start]


@pytest.mark.parametrize("first, last", [(900000, 600000), (1000, 600000),
                                         (900000, 1000), (1000, 2000)])
@pytest.mark.parametrize("tool, link", [("scp", os.link),
                                        ("sftp", os.symlink)])
def test_last_of_two_names_counts(tmp_path, odd, tool, link, first, last):
    """As of stock, the last one counts. It waits until the first has been
    copied, which takes longer than other files, and is not tried before."""
    tree, into = tmp_path / "tree", tmp_path / "into"
    for folder in (tree, into, into / "tree"):
        folder.mkdir()
    # The server lists names backwards.
    (tree / "b").write_bytes(b"b" * first)
    (tree / "a").write_bytes(b"a" * last)
    for i in range(10):
        (tree / f"c{i}").write_bytes(b"c" * 1000)
        (tree / f"0{i}").write_bytes(b"0" * 1000)
    (into / "tree" / "a").touch()
    link(into / "tree" / "a", into / "tree" / "b")
    assert copy(tmp_path, tool, "get", odd("holds", 0, 8), tree,
                into, "-r") == (0, "")
    for path in (tree / "b", into / "tree" / "b"):
        path.unlink()
    assert digests(into / "tree") == digests(tree)
    flights = (tmp_path / "log.flights").read_text().split()
    assert flights.count("3") == 22         # OPEN


def test_names_stay_bounded_while_one_waits(tmp_path, odd):
    """Files are copied before all names are read."""
    tree, into = flat(tmp_path / "tree", 3000, 10), tmp_path / "into"
    (into / "tree").mkdir(parents=True)
    (into / "tree" / "2999").touch()
    os.link(into / "tree" / "2999", into / "tree" / "2998")
    assert copy(tmp_path, "sftp", "get", odd("few", 1000), tree, into,
                "-r") == (0, "")
    flights = (tmp_path / "log.flights").read_text().split()
    last = max(i for i, kind in enumerate(flights) if kind == "12")  # READDIR
    assert flights[:last].count("3") > 1000             # OPEN


def test_target_that_cannot_be_truncated_stays(tmp_path):
    """As with stock, which opens it with O_TRUNC."""
    (tmp_path / "source").write_text("new")
    (tmp_path / "copy").write_text("old, and longer")
    library = preload(tmp_path, """
        #include <errno.h>
        #include <sys/types.h>
        int ftruncate(int fd, off_t len) { errno = EPERM; return -1; }
        int ftruncate64(int fd, off_t len) { errno = EPERM; return -1; }""")
    argv, batch = client("sftp", "get", SERVER, tmp_path / "source",
                         tmp_path / "copy", "")
    status, error = run(argv, tmp_path, input=batch, env={
        **os.environ, "LD_PRELOAD": library})
    assert status == 1 and "Operation not permitted" in error, error
    assert (tmp_path / "copy").read_text() == "old, and longer"


def test_file_that_cannot_be_closed_has_failed(tmp_path, odd):
    """Its data may have been lost."""
    library = preload(tmp_path, """
        #include <errno.h>
        #include <stdio.h>
        #include <string.h>
        #include <unistd.h>
        #include <sys/syscall.h>
        int close(int fd)
        {
            char link[40], path[1000] = "";

            snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
            if (readlink(link, path, sizeof(path) - 1) > 0 &&
                strstr(path, "/copy/1") != NULL) {
                errno = EDQUOT;
                return -1;
            }
            return syscall(SYS_close, fd);
        }""")
    tree = flat(tmp_path / "tree", 3)
    argv, _ = client("scp", "get", SERVER, tree, tmp_path / "copy", "-r")
    status, error = run(argv, tmp_path, env={
        **os.environ, "LD_PRELOAD": library})
    assert status == 1 and 'copy/1": Disk quota exceeded' in error, error
    assert digests(tmp_path / "copy") == digests(tree)


# As stock

@pytest.mark.parametrize("fault", ["close-fails", "setstat-fails", ""])
@pytest.mark.parametrize("options", ["-r", "-rp"])
def test_errors_of_an_upload_are_as_stock(tmp_path, odd, fault, options):
    """What follows the data is sent with it, so errors come late."""
    flat(tmp_path / "tree", 1, 3 * MIB)
    server = odd(fault, 3)
    (stock, stock_says), (ours, says) = (
        run(scp_argv(server, options, "tree", f"x:{tmp_path}/{build[-4:]}",
                     build=build), tmp_path) for build in (STOCK, OURS))
    assert ours == stock == (fault == "close-fails")
    assert says == stock_says.replace(STOCK, OURS).replace(
        f"{tmp_path}/{STOCK[-4:]}", f"{tmp_path}/{OURS[-4:]}")
    assert ("fsetstat" in says) == (fault == "setstat-fails")
    assert digests(tmp_path / OURS[-4:]) == digests(tmp_path / STOCK[-4:])


@BOTH
def test_one_file_at_a_time_is_as_stock(tmp_path, direction):
    """-X files=1, in kinds and order of the requests for files."""
    tree, log, asked = flat(tmp_path / "tree", 20), tmp_path / "log", {}
    server = program(tmp_path / "server",
                     f"exec {SERVER} -e -l debug3 2> {log}")
    for build, files in ((STOCK, ()), (OURS, ("-X", "files=1"))):
        ends = (f"x:{tree}", "copy") if direction == "get" else \
            ("tree", f"x:{tmp_path}/copy")
        assert run(scp_argv(server, "-rp", *files, *ends, build=build),
                   tmp_path) == (0, "")
        asked[build] = re.findall(
            r"request \d+: (open|write|fsetstat|close|read) ", log.read_text())
        (tmp_path / "copy").rename(tmp_path / f"copy{len(asked)}")
    assert asked[OURS] == asked[STOCK]
    assert asked[OURS].count("open") == 20


@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("files, count", [(1, 12), (3, 30), (None, 300)])
def test_incomplete_files_are_bounded(tmp_path, odd, tool, files, count):
    """At the server, of an upload: as many as -X files says, 128 at most."""
    tree = flat(tmp_path / "tree", count, 1000)
    argv, batch = client(tool, "put", odd("few", 1000), tree,
                         tmp_path / "copy", "-r")
    if files is not None:
        argv[1:1] = ["-X", f"files={files}"]
    assert run(argv, tmp_path, input=batch) == (0, "")
    assert digests(tmp_path / "copy") == digests(tree)
    _, incomplete, _ = most_open(tmp_path)
    assert min(files or 65, 65) <= incomplete <= (files or 128)


# What is left incomplete

# Those of the default, and one after the other
FILES = pytest.mark.parametrize("files", [[], ["-X", "files=1"]])


@BOTH
@FILES
@pytest.mark.parametrize("tool", ["scp", "sftp"])
def test_lost_connection_names_files(tmp_path, odd, tool, direction, files):
    """And none that is not there yet."""
    tree = flat(tmp_path / "tree", 100, 300000)
    argv, batch = client(tool, direction, odd("closes", 100), tree,
                         tmp_path / "copy", "-r")
    status, error = run([argv[0], *files, *argv[1:]], tmp_path, input=batch)
    assert status != 0
    dest = tmp_path / "copy"
    incomplete, names = torn(tree, dest), named(error, dest)
    assert incomplete and incomplete <= names, error
    assert len(incomplete) <= 128
    if direction == "get":
        assert len(names) <= 128 and names <= set(os.listdir(dest))


@pytest.mark.parametrize("tool", ["scp", "sftp"])
def test_broken_pipe_names_files(tmp_path, odd, tool):
    """So it is where SIGPIPE ends sftp before it reads the end of the file,
    and the status is stock's."""
    tree = flat(tmp_path / "tree", 20, 900000)
    dest = tmp_path / "copy"
    status, error = copy(tmp_path, tool, "put", odd("deaf", 41), tree, dest,
                         "-r")
    assert status == (-signal.SIGPIPE if tool == "sftp" else 1), error
    incomplete = torn(tree, dest)
    assert incomplete and incomplete <= named(error, dest), error


@BOTH
@FILES
@pytest.mark.parametrize("number", [61, 152])
def test_interruption_names_files(tmp_path, odd, direction, number, files):
    """sftp goes on after ^C. It names what is not whole and nothing else."""
    tree = flat(tmp_path / "tree", 160, 600000)
    dest = tmp_path / "copy"
    argv = [f"{OURS}/sftp", "-q", *files, "-D", odd("interrupts", number)]
    status, error = run(argv, tmp_path, input=f"{direction} -r {tree} {dest}")
    assert status == 0
    incomplete, names = torn(tree, dest), named(error, dest)
    assert incomplete <= names and len(incomplete) <= 128
    assert not names & set(os.listdir(dest)) - incomplete


def test_names_do_not_control_a_terminal(tmp_path, odd):
    tree = flat(tmp_path / "tree", 3, 2 * MIB)
    (tree / "0").rename(tree / "\x1b[31mred\n")
    status, error = scp(tmp_path, odd("closes", 3), "-r", "tree",
                        f"x:{tmp_path}/copy")
    assert status != 0
    assert "\x1b" not in error and "\\033[31mred" in error


# scp -Z

def test_refusal_while_others_are_open_costs_no_data(tmp_path, odd):
    """It is asked again: with fewer handles than it says, the server refuses
    files that are nearly complete."""
    tree, dest = flat(tmp_path / "tree", 30, 100000), tmp_path / "copy"
    shutil.copytree(tree, dest)
    for path in dest.iterdir():
        os.truncate(path, 99999)
    assert scp(tmp_path, odd("refuses", 4, FAILURE), "-rZ", "-X",
               "buffer=8192", "tree/.", f"x:{dest}")[0] == 0
    assert digests(dest) == digests(tree)
    flights = (tmp_path / "log.flights").read_text().split()
    assert flights.count("6") == 30         # WRITE


def test_compared_file_at_the_server_is_written(tmp_path):
    """By one handle: between two, the name could lead elsewhere."""
    source, dest = tmp_path / "source", tmp_path / "dest"
    source.write_bytes(content(MIB))
    dest.write_bytes(content(MIB)[:100000])
    log = tmp_path / "log"
    server = program(tmp_path / "server",
                     f"exec {SERVER} -e -l debug3 2> {log}")
    assert scp(tmp_path, server, "-Z", "source", f"x:{dest}") == (0, "")
    assert dest.read_bytes() == source.read_bytes()
    assert re.findall(r'open "(.*)" flags (\S+) ', log.read_text()) == \
        [(str(dest), "READ,WRITE")]


def test_compared_file_here_is_written(tmp_path):
    """As it is downloaded, another file gets its name once the server has told
    the digest: that one stays what it is."""
    source, dest, other, compared = (
        tmp_path / name for name in ("source", "dest", "other", "compared"))
    source.write_bytes(content(MIB))
    dest.write_bytes(content(MIB)[:100000])
    os.link(dest, compared)
    other.write_bytes(content(100000, 2))
    server = program(tmp_path / "server", "exec " + shlex.join(
        [ODD, f"swaps={dest}={other}", SERVER]))
    assert scp(tmp_path, server, "-Z", f"x:{source}", "dest") == (0, "")
    assert not other.exists()
    assert compared.read_bytes() == source.read_bytes()
    assert dest.read_bytes() == content(100000, 2)


@pytest.mark.parametrize("options", ["-Zp", "-Zrp"])
def test_failed_write_is_no_content(tmp_path, odd, options):
    """A write in the middle fails, and a later one doesn't. The server has no
    digests: size and time must not say that the copy is whole."""
    tree, dest = tmp_path / "tree", tmp_path / "copy"
    for folder in (tree, dest):
        folder.mkdir()
    (tree / "file").write_bytes(content(3 * 261120))
    os.utime(tree / "file", (1234567890, 1234567890))
    source, target = ("tree/.", "copy") if "r" in options else \
        ("tree/file", "copy/file")
    for fault, number, status in (("write-fails", 2, 1), ("few", 1000, 0)):
        assert scp(tmp_path, odd(fault, number), options, source,
                   f"x:{tmp_path}/{target}")[0] == status
    assert digests(dest) == digests(tree)
