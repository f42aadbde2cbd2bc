"""scp and sftp over several connections are killed at random moments, in the
modes that test_lanes.py and test_auto_lanes.py have not: with -p, by sftp, and
while scp -Z resumes."""

import os

import pytest

from lane_place import SLOW, Place, killed_at_any_moment
from sftp_tools import SERVER

pytestmark = pytest.mark.skipif(not os.path.exists(SERVER),
                                reason="no build/openssh: see \"make openssh\"")


@pytest.mark.parametrize("mode,direction,what", [
    ("-p", "get", "file"), ("-p", "put", "tree"),
    ("sftp", "get", "tree"), ("sftp", "put", "tree"), ("sftp", "put", "file"),
    ("-Z", "get", "tree"), ("-Z", "put", "file"), ("-Z -p", "put", "tree")])
def test_killed_at_any_moment(tmp_path, mode, direction, what):
    tool, more = ("sftp", []) if mode == "sftp" else ("scp", mode.split())
    killed_at_any_moment(Place(tmp_path), direction, what, f"{mode} ", 1.5,
                         SLOW, *more, tool=tool, usual=1)
