"""The default of Ciphers: AES-GCM first where the CPU has AES."""

import glob
import platform
import re

import pytest

from loopback import OURS, STOCK, TOP, place, read   # noqa: F401
from options import KINDS, dump, folder, value          # noqa: F401

HOST = "root@127.0.0.1"
CHACHA = "chacha20-poly1305@openssh.com"
GCM = ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com"]
UPSTREAM = [CHACHA, *GCM, "aes128-ctr", "aes192-ctr", "aes256-ctr"]
GCM_FIRST = [*GCM, CHACHA, *UPSTREAM[3:]]

# OpenSSL told to do without AES, or GCM's hash, for all that this runs
WITHOUT = {"aes": "export OPENSSL_ia32cap=~0x200000000000000",
           "clmul": "export OPENSSL_ia32cap=~0x200000000"}
needs_x86 = pytest.mark.skipif(platform.machine() != "x86_64",
                               reason="how to turn them off is x86's")


def here():
    """The order for this CPU, by what the kernel says of it."""
    flags = re.findall(r"^(?:flags|Features)\s*: (.*)$",
                       read("/proc/cpuinfo"), re.M)[0].split()
    has = {"aes", "pclmulqdq"} <= set(flags) or {"aes", "pmull"} <= set(flags)
    return GCM_FIRST if has else UPSTREAM


@pytest.mark.parametrize("kind", KINDS)
def test_default(folder, kind):                         # noqa: F811
    assert value(dump(folder, kind), "ciphers").split(",") == here()


@needs_x86
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("off", WITHOUT)
def test_cpu_without(folder, kind, off):                # noqa: F811
    done = dump(folder, kind, before=WITHOUT[off])
    assert value(done, "ciphers").split(",") == UPSTREAM


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("written, means", [
    (CHACHA, [CHACHA]),
    (",".join(UPSTREAM), UPSTREAM),
    ("aes256-ctr," + GCM[0], ["aes256-ctr", GCM[0]]),
    ("^aes256-ctr", ["aes256-ctr"] + [c for c in here() if c != "aes256-ctr"]),
    ("+aes128-cbc", here() + ["aes128-cbc"]),
    ("-*-gcm@*", [c for c in here() if c not in GCM])])
def test_user_decides(folder, kind, written, means):    # noqa: F811
    done = dump(folder, kind, f"Ciphers {written}")
    assert value(done, "ciphers").split(",") == means


def undoing(text):
    """The lines of the text that restore stock's order."""
    return re.findall(r"^\W*Ciphers (\^\S+)$", text, re.M)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("told", [f"{OURS}/ssh_config.5",
                                  f"{OURS}/sshd_config.5",
                                  f"{TOP}/README.md"])
def test_undone_as_told(folder, kind, told):            # noqa: F811
    done = dump(folder, kind, f"Ciphers {undoing(read(told))[0]}")
    assert value(done, "ciphers").split(",") == UPSTREAM


def test_undone_on_bookworm():
    """By the rules of "^", as its man pages and the README have it. 9.2 has
    CTR before GCM."""
    stock = [CHACHA, *UPSTREAM[3:], *GCM]
    default = [*GCM, CHACHA, *UPSTREAM[3:]]
    lines = [line for path in glob.glob(f"{TOP}/patches/bookworm/*.patch")
             for line in undoing(read(path))]
    assert len(lines) == 2
    for line in (*lines, undoing(read(f"{TOP}/README.md"))[1]):
        first = line[1:].split(",")
        assert first + [c for c in default if c not in first] == stock


def test_told_where_people_look():
    """With what it costs, and in NEWS, too, which is for both releases."""
    for path in (f"{TOP}/README.md", f"{TOP}/debian/overlay/NEWS",
                 f"{OURS}/ssh_config.5", f"{OURS}/sshd_config.5"):
        text = " ".join(read(path).split())
        assert "an observer of the connection sees the length of each packet" \
            in text, path
        assert f"Ciphers ^{CHACHA}" in text, path


def negotiated(place, client, server, *options, sshd_options=()):   # noqa: F811
    """The cipher of a session, both ways."""
    place.sshd(server, *sshd_options)
    done = place.run(place.ssh(*options, HOST, "true", tree=client,
                               level="DEBUG1"))
    assert done.returncode == 0, done.stderr
    ciphers = set(re.findall(r"kex: \S+ cipher: (\S+)", done.stderr))
    assert len(ciphers) == 1, done.stderr
    return ciphers.pop()


@pytest.mark.parametrize("server", [OURS, STOCK], ids=["ours", "stock"])
def test_session(place, server):                        # noqa: F811
    assert negotiated(place, OURS, server) == here()[0]


def test_stock_client_has_its_order(place):             # noqa: F811
    assert negotiated(place, STOCK, OURS) == CHACHA


def test_peer_without_gcm(place):                       # noqa: F811
    assert negotiated(place, OURS, OURS, sshd_options=[
        f"Ciphers {CHACHA},aes256-ctr"]) == CHACHA


def test_option_in_a_session(place):                    # noqa: F811
    assert negotiated(place, OURS, OURS, "-c", "aes256-ctr") == "aes256-ctr"
