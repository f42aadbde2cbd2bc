"""Logins of an ssh to an sshd: what a user sees, what the server logs, what an
agent was asked, and the order of messages."""

import collections
import contextlib
import os
import pathlib
import re
import socket
import subprocess
import threading

from loopback import (HOST, OURS, STOCK, children, program, read, wait_until)

SERVICE, ACCEPT, REQUEST, FAILURE, SUCCESS, PK_OK = 5, 6, 50, 51, 52, 60
GLOBAL_REQUEST, OPEN, CONFIRM, CHANNEL_REQUEST = 80, 90, 91, 98
SIGN_REQUEST = 13               # of an agent
# Lines of a server's log that no two connections have alike. (Which end sees
# the other one's end first is a race.)
LOST = r"(.*(closed by remote host|Connection reset|Broken pipe).*(\n|$))+"
VARIES = r"^(Transferred: |channel \d+: |TCP |debug|Close session: |syslogin_)"


def keygen(place, *arguments, **kwargs):
    done = place.run([f"{STOCK}/ssh-keygen", "-q", *arguments], **kwargs)
    assert done.returncode == 0, done.stderr


def key(place, name, *arguments, kind="ed25519"):
    """A key of that name; its path."""
    path = place.path(name)
    keygen(place, "-t", kind, "-N", "", "-f", path, *arguments)
    return path


def authorize(place, *names):
    """The option of an sshd that takes these keys."""
    with open(place.path("authorized"), "w") as f:
        f.writelines(read(place.path(f"{name}.pub")) for name in names)
    return f"AuthorizedKeysFile {place.path('authorized')}"


class Prompts:
    """A program that answers prompts, and what it was asked."""

    def __init__(self, place, script):
        self.log = place.path("asked")
        self.env = {"SSH_ASKPASS_REQUIRE": "force", "SSH_ASKPASS": program(
            place.path("askpass"), f'echo "$1" >> {self.log}\n{script}')}

    def taken(self):
        """What was asked since the last call."""
        said = read(self.log)
        pathlib.Path(self.log).write_text("")
        return said


class Agent:
    """An agent between ssh and stock's, which counts what it is asked. May
    refuse to sign."""

    def __init__(self, place, env=(), refuses=False):
        self.asked, self.refuses = collections.Counter(), refuses
        self.real, self.path = place.path("real"), place.path("agent")
        self.place = place
        place.start([f"{STOCK}/ssh-agent", "-D", "-a", self.real],
                    stdout=subprocess.DEVNULL, env={**os.environ, **dict(env)})
        wait_until("the agent", lambda: socket.socket(
            socket.AF_UNIX).connect_ex(self.real) == 0)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen()
        self.env = {"SSH_AUTH_SOCK": self.path}
        threading.Thread(target=self.serve, daemon=True).start()

    def add(self, *arguments):
        done = self.place.run([f"{STOCK}/ssh-add", "-q", *arguments],
                              env={**os.environ, "SSH_AUTH_SOCK": self.real})
        assert done.returncode == 0, done.stderr

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.one, daemon=True,
                                 args=(self.socket.accept()[0],)).start()

    def one(self, ssh):
        with ssh, socket.socket(socket.AF_UNIX) as real:
            real.connect(self.real)
            ends = ssh.makefile("rb"), real.makefile("rb")
            while asked := self.message(ends[0]):
                self.asked[asked[4]] += 1
                if self.refuses and asked[4] == SIGN_REQUEST:
                    ssh.sendall(b"\0\0\0\1\5")
                    continue
                real.sendall(asked)
                ssh.sendall(self.message(ends[1]))

    @staticmethod
    def message(end):
        length = end.read(4)
        return length and length + end.read(int.from_bytes(length, "big"))

    def taken(self):
        """Kinds of requests since the last call, counted."""
        asked, self.asked = self.asked, collections.Counter()
        return asked


class Case:
    """A login: options of sshd and of ssh, those that ssh does not get, what is
    typed, and what has to come of it. seen: programs that answer ssh, and tell
    what they were asked. logs: a line that our ssh makes sshd log besides."""

    def __init__(self, *ssh, sshd=(), drop=(), status=0, command="echo ran",
                 typed="", seen=(), env=(), logs=None):
        self.ssh, self.sshd, self.drop, self.status = ssh, sshd, drop, status
        self.command, self.typed, self.seen = command, typed, seen
        self.logs = logs
        self.env = dict(env)
        for one in seen:
            self.env.update(one.env)


def without(words, options):
    """The words of a command, without some that follow -o."""
    return [word for i, word in enumerate(words) if not any(
        w.startswith(tuple(options)) for w in words[i:i + 1 + (word == "-o")])]


def run(place, case, tree, level="INFO", port=2222):
    """ssh of a tree, with what was typed as its input."""
    with open(place.path("typed"), "w") as f:
        f.write(case.typed)
    words = place.ssh(*case.ssh, HOST, case.command, tree=tree, level=level,
                      port=port)
    return place.run(["sh", "-c", 'exec "$@" < "$0"', place.path("typed"),
                      *without(words, case.drop)],
                     env={**os.environ, **case.env})


def ended(sshd):
    """Once all connections of an sshd have, and itself. Returns its log."""
    wait_until("the connections' end", lambda: not children(sshd.pid))
    sshd.terminate()
    sshd.wait()
    return read(sshd.log)


def plain(text):
    return re.sub(LOST, "connection lost\n", re.sub(
        r"\b(port|pid|seq) \d+", r"\1 N", text.replace("\r", "")))


def observe(place, case, server, tree):
    """All that is to be seen of a case, with an sshd and an ssh of these trees
    and a host that is not known. The server's log is sorted."""
    pathlib.Path(place.path("known_hosts")).unlink(missing_ok=True)
    sshd = place.sshd(server, *case.sshd)
    done = run(place, case, tree)
    log = [plain(line) for line in ended(sshd).splitlines()
           if not re.search(VARIES, line)]
    return {"status": done.returncode, "output": done.stdout,
            "said": plain(done.stderr).replace(tree, ""),
            "seen": [one.taken() for one in case.seen], "log": sorted(log)}


def flow(log):
    """(whether ssh sent it, its kind) of each message from the request for a
    service on, by ssh's own log."""
    kinds = [(way == "send", int(kind)) for way, kind in
             re.findall(r"(send|receive) packet: type (\d+)", log)]
    return kinds[kinds.index((True, SERVICE)):]


def sent_before(kinds, *until):
    """The kinds that ssh sent before it received one of these."""
    end = next((i for i, (sent, kind) in enumerate(kinds)
                if not sent and kind in until), len(kinds))
    return [kind for sent, kind in kinds[:end] if sent]


def has_pam(tree=OURS):
    return re.search(r"^#define USE_PAM 1", read(f"{tree}/config.h"), re.M)
