"""Folders, names and file systems as users have them: what comes of a copy is
what comes of stock's, in status, words, names, modes and content."""

import contextlib
import filecmp
import os
import pathlib
import re
import shutil
import stat
import struct
import subprocess

import pytest

from loopback import ORDINARY, OURS, STOCK, USER, as_user, needs_root, read
from sftp_tools import SERVER, client, content, copy, entries
from stream_place import BOTH, TOOLS

MIB = 1 << 20
LARGE = 64 * MIB
LONG_AGO = 1234567890
OTHER = 4711                    # neither the user nor one of his groups
ACLS = "system.posix_acl_default", "system.posix_acl_access"
# The user's, another one's, the group's, mask, others': tag, permissions, id
ACL = struct.pack("<I" + 5 * "HHI", 2, 1, 7, 2**32 - 1, 2, 5, OTHER, 4, 5,
                  2**32 - 1, 16, 5, 2**32 - 1, 32, 0, 2**32 - 1)
NAMES = (b"caf\xe9", b"\xff" * 255, b"n" * 255, b" ", b"-rf", b"$(x)",
         b"\xe2\x82", b"a\\b", b"t\tt", b"*?[", b"two\nlines")


def fill(top):
    (top / "deep" / "down").mkdir(parents=True)
    (top / "deep").chmod(0o775)
    for i in range(6):
        path = top / ("deep/down" if i % 2 else "") / f"file{i}"
        path.write_bytes(content(i * 20000, i))
        path.chmod(0o640 if i % 3 else 0o755)
        os.utime(path, (LONG_AGO, LONG_AGO))


def acls(path):
    found = []
    for name in ACLS:
        with contextlib.suppress(OSError):
            found.append((name, os.getxattr(path, name)))
    return found


def look(top):
    """What a folder has: modes, times unless they are new, content, groups and
    ACLs."""
    return {name: (mode, time == LONG_AGO, digest,
                   os.stat(f"{top}{name}").st_gid, acls(f"{top}{name}"))
            for name, (mode, time, digest) in entries(top).items()}


# What root does to source and target before

def sticky(source, dest):
    """Somebody else's file in a folder where all may write."""
    (dest / "file2").write_text("of somebody else")
    os.chown(dest / "file2", OTHER, OTHER)
    dest.chmod(0o1777)


def in_the_way(source, dest):
    (dest / "file2").write_text("of the user, and read-only")
    os.chown(dest / "file2", *ORDINARY)
    (dest / "file2").chmod(0o444)


def setgid(source, dest):
    os.chown(dest, -1, OTHER)
    dest.chmod(0o2777)


def names(source, dest):
    for name in NAMES:
        with open(os.path.join(os.fsencode(source), name), "wb") as f:
            f.write(name)
        os.utime(f.name, (LONG_AGO, LONG_AGO))


