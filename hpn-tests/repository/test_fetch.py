"""make fetch, and what stops it: one clear line, and nothing left behind."""

import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OPENSSH = os.path.join(TOP, "openssh")
NAME = "openssh_10.0p1.orig.tar.gz"


def cached(name):
    cache = os.environ.get("XDG_CACHE_HOME",
                           os.path.expanduser("~/.cache"))
    return os.path.join(cache, "openssh-bdp", "upstream", name)


def fetch(cache, script=None, **env):
    done = subprocess.run(
        [script or os.path.join(OPENSSH, "fetch")],
        env={**os.environ, "UPSTREAM": "", "OPENSSH_TARBALL": "",
             "XDG_CACHE_HOME": str(cache), **env},
        capture_output=True, text=True, timeout=300)
    return done


def refused(done, cache, *words):
    """Failed, with one line that says why, and left nothing."""
    lines = [line for line in done.stderr.splitlines()
             if not line.startswith("fetching ")]
    assert done.returncode != 0
    assert done.stdout == ""
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word in lines[0]
    left = [os.path.join(d, f) for d, _, files in os.walk(cache)
            for f in files]
    assert left == []
    assert not [d for d, _, _ in os.walk(cache) if "fetch." in d]


@pytest.fixture
def tarball(tmp_path):
    """A copy of the real tarball with its signature."""
    path = tmp_path / NAME
    shutil.copy(cached(NAME), path)
    if not os.path.exists(cached(NAME + ".asc")):
        pytest.skip("the cached tarball came without a signature")
    shutil.copy(cached(NAME + ".asc"), str(path) + ".asc")
    return path


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def apt_fails(tmp_path, message):
    """The fetch script, with an apt-private that fails with message."""
    folder, tools = tmp_path / "openssh", tmp_path / "debian" / "tools"
    folder.mkdir()
    tools.mkdir(parents=True)
    for name in ("fetch", "UPSTREAM"):
        shutil.copy(os.path.join(OPENSSH, name), folder)
    script = tools / "apt-private"
    script.write_text(f"#!/bin/sh\necho '{message}' >&2\nexit 1\n")
    script.chmod(0o755)
    return str(folder / "fetch")


def test_given_tarball(tarball, cache):
    os.unlink(str(tarball) + ".asc")
    done = fetch(cache, OPENSSH_TARBALL=str(tarball))
    assert done.returncode == 0, done.stderr
    assert "SHA-256 is good" in done.stderr
    assert open(done.stdout.strip(), "rb").read() == tarball.read_bytes()
    again = fetch(cache)                # from the cache, with no network
    assert again.stdout == done.stdout and again.stderr == ""


def test_given_tarball_and_signature(tarball, cache):
    os.makedirs(cache / "openssh-bdp" / "upstream")
    shutil.copy(cached("signing-key.asc"), cache / "openssh-bdp" / "upstream")
    done = fetch(cache, OPENSSH_TARBALL=str(tarball))
    assert done.returncode == 0, done.stderr
    assert "signature are good" in done.stderr


def test_bad_signature(tarball, cache):
    upstream = cache / "openssh-bdp" / "upstream"
    os.makedirs(upstream)
    shutil.copy(cached("signing-key.asc"), upstream)
    signature = tarball.with_name(NAME + ".asc")
    lines = signature.read_text().splitlines()
    middle = len(lines) // 2
    lines[middle] = lines[middle][::-1]
    signature.write_text("\n".join(lines) + "\n")
    done = fetch(cache, OPENSSH_TARBALL=str(tarball))
    os.unlink(upstream / "signing-key.asc")
    refused(done, cache, "bad signature")


def test_wrong_file(tmp_path, cache):
    wrong = tmp_path / "wrong.tar.gz"
    wrong.write_bytes(b"not OpenSSH")
    refused(fetch(cache, OPENSSH_TARBALL=str(wrong)), cache, "SHA-256",
            "not the pinned")


