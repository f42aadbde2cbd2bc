"""A disk that is full at the end that receives: an error that says so."""

import socket
import subprocess

import pytest

from chaos import (COPIES, HOST, PORT, Ends, WRONG, place,   # noqa: F401
                   record, runs, slow, some_line)

MIB = 1 << 20
ROOM = 4                                # MiB
# What a server may say in version 3 of the protocol is "Failure"
FULL = "No space left on device|: Failure|write .*failed"


@pytest.fixture
def small(place):
    """A file system of its own."""
    return place.mounted(f"mount -t tmpfs -o size={ROOM}m small {{at}}")


@runs(("scp", "get"), ("scp", "put"),
      of=[copy for copy in COPIES if copy != ("ssh", "get")])
def test_full_disk_is_an_error(place, small, who, tool, direction):
    ends = Ends(place, who)
    ends.dest = f"{small[0]}/dest"
    process = ends.start(tool, direction, port=PORT)
    ends.dest = f"{small[1]}/dest"
    outcome, lines = ends.outcome(process)
    print(lines)
    assert outcome == "error" and some_line(lines, FULL), lines
    record("disk full", who, outcome)


def shell(ends, line):
    """A line of shell, with ssh as "$@"; status and what was said."""
    done = ends.place.run(["sh", "-c", line, "sh", *ends.place.ssh(
        HOST, tree=ends.tree)])
    ends.none_left()
    return done.returncode, done.stderr.splitlines()


OVER = (1, 100000, MIB, 64 * MIB)       # bytes that there is no room for


@pytest.mark.parametrize("who, over", [("ours", n) for n in OVER] + [
    pytest.param("stock", n, marks=slow) for n in OVER])
def test_full_output_is_an_error(place, small, who, over):
    """ssh's standard output. A command that has written all before anything
    could be wrong has ended well: the error is that of ssh. Stock OpenSSH
    says nothing, and its status is that of the command; it is no more than
    written down here."""
    ends = Ends(place, who, size=ROOM * MIB + over)
    status, lines = shell(ends, f'"$@" cat {ends.source} > {small[0]}/dest')
    outcome = "error" if lines else WRONG if status == 0 else \
        "cut short, said nothing"
    record("disk full under ssh's output", who, outcome)
    if who == "ours":
        assert status == 255 and len(lines) == 1, (status, lines)
        assert some_line(lines, "write to standard output: No space left")


def test_unreadable_input_is_an_error_of_ssh(place):
    """It hasn't ended: in the middle of a file it is a bad disk."""
    ends = Ends(place)
    status, lines = shell(ends, '"$@" cat < /proc/self/mem')
    assert status == 255 and len(lines) == 1, (status, lines)
    assert some_line(lines, "read from standard input: ")
    record("standard input can't be read", "ours", "error")


@pytest.mark.parametrize("line", ['"$@" cat {} | head -c 1 > /dev/null',
                                  '"$@" true < {}', '"$@" cat < /dev/null',
                                  '"$@" cat 0> /dev/null', '"$@" cat < /',
                                  '"$@" echo said 1< /dev/null'])
def test_unused_input_or_output_is_no_error(place, line):
    """A reader that has what it wants; a command that wants no input; an
    input that is not to be read, as nohup's; a directory; an output that
    is not to be written."""
    assert shell(Ends(place), line.format(f"{place.path('source')}")) == \
        (0, [])


def test_status_is_the_commands_if_the_caller_has_gone(place):
    """One socket is ssh's input and output, as scp's, and is closed with
    output that nobody has read. The status is the command's."""
    ends = Ends(place)
    ours, theirs = socket.socketpair()
    ssh = place.start(place.ssh(HOST, "echo said; sleep 2; exit 3",
                                tree=ends.tree), stdin=theirs, stdout=theirs,
                      stderr=subprocess.PIPE)
    theirs.close()
    assert ours.recv(1) == b"s"
    ours.close()
    _, said = ssh.communicate(timeout=300)
    assert (ssh.returncode, said) == (3, b"")
