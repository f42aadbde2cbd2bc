"""Who runs the programs: an ordinary user, also where root runs the tests.
Those with an sshd are root's again (see loopback.place)."""

import pytest

from loopback import as_user, place, user_folder     # noqa: F401


@pytest.fixture
def tmp_path():
    """As pytest's, but where a user may go. tally.py removes it."""
    path = user_folder()
    with as_user():
        yield path
