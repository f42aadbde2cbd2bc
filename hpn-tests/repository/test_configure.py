"""./configure: the same options build the same, whatever lies about."""

import os
import re
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BDP_BUILD", "build"))
OURS = os.path.join(BUILD, "openssh")
STOCK = os.path.join(BUILD, "stock")
HEADERS = {"pam": "security/pam_appl.h", "libedit": "histedit.h",
           "selinux": "selinux/selinux.h", "usdt": "sys/sdt.h"}

pytestmark = pytest.mark.skipif(not os.path.exists(f"{TOP}/configure"),
                                reason="no configure: see ./bootstrap")


def configure(folder, *options, there=(), missing=()):
    """Status, what it said, and the options for upstream's configure, on a
    machine that has these headers, and lacks those."""
    include = folder / "include"
    for name in (*there, *missing):
        path = include / HEADERS[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#error missing\n" if name in missing else "")
    done = subprocess.run(
        [f"{TOP}/configure", *options], cwd=folder, text=True,
        capture_output=True, timeout=300,
        env={**os.environ, "CPPFLAGS": f"-I{include}"})
    made = folder / "Makefile"
    found = re.search(r"--mandir=\S+(.*)", made.read_text()) if \
        made.exists() else None
    return done.returncode, done.stdout + done.stderr, \
        found[1].split() if found else None


@pytest.mark.parametrize("options,args", [
    ((), ["--with-pam", "--with-libedit", "--with-selinux"]),
    (("--without-pam", "--without-libedit", "--without-selinux",
      "--with-usdt"), ["--with-cppflags=-DWITH_USDT"])])
def test_options_decide(tmp_path, options, args):
    """And not headers that happen to be there."""
    status, said, got = configure(tmp_path, *options, there=HEADERS)
    assert (status, got) == (0, args), said


@pytest.mark.parametrize("name", ["selinux", "usdt"])
def test_what_is_asked_for_and_missing_is_an_error(tmp_path, name):
    others = [n for n in HEADERS if n != name]
    status, said, got = configure(tmp_path, f"--with-{name}", there=others,
                                  missing=[name])
    assert status != 0 and got is None
    assert f"{HEADERS[name]} is missing" in said
    assert f"--without-{name}" in said


@pytest.mark.parametrize("flags,there", [("", False), ("-DWITH_USDT", True)])
def test_tracepoint_is_a_switch(tmp_path, flags, there):
    """Its header is there in both cases: it says so when it is included."""
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/sdt.h").write_text("int included;\n"
                                        "#define DTRACE_PROBE8(...)\n")
    done = subprocess.run(
        f"cc -E -DHAVE_CONFIG_H {flags} -I{tmp_path} -I. channel-report.c",
        shell=True, cwd=OURS, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert ("int included;" in done.stdout) == there


def test_nothing_is_found_silently():
    """No source asks the compiler what headers it has."""
    for name in sorted(os.listdir(f"{TOP}/openssh")):
        if name.endswith((".c", ".h")):
            with open(f"{TOP}/openssh/{name}") as f:
                assert "__has_include" not in f.read(), name


def test_programs_without_channels():
    """ssh-keysign, which is setuid, and the sshd that listens read options,
    but have nothing to do with channels."""
    for program in ("ssh-keysign", "sshd"):
        for tree in (STOCK, OURS):
            listed = subprocess.run(["nm", f"{tree}/{program}"], text=True,
                                    capture_output=True, check=True).stdout
            assert " channel_" not in listed, (tree, program)
