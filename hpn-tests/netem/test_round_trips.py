"""What a login takes: what counts is round trips."""

import os

from scene import scenario
from spec import transfer

RTT_S = 0.2
MB = 1000000


# 12.5 with stock
@scenario("login", "check", login=transfer("1g-200ms", "get", 1, logins=0))
def test_login(scene, measured):
    """Round trips of a first login and a command."""
    measured.at_most("round trips", scene["login"].result["seconds"] / RTT_S,
                     9.2, "{:.2f}")


def again(server, value, **fields):
    """A login to a host that is remembered. Without a value, ssh_config does
    not have the option."""
    if value:
        fields["ssh_options"] = [f"QuickStart {value}"]
    return {"login": transfer("1g-200ms", "get", 1, server=server, logins=1,
                              **fields)}


# A stock server before 10.1 has its Nagle's algorithm in the way: the answer to
# the key exchange waits behind the banner. (With "yes", a ping gets the login's
# answer past that to the request for the service, but not with 9.2p1, which
# knows no pings.) "yes" and "always":
STOCK, ALWAYS = {"10.5p1": (4.2, 3.2), "bookworm": (6.4, 4.2)}.get(
    os.environ.get("UPSTREAM"), (5.2, 4.2))


@scenario("login-quick", "check", 3.2, **again("openssh", ""))
@scenario("login-quick-yes", "netem", 3.2, **again("openssh", "yes"))
@scenario("login-quick-no", "netem", 9.2, **again("openssh", "no"))
# As with GSSAPI, ssh asks before it signs
@scenario("login-quick-asked", "netem", 7.2,
          **again("openssh", "", ssh_options=["HostbasedAuthentication yes"]))
@scenario("login-quick-agent", "netem", 3.2,
          **again("openssh", "yes", agent=True))
@scenario("login-quick-stock", "netem", STOCK, **again("stock", ""))
@scenario("login-quick-stock-agent", "netem", STOCK,
          **again("stock", "yes", agent=True))
@scenario("login-quick-always", "netem", ALWAYS, **again("stock", "always"))
@scenario("login-quick-9.2", "netem", 4.2, **again("debian12", "always"))
def test_quick_login(scene, measured):
    """Round trips of a login with QuickStart and a command."""
    measured.at_most("round trips", scene["login"].result["seconds"] / RTT_S,
                     scene.case, "{:.2f}")


@scenario("login-shared", "netem", 1.2, login=transfer(
    "1g-200ms", "get", 1, channels=1, logins=1,
    ssh_options=["QuickStart yes"]))
def test_shared(scene, measured):
    """Round trips of a command through a ControlMaster (stock: 2)."""
    done = scene["login"]
    measured.at_most("round trips", (
        done.result["start_s"] + done.result["seconds"] -
        float(done.read("shared"))) / RTT_S, scene.case, "{:.2f}")


def copy(direction, tool="scp", count=1000, **fields):
    return {"copy": transfer("1g-200ms", direction, count, tool=tool, logins=1,
                             ssh_options=["QuickStart yes"], **fields)}


@scenario("scp-quick-put", "check", 4.2, **copy("put"))
@scenario("scp-quick-get", "netem", 4.2, **copy("get"))
@scenario("sftp-quick-put", "netem", 4.2, **copy("put", "sftp"))
@scenario("scp-quick-1m-get", "netem", 10.3, **copy("get", count=MB))
@scenario("scp-quick-1m-put", "netem", 10.3, **copy("put", count=MB))
def test_quick_copy(scene, measured):
    """Round trips of a login with QuickStart and the copy of 1 KB or 1 MB."""
    measured.at_most("round trips", scene["copy"].result["seconds"] / RTT_S,
                     scene.case, "{:.2f}")


@scenario("scp-quick-first-put", "netem", 4.2, **copy("put", count=256 << 20))
@scenario("scp-quick-first-get", "netem", 4.2, **copy("get", count=256 << 20))
def test_first_byte(scene, measured):
    """Round trips from the command to the first byte of a large file."""
    done = scene["copy"]
    measured.at_most("round trips", (done.series.first_s() -
                                     done.result["start_s"]) / RTT_S,
                     scene.case, "{:.2f}")


@scenario("scp-quick-tree-put", "netem", 30,
          **copy("put", count=20 * 50 * 4096, tree=[20, 50, 4096]))
@scenario("scp-quick-tree-get", "netem", 30,
          **copy("get", count=20 * 50 * 4096, tree=[20, 50, 4096]))
def test_quick_tree(scene, measured):
    """Round trips of a login with QuickStart and 1,000 files of 4 KiB."""
    measured.at_most("round trips", scene["copy"].result["seconds"] / RTT_S,
                     scene.case, "{:.1f}")
