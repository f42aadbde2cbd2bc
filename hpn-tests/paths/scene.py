"""Scenarios that a row of the table can't say: a test function each."""

import pytest

from checked import SpecError, known
from scenarios import LEVELS, OTHER
from spec import raw_name


def scenario(name, level="check", case=None, **specs):
    """Makes a test function the scenario NAME. It gets a "scene": its
    transfers by the keywords here, and the case as scene.case. Transfers of
    raw TCP are shared with other scenarios. May be given several times."""
    known(level, LEVELS, "level")
    names = {key: raw_name(spec) if spec.tool == "raw" else f"{name}-{key}"
             for key, spec in specs.items()}
    for key, spec in specs.items():
        there = OTHER.setdefault(names[key], spec)
        if there.given() != spec.given():
            raise SpecError(f"scenario {name!r}: is there already")
    param = pytest.param((names, case), id=name,
                         marks=pytest.mark.level(level))

    def add(function):
        marks = [m for m in getattr(function, "pytestmark", [])
                 if m.name == "parametrize"]
        if marks:
            marks[0].args[1].append(param)
            return function
        return pytest.mark.parametrize("scene", [param],
                                       indirect=True)(function)
    return add


def scenarios(*rows):
    """Makes a test function several scenarios, each (name, level, case,
    transfers)."""
    def add(function):
        for name, level, case, specs in rows:
            function = scenario(name, level, case, **specs)(function)
        return function
    return add


class Scene:
    def __init__(self, names, case, transfers):
        self.names, self.case, self.transfers = names, case, transfers

    def __getitem__(self, key):
        return self.transfers[self.names[key]]
