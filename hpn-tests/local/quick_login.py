"""Logins with QuickStart: what ssh sent, and what of it early."""

import os
import re
import subprocess

import pytest

from loopback import OURS, STOCK, place     # noqa: F401

HOST = "root@127.0.0.1"
REQUEST, OPEN, CHANNEL_REQUEST = 50, 90, 98
SUCCESS, SIGN_REQUEST, EOF = 52, 13, 96
# A login that is not remembered: service, "none", query, signature
ASKED = [5, 50, 50, 50]


def known(place):                       # noqa: F811
    return place.path("quick_hosts")


@pytest.fixture
def home(place):                        # noqa: F811
    os.mkdir(place.path(".ssh"), 0o700)
    return place


def without(words, *options):
    """The words of a command, without some that follow -o."""
    return [word for i, word in enumerate(words) if not any(
        w.startswith(options) for w in words[i:i + 1 + (word == "-o")])]


def login(place, *options, quick="yes", command="echo ran >&2; echo ran",
          tree=OURS, port=2222, drop=(), **kwargs):     # noqa: F811
    """A command; .sent are kinds of messages since the keys, .early those of
    them that went out before the login succeeded. drop are options that ssh
    does not get, as "BatchMode"."""
    words = ["-o", f"QuickStart={quick}"] if tree == OURS else []
    words = place.ssh(*words, *options, HOST, command, tree=tree, port=port,
                      level="DEBUG3")
    done = place.run(without(words, *drop), **kwargs)
    kinds = [(way, int(kind)) for way, kind in
             re.findall(r"(send|receive) packet: type (\d+)", done.stderr)]
    sent = [k for way, k in kinds if way == "send" and k != EOF]
    done.sent = sent[sent.index(5):] if 5 in sent else sent
    until = kinds.index(("receive", SUCCESS)) \
        if ("receive", SUCCESS) in kinds else len(kinds)
    early = [k for way, k in kinds[:until] if way == "send"]
    done.early = early[early.index(5):] if 5 in early else early
    return done


def is_quick(done, with_session):
    """Whether the login was a signature only, and perhaps the session."""
    assert done.returncode == 0 and done.stdout == "ran\n", done.stderr
    return done.early == [5, REQUEST] + \
        ([OPEN, CHANNEL_REQUEST] if with_session else [])


def remember(place, *options, **kwargs):                # noqa: F811
    done = login(place, *options, **kwargs)
    assert done.early == ASKED and os.path.exists(known(place)), done.stderr
    return done


def place_key(place, name, *arguments):                 # noqa: F811
    path = place.path(name)
    subprocess.run([f"{STOCK}/ssh-keygen", "-q", "-N", "", "-f", path,
                    *arguments], check=True)
    return path


def key(place, name, *arguments):                       # noqa: F811
    return place_key(place, name, "-t", "ed25519", *arguments)


def authorize(place, *lines):           # noqa: F811
    with open(place.path("authorized"), "w") as f:
        f.writelines(lines)
    return f"AuthorizedKeysFile {place.path('authorized')}"


def stop(place):                        # noqa: F811
    for sshd in [s for s in place.started if hasattr(s, "log")]:
        sshd.terminate()
        sshd.wait()


def restart(place, tree=OURS, *options):        # noqa: F811
    """Another sshd, in place of those that run. Returns it."""
    stop(place)
    return place.sshd(tree, *options)


def outcome(place, *options, quick="yes", command="echo ran",  # noqa: F811
            drop=(), typed="", **kwargs):
    """What a user sees of a command, whose input is typed: exit status,
    output, messages."""
    words = place.ssh("-o", f"QuickStart={quick}", *options, HOST, command,
                      level="INFO")
    with open(place.path("typed"), "w") as f:
        f.write(typed)
    done = place.run(["sh", "-c", 'exec "$@" < "$0"', place.path("typed"),
                      *without(words, *drop)], **kwargs)
    return done.returncode, done.stdout, done.stderr
