"""A plugin of pytest: counts tests by outcome, and makes a skipped one a
failure where REQUIRE_ALL=1 is set. With several processes (see run.py)
it is in each of them: tests run in workers, and are counted by the one that
started these."""

import collections
import os
import re
import shutil

import pytest

# Why something was skipped that this machine lacks. What make builds it has,
# but for peers that have to be fetched.
LACKS = re.compile(r"no (?!\S*build/(?!debian12|gosftp)|configure|Makefile)|"
                   "could not import")
OF_KERNEL = "in this kernel"    # ends the reason where no package would help
WORST = ("passed", "skipped", "failed")
# What must not run at once, because both make something in build/openssh
IN_BUILD = {f"hpn-tests/{folder}/test_{name}.py" for folder, name in (
    ("login", "preauth"), ("config", "install"), ("unit", "fuzz"),
    ("unit", "regress"), ("unit", "unit"))}


class Tally:
    """A test that fails in set-up, body or clean-up has failed once."""

    def __init__(self):
        self.outcomes = {}
        self.reasons = collections.Counter()    # of what was skipped
        self.expected = {}              # failures, and until when

    def add(self, nodeid, outcome):
        before = self.outcomes.get(nodeid, "passed")
        self.outcomes[nodeid] = max(before, outcome, key=WORST.index)

    def skip(self, nodeid, longrepr):
        """longrepr is pytest's: file, line, reason."""
        self.add(nodeid, "skipped")
        why = " ".join(longrepr[2].removeprefix("Skipped: ").split())
        self.reasons[why] += 1

    def count(self, outcome):
        return list(self.outcomes.values()).count(outcome)


TALLY = Tally()


def requires_all():
    return os.environ.get("REQUIRE_ALL") == "1"


def pytest_configure(config):
    """config.say(line) tells the user how far a long run is."""
    # pytest takes standard output for itself while tests run, and a worker
    # has none
    is_worker = hasattr(config, "workerinput")
    terminal = os.fdopen(os.dup(2 if is_worker else 1), "w", buffering=1)
    form = "[{}]\n" if is_worker else "\n[{}] "
    config.say = lambda line: terminal.write(form.format(line))
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Scheduler())


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and requires_all() and \
            OF_KERNEL not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"REQUIRE_ALL=1, and skipped: {report.longrepr}"
    item.has_failed = getattr(item, "has_failed", False) or report.failed


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    """What a test that passed leaves in its folder goes at once: a third of
    a check leaves 15 GB."""
    outcome = yield
    folder = item.funcargs.get("tmp_path")
    if folder and not item.has_failed and outcome.excinfo is None:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_runtest_logreport(report):
    if report.skipped and not hasattr(report, "wasxfail"):
        TALLY.skip(report.nodeid, report.longrepr)
    else:
        TALLY.add(report.nodeid, report.outcome)


def pytest_collectreport(report):
    """A whole file that can't run here counts as one test."""
    if report.skipped:
        if requires_all():
            TALLY.add(report.nodeid, "failed")
        else:
            TALLY.skip(report.nodeid, report.longrepr)


def pytest_report_teststatus(report):
    """A scenario's line says what it measured (see netem)."""
    if report.when != "call" or not getattr(report, "measured", None):
        return None
    word = report.outcome.upper()
    until = getattr(report, "expected_failure", None)
    if until:
        TALLY.expected[report.nodeid] = until
        word = f"FAILS, as expected until '{until}'"
    return report.outcome, report.outcome[0], f"{word} {report.measured}"


def unit(nodeid):
    """What of the tests one worker runs, in order: those of a file, or of
    files that share what they make."""
    path = nodeid.split("::")[0]
    if path.startswith("hpn-tests/paths/"):
        return "hpn-tests/paths"        # all transfers are started at once
    if path.endswith("/test_builds.py"):
        return re.sub(r".*\[|[-\]].*", "", nodeid)      # the base
    return "build/openssh" if path in IN_BUILD else path


class Scheduler:
    @staticmethod
    def pytest_xdist_make_scheduler(config, log):
        from xdist.scheduler import LoadScopeScheduling

        class ByUnit(LoadScopeScheduling):
            def _split_scope(self, nodeid):
                return unit(nodeid)

        return ByUnit(config, log)
