"""Specifications that are checked as soon as they are written: a dataclass
whose fields say what their values may be. An unknown field, a missing one and
a value that can't be raise SpecError, which names the nearest right name."""

import dataclasses
import difflib
import re


class SpecError(ValueError):
    """Says what is wrong with a specification, to the one who wrote it."""


def known(name, names, what):
    """Raises SpecError unless name is one of names. what says of what kind
    it is."""
    names = list(names)
    if name in names:
        return
    near = difflib.get_close_matches(str(name), map(str, names), 1)
    raise SpecError(f"no {what} {name!r}: " + (
        f"did you mean {near[0]!r}?" if near else
        f"there is {', '.join(map(str, names))}"))


UNLIMITED = 10**12              # a number so large is no limit to speak of

# What a value may be. Each is called with a value and raises SpecError unless
# it may; as text it says for README.md what may be.

class Check:
    def __init__(self, text, holds):
        self.text, self.holds = text, holds

    def __call__(self, value):
        if not self.holds(value):
            raise SpecError(f"{value!r} is not {self}")

    def __str__(self):
        return self.text


def Number(least, most, unit="", kind="", types=(int, float)):
    """From least to most, of this unit."""
    limits = f"{least} to {most}" if most < UNLIMITED else f"from {least}"
    return Check(f"{kind}{limits} {unit}".rstrip(), lambda value:
                 type(value) in types and least <= value <= most)


def Whole(least, most, unit=""):
    """The same, without fractions."""
    return Number(least, most, unit, "whole, ", (int,))


def Like(pattern, examples):
    """Text that matches a pattern; examples says what such text looks like."""
    return Check(examples, lambda value: isinstance(value, str) and
                 re.fullmatch(pattern, value))


Flag = Check("True", lambda value: value in (True, 1))


class OneOf:
    def __init__(self, *names, what="value"):
        self.names, self.what = names, what

    def __call__(self, value):
        known(value, self.names, self.what)

    def __str__(self):
        return ", ".join(map(str, self.names))


class Each:
    """A list in which all are alike."""

    def __init__(self, check):
        self.check = check

    def __call__(self, value):
        if not isinstance(value, (list, tuple)) or not value:
            raise SpecError(f"{value!r} is no list")
        for one in value:
            self.check(one)

    def __str__(self):
        return f"[{self.check}, ...]"


class List:
    """A list of these, each by its name."""

    def __init__(self, **checks):
        self.checks = checks

    def __call__(self, value):
        if not isinstance(value, (list, tuple)) or \
                len(value) != len(self.checks):
            raise SpecError(f"{value!r} is not {self}")
        for (name, check), one in zip(self.checks.items(), value):
            within(name, check, one)

    def __str__(self):
        return f"[{', '.join(self.checks)}]"


class Keyed:
    """A dict with these keys; optional ones may be missing."""

    def __init__(self, optional=(), **checks):
        self.optional, self.checks = optional, checks

    def __call__(self, value):
        if not isinstance(value, dict):
            raise SpecError(f"{value!r} is not like {self}")
        for name, one in value.items():
            known(name, self.checks, "key")
            within(name, self.checks[name], one)
        for name in self.checks:
            if name not in value and name not in self.optional:
                raise SpecError(f"{name} is missing")

    def __str__(self):
        return "{" + ", ".join(
            f"{name}: {' or '.join(check.names)}"
            if isinstance(check, OneOf) else name
            for name, check in self.checks.items()) + "}"


class Map:
    """A dict whose keys are alike, and whose values are."""

    def __init__(self, key, value):
        self.key, self.value = key, value

    def __call__(self, value):
        if not isinstance(value, dict):
            raise SpecError(f"{value!r} is not like {self}")
        for name, one in value.items():
            self.key(name)
            within(name, self.value, one)

    def __str__(self):
        key = " or ".join(self.key.names) if isinstance(self.key, OneOf) \
            else self.key
        return f"{{{key}: {self.value}}}"


class Either:
    """One of several kinds of dict, which have no key in common."""

    def __init__(self, *kinds):
        self.kinds = kinds

    def __call__(self, value):
        if not isinstance(value, dict) or not value:
            raise SpecError(f"{value!r} is not like {self}")
        for name in value:
            known(name, [n for kind in self.kinds for n in kind.checks], "key")
        next(kind for kind in self.kinds if set(value) & set(kind.checks))(
            value)

    def __str__(self):
        return " or ".join(map(str, self.kinds))


class OrMap:
    """One value for all, or a dict with one for each of some keys."""

    def __init__(self, check, key):
        self.check, self.map = check, Map(key, check)

    def __call__(self, value):
        (self.map if isinstance(value, dict) else self.check)(value)

    def __str__(self):
        return f"{self.check} or {self.map}"


def within(name, check, value):
    """Calls check; what it raises begins with the name."""
    try:
        check(value)
    except SpecError as e:
        raise SpecError(f"{name}: {e}") from None


# Fields

def field(check, text, needed=False, **more):
    """A field of a specification: what checks its value, and what README.md
    says of it. None is a field that was left out. more is kept with it."""
    return dataclasses.field(default=None, metadata={
        "check": check, "text": text, "needed": needed, **more})


def checked(cls):
    return dataclasses.dataclass(frozen=True, kw_only=True, eq=False,
                                 repr=False)(cls)


class Checked:
    """The base of all specifications. They don't change: but() makes others."""

    def __new__(cls, **given):
        names = [f.name for f in dataclasses.fields(cls)]
        for name in given:
            known(name, names, "field")
        return super().__new__(cls)

    def __post_init__(self):
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if value is not None:
                within(f.name, f.metadata["check"], value)
            elif f.metadata["needed"]:
                raise SpecError(f"{f.name} is missing")

    def __repr__(self):
        return f"{type(self).__name__}({self.given()})"

    def given(self):
        """The fields that were not left out, as a dict in their order."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)
                if getattr(self, f.name) is not None}

    def but(self, **changes):
        """The same with these fields changed; None leaves one out."""
        return dataclasses.replace(self, **changes)
