"""The peers that others wrote: data. A command's words stand for

    {host} {port}       where the server is
    {home}              a folder with the keys user and host, user.ppk for
                        PuTTY and user.db, host.db for Dropbear; ssh_config
    {source} {copy}     files: of the server and the client, or the reverse
    {tree}              build/stock or build/openssh, whose ssh it is
    {build} {cache} {here} {python}
    {fingerprint}       of the host's key

get is from the server to the client, put the other way round."""

import functools
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BDP_BUILD", "build"))
CACHE = os.path.join(
    os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
    "openssh-bdp", "interop")
TREES = ("stock", "openssh")
DIRECTIONS = ("get", "put")


class Peer:
    """modes: what it can do, each as (get, put). debian: its packages. made:
    the name under which "install" makes it. serves: the server's command."""

    def __init__(self, modes, debian=(), made=None, version=None, serves=None,
                 quick=()):
        self.modes, self.debian, self.made = modes, debian, made
        self.pinned, self.serves, self.quick = version, serves, quick

    def version(self):
        if self.pinned:
            return self.pinned()
        return ", ".join(
            f"{p} {v}" for p in self.debian for v in [subprocess.run(
                ["dpkg-query", "-W", "-f", "${Version}", p], check=True,
                capture_output=True, text=True).stdout])


def both(*argv):
    """{verb} is get or put."""
    return tuple([w.replace("{verb}", verb) for w in argv]
                 for verb in DIRECTIONS)


def driver(*argv, modes):
    return {mode: both(*argv, mode, "{verb}", "{host}", "{port}",
                       "{home}/user", "{source}", "{copy}")
            for mode in modes}


def shell(get, put):
    return ["sh", "-c", get], ["sh", "-c", put]


def cat(ssh):
    return shell(f"{ssh} 'cat {{source}}' > {{copy}}",
                 f"{ssh} 'cat > {{copy}}' < {{source}}")


def batch(sftp):
    return shell(f"echo get {{source}} {{copy}} | {sftp}",
                 f"echo put {{source}} {{copy}} | {sftp}")


def in_file(name, pattern):
    with open(os.path.join(HERE, name)) as f:
        return ", ".join(" ".join(found.groups()) for found in
                         re.finditer(pattern, f.read(), re.M))


# Its own window is 24 KiB, 0.24 MB/s here whatever the other end does
DROPBEAR = "-W 2097152"
PUTTY = "-batch -i {home}/user.ppk -P {port} -hostkey {fingerprint}"
CURL = ["curl", "-sSk", "--key", "{home}/user", "--pubkey",
        "{home}/user.pub"]
URL = "{scheme}://root@{{host}}:{{port}}{path}"
OPENSSH = "-F {home}/ssh_config -o Port={port} root@{host}"


def curl(scheme):
    return (CURL + [URL.format(scheme=scheme, path="{source}"), "-o",
                    "{copy}"],
            CURL + ["-T", "{source}", URL.format(scheme=scheme,
                                                 path="{copy}")])


def openssh(tree):
    return {"exec": cat(f"{tree}/ssh {OPENSSH}"),
            "sftp": batch(f"{tree}/sftp -b - -S {tree}/ssh {OPENSSH}")}


GO_MODES = ("readfrom", "at", "many", "one", "exec")
PYTHON_MODES = ("sftp", "exec")
# A thread that another wakes has to let that finish: node waits for it with
# sched_yield(2), for ever on the lab's one CPU
NODE = ["chrt", "--batch", "0", "node", "--single-threaded"]
SERVE = ["serve", "{port}", "{home}/host", "{home}/user.pub"]
JAVA = ["java", "-cp", "{cache}/mina:{cache}/mina/jars/*", "Peer"]

CLIENTS = {
    "Go": Peer(
        driver("{cache}/go/peer", modes=GO_MODES), made="go",
        version=lambda: in_file("go/go.mod", r"(x/crypto|pkg/sftp) v(\S+)")),
    "Go, Debian's": Peer(
        driver("{cache}/go-debian/peer", modes=("readfrom", "at")),
        made="go-debian", quick=("readfrom", "at"),
        debian=("golang-golang-x-crypto-dev", "golang-github-pkg-sftp-dev")),
    "paramiko": Peer(
        driver("{python}", "{here}/paramiko_peer.py", modes=PYTHON_MODES),
        debian=("python3-paramiko",), quick=("sftp",)),
    "asyncssh": Peer(
        driver("{python}", "{here}/asyncssh_peer.py", modes=PYTHON_MODES),
        debian=("python3-asyncssh",)),
    "libssh2": Peer(
        {"sftp": curl("sftp"), "scp": curl("scp")},
        debian=("libssh2-1", "curl"), quick=("scp",)),
    "libssh": Peer(
        driver("{cache}/libssh/peer", modes=PYTHON_MODES), made="libssh",
        debian=("libssh-4",)),
    "Dropbear": Peer(
        {"dbclient": cat(f"dbclient -y -y {DROPBEAR} -i {{home}}/user.db "
                         "-p {port} root@{host}")}, debian=("dropbear-bin",)),
    "PuTTY": Peer(
        {"plink": cat(f"plink {PUTTY} root@{{host}}"),
         "pscp": shell(f"pscp -q {PUTTY} root@{{host}}:{{source}} {{copy}}",
                       f"pscp -q {PUTTY} {{source}} root@{{host}}:{{copy}}"),
         "psftp": batch(f"psftp -b /proc/self/fd/0 {PUTTY} root@{{host}}")},
        debian=("putty-tools",), quick=("plink",)),
    "OpenSSH of Debian 12": Peer(
        openssh("{build}/debian12"), version=lambda: "9.2p1"),
    "ssh2": Peer(
        driver(*NODE, "{cache}/ssh2/peer.js", modes=PYTHON_MODES), made="ssh2",
        version=lambda: in_file("ssh2/package.json", r'"(ssh2)": "(.*)"')),
    "Apache MINA": Peer(
        driver(*JAVA, modes=PYTHON_MODES), made="mina",
        version=lambda: in_file("mina/sums", r"(sshd-sftp)-(.*)\.jar")),
    "russh": Peer(
        driver("{cache}/russh/peer", modes=("sftp", "many", "exec")),
        made="russh", version=lambda: in_file(
            "russh/Cargo.toml", r'^(russh|russh-sftp) = .*"=([0-9.]+)"')),
}

