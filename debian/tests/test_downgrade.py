"""Nobody is locked out when Debian's packages replace ours, or ours replace
older ones, even if dpkg stops between unpacking and configuring; and sessions
go on. With sshd of build/ and our prerm; bdp-install does it with the packages.
"""

import filecmp
import os
import shutil
import signal
import subprocess
import threading

import pytest

from loopback import (OURS, PORT, STOCK, read, root_place,  # noqa: F401
                      wait_until)

DEBIAN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UPGRADE = ("upgrade", "1:9.2p1-2+deb12u11")
# Every option that a package of ours has taken. sshd has the first two.
OPTIONS = {"ChannelWindowMax": "64M", "TCPCongestion": "cubic",
           "QuickStart": "no", "CopyConnections": "auto", "CopySessions": "4"}
SERVER = list(OPTIONS)[:2]


class Host:
    """A folder with the files of the packages that sshd uses."""

    def __init__(self, place):                              # noqa: F811
        self.place = place
        self.folder = place.folder
        self.config = place.path(f"sshd_config.{PORT}")
        os.mkdir(place.path("sshd_config.d"))
        os.mkdir(place.path("bin"))
        self.systemctl("exit 1")        # no systemd
        self.package("openssh-server", self.config)
        self.unpack(OURS)

    def package(self, name, config):
        text = read(f"{DEBIAN}/overlay/prerm")
        for word, value in (
                ("@PACKAGE@", name), ("@CONFIG@", config),
                ("/usr/sbin/sshd", f"{self.folder}/sshd"),
                ("/etc/default/ssh", self.place.path("default")),
                ("/etc/ssh/", self.folder + "/")):
            assert word in text, word
            text = text.replace(word, value)
        self.write("prerm", text)

    def write(self, name, text):
        with open(self.place.path(name), "w") as f:
            f.write(text)

    def systemctl(self, text):
        self.write("bin/systemctl", f"#!/bin/sh\n{text}\n")
        os.chmod(self.place.path("bin/systemctl"), 0o755)

    def unpack(self, tree):
        """As dpkg does: a new file takes the old one's name."""
        for name in ("sshd", "sshd-session", "sshd-auth"):
            if os.path.exists(f"{tree}/{name}"):
                new = self.place.path(f"{name}.dpkg-new")
                shutil.copy(f"{tree}/{name}", new)
                os.rename(new, self.place.path(name))

    def socket(self, is_active):
        """ssh.socket, with the listener as what systemd has started."""
        self.systemctl(f"""echo "$@" >> {self.place.path('calls')}
            case $1 in
            show) echo {self.sshd.pid} ;;
            -q) {str(is_active).lower()} ;;
            esac""")

    def wrap(self, commands):
        """They run before sshd whenever it is executed."""
        sshd = self.place.path("sshd")
        os.rename(sshd, f"{sshd}.real")
        self.write("sshd", f'#!/bin/sh\n{commands}\nexec {sshd}.real "$@"\n')
        os.chmod(sshd, 0o755)

    def start(self):
        """The listener, with our options in two files."""
        self.write("sshd_config.d/a.conf", "Match User root\n"
                   f"\tTCPCongestion {OPTIONS['TCPCongestion']}\n")
        self.sshd = self.place.sshd(
            self.folder, f"Include {self.folder}/sshd_config.d/*.conf",
            f"ChannelWindowMax {OPTIONS['ChannelWindowMax']}")
        self.log = self.sshd.log
        self.ready()

    def ready(self, sshd=None):
        """Returns once the listener, or another one, accepts."""
        sshd = sshd or self.sshd
        wait_until("the listener", lambda: sshd.poll() is not None or
                   "[listener]" in read(f"/proc/{sshd.pid}/cmdline"))
        assert sshd.poll() is None, read(self.log)

    def restart(self):
        """What postinst configure does."""
        self.sshd.terminate()
        self.sshd.wait()
        self.sshd = self.place.start(
            [f"{self.folder}/sshd", "-D", "-f", self.config, "-E", self.log],
            stdin=subprocess.DEVNULL)
        self.ready()

    def prerm(self, *words, within=()):
        done = self.place.run(
            [*within, "env", f"PATH={self.folder}/bin:{os.environ['PATH']}",
             "sh", self.place.path("prerm"), *words])
        assert (done.returncode, done.stdout) == (0, "")
        return done.stderr

    def login(self, **where):
        """What ssh says, if it fails."""
        done = self.place.run(self.place.ssh("root@127.0.0.1", "echo in",
                                             tree=STOCK, **where))
        return "" if done.stdout == "in\n" else \
            done.stderr + read(self.log)[-2000:]

    def without_options(self):
        """Somebody has taken them out of the files."""
        for name in (f"sshd_config.{PORT}", "sshd_config.d/a.conf"):
            text = read(self.place.path(name))
            self.write(name, text.replace("ChannelW", "#W").replace(
                "TCPC", "#C"))

    def reloads(self):
        return read(self.log).count("Received SIGHUP")


