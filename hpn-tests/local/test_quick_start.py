"""QuickStart: what ssh sends early, and what becomes of it."""

import contextlib
import fcntl
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

from loopback import (OURS, STOCK, place, read,     # noqa: F401
                      wait_until)
from quick_login import (ASKED, CHANNEL_REQUEST, EOF, HOST, OPEN,   # noqa: F401
                         REQUEST, SIGN_REQUEST, authorize, home, is_quick, key,
                         known, login, place_key, remember, stop, without)


def test_no_is_stock(home):
    home.sshd()
    stock = login(home, tree=STOCK)
    remember(home)
    before = read(known(home))
    done = home.run(home.ssh("-o", "QuickStart=no", HOST, "echo ran",
                             level="DEBUG3"))
    sent = [int(k) for k in re.findall(r"send packet: type (\d+)",
                                       done.stderr) if int(k) != EOF]
    assert sent[-len(stock.sent):] == stock.sent
    assert "QuickStart:" not in done.stderr
    assert "quick_hosts" not in done.stderr
    assert read(known(home)) == before
    os.unlink(known(home))
    assert login(home, quick="no").early == ASKED
    assert not os.path.exists(known(home))


@pytest.mark.parametrize("tree", [OURS, STOCK])
@pytest.mark.parametrize("quick", ["yes", "always"])
def test_a_first_login_is_stock(home, tree, quick):
    """A host that is not remembered gets what it gets of stock, also from the
    master of shared connections."""
    home.sshd(tree)
    stock = login(home, tree=STOCK)
    assert login(home, quick=quick).sent == stock.sent
    assert login(home, quick=quick).sent != stock.sent
    sent = []
    for value in (quick, "no"):
        os.unlink(known(home))
        log = home.path(f"log.{value}")
        assert home.run(home.ssh(
            "-o", f"QuickStart={value}", "-E", log, "-S", home.path("c"), "-M",
            HOST, "true", level="DEBUG3")).returncode == 0
        # Standard input may end before the command does, or after it.
        sent.append([k for k in map(int, re.findall(
            r"send packet: type (\d+)", read(log))) if k != EOF])
        with open(known(home), "a"):
            pass
    assert sent[0] == sent[1] and len(sent[0]) > 5


def pinged(done):
    return re.findall(r"(\d+) bytes of a ping", done.stderr)


def small_segments(home):
    """As large as an Ethernet's, in the loopback."""
    home.inside(lambda: subprocess.run(
        ["ip", "link", "set", "lo", "mtu", "1500"], check=True))


def test_ping(home):
    """An older sshd gets a ping behind the signature, if no session is there:
    answered or not, the login is as usual."""
    small_segments(home)
    keys = authorize(home, read(home.path("user.pub")))
    home.sshd(STOCK, keys)
    other = key(home, "other")
    assert pinged(remember(home)) == []
    for quick, pings in (("yes", ["1448"]), ("always", []), ("no", [])):
        done = login(home, quick=quick)
        assert pinged(done) == pings, done.stderr
        if quick != "no":
            assert is_quick(done, quick == "always")
    authorize(home, read(f"{other}.pub"))
    done = login(home, "-i", other)         # the first key is refused
    assert done.returncode == 0 and done.stdout == "ran\n", done.stderr
    assert pinged(done) == ["1448"]


def test_no_ping(home):
    """A segment of the loopback's size is not filled, and our sshd keeps
    nothing back."""
    home.sshd(STOCK)
    remember(home)
    assert pinged(login(home)) == []
    stop(home)
    small_segments(home)
    home.sshd()
    assert pinged(login(home)) == []


def test_the_option(home):
    for value in ("no", "yes", "always"):
        done = home.run([f"{OURS}/ssh", "-G", "-F", "none", "-o",
                         f"QuickStart={value}", "h"])
        assert f"quickstart {value}\n" in done.stdout
    done = home.run([f"{OURS}/ssh", "-G", "-F", "none", "h"])
    assert "quickstart yes\n" in done.stdout
    done = home.run([f"{OURS}/ssh", "-G", "-o", "QuickStart=maybe", "h"])
    assert done.returncode == 255 and \
        "QuickStart must be no, yes or always" in done.stderr


