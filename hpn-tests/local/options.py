"""What ssh and sshd make of a configuration."""

import subprocess

import pytest

from loopback import IN_TREE, OURS

KINDS = ["ssh", "sshd"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a host key in it."""
    here = tmp_path_factory.mktemp("options")
    subprocess.run([f"{OURS}/ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                    "-f", here / "host"], check=True)
    return here


def dump(folder, kind, *lines, conditions=(), before="true"):
    """ssh -G or sshd -T with a configuration of these lines, after a command
    in a mount namespace of its own."""
    config = folder / "config"
    config.write_text("".join(line + "\n" for line in lines))
    argv = [f"{OURS}/ssh", "-T", "-F", config, *conditions, "-G", "host"]
    if kind == "sshd":
        argv = [f"{OURS}/sshd", "-f", config, "-h", folder / "host",
                *conditions, "-T"]
    return subprocess.run(
        [IN_TREE, "/", "sh", "-ec", before + '; exec "$@"', "sh", *argv],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


def value(done, name="channelwindowmax"):
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = [line.split(None, 1)[1] for line in done.stdout.splitlines()
             if line.split()[0].lower() == name]
    assert len(found) == 1, found
    return found[0]
