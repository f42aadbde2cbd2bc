"""openssh-bdp-tuning's script: it raises the maxima, gives back what was
there, and respects the administrator. On files here; bdp-install does it with
the packages."""

import os
import shutil
import subprocess

import pytest

DEBIAN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = os.path.dirname(DEBIAN)
OVERLAY = os.path.join(DEBIAN, "overlay")
SCRIPT = os.path.join(OVERLAY, "tuning")
LINUX = {"tcp_rmem": "4096\t131072\t6291456",
         "tcp_wmem": "4096\t16384\t4194304"}
RAISED = {"tcp_rmem": "4096 131072 67108864",
          "tcp_wmem": "4096 16384 67108864"}
CONF = "10-long-path.conf"


class Machine:
    """A folder with the files that the script looks at, and the script, which
    takes that folder for / there."""

    def __init__(self, folder):
        self.root = folder
        self.sys = folder / "proc" / "sys" / "net" / "ipv4"
        self.etc = folder / "etc" / "sysctl.d"
        self.state = folder / "run/openssh-bdp-tuning"
        for path in (self.sys, self.etc, folder / "usr/lib/sysctl.d",
                     folder / "run/systemd/system", folder / "bin"):
            path.mkdir(parents=True)
        with open(SCRIPT) as f:
            script = f.read()
        assert script.count("\nroot=\t") == 1
        self.write("script", script.replace("\nroot=\t", f"\nroot={folder}\t"))
        self.ischroot(False)
        with open(os.path.join(OVERLAY, CONF)) as f:
            (folder / "usr/lib/sysctl.d" / CONF).write_text(f.read())
        self.set(LINUX)

    def set(self, values):
        for name, value in values.items():
            (self.sys / name).write_text(value + "\n")

    def values(self):
        return {name: (self.sys / name).read_text().strip()
                for name in LINUX}

    def ischroot(self, it_is):
        self.write("bin/ischroot", f"#!/bin/sh\nexit {0 if it_is else 1}\n")
        (self.root / "bin/ischroot").chmod(0o755)

    def run(self, *words, **environment):
        return subprocess.run(
            ["sh", str(self.root / "script"), *words], capture_output=True,
            text=True, timeout=60, env={
                **os.environ, "DPKG_ROOT": "",
                "PATH": f"{self.root}/bin:{os.environ['PATH']}",
                **environment})

    def script(self, *words):
        """What it says as postinst or prerm: which it is, its words tell."""
        done = self.run(*words)
        assert done.returncode == 0 and done.stderr == "", done
        return done.stdout

    def install(self):
        return self.script("configure", "")

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, tuple):
            path.symlink_to(*text)
        else:
            path.write_text(text)

    def upgrade(self):
        return self.script("upgrade", "2") + \
            self.script("configure", "1")

    def remove(self):
        return self.script("remove")

    def reboot(self, values):
        """/run is empty then."""
        shutil.rmtree(self.root / "run")
        (self.root / "run/systemd/system").mkdir(parents=True)
        self.set(values)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def spaced(values):
    return {name: value.replace("\t", " ") for name, value in values.items()}


def test_raises_and_gives_back(machine):
    said = machine.install()
    assert machine.values() == RAISED
    assert "net.ipv4.tcp_rmem is now 4096 131072 67108864, was " \
        "4096 131072 6291456\n" in said and "net.ipv4.tcp_wmem is now" in said
    assert machine.upgrade() == "" and machine.values() == RAISED
    assert "net.ipv4.tcp_wmem is 4096 16384 4194304 again\n" in \
        machine.remove()
    assert machine.values() == spaced(LINUX)
    assert not machine.state.exists()


@pytest.mark.parametrize("undone, word", [
    ("remove", "abort-remove"), ("upgrade", "abort-upgrade"),
    ("deconfigure", "abort-deconfigure")])
def test_dpkg_changes_its_mind(machine, undone, word):
    """The package stays, so its values do, and a removal gives them back."""
    machine.install()
    machine.script(undone, "in-favour", "another", "1")
    machine.set(LINUX)      # whatever has happened in between
    machine.script(word, "in-favour", "another", "1")
    assert machine.values() == RAISED
    machine.remove()
    assert machine.values() == spaced(LINUX)