def test_the_default(home):
    """Without the option, the second login is quick."""
    home.sshd()
    argv = home.ssh(HOST, "echo ran", level="DEBUG1")
    for quick in (False, True):
        done = home.run(argv)
        assert done.returncode == 0 and done.stdout == "ran\n"
        assert ("QuickStart: 6 round trips saved" in done.stderr) == quick


def test_ours(home):
    home.sshd()
    remember(home)
    assert os.stat(known(home)).st_mode & 0o777 == 0o600
    assert "127.0.0.1" not in read(known(home))
    done = login(home)
    assert is_quick(done, with_session=True)
    assert "QuickStart: 6 round trips saved" in done.stderr


@pytest.mark.parametrize("quick", ["yes", "always"])
def test_stock_server(home, quick):
    home.sshd(STOCK)
    remember(home, quick=quick)
    done = login(home, quick=quick)
    assert is_quick(done, with_session=quick == "always")
    # Behind the opening in any case
    at = done.sent.index(OPEN)
    assert done.sent[at + 1] == CHANNEL_REQUEST


def test_other_channel_numbers(home):
    """A server that calls itself OpenSSH and numbers its channels from 5 is
    asked for the number at each login."""
    paramiko = pytest.importorskip("paramiko")

    class Server(paramiko.ServerInterface):
        def get_allowed_auths(self, user):
            return "publickey"

        def check_auth_publickey(self, user, key):
            return paramiko.AUTH_SUCCESSFUL

        def check_channel_request(self, kind, number):
            return paramiko.OPEN_SUCCEEDED

        def check_channel_exec_request(self, channel, command):
            def run():
                channel.sendall(b"ran\n")
                channel.send_exit_status(0)
                channel.close()
            threading.Timer(0.1, run).start()
            return True

    def listen():
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 2222))
        listener.listen()
        return listener

    def serve():
        with contextlib.suppress(OSError):
            while True:
                transport = paramiko.Transport(listener.accept()[0])
                transport.local_version = "SSH-2.0-OpenSSH_9.9"
                transport.add_server_key(host_key)
                transport._channel_counter = 5
                with contextlib.suppress(paramiko.SSHException, EOFError):
                    transport.start_server(server=Server())

    listener = home.inside(listen)
    host_key = paramiko.ECDSAKey.generate()
    threading.Thread(target=serve, daemon=True).start()
    try:
        for quick in ("yes", "yes", "always", "yes"):
            done = login(home, quick=quick)
            assert done.returncode == 0 and done.stdout == "ran\n", done.stderr
            assert OPEN not in done.early
        assert os.path.exists(known(home))
    finally:
        listener.close()


def test_subsystem_and_output(home):
    home.sshd(OURS, f"Subsystem sftp {OURS}/sftp-server")
    remember(home)
    done = login(home, "-s", command="sftp")
    assert done.returncode == 0
    assert done.early == [5, REQUEST, OPEN, CHANNEL_REQUEST]
    done = login(home, "-s", command="none")
    assert done.returncode == 255
    assert "subsystem request failed on channel 0" in done.stderr
    big = login(home, command="head -c 5000000 /dev/zero")
    assert len(big.stdout) == 5000000
    assert login(home, command="exit 7").returncode == 7


def test_another_key_first(home):
    """The remembered key must not go before one that stock tries first."""
    other = key(home, "other")
    line = authorize(home, 'command="echo other" ', read(other + ".pub"),
                     read(home.path("user.pub")))
    home.sshd(OURS, line)
    remember(home)
    argv = home.ssh("-o", "QuickStart=yes", HOST, "echo ran", level="DEBUG1")
    argv[3:3] = ["-i", other]
    done = home.run(argv)
    assert done.stdout == "other\n", done.stderr
    assert "signing at once" not in done.stderr
    # The other is what is remembered now
    assert "signing at once" in home.run(argv).stderr
    assert login(home).early == ASKED


def test_a_key_that_is_gone(home):
    home.sshd(OURS, authorize(home, read(home.path("user.pub"))))
    remember(home)
    authorize(home)
    stock = login(home, tree=STOCK)
    done = login(home, command=f"touch {home.path('ran')}")
    assert done.returncode == stock.returncode == 255
    assert done.early == [5, REQUEST, OPEN, CHANNEL_REQUEST]
    last = "Permission denied (publickey,password,keyboard-interactive)."
    assert last in done.stderr and last in stock.stderr
    assert not os.path.exists(home.path("ran"))


