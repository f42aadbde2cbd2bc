"""Where things are: which room includes which, and that what documents and
comments name is there."""

import ast
import glob
import graphlib
import io
import os
import re
import subprocess
import sys
import tokenize

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


# Paths in documents and comments

PATH = re.compile(r"(?<![\w./$@*<>{}=-])((?:[\w.-]+/)+[\w.*-]+)")
MODULE = re.compile(r"(?<![\w./$@*<>{}-])([\w-]+\.py)\b")
# Whose first folder is one of these: once they were on top, too
OF_OURS = {"bench", "config", "copy", "debian", "docs", "environment", "faults",
           "harness", "hpn-tests", "interop", "lab", "lib", "load", "local",
           "login", "netem", "openssh", "patches", "paths", "peers", "protocol",
           "upstream"}
SOURCES = (".py", ".md", ".sh", ".patch", ".mk")
DATA = (".json", ".jsonl", ".lock", ".part", ".patch", ".sum", ".svg", ".xml")
ELSEWHERE = {"debian/patches"}      # in a source package, as all that the
                                    # files of debian/overlay name


def of_python(text):
    """Its comments and docstrings."""
    nodes = (ast.Module, ast.FunctionDef, ast.ClassDef)
    docstrings = [ast.get_docstring(node) or "" for node in
                  ast.walk(ast.parse(text)) if isinstance(node, nodes)]
    return "\n".join(docstrings + [
        token.string for token in
        tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT])


def prose(name):
    """What a file says to who reads it: of a script its comments."""
    text = read(name)
    if name.endswith(".py") or text.startswith("#!/usr/bin/env python3\n"):
        return of_python(text)
    if text.startswith("#!"):
        return "\n".join(re.findall(r"(?:^|\s)(#.*)", text))
    return text


def is_there(path, name):
    """Below the top, or the folder of the file that names it, or one that it
    is in."""
    roots = [TOP]
    while name := os.path.dirname(name):
        roots.append(os.path.join(TOP, name))
    return any(glob.glob(os.path.join(root, path)) for root in roots)


def is_ours(path):
    """Not what stands for a name, or is only built."""
    last = os.path.basename(path).split(".")[0]
    return path not in ELSEWHERE and not last.isupper() and \
        (path.split("/")[0] in OF_OURS or path.endswith(SOURCES))


def test_paths_are_there():
    known = {os.path.basename(name) for name in tracked("*.py")}
    found = []
    for name in tracked():
        if name.endswith(DATA) or name.startswith("debian/overlay/"):
            continue
        text = prose(name)
        found += [f"{name}: {path}" for path in
                  {p.rstrip(".") for p in PATH.findall(text)}
                  if is_ours(path) and not is_there(path, name)]
        found += [f"{name}: {module}" for module in set(MODULE.findall(text))
                  if module not in known]
    assert not found, "\n".join(sorted(found))


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
