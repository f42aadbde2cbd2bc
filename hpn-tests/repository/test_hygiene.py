"""What compilers and linters say of our files: nothing."""

import glob
import os
import shutil
import subprocess

import pytest

import pinned
from loopback import OURS as OPENSSH, STOCK, make_says
from tracked import TOP, read, tracked

SOURCES = sorted(glob.glob(f"{TOP}/openssh/*/*.c"))

# Not: what the style of the house is (bugprone-assignment-in-if-condition),
# what no caller can get wrong more easily for it (swappable parameters), and
# products of small constants
TIDY = ("-*,clang-analyzer-*,clang-diagnostic-*,bugprone-*,"
        "-bugprone-assignment-in-if-condition,"
        "-bugprone-easily-swappable-parameters,"
        "-bugprone-implicit-widening-of-multiplication-result,"
        "-bugprone-narrowing-conversions,"
        "-bugprone-reserved-identifier,"
        "-clang-analyzer-security.insecureAPI."
        "DeprecatedOrUnsafeBufferHandling")


def needs(program):
    if not shutil.which(program):
        pytest.skip(f"no {program}")
    return program


def built(tree):
    """The tree, which a make target of its name builds."""
    if not os.path.exists(f"{tree}/.built"):
        name = os.path.basename(tree)
        pytest.skip(f'no build/{name}: see "make {name}"')
    return tree


def says_nothing(argv, **kwargs):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=1800,
                          **kwargs)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-4000:]


def flags():
    """What make compiles upstream's files and ours with."""
    return make_says("$(CFLAGS) $(CPPFLAGS)", built(OPENSSH)).split()


def test_compiler_is_silent():
    words = " ".join(flags()).replace('"', '\\"')
    says_nothing(["xargs", "-P", str(os.cpu_count()), "-n", "1", "sh", "-c",
                  f"cc {words} -Werror -c -o /dev/null $0 || exit 255"],
                 cwd=OPENSSH, input="\n".join(map(os.path.basename, SOURCES)))


def test_cppcheck_is_silent():
    says_nothing([needs("cppcheck"), "--quiet", "--std=c11",
                  f"-I{built(OPENSSH)}", f"-I{OPENSSH}/openbsd-compat/include",
                  "--enable=warning,performance,portability",
                  "-DHAVE_CONFIG_H", "--error-exitcode=1", *SOURCES])


def test_clang_tidy_is_silent():
    """And clang's own warnings."""
    says_nothing([needs("clang-tidy"), "--quiet", f"--checks={TIDY}",
                  "--warnings-as-errors=*",
                  *SOURCES, "--", "-O2", "-Wall", "-Wextra",
                  "-Wpointer-arith", "-Wno-unused-parameter",
                  "-Wno-pointer-sign",
                  *(f for f in flags() if f[:2] in ("-I", "-D") and
                    '"' not in f)], cwd=OPENSSH)


def test_shellcheck_is_silent():
    """(dash and bash both have -nt.)"""
    shells = []
    for name in tracked():
        line = read(name).partition("\n")[0]
        if line.startswith("#!") and line.split()[-1].endswith("sh"):
            shells.append(name)
    assert "bootstrap" in shells
    says_nothing([needs("shellcheck"), "-S", "warning", "-e", "SC3013",
                  *shells], cwd=TOP)


def ruff():
    try:
        return os.path.join(pinned.folder("ruff"), "bin", "ruff")
    except pinned.Missing as error:
        pytest.skip(str(error))


def test_ruff_is_silent():
    """(A fixture's name is that of a parameter, F811; modules of other
    folders are imported when their path is known, E402.)"""
    python = [name for name in tracked() if name.endswith(".py") or
              read(name).startswith("#!/usr/bin/env python3")]
    says_nothing([ruff(), "check", "--no-cache", "--isolated",
                  "--line-length", "80", "--select", "E,F,W", "--ignore",
                  "F811,E402", *python], cwd=TOP)


def test_c_has_80_columns_at_most():
    """Of C, with tabs as wide as 8: 80 at most."""
    found = []
    for name in tracked("*.c", "*.h"):
        found += [f"{name}:{number}" for number, line in
                  enumerate(read(name).split("\n"), 1)
                  if len(line.expandtabs().rstrip()) > 80]
    assert not found


def hardening(path):
    """(Its status is that of a failure for what neither has.)"""
    done = subprocess.run([needs("hardening-check"), "--nocolor", path],
                          capture_output=True, text=True)
    assert " Position Independent Executable: " in done.stdout, done
    return done.stdout.splitlines()[1:]


@pytest.mark.parametrize("program", ["ssh", "sshd", "sshd-session",
                                     "sshd-auth", "scp", "sftp",
                                     "sftp-server"])
def test_hardening_is_that_of_stock(program):
    """As upstream's own build here has it: nothing of it is lost by ours."""
    ours, stock = (f"{built(tree)}/{program}" for tree in (OPENSSH, STOCK))
    assert hardening(ours) == hardening(stock)