def test_refused_once(home):
    """The login is forgotten when its signature goes out: the next one asks."""
    home.sshd(OURS, authorize(home, read(home.path("user.pub"))))
    remember(home)
    assert is_quick(login(home), True)
    authorize(home)
    refused = login(home)
    assert refused.returncode == 255 and refused.early[:2] == [5, REQUEST]
    again = login(home)
    assert again.returncode == 255 and OPEN not in again.early
    authorize(home, read(home.path("user.pub")))
    assert login(home).early == ASKED


@pytest.mark.parametrize("narrowed", [False, True])
def test_rsa_is_asked_for(home, narrowed):
    """A server that takes one of its algorithms from some users announces all
    of them, and counts a signature by another against the key."""
    path = place_key(home, "id_rsa_own", "-t", "rsa")
    for suffix in ("", ".pub"):
        os.replace(path + suffix, home.path("user" + suffix))
    home.sshd(OURS, authorize(home, read(home.path("user.pub"))),
              *["Match User root",
                "PubkeyAcceptedAlgorithms rsa-sha2-256"] * narrowed)
    for _ in range(3):
        done = login(home)
        assert done.returncode == 0 and done.early == ASKED


def test_keys_for_the_agent_are_asked_for(home):
    home.sshd()
    remember(home)
    done = login(home, "-o", "AddKeysToAgent=yes")
    assert done.early == ASKED


def test_banner_is_whole(home):
    """Into a pipe that is read late, beside an early session."""
    with open(home.path("banner"), "w") as f:
        f.write("b" * 79 + "\n")
        f.write(("c" * 79 + "\n") * 1500)
    home.sshd(OURS, f"Banner {home.path('banner')}")
    argv = home.ssh("-o", "QuickStart=yes", HOST, "true", level="INFO")
    sizes = []
    for _ in range(2):
        process = home.start(argv, stderr=subprocess.PIPE)
        time.sleep(1)
        sizes.append(len(process.stderr.read()))
        assert process.wait() == 0
    assert min(sizes) >= 120080


def test_fallback_to_the_next_key(home):
    """Refused, then another key: the command runs once."""
    other = key(home, "other")
    count = home.path("count")
    home.sshd(OURS, authorize(home, read(home.path("user.pub"))))
    remember(home)
    authorize(home, read(other + ".pub"))
    done = login(home, "-i", other, command=f"echo x >> {count}")
    assert done.returncode == 0, done.stderr
    assert read(count) == "x\n"
    assert done.early[:4] == [5, REQUEST, OPEN, CHANNEL_REQUEST]


def test_partial_success(home):
    home.sshd(OURS, authorize(home, read(home.path("user.pub"))))
    remember(home)
    stop(home)
    home.sshd(OURS, authorize(home, read(home.path("user.pub"))),
              "AuthenticationMethods publickey,password")
    done = login(home, command=f"touch {home.path('ran')}")
    assert done.returncode == 255 and "Permission denied" in done.stderr
    assert not os.path.exists(home.path("ran"))


@pytest.mark.parametrize("option", ["MaxAuthTries 1", "Banner /etc/hostname",
                                    "ForceCommand echo ran",
                                    "PermitUserEnvironment no"])
def test_servers_options(home, option):
    home.sshd(OURS, option)
    first = login(home)
    second = login(home)
    assert first.returncode == second.returncode, second.stderr
    assert first.stdout == second.stdout
    assert is_quick(second, with_session=True)


def test_no_sessions(home):
    """Stock's message and exit status."""
    home.sshd(OURS, "MaxSessions 0")
    told = login(home, tree=STOCK)
    assert "open failed: " in told.stderr
    for n in range(2):
        done = home.run(home.ssh("-o", "QuickStart=yes", HOST, "true",
                                 level="INFO"))
        assert done.returncode == told.returncode == 255
        assert re.findall("^channel 0.*", done.stderr, re.M) == \
            re.findall("^channel 0: open failed.*", told.stderr, re.M)
        assert "disconnect" not in done.stderr, (n, done.stderr)
    assert "signing at once" not in login(home).stderr


