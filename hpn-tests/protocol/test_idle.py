"""Idle connections take at most 2 % more memory than those of stock's sshd."""

import pytest

from idle import idle, memory_kib


@pytest.mark.parametrize("connections, what, shows", [
    (200, ["-N"], "User child is on pid"),
    (100, ["sleep 1000"], "Starting session: command")])
def test_idle_memory_is_bounded(place, connections, what, shows):
    memory_kib(idle(place, connections, what, shows), connections)
