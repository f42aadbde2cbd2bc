"""Starts the transfers that the selected scenarios will want, two at a time,
hands them out as they end, and says of each scenario in one line what was
measured and what was required."""

import json
import os
import time

import pytest

import artifacts
import lab
from scenarios import OTHER
from scene import Scene


def transfers_of(item):
    """The transfers a test needs: name to spec."""
    call = getattr(item, "callspec", None)
    if call and "row" in call.params:
        row = call.params["row"]
        return {**row.transfers, **row.references}
    if call and "draw" in call.params:
        return call.params["draw"].specs
    if call and "scene" in call.params:
        return {n: OTHER[n] for n in call.params["scene"][0].values()}
    return {}


class Transfers:
    """Transfers under way, by name."""

    def __init__(self, specs, reuse, say):
        self.pool = lab.Pool()
        self.say = say
        self.reuse = reuse
        self.start_s, self.said_s = time.monotonic(), time.monotonic()
        self.done = 0
        self.missing, self.futures = {}, {}
        self.add(specs)

    def add(self, specs):
        """Starts those that are new."""
        specs = {n: s for n, s in specs.items() if n not in self.missing}
        self.missing.update((n, lab.missing_tree(s)) for n, s in specs.items())
        specs = {n: s for n, s in specs.items() if not self.missing[n]}
        for name, spec in specs.items():
            future = self.pool.start(spec, name, reuse=self.reuse)
            future.add_done_callback(lambda _: self.finished())
            self.futures[name] = future

    def finished(self):
        self.done += 1
        now_s = time.monotonic()
        if now_s - self.said_s > 60:
            self.said_s = now_s
            self.say(f"{self.done} of {len(self.futures)} transfers, "
                     f"{(now_s - self.start_s) / 60:.0f} min")

    def __getitem__(self, name):
        if self.missing[name]:
            pytest.skip(f"no build/{self.missing[name]}: see \"make "
                        f"{self.missing[name]}\"")
        return self.futures[name].result()


@pytest.fixture(scope="session")
def transfers(request):
    config = request.config
    specs = {n: spec for item in request.session.items
             for n, spec in transfers_of(item).items()}
    unfinished = os.path.join(lab.LAB,
                              f"unfinished-{config.getoption('level')}")
    resume = config.getoption("resume")
    reuse = resume and os.path.exists(unfinished)
    if resume:
        os.makedirs(lab.LAB, exist_ok=True)
        open(unfinished, "w").close()
    started = Transfers(specs, reuse, config.say)
    yield started
    if resume and all(f.done() for f in started.futures.values()):
        os.unlink(unfinished)
    started.pool.executor.shutdown(cancel_futures=True)


@pytest.fixture
def scene(request, transfers):
    return Scene(*request.param, transfers)


class Measured:
    """Collects what a scenario measured and what it required."""

    def __init__(self):
        self.lines, self.missed, self.until = [], [], None

    def note(self, text):
        self.lines.append(text)

    def holds(self, text, holds):
        self.lines.append(text)
        if not holds:
            self.missed.append(text)

    def at_least(self, what, value, least, form):
        self.holds(f"{what}: {form.format(value)}, at least "
                   f"{form.format(least)}", value >= least)

    def at_most(self, what, value, most, form):
        self.holds(f"{what}: {form.format(value)}, at most "
                   f"{form.format(most)}", value <= most)


@pytest.fixture
def measured(request):
    request.node.measured = Measured()
    return request.node.measured


BUFFERS = {"raised": "raised", "package": "the package's",
           "default": "default"}


def path_words(spec):
    """A transfer's path, for a reader of the page"""
    words = spec.tcp_buffers or "raised"
    words = " and ".join(f"{BUFFERS[words[end]]} ({end})" for end in words) \
        if isinstance(words, dict) else BUFFERS[words]
    loss = f", {spec.loss} loss" if spec.loss else ""
    server = "ours" if spec.server == "openssh" else spec.server
    return (f"{spec.rate_mbit:g} Mbit/s x {spec.rtt_us / 1000:g} ms{loss}, "
            f"{spec.bytes / 1e6:.0f} MB {spec.direction}, server {server}, "
            f"buffers {words}")


def leave(folder, row, scene, m):
    """What a scenario measured, for a page of results"""
    found = {
        "row": row, "measured": m.lines, "missed": m.missed,
        "paths": list(dict.fromkeys(
            path_words(scene[key].spec) for key in scene.names)),
        "seconds": {key: round(scene[key].result["seconds"], 2)
                    for key in scene.names}}
    folder = os.path.join(lab.BUILD, folder)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{row}.json"), "w") as f:
        json.dump(found, f)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Whether what was measured is what was required."""
    report = (yield).get_result()
    m = getattr(item, "measured", None)
    if report.when != "call" or m is None:
        return
    report.measured = "; ".join(m.lines)
    if report.passed and item.get_closest_marker("page"):
        leave(item.get_closest_marker("page").args[0], item.callspec.id,
              item.funcargs["scene"], m)
    if report.passed and m.until and m.missed:
        report.expected_failure = m.until
    elif report.passed and m.until:
        report.outcome = "failed"
        report.longrepr = (f"holds now, but is marked as failing until "
                           f"'{m.until}': {report.measured}")
    elif report.passed and m.missed:
        report.outcome = "failed"
        report.longrepr = "missed: " + "; ".join(m.missed)
    if report.failed and transfers_of(item):
        folder = artifacts.save(item.callspec.id, f"{report.longrepr}\n",
                                transfers_of(item))
        report.longrepr = f"{report.longrepr}\nlogs, trace and picture: " + \
            os.path.relpath(folder, lab.TOP)