def test_another_host_key(home):
    home.sshd()
    remember(home)
    os.rename(home.path("host"), home.path("host.was"))
    stop(home)
    shutil.copy(key(home, "newhost"), home.path("host"))
    os.unlink(home.path("known_hosts"))
    home.sshd()
    assert login(home).early == ASKED
    assert is_quick(login(home), with_session=True)


def test_what_comes_later(home):
    """Where the order could matter, the session is not sent early."""
    home.sshd()
    remember(home)
    for options in (["-tt"], ["-A"], ["-C"], ["-X"], ["-L", "4444:h:1"],
                    ["-R", "0:h:1"], ["-o", "ControlMaster=auto"],
                    ["-o", "PermitLocalCommand=yes", "-o",
                     "LocalCommand=true"],
                    ["-o", f"ControlPath={home.path('c')}"]):
        done = login(home, *options)
        assert done.returncode == 0, done.stderr
        assert done.early == [5, REQUEST], options
    many = {**os.environ, **{f"LC_{n}": "x" * 500 for n in range(80)}}
    argv = home.ssh("-o", "QuickStart=yes", "-o", "SendEnv=LC_*", HOST,
                    "echo ran", level="DEBUG1")
    done = home.run(argv, env=many)
    assert done.stdout == "ran\n"
    assert "signing at once" in done.stderr
    assert "session sent with" not in done.stderr


def test_through_a_master(home):
    """A proxy exchanges no keys, and neither client sends a session early."""
    home.sshd()
    remember(home)
    path = home.path("c")
    home.start(home.ssh("-o", f"ControlPath={path}", "-M", "-N", HOST),
               stdin=subprocess.DEVNULL)
    wait_until("the master", lambda: os.path.exists(path))
    for options in (["-S", path], ["-O", "proxy", "-S", path]):
        for quick in ("no", "yes", "always"):
            done = login(home, *options, quick=quick)
            assert done.returncode == 0, done.stderr
            assert done.stdout == "ran\n"


def test_agent(home):
    home.sshd()
    script = ('eval $("$1" -s) > /dev/null; "$2" -q "$3"; shift 3; "$@"; '
              '"$@"; kill $SSH_AGENT_PID')
    argv = ["sh", "-c", script, "sh", f"{STOCK}/ssh-agent",
            f"{STOCK}/ssh-add", home.path("user"),
            *home.ssh("-o", "QuickStart=yes", HOST, "echo ran",
                      level="DEBUG1")]
    done = home.run(argv)
    assert done.stdout == "ran\n" * 2, done.stderr
    assert done.stderr.count("signing at once") == 1
    # From the file it is another login
    assert login(home).early == ASKED


class Agent:
    """An agent between ssh and the real one, which may refuse to sign."""

    def __init__(self, place):          # noqa: F811
        self.refuses = False
        self.real, self.path = place.path("real"), place.path("agent")
        place.start([f"{STOCK}/ssh-agent", "-D", "-a", self.real],
                    stdout=subprocess.DEVNULL)
        wait_until("the agent", lambda: os.path.exists(self.real))
        place.run([f"{STOCK}/ssh-add", "-q", place.path("user")],
                  env={**os.environ, "SSH_AUTH_SOCK": self.real})
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                self.one(self.socket.accept()[0])

    def one(self, ssh):
        with ssh, socket.socket(socket.AF_UNIX) as real:
            real.connect(self.real)
            ends = ssh.makefile("rb"), real.makefile("rb")
            while asked := self.message(ends[0]):
                if self.refuses and asked[4] == SIGN_REQUEST:
                    ssh.sendall(b"\0\0\0\1\5")
                    continue
                real.sendall(asked)
                ssh.sendall(self.message(ends[1]))

    @staticmethod
    def message(end):
        length = end.read(4)
        return length and length + end.read(int.from_bytes(length, "big"))


def test_an_agent_that_refuses(home):
    home.sshd()
    agent = Agent(home)
    env = {**os.environ, "SSH_AUTH_SOCK": agent.path}
    argv = home.ssh("-o", "QuickStart=yes", HOST, "echo ran", level="DEBUG1")
    assert home.run(argv, env=env).returncode == 0
    assert "signing at once" in home.run(argv, env=env).stderr
    agent.refuses = True
    done = home.run(argv, env=env, timeout_s=100)
    assert "QuickStart: the key did not sign" in done.stderr
    assert done.returncode == 255 and "Permission denied" in done.stderr
    assert "Next authentication method: publickey" in done.stderr


