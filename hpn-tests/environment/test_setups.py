"""Connections as users set them up, between builds of several ages: what is
copied through them is whole."""

import filecmp
import os
import re
import shutil
import signal
import subprocess

import pytest

from loopback import BUILD, HOST, OURS, PORT, STOCK, USER, read, wait_until
from sftp_tools import content, digests
from stream_place import MIB, logins, ssh_script

SIZE = 40 * MIB                 # bytes; from 32 MiB on it has several streams
STREAMS = ("-X", "streams=4")
# Another OpenSSH or HPN-SSH, where it was built: PEER=/path
OTHERS = {"stock": STOCK, "debian12": f"{BUILD}/debian12",
          **({"peer": os.environ["PEER"]} if "PEER" in os.environ else {})}
other = pytest.mark.parametrize("other", OTHERS)
ours_is = pytest.mark.parametrize("ours_is", ["client", "server"])


def tree_of(name):
    if not os.path.exists(f"{OTHERS[name]}/sshd"):
        pytest.skip(f"no build/{name}: see \"make {name}\"")
    return OTHERS[name]


@pytest.fixture
def source(place):
    """A large file, which compresses to a half, and a small one."""
    os.mkdir(place.path("source"))
    for name, size in (("large", SIZE), ("small", 1000)):
        with open(place.path(f"source/{name}"), "wb") as f:
            f.write(content(size // 2) + bytes(size // 2))
    return place.path("source")


def copies(place, source, *options, tree=OURS, there="", port=PORT, ssh=None):
    """A tree to the server and back. there: what is before the path there."""
    up = f"{HOST}:{there or place.folder}/up"
    for ends in ((source, up), (up, place.path("down"))):
        done = place.run(place.scp("-r", *options, *ends, tree=tree,
                                   port=port, ssh=ssh))
        assert (done.returncode, done.stderr) == (0, "")
    assert digests(place.path("down")) == digests(source)


def went_over(place):
    """Bytes, over its network"""
    return int(place.run(["cat", "/proc/net/dev"]).stdout.split("lo:")[1]
               .split()[0])


@other
@ours_is
@pytest.mark.parametrize("compression", ["no", "yes"])
def test_tree_is_whole_between_builds(place, source, other, ours_is,
                                      compression):
    client, server = (OURS, tree_of(other)) if ours_is == "client" else \
        (tree_of(other), OURS)
    place.sshd(server, f"Subsystem sftp {server}/sftp-server")
    copies(place, source, "-o", f"Compression={compression}",
           *(STREAMS if client == OURS else ()), tree=client)
    assert (went_over(place) < 1.5 * SIZE) == (compression == "yes")


@other
@ours_is
def test_master_serves_clients_of_another_build(place, source, other, ours_is):
    """It stays (ControlPersist)."""
    sshd = place.sshd(OURS, f"Subsystem sftp {OURS}/sftp-server")
    client, master = (OURS, tree_of(other)) if ours_is == "client" else \
        (tree_of(other), OURS)
    control = ["-o", f"ControlPath={place.path('control')}"]
    done = place.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *place.ssh(
        *control, "-o", "ControlMaster=auto", "-o", "ControlPersist=600", HOST,
        "echo in", tree=master)])
    assert done.stdout == "in\n"
    copies(place, source, *control, *(STREAMS if client == OURS else ()),
           tree=client)
    assert logins(sshd) == 1
    done = place.run(place.ssh(*control, "-O", "exit", HOST, tree=client))
    assert done.returncode == 0
    wait_until("the master's end", lambda: not place.processes("ssh"))


@pytest.mark.parametrize("client", [OURS, STOCK], ids=["ours", "stock"])
def test_tree_is_whole_over_three_hops(place, source, client):
    for i, tree in enumerate((OURS, STOCK, OURS, STOCK)):
        sshd = place.sshd(tree, f"Subsystem sftp {tree}/sftp-server",
                          port=PORT + i)
    argv = place.ssh()
    with open(place.path("config"), "w") as f:
        f.writelines(f"{o}\n" for o in argv if "=" in o)
        f.write(f"IdentityFile {place.path('user')}\n")
    hops = ",".join(f"{HOST}:{PORT + i}" for i in range(3))
    copies(place, source, "-F", place.path("config"), "-J", hops,
           *(STREAMS if client == OURS else ()), tree=client, port=PORT + 3,
           ssh=ssh_script(place, f"{sshd.log}=Accepted=4")
           if client == OURS else None)
    assert (logins(sshd) > 2) == (client == OURS)


