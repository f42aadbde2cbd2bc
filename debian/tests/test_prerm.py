"""prerm: no version is left with options in its configuration that it refuses.
On files here; test_downgrade.py has a running sshd, bdp-install the packages.
"""

import os
import re
import shutil
import subprocess

import pytest

DEBIAN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = os.path.dirname(DEBIAN)
OPTIONS = "ChannelWindowMax|TCPCongestion|QuickStart|CopyConnections|" \
    "CopySessions"


@pytest.fixture
def prerm(tmp_path):
    """prerm(WORD...): what it does with sshd_config in tmp_path."""
    with open(os.path.join(DEBIAN, "overlay", "prerm")) as f:
        text = f.read()
    script = tmp_path / "prerm"
    for word, value in (("@PACKAGE@", "openssh-server"),
                        ("@CONFIG@", f"{tmp_path}/sshd_config"),
                        ("/etc/default/ssh", f"{tmp_path}/default"),
                        ("/etc/ssh", str(tmp_path)), ("systemctl", "false"),
                        ("/usr/sbin/sshd", f"{tmp_path}/sshd")):
        assert word in text, word
        text = text.replace(word, value)
    script.write_text(text)

    def run(*words, to=""):
        done = subprocess.run(
            ["sh", "-c", f'sh "$@" {to}', "sh", str(script), *words],
            capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stdout == ""
        return done.stderr
    return run


def config(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


TEXT = """Port 22
ChannelWindowMax 64M
# ChannelWindowMax 1M
ChannelWindowMaximum
Match User a
\ttcpcongestion=bbr
  "TCPCongestion" cubic
=TCPCongestion bbr
\tBanner none
"""
LEFT = """Port 22
#ChannelWindowMax 64M
# ChannelWindowMax 1M
ChannelWindowMaximum
Match User a
#\ttcpcongestion=bbr
#  "TCPCongestion" cubic
#=TCPCongestion bbr
\tBanner none
"""


@pytest.mark.parametrize("words", [
    ("upgrade", "1:9.2p1-2+deb12u11"), ("remove",),
    ("remove", "in-favour", "x", "1")])
def test_another_version_takes_over(tmp_path, prerm, words):
    config(tmp_path, sshd_config=TEXT)
    said = prerm(*words)
    assert (tmp_path / "sshd_config").read_text() == LEFT
    assert said.count("\n") == 1
    assert f"openssh-server: {tmp_path}/sshd_config: " in said
    assert prerm(*words) == ""


@pytest.mark.parametrize("to", ["2>/dev/full", "2>&-"])
def test_where_nothing_can_be_printed(tmp_path, prerm, to):
    """All files are changed, and dpkg is told of no failure."""
    config(tmp_path, sshd_config="Include more\nTCPCongestion bbr\n",
           more="TCPCongestion bbr\n")
    prerm("remove", to=to)
    assert (tmp_path / "sshd_config").read_text() == \
        "Include more\n#TCPCongestion bbr\n"
    assert (tmp_path / "more").read_text() == "#TCPCongestion bbr\n"


@pytest.mark.parametrize("words", [
    ("upgrade", "1:9.2p1-2+deb12u11+bdp1"),
    ("deconfigure", "in-favour", "x", "1"), ("failed-upgrade", "1")])
def test_else_nothing_changes(tmp_path, prerm, words):
    config(tmp_path, sshd_config=TEXT)
    assert prerm(*words) == ""
    assert (tmp_path / "sshd_config").read_text() == TEXT


def test_included_files(tmp_path, prerm):
    """Absolute, relative, with a pattern, in a circle, and none."""
    line = "ChannelWindowMax none\n"
    config(tmp_path, sshd_config=f'Include {tmp_path}/all/*.conf "more"\n'
           "include = nowhere\n", more=line, all__a_conf=line, other=line,
           deep=f"Include {tmp_path}/sshd_config deep\n{line}")
    (tmp_path / "all" / "a_conf").rename(tmp_path / "all" / "a.conf")
    (tmp_path / "all" / "b.conf").write_text("Include deep\n")
    said = prerm("upgrade", "1:1")
    assert said.count(" options of openssh-bdp are now comments, because "
                      "Debian's openssh refuses them\n") == 3
    for name in ("more", "all/a.conf", "deep"):
        assert "\n#ChannelWindowMax none\n" in \
            "\n" + (tmp_path / name).read_text(), name
    assert (tmp_path / "other").read_text() == line


@pytest.mark.parametrize("line", [
    "Include {}/sub/*.conf", "Include {}/sub/*.conf\r", "Include '{}/sub/*'",
    'include "{}/sub/my host.conf"', "Include {}/sub/my\\ host.conf",
    "Include sub/*.conf  # all", '"Include"={}/nowhere "sub/*.conf"',
    "Include {}/x {}/sub/*.conf"])
def test_include_as_sshd_reads_it(tmp_path, prerm, line):
    config(tmp_path, sshd_config=line.format(tmp_path, tmp_path) + "\n",
           sub__a="", x="")
    (tmp_path / "sub" / "my").write_text("")
    there = tmp_path / "sub" / "my host.conf"
    there.write_text("TCPCongestion bbr")
    said = prerm("upgrade", "1:1")
    assert there.read_text() == "#TCPCongestion bbr"
    assert said.count("\n") == 1


def test_what_it_cannot_write_to(tmp_path, prerm, monkeypatch):
    """It goes on, and says what is left to do."""
    line = "ChannelWindowMax none\n"
    config(tmp_path, sshd_config=f"{line}Include sub/*\nInclude other\n",
           sub__a=line, other=line)
    sed = tmp_path / "bin" / "sed"          # of a disk that is full
    sed.parent.mkdir()
    sed.write_text('#!/bin/sh\ncase "$*" in *" -i "*/sub/a) exit 4 ;; esac\n'
                   f'exec {shutil.which("sed")} "$@"\n')
    sed.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sed.parent}:{os.environ['PATH']}")
    said = prerm("upgrade", "1:1")
    assert (tmp_path / "sub" / "a").read_text() == line
    assert (tmp_path / "other").read_text() == "#" + line
    assert "WARNING: Debian's openssh refuses" in said
    assert said.endswith(f"They are in:\n{tmp_path}/sub/a\n")


def test_a_file_keeps_its_mode_and_link(tmp_path, prerm):
    config(tmp_path, there=TEXT)
    (tmp_path / "there").chmod(0o640)
    (tmp_path / "sshd_config").symlink_to("there")
    prerm("upgrade", "1:1")
    assert (tmp_path / "sshd_config").is_symlink()
    assert (tmp_path / "there").read_text() == LEFT
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o640


def test_all_options_are_known():
    """Those that have an effect now, and those that older packages took."""
    with open(os.path.join(DEBIAN, "overlay", "prerm")) as f:
        assert f"\noptions='{OPTIONS}'\n" in f.read()
    with open(os.path.join(TOP, "openssh", "options", "bdp-options.h")) as f:
        found = re.findall(r"^\tentry\((\w+),", f.read(), re.M)
    assert {"ChannelWindowMax"} <= set(found) <= set(OPTIONS.split("|"))


@pytest.mark.parametrize("path, options", [
    ("README.md", OPTIONS),
    ("debian/README.md", OPTIONS),
    ("debian/overlay/NEWS", OPTIONS),
    ("debian/overlay/README.Debian", OPTIONS),
    ("debian/tests/bdp-install", OPTIONS)])
def test_all_options_are_told(path, options):
    """Where the way back to Debian's own packages is."""
    with open(os.path.join(TOP, path)) as f:
        text = f.read()
    assert [o for o in options.split("|") if o not in text] == []