def test_truncated(tarball, cache):
    os.truncate(tarball, 100000)
    refused(fetch(cache, OPENSSH_TARBALL=str(tarball)), cache, "SHA-256")


def test_no_file(cache):
    refused(fetch(cache, OPENSSH_TARBALL="/does/not/exist"), cache,
            "can't read /does/not/exist")


def test_no_key(tarball, tmp_path, cache):
    """A signature that can't be checked is no signature to be ignored."""
    done = fetch(cache, apt_fails(tmp_path, "apt-private: no mirror"),
                 OPENSSH_TARBALL=str(tarball))
    refused(done, cache, "no mirror")


def test_no_mirror(tmp_path, cache):
    done = fetch(cache, apt_fails(tmp_path, "apt-private: no Debian mirror"))
    refused(done, cache, "no Debian mirror", "OPENSSH_TARBALL")


def test_no_network(cache):
    """A proxy that nobody answers at stands for a network that is down."""
    dead = "http://127.0.0.1:9"
    done = fetch(cache, http_proxy=dead, https_proxy=dead)
    refused(done, cache, "trixie", "OPENSSH_TARBALL")


def test_cache_is_verified(tarball, cache):
    os.unlink(str(tarball) + ".asc")
    path = fetch(cache, OPENSSH_TARBALL=str(tarball)).stdout.strip()
    with open(path, "ab") as f:
        f.write(b"x")
    done = fetch(cache)
    assert done.returncode != 0
    assert "SHA-256" in done.stderr


OTHER = "10.0p1-other"


@pytest.fixture
def other(tmp_path):
    """The fetch script with pins of another version than the default: of the
    key that signed the default one, and of a tree of git's."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    for name in ("fetch", "UPSTREAM"):
        shutil.copy(os.path.join(OPENSSH, name), folder)
    tree = tmp_path / "tree.tar"
    tree.write_bytes(b"a tree" * 1000)
    with open(os.path.join(OPENSSH, "UPSTREAM")) as f:
        key = re.search("^KEY_FINGERPRINT=.*$", f.read(), re.M)[0]
    (folder / f"UPSTREAM-{OTHER}").write_text(
        f"VERSION={OTHER}\n{key}\nSITE=https://127.0.0.1:9\nCOMMIT=0123\n"
        f"TAR_SHA256={hashlib.sha256(tree.read_bytes()).hexdigest()}\n")
    return str(folder / "fetch")


def release(tarball):
    """With what upstream's site has beside it."""
    shutil.copy(cached("signing-key.asc"), tarball.parent / "RELEASE_KEY.asc")
    return {"UPSTREAM": OTHER, "OPENSSH_TARBALL": str(tarball)}


def test_other_release(tarball, other, cache):
    done = fetch(cache, other, **release(tarball))
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"OpenSSH {OTHER}: signature is good\n"
    path = done.stdout.strip()
    assert os.path.basename(path) == f"openssh-{OTHER}.tar.gz"
    again = fetch(cache, other, UPSTREAM=OTHER)
    assert again.stdout == done.stdout and again.stderr == ""
    with open(path, "ab") as f:
        f.write(b"x")
    again = fetch(cache, other, UPSTREAM=OTHER)
    assert again.returncode != 0 and "bad signature" in again.stderr


def test_other_release_wants_a_signature(tarball, other, cache):
    """And who made it."""
    env = release(tarball)
    os.unlink(tarball.parent / "RELEASE_KEY.asc")
    refused(fetch(cache, other, **env), cache, "no RELEASE_KEY.asc")
    os.unlink(str(tarball) + ".asc")
    refused(fetch(cache, other, **env), cache, "has no signature")


def test_other_release_is_another_file(tarball, other, cache):
    env = release(tarball)
    os.truncate(tarball, 100000)
    refused(fetch(cache, other, **env), cache, "bad signature")


