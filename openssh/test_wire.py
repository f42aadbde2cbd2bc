"""What goes over the wire, as a stock peer sees it."""

import os
import re

import pytest

from loopback import HERE, OURS, PRISTINE, place, read    # noqa: F401


def header(macro):
    """A name, as bdp-names.h has it."""
    text = read(os.path.join(HERE, "bdp-names.h"))
    domain = re.search(r'define BDP_DOMAIN\s+"(.*)"', text)[1]
    return re.search(rf'define {macro}\s+"(.*@)" BDP_DOMAIN',
                     text)[1] + domain


def extensions(log):
    """Names in EXT_INFO, in their order, as a debugging log tells them."""
    return re.findall(r"kex_ext_info_\w+: (\S+?)(?:=<| \(unrec)", log)


@pytest.mark.parametrize("said_by", ["sshd", "ssh"])
def test_our_extension_is_the_last(place, said_by):     # noqa: F811
    trees = (OURS, PRISTINE) if said_by == "sshd" else (PRISTINE, OURS)
    sshd = place.sshd(trees[0], "LogLevel DEBUG2")
    done = place.run(place.ssh("root@127.0.0.1", "true", tree=trees[1],
                               level="DEBUG2"))
    assert done.returncode == 0, done.stderr
    if said_by == "sshd":
        names = extensions(done.stderr)[:4]
        assert names == ["server-sig-algs", "publickey-hostbound@openssh.com",
                         "ping@openssh.com", header("BDP_BOUNDED_INPUT")]
    else:
        names = extensions(read(sshd.log))
        assert names == ["ext-info-in-auth@openssh.com",
                         header("BDP_BOUNDED_INPUT")]
