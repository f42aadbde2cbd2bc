"""Our version comes after Debian's, and before all that may follow it."""

import os
import subprocess

import pytest

DEBIAN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
with open(os.path.join(DEBIAN, "bases")) as f:
    BASES = {line.split()[0]: line.split()[1] for line in f
             if not line.startswith("#")}
# A stable release's, its point releases' and security updates', a rebuild's
OF_DEBIAN = ["1:9.2p1-2", "1:9.2p1-2+deb12u1", "1:9.2p1-2+deb12u7",
             "1:9.2p1-2+deb12u9", "1:9.2p1-2+deb12u10", "1:9.2p1-2+deb12u99",
             "1:10.0p1-7", "1:10.0p1-7+deb13u4"]


def suffix():
    with open(os.path.join(DEBIAN, "overlay", "changelog")) as f:
        return f.readline().split("@BASE@")[1].split(")")[0]


def less(a, b):
    return subprocess.run(["dpkg", "--compare-versions", a, "lt", b]
                          ).returncode == 0


def following(version):
    """What Debian may release after that version."""
    base, mark, update = version.rpartition("u")
    if mark and update.isdigit():
        yield f"{base}u{int(update) + 1}"
        yield f"{version}.1"
        yield f"{base}u{int(update) + 1}~deb11u1"
    else:
        revision = int(version.rpartition("-")[2])
        yield f"{version}+deb12u1"
        yield f"{version}+deb13u1"
        yield f"{version}.1"
        yield version.rpartition("-")[0] + f"-{revision + 1}"
        yield version.rpartition("-")[0] + f"-{revision + 1}~deb12u1"


@pytest.mark.parametrize("base", OF_DEBIAN + sorted(BASES.values()))
def test_version_is_between_two_of_debian(base):
    ours = base + suffix()
    assert less(base, ours)
    assert less(base + "+b1", ours)     # a rebuild of the same source
    for version in following(base):
        assert less(ours, version), version
    # And the next of ours over it
    number = int(suffix().replace("+bdp", ""))
    assert less(ours, f"{base}+bdp{number + 1}")


@pytest.mark.parametrize("bad", ["+openssh-bdp1", ".bdp1", "~bdp1", "+zbdp1"])
def test_other_suffixes_would_not_do(bad):
    """That the above can fail."""
    base = "1:9.2p1-2"
    ours = base + bad
    assert not (less(base, ours) and less(base + "+b1", ours) and
                all(less(ours, v) for v in following(base)))


def test_changelog_is_the_version():
    with open(os.path.join(DEBIAN, "overlay", "NEWS")) as news:
        assert f"@BASE@{suffix()})" in news.readline()
