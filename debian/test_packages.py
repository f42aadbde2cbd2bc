"""The packages of this machine's own release: built, and put over Debian's own
and taken away again in a clean Debian. (make check-deb does the same with
what make deb made, for any release.)"""

import os
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
QUICK = os.path.join(TOP, "build", "deb", "quick")


def release():
    with open("/etc/os-release") as f:
        fields = dict(line.strip().split("=", 1) for line in f if "=" in line)
    return fields.get("VERSION_CODENAME", "").strip('"')


def run(*command, **env):
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, **env}, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout


def test_installs_and_goes_back():
    if os.getuid() != 0:
        pytest.skip("must be root to start a Debian in namespaces")
    with open(os.path.join(HERE, "bases")) as f:
        if release() not in [line.split()[0] for line in f]:
            pytest.skip("this machine is none of the bases")
    run(os.path.join(HERE, "quick"))
    said = run(os.path.join(HERE, "check"), release(), DEBS=QUICK)
    assert "bdp-install: " in said and "all is well" in said