@pytest.mark.parametrize("installed", [True, False])
def test_after_a_boot(machine, installed):
    """A boot has set what the file says, maybe with another kernel, or after
    an installation in a chroot. What there was before, nobody knows: the
    removal says that it stays."""
    if installed:
        machine.install()
    machine.reboot(RAISED)
    assert machine.upgrade() == ""
    assert machine.remove() == "".join(
        f"openssh-bdp-tuning: net.ipv4.{name} stays 67108864 until the next "
        "boot\n" for name in LINUX)
    assert machine.values() == RAISED


def test_the_first_numbers_stay(machine):
    """With pages of 64 KiB the kernel's first number is larger than ours.
    "sysctl --system" sets ours."""
    machine.set({"tcp_rmem": "65536 87380 6291456"})
    machine.install()
    assert machine.values()["tcp_rmem"] == "65536 87380 67108864"
    machine.set(RAISED)
    machine.remove()
    assert machine.values()["tcp_rmem"] == "4096 131072 6291456"


def test_other_versions(machine):
    """One that sets more, and back: what there was before the first is what a
    removal sets."""
    path = machine.root / "usr/lib/sysctl.d" / CONF
    ours = path.read_text()
    machine.install()
    path.write_text(ours.replace("67108864", "134217728"))
    assert "is now 4096 131072 134217728, was" in machine.upgrade()
    path.write_text(ours)
    assert "stays 134217728 until the next boot" in machine.upgrade()
    machine.remove()
    assert machine.values() == spaced(LINUX)


LARGE = {"tcp_rmem": "4096 131072 268435456",
         "tcp_wmem": "4096 16384 268435456"}


@pytest.mark.parametrize("path, key, lowered", [
    (None, None, True),                 # by the kernel's command line
    ("05-mine.conf", "net.ipv4.tcp_rmem", True),
    ("05-mine.conf", "net.ipv4.tcp_[rw]mem", True),
    ("60-mine.conf", "net.ipv4.tcp_[rw]mem", True),
    ("60-mine.conf", "net.ipv4.tcp_rmem", False),
    (CONF, "net.ipv4.tcp_rmem", False)])
def test_a_larger_value_is_not_lowered_silently(machine, path, key, lowered):
    """It stays. A line says so if the next boot lowers it, and how to keep
    it."""
    (machine.root / "usr/local/lib").mkdir(parents=True)
    if path:
        machine.write(f"etc/sysctl.d/{path}", f"{key} = {LARGE['tcp_rmem']}\n")
    machine.set({"tcp_rmem": LARGE["tcp_rmem"]})
    said = [line for line in machine.install().splitlines() if "stays" in line]
    assert machine.values()["tcp_rmem"] == LARGE["tcp_rmem"]
    assert said == ([
        "openssh-bdp-tuning: net.ipv4.tcp_rmem stays 268435456 until the next "
        "boot, which sets 67108864. To keep your value, set this key, in full, "
        "in a file in /etc/sysctl.d that sorts after "
        f"{machine.root}/usr/lib/sysctl.d/{CONF}: 60-mine.conf, for example"]
        if lowered else [])
    booted = boot(machine, LARGE)["tcp_rmem"]
    assert booted == (RAISED if lowered else LARGE)["tcp_rmem"]
    machine.remove()
    assert machine.values()["tcp_rmem"] == LARGE["tcp_rmem"]


@pytest.mark.parametrize("why", ["DPKG_ROOT", "chroot"])
def test_another_kernel(machine, why):
    """Even if /proc is mounted there."""
    machine.install()
    there = {"DPKG_ROOT": str(machine.root)} if why == "DPKG_ROOT" else {}
    machine.ischroot(why == "chroot")
    for words, values in ((["configure", ""], LINUX), (["remove"], RAISED)):
        machine.set(values)
        done = machine.run(*words, **there)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert machine.values() == values and machine.state.exists()


def test_changed_since_stays(machine):
    machine.install()
    machine.set({"tcp_rmem": "4096 131072 33554432"})
    machine.remove()
    assert machine.values() == {**spaced(LINUX),
                                "tcp_rmem": "4096 131072 33554432"}


