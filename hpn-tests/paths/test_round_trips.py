"""What a login takes: what counts is round trips."""

import os
import re

import lab
from scene import scenario
from spec import transfer

RTT_S = 0.2
OURS = 6.2
# sshd before 10.1 has Nagle's algorithm on: what follows a small message waits
# for its acknowledgement, twice in a login
OLD = 10.6
VERSION = re.search(r"openssh[-_](\d+)\.(\d+)p",
                    os.path.realpath(f"{lab.BUILD}/tarball"))
NEW = VERSION and tuple(map(int, VERSION.groups())) >= (10, 1)
STOCK = 7.2 if NEW else OLD


def login(server="openssh", logins=0, **fields):
    """With logins=0, only ARP has been there: known_hosts is empty."""
    return {"one": transfer("1g-200ms", "get", 1, server=server,
                            logins=logins, **fields)}


def copy(direction, count, server="openssh"):
    """A login and a copy of 1 KB or 1 MB"""
    return {"one": transfer("1g-200ms", direction, count, tool="scp",
                            logins=0, server=server)}


# A login and a command, at the first login and later, with the key in a file or
# in an agent
@scenario("login", "check", OURS, **login())
@scenario("login-agent", "check", OURS, **login(agent=True))
@scenario("login-tenth", "check", OURS, **login(logins=9))
@scenario("login-hundredth", "netem", OURS, **login(logins=99))
@scenario("login-stock", "check", STOCK, **login("stock"))
@scenario("login-stock-agent", "check", STOCK, **login("stock", agent=True))
@scenario("login-debian12", "check", OLD, **login("debian12"))
@scenario("login-debian12-agent", "check", OLD,
          **login("debian12", agent=True))
@scenario("scp-1k-put", "netem", 10.3, **copy("put", 1000))
@scenario("scp-1k-get", "netem", 10.3, **copy("get", 1000))
@scenario("scp-1k-put-stock", "netem", 11.3, **copy("put", 1000, "stock"))
@scenario("scp-1k-get-stock", "netem", 11.3, **copy("get", 1000, "stock"))
@scenario("scp-1m-put", "netem", 17.4, **copy("put", 10**6))
@scenario("scp-1m-get", "netem", 17.4, **copy("get", 10**6))
def test_command_takes_few_round_trips(scene, measured):
    measured.at_most("round trips", scene["one"].result["seconds"] / RTT_S,
                     scene.case, "{:.2f}")


def shared(**fields):
    return transfer("1g-200ms", "get", 1, channels=1, logins=0, **fields)


@scenario("login-shared", "check", ours=shared(),
          to_stock=shared(server="stock"),
          stock=shared(client="stock", server="stock"))
def test_shared_command_takes_one_round_trip(scene, measured):
    """To our sshd, as with stock's ssh to stock's"""
    def trips(key):
        return scene[key].shared_s() / RTT_S

    measured.at_most("to ours", trips("ours"), 1.1, "{:.2f}")
    measured.at_most("to stock", trips("to_stock"), trips("stock") + 0.05,
                     "{:.2f}")
