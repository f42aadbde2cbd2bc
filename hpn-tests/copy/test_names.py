"""A server whose names lead out of the target: in its directories, in what it
answers REALPATH with, and where a pattern is matched. Nothing is created,
changed or removed outside of the target, in any way that copies."""

import os
import shlex

import pytest

from odd_sftp_server import EVIL
from sftp_tools import ODD, OURS, SERVER, program, run

ENTRIES = ["", "/", ".", "..", "../evil", "../../evil", f"/{EVIL}",
           "a/../../evil", "evil/", "../evil\\0x", "..\\0", "sub/evil",
           "{up}/evil"]
ROOTS = ["", ".", "..", "x"]        # entries of "/"
REALPATHS = ["", "/", "..", "../evil", "/nowhere/../../evil", "evil/", "..\\0",
             "../evil\\0x", "/nowhere/..", "/nowhere/file {up}/evil #",
             "{up}/evil"]
COMMANDS = {
    "scp-r": ["scp", "-r", "x:/nowhere", "."],
    "scp-r-into": ["scp", "-r", "x:/nowhere", "new"],
    "scp-file": ["scp", "x:/nowhere/file", "."],
    "scp-glob": ["scp", "-r", "x:/nowhere/*", "."],
    "scp-dots": ["scp", "-r", "x:/nowhere/.*", "."],
    "scp-p": ["scp", "-rp", "x:/nowhere/.*", "."],
    "scp-user": ["scp", "-r", "x:~user/dir", "."],
    "scp-3-user": ["scp", "-3", "-r", "x:~user/dir", "y:{target}"],
    "scp-Z": ["scp", "-rZ", "x:/nowhere", "."],
    "scp-streams": ["scp", "-X", "streams=4", "-r", "x:/nowhere", "."],
    "scp-3": ["scp", "-3", "-r", "x:/nowhere", "y:{target}"],
    "scp-3-glob": ["scp", "-3", "-r", "x:/nowhere/*", "y:{target}"],
    "scp-3-dots": ["scp", "-3", "-r", "x:/nowhere/.*", "y:{target}"],
    "sftp-argument": ["sftp", "x:file", "."],
    "sftp-streams": ["sftp", "-X", "streams=4", "-r", "x:/nowhere", "."],
    "sftp-get": "get file",
    "sftp-get-r": "get -r /nowhere",
    "sftp-get-r-dot": "get -r .",
    "sftp-glob": "get -r /nowhere/*",
    "sftp-dots": "get -r /nowhere/.*",
    "sftp-p": "get -rp /nowhere/.*",
    "sftp-reget": "reget -r /nowhere",
    "sftp-all": "get -r *",
    "sftp-root": "get -r /",
    "sftp-empty": 'get -r ""',
}


def snapshot(top, target):
    """Permissions, time and content of all below a folder but the target"""
    return {str(path): (path.stat().st_mode, path.stat().st_mtime,
                        path.is_file() and path.read_bytes())
            for path in top.rglob("*")
            if path != target and target not in path.parents}


def outside(tmp_path, command, how, name, kind, version):
    """What a copy has changed outside of its target"""
    target = tmp_path / "up" / "up" / "target"
    target.mkdir(parents=True)
    (target.parent / "kept").write_text("kept")
    evil = shlex.join([ODD, "=".join([how, name.format(up=target.parent), kind,
                                      version])])
    # The first connection of scp -3 is that to the target: a good server.
    first = f"exec {SERVER} -e" if "-3" in command else f"exec {evil}"
    server = program(tmp_path / "server", f"mkdir {tmp_path}/first "
                     f"2>/dev/null && {first}\nexec {evil}")
    before = snapshot(tmp_path, target)
    if isinstance(command, str):
        _, said = run([f"{OURS}/sftp", "-q", "-b", "-", "-D", server], target,
                      input=command + "\n")
    else:
        tool, *argv = (a.format(target=target) for a in command)
        _, said = run([f"{OURS}/{tool}", "-q", "-S" if tool == "sftp" else
                       "-D", server, *argv], target)
    # A server that has crashed, or never started, wants no file.
    assert "Traceback" not in said and "exec: " not in said, said
    after = snapshot(tmp_path, target)
    after.pop(f"{tmp_path}/first", None)
    if os.path.exists(f"/{EVIL}"):
        os.unlink(f"/{EVIL}")
        after[f"/{EVIL}"] = "EVIL!"
    # The ordinary user who runs the programs may not write there.
    if f'open local "/{EVIL}"' in said:
        after[f"/{EVIL}"] = "EVIL?"
    return {path for path in before.keys() | after.keys()
            if before.get(path, 0) != after.get(path, 0)}


@pytest.mark.parametrize("how, names, kind, version", [
    ("entry", ENTRIES, "file", "3"), ("entry", ENTRIES, "dir", "3"),
    ("entry", ENTRIES, "link", "3"), ("entry", ENTRIES, "dir", "2"),
    ("root", ROOTS, "dir", "3"), ("root", ROOTS, "dir", "2"),
    ("realpath", REALPATHS, "file", "3"), ("realpath", REALPATHS, "dir", "3")])
@pytest.mark.parametrize("command", COMMANDS)
def test_copy_stays_inside(tmp_path, command, how, names, kind, version):
    for i, name in enumerate(names):
        place = tmp_path / str(i)
        place.mkdir()
        assert outside(place, COMMANDS[command], how, name, kind,
                       version) == set(), name


@pytest.mark.parametrize("version", ["3", "2"])
@pytest.mark.parametrize("command", COMMANDS)
def test_harmless_name_is_copied(tmp_path, command, version):
    """So the server works, and the client takes files from it."""
    command = COMMANDS[command]
    name = ".good" if ".*" in "".join(command) else "good"
    assert outside(tmp_path, command, "entry", name, "file", version) == set()
    target = tmp_path / "up" / "up" / "target"
    assert {path.read_text() for path in target.rglob("*")
            if path.is_file()} == {"EVIL!\n"}
