"""bench.py: measures, and appends a line of JSON for each run to
build/bench/NAME.jsonl. The environment says what:

    QUICK=1     a subset, see runs.py
    NAME=word   of the file ("quick" or "full")
    REPS=n      repetitions of each run (3)
    PEERS="hpn=/opt/hpnssh:hpn"     others to compare with, see README.md
    ONLY=words  runs with all of them in their name

What the file has already is not measured again: the same command resumes an
interrupted run."""

import concurrent.futures
import os
import platform
import re
import signal
import sys
import time

import links
import loop
import results
import runs
import sides
import virtual
import lab
from project import BENCH, TOP, BenchError, main as run_main

TELLING = {"goodput": "goodput_mb_s", "setup": "first_byte_rtt",
           "files": "files_per_s", "echo": "echo_p99_ms",
           "cpu": "cpu_s_per_gb", "copy": "command_s"}


def options(env):
    reps = env.get("REPS", "")
    if reps and not (reps.isdigit() and int(reps) > 0):
        raise BenchError(f"REPS is a number from 1, not {reps!r}")
    quick = env.get("QUICK", "") not in ("", "0")
    name = env.get("NAME") or ("quick" if quick else "full")
    if not re.fullmatch(r"[\w.-]+", name):
        raise BenchError(f"NAME is letters, digits, . _ -, not {name!r}")
    return {"quick": quick, "reps": int(reps) if reps else None,
            "only": env.get("ONLY", ""),
            "path": os.path.join(BENCH, f"{name}.jsonl")}


def machine():
    """What real time depends on."""
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    return {"kernel": platform.release(), "cores": os.cpu_count(),
            "cpu": model[1] if model else platform.machine(),
            "real_time": loop.may_be_real_time()}


def measured_before(path, versions, table):
    """Ids of the runs in the file: all of the same programs, over the same
    links, on the same machine."""
    if not os.path.exists(path):
        return set()
    records, here = results.load(path), machine()
    for record in records:
        link = record["link"]
        other = next((side for side, v in record["versions"].items()
                      if versions.get(side, v) != v), None)
        if table.get(link["name"], link) != link:
            other = link["name"]
        elif record["machine"] != here:
            other = "machine"
        if other:
            raise BenchError(
                f"{os.path.relpath(path, TOP)} has runs of another {other}: "
                "give this one a NAME of its own, or move it")
    return {record["id"] for record in records}


class Bench:
    def __init__(self, path, table, trees, versions, copiers=None):
        self.path, self.table, self.trees = path, table, trees
        self.copiers = copiers
        self.versions, self.machine = versions, machine()
        self.done = self.total = 0
        self.failed = []

    def record(self, r, figures, series):
        link = self.table.get(r["link"], {"name": r["link"]})
        real = r["kind"] == "cpu" or not lab.virtual_time()
        used = {r[end] for end in ("client", "server") if end in r}
        record = dict(
            r, schema=results.SCHEMA, id=runs.identity(r),
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            clock="real" if real else "virtual", machine=self.machine,
            versions={s: self.versions[s] for s in sorted(used)}, link=link,
            figures={n: float(f"{v:.6g}") if isinstance(v, float) else v
                     for n, v in figures.items()}, series=series)
        results.append(self.path, record)
        name = TELLING[r["kind"]]
        told = next((f"{n} {record['figures'][n]:.4g}"
                     for n in (name, *figures) if n in figures), "")
        self.say(r, told)

    def say(self, r, text):
        self.done += 1
        print(f"{self.done}/{self.total} {runs.identity(r)}: {text}",
              flush=True)

    def fail(self, r, error):
        self.failed.append(runs.identity(r))
        self.say(r, f"FAILED: {error}")

    def in_real_time(self, todo):
        """One after the other, with nothing beside."""
        if todo and os.geteuid() != 0:
            print("not root, so no network namespace: no CPU time is "
                  "measured", flush=True)
            self.total -= len(todo)
            return
        for r in todo:
            try:
                self.record(r, *loop.measure(r, self.trees))
            except (loop.LoopError, OSError) as e:
                self.fail(r, e)

    def in_the_lab(self, todo):
        pool = lab.Pool()
        # Several benchmarks may run, with names of their own
        name = "bench-" + os.path.basename(self.path)
        started = {virtual.start(
            pool, r, self.table[r["link"]], self.trees,
            f"{name}-{runs.identity(r)}".replace("/", "-"),
            self.copiers): r for r in todo}
        try:
            for future in concurrent.futures.as_completed(list(started)):
                self.ended(started.pop(future), future)
        except KeyboardInterrupt:
            pool.executor.shutdown(cancel_futures=True)
            for future, r in started.items():
                if not future.cancelled() and not future.exception():
                    self.ended(r, future)
            raise

    def ended(self, r, future):
        try:
            self.record(r, *virtual.figures_of(r, self.table[r["link"]],
                                               future.result()))
        except lab.LabError as e:
            self.fail(r, e)

    def measure(self, todo):
        self.total = len(todo)
        self.in_real_time([r for r in todo if r["kind"] == "cpu"])
        self.in_the_lab([r for r in todo if r["kind"] != "cpu"])


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    chosen = options(os.environ)
    table, copy_links = links.read(), links.read(links.COPIES)
    trees, copiers = sides.parse(os.environ.get("PEERS", ""))
    planned = runs.plan(table, list(trees), chosen["quick"], chosen["reps"],
                        chosen["only"], lab.virtual_time(),
                        [s for s, tree in trees.items() if sides.is_bare(tree)],
                        copy_links, list(copiers))
    table.update(copy_links)
    if not planned:
        raise BenchError(f"no run has {chosen['only']!r} in its name")
    versions = {side: sides.version(tree) for side, tree in trees.items()}
    versions.update((name, sides.copier_version(argv))
                    for name, argv in copiers.items())
    if any(r.get("client") == "chain" for r in planned):
        versions["chain"] = sides.chain_version()
    before = measured_before(chosen["path"], versions, table)
    todo = [r for r in planned if runs.identity(r) not in before]
    os.makedirs(BENCH, exist_ok=True)
    name = os.path.relpath(chosen["path"], TOP)
    print(f"{len(todo)} runs to measure, {len(planned) - len(todo)} are in "
          f"{name}", flush=True)
    bench = Bench(chosen["path"], table, trees, versions, copiers)
    signal.signal(signal.SIGTERM, interrupted)
    try:
        bench.measure(todo)
    except KeyboardInterrupt:
        # What was written last may not have been counted yet
        there = len(measured_before(chosen["path"], versions, table))
        sys.exit(f"bench: interrupted; {there} runs are in {name}, the same "
                 "command goes on")
    if bench.failed:
        sys.exit(f"bench: {len(bench.failed)} of {bench.total} runs failed")


if __name__ == "__main__":
    run_main("bench", main)