@pytest.mark.parametrize("path", [
    "etc/sysctl.d/99-mine.conf", "etc/sysctl.d/05-mine.conf",
    "run/sysctl.d/05-a.conf", "usr/local/lib/sysctl.d/50-mine.conf",
    "usr/lib/sysctl.d/50-b.conf", f"etc/sysctl.d/{CONF}"])
def test_set_elsewhere_stays(machine, path):
    """Removal lowers nothing that another file sets, and says so."""
    machine.install()
    machine.write(path, "net.ipv4.tcp_rmem = 4096 131072 67108864\n")
    assert "net.ipv4.tcp_rmem stays 67108864 now. The next boot decides, " \
        f"because {machine.root}/{path} sets it\n" in machine.remove()
    assert machine.values() == {**spaced(LINUX),
                                "tcp_rmem": RAISED["tcp_rmem"]}


@pytest.mark.parametrize("key", [
    "net.ipv4.tcp_[rw]mem", "-net/ipv4/tcp_?mem", "net.*.tcp_*mem"])
def test_set_by_a_pattern_stays(machine, key):
    """It takes effect as soon as ours is gone."""
    machine.install()
    machine.write("etc/sysctl.d/50-mine.conf", f"{key} = 4096 16384 67108864")
    assert machine.remove().count("50-mine.conf sets it\n") == 2
    assert machine.values() == RAISED


def test_hidden_is_not_set(machine):
    machine.install()
    machine.write("run/sysctl.d/50-a.conf", OTHER)
    machine.write("etc/sysctl.d/50-a.conf", ("/dev/null",))
    machine.remove()
    assert machine.values() == spaced(LINUX)


OTHER = "net.ipv4.tcp_rmem = 4096 131072 8388608\n"
BOTH = OTHER + "net.ipv4.tcp_wmem = 4096 16384 8388608\n"
R, W = "tcp_rmem", "tcp_wmem"
# Files (their text, or in a tuple a link's target), and what they decide
DECIDED = [
    ({}, []),
    ({"etc/sysctl.d/50-mine.conf": OTHER}, [R]),
    ({"etc/sysctl.d/50-mine.conf": "#" + OTHER}, []),
    ({"run/sysctl.d/50-mine.conf": OTHER}, [R]),
    ({"usr/lib/sysctl.d/50-another.conf": OTHER}, [R]),
    ({"usr/local/lib/sysctl.d/50-a.conf": "-net.ipv4.tcp_wmem=1 2 3\n"}, [W]),
    ({"etc/sysctl.d/5.conf": " -net/ipv4/tcp_wmem=4096 16384 8388608\n"}, [W]),
    # What sorts before ours
    ({"etc/sysctl.d/05-mine.conf": BOTH}, []),
    ({"etc/sysctl.d/10-long-path-.conf": BOTH}, []),
    # Behind it, byte by byte
    ({"etc/sysctl.d/10-long.conf": BOTH}, [R, W]),
    ({"etc/sysctl.d/10-long_path.conf": BOTH}, [R, W]),
    ({"etc/sysctl.d/5-mine.conf": BOTH}, [R, W]),
    ({"etc/sysctl.d/Mine.conf": BOTH}, [R, W]),
    # Of our name
    ({f"run/sysctl.d/{CONF}": ""}, [R, W]),
    ({f"etc/sysctl.d/{CONF}": OTHER}, [R, W]),
    # Only the first of a name
    ({"etc/sysctl.d/50-a.conf": "", "run/sysctl.d/50-a.conf": BOTH}, []),
    ({"etc/sysctl.d/50-a.conf": OTHER, "run/sysctl.d/50-a.conf": BOTH}, [R]),
    # Links of our name, and others, to nothing
    ({f"etc/sysctl.d/{CONF}": ("/dev/null",)}, [R, W]),
    ({f"etc/sysctl.d/{CONF}": ("nowhere",)}, [R, W]),
    ({"etc/sysctl.d/50-a.conf": ("/dev/null",),
      "run/sysctl.d/50-a.conf": BOTH}, []),
    ({"etc/sysctl.d/50-a.conf": ("nowhere",), "run/sysctl.d/50-a.conf": BOTH},
     []),
    # Spellings
    ({"etc/sysctl.d/50-a.conf": "; " + OTHER}, []),
    ({"etc/sysctl.d/50-a.conf": "\t- " + OTHER}, [R]),
    ({"etc/sysctl.d/50-a.conf": "x = " + OTHER}, []),
    ({"etc/sysctl.d/50-a.conf": "net.ipv4/tcp_rmem=4096 16384 1000000"}, []),
    ({"etc/sysctl.d/50-a.conf": "net.ipv4.tcp_rmem"}, []),
    ({"etc/sysctl.d/50-a.conf": "- net.ipv4.tcp_rmem \n"}, [R]),
    # A pattern leaves alone what a file names in full, as ours does
    ({"etc/sysctl.d/50-a.conf": "net.ipv4.tcp_[rw]mem = 1 2 3\n"}, []),
    # Debian 13 has no such link
    ({"etc/sysctl.conf": BOTH}, []),
    ({"etc/sysctl.conf": BOTH,
      "etc/sysctl.d/99-sysctl.conf": ("../sysctl.conf",)}, [R, W]),
]
SYSTEMD = "/usr/lib/systemd/systemd-sysctl"


