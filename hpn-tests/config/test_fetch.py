"""make fetch: each way to get a release, with a server of ours in place of
upstream's site, a script in place of apt, and releases that a key made here
has signed. What stops it is one clear line, and nothing is left behind."""

import functools
import gzip
import hashlib
import http.server
import io
import os
import re
import shutil
import ssl
import subprocess
import tarfile
import threading

import pytest

from loopback import TOP, program
from programs import without

OPENSSH = os.path.join(TOP, "openssh")
NEWEST, OLDER = "11.0p1", "10.9p1"
NAME, DEBIANS = f"openssh-{NEWEST}.tar.gz", f"openssh_{OLDER}.orig.tar.gz"
DEAD = "https://127.0.0.1:9"        # nobody answers
KEY = "RELEASE_KEY.asc"
APT = """echo "$*" >> {said}
cp {folder}/debian/* . 2> /dev/null && exit
echo 'apt-private: no Debian mirror' >&2
exit 1"""


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def damage(path):
    with open(path, "ab") as f:
        f.write(b"x")


class Key:
    """A key that signs releases."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(mode=0o700)
        self.gpg("--passphrase", "", "--quick-gen-key", "t@example.invalid",
                 "ed25519", "sign", "never")
        listed = self.gpg("--with-colons", "--list-keys")
        self.fingerprint = next(line.split(":")[9] for line in
                                listed.splitlines() if line[:4] == "fpr:")

    def gpg(self, *arguments):
        return subprocess.run(
            ["gpg", "--homedir", self.folder, "--batch", "--quiet", "--yes",
             "--pinentry-mode", "loopback", *arguments],
            check=True, capture_output=True, text=True).stdout

    def export(self, path):
        self.gpg("--armor", "--output", path, "--export")

    def sign(self, path):
        self.gpg("--armor", "--output", f"{path}.asc", "--detach-sign", path)

    def stop(self):
        subprocess.run(["gpgconf", "--homedir", self.folder, "--kill", "all"],
                       check=True)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Upstream's, and another."""
    folder = tmp_path_factory.mktemp("keys")
    pair = Key(folder / "upstream"), Key(folder / "other")
    yield pair
    for key in pair:
        key.stop()


def archive(path, folder, mode="w:gz"):
    with tarfile.open(path, mode) as tar:
        entry = tarfile.TarInfo(folder)
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
        entry = tarfile.TarInfo(f"{folder}/version.h")
        text = os.urandom(1000)
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))