def test_passphrase(home):
    """A key that may need somebody is asked for first."""
    home.sshd()
    remember(home)
    subprocess.run([f"{STOCK}/ssh-keygen", "-q", "-p", "-N", "secret", "-P",
                    "", "-f", home.path("user")], check=True)
    done = login(home)
    assert done.returncode == 255 and "signing at once" not in done.stderr


@pytest.mark.parametrize("spoil", ["text", "mode", "symlink", "fifo", "big",
                                   "folder"])
def test_a_file_that_is_not_ours(home, spoil):
    home.sshd()
    remember(home)
    path = known(home)
    if spoil == "text":
        with open(path, "a") as f:
            f.write("not a line\n")
    elif spoil == "big":
        with open(path, "a") as f:
            f.write(read(path) * 1000)
    elif spoil == "mode":
        os.chmod(path, 0o644)
    else:
        os.rename(path, path + ".real")
        if spoil == "symlink":
            os.symlink(path + ".real", path)
        elif spoil == "fifo":
            os.mkfifo(path, 0o600)
        else:
            os.mkdir(path, 0o700)
    done = login(home)
    assert done.returncode == 0 and done.early == ASKED
    ignored = re.findall(r"QuickStart: \S+ ignored", done.stderr)
    assert len(ignored) == 1
    # Only one that is damaged is replaced
    assert is_quick(login(home), True) if spoil in ("text", "big") else \
        login(home).early == ASKED


def beside(hosts):
    """Options with another file of known hosts: they count, as they are the
    first."""
    return ["-o", f"UserKnownHostsFile={hosts}"]


def with_hosts(home, hosts, *options, **kwargs):
    """A login with another file of known hosts, or with ssh's own."""
    return login(home, *([] if hosts is None else beside(hosts)), *options,
                 drop=["UserKnownHostsFile=" + home.path("known_hosts")],
                 **kwargs)


def everywhere(home):
    """All files that are called as ours."""
    return [os.path.join(folder, name)
            for folder, _, names in os.walk(home.folder)
            for name in names if name.startswith("quick_hosts")]


def test_beside_known_hosts(home):
    """In the folder of the first UserKnownHostsFile, ~/.ssh if there is none;
    folders don't share what they have."""
    home.sshd()
    for hosts, path in ((None, ".ssh/quick_hosts"),
                        ("~/.ssh/other", ".ssh/quick_hosts"),
                        (home.path("a/hosts") + " " + home.path("b/hosts"),
                         "a/quick_hosts"),
                        (home.path("b/hosts"), "b/quick_hosts")):
        os.makedirs(os.path.dirname(home.path(path)), 0o700, exist_ok=True)
        there = os.path.exists(home.path(path))
        done = with_hosts(home, hosts)
        assert is_quick(done, True) if there else done.early == ASKED
        assert os.stat(home.path(path)).st_mode & 0o777 == 0o600
        assert is_quick(with_hosts(home, hosts), True)
    assert len(everywhere(home)) == 3


@pytest.mark.parametrize("hosts", ["none", "/dev/null", "null,first", "link",
                                   "missing/hosts", "quick_hosts",
                                   "hardlink"])
