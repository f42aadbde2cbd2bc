"""Ours by other compilers, with other C libraries and for other machines: it
builds, and the unit tests pass. "make check-compilers"."""

import os
import shutil
import subprocess

import pytest

from loopback import BUILD, TOP

JOBS = os.environ.get("JOBS", str(os.cpu_count()))
# Where no libraries for that machine are but the C library. This machine's
# libmd is not for it.
BARE = ["--without-openssl", "--without-zlib", "--disable-security-key",
        "ac_cv_header_sha2_h=no", "ac_cv_search_SHA256Update=no"]
# Debian's musl and cross compilers have no crypt(), which sshd wants
CLIENTS = ["ssh", "scp", "sftp", "sftp-server", "ssh-keygen"]
FORTIFY = "-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3"

# Name: Debian's packages, options of upstream's configure, what runs programs
BUILDS = {
    "clang": (["clang"], ["CC=clang"], []),
    "fortify": ([], ["CFLAGS=-O2", f"--with-cflags-after={FORTIFY}"], []),
    "musl": (["musl-tools"],
             ["CC=musl-gcc", "CPPFLAGS=-I{tree}/kernel", *BARE], []),
    "i386": (["gcc-i686-linux-gnu"],
             ["--host=i686-linux-gnu", *BARE],
             # This machine knows its instructions
             ["/usr/i686-linux-gnu/lib/ld-linux.so.2", "--library-path",
              "/usr/i686-linux-gnu/lib"]),
    "big-endian": (["gcc-s390x-linux-gnu", "qemu-user"],
                   ["--host=s390x-linux-gnu", *BARE],
                   ["qemu-s390x", "-L", "/usr/s390x-linux-gnu"]),
}


def is_installed(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package],
                          capture_output=True, text=True)
    return done.stdout == "install ok installed"


def run(tree, *command):
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True,
                          timeout=2400)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr


def kernel_headers(folder):
    """Debian's musl comes without."""
    os.makedirs(folder, exist_ok=True)
    for name in ("linux", "asm-generic", "x86_64-linux-gnu/asm"):
        os.symlink(f"/usr/include/{name}",
                   f"{folder}/{os.path.basename(name)}")


@pytest.mark.level("netem")
@pytest.mark.parametrize("name", BUILDS)
def test_programs_build_with_each_compiler(name, tmp_path):
    packages, options, runs = BUILDS[name]
    for package in packages:
        if not shutil.which("dpkg-query") or not is_installed(package):
            pytest.skip(f"no {package} of Debian's")
    tree = str(tmp_path / "tree")
    run(TOP, "openssh/lay", f"{BUILD}/tarball", tree, "openssh")
    kernel_headers(f"{tree}/kernel")
    run(tree, "./configure", *(o.format(tree=tree) for o in options))
    run(tree, "make", f"-j{JOBS}", *(CLIENTS if BARE[0] in options else []))
    assert "OpenSSH_" in run(tree, *runs, "./ssh", "-V")
    tests = ["bdp-test_chanbuf", "bdp-test_modules"]
    run(tree, "make", "-f", "Makefile", "-f", "regress/bdp-unit.mk",
        f"-j{JOBS}", *tests)
    for test in tests:
        assert "tests ok" in run(tree, *runs, f"./{test}")