def special(source, dest):
    """What is no file, and links"""
    os.mkfifo(source / "fifo")
    os.mknod(source / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    for name, target in (("link", "file0"), ("gone", "nowhere"),
                         ("folder", "deep")):
        (source / name).symlink_to(target)


FOLDERS = {
    "plain": lambda source, dest: None,
    "read-only": lambda source, dest: dest.chmod(0o555),
    "no-way": lambda source, dest: dest.chmod(0),
    "secret-file": lambda source, dest: (source / "file2").chmod(0),
    "secret-folder": lambda source, dest: (source / "deep").chmod(0),
    "in-the-way": in_the_way, "sticky": sticky, "setgid": setgid,
    "umask": lambda source, dest: os.umask(0o077),
    "ACL": lambda source, dest: os.setxattr(dest, ACLS[0], ACL),
    "names": names, "special": special,
}


def outcome(here, build, tool, direction, options, make):
    """Of a copy between folders that make() has changed; all is gone then."""
    source, dest = here / "source", here / "dest"
    umask = os.umask(0o022)
    with as_user():
        here.mkdir()
        fill(source)
        dest.mkdir()
    make(source, dest)
    try:
        with as_user():
            status, error = copy(
                here, tool, direction, SERVER, f"{source}/.", dest, options,
                build=build)
    finally:
        os.umask(umask)
    found = look(dest)
    shutil.rmtree(here)
    return status, sorted(error.replace(build, "").splitlines()), found


@pytest.mark.parametrize("folder", FOLDERS)
@TOOLS
@BOTH
def test_copy_into_odd_folders_is_stocks(tmp_path, tool, direction, folder):
    needs_root()
    for options in ("-r", "-rp"):
        stock, ours = (outcome(tmp_path / "here", build, tool, direction,
                               options, FOLDERS[folder])
                       for build in (STOCK, OURS))
        if direction == "put" and options == "-r":
            # Before 10.3 stock gives a target that is there the source's mode
            stock[2][""] = ours[2][""] = ours[2][""]
        assert ours == stock
        if folder in ("plain", "names", "umask", "setgid", "ACL"):
            assert stock[0] == 0 and len(stock[2]) > 8
        else:
            assert stock[1] or folder == "special", stock


# File systems

ON_LOOP = """truncate -s 320M {at}.image
    mkfs.{kind} {at}.image
    mount -o loop{more} {at}.image {at}"""
MOUNTS = {
    "tmpfs": "mount -t tmpfs -o size=320m none {at}",
    "overlay": """mount -t tmpfs -o size=320m none {at}
        mkdir -m 777 {at}/low {at}/up {at}/work
        mount -t overlay none {at} -o lowerdir={at}/low \
            -o upperdir={at}/up,workdir={at}/work""",
    "ext4": ON_LOOP, "xfs": ON_LOOP, "btrfs": ON_LOOP, "vfat": ON_LOOP,
    "quota": ON_LOOP + """
        btrfs quota enable {at}
        btrfs qgroup limit 40M {at}""",
}


@pytest.fixture(params=MOUNTS)
def mounted(place, request):
    """A folder with a file system: as the place sees it, and as we do."""
    kind = "btrfs" if request.param == "quota" else request.param
    script = MOUNTS[request.param]
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", "-q", kind], check=False)
    if kind not in read("/proc/filesystems").split():
        pytest.skip(f"no {kind} in this kernel")
    if script.startswith(ON_LOOP) and not shutil.which(f"mkfs.{kind}"):
        pytest.skip(f"no mkfs.{kind}")
    return place.mounted(script.replace("{kind}", kind).replace(
        "{more}", ",umask=0" * (kind == "vfat")) + "\nchmod 777 {at}")


def moved(place, build, direction, *options, source, dest, limit=()):
    """What scp said of a copy."""
    argv, _ = client("scp", direction, SERVER, source, dest, build=build)
    argv[2:2] = options
    done = place.run([*limit, *argv])
    return done.returncode, done.stderr.replace(build, "")


@BOTH
def test_copy_on_a_file_system_is_stocks(place, mounted, direction):
    """Also if there is no room for a large file. One is resumed."""
    at, here = mounted
    seen = []
    fill(pathlib.Path(f"{here}/source"))
    for name, size in (("whole", 9 * MIB), ("part", 5 * MIB)):
        with open(f"{here}/{name}", "wb") as f:
            f.write(content(9 * MIB)[:size])
    place.as_root(f"chown -R {USER} {at}")
    for build in (STOCK, OURS):
        said = moved(place, build, direction, "-r", source=f"{at}/source",
                     dest=f"{at}/dest")
        seen.append((said, look(f"{here}/dest")))
        shutil.rmtree(f"{here}/dest")
    assert seen[0] == seen[1] and seen[0][0] == (0, "")
    assert moved(place, OURS, direction, "-Z", source=f"{at}/whole",
                 dest=f"{at}/part") == (0, "")
    assert filecmp.cmp(f"{here}/whole", f"{here}/part", shallow=False)
    free = os.statvfs(here)
    with contextlib.suppress(OSError), open(f"{here}/ballast", "wb") as f:
        os.posix_fallocate(f.fileno(), 0,
                           free.f_bavail * free.f_frsize - LARGE // 2)
    with open(place.path("large"), "wb") as f:
        f.write(content(LARGE))
    full = []
    for build in (STOCK, OURS):
        full.append(moved(place, build, direction, source=place.path("large"),
                          dest=f"{at}/large"))
        os.unlink(f"{here}/large")
    # Whether there is room for attributes, btrfs knows
    stock, ours = ((status, re.sub(".*fsetstat: Failure\n", "", said))
                   for status, said in full)
    assert ours == stock and stock[0] == 1
    assert direction == "put" or re.search("No space|quota", stock[1])
    place.as_root(f"mount -o remount,ro {at}")
    stock, ours = (moved(place, build, direction, "-rp", source=f"{at}/source",
                         dest=f"{at}/dest") for build in (STOCK, OURS))
    assert ours == stock and stock[0] == 1 and "dest" in stock[1]


@pytest.mark.parametrize("mounted", ["tmpfs"], indirect=True)
@pytest.mark.parametrize("direction, folders", [("get", 1), ("put", 1000)])
def test_100_000_files_arrive(place, mounted, direction, folders):
    """Their names alone are more than a window. The client has less than 64
    MiB of memory."""
    at, here = mounted
    for i in range(100000):
        folder = f"{here}/source/{i % folders}"
        if i < folders:
            os.makedirs(folder)
        with open(f"{folder}/{i:0{20 + i % 30}}", "wb"):
            pass
    assert moved(place, OURS, direction, "-r", source=f"{at}/source",
                 dest=f"{at}/dest",
                 limit=["prlimit", f"--data={LARGE}"]) == (0, "")
    source, dest = ({(os.path.relpath(folder, f"{here}/{end}"), name)
                     for folder, _, files in os.walk(f"{here}/{end}")
                     for name in files} for end in ("source", "dest"))
    assert dest == source and len(dest) == 100000