def test_nothing_to_remember_beside(home, hosts):
    """ssh remembers nothing and logs in as stock if there are no known hosts of
    the user's, if their folder is missing, or if their file is quick_hosts."""
    home.sshd()
    path = home.path(hosts)
    if hosts == "link":
        os.symlink("/dev/null", path)
    elif hosts == "hardlink":
        with open(home.path("quick_hosts"), "w"):
            os.link(home.path("quick_hosts"), path)
        os.chmod(path, 0o600)
    elif hosts == "null,first":
        path = f"/dev/null {home.path('known_hosts')}"
    elif hosts in ("none", "/dev/null"):
        path = hosts
    before = everywhere(home)
    login(home, quick="no")             # "none" can't learn the host's key
    options = ["-o", f"GlobalKnownHostsFile={home.path('known_hosts')}"]
    first, ours, stock = [with_hosts(home, path, *options, quick=quick)
                          for quick in ("yes", "yes", "no")]
    assert first.returncode == ours.returncode == stock.returncode == 0
    assert ours.sent == stock.sent and ours.early == ASKED, ours.stderr
    assert everywhere(home) == before
    assert all(read(path) == "" for path in before)


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o770, 0o702, "owner"])
def test_a_folder_of_others(home, mode):
    """Where others can put a file, none is written, and none is read that was
    put there before."""
    home.sshd()
    folder = home.path("folder")
    os.mkdir(folder, 0o700)
    hosts = os.path.join(folder, "hosts")
    assert with_hosts(home, hosts).early == ASKED
    assert is_quick(with_hosts(home, hosts), True)
    if mode == "owner":
        os.chown(folder, 65534, -1)
    else:
        os.chmod(folder, mode)
    before = read(os.path.join(folder, "quick_hosts"))
    done = with_hosts(home, hosts)
    assert done.returncode == 0 and done.early == ASKED, done.stderr
    assert "nothing remembered beside" in done.stderr
    home.run([f"{OURS}/ssh-keygen", "-R", "[127.0.0.1]:2222", "-f", hosts])
    assert read(os.path.join(folder, "quick_hosts")) == before
    os.unlink(os.path.join(folder, "quick_hosts"))
    with_hosts(home, hosts)
    assert everywhere(home) == []


def test_no_home(place):                # noqa: F811
    """~/.ssh isn't there: not a word. ssh makes it for known_hosts."""
    place.sshd()
    argv = without(place.ssh("-o", "QuickStart=yes", HOST, "echo ran",
                             level="INFO"), "UserKnownHostsFile")
    done = place.run(argv)
    assert done.stdout == "ran\n" and "quick" not in done.stderr
    assert os.path.exists(place.path(".ssh/quick_hosts"))


def test_ssh_keygen_forgets(home):
    home.sshd()
    remember(home)
    assert with_hosts(home, None).early == ASKED
    lines = read(known(home))
    name, own = "[127.0.0.1]:2222", home.path(".ssh/quick_hosts")
    hosts = ["-f", home.path("known_hosts")]
    home.run([f"{OURS}/ssh-keygen", "-R", "127.0.0.1", *hosts])
    assert read(known(home)) == lines
    home.run([f"{OURS}/ssh-keygen", "-R", name])
    assert read(known(home)) == lines and read(own) == ""
    home.run([f"{OURS}/ssh-keygen", "-R", name, *hosts])
    assert read(known(home)) == ""
    assert login(home).early == ASKED


def test_ssh_keygen_forgets_without_known_hosts(home):
    home.sshd()
    remember(home)
    os.unlink(home.path("known_hosts"))
    done = home.run([f"{OURS}/ssh-keygen", "-R", "[127.0.0.1]:2222", "-f",
                     home.path("known_hosts")])
    assert "Cannot stat" in done.stderr
    assert read(known(home)) == ""


def test_a_lock_that_is_held(home):
    """Somebody holds the folder's lock: ssh waits for 0.1 s, then does as
    stock, and tries again at its end; ssh-keygen removes the host in spite of
    it."""
    home.sshd()
    remember(home)
    fd = os.open(home.folder, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    before = read(known(home))
    done = login(home)
    assert done.returncode == 0 and done.early == ASKED, done.stderr
    assert "not written: Resource temporarily" in done.stderr
    assert done.stderr.count("not written") == 2
    assert read(known(home)) == before
    home.run([f"{OURS}/ssh-keygen", "-R", "[127.0.0.1]:2222", "-f",
              home.path("known_hosts")])
    assert read(known(home)) == ""
    os.close(fd)
    remember(home)
    assert is_quick(login(home), True)


def test_a_lock_until_the_end(home):
    """What a lock kept ssh from writing it writes at its end."""
    home.sshd()
    fd = os.open(home.folder, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    ssh = home.start(home.ssh(HOST, "echo ran; cat"), text=True,
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     stderr=subprocess.DEVNULL)
    assert ssh.stdout.readline() == "ran\n"
    assert not os.path.exists(known(home))
    os.close(fd)
    ssh.communicate(timeout=300)
    assert ssh.returncode == 0 and is_quick(login(home), True)


def test_no_file_may_grow(home):
    """With a limit that lets nothing be written, logins are as stock's."""
    home.sshd()
    login(home, quick="no")             # known_hosts has the host's key
    for _ in range(2):
        argv = home.ssh("-o", "QuickStart=yes", HOST, "echo ran")
        done = home.run(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *argv])
        assert (done.returncode, done.stdout) == (0, "ran\n"), done
        assert everywhere(home) == []
    remember(home)
    before = read(known(home))
    done = home.run(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *argv])
    assert (done.returncode, done.stdout) == (0, "ran\n"), done
    assert everywhere(home) == [known(home)] and read(known(home)) == before


