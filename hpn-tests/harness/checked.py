"""Specifications that are checked as soon as they are written: a dataclass
whose fields say what their values may be. An unknown field, a missing one and
a value that can't be raise SpecError, which names the nearest right name."""

import dataclasses
import difflib
import re


class SpecError(ValueError):
    """Says what is wrong with a specification, to the one who wrote it."""


def known(name, names, what):
    """Raises SpecError unless name is one of names. what says of what kind."""
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
    """Whether a value holds, and as text which do."""

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


class OneOf(Check):
    def __init__(self, *names, what="value"):
        super().__init__(", ".join(names), lambda value:
                         known(value, names, what) is None)
        self.names = names


def is_list(value):
    return isinstance(value, (list, tuple)) and value


def Each(check):
    """A list in which all are alike."""
    return Check(f"[{check}, ...]", lambda value: is_list(value) and
                 [check(one) for one in value])


def List(**checks):
    """A list of these, each by its name."""
    return Check(f"[{', '.join(checks)}]", lambda value: is_list(value) and
                 len(value) == len(checks) and
                 [within(*one) for one in zip(checks, checks.values(), value)])


class Keyed(Check):
    """A dict with these keys; optional ones may be missing."""

    def __init__(self, optional=(), **checks):
        super().__init__("{" + ", ".join(
            f"{name}: {' or '.join(check.names)}"
            if isinstance(check, OneOf) else name
            for name, check in checks.items()) + "}", self.are_known)
        self.optional, self.checks = optional, checks

    def are_known(self, value):
        if not isinstance(value, dict):
            return False
        for name, one in value.items():
            known(name, self.checks, "key")
            within(name, self.checks[name], one)
        for name in self.checks:
            if name not in value and name not in self.optional:
                raise SpecError(f"{name} is missing")
        return True


def Map(key, check):
    """A dict whose keys are alike, and whose values are."""
    def holds(value):
        if isinstance(value, dict):
            for name, one in value.items():
                key(name)
                within(name, check, one)
        return isinstance(value, dict)

    names = " or ".join(key.names) if isinstance(key, OneOf) else key
    return Check(f"{{{names}: {check}}}", holds)


def Either(*kinds):
    """One of several kinds of dict, which have no key in common."""
    def holds(value):
        if not isinstance(value, dict) or not value:
            return False
        for name in value:
            known(name, [n for kind in kinds for n in kind.checks], "key")
        next(k for k in kinds if set(value) & set(k.checks))(value)
        return True

    return Check(" or ".join(map(str, kinds)), holds)


def OrMap(check, key):
    """One value for all, or a dict with one for each of some keys."""
    several = Map(key, check)
    return Check(f"{check} or {several}", lambda value: (
        several if isinstance(value, dict) else check)(value) is None)


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
