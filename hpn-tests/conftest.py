"""What the tests of all folders have: harness, the programs of the lab's guest
and the table of peers to import, and levels.

--level check, netem or full: how much is run. --resume: transfers under netem
that an interrupted run has made, with the same programs, are not made again."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder)
                for folder in ("harness", "lab/guest", "peers")]
LEVELS = {"check": ("check",), "netem": ("check", "netem"),
          "full": ("check", "netem", "grid"), "self": ("self",)}


def level_of(item):
    call = getattr(item, "callspec", None)
    if call and "row" in call.params:
        return call.params["row"].level
    return next((m.args[0] for m in item.iter_markers("level")), "check")


def pytest_addoption(parser):
    parser.addoption("--level", choices=LEVELS, default="check")
    parser.addoption("--resume", action="store_true")


def pytest_configure(config):
    config.addinivalue_line("markers", "level(name): check, netem or grid")
    config.addinivalue_line("markers", "page(name): of results, in build/NAME")


def pytest_collection_modifyitems(config, items):
    levels = LEVELS[config.getoption("level")]
    kept = [i for i in items if level_of(i) in levels]
    config.hook.pytest_deselected(
        items=[i for i in items if level_of(i) not in levels])
    items[:] = kept