def test_forgotten_meanwhile(home):
    """ssh-keygen -R removes a host while sftp is there: it does not come
    back."""
    home.sshd(OURS, f"Subsystem sftp {OURS}/sftp-server")
    remember(home)
    ssh, *options = ["-P" if word == "-p" else word for word in home.ssh()]
    sftp = home.start([f"{OURS}/sftp", "-S", ssh, *options, HOST], text=True,
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                      stderr=subprocess.DEVNULL)
    sftp.stdin.write("pwd\n")
    sftp.stdin.flush()
    while "Remote working" not in sftp.stdout.readline():
        pass
    assert read(known(home)) != ""
    home.run([f"{OURS}/ssh-keygen", "-R", "[127.0.0.1]:2222", "-f",
              home.path("known_hosts")])
    assert read(known(home)) == ""
    sftp.communicate(timeout=300)
    assert read(known(home)) == ""


def test_many_at_once(home):
    """Nobody finds half a file."""
    home.sshd()
    argv = home.ssh("-o", "QuickStart=yes", HOST, "true", level="DEBUG1")
    started = [home.start(argv, stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
               for _ in range(8)]
    for ssh in started:
        _, said = ssh.communicate(timeout=300)
        assert ssh.returncode == 0 and "ignored" not in said
    assert is_quick(login(home), with_session=True)


def master(home, quick, *options, server=OURS):
    """A master of shared connections to a host that is remembered, and the
    file that it logs to."""
    home.sshd(server, *options)
    login(home, quick=quick)
    path, log = home.path("c"), home.path("master.log")
    with open(log, "w") as f:
        home.start(home.ssh("-o", f"QuickStart={quick}", "-o",
                            f"ControlPath={path}", "-M", "-N", HOST,
                            level="DEBUG3"),
                   stdin=subprocess.DEVNULL, stderr=f)
    wait_until("the master", lambda: os.path.exists(path))
    time.sleep(0.5)                     # what it asks is answered
    return path, log


def shared(home, path, command, **kwargs):
    return home.run(home.ssh("-S", path, HOST, command), **kwargs)


def openings(log):
    """Of each session, whether its command went out before its number came."""
    kinds = re.findall(r"(send|receive) packet: type (90|91|92|98)", read(log))
    return [kinds[i + 1] == ("send", "98") for i, kind in enumerate(kinds)
            if kind == ("send", "90")]


@pytest.mark.parametrize("quick,server,early", [
    ("yes", OURS, True), ("always", OURS, True), ("no", OURS, False),
    ("yes", STOCK, False), ("always", STOCK, False)])
def test_last_channel(home, quick, server, early):
    """Commands through a master go out with the opening of their session, to
    ours; the master asks nobody else, and nobody with "no"."""
    path, log = master(home, quick, server=server)
    for n in range(3):
        done = shared(home, path, f"cat; echo {n}; exit {n}")
        assert (done.stdout, done.returncode) == (f"{n}\n", n), done.stderr
    assert openings(log) == [early] * 3
    assert ("last_channel_answered: 1" in read(log)) == early


@pytest.mark.parametrize("option", ["-tt", "-X", "-A"])
def test_last_channel_waits(home, option):
    """A terminal, X11 and an agent wait for the session's number."""
    env = {**os.environ, "DISPLAY": "127.0.0.1:9",
           "SSH_AUTH_SOCK": Agent(home).path}
    home.sshd()
    login(home)
    path, log = home.path("c"), home.path("master.log")
    with open(log, "w") as f:
        home.start(home.ssh("-o", "QuickStart=yes", "-o", "ForwardAgent=yes",
                            "-o", "ForwardX11=yes", "-o",
                            f"ControlPath={path}", "-M", "-N", HOST,
                            level="DEBUG3"),
                   stdin=subprocess.DEVNULL, stderr=f, env=env)
    wait_until("the master", lambda: os.path.exists(path))
    time.sleep(0.5)
    for option_, early in ((option, False), ("-T", True)):
        done = home.run(home.ssh(option_, "-S", path, HOST, "echo ran"),
                        env=env)
        assert done.stdout.split() == ["ran"], done.stderr
        assert openings(log)[-1] == early


def test_last_channel_side_by_side(home):
    """Each session gets its own command."""
    path, log = master(home, "yes")
    started = [home.start(home.ssh("-S", path, HOST,
                                   f"sleep 0.{n}; echo {n}"),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True) for n in range(8)]
    for n, ssh in enumerate(started):
        out, _ = ssh.communicate(timeout=300)
        assert (out, ssh.returncode) == (f"{n}\n", 0)
    assert openings(log) == [True] * 8


def test_last_channel_refused(home):
    """An opening that is refused takes its command with it, and no other
    session."""
    path, log = master(home, "yes", "MaxSessions 1")
    first = home.start(home.ssh("-S", path, HOST, "cat; echo first"),
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                       text=True)
    wait_until("the first", lambda: len(openings(log)) == 1)
    ran = home.path("ran")
    done = home.run(home.ssh("-S", path, "-o", "ControlMaster=no", HOST,
                             f"touch {ran}"))
    assert "Session open refused by peer" in done.stderr, done.stderr
    assert openings(log)[:2] == [True, True]
    out, _ = first.communicate("input\n", timeout=300)
    assert (out, first.returncode) == ("input\nfirst\n", 0)
    assert shared(home, path, "echo third").stdout == "third\n"


class Link:
    """Port 2223 is sshd's, until what sshd says is kept back."""

    def __init__(self, home):
        self.keep = False
        listener = home.inside(socket.socket)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 2223))
        listener.listen()
        self.home, self.listener = home, listener
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            server = self.home.inside(
                lambda: socket.create_connection(("127.0.0.1", 2222)))
            kept = not self.keep        # only of the first connections
            threading.Thread(target=self.pump, args=(client, server, False),
                             daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, kept),
                             daemon=True).start()

    def pump(self, source, target, kept):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                while kept and self.keep:
                    time.sleep(0.01)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("quick,option,early", [
    ("yes", "-T", True), ("no", "-T", False), ("yes", "-tt", False),
    ("yes", "-A", False)])
