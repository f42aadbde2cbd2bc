"""./bootstrap: what it has configure and make do."""

import os
import shutil
import subprocess

import pytest

from loopback import TOP, program


@pytest.fixture
def bootstrap(tmp_path):
    """Runs it on a machine that has all packages, beside a configure that
    only notes its options. Returns what ran."""
    shutil.copy(f"{TOP}/bootstrap", tmp_path)
    for folder in ("bin", "build", "openssh"):
        (tmp_path / folder).mkdir()
    shutil.copy(f"{TOP}/openssh/UPSTREAM", tmp_path / "openssh")
    said = tmp_path / "said"
    for name, does in (
            ("configure", f"echo configure $* >> {said}; touch Makefile"),
            ("bin/make", f"echo make $* >> {said}"),
            ("bin/autoconf", "exit 1"),
            ("bin/apt-get", "exit 1"), ("bin/dpkg-query", "echo installed")):
        program(tmp_path / name, does)
    path = f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"

    def run(*argv):
        said.write_text("")
        subprocess.run([tmp_path / "bootstrap", *argv], check=True, env={
            **os.environ, "PATH": path, "DESTDIR": "/x", "UPSTREAM": ""})
        return said.read_text().splitlines()
    return run


FETCHES = "make --no-print-directory fetch"
INSTALLS = ["make --no-print-directory openssh",
            "make --no-print-directory install DESTDIR=/x UPSTREAM="]


def test_first_configure_gets_the_options(bootstrap):
    """It stops without them, if what they switch off is missing."""
    options = ["--prefix=/opt/x", "--without-selinux"]
    assert bootstrap("install", *options) == \
        [f"configure -q {' '.join(options)}", *INSTALLS]


def test_bundle_needs_no_headers_of_sshds(bootstrap):
    """What it has configured is not kept: sshd would have no PAM."""
    without = "configure -q --without-pam --without-libedit --without-selinux"
    bundles = "make --no-print-directory bundle"
    assert bootstrap("bundle", "CC=x") == [f"{without} CC=x", bundles]
    assert bootstrap("bundle") == [without, bundles]
    assert bootstrap("install") == ["configure -q", *INSTALLS]
    assert bootstrap("bundle") == [bundles]


def test_without_options_those_of_the_last_run_stay(bootstrap):
    assert bootstrap("install") == ["configure -q", *INSTALLS]
    assert bootstrap("install") == INSTALLS


def test_older_release_is_not_kept(bootstrap, tmp_path):
    """The newest is tried again, but only then: it would replace a release
    that OPENSSH_TARBALL gave."""
    link = tmp_path / "build" / "tarball"
    link.symlink_to("/x/openssh_10.0p1.orig.tar.gz")
    assert bootstrap("install") == ["configure -q", FETCHES, *INSTALLS]
    link.unlink()
    link.symlink_to("/x/openssh-10.5p1-git.tar.gz")
    assert bootstrap("install") == INSTALLS


def test_release_behind_the_command_is_an_error(bootstrap):
    """configure would take it, and make build another one."""
    with pytest.raises(subprocess.CalledProcessError):
        bootstrap("install", "UPSTREAM=10.0p1")