SERVERS = {
    "Go": Peer(
        {"sftp": openssh("{tree}")["sftp"]}, made="go",
        version=CLIENTS["Go"].version, serves=["{cache}/go/peer", *SERVE]),
    "paramiko": Peer(
        openssh("{tree}"), debian=("python3-paramiko",),
        serves=["{python}", "{here}/paramiko_peer.py", *SERVE]),
    "asyncssh": Peer(
        openssh("{tree}"), debian=("python3-asyncssh",),
        serves=["{python}", "{here}/asyncssh_peer.py", *SERVE]),
    "Apache MINA": Peer(
        openssh("{tree}"), made="mina", version=CLIENTS["Apache MINA"].version,
        serves=JAVA + SERVE),
    "Dropbear": Peer(
        {"exec": openssh("{tree}")["exec"]}, debian=("dropbear-bin",),
        serves=["dropbear", *DROPBEAR.split(), "-F", "-E", "-p", "{port}", "-r",
                "{home}/host.db"], quick=("exec",)),
    # Through a window of 64 KiB and Nagle's algorithm, sftp uploads at 0.52 or
    # 0.55 MB/s by chance, stock as ours: that compares nothing.
    "TinySSH": Peer(
        {"exec": openssh("{tree}")["exec"]}, made="tinyssh",
        version=lambda: in_file("install", r"^\tversion=(\S+)"),
        serves=["{cache}/tinyssh/serve", "{port}", "{home}",
                "{build}/stock/sftp-server"]),
    "OpenSSH of Debian 12": Peer(
        openssh("{tree}"), version=lambda: "9.2p1",
        serves=["sh", "-c",
                "if [ ! -d /run/sshd ]; then mount -t tmpfs tmpfs /run; "
                "mkdir /run/sshd; fi; "
                "exec {build}/debian12/sshd -D -e -f /dev/null -p {port} "
                "-h {home}/host -o AuthorizedKeysFile={home}/user.pub "
                "-o StrictModes=no -o PermitRootLogin=yes -o UsePAM=no "
                "-o PidFile=none "
                "-o Subsystem='sftp {build}/debian12/sftp-server'"]),
}
ROLES = {"client": CLIENTS, "server": SERVERS}


def prepare(home):
    """Makes what commands want in home, where the keys user and host are."""
    def run(*argv):
        subprocess.run(argv, check=True, capture_output=True)

    path = os.environ["PATH"] + ":/usr/sbin"
    for key in ("user", "host"):
        if shutil.which("dropbearconvert", path=path):
            run("dropbearconvert", "openssh", "dropbear", f"{home}/{key}",
                f"{home}/{key}.db")
    if shutil.which("puttygen", path=path):
        run("puttygen", f"{home}/user", "-o", f"{home}/user.ppk")
    os.makedirs(f"{home}/.ssh", mode=0o700, exist_ok=True)
    shutil.copyfile(f"{home}/user.pub", f"{home}/.ssh/authorized_keys")
    with open(f"{home}/ssh_config", "w") as f:
        f.write(f"IdentityFile {home}/user\nIdentitiesOnly yes\n"
                "BatchMode yes\nStrictHostKeyChecking no\nLogLevel ERROR\n"
                "UserKnownHostsFile /dev/null\n")


def fingerprint(home):
    return subprocess.run(
        [f"{BUILD}/stock/ssh-keygen", "-lf", f"{home}/host.pub"],
        check=True, capture_output=True, text=True).stdout.split()[1]


def command(argv, home, tree="", **words):
    words = {"cache": CACHE, "build": BUILD, "here": HERE,
             "tree": os.path.join(BUILD, tree), "python": sys.executable,
             "home": home, "fingerprint": fingerprint(home), **words}
    return ["env", f"HOME={home}"] + [w.format(**words) for w in argv]


@functools.lru_cache(maxsize=None)
def absent(role, name):
    """Why this peer can't be had here; makes it, if that is all it takes."""
    peer = ROLES[role][name]
    for package in peer.debian:
        if subprocess.run(["dpkg-query", "-W", package],
                          capture_output=True).returncode != 0:
            return f"no {package}"
    if "Debian 12" in name and not os.path.exists(f"{BUILD}/debian12/.built"):
        return "no build/debian12: see \"make debian12\""
    if peer.made:
        done = subprocess.run([os.path.join(HERE, "install"), peer.made],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return f"no {name}: " + done.stderr.strip().split("\n")[-1]
    return None