def test_last_channel_runs_once(home, quick, option, early):
    """A command that went out with its session's opening does not run again
    when the master goes before the answer comes. One that did not go out runs,
    as in stock."""
    env = {**os.environ, "SSH_AUTH_SOCK": Agent(home).path}
    home.sshd(OURS)
    link, path, ran = Link(home), home.path("c"), home.path("ran")
    login(home, port=2223)
    master = home.start(home.ssh(
        "-o", f"QuickStart={quick}", "-o", f"ControlPath={path}", "-M", "-N",
        HOST, port=2223), stdin=subprocess.DEVNULL)
    wait_until("the master", lambda: os.path.exists(path))
    time.sleep(0.5)
    link.keep = True
    ssh = home.start(home.ssh("-o", f"QuickStart={quick}", "-S", path, option,
                              HOST, f"echo ran >> {ran}", port=2223),
                     stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                     text=True, env=env)
    if early:
        wait_until("the command", lambda: os.path.exists(ran))
    time.sleep(0.5)
    master.kill()
    _, said = ssh.communicate(timeout=300)
    assert read(ran) == "ran\n"
    assert ssh.returncode == (255 if early else 0), said
    assert ("master terminated unexpectedly" in said) == early


def test_last_channel_stock_client(home):
    """It would run its command again: the master waits."""
    path, log = master(home, "yes")
    done = home.run(home.ssh("-S", path, HOST, "echo ran", tree=STOCK))
    assert done.stdout == "ran\n", done.stderr
    assert openings(log) == [False]
