"""Upstream's sources, from wherever the user has them."""

import os
import subprocess


class Error(Exception):
    pass


def run(*argv, **kwargs):
    return subprocess.run(argv, capture_output=True, text=True,
                          errors="replace", env={**os.environ, "LC_ALL": "C"},
                          **kwargs)


def check_run(what, *argv, **kwargs):
    done = run(*argv, **kwargs)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Error(f"{what}: {said[-1] if said else argv[0]}")
    return done.stdout


def read(path):
    with open(path, "rb") as f:
        return f.read()


def unpack(source, revision, tmp):
    """Puts the sources into tmp/tree, which it returns."""
    tree = os.path.join(tmp, "tree")
    os.mkdir(tree)
    if "://" in source:
        repository = os.path.join(tmp, "repository.git")
        check_run(source, "git", "init", "-q", "--bare", repository)
        check_run(source, "git", "-C", repository, "fetch", "-q", "--depth=1",
                  source, revision or "HEAD", timeout=600)
        source, revision = repository, "FETCH_HEAD"
    if not os.path.exists(source):
        raise Error(f"can't read {source}")
    tarball = source
    if os.path.isdir(source):
        is_git = run("git", "-C", source, "rev-parse", "--git-dir")
        top = is_git.returncode == 0 and is_git.stdout.strip() in (".git", ".")
        if not top and revision:
            raise Error(f"{source} is no git repository")
        if not top:
            check_run(source, "cp", "-R", f"{source}/.", tree)
            return tree
        tarball = os.path.join(tmp, "tree.tar")
        check_run(f"{source}: {revision or 'HEAD'}", "git", "-C", source,
                  "archive", "--prefix=tree/", "-o", tarball,
                  revision or "HEAD")
    check_run(source, "tar", "-xf", tarball, "-C", tree,
              "--strip-components=1")
    return tree
