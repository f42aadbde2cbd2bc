"""What "make mutants" draws has tests, and the faults that it leaves out are
still in the code."""

import importlib.machinery
import importlib.util
import os

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


def load():
    loader = importlib.machinery.SourceFileLoader("mutants",
                                                  f"{HERE}/mutants")
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("mutants", loader))
    loader.exec_module(module)
    return module


mutants = load()
pytestmark = pytest.mark.skipif(
    not os.path.exists(mutants.OURS) or not os.path.exists(mutants.STOCK),
    reason="no build/openssh and build/stock")


def test_every_file_has_tests():
    names = [name for name, _ in mutants.sources()]
    assert {"window-control.c", "copy-file.c", "channels.c",
            "packet.c"} <= set(names)
    for name in names:
        assert mutants.tests_of(name), f"no row of TESTS is for {name}"
    for test in {t for _, tests in mutants.TESTS for t in tests.split()}:
        assert os.path.exists(f"{mutants.TOP}/hpn-tests/local/{test}"), test


def test_kept_faults_are_in_the_code():
    """And each has a reason."""
    for (name, line, fault), reason in mutants.kept().items():
        text = mutants.read(f"{mutants.OURS}/{name}").splitlines()
        assert line in [" ".join(t.split()) for t in text], (name, line)
        assert fault != line and reason, (name, line)
