"""An ordinary user runs the programs, also where root runs the tests."""

from loopback import place, user_path           # noqa: F401
