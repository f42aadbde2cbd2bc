"""What a network may do to a connection: it stalls, it is cut, it changes or
repeats bytes. The copy goes on, or ends with an error that says so; never are
wrong bytes called good, and never is a process left."""

import pytest

from chaos import (CORRUPT, LOST, SIZE, TIMEOUT, WRONG,       # noqa: F401
                   Ends, place, record, runs, slow, some_line)

SEGMENT = 1448                          # bytes
LOGIN = 8000                # bytes of a direction, of which logging in is less
# The other direction's bytes of some() come long before its end. A busy
# machine sends fewer adjusts of windows.
LARGE = 4 * SIZE
DATA = [LOGIN + 13, SIZE // 4 + 1, SIZE // 2, LARGE - 9999]


def receives(direction):
    """The sender of the data, and its receiver."""
    return ("server", "client") if direction == "get" else \
        ("client", "server")


@runs(("scp", "get"))
def test_copy_survives_a_stall(place, who, tool, direction):
    """Twice, once in each direction: it goes on."""
    ends = Ends(place, who)
    data, back = receives(direction)
    outcome, lines, done = ends.through(
        [{"from": data, "at": DATA[1], "do": "stall", "seconds": 2},
         {"from": back, "at": 2000, "do": "stall", "seconds": 1}],
        tool, direction)
    assert len(done) == 2 and outcome == "goes on", lines
    record("stalled for 1 and 2 s", who, outcome)


@runs(("sftp", "put"))
def test_copy_survives_single_bytes(place, who, tool, direction):
    """All of the login and some data byte by byte, more in odd pieces."""
    ends = Ends(place, who)
    script = [{"from": end, "at": at, "do": "fragment", "bytes": count,
               "size": size} for end in ("client", "server")
              for at, count, size in ((0, LOGIN, 1), (LOGIN, SIZE // 4, 997))]
    outcome, lines, done = ends.through(script, tool, direction)
    assert len(done) >= 3 and outcome == "goes on", lines
    record("delivered byte by byte", who, outcome)


def copies(ends, tool, direction, faults, fault, words, *options):
    """One copy for each of the faults, all to end with an error. What the
    server has noticed its log says, and the user that the server has gone."""
    for action in faults:
        at_server, before = action["from"] == "client", len(ends.log())
        outcome, lines, done = ends.through([action], tool, direction,
                                               *options)
        assert len(done) == 1, f"never came to {action}"
        if outcome == WRONG and ends.who == "stock":
            record(fault, ends.who, outcome)
            continue
        assert outcome == "error", f"{action}: no error"
        log = ends.log()[before:].splitlines() if at_server else []
        assert some_line(lines + log, words), f"{action}: {lines} {log}"
        assert some_line(lines, f"{words}|{LOST}"), f"{action}: {lines}"
        record(fault, ends.who, outcome)


# Bytes of the other direction: once it has logged in, a client that gets a
# file says little but adjusts of windows
def some(direction, what):
    data, back = receives(direction)
    small = {"bytes": 20} if "bytes" in what else {}    # less than a packet
    return [{"from": data, "at": at, **what} for at in DATA] + \
        [{"from": back, "at": LOGIN // 2 + at, **what, **small}
         for at in (1, 99)]


@runs(("ssh", "get"))
def test_reset_is_an_error(place, who, tool, direction):
    """In mid-packet: packets end at an odd place once in 30,000 bytes."""
    copies(Ends(place, who, size=LARGE), tool, direction,
           some(direction, {"do": "reset"}), "reset in mid-packet", LOST)


@runs(("ssh", "get"))
def test_truncation_is_an_error(place, who, tool, direction):
    """The connection ends in mid-packet as if it was meant to; and near the
    end, where a command's exit status is ahead of what it wrote last."""
    copies(Ends(place, who, size=LARGE), tool, direction,
           some(direction, {"do": "truncate"}), "ended in mid-packet", LOST)


# Behind bytes too few or too many others are taken for a length, and where
# little comes the receiver waits for that much: keepalives tell
DAMAGE = {
    "flip": ({"do": "flip", "mask": 0x10}, "a bit changed", CORRUPT),
    "duplicate": ({"do": "duplicate", "bytes": SEGMENT},
                  "a segment's bytes repeated", f"{CORRUPT}|{TIMEOUT}"),
    "lose": ({"do": "lose", "bytes": SEGMENT}, "a segment's bytes missing",
             f"{CORRUPT}|{TIMEOUT}"),
}


@pytest.mark.parametrize("damage", [
    "flip", "duplicate", pytest.param("lose", marks=slow)])
@runs(("ssh", "put"))
def test_damage_is_an_error(place, damage, who, tool, direction):
    """The MAC tells, and so does the error."""
    what, fault, words = DAMAGE[damage]
    copies(Ends(place, who, size=LARGE), tool, direction,
           some(direction, what), fault, words, "-o", "ServerAliveInterval=5")
