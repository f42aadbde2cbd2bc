"""Whose ssh and sshd: ours, stock, and peers of which the prefix is known; and
peers that are clients only, of which the command line is."""

import hashlib
import os
import shlex
import shutil
import subprocess

import loop
from project import BUILD, BenchError

PROGRAMS = ("ssh", "scp", "sftp", "sshd")
HELPERS = ("sshd-session", "sshd-auth", "sftp-server")      # some have them
FOLDERS = ("bin", "sbin", "libexec", "lib/openssh", "libexec/openssh",
           "usr/bin", "usr/sbin", "usr/lib/openssh")
OWN = {"ours": "openssh", "stock": "stock"}


def find(prefix, name):
    for folder in FOLDERS:
        path = os.path.join(prefix, folder, name)
        if os.access(path, os.X_OK):
            return path
    return None


def lay(name, prefix, names):
    """Makes build/peers/NAME, laid out as a build tree is, of links to what is
    installed below prefix. names is what its programs' names begin with."""
    tree = os.path.join(BUILD, "peers", name)
    os.makedirs(tree, exist_ok=True)
    for program in PROGRAMS + HELPERS:
        path = find(prefix, names + program)
        if path is None and program in PROGRAMS:
            raise BenchError(
                f"PEERS: {name}: no {names + program} below {prefix}; where "
                f"names have a prefix, say so: {name}={prefix}:prefix")
        # by both names: scp asks its peer for the one that it was built with
        for link in {program, names + program}:
            link = os.path.join(tree, link)
            if os.path.lexists(link):
                os.unlink(link)
            if path:
                os.symlink(os.path.abspath(path), link)
    open(os.path.join(tree, ".built"), "w").close()
    return os.path.join("peers", name)


def command(name, text):
    """A copier's command line, as a list, with its program's path."""
    argv = shlex.split(text)
    if not all(any(end in word for word in argv)
               for end in ("{source}", "{target}")):
        raise BenchError(f"PEERS: {name}: the command has to name {{source}} "
                         "and {target}")
    program = shutil.which(argv[0])
    if program is None:
        raise BenchError(f"PEERS: {name}: there is no program {argv[0]!r}")
    return [os.path.abspath(program)] + argv[1:]


def parse(peers):
    """NAME=PREFIX, NAME=PREFIX:NAMES or, of a copier, NAME="COMMAND LINE",
    several with spaces between. Returns the trees of sides and the command
    lines of copiers, by name."""
    trees, copiers = dict(OWN), {}
    try:
        words = shlex.split(peers)
    except ValueError as e:
        raise BenchError(f"PEERS: {e}") from None
    for word in words:
        name, equals, rest = word.partition("=")
        prefix, _, names = rest.partition(":")
        if not equals or not prefix or not name.isalnum():
            raise BenchError(f"PEERS: {word!r} is not NAME=PREFIX, "
                             "NAME=PREFIX:prefix-of-names or NAME=COMMAND")
        if name in trees or name in copiers or name in ("raw", "chain"):
            raise BenchError(f"PEERS: {name} is there already")
        if "{" in rest:
            copiers[name] = command(name, rest)
        else:
            trees[name] = lay(name, prefix, names)
    return trees, copiers


def is_bare(tree):
    """Whether it can do without a cipher."""
    return not subprocess.run(
        [os.path.join(BUILD, tree, "ssh"), "-F", "none", "-G", "-o",
         "NoneEnabled=yes", "localhost"], capture_output=True).returncode


def chain_version():
    with open(loop.CHAIN, "rb") as f:
        digest = hashlib.file_digest(f, "sha256")
    return {"version": "a chain of processes",
            "programs": digest.hexdigest()[:12]}


def copier_version(argv):
    """Its command line, and a digest of its program."""
    with open(argv[0], "rb") as f:
        digest = hashlib.file_digest(f, "sha256")
    return {"version": " ".join([os.path.basename(argv[0])] + argv[1:]),
            "programs": digest.hexdigest()[:12]}


def version(tree):
    """What an end's programs are: what ssh says, and a digest of them."""
    folder = os.path.join(BUILD, tree)
    digest = hashlib.sha256()
    for program in PROGRAMS + HELPERS:
        path = os.path.join(folder, program)
        if os.path.exists(path):
            with open(path, "rb") as f:
                digest.update(hashlib.file_digest(f, "sha256").digest())
    try:
        said = subprocess.run([os.path.join(folder, "ssh"), "-V"],
                              capture_output=True, text=True).stderr.strip()
    except OSError as e:
        raise BenchError(f"{tree} is not built: {e}") from None
    return {"version": said, "programs": digest.hexdigest()[:12]}
