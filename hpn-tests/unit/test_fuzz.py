"""The fuzzers' peers, without libFuzzer and sanitizers: inputs that found
something, and some at random. `make fuzz` looks for others."""

import os
import random
import subprocess

import pytest

from loopback import OURS as OPENSSH

# What each was: read the fuzzer beside it. A byte says how many things to take.
FOUND = {
    "wire": {
        # A channel with a window of 2 MiB and a maximum packet of 0, whose
        # source never ends: an endless loop in the first turn
        "maximum-packet-0": b"\x07\x00\x01\x0b\x00\x00\x00" + b"\x0d" * 4,
        "maximum-packet-1": b"\x07\x00\x01\x0b\x01\x00\x00" + b"\x0d" * 4,
        "confirmed-with-0": b"\x06\x01\x00\x00\x01\x0b\x00" + b"\x0d" * 4,
        # Three endless sources, 100 pings, and a malformed CLOSE: with more to
        # send than the socket takes, the disconnect waited for its reader
        "disconnect": b"\x07" + b"\x00\x01\x0b\x08\x00\x00" * 3 +
                      b"\x0c" * 8 +
                      (b"\x1b\xff\x00\x00\x00\xfb" + b"x" * 251) * 100 +
                      b"\xeb\x00",
    },
    "server": {
        # 96 writes of 32 KiB at once: its queue grew
        "writes-ahead": b"\x00\x00\x06\xff\x01\x00\x08" + b"\xff" * 8,
        # Reads of 256 KiB that come with the first message: all of them were
        # answered in one write
        "reads-with-init": b"\xc8\x0a\xad\xff\x6c\x65\x00\xff\xff\xff\x0c"
                           b"\xa2\x53",
        # The digest of a sparse file of 1 TiB: CPU time without bound
        "check-file": b"\x00\x00\x15\x00\x0b\x00\x00\x00\x00",
    },
    "client": {
        # Streams that end with requests outstanding, in a tree: what was to
        # be requested again leaked when a file began again
        "lost-ranges":
            b"\x01\x00\x80\x00\x00\x02\x00\x00\x05\x28\x06\x1e\x00\x42",
        # A tree whose meter stops in the background: it was shown later, when
        # its file was gone
        "meter": b"\x03\x31\x04\x80\x81\x00\x43",
        # A large file over four streams, of which one hangs and one ends
        "lost-streams":
            b"\x00\x03\x80\x00\x00\x02\x00\x00\x05\x28\x06\x1e\x00\x42",
        # A tree that was there in part, with a server of one handle
        "resumed": b"\x03\x06\x20\x00\x80\x11\x03\x01\x40",
        # A large file between two servers
        "crossload": b"\x04\x03\x00\x00\x00\x00\x46",
        # The same request sent with INIT twice: a reply had the other one's id
        "ahead-twice": b"\x00\x40\x00\x00\x00\x22",
    },
}
RANDOM = {"window": 300, "wire": 300, "server": 200, "client": 100}


@pytest.fixture(scope="module")
def built():
    """In the tree that make has built, with its compiler."""
    done = subprocess.run(
        ["make", "-s", "-f", "Makefile", "-f", "regress/bdp-fuzz.mk",
         "FUZZ_FLAGS=", "FUZZ_MAIN=$(FUZZ)/replay.c",
         *(f"bdp-fuzz_{fuzzer}" for fuzzer in RANDOM)],
        cwd=OPENSSH, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def run(fuzzer, inputs, directory):
    """Inputs by name, in one process."""
    paths = [directory / name for name in inputs]
    for path in paths:
        path.write_bytes(inputs[path.name])
    done = subprocess.run(
        [os.path.join(OPENSSH, f"bdp-fuzz_{fuzzer}"), *map(str, paths)],
        env={**os.environ, "TMPDIR": str(directory)}, capture_output=True,
        text=True, errors="replace", timeout=600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-1000:]


@pytest.mark.parametrize("fuzzer,name", [
    (fuzzer, name) for fuzzer, inputs in FOUND.items() for name in inputs])
def test_known_fuzz_inputs_pass(built, fuzzer, name, tmp_path):
    run(fuzzer, {name: FOUND[fuzzer][name]}, tmp_path)


@pytest.mark.parametrize("fuzzer", RANDOM)
def test_random_fuzz_inputs_pass(built, fuzzer, tmp_path):
    r = random.Random(20)
    run(fuzzer, {str(i): r.randbytes(r.randrange(8, 200))
                 for i in range(RANDOM[fuzzer])}, tmp_path)
