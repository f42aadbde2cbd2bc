"""The trees that the series is for, as patches/bases names them: upstream's
versions, and Debian's source packages."""

import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PATCHES = os.path.dirname(HERE)
TOP = os.path.dirname(PATCHES)


# What a patch breaks it breaks without optimisation, too
CONFIGURE = ["--with-pam", "--with-libedit", "--with-selinux",
             "--without-hardening", "--with-cflags=-O0 -w"]
JOBS = os.environ.get("JOBS", str(os.cpu_count()))


def run(tree, *command, env=None):
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True,
                          env=env)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def rows(path):
    with open(os.path.join(TOP, path)) as f:
        return [line.split() for line in f
                if line.strip() and not line.startswith("#")]


BASES = [row[0] for row in rows("patches/bases")]
# The folders where a form for a base is looked for, in order
FOLDERS = {row[0]: row[2:] for row in rows("patches/bases")}
DEBIAN = [row[0] for row in rows("debian/bases")]


def series(text=None):
    """Names of the patches, in order."""
    return [name for _, names in groups(text) for name in names]


def groups(text=None):
    """[(heading, [name of a patch, ...]), ...]. Patches before the first
    heading have None."""
    if text is None:
        with open(os.path.join(PATCHES, "series")) as f:
            text = f.read()
    found = [(None, [])]
    for line in text.splitlines():
        if line.startswith("#"):
            found.append((line.lstrip("# "), []))
        elif line.strip():
            found[-1][1].append(line.strip())
    return found if found[0][1] else found[1:]


def part_of(name):
    """What a folder of a base calls its parts of a patch."""
    return name.removesuffix(".patch") + ".part"


def candidates(base, name):
    """Paths of the patch's forms that there are for a base, in order. Each
    part of the patch comes from the first of them that has it."""
    paths = [os.path.join(PATCHES, folder, part_of(name))
             for folder in FOLDERS[base]] + [main_form(name)]
    return [p for p in paths if os.path.exists(p) and name in wanted(base)]


@functools.cache
def wanted(base):
    """{name: text} of the patches as a base takes them, in order."""
    with tempfile.TemporaryDirectory() as folder:
        names = run(HERE, "./forms", base, folder).split()
        return {name: pathlib.Path(folder, name).read_text() for name in names}


def read(path):
    return pathlib.Path(path).read_text()


def without_line_numbers(patch):
    return re.sub(r"^@@ .*? @@", "@@", patch, flags=re.M)


def parts(text):
    """{file of upstream's: hunks} of a patch's form, with its header as that
    of None."""
    found = re.split(r"^(?=--- a/(.*)\n)", text, flags=re.M)
    return {None: found[0], **dict(zip(found[1::2], found[2::2]))}


def forms_of(base, name):
    """{file of upstream's: [path, ...]} of a patch: which forms for a base have
    a part for the file, the one that it takes first."""
    found = {}
    for path in candidates(base, name):
        for file in parts(read(path)):
            found.setdefault(file, []).append(path)
    found.pop(None, None)
    return found


def main_form(name):
    """The path of a patch's main form."""
    paths = [os.path.join(PATCHES, folder, name) for folder in ("security", "")]
    return next(filter(os.path.exists, paths))


def every_form():
    """Paths of all patches, from the folder patches."""
    return sorted(os.path.relpath(p, PATCHES)
                  for p in pathlib.Path(PATCHES).rglob("*.pa[rt]*")
                  if p.suffix in (".part", ".patch"))


def overrides():
    """folder/name of each form that is not the main one."""
    return [path for path in every_form() if path.endswith(".part")]


def quilt(tree, folder, *args):
    """quilt in a tree whose patches are in that folder of it."""
    env = {**os.environ, "QUILT_PATCHES": folder, "LC_ALL": "C"}
    return subprocess.run(["quilt", "--quiltrc", "-", *args], cwd=tree,
                          env=env, capture_output=True, text=True)


def without_choice():
    """The environment without what chooses another base or its source."""
    return {k: v for k, v in os.environ.items()
            if k not in ("OPENSSH_TARBALL", "UPTO", "UPSTREAM", "BDP_BUILD",
                         "MAKEFLAGS")}


