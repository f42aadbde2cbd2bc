"""The files of the repository."""

import os
import subprocess

import pytest

from loopback import TOP


def tracked(*patterns):
    """Names of those that git has, or would be asked to add."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard",
                           *patterns], cwd=TOP, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("no git repository: which files are ours?")
    return [f for f in done.stdout.splitlines()
            if os.path.isfile(os.path.join(TOP, f))]


def read(name):
    with open(os.path.join(TOP, name), errors="replace") as f:
        return f.read()
