"""Each base that "make check" builds nothing else of: with the series, it
compiles, and our unit tests pass. (test_packages.py does this for the Debian
that it runs on; "make patches-check" does more on all bases.) Two bases take
two minutes of two CPUs."""

import os

import pytest

import trees
from trees import JOBS, TOP, run


def built(base):
    """Whether other tests compile it and run our unit tests there."""
    tarball = os.path.realpath(os.path.join(
        TOP, os.environ.get("BDP_BUILD", "build"), "tarball"))
    with open("/etc/os-release") as f:
        here = f"VERSION_CODENAME={base}\n" in f
    return here or trees.fetch(base)[0] == tarball


@pytest.mark.parametrize("base", trees.BASES)
def test_compiles_and_passes_unit_tests(base, tmp_path):
    source = trees.source(base)
    if built(base):
        return
    tree = tmp_path / "tree"
    run(TOP, "openssh/lay", source, tree, "openssh",
        env=trees.without_choice())
    laid = trees.Laid(base, tree, there=True)
    laid.configure()
    laid.make()
    run(tree, "make", f"-j{JOBS}", "-f", "Makefile", "-f",
        "regress/bdp-unit.mk", "bdp-unit")
