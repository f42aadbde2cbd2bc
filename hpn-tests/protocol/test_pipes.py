"""Pipes of the programs at the ends of a channel: which ones are widened."""

import subprocess

import pytest
from loopback import HOST

DEFAULT, WIDE = "65536", "262144"
MIB = 1 << 20
# Runs behind WRITE or ECHO, and prints what its pipes hold. Python's fcntl
# knows the number of F_GETPIPE_SZ from 3.10 on.
TELL = "import fcntl, sys\n" \
    "print(*(fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) for fd in {fds}), " \
    "file=sys.stderr)\n"
WRITE = f"import os\nfor _ in range(64): os.write(1, bytes({MIB} // 16))\n"
ECHO = "import os\nwhile (data := os.read(0, 65536)): os.write(1, data)\n"
LAG = f"import os, time\ntime.sleep(1)\n" \
    f"n = 0\nwhile n < 2 * {MIB}: n += len(os.read(0, 65536))\n"


@pytest.mark.parametrize("program, fds, data, holds", [
    (WRITE, (1,), 0, [WIDE]), (ECHO, (1,), 4 * MIB, [DEFAULT]),
    (LAG, (0,), 4 * MIB, [WIDE]),
    ("import os\nos.write(1, bytes(1000))\n", (0, 1), 2, [DEFAULT] * 2)],
    ids=["stream", "answers", "lags", "little"])
def test_pipes_are_widened_for_much_data(place, program, fds, data, holds):
    """Of a program that writes much, or lags in reading it."""
    place.sshd()
    path = place.path("program.py")
    with open(path, "w") as f:
        f.write(program + TELL.format(fds=fds))
    process = place.start(place.ssh(HOST, f"python3 {path}"),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    _, said = process.communicate(bytes(data), timeout=300)
    assert process.returncode == 0, said
    assert said.decode().split() == holds