@pytest.fixture
def host(place):                                            # noqa: F811
    return Host(place)


@pytest.mark.parametrize("words", [UPGRADE, ("remove",)])
def test_logins_succeed_while_dpkg_is_stopped(host, words):
    """Before and after each step, and a session stays open throughout."""
    host.start()
    session = host.place.start(
        host.place.ssh("root@127.0.0.1", "cat", tree=STOCK),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def alive():
        session.stdin.write("alive\n")
        session.stdin.flush()
        return session.stdout.readline() == "alive\n"

    assert host.login() == "" and alive()
    said = host.prerm(*words)
    assert said.count("are now comments") == said.count("\n") == 2
    assert host.login() == "" and alive()
    host.unpack(STOCK)
    for _ in range(3):
        assert host.login() == "" and alive()
    host.restart()
    assert host.login() == "" and alive()


@pytest.mark.parametrize("old, new", [(STOCK, OURS), (OURS, STOCK)],
                         ids=["to-ours", "to-stock"])
def test_a_reload_leaves_sessions_alone(host, old, new):
    """One in each direction, in mid-transfer, and a ControlMaster. Logins after
    the reload are the new sshd's."""
    def ssh(*words, tree=old):
        return host.place.ssh("-S", host.place.path("c"), *words, tree=tree)

    def started(*words):
        return host.place.start(ssh(*words), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)

    def server(tree, *words):
        """What serves this session, as the kernel names it."""
        done = host.place.run(ssh(*words, "root@127.0.0.1",
                                  "readlink /proc/$PPID/exe", tree=tree))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    data = os.urandom(64 << 20)
    with open(host.place.path("data"), "wb") as f:
        f.write(data)
    host.unpack(old)
    host.sshd = host.place.sshd(host.folder)
    host.ready()
    started("-M", "-N", "root@127.0.0.1")
    wait_until("the master", lambda: os.path.exists(host.place.path("c")))
    get = started("-S", "none", "root@127.0.0.1", f"cat {host.folder}/data")
    put = started("-S", "none", "root@127.0.0.1",
                  f"cat > {host.folder}/copy && echo done")
    half = get.stdout.read(len(data) // 2)
    put.stdin.write(data[:len(data) // 2])
    host.unpack(new)
    os.kill(host.sshd.pid, signal.SIGHUP)
    wait_until("the reload", lambda: read(host.sshd.log).count(
        "Server listening on") == 2)
    put.stdin.write(data[len(data) // 2:])
    put.stdin.close()
    assert half + get.stdout.read() == data
    assert put.stdout.read() == b"done\n"
    assert filecmp.cmp(host.place.path("data"), host.place.path("copy"), False)
    name = next(n for n in ("sshd-session", "sshd")
                if os.path.exists(f"{new}/{n}"))
    for tree in old, new:
        assert server(tree).endswith(" (deleted)")
        path = server(tree, "-S", "none")
        assert path == host.place.path(name)
    assert filecmp.cmp(path, f"{new}/{name}", False)


def test_without_a_reload_nobody_gets_in(host):
    """What the reload is for."""
    host.start()
    host.without_options()
    host.unpack(STOCK)
    assert "Bad configuration option: " in host.login()
    host.restart()
    assert host.login() == ""


@pytest.mark.parametrize("is_socket", [False, True])
def test_the_old_sshd_ends_as_the_new_one_gets_its_name(host, is_socket):
    """The part of the postinst for a release whose older sshd can't work with
    the new programs; with socket activation, systemd starts the next one."""
    host.start()
    host.socket(is_socket)
    new = host.place.path("sshd.session-split")
    shutil.copy(f"{OURS}/sshd", new)
    prerm = read(host.place.path("prerm"))
    function = prerm[prerm.index("listeners() {"):]
    host.write("switch", "set -e\n" + function[:function.index("\n}\n") + 3] +
               read(f"{DEBIAN}/overlay/postinst").replace(
                   "/usr/sbin/", host.folder + "/"))
    done = host.place.run(
        ["env", f"PATH={host.folder}/bin:{os.environ['PATH']}", "sh",
         host.place.path("switch")])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not os.path.exists(new)
    if is_socket:
        assert host.sshd.wait() == 0
    else:
        wait_until("the listener", lambda: read(host.log).count(
            "Server listening on") == 2)
        assert host.login() == "" and host.reloads() == 1


def test_it_waits_until_sshd_listens(host):
    host.start()
    host.wrap('[ "$1" != -D ] || sleep 2')
    assert "WARNING" not in host.prerm(*UPGRADE)
    assert host.login() == ""


def test_it_succeeds_though_sshd_ends_meanwhile(host):
    host.start()
    waits = threading.Thread(target=host.sshd.wait)
    waits.start()
    pid = host.sshd.pid
    host.wrap(f"kill -9 {pid}; while [ -e /proc/{pid} ]; do sleep 0.1; done")
    host.prerm(*UPGRADE)
    waits.join()


def test_the_options_were_taken_out_before(host):
    """The listener still has the text with them."""
    host.start()
    host.without_options()
    assert host.prerm(*UPGRADE) == "" and host.reloads() == 1
    host.unpack(STOCK)
    assert host.login() == ""


def test_ours_over_ours(host):
    """Nothing changes: the next version takes every option that one of ours
    has taken."""
    host.start()
    before = read(host.config)
    assert host.prerm("upgrade", "1:9.2p1-2+deb12u11+bdp9") == ""
    assert read(host.config) == before and host.reloads() == 0
    host.unpack(OURS)
    assert host.login() == ""


def test_debians_and_back(host):
    """Debian's listener, and our sshd-session; then with our options again."""
    host.start()
    before = read(host.config)
    host.prerm(*UPGRADE)
    host.unpack(STOCK)
    host.restart()
    host.unpack(OURS)
    assert host.login() == ""
    host.write(os.path.basename(host.config), before)
    host.restart()
    assert host.login() == ""


def test_socket_activation_restarts(host):
    """On SIGHUP, sshd would close the socket that systemd has given it."""
    host.start()
    host.socket(True)
    host.prerm(*UPGRADE)
    assert read(host.place.path("calls")).splitlines()[-1] == \
        "try-restart ssh.service"
    assert host.reloads() == 0


OTHER = PORT + 1


def test_another_listener_of_the_host_is_reloaded(host):
    """It has a configuration of its own, which is no other's, and includes
    what sshd's own does."""
    host.start()
    host.socket(True)
    other = host.place.sshd(
        host.folder, f"Include {host.folder}/sshd_config.d/*.conf",
        "ChannelWindowMax 64M", port=OTHER)
    host.ready(other)
    assert host.prerm(*UPGRADE).count("are now comments") == 3
    assert host.reloads() == 0
    assert read(other.log).count("Received SIGHUP") == 1
    host.unpack(STOCK)
    assert host.login(port=OTHER) == ""


def test_a_users_sshd_is_left_alone(host):
    """Its title and its files are what the user likes."""
    host.start()
    config = host.place.path("users")
    os.chmod(host.folder, 0o755)
    host.write("key", read(host.place.path("host")))
    text = read(host.config).replace(f"Port {PORT}", f"Port {OTHER}").replace(
        host.place.path("host"), host.place.path("key"))
    host.write("users", text)
    sshd = host.place.start(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
         f"{host.folder}/sshd", "-D", "-f", config], stdin=subprocess.DEVNULL)
    wait_until("the listener", lambda: sshd.poll() is not None or
               "[listener]" in read(f"/proc/{sshd.pid}/cmdline"))
    said = host.prerm(*UPGRADE)
    assert said.count("are now comments") == 2 and read(config) == text
    assert sshd.poll() is None and host.reloads() == 1


def test_options_in_arguments_are_told(host):
    """No reload takes them out."""
    host.start()
    sshd = host.place.start(
        [f"{host.folder}/sshd", "-D", "-f", host.config, "-o",
         f"Port={OTHER}", "-o", "TCPCongestion=cubic", "-E",
         host.place.path("log")], stdin=subprocess.DEVNULL)
    wait_until("the listener", lambda: sshd.poll() is not None or
               "[listener]" in read(f"/proc/{sshd.pid}/cmdline"))
    assert f"\nthe arguments of process {sshd.pid}: restart it\n" in \
        host.prerm(*UPGRADE)


def test_a_configuration_that_sshd_refuses(host):
    """A reload would end it."""
    host.start()
    host.write("sshd_config.d/b.conf", "Nonsense 1\n")
    said = host.prerm(*UPGRADE)
    assert "WARNING: sshd is not reloaded" in said and "Nonsense" in said
    assert host.login() == "" and host.reloads() == 0


def test_options_on_the_command_line(host):
    text = '# -o ChannelWindowMax=1M\nSSHD_OPTS="-4 {} -oBanner=none"\n'
    host.write("default", text.format("-oTCPCongestion=bbr -o QuickStart=no"))
    assert host.prerm(*UPGRADE).count(" are taken out") == 1
    assert read(host.place.path("default")) == text.format(" ")
    assert host.prerm(*UPGRADE) == ""
    for other in "-o TCPCongestion\\ bbr", "-o TCPCongestion='bbr'":
        host.write("default", text.format(other))
        said = host.prerm(*UPGRADE)
        assert said.endswith(f"They are in:\n{host.folder}/default\n")
        assert read(host.place.path("default")) == text.format(other)


@pytest.mark.parametrize("title", ["sshd: root@pts/0",
                                   "sshd: /usr/sbin/sshd -D [listener] 0 of"])
def test_only_a_listener_is_reloaded(host, title):
    """It is not a session, nor of another OpenSSH of the host."""
    process = host.place.start(
        ["perl", "-e", f'$| = 1; $0 = "{title}"; '
         'print "up\n"; sleep 60'], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"up\n"
    assert host.prerm(*UPGRADE) == ""
    assert process.poll() is None


CHROOT = """mount -t tmpfs tmpfs "$1"
for d in /*; do
	[ -d "$d" ] || continue
	mkdir "$1$d"
	mount --rbind "$d" "$1$d"
done
exec chroot "$@"
"""


def test_a_chroot_leaves_the_hosts_sshd_alone(host):
    """Even if it has the host's /proc and /run."""
    host.start()
    os.mkdir(host.place.path("root"))
    said = host.prerm(*UPGRADE, within=[
        "unshare", "-m", "sh", "-ec", CHROOT, "sh", host.place.path("root")])
    assert said.count("are now comments") == 2 and host.reloads() == 0


def refuses(host, tree, lines):
    """What ssh says of a user's file that it refuses."""
    host.write("config", "\n".join(lines) + "\n")
    done = host.place.run([f"{tree}/ssh", "-G", "-F",
                           host.place.path("config"), "host"])
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("words", [UPGRADE, ("remove",)])
def test_debians_ssh_takes_what_the_prerm_leaves(host, words):
    """In the system's ssh_config and in what it includes."""
    lines = [f"{name} {value}" for name, value in OPTIONS.items()]
    host.write("included", "\n".join(lines[2:]) + "\n")
    lines[2:] = [f"Include {host.folder}/included"]
    assert refuses(host, OURS, lines) == ""
    assert refuses(host, STOCK, lines) != ""
    host.start()
    host.package("openssh-client", host.place.path("config"))
    assert host.prerm(*words).count("are now comments") == 2
    left = read(host.place.path("config")).splitlines()
    assert refuses(host, STOCK, left) == "" and host.reloads() == 0


def test_ours_takes_every_option_of_a_users_file(host):
    """No package edits it."""
    for name, value in OPTIONS.items():
        assert refuses(host, OURS, [f"{name} {value}"]) == "", name


@pytest.mark.parametrize("page", ["NEWS", "README.Debian"])
def test_both_take_what_we_advise(host, page):
    lines = [f"{name} {OPTIONS[name]}" for name in SERVER]
    assert "Bad configuration option" in refuses(host, STOCK, lines)
    advice = [line for line in
              read(f"{DEBIAN}/overlay/{page}").splitlines()
              if line.startswith("  ") and "IgnoreUnknown" in line]
    assert len(advice) == 1
    for tree in OURS, STOCK:
        assert refuses(host, tree, advice + lines) == ""
