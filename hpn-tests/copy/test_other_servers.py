"""scp and sftp of build/openssh with sftp servers that others wrote, without
ssh between them."""

import os
import shutil

import pytest

from loopback import as_user, user_folder
from sftp_tools import (BUILD, OURS, STOCK, content, copy, entries, make_tree)

SERVERS = {
    "debian12": (f"{BUILD}/debian12/sftp-server", "see \"make debian12\""),
    "stock": (f"{BUILD}/stock/sftp-server", "see \"make stock\""),
    "green-end": ("/usr/libexec/gesftpserver", "see gesftpserver"),
    "go": (f"{BUILD}/gosftp/sftp-server", "see \"make gosftp\""),
}


@pytest.fixture(scope="module")
def sources():
    top = user_folder()
    with as_user():
        (top / "file").write_bytes(content(64 << 20))
        (top / "file").chmod(0o640)
        os.utime(top / "file", (1234567890, 1234567890))
        make_tree(top / "tree")
    yield top
    shutil.rmtree(top)


@pytest.mark.parametrize("what", ["file", "tree"])
@pytest.mark.parametrize("direction", ["get", "put"])
@pytest.mark.parametrize("tool", ["scp", "sftp"])
@pytest.mark.parametrize("server", SERVERS)
def test_copy_by_other_servers_arrives_whole(sources, tmp_path, server, tool,
                                             direction, what):
    """What a server cannot do for us, it cannot do for the stock client."""
    program, reason = SERVERS[server]
    if not os.access(program, os.X_OK):
        pytest.skip(f"no {program}: {reason}")

    def outcome(build):
        dest = tmp_path / os.path.basename(build)
        status, error = copy(tmp_path, tool, direction, program, sources / what,
                             dest, "-rp" if what == "tree" else "-p",
                             build=build)
        assert error == ""
        return status, entries(dest)

    status, found = outcome(OURS)
    wanted = entries(sources / what)
    assert {name: digest for name, (_, _, digest) in found.items()} == \
        {name: digest for name, (_, _, digest) in wanted.items()}
    if (status, found) != (0, wanted):
        assert (status, found) == outcome(STOCK)
