"""The trees that the series is for, unpacked: upstream's own, "pristine", and
those of Debian's source packages."""

import os
import pathlib
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
with open(os.path.join(TOP, "debian", "bases")) as f:
    DEBIAN = [line.split()[0] for line in f if not line.startswith("#")]


def series():
    with open(os.path.join(HERE, "series")) as f:
        return [line.strip() for line in f if line.strip()]


def overrides(base):
    """Names of the patches that differ for a base."""
    try:
        return sorted(os.listdir(os.path.join(HERE, base)))
    except FileNotFoundError:
        return []


def patch_path(base, name):
    if name in overrides(base):
        return os.path.join(HERE, base, name)
    return os.path.join(HERE, name)


def quilt(tree, folder, *args):
    """quilt in a tree whose patches are in that folder of it."""
    env = {**os.environ, "QUILT_PATCHES": folder, "LC_ALL": "C"}
    return subprocess.run(["quilt", "--quiltrc", "-", *args], cwd=tree,
                          env=env, capture_output=True, text=True)


def pristine(tree):
    """Upstream's tree, with the series beside it, not applied."""
    os.makedirs(tree)
    subprocess.run(["tar", "-xzf", os.path.join(TOP, "build", "tarball"),
                    "-C", tree, "--strip-components=1"], check=True)
    subprocess.run(["cp", "-R", HERE, tree / "patches"], check=True)
    return tree


def source(base):
    """Skips the test if Debian's source package can't be had."""
    done = subprocess.run([os.path.join(TOP, "debian", "source"), base],
                          capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    return done.stdout.strip()


def debian(base, tree):
    """Debian's tree, with our modules and the series applied."""
    source(base)
    done = subprocess.run(
        [os.path.join(TOP, "debian", "lay"), "--series", base, tree],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(tree)
