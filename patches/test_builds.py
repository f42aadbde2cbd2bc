"""Every base builds after each patch of the series, and what was built there
works: upstream's unit tests, and rows under netem. "make patches-check"."""

import os
import subprocess

import pytest

import trees

# What a patch breaks it breaks without optimisation, too
CONFIGURE = ["--with-pam", "--with-libedit", "--with-selinux",
             "--without-hardening", "--with-cflags=-O0 -w"]
JOBS = os.environ.get("JOBS", str(os.cpu_count()))


def run(tree, *command, env=None):
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True,
                          env=env)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def make(tree, *targets):
    run(tree, "make", f"-j{JOBS}", *targets)


@pytest.mark.parametrize("base", trees.BASES)
def test_builds_after_each_patch(base, tmp_path):
    laid = trees.Laid(base, tmp_path / "tree", build=True)
    run(laid.tree, "./configure", *CONFIGURE)
    make(laid.tree)
    for name in laid.names():
        push = laid.quilt("push", "--fuzz=0", name)
        assert push.returncode == 0, push.stdout + push.stderr
        # Which Makefile.in it is changes with some
        run(laid.tree, "./config.status", "Makefile")
        make(laid.tree)


@pytest.mark.parametrize("base", trees.BASES[:1])
def test_core_builds(base, tmp_path):
    """The patches up to the end of the core, alone. (In "make check".)"""
    skip_without("core")
    laid = trees.Laid(base, tmp_path / "tree", upto="core", build=True)
    push = laid.quilt("push", "-a", "--fuzz=0")
    assert push.returncode == 0, push.stdout + push.stderr
    run(laid.tree, "./configure", *CONFIGURE)
    make(laid.tree)


def ours(base, upto, *arguments):
    """make in this repository, for that base and part of the series."""
    return run(trees.TOP, "make", f"JOBS={JOBS}", f"UPSTREAM={base}",
               f"UPTO={upto}", *arguments, env=trees.without_choice())


def parts():
    """(base, end of the series or "" for all of it)"""
    return [(base, "") for base in trees.BASES] + \
        [(base, "core") for base in trees.BASES if base not in trees.DEBIAN]


@pytest.mark.parametrize("base,upto", parts())
def test_unit_tests(base, upto):
    """Upstream's, on ours; and ours."""
    trees.source(base)
    skip_without(upto)
    ours(base, upto, "check-unit")


@pytest.mark.parametrize("base,upto", parts())
def test_rows_under_netem(base, upto):
    trees.source(base)
    skip_without(upto)
    ours(base, upto, "check-netem",
         "ONLY=fork-1g-200ms-get" if upto else "ONLY=fork")


def skip_without(group):
    if group and group not in [heading for heading, _ in trees.groups()]:
        pytest.skip(f"the series has no group {group}")
