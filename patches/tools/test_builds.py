"""Every base builds after each patch of the series, and what was built there
works: unit tests, rows under netem, and hostile peers; of the core alone
upstream's regression tests, too. So does upstream's newest after each of
the core's mails. "make patches-check"."""

import fcntl
import os
import sys

import pytest

import trees
from trees import JOBS, run


@pytest.mark.parametrize("base", trees.BASES)
def test_builds_after_each_patch(base, tmp_path):
    laid = trees.Laid(base, tmp_path / "tree", build=True)
    laid.configure()
    laid.make()
    for name in laid.names():
        push = laid.quilt("push", "--fuzz=0", name)
        assert push.returncode == 0, push.stdout + push.stderr
        # Which Makefile.in it is changes with some
        run(laid.tree, "./config.status", "Makefile")
        laid.make()


# Of upstream's regression tests those of channels
CHANNELS = ("transfer rekey forwarding multiplex dynamic-forward "
            "forward-control channel-timeout")


@pytest.mark.timeout(7200)      # upstream's unit tests take minutes each time
def test_builds_after_each_mail(tmp_path):
    tree = tmp_path / "tree"
    trees.upstream_git(trees.BASES[0], tree)
    trees.configure_upstream(tree)
    _, paths = trees.mails(trees.BASES[0], tmp_path / "mails")
    for path in paths:
        trees.git(tree, "am", "-q", path)
        run(tree, "./config.status", "Makefile")
        run(tree, "make", f"-j{JOBS}")
        run(tree, "make", f"-j{JOBS}", "unit")
    said = run(trees.TOP, "hpn-tests/harness/in-tree", tree, "make", "-s",
               "t-exec", f"LTESTS={CHANNELS}")
    assert "all t-exec passed" in said


def run_tests(base, upto, *arguments):
    """Tests of what is built for that base and part of the series."""
    trees.source(base)
    trees.skip_without(upto)
    build = trees.RELEASE or "/".join(filter(None, ("build", base, upto)))
    env = {**trees.without_choice(), "BDP_BUILD": build, "UPTO": upto,
           "UPSTREAM": "" if trees.RELEASE else base}
    run(trees.TOP, "make", f"JOBS={JOBS}", f"BUILD={build}", "openssh",
        "stock", env=env)
    run(trees.TOP, sys.executable, "-B", "hpn-tests/run.py", *arguments,
        env=env)


def parts():
    """(base, end of the series or "" for all of it)"""
    return [(base, "") for base in trees.BASES] + \
        [(base, "core") for base in trees.BASES if base not in trees.DEBIAN]


@pytest.mark.parametrize("base,upto", parts())
def test_unit_tests(base, upto):
    """Ours, and those of upstream's that "make check" runs; on the newest base
    all of upstream's."""
    run_tests(base, upto, "hpn-tests/unit/test_unit.py", "--level",
              "netem" if (base, upto) == (trees.BASES[0], "") else "check")


@pytest.mark.parametrize("base,upto", [p for p in parts() if p[1]])
def test_regress(base, upto):
    """Of upstream's regression tests those that "make check" runs on all of
    the series, on the core alone."""
    run_tests(base, upto, "hpn-tests/unit/test_regress.py")


@pytest.mark.parametrize("base,upto", parts())
def test_rows_under_netem(base, upto):
    """One base at a time, as the lab takes both CPUs. The core does not log
    credit, which the rows "fork-" read."""
    with open(os.path.join(trees.TOP, "build", "lab.lock"), "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        run(trees.TOP, "make", "lab")
        run_tests(base, upto, "hpn-tests/paths", "--level", "full", "-k",
                  "1g-200ms-ssh-get" if upto else "fork")


@pytest.mark.parametrize("base", trees.BASES)
def test_hostile_peers_are_harmless(base):
    """Against which the patches of the group security are."""
    run_tests(base, "", "hpn-tests/copy/test_names.py",
              "hpn-tests/protocol/test_hostile.py::"
              "test_inflated_packet_is_bounded")
