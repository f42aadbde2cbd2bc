"""The campaign of faults, "make mutants", but for the campaign: what it
draws, what it runs, and that it tells found from unfound."""

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


def test_kept_are_still_there():
    """And each has a reason."""
    for (name, line, fault), reason in mutants.kept().items():
        text = mutants.read(f"{mutants.OURS}/{name}").splitlines()
        assert line in [" ".join(t.split()) for t in text], (name, line)
        assert fault != line and reason, (name, line)


def test_what_fails_anyway_finds_nothing(monkeypatch):
    """It is left out, and other tests of the file are still asked. A test that
    fails once only finds nothing either."""
    test = "hpn-tests/local/test_session_end.py"
    fails = {mutants.TOP: {f"{test}::a"}, "faulty": {f"{test}::a"}}
    once, asked = [], []

    def failing(top, tests, without=()):
        asked.append((top, tests))
        if top == "faulty" and once and tests in once[0]:
            return once.pop()
        return next((t for t in sorted(fails[top]) if t.startswith(tests) and
                     t not in without), "")

    monkeypatch.setattr(mutants, "failing", failing)
    functional = mutants.Functional()
    assert functional.find("faulty", "session-end.c") == ""
    assert asked == [("faulty", test), (mutants.TOP, f"{test}::a"),
                     ("faulty", test)]
    fails["faulty"].add(f"{test}::b")
    assert functional.find("faulty", "session-end.c") == f"{test}::b"
    fails["faulty"].clear()
    once.append(f"{test}::c")
    assert functional.find("faulty", "session-end.c") == ""
    # A file of which nothing can be told
    fails[mutants.TOP], fails["faulty"] = {test}, {test}
    assert functional.find("faulty", "session-end.c") == ""


def test_tells_found_from_unfound(tmp_path, monkeypatch):
    """One that a unit test finds, one that the compiler drops, one that it
    refuses, and one that no unit test can find."""
    monkeypatch.setattr(mutants, "FOLDER", str(tmp_path))
    copy = mutants.Copy(0)

    def judge(old, new, name="window-budget.c"):
        lines = mutants.read(f"{copy.tree}/{name}").splitlines(keepends=True)
        number = next(n for n, line in enumerate(lines)
                      if line.strip() == old)
        return copy.judge(mutants.Mutant(name, number + 1, lines[number],
                                         new), None)[0]

    line = "b->pool = limit > base ? limit - base : 0;"
    assert judge(line, ";") == "found"
    same = line.replace("base :", "base + 0 :")
    assert judge(line, same) == "same code"
    assert judge(line, "b->pool = ;") == "not compiled"
    assert judge("r = sshbuf_check_reserve(oqueue, SFTP_MAX_MSG_LENGTH);",
                 "r = 0;", "sftp-server.c") == "unfound"
    # And nothing of them is left
    assert judge(line, same) == "same code"