def boot(machine, kernels=LINUX):
    """What systemd-sysctl makes of the kernel's values at a boot with these
    files, in a network namespace, which has these sysctls to itself."""
    if not os.path.exists(SYSTEMD):
        pytest.skip("no systemd-sysctl")
    set_linux = "; ".join(f"echo '{value}' > /proc/sys/net/ipv4/{name}"
                          for name, value in kernels.items())
    binds = "; ".join(f"mount --bind {machine.root}/{path} /{path}"
                      for path in ("etc", "run", "usr/local/lib",
                                   "usr/lib/sysctl.d"))
    done = subprocess.run(
        ["unshare", "-n", "-m", "sh", "-ec",
         f"{set_linux}; {binds}; {SYSTEMD} || true; "
         f"cat {' '.join('/proc/sys/net/ipv4/' + name for name in LINUX)}"],
        capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        pytest.skip(f"no namespaces here: {done.stderr}")
    return dict(zip(LINUX, (line.replace("\t", " ") for line in
                            done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("files, decided", DECIDED)
def test_what_a_boot_decides(machine, files, decided):
    """Ours is set now if it is set at the next boot."""
    (machine.root / "usr/local/lib").mkdir(parents=True)
    for path, text in files.items():
        machine.write(path, text)
    machine.install()
    assert machine.values() == {
        n: LINUX[n] if n in decided else RAISED[n] for n in LINUX}
    booted = boot(machine)
    assert [n for n in LINUX if booted[n] != RAISED[n]] == decided


@pytest.mark.parametrize("text, decides", [
    (BOTH, True), ("net.ipv4.tcp_[rw]mem = 1 2 3\n", False)])
def test_a_boot_without_systemd(machine, text, decides):
    """procps reads /etc/sysctl.conf last."""
    (machine.root / "run/systemd/system").rmdir()
    machine.write("etc/sysctl.conf", text)
    machine.install()
    assert machine.values() == (LINUX if decides else RAISED)
    machine.set(RAISED)
    assert machine.remove().count("etc/sysctl.conf sets it\n") == 2
    assert machine.values() == RAISED


def test_sysctls_that_cant_be_set(machine, tmp_path):
    """As in a container: there is no such file, or it can't be written."""
    (machine.sys / "tcp_rmem").unlink()
    (machine.sys / "tcp_wmem").unlink()
    assert machine.install() == "" and machine.remove() == ""
    # A folder can be written by nobody, root or not
    for name in LINUX:
        (machine.sys / name).mkdir()
    assert machine.install() == "" and machine.remove() == ""


def test_without_its_file(machine):
    """dpkg does not install it where path-exclude says so, or it was deleted:
    nothing is raised then. What was raised before is set back."""
    machine.install()
    (machine.root / "usr/lib/sysctl.d" / CONF).unlink()
    assert machine.upgrade() == "" and machine.values() == RAISED
    machine.remove()
    assert machine.values() == spaced(LINUX)
    assert machine.install() == "" and machine.values() == spaced(LINUX)
    machine.reboot(RAISED)
    assert machine.remove() == "" and machine.values() == RAISED


@pytest.mark.parametrize("line, raised", [
    ("net.ipv4.tcp_rmem=4096  131072 67108864 ", True),
    ("net.ipv4.tcp_rmem = 1 2 3\nnet.ipv4.tcp_rmem = 4096 131072 67108864",
     True),
    ("net.ipv4.tcp_rmem = 4096 131072 67108864 # more", False),
    ("net.ipv4.tcp_rmem = 4096 131072 64M", False),
    ("net.ipv4.tcp_rmem = 67108864", False),
    ("net.ipv4.tcp_rmem =", False),
    ("net.ipv4.tcp_rmem = 4096 131072 67108864\r", False),
    ("net.ipv4.tcp_rmem = 4096 131072 99999999999999999999", False)])
def test_edited_file_raises_nothing(machine, line, raised):
    """Our file as somebody has left it: what is not three numbers has one
    message, and nothing is raised."""
    path = machine.root / "usr/lib/sysctl.d" / CONF
    ours = path.read_text()
    edited = ours.replace("net.ipv4.tcp_rmem = " + RAISED["tcp_rmem"], line)
    assert edited != ours
    path.write_bytes(edited.encode())
    done = machine.run("configure", "")
    if raised:
        assert (done.returncode, done.stderr) == (0, "")
        assert machine.values() == RAISED
        machine.remove()
        assert machine.values() == spaced(LINUX)
        return
    said = f"openssh-bdp-tuning: nothing is changed, because {path} has " \
        f"this line: {line}\n"
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == said.replace("\r\n", "\n")     # as run() has it
    assert machine.values() == LINUX
    path.write_text(ours)
    machine.install()
    path.write_bytes(edited.encode())
    machine.remove()
    assert machine.values() == spaced(LINUX)


@pytest.mark.parametrize("value", ["", "4096 131072 99999999999999999999"])
def test_odd_values_of_the_kernel(machine, value):
    machine.set({"tcp_rmem": value})
    machine.install()
    assert machine.values() == {**RAISED, "tcp_rmem": value}


def test_read_only(machine):
    """/proc/sys that is mounted read-only, where one may mount."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-ec", f"mount --bind {machine.sys} "
         f"{machine.sys}; mount -o remount,ro,bind {machine.sys}; "
         f"exec sh {machine.root}/script configure ''"],
        capture_output=True, text=True)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert machine.values() == LINUX
    assert not machine.state.exists()


@pytest.mark.parametrize("path, target", [
    ("run/openssh-bdp-tuning", "nowhere"),
    ("run/openssh-bdp-tuning/tcp_rmem", "/dev/full"),
    ("run/openssh-bdp-tuning/tcp_wmem", "nowhere/nothing")])
def test_nowhere_to_record(machine, path, target):
    """Nothing is raised, so there is nothing to give back. The package is
    installed all the same: the next boot raises."""
    machine.write(path, (target,))
    done = machine.run("configure", "")
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing is raised before the next boot" in done.stderr
    assert done.stderr.count("\n") == 1
    assert machine.values() == LINUX
    assert machine.remove() == "" and machine.values() == LINUX


def test_changed_by_hand_and_raised_again(machine):
    """By an upgrade: what is given back is what was there last."""
    machine.install()
    machine.set({"tcp_rmem": "4096 131072 16777216"})
    machine.upgrade()
    assert machine.values() == RAISED
    machine.remove()
    assert machine.values() == {**spaced(LINUX),
                                "tcp_rmem": "4096 131072 16777216"}


@pytest.mark.parametrize("text", ["", "6291456", "6291456 671"])
def test_record_of_a_full_disk(machine, text):
    """It is empty, or has no end. Neither the installation nor the removal
    fails."""
    machine.write("run/openssh-bdp-tuning/tcp_rmem", text)
    machine.install()
    machine.remove()
    assert machine.values() == spaced(LINUX)
    machine.install()
    machine.write("run/openssh-bdp-tuning/tcp_rmem", text)
    machine.remove()
    assert machine.values()["tcp_rmem"] == RAISED["tcp_rmem"]
