"""The core as mails: "git am" takes them, and upstream's newest compiles with
them and -Werror. test_builds.py compiles it after each, and runs upstream's
tests."""

import pytest

import trees
from trees import run

BASE = trees.BASES[0]
# What a mail must not have: what of ours is not upstream's concern
NOT_UPSTREAMS = ("mmap", "poly1305", "ChannelWindowMax", "TCPCongestion",
                 "packet-pad", "F_SETPIPE_SZ", "DTRACE")


@pytest.fixture(scope="module")
def mails(tmp_path_factory):
    trees.skip_without("core")
    folder = tmp_path_factory.mktemp("mails")
    return trees.mails(BASE, folder)


def test_have_upstreams_concerns_only(mails):
    text = "".join(path.read_text() for path in mails[1])
    assert not [word for word in NOT_UPSTREAMS if word in text]


def test_names_are_announced_as_placeholders(mails):
    """A name under what is no domain says so, in the mail that brings it."""
    brings = [path.read_text() for path in mails[1]
              if "+#define BDP_DOMAIN" in path.read_text()]
    assert len(brings) == 1 and "placeholder" in brings[0].split("\n---\n")[0]


def test_are_the_series(mails, tmp_path):
    """What they make of upstream's tree is what the core of the series makes,
    but for the list of objects and what mends the base's security faults."""
    ours = trees.Laid(BASE, tmp_path / "ours", upto="core")
    push = ours.quilt("push", "-a", "--fuzz=0")
    assert push.returncode == 0, push.stdout
    tree = tmp_path / "tree"
    trees.upstream_git(BASE, tree)
    trees.git(tree, "am", "-q", *mails[1])
    for name in dict(trees.groups())["security"]:
        for path in trees.candidates(BASE, name)[:1]:
            trees.run(tree, "patch", "-p1", "-F0", "-i", path)
    changed = trees.git(tree, "diff", "--name-only", "HEAD~%d" % len(mails[1]))
    names = [n for n in changed.split() if n != "Makefile.in"]
    assert "channel-window.c" in names and "sshbuf.c" in names
    for name in names:
        assert (tree / name).read_bytes() == \
            (ours.tree / name).read_bytes(), name


def test_compile_together(mails, tmp_path):
    """And where a system has no TCP_INFO."""
    tree = tmp_path / "tree"
    trees.upstream_git(BASE, tree)
    trees.git(tree, "am", "-q", *mails[1])
    trees.configure_upstream(tree)
    run(tree, "make", f"-j{trees.JOBS}")
    run(tree, "rm", "tcp-path.o")
    run(tree, "make", "tcp-path.o",
        "CFLAGS=-O1 -Wall -Wextra -Wno-unused-parameter -Werror "
        "-DWITHOUT_TCP_INFO")