def test_copies_reach_into_a_chroot(place, source):
    """With internal-sftp, which asks for nothing in there."""
    place.as_root("mount -t tmpfs -o mode=755 none /mnt; mkdir /mnt/home; "
                  f"chown {USER} /mnt/home")
    sshd = place.sshd(OURS, "Subsystem sftp internal-sftp",
                      "ForceCommand internal-sftp", "ChrootDirectory /mnt")
    copies(place, source, *STREAMS, there="/home",
           ssh=ssh_script(place, f"{sshd.log}=Accepted=4"))
    inside = f"/proc/{place.holder.pid}/root/mnt/home/up"
    os.truncate(f"{inside}/large", SIZE // 2)
    before = went_over(place)
    done = place.run(place.scp("-Z", f"{source}/large", f"{HOST}:/home/up/"))
    assert (done.returncode, done.stderr) == (0, "")
    assert SIZE / 2 < went_over(place) - before < SIZE * 3 / 4
    assert digests(inside) == digests(source)
    assert logins(sshd) > 3


def test_sessions_survive_a_hangup_of_sshd(place):
    """It starts again, with what its file has then."""
    sshd = place.sshd(OURS)
    data = content(16 * MIB)
    with open(place.path("copy"), "wb") as copy:
        ssh = place.start(place.ssh(HOST, "cat"), stdin=subprocess.PIPE,
                          stdout=copy)
    ssh.stdin.write(data[:8 * MIB])
    wait_until("its half",
               lambda: os.path.getsize(place.path("copy")) == 8 * MIB)
    with open(place.path(f"sshd_config.{PORT}"), "a") as f:
        f.write("ForceCommand echo anew\nChannelWindowMax 8M\n")
    os.kill(sshd.pid, signal.SIGHUP)
    wait_until("sshd", lambda: read(sshd.log).count("Server listening") == 2)
    assert place.run(place.ssh(HOST)).stdout == "anew\n"
    ssh.stdin.write(data[8 * MIB:])
    ssh.stdin.close()
    assert ssh.wait(300) == 0
    with open(place.path("copy"), "rb") as copy:
        assert copy.read() == data


# It lets nothing pass of a connection that it has not seen begin
FIREWALL = """table inet t { chain c {
    type filter hook input priority 0; policy drop;
    ct mark 1 accept; ct state new tcp flags syn ct mark set 1 accept; }; }"""

EXPIRY_S = "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established"


@pytest.mark.parametrize("tree", [OURS, STOCK], ids=["ours", "stock"])
@pytest.mark.parametrize("forget", ["conntrack -F", f"echo 1 > {EXPIRY_S}"],
                         ids=["flush", "expiry"])
def test_connection_that_a_firewall_forgets_ends(place, tree, forget):
    """Both ends notice and say so. The next connection is let in."""
    for name in ("conntrack", "nft"):
        if not shutil.which(name):
            pytest.skip(f"no {name}")
    sshd = place.sshd(tree, "ClientAliveInterval 3")
    done = place.run(["sh", "-ec", f"conntrack -L; nft '{FIREWALL}'"],
                     root=True)
    if "not supported" in done.stderr:
        pytest.skip("no connection tracking in this kernel")
    assert done.returncode == 0, done.stderr
    ssh = place.start(place.ssh(
        "-o", "ServerAliveInterval=3", HOST, "cat", tree=tree, level="INFO"),
        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    ssh.stdin.write("x\n")
    ssh.stdin.flush()
    assert ssh.stdout.readline() == "x\n"
    place.as_root(
        f"while conntrack -L | grep -q .; do {forget}; sleep 2; done")
    said = ssh.communicate("y\n", timeout=300)
    assert said[0] == "" and "Timeout, server 127.0.0.1 not respond" in said[1]
    assert ssh.returncode == 255
    wait_until("sshd's timeout",
               lambda: "Timeout, client not responding" in read(sshd.log))
    place.as_root(f"echo 1000 > {EXPIRY_S}")
    assert place.still_serves()


def test_all_streams_have_the_ipqos(place, source):
    place.sshd(OURS, f"Subsystem sftp {OURS}/sftp-server")
    with open(place.path("seen"), "w", buffering=1) as f:
        scp = place.start(place.scp(
            *STREAMS, "-o", "IPQoS=af21", f"{source}/large",
            f"{HOST}:{place.path('copy')}", ssh=ssh_script(
                place, f"{f.name}==1")), stdin=subprocess.DEVNULL)
        seen = wait_until("its connections", lambda: four(
            place.run(["ss", "-Htn", "--tos", "state", "established",
                       f"dport = :{PORT}"]).stdout))
        assert seen == ["0x48"] * 4 and scp.poll() is None
        print(file=f)
    assert scp.wait(300) == 0
    assert filecmp.cmp(f"{source}/large", place.path("copy"), shallow=False)


def four(shown):
    found = re.findall(r"tos:(\S+)", shown)
    return found if len(found) == 4 else None
