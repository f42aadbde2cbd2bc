"""scp and sftp over several streams are killed at random moments, in the
modes that test_streams.py has not: with -p, by sftp, while scp -Z resumes, and
with files that are larger than what it may send again."""

import os

import pytest

from stream_place import BOTH, LARGE_SLOW, SLOW, Place, killed_at_any_moment
from sftp_tools import SERVER

pytestmark = pytest.mark.skipif(not os.path.exists(SERVER),
                                reason="no build/openssh: see \"make openssh\"")


@pytest.mark.parametrize("mode,direction,what", [
    ("-p", "get", "file"), ("-p", "put", "tree"),
    ("sftp", "get", "tree"), ("sftp", "put", "tree"), ("sftp", "put", "file"),
    ("-Z", "get", "tree"), ("-Z", "put", "file"), ("-Z -p", "put", "tree")])
def test_killed_at_any_moment(tmp_path, mode, direction, what):
    tool, more = ("sftp", []) if mode == "sftp" else ("scp", mode.split())
    killed_at_any_moment(Place(tmp_path), direction, what, f"{mode} ",
                         0.6 if "-Z" in mode else 1, SLOW, *more, tool=tool,
                         usual=1)


@BOTH
@pytest.mark.parametrize("streams", [4, 8])
def test_killed_with_a_large_file(tmp_path, direction, streams):
    killed_at_any_moment(Place(tmp_path), direction, "large", f"{streams} ",
                         2.4, LARGE_SLOW, usual=1, streams=streams)
