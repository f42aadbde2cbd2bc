"""scp and sftp over one or several streams are killed at random moments: by
each tool, while scp -Z resumes, and with files that are larger than what it may
send again. KILLS in the environment says how many moments, 20 by default."""

import pytest

from stream_place import BOTH, LARGE_SLOW, SLOW, Place, killed_at_any_moment


@pytest.mark.parametrize("mode,direction,what,streams,usual", [
    *(("", direction, what, 4, 5) for direction in ("get", "put")
      for what in ("file", "tree")),
    ("-p", "get", "file", 4, 1), ("-p", "put", "tree", 4, 1),
    ("sftp", "get", "tree", 4, 1), ("sftp", "put", "tree", 4, 1),
    ("sftp", "put", "file", 4, 1), ("-Z", "get", "tree", 4, 1),
    ("-Z", "put", "file", 4, 1), ("-Z -p", "put", "tree", 4, 1),
    ("-Z", "get", "file", 1, 5), ("-Z", "put", "file", 1, 5),
    ("-Z -p", "get", "tree", 1, 5), ("-Z -p", "put", "tree", 1, 5)])
def test_killed_copy_never_looks_complete(tmp_path, mode, direction, what,
                                          streams, usual):
    tool, more = ("sftp", []) if mode == "sftp" else ("scp", mode.split())
    killed_at_any_moment(Place(tmp_path), direction, what,
                         f"{mode} {streams} ", 0.6 if "-Z" in mode else 1,
                         SLOW, *more, tool=tool, usual=usual, streams=streams)


@BOTH
@pytest.mark.parametrize("streams", [4, 8])
def test_killed_large_file_never_looks_complete(tmp_path, direction, streams):
    killed_at_any_moment(Place(tmp_path), direction, "large", f"{streams} ",
                         2.4, LARGE_SLOW, usual=1, streams=streams)
