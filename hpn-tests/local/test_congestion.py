"""TCPCongestion: what the kernel has then."""

import re

import pytest

from loopback import HOST, OURS, PORT, place, read            # noqa: F401



def log_in(place, *options, sshd_options=(), level="INFO"):     # noqa: F811
    """The congestion control of the client's and of the server's end of a
    session, and what the client and the server said."""
    sshd = place.sshd(OURS, *sshd_options)
    done = place.run(place.ssh(
        *options, HOST, f"ss -Htin state established '( sport = :{PORT} or "
        f"dport = :{PORT} )'", level=level))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    ends = {"server" if line.split()[2].endswith(f":{PORT}") else "client":
            info.split()[0] for line, info in zip(lines[::2], lines[1::2])}
    return ends, words(done), read(sshd.log)


def words(done):
    """What ssh said, but for the new host key."""
    return "".join(line for line in done.stderr.splitlines(True)
                   if "Permanently added" not in line)


def system(place):                                      # noqa: F811
    return place.run(["sh", "-c", "cat /proc/sys/net/ipv4/"
                      "tcp_congestion_control"]).stdout.strip()


def test_each_end_has_its_own(place):                   # noqa: F811
    ends, said, _ = log_in(place, "-o", "TCPCongestion=reno")
    assert ends == {"client": "reno", "server": system(place)}
    assert said == ""


def test_sshd_by_user(place):                           # noqa: F811
    ends, said, _ = log_in(place, sshd_options=[
        "Match User user", "TCPCongestion nosuch,reno"])
    assert ends == {"client": system(place), "server": "reno"}


@pytest.mark.parametrize("names, has, says", [
    ("nosuch,reno", "reno", ""),
    ("nosuch,default,reno", None, ""),
    ("default", None, ""),
    ("nosuch", None, "TCPCongestion: connection stays with {}; nosuch: "
     "unknown"),
    ("nosuch,nor-this", None, "TCPCongestion: connection stays with {}; "
     "nosuch: unknown; nor-this: unknown"),
])
def test_first_that_there_is(place, names, has, says):  # noqa: F811
    """A name that the kernel doesn't take never fails a login."""
    before = system(place)
    ends, said, _ = log_in(place, "-o", f"TCPCongestion={names}")
    assert ends["client"] == (has or before)
    assert said.strip() == says.format(before)


def test_sshd_says_what_it_could_not_set(place):        # noqa: F811
    _, said, log = log_in(place, sshd_options=["TCPCongestion nosuch"])
    assert said == ""
    assert re.search(r"TCPCongestion: connection stays with \w+; nosuch: "
                     r"unknown$", log, re.M)


def test_no_tcp(place):                                 # noqa: F811
    """Through a pipe nothing is to be set, and nothing is said."""
    place.sshd(OURS)
    done = place.run(place.ssh(
        "-o", "TCPCongestion=nosuch", "-o",
        "ProxyCommand=socat - TCP:%h:%p", HOST, "echo well", level="INFO"))
    assert done.returncode == 0, done.stderr
    assert (done.stdout, words(done)) == ("well\n", "")
