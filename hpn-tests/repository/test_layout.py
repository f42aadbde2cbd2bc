"""Where things are: which room includes which, and that what documents link
to is there."""

import graphlib
import os
import re
import subprocess
import sys

import pytest

from loopback import wire_name
from tracked import TOP, read, tracked

# Names on the wire

def test_one_line_changes_the_names():
    """The one with BDP_DOMAIN: all but documents have them from there. (An
    address in Debian's changelog ends in .invalid.)"""
    domain = wire_name("BDP_BOUNDED_INPUT").partition("@")[2]
    spelt = re.compile(rf"@{re.escape(domain)}(?!\.invalid)")
    assert {name for name in tracked(":!*.md")
            if spelt.search(read(name))} == {"openssh/PROTOCOL.channels"}


# Links of documents

LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def test_links_are_to_files_that_are_there():
    assert not [f"{name}: {path}" for name in tracked("*.md")
                for path in LINK.findall(read(name)) if not os.path.exists(
                    os.path.join(TOP, os.path.dirname(name), path))]


# Rooms: each uses only those that stand below it in the map, and no two modules
# include each other

OPENSSH = os.path.join(TOP, "openssh")
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)


def rooms():
    """In the order of the map, which is indented."""
    return re.findall(r"\b([a-z]+)/", "\n".join(re.findall(
        r"^ {4}(?:[a-z]+/ +)+", read("openssh/README.md"), re.M)))


def files_in_c():
    """(room, file) of each file in C."""
    return [(room, name) for room in rooms()
            for name in sorted(os.listdir(os.path.join(OPENSSH, room)))
            if name.endswith((".c", ".h"))]


def included(room, name):
    return INCLUDE.findall(read(f"openssh/{room}/{name}"))


def test_the_map_has_every_room():
    folders = {name for name in os.listdir(OPENSSH)
               if os.path.isdir(os.path.join(OPENSSH, name))}
    assert folders == {*rooms(), "regress", "standalone"}
    for room in rooms():
        assert os.path.exists(os.path.join(OPENSSH, room, "README.md")), room


def test_a_room_uses_only_rooms_below_it():
    order = {room: i for i, room in enumerate(rooms())}
    where = {name: room for room, name in files_in_c()}
    assert len(where) == len(files_in_c()), "two files of one name"
    wrong = [f"{room}/{name} includes {where[header]}/{header}"
             for room, name in files_in_c() for header in included(room, name)
             if header in where and order[where[header]] < order[room]]
    assert not wrong


def test_no_modules_include_each_other():
    uses = {}
    names = {name[:-2] for _, name in files_in_c()}
    for room, name in files_in_c():
        others = {header[:-2] for header in included(room, name)}
        uses.setdefault(name[:-2], set()).update(
            (others & names) - {name[:-2]})
    list(graphlib.TopologicalSorter(uses).static_order())  # if without circle


# Parts of documents that programs write

@pytest.mark.parametrize("program", [
    "hpn-tests/results/page.py", "hpn-tests/paths/reference.py",
    "bench/tables.py", "patches/tools/table"])
def test_written_documents_are_current(program):
    done = subprocess.run([sys.executable, "-B", program, "--check"], cwd=TOP,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
