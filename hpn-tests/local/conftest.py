"""Who runs the programs: an ordinary user, also where root runs the tests.
Those with an sshd are root's again (see loopback.place)."""

import os

import pytest

from loopback import OURS, as_user, user_folder


@pytest.fixture
def tmp_path():
    """As pytest's, but where a user may go. tally.py removes it."""
    path = user_folder()
    with as_user():
        if not os.access(f"{OURS}/ssh", os.X_OK):
            pytest.skip(f"no way to {OURS} for an ordinary user")
        yield path
