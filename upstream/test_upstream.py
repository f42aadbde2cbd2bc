"""Upstream's own tests, all of them and as they are, on pristine OpenSSH and
on ours: each comes out the same. (LTESTS="transfer rekey": only those.)"""

import os
import re
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(TOP, "build")
REGRESS = os.path.join(BUILD, "pristine", "regress", "Makefile")
LISTS = {"t-exec": "LTESTS", "interop-tests": "INTEROP_TESTS",
         "extra-tests": "EXTRA_TESTS"}
LIMIT_S = 1800


def names(variable):
    """What upstream's list has."""
    if not os.path.exists(REGRESS):
        return []
    return subprocess.run(
        ["make", "-s", "-f", REGRESS, "-f", "-", "bdp-show"],
        input=f"bdp-show:\n\t@echo $({variable})\n", text=True, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, ".CURDIR": "."}).stdout.split()


def every():
    """(target, its variable or none, a name of its list)."""
    if "LTESTS" in os.environ:
        return [("t-exec", "LTESTS", n)
                for n in os.environ["LTESTS"].split()]
    return [("file-tests", None, ""), ("unit", None, "")] + \
        [(target, variable, n) for target, variable in LISTS.items()
         for n in names(variable)]


def outcome(tree, target, variable, name):
    """passed, failed or skipped, and the end of what was said."""
    folder = os.path.join(BUILD, tree)
    if not os.path.exists(os.path.join(folder, ".built")):
        pytest.skip(f"no build/{tree}: see \"make {tree}\"")
    done = subprocess.run(
        [os.path.join(TOP, "openssh", "in-tree"), folder, "make", "-s",
         target, f"BUILDDIR={folder}", f"abs_top_srcdir={folder}"] +
        ([f"{variable}={name}"] if variable else []),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=LIMIT_S)
    if done.returncode != 0:
        return "failed", done.stdout[-3000:]
    skipped = re.search("^skipped", done.stdout, re.M | re.I)
    return "skipped" if skipped else "passed", done.stdout[-3000:]


@pytest.mark.parametrize("target, variable, name", every(),
                         ids=[" ".join(filter(None, (t, n)))
                              for t, _, n in every()])
def test_upstream(target, variable, name):
    stock, said = outcome("pristine", target, variable, name)
    ours, our = outcome("openssh", target, variable, name)
    print(f"pristine {stock}, ours {ours}")
    assert ours == stock, f"pristine {stock}:\n{said}\nours {ours}:\n{our}"
    if stock == "failed":
        pytest.skip(f"fails with both here: {said.splitlines()[-2:]}")
    if stock == "skipped":
        pytest.skip(f"upstream skips it here: {said.splitlines()[-2:]}")
