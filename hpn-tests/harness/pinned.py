"""Programs from the registry of Python's packages, pinned by version and
digest in NAME-requirements.txt, in the cache."""

import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(
    os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
    "openssh-bdp")


class Missing(Exception):
    """It can't be had; says why."""


def folder(name):
    """Where the package is; gets it if it isn't there."""
    requirements = os.path.join(HERE, f"{name}-requirements.txt")
    with open(requirements) as f:
        version = re.match(rf"{name}==(\S+)", f.read())[1]
    path = os.path.join(CACHE, f"{name}-{version}")
    if not os.path.exists(path):
        done = subprocess.run(
            ["python3", "-m", "pip", "install", "-q", "--require-hashes",
             "--no-deps", "--target", f"{path}.{os.getpid()}", "-r",
             requirements], capture_output=True, text=True)
        if done.returncode != 0:
            raise Missing(f"no {name}: "
                          f"{done.stderr.strip().splitlines()[-1]}")
        os.rename(f"{path}.{os.getpid()}", path)
    return path
