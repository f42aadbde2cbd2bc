"""TCPCongestion: what the kernel has then."""

import pytest

from loopback import HOST, OURS, PORT, place, read        # noqa: F401


def words(done):
    """What ssh said, but for the new host key."""
    return "".join(line for line in done.stderr.splitlines(True)
                   if "Permanently added" not in line)


STAYS = "TCPCongestion: connection stays with {}; nosuch: unknown"


@pytest.mark.parametrize("ssh, sshd, client, server, said, logged", [
    ("reno", [], "reno", None, "", ""),
    ("", ["Match User user", "TCPCongestion nosuch,reno"], None, "reno", "",
     ""),
    ("nosuch,reno", [], "reno", None, "", ""),
    ("nosuch,default,reno", [], None, None, "", ""),
    ("default", [], None, None, "", ""),
    ("nosuch,nor-this", [], None, None, f"{STAYS}; nor-this: unknown", ""),
    ("", ["TCPCongestion nosuch"], None, None, "", f"{STAYS}\n")])
def test_first_name_that_the_kernel_has_counts(place, ssh, sshd, client,
                                               server, said, logged):
    """Each end has its own; None: the system's. A name that the kernel doesn't
    take never fails a login."""
    before = place.run(["cat", "/proc/sys/net/ipv4/tcp_congestion_control"]
                       ).stdout.strip()
    options = ["-o", f"TCPCongestion={ssh}"] if ssh else []
    log = place.sshd(OURS, *sshd).log
    done = place.run(place.ssh(
        *options, HOST, f"ss -Htin state established '( sport = :{PORT} or "
        f"dport = :{PORT} )'", level="INFO"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    ends = {"server" if line.split()[2].endswith(f":{PORT}") else "client":
            info.split()[0] for line, info in zip(lines[::2], lines[1::2])}
    assert ends == {"client": client or before, "server": server or before}
    assert words(done).strip() == said.format(before)
    assert logged.format(before) in read(log)
    assert ("TCPCongestion" in read(log)) == (logged != "")


def test_nothing_is_set_through_a_pipe(place):
    """And nothing is said."""
    place.sshd(OURS)
    done = place.run(place.ssh(
        "-o", "TCPCongestion=nosuch", "-o",
        "ProxyCommand=socat - TCP:%h:%p", HOST, "echo well", level="INFO"))
    assert done.returncode == 0, done.stderr
    assert (done.stdout, words(done)) == ("well\n", "")