class World:
    """fetch with pins of two releases, a cache, what upstream's site and
    Debian have, and files that a user has."""

    def __init__(self, top, keys):
        self.top, self.keys, self.server = top, keys, None
        self.cache, self.site = top / "cache", top / "site"
        self.mine, self.debian = top / "mine", top / "debian"
        upstream = self.debian / "upstream"
        for folder in (self.mine, self.site / "portable", top / "openssh",
                       self.debian / "tools", self.debian / "debian",
                       upstream):
            folder.mkdir(parents=True)
        self.newest = self.release(self.site / "portable" / NAME)
        self.given = self.release(self.mine / "any-name.tar.gz")
        for folder in (self.site, self.mine):
            keys[0].export(folder / KEY)
        self.orig = self.release(self.debian / "debian" / DEBIANS, OLDER)
        keys[0].export(upstream / "signing-key.asc")
        with tarfile.open(self.debian / "debian" /
                          f"openssh_{OLDER}-1.debian.tar.xz", "w:xz") as tar:
            tar.add(upstream, "debian/upstream")
        self.tree = self.mine / "tree.tar"
        archive(self.tree, f"openssh-{NEWEST}", "w")
        self.apt = program(self.debian / "tools" / "apt-private", APT.format(
            said=self.top / "asked", folder=self.debian))
        shutil.copy(f"{OPENSSH}/fetch", top / "openssh")
        self.pins(DEAD)

    def pins(self, site):
        folder = self.top / "openssh"
        (folder / "UPSTREAM").write_text(
            f"VERSION={NEWEST}\nOLDER={OLDER}\nSITE={site}\n"
            f"KEY_FINGERPRINT={self.keys[0].fingerprint}\n")
        (folder / f"UPSTREAM-{NEWEST}").write_text(
            f"COMMIT=0123\nTAR_SHA256={sha256(self.tree)}\n")
        (folder / f"UPSTREAM-{OLDER}").write_text(
            f"DEBIAN_SUITE=trixie\nSHA256={sha256(self.orig)}\n")

    def release(self, path, version=NEWEST, key=0):
        archive(path, f"openssh-{version}")
        self.keys[key].sign(path)
        return path

    def serve(self, scheme="https"):
        """The site is there, with a certificate that curl is told of."""
        pem = self.top / "pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
             "-keyout", pem, "-out", f"{pem}.crt", "-days", "2", "-subj",
             "/CN=site", "-addext", "subjectAltName=IP:127.0.0.1"],
            check=True, capture_output=True)
        handler = functools.partial(Quiet, directory=self.site)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      handler)
        if scheme == "https":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{pem}.crt", pem)
            self.server.socket = context.wrap_socket(self.server.socket,
                                                     server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.pins(f"{scheme}://127.0.0.1:{self.server.server_port}")

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def fetch(self, tarball="", upstream="", **env):
        if self.server:
            env["CURL_CA_BUNDLE"] = f"{self.top}/pem.crt"
        return subprocess.run(
            [self.top / "openssh" / "fetch"], capture_output=True, text=True,
            timeout=300, env={
                **os.environ, "UPSTREAM": upstream,
                "OPENSSH_TARBALL": str(tarball), "XDG_CACHE_HOME":
                str(self.cache), "no_proxy": "127.0.0.1", **env})


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def world(tmp_path, keys):
    made = World(tmp_path, keys)
    yield made
    made.stop()


def said(done):
    """Lines, but for what is tried, and without the time that curl took."""
    return [re.sub(r" after \d+ ms", "", line) for line in
            done.stderr.splitlines() if not line.startswith("fetching ")]


def good(done, source, *words):
    """It is this file's copy; with one line that has these words."""
    assert done.returncode == 0, done.stderr
    with open(done.stdout.strip(), "rb") as f:
        assert f.read() == source.read_bytes()
    lines = said(done)
    assert len(lines) == (1 if words else 0), lines
    for word in words:
        assert word in lines[0]


def two_keys(world):
    """The site has both, and the other one signed."""
    world.release(world.newest, key=1)
    both = world.site / KEY
    text = both.read_text()
    world.keys[1].export(both)
    both.write_text(text + both.read_text())
    world.serve()


# What is wrong, how fetch is called, and words of the line that it ends with.
# A tarball is what the world has under that name.
REFUSED = {
    "site-with-a-bad-signature": (
        lambda w: (damage(w.newest), w.serve()), {}, ["bad signature"]),
    "site-with-another-key": (
        lambda w: (w.keys[1].export(w.site / KEY), w.serve()), {},
        ["no key", "{key}"]),
    "site-with-two-keys": (two_keys, {}, ["not signed by"]),
    "site-with-an-older-release": (
        lambda w: (w.release(w.newest, OLDER), w.serve()), {},
        [f"has openssh-{OLDER} in it"]),
    "site-without-https": (
        lambda w: w.serve("http"), {"upstream": NEWEST},
        ["http", "OPENSSH_TARBALL="]),
    "no-mirror": (
        lambda w: w.orig.parent.rename(w.debian / "gone"), {},
        [f"can't get OpenSSH {NEWEST}: ", "127.0.0.1", "no Debian mirror",
         "OPENSSH_TARBALL"]),
    "mirror-without-a-signature": (
        lambda w: os.unlink(f"{w.orig}.asc"), {}, ["no signature"]),
    "given-without-a-key": (
        lambda w: os.unlink(w.mine / KEY), {"tarball": "given"},
        ["no RELEASE_KEY.asc beside", "127.0.0.1"]),
    "given-without-a-signature": (
        lambda w: os.unlink(f"{w.given}.asc"), {"tarball": "given"},
        ["any-name.tar.gz has no signature",
         f"no SHA-256 of OpenSSH {NEWEST} is pinned"]),
    "given-an-older-one-for-the-newest": (
        lambda w: os.unlink(f"{w.orig}.asc"),
        {"tarball": "orig", "upstream": NEWEST}, ["has no signature"]),
    "given-an-older-one-damaged": (
        lambda w: (damage(w.orig), os.unlink(f"{w.orig}.asc")),
        {"tarball": "orig", "upstream": OLDER}, ["SHA-256", "pinned"]),
    # The pinned SHA-256 does not make up for it.
    "given-with-a-bad-signature": (
        lambda w: (w.keys[0].export(w.orig.parent / KEY),
                   shutil.copy(f"{w.newest}.asc", f"{w.orig}.asc")),
        {"tarball": "orig", "upstream": OLDER}, ["bad signature"]),
    "no-pins": (
        lambda w: None, {"upstream": "9.9p9"},
        [f"no pins for OpenSSH 9.9p9; there are: {OLDER} {NEWEST}"]),
}


def is_refused(done, world, *words):
    """Failed, with one line that says why, and left nothing."""
    assert done.returncode != 0 and done.stdout == ""
    assert len(said(done)) == 1, done.stderr
    for word in words:
        assert word.format(key=world.keys[0].fingerprint) in said(done)[0]
    for folder, _, files in os.walk(world.cache):
        assert not files and "fetch." not in folder


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_verified_is_refused(world, name):
    prepare, arguments, words = REFUSED[name]
    prepare(world)
    if "tarball" in arguments:
        arguments = {**arguments, "tarball": getattr(world,
                                                     arguments["tarball"])}
    is_refused(world.fetch(**arguments), world, *words)


# Upstream's site

def test_site_is_asked_once(world):
    """Then the cache needs no network."""
    world.serve()
    done = world.fetch()
    good(done, world.newest, "verified by signature")
    world.stop()
    good(world.fetch(), world.newest)
    assert world.fetch(upstream=NEWEST).stdout == done.stdout
    assert not (world.top / "asked").exists()       # of Debian


# An older release, from Debian's source package

def test_older_release_is_taken_if_the_site_is_down(world):
    """One line says so, now and from the cache."""
    done = world.fetch()
    assert done.returncode == 0, done.stderr
    assert open(done.stdout.strip(), "rb").read() == world.orig.read_bytes()
    assert said(done)[0] == \
        f"OpenSSH {OLDER}: verified by SHA-256 and signature"
    assert (world.top / "asked").read_text().startswith("trixie ")
    program(world.apt, "exit 1")
    good(world.fetch(), world.orig, f"can't get OpenSSH {NEWEST}: ",
         "127.0.0.1", f"taking {OLDER}", "OPENSSH_TARBALL=")
    assert said(done)[1:] == said(world.fetch())
    good(world.fetch(upstream=OLDER), world.orig)


def real_fetch(**env):
    """The scripts as they are."""
    return subprocess.run(
        [f"{OPENSSH}/fetch"], capture_output=True, text=True, timeout=300,
        env={**os.environ, "OPENSSH_TARBALL": "", **env})


# OPENSSH_TARBALL

@pytest.mark.parametrize("upstream", ["", NEWEST])
def test_given_tarball_needs_no_network(world, upstream):
    """Nor apt; then the cache has its key."""
    path = without(world.top / "bin", "curl", "apt-get", "dpkg")
    for _ in range(2):
        good(world.fetch(world.given, upstream, PATH=path), world.given,
             f"{NEWEST}: verified by signature")
        (world.mine / KEY).unlink(missing_ok=True)
    assert os.path.basename(world.fetch().stdout.strip()) == NAME
    good(world.fetch(PATH=path), world.given)
    assert not (world.top / "asked").exists()


@pytest.mark.parametrize("upstream", ["", OLDER])
def test_given_older_one_is_verified_by_its_pin(world, upstream):
    """One line says that it is older."""
    os.unlink(f"{world.orig}.asc")
    done = world.fetch(world.orig, upstream)
    assert open(done.stdout.strip(), "rb").read() == world.orig.read_bytes()
    assert said(done) == ([] if upstream else [
        f"{world.orig} is OpenSSH {OLDER}, older than {NEWEST}"]) + [
        f"OpenSSH {OLDER}: verified by SHA-256"]


def test_pinned_key_verifies_the_real_release(tmp_path):
    """The real one, if it is in this machine's cache, by the pinned key."""
    done = real_fetch(UPSTREAM="10.0p1")
    assert done.returncode == 0 or "can't get OpenSSH" in done.stderr, \
        done.stderr
    path = done.stdout.strip()
    if not os.path.exists(f"{path}.asc"):
        pytest.skip("no signature came with the cached tarball")
    key = os.path.join(os.path.dirname(path), "signing-key.asc")
    shutil.copy(key, tmp_path / KEY)
    for name in (path, f"{path}.asc"):
        shutil.copy(name, tmp_path)
    done = real_fetch(UPSTREAM="10.0p1", XDG_CACHE_HOME=str(tmp_path),
                      OPENSSH_TARBALL=str(tmp_path / os.path.basename(path)))
    assert done.stdout.endswith("/openssh-10.0p1.tar.gz\n"), done.stderr
    assert done.stderr == \
        "OpenSSH 10.0p1: verified by SHA-256 and signature\n"


# The tree as git has it

def test_tree_of_git_is_verified_by_content(world):
    """Its content is what is pinned, whatever compressed it."""
    for level in (1, 9):
        tarball = world.mine / f"t{level}.tar.gz"
        tarball.write_bytes(gzip.compress(world.tree.read_bytes(), level))
        good(world.fetch(tarball), tarball, "commit 0123: verified by SHA-256")
    good(world.fetch(upstream=NEWEST), tarball)
    good(world.fetch(), tarball)
    path = world.fetch(upstream=NEWEST).stdout.strip()
    with open(path, "wb") as f:
        f.write(gzip.compress(b"another tree"))
    again = world.fetch(upstream=NEWEST)
    assert again.returncode != 0 and "can't get OpenSSH" in again.stderr


# The cache

@pytest.mark.parametrize("which, upstream, word", [
    ("given", NEWEST, "bad signature"), ("orig", OLDER, "SHA-256")])
def test_cache_is_verified(world, which, upstream, word):
    os.unlink(f"{world.orig}.asc")
    path = world.fetch(getattr(world, which), upstream).stdout.strip()
    damage(path)
    done = world.fetch(upstream=upstream)
    assert done.returncode != 0 and len(said(done)) == 1
    assert word in done.stderr


@pytest.mark.parametrize("which", ["given", "orig", "packed"])
def test_what_is_cached_is_not_replaced(world, which):
    """By the same file: make would build all again."""
    os.unlink(f"{world.orig}.asc")
    world.packed = world.mine / "packed.tar.gz"
    world.packed.write_bytes(gzip.compress(world.tree.read_bytes()))
    paths = [world.fetch(getattr(world, which)).stdout.strip()]
    os.utime(paths[0], (1, 1))
    paths.append(world.fetch(getattr(world, which)).stdout.strip())
    assert paths[0] == paths[1] and os.stat(paths[1]).st_mtime == 1