def test_other_release_of_another_key(tarball, other, cache):
    env = release(tarball)
    pins = pathlib.Path(other).with_name(f"UPSTREAM-{OTHER}")
    pins.write_text(re.sub("(?m)^KEY_FINGERPRINT=.*$",
                           "KEY_FINGERPRINT=" + 40 * "0", pins.read_text()))
    refused(fetch(cache, other, **env), cache, "no key 0000")


def test_other_tree_of_git(other, tmp_path, cache):
    """By what is in it, however it was compressed."""
    for level in (1, 9):
        tarball = tmp_path / f"t{level}.tar.gz"
        tarball.write_bytes(gzip.compress((tmp_path / "tree.tar").read_bytes(),
                                          level))
        done = fetch(cache, other, UPSTREAM=OTHER,
                     OPENSSH_TARBALL=str(tarball))
        assert done.returncode == 0, done.stderr
        assert "commit 0123: SHA-256 is good" in done.stderr
    path = done.stdout.strip()
    assert os.path.basename(path) == f"openssh-{OTHER}-git.tar.gz"
    assert fetch(cache, other, UPSTREAM=OTHER).stdout == done.stdout
    with open(path, "wb") as f:
        f.write(gzip.compress(b"another tree"))
    again = fetch(cache, other, UPSTREAM=OTHER)
    assert again.returncode != 0 and "not what was pinned" in again.stderr


def test_other_site_is_down(other, cache):
    refused(fetch(cache, other, UPSTREAM=OTHER), cache, "127.0.0.1",
            f"OPENSSH_TARBALL=/path/to/openssh-{OTHER}.tar.gz does without")


@pytest.mark.parametrize("which", ["default", "release", "tree"])
def test_what_is_cached_is_not_replaced(tarball, other, tmp_path, cache, which):
    """By the same file: make would build all again."""
    env = {"OPENSSH_TARBALL": str(tarball)}
    if which == "default":
        os.makedirs(cache / "openssh-bdp" / "upstream")
        shutil.copy(cached("signing-key.asc"),
                    cache / "openssh-bdp" / "upstream")
    elif which == "release":
        env = release(tarball)
    else:
        tree = tmp_path / "t.tar.gz"
        tree.write_bytes(gzip.compress((tmp_path / "tree.tar").read_bytes()))
        env = {"UPSTREAM": OTHER, "OPENSSH_TARBALL": str(tree)}
    paths = [fetch(cache, other, **env).stdout.strip()]
    os.utime(paths[0], (1, 1))
    paths.append(fetch(cache, other, **env).stdout.strip())
    assert paths[0] == paths[1] and os.stat(paths[1]).st_mtime == 1


def test_no_pins(cache):
    refused(fetch(cache, UPSTREAM="9.9p9"), cache, "no pins for OpenSSH 9.9p9",
            "10.0p1 10.5p1")


@pytest.mark.parametrize("there", [True, False])
def test_ci_takes_the_tree_beside_the_repository(tmp_path, there):
    """Of the other base, if there is one: with the path that fetch gets."""
    tree = tmp_path / "shared" / "upstream" / "openssh-10.5p1-git.tar.gz"
    tree.parent.mkdir(parents=True)
    if there:
        tree.write_text("")
    said, top = tmp_path / "said", tmp_path / "repository"
    for name, echo in (("openssh/fetch", '$UPSTREAM $(realpath '
                                         '"$OPENSSH_TARBALL")'),
                       ("bootstrap", "$REQUIRE_ALL $*")):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{echo}" >> {said}\n')
        path.chmod(0o755)
    (top / ".ci").mkdir()
    shutil.copy(f"{TOP}/.ci/run", top / ".ci")
    subprocess.run([top / ".ci" / "run"], cwd=tmp_path, check=True)
    assert said.read_text() == \
        (f"10.5p1 {tree}\n" if there else "") + "1 check\n"