# Where release-check has put a tree that takes the newest base's place
RELEASE = os.environ.get("BDP_RELEASE")


@functools.cache
def fetch(base):
    """(path or None, why not) of a base's tarball or source package."""
    if RELEASE and base == BASES[0]:
        return os.path.realpath(f"{RELEASE}/tarball"), None
    done = subprocess.run([os.path.join(TOP, "openssh", "fetch")],
                          env={**without_choice(), "UPSTREAM": base},
                          capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1]
    return done.stdout.strip(), None


def source(base):
    """The path of a base's source. Skips the test if it can't be had."""
    path, why = fetch(base)
    if path is None:
        pytest.skip(f"no {base}: {why}")
    return path


class Laid:
    """A base's tree with our modules and, not applied, the series. quilt
    knows patches there as names(). If it is there, it stays as it is."""

    def __init__(self, base, tree, upto="", build=False, there=False):
        self.base, self.tree = base, pathlib.Path(tree)
        debian = base in DEBIAN
        self.folder = "debian/patches" if debian else "patches"
        self.prefix = "openssh-bdp/" if debian else ""
        if there:
            return
        path = source(base)
        command = [os.path.join(TOP, "debian", "tools", "lay"), "--series",
                   base, tree]
        if build or not debian:
            command = [os.path.join(TOP, "openssh", "lay"), path, tree,
                       "openssh"]
        done = subprocess.run(command, capture_output=True, text=True,
                              env={**without_choice(), "UPTO": upto})
        assert done.returncode == 0, done.stderr
        pop = self.quilt("pop", *([f"{self.prefix}modules.patch"] if debian
                                  else ["-a"]))
        assert pop.returncode == 0, pop.stdout + pop.stderr

    def names(self):
        return [line for line in
                (self.tree / self.folder / "series").read_text().split("\n")
                if line.startswith(self.prefix) and
                os.path.basename(line) in series()]

    def path(self, name):
        return self.tree / self.folder / name

    def texts(self):
        """{name: text} of the patches."""
        return {os.path.basename(name): self.path(name).read_text()
                for name in self.names()}

    def quilt(self, *args):
        return quilt(self.tree, self.folder, *args)

    def refresh(self):
        """Two lines of context are what each hunk has in common with most
        bases."""
        return self.quilt("refresh", "-p", "ab", "--no-timestamps",
                          "--no-index", "-U", "2")

    def configure(self):
        run(self.tree, "./configure", *CONFIGURE)

    def make(self):
        run(self.tree, "make", f"-j{JOBS}")


def skip_without(group):
    """Skips the test if the series has no such group."""
    if group and group not in [heading for heading, _ in groups()]:
        pytest.skip(f"no group {group} in the series")


def changed(path):
    """(lines added, lines removed, files) by a patch."""
    with open(path) as f:
        body = f.read().split("\n---\n")[1]
    files = re.findall(r"^\+\+\+ b/(\S+)", body, re.M)
    return (len(re.findall(r"^\+(?!\+\+ b/)", body, re.M)),
            len(re.findall(r"^-(?!-- (?:a/|/dev/null))", body, re.M)), files)


def mails(base, folder):
    """(what the tool says, paths) of the core as mails for a base."""
    said = run(TOP, sys.executable, "-B", os.path.join(HERE, "mails"),
               source(base), folder)
    return said, sorted(pathlib.Path(folder).iterdir())


def git(tree, *command):
    return run(tree, "git", "-c", "user.name=t", "-c",
               "user.email=t@example.invalid", "-c", "commit.gpgsign=false",
               *command)


def upstream_git(base, tree):
    """A new git repository of upstream's tree."""
    tree.mkdir()
    run(tree, "tar", "-xf", source(base), "--strip-components=1")
    git(tree, "init", "-q")
    git(tree, "add", "-A", "-f", ".")
    git(tree, "commit", "-q", "-m", "upstream")


def configure_upstream(tree):
    """With -Werror, and what a tree of git's needs before."""
    if not (tree / "configure").exists():
        run(tree, "autoreconf")
    run(tree, "./configure", "--with-Werror", "--without-hardening")
