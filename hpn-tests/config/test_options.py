"""ChannelWindowMax and TCPCongestion: what ssh and sshd make of them, and their
man pages. Options of earlier releases, which are ignored."""

import collections
import os
import re
import shutil
import subprocess

import pytest

from loopback import IN_TREE, OURS, STOCK, needs_root, user_path  # noqa: F401
from sftp_tools import SERVER, program

MIB = 1024 * 1024
KINDS = ["ssh", "sshd"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a host key in it."""
    here = tmp_path_factory.mktemp("options")
    subprocess.run([f"{OURS}/ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                    "-f", here / "host"], check=True)
    return here


def dump(folder, kind, *lines, conditions=(), before="true"):
    """ssh -G or sshd -T with a configuration of these lines, after a command
    in a mount namespace of its own."""
    config = folder / "config"
    config.write_text("".join(line + "\n" for line in lines))
    argv = [f"{OURS}/ssh", "-T", "-F", config, *conditions, "-G", "host"]
    if kind == "sshd":
        argv = [f"{OURS}/sshd", "-f", config, "-h", folder / "host",
                *conditions, "-T"]
    return subprocess.run(
        [IN_TREE, "/", "sh", "-ec", before + '; exec "$@"', "sh", *argv],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


def value(done, name="ChannelWindowMax"):
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = [line.split(None, 1)[1] for line in done.stdout.splitlines()
             if line.split()[0].lower() == name.lower()]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name, written, means", [
    *(("TCPCongestion", names, names) for names in (
        "bbr", "bbr,cubic", "default", "nosuch-one,reno,default", "H_tcp2")),
    *(("ChannelWindowMax", *pair) for pair in (
    ("none", "none"),
    ("2M", 2 * MIB), ("64M", 64 * MIB), ("64m", 64 * MIB), ("1G", 1024 * MIB),
    ("4096K", 4 * MIB), ("2097152", 2 * MIB), ("2.5M", 5 * MIB // 2),
    ('"8M"', 8 * MIB), ("16M # as ever", 16 * MIB)))])
def test_value_is_dumped(folder, kind, name, written, means):
    done = dump(folder, kind, f"{name} {written}")
    assert value(done, name) == str(means)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name, written, fault", [
    *(("TCPCongestion", *pair) for pair in (
        ("", "argument"), ('""', "missing argument"),
        ("# bbr", "missing argument"), ("bbr,", "empty name"),
        (",bbr", "empty name"), ("bbr,,reno", "empty name"),
        ("bbr cubic", "extra arguments at end of line"), ("b/r", "bad name"),
        ("a-name-of-16-chr", "too long"))),
    *(("ChannelWindowMax", *pair) for pair in (
        ("1", "too small"), ("0", "too small"), ("-1", "too small"),
        ("2097151", "too small"), ("1.5M", "too small"),
        ("1025M", "too large"), ("1073741825", "too large"),
        ("5G", "too large"), ("99999999999999G", "bad number"),
        ("M", "bad number"), ("default", "bad number"), ("64MB", "bad number"),
        ("3x", "bad number"), ("0x400000", "bad number"),
        ('""', "missing argument"), ("", "argument"),
        ("# 2M", "missing argument"),
        ("2M 3M", "extra arguments at end of line")))])
def test_bad_value_is_one_line(folder, kind, name, written, fault):
    """One line that names file, line and fault, and no dump."""
    done = dump(folder, kind, "RekeyLimit 1G", f"{name} {written}",
                "LogLevel VERBOSE")
    assert done.returncode == 255
    assert done.stdout == ""
    errors = done.stderr.splitlines()
    if kind == "ssh" or "argument" in fault and written[:1] not in ('"', "#"):
        # Upstream counts those, and says at the end how many there were
        assert errors.pop() == \
            f"{folder / 'config'}: terminating, 1 bad configuration options"
    assert len(errors) == 1, errors
    assert re.match(re.escape(str(folder / "config")) + ":? line 2: ",
                    errors[0])
    assert name.lower() in errors[0].lower()
    assert fault in errors[0]


@pytest.mark.parametrize("kind, lines, conditions, says", [
    # ssh reads on, and says what else is wrong
    ("ssh", ["ChannelWindowMax 1", "Nonsense yes"], [], [
        "line 1: ChannelWindowMax too small", "terminating, 2 bad",
        "line 2: Bad configuration option: nonsense"]),
    # Not only where it applies
    ("ssh", ["Host other", "ChannelWindowMax 3x"], [],
     ["line 2: ChannelWindowMax bad number"]),
    ("sshd", ["Match User other", "ChannelWindowMax 3x"], [],
     ["line 2: ChannelWindowMax bad number"]),
    *((kind, [], ["-o", "ChannelWindowMax=1M"],
       ["command-line line 0: ChannelWindowMax too small\n"])
      for kind in KINDS)])
def test_bad_value_is_refused_wherever_it_is(folder, kind, lines, conditions,
                                             says):
    done = dump(folder, kind, *lines, conditions=conditions)
    assert done.returncode == 255 and done.stdout == ""
    for line in says:
        assert line in done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_first_value_wins(folder, kind):
    done = dump(folder, kind, "ChannelWindowMax 4M", "ChannelWindowMax none",
                "TCPCongestion bbr", "TCPCongestion reno")
    assert value(done) == str(4 * MIB)
    assert value(done, "TCPCongestion") == "bbr"
    done = dump(folder, kind, "ChannelWindowMax 4M",
                conditions=["-o", "ChannelWindowMax=none"])
    assert value(done) == "none"


@pytest.mark.parametrize("kind", KINDS)
def test_default_follows_the_memory(folder, kind):
    """128M, a sixteenth of the memory, or of what the cgroup may have: here
    as a file system says that hides the real one."""
    assert value(dump(folder, kind), "TCPCongestion") == "default"
    needs_root()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    hide = "mount -t tmpfs tmpfs /sys/fs/cgroup && cd /sys/fs/cgroup"
    assert value(dump(folder, kind, before=hide)) == \
        str(max(2 * MIB, min(128 * MIB, memory // 16)))
    for limit in (640 * MIB, 16 * MIB):
        limited = hide + f" && mkdir memory && echo {limit} > memory.max" \
            f" && echo {limit} > memory/memory.limit_in_bytes"
        assert value(dump(folder, kind, before=limited)) == \
            str(max(2 * MIB, min(limit, memory) // 16))


def test_first_host_block_that_fits_counts(folder):
    done = dump(folder, "ssh", "Host other", "ChannelWindowMax 4M",
                "Host host", "ChannelWindowMax none",
                "Host *", "ChannelWindowMax 16M")
    assert value(done) == "none"


def test_first_match_block_that_fits_counts(folder):
    """sshd_config: by user, address and group."""
    lines = ["TCPCongestion cubic",
             "Match User alice", "ChannelWindowMax none", "TCPCongestion bbr",
             "Match Address 192.0.2.0/24", "ChannelWindowMax 4M",
             "Match all", "ChannelWindowMax 16M"]

    def of(user, address, name="ChannelWindowMax"):
        return value(dump(folder, "sshd", *lines, conditions=[
            "-C", f"user={user},addr={address},host=example.org"]), name)

    assert of("alice", "198.51.100.1") == "none"
    assert of("alice", "192.0.2.1") == "none"
    assert of("root", "192.0.2.1") == str(4 * MIB)
    assert of("root", "198.51.100.1") == str(16 * MIB)
    assert of("alice", "192.0.2.1", "TCPCongestion") == "bbr"
    assert of("root", "192.0.2.1", "TCPCongestion") == "cubic"


# Of earlier releases

IGNORED = pytest.mark.parametrize(
    "name", ["QuickStart", "CopyConnections", "CopySessions"])
BOTH = pytest.mark.parametrize("tool", ["scp", "sftp"])


@IGNORED
@pytest.mark.parametrize("argument", [
    "yes", "nonsense", "two words", '"in quotes"'])
@pytest.mark.parametrize("where", ["file", "other host", "command line"])
def test_option_that_went_changes_nothing(folder, name, argument, where):
    """One in a file has a line at -v, as all that is deprecated."""
    lines, more = [], []
    if where == "command line":
        more = ["-o", f"{name}={argument}"]
    else:
        lines = ["Host other"] * (where == "other host") + \
            [f"{name} {argument}"]
    stock = dump(folder, "ssh")
    done = dump(folder, "ssh", *lines, conditions=more)
    assert (done.returncode, done.stdout, done.stderr) == \
        (0, stock.stdout, ""), done.stderr
    assert name.lower() not in done.stdout
    done = dump(folder, "ssh", *lines, conditions=["-v", *more])
    told = [line for line in done.stderr.splitlines()
            if name.lower() in line.lower()]
    assert len(told) == (where != "command line"), told
    assert all(line.startswith("debug1: ") for line in told)


@IGNORED
def test_option_that_went_is_unknown_to_sshd(folder, name):
    done = dump(folder, "sshd", f"{name} yes")
    assert done.returncode == 255 and name in done.stderr


@BOTH
@pytest.mark.parametrize("option", [
    "connections=auto", "connections=0", "sessions=4", "sessions=",
    "pace=on", "pace=nonsense"])
def test_option_of_a_copy_that_went_changes_nothing(tmp_path, tool, option):
    (tmp_path / "source").write_bytes(b"content")
    server = program(tmp_path / "server", f"echo >> {tmp_path}/servers\n"
                     f"exec {SERVER}")
    for level, told in ((["-v"], 1), ([], 0)):
        argv = [f"{OURS}/{tool}", *level, "-X", option, "-D", server]
        argv += ["-b", "-"] if tool == "sftp" else \
            [tmp_path / "source", f"x:{tmp_path}/copy"]
        done = subprocess.run(
            argv, input=f"put {tmp_path}/source {tmp_path}/copy\n", text=True,
            capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "copy").read_bytes() == b"content"
        lines = [line for line in done.stderr.splitlines()
                 if option.partition("=")[0] in line]
        assert len(lines) == told, lines
        assert all(line.split("scp: ")[-1].startswith("debug1: ")
                   for line in lines)
        (tmp_path / "copy").unlink()
    assert (tmp_path / "servers").read_text() == "\n\n"


@BOTH
@pytest.mark.parametrize("option, says", [
    *((f"{name}=1", "Invalid -X option") for name in ("session", "nonsense")),
    *((f"files={n}", "Invalid number of files") for n in ("0", "129", "x", "")),
    *((f"streams={n}", "Invalid number of streams")
      for n in ("0", "9", "-1", "x", ""))])
def test_bad_option_of_a_copy_is_refused(tmp_path, tool, option, says):
    done = subprocess.run([f"{OURS}/{tool}", "-X", option, "-D", SERVER,
                           "x:a", "b"], cwd=tmp_path, text=True,
                          capture_output=True, timeout=300)
    assert done.returncode != 0 and says in done.stderr


def lint(page):
    """What mandoc says of a page, without where and how often."""
    done = subprocess.run(["mandoc", "-T", "lint", page], text=True,
                          capture_output=True)
    assert done.returncode <= 4, done.stderr
    return collections.Counter(
        re.sub(r" \(\d+ times\)$", "", line.split(": ", 2)[2])
        for line in done.stdout.splitlines())


@pytest.mark.parametrize("page", ["ssh_config.5", "sshd_config.5"])
def test_man_page_is_clean_and_has_the_options(page):
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")
    ours = os.path.join(OURS, page)
    new = lint(ours) - lint(os.path.join(STOCK, page))
    assert not new, new
    text = subprocess.run(["mandoc", "-T", "ascii", ours], text=True,
                          capture_output=True, check=True).stdout
    text = re.sub(".\b", "", text)
    entry = re.search(r"^     ChannelWindowMax\n(.*?)^     \w", text,
                      re.M | re.S)
    assert entry, "no entry of its own"
    for word in ("none", "128M", "2M", "1G"):
        assert word in entry.group(1)
    if page == "sshd_config.5":
        match = re.search(r"^     Match .*?(?=^     \w)", text, re.M | re.S)
        assert "ChannelWindowMax" in match.group(0)
