"""The rooms of openssh/: each uses only those that stand below it in the map,
and no two modules include each other."""

import os
import re

import tracked

OPENSSH = os.path.join(tracked.TOP, "openssh")
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)


def rooms():
    """In the order of the map, which is indented."""
    with open(os.path.join(OPENSSH, "README.md")) as f:
        text = f.read()
    return re.findall(r"\b([a-z]+)/", "\n".join(
        re.findall(r"^ {4}(?:[a-z]+/ +)+", text, re.M)))


def modules():
    """(room, file) of each file in C."""
    return [(room, name) for room in rooms()
            for name in sorted(os.listdir(os.path.join(OPENSSH, room)))
            if name.endswith((".c", ".h"))]


def included(room, name):
    with open(os.path.join(OPENSSH, room, name)) as f:
        return INCLUDE.findall(f.read())


def test_the_map_has_every_room():
    folders = {name for name in os.listdir(OPENSSH)
               if os.path.isdir(os.path.join(OPENSSH, name))}
    assert folders == {*rooms(), "regress", "standalone"}
    for room in rooms():
        assert os.path.exists(os.path.join(OPENSSH, room, "README.md")), room


def test_a_room_uses_only_rooms_below_it():
    order = {room: i for i, room in enumerate(rooms())}
    where = {name: room for room, name in modules()}
    assert len(where) == len(modules()), "two files of one name"
    wrong = [f"{room}/{name} includes {where[header]}/{header}"
             for room, name in modules() for header in included(room, name)
             if header in where and order[where[header]] < order[room]]
    assert not wrong


def circle(uses, start):
    """Whether a module is reached from what it uses."""
    seen, todo = set(), list(uses[start])
    while todo:
        module = todo.pop()
        if module == start:
            return True
        if module not in seen:
            seen.add(module)
            todo += uses.get(module, ())
    return False


def test_no_modules_include_each_other():
    uses = {}
    names = {name[:-2] for _, name in modules()}
    for room, name in modules():
        others = {header[:-2] for header in included(room, name)}
        uses.setdefault(name[:-2], set()).update(
            (others & names) - {name[:-2]})
    assert not [m for m in uses if circle(uses, m)]
