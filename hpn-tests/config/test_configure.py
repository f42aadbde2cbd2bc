"""./configure: the same options build the same, whatever lies about."""

import glob
import os
import re
import subprocess

import pytest

from loopback import OURS, STOCK, TOP, read
from programs import without

HEADERS = {"pam": "security/pam_appl.h", "libedit": "histedit.h",
           "selinux": "selinux/selinux.h", "usdt": "sys/sdt.h",
           "security-key-builtin": "fido.h", "tcp": "linux/tcp.h"}
# What upstream's configure would look for on the machine, and nobody asks
FIXED = ["--with-pid-dir=/var/run", "--disable-etc-default-login",
         "PATH_PASSWD_PROG=/usr/bin/passwd", "ac_cv_search_SHA256Update=no",
         "ac_cv_header_sha2_h=no", "ac_cv_header_bsd_libutil_h=no",
         "ac_cv_search_fmt_scaled=no", "ac_cv_search_scan_scaled=no",
         "ac_cv_header_maillock_h=no"]
DEFAULT = ["--with-pam", "--with-libedit", "--with-selinux",
           "--without-security-key-builtin", "--with-xauth=/usr/bin/xauth",
           "--with-mantype=doc", *FIXED]

pytestmark = pytest.mark.skipif(not os.path.exists(f"{TOP}/configure"),
                                reason="no configure: see ./bootstrap")


def configure(folder, *options, there=(), missing=(), path=None, tarball=""):
    """Status, what it said, and the options for upstream's configure, on a
    machine that has these headers, and lacks those."""
    include = folder / "include"
    for name in (*there, *missing):
        header = include / HEADERS[name]
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text("#error missing\n" if name in missing else "")
    done = subprocess.run(
        [f"{TOP}/configure", *options], cwd=folder, text=True,
        capture_output=True, timeout=300,
        env={**os.environ, "CPPFLAGS": f"-I{include}",
             "XDG_CACHE_HOME": f"{folder}/cache", "OPENSSH_TARBALL": tarball,
             "PATH": path or os.environ["PATH"]})
    found = re.search(r"--mandir=\S+(.*)", read(folder / "Makefile"))
    return done.returncode, done.stdout + done.stderr, \
        found[1].split() if found else None


@pytest.mark.parametrize("options,args", [
    ((), DEFAULT),
    (("--without-pam", "--without-libedit", "--without-selinux",
      "--with-security-key-builtin", "--with-usdt", "--with-xauth=/x/xauth",
      "--with-mantype=man"),
     ["--without-pam", "--without-libedit", "--without-selinux",
      "--with-security-key-builtin", "--with-cppflags=-DWITH_USDT",
      "--with-xauth=/x/xauth", "--with-mantype=man", *FIXED])])
def test_options_decide_what_is_built(tmp_path, options, args):
    """And not headers that happen to be there."""
    status, said, got = configure(tmp_path, *options, there=HEADERS)
    assert (status, got) == (0, args), said


@pytest.mark.parametrize("name", ["selinux", "usdt", "security-key-builtin"])
def test_what_is_asked_for_and_missing_is_an_error(tmp_path, name):
    others = [n for n in HEADERS if n != name]
    status, said, got = configure(tmp_path, f"--with-{name}", there=others,
                                  missing=[name])
    assert status != 0 and got is None
    assert f"{HEADERS[name]} is missing" in said
    assert f"--without-{name}" in said


@pytest.mark.parametrize("options,status", [
    ((), 1), (("--without-libedit",), 0),
    (("--without-libedit", "--with-security-key-builtin"), 1)])
def test_pkg_config_is_needed(tmp_path, options, status):
    """Without it upstream's would link other libraries, or none."""
    got, said, _ = configure(tmp_path, *options, there=HEADERS,
                             path=without(tmp_path / "bin", "pkg-config"))
    assert got == status, said
    assert ("pkg-config is missing" in said) == bool(status), said


NAMES = {       # Arch has no libselinux
    "apt-get install":
        "quilt linux-libc-dev curl gpg gpgv libselinux1-dev libfido2-dev",
    "dnf install":
        "quilt kernel-headers curl gnupg2 libselinux-devel libfido2-devel",
    "apk add": "quilt linux-headers curl gnupg libselinux-dev libfido2-dev",
    "pacman -S": "quilt linux-api-headers curl gnupg libfido2"}


