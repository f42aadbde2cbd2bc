"""The core of the series builds alone."""

import pytest

import trees


@pytest.mark.parametrize("base", trees.BASES[:1])
def test_core_builds(base, tmp_path):
    trees.skip_without("core")
    laid = trees.Laid(base, tmp_path / "tree", upto="core", build=True)
    push = laid.quilt("push", "-a", "--fuzz=0")
    assert push.returncode == 0, push.stdout + push.stderr
    laid.configure()
    laid.make()
