"""Every base builds after each patch of the series."""

import os
import subprocess

import pytest

import trees

# What a patch breaks it breaks without optimisation, too
CONFIGURE = ["--with-pam", "--with-libedit", "--with-selinux",
             "--without-hardening", "--with-cflags=-O0 -w"]


def run(tree, *command):
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def make(tree):
    run(tree, "make", f"-j{os.cpu_count()}")


@pytest.mark.parametrize("base", ["pristine"] + trees.DEBIAN)
def test_builds_after_each_patch(base, tmp_path):
    tree = tmp_path / "tree"
    if base == "pristine":
        trees.pristine(tree)
        modules = os.path.join(trees.TOP, "openssh")
        run(tree, "sh", "-c", f"cp '{modules}'/*.[ch] .")
        folder, prefix = "patches", ""
    else:
        trees.debian(base, tree)
        folder, prefix = "debian/patches", "openssh-bdp/"
        pop = trees.quilt(tree, folder, "pop", "openssh-bdp/modules.patch")
        assert pop.returncode == 0, pop.stderr
        run(tree, "sh", "-c", "autoheader && autoconf")
    run(tree, "./configure", *CONFIGURE)
    make(tree)
    for name in trees.series():
        push = trees.quilt(tree, folder, "push", "--fuzz=0", prefix + name)
        assert push.returncode == 0, push.stdout + push.stderr
        # Which Makefile.in it is changes with some
        run(tree, "./config.status", "Makefile")
        make(tree)