@pytest.mark.parametrize("manager", [*NAMES, None])
def test_missing_packages_are_named(tmp_path, manager):
    """All that are missing at once, as the machine's package manager names
    them, or as each does if it has none of the four."""
    path = without(tmp_path / "bin", "quilt", "curl", "gpgv",
                   *(m.split()[0] for m in NAMES))
    if manager:
        os.symlink("/bin/true", f"{path}/{manager.split()[0]}")
    status, said, got = configure(
        tmp_path, "--with-security-key-builtin", path=path,
        there=("pam", "libedit"),
        missing=("selinux", "security-key-builtin", "tcp"))
    assert status != 0 and got is None
    assert set(re.findall(r"\n  (\S+) is missing", said)) == {
        "selinux/selinux.h", "fido.h", "linux/tcp.h", "quilt", "curl", "gpgv"}
    for name, packages in NAMES.items():
        assert (f"\n  {name} {packages}\n" in said) == \
            (manager in (name, None)), said


@pytest.mark.parametrize("files,needed", [
    ((), {"curl", "gpgv"}), (("cache",), {"gpgv"}), (("t", "t.asc"), {"gpgv"}),
    (("t",), set()), (("build/tarball",), set())])
def test_only_who_fetches_needs_what_fetches(tmp_path, files, needed):
    """Else a line says what is missing."""
    newest = re.search(r"^VERSION=(.*)", read(f"{TOP}/openssh/UPSTREAM"),
                       re.M)[1]
    for name in files:
        path = tmp_path / name.replace("cache", "cache/openssh-bdp/upstream/"
                                       f"openssh-{newest}.tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    status, said, _ = configure(
        tmp_path, there=HEADERS, tarball="t" * ("t" in files),
        path=without(tmp_path / "bin", "curl", "gpgv"))
    assert status == bool(needed), said
    assert set(re.findall(r"\n  (\S+) is missing", said)) == needed
    assert needed or said.count(": fetching another release") == 2


def test_build_has_the_fixed_answers():
    """build/openssh, by its own account."""
    command = re.search(r"^  \$ \./configure (.*)$",
                        read(f"{OURS}/config.log"), re.M)
    asked = command[1].split()
    defined = dict(re.findall(r"^#define (\w+) (.*)$",
                              read(f"{OURS}/config.h"), re.M))
    libraries = re.search(r"^LIBS=(.*)$", read(f"{OURS}/Makefile"),
                          re.M)[1].split()
    assert set(FIXED) <= set(asked)
    xauth = defined.get("XAUTH_PATH", "no").strip('"')
    assert f"--with-xauth={xauth}" in asked
    assert ("ENABLE_SK_INTERNAL" in defined) == \
        ("--with-security-key-builtin" in asked)
    assert defined["_PATH_PASSWD_PROG"] == '"/usr/bin/passwd"'
    assert defined["_PATH_SSH_PIDDIR"] == '"/var/run"'
    for name in ("HAVE_ETC_DEFAULT_LOGIN", "HAVE_SHA2_H",
                 "HAVE_BSD_LIBUTIL_H", "HAVE_MAILLOCK_H"):
        assert name not in defined
    assert not {"-lmd", "-lbsd"} & set(libraries)


def symbols(path, *options):
    return subprocess.run(["nm", *options, path], text=True,
                          capture_output=True, check=True).stdout


def test_programs_without_channels():
    """ssh-keysign, which is setuid, and the sshd that listens"""
    for program in ("ssh", "ssh-keysign", "sshd"):
        for tree in (STOCK, OURS):
            assert (program == "ssh") == \
                (" channel_" in symbols(f"{tree}/{program}"))


def test_no_program_starts_a_thread():
    """So nothing is to be run under TSan."""
    paths = [path for path in glob.glob(f"{OURS}/s[csf][hpt]*")
             if "." not in path[len(OURS):] and os.access(path, os.X_OK)]
    assert {"ssh", "scp", "sftp-server", "sshd-session"} <= \
        set(map(os.path.basename, paths))
    for path in paths:
        assert not re.search(r" U (pthread_create|thrd_create|clone3?)\b",
                             symbols(path, "-D")), path
