"""scp and sftp over several streams are killed at random moments, in the
modes that test_streams.py has not: with -p, by sftp, while scp -Z resumes, and
with files that are larger than what it may send again."""

import pytest

from stream_place import BOTH, LARGE_SLOW, SLOW, Place, killed_at_any_moment


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


@pytest.mark.parametrize("mode,what", [("-Z", "file"), ("-Z -p", "tree")])
@BOTH
def test_killed_with_one_stream(tmp_path, direction, mode, what):
    """While it copies, and while it resumes"""
    killed_at_any_moment(Place(tmp_path), direction, what, f"{mode} one ", 0.6,
                         SLOW, *mode.split(), usual=5, streams=1)
