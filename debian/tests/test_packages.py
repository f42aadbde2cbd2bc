"""The packages of this machine's own release: built, put over Debian's own and
taken away again in a clean Debian, and hardened as Debian's own are. (make
check-deb does the same with what make deb made, for any release.) And a
dist-upgrade to the next release."""

import glob
import os
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TOOLS = os.path.join(TOP, "debian", "tools")
QUICK = os.path.join(TOP, "build", "deb", "quick")
CHECK_MAX_S = 900       # a test in a container takes 2 minutes


def release():
    with open("/etc/os-release") as f:
        fields = dict(line.strip().split("=", 1) for line in f if "=" in line)
    return fields.get("VERSION_CODENAME", "").strip('"')


def run(*command, **env):
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, **env}, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout


def can_boot():
    """Whether a systemd can be started here as boot does it."""
    return subprocess.run(
        ["unshare", "-m", "-p", "-n", "-u", "-i", "--fork", "--kill-child",
         "mount", "-t", "cgroup2", "cgroup2", "/mnt"],
        stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def quick():
    if not can_boot():
        pytest.skip("no Debian can be started in namespaces here: not root?")
    with open(os.path.join(TOP, "debian", "bases")) as f:
        if release() not in [line.split()[0] for line in f]:
            pytest.skip("no base is of this machine's release")
    run(os.path.join(TOOLS, "quick"))


def test_quick_never_goes_back_behind_what_is_installed(tmp_path):
    """Or Debian's newest fixes would be gone."""
    stub = tmp_path / "dpkg-query"
    stub.write_text("#!/bin/sh\necho installed 2:99.9p9-1+bdp2\n")
    stub.chmod(0o755)
    done = subprocess.run(
        [os.path.join(TOOLS, "quick"), tmp_path / "deb"], text=True,
        capture_output=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 1 and not (tmp_path / "deb").exists()
    assert "2:99.9p9-1+bdp2 is installed, and the base is only" in \
        done.stderr, done.stderr


def test_unit_tests_pass(quick):
    """Ours, which the build of the packages runs, and quick leaves out."""
    tree = os.path.join(QUICK, "openssh")
    run("make", "-C", f"{tree}/debian/build-deb", "-f", "Makefile", "-f",
        f"{tree}/regress/bdp-unit.mk", f"BDP_SRC={tree}/regress/unittests",
        "bdp-unit")


def test_installs_and_goes_back(quick):
    said = run(os.path.join(TOOLS, "check"), release(), DEBS=QUICK,
               CHECK_MAX=str(CHECK_MAX_S))
    assert "bdp-install: " in said and "all is well" in said
    assert f"bdp-hardening: {release()}: as Debian's: " in said


@pytest.mark.level("netem")
def test_next_release(quick):
    """What make check-deb-upgrade does, with the packages that are here."""
    following = os.path.join(TOP, "build", "deb", "trixie")
    if release() != "bookworm":
        pytest.skip("no bookworm: another release is here")
    if not glob.glob(f"{following}/openssh-server_*.deb"):
        pytest.skip('no build/deb/trixie: see "make deb DIST=trixie"')
    said = run("make", "-s", "check-deb-upgrade", DEBS=QUICK)
    assert said.count(" all is well\n") == 4
