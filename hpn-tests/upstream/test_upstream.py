"""Upstream's own tests, all of them and as they are, on stock OpenSSH and
on ours: each comes out the same. (LTESTS="transfer rekey": only those.) What
came out is left in build/upstream for hpn-tests/results."""

import concurrent.futures
import json
import os
import re
import subprocess

import pytest

from loopback import BUILD, IN_TREE, make_says

REGRESS = os.path.join(BUILD, "stock", "regress", "Makefile")
LISTS = {"t-exec": "LTESTS", "interop-tests": "INTEROP_TESTS",
         "extra-tests": "EXTRA_TESTS"}
LIMIT_S = 1800
# Both trees at once: root's are in networks of their own (see in-tree)
AT_ONCE = 2 if os.getuid() == 0 else 1


def names(variable):
    """What upstream's list has."""
    if not os.path.exists(REGRESS):
        return []
    return make_says(f"$({variable})", BUILD, REGRESS,
                     **{".CURDIR": "."}).split()


def every():
    """(target, its variable or none, a name of its list)."""
    if "LTESTS" in os.environ:
        return [("t-exec", "LTESTS", n) for n in os.environ["LTESTS"].split()]
    return [("file-tests", None, ""), ("unit", None, "")] + \
        [(target, variable, n) for target, variable in LISTS.items()
         for n in names(variable)]


def outcome(tree, target, variable, name):
    """passed, failed or skipped; the end of what was said; and of how many
    tests, as what upstream names is one, but for its unit tests."""
    folder = os.path.join(BUILD, tree)
    done = subprocess.run(
        [IN_TREE, folder, "make", "-s", target, f"BUILDDIR={folder}",
         f"abs_top_srcdir={folder}"] +
        ([f"{variable}={name}"] if variable else []),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LIMIT_S)
    said = done.stdout[-3000:]
    if done.returncode != 0:
        return "failed", said, 1
    if re.search("^skipped", done.stdout, re.M | re.I):
        return "skipped", said, 1
    return "passed", said, sum(map(int, re.findall(
        r" (\d+) tests ok$", done.stdout, re.M))) or 1


def reason(said):
    """Why upstream skips it."""
    return re.search(r"^(?:skipped[: (]*)+(.*?)[.)]*$", said, re.M | re.I)[1]


def record(target, name, stock, ours):
    """For the page."""
    folder = os.path.join(BUILD, "upstream")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "results.jsonl"), "a") as f:
        for who, (outcome, said, tests) in (("stock", stock), ("ours", ours)):
            why = reason(said) if outcome == "skipped" else ""
            f.write(json.dumps({
                "target": target, "name": name, "who": who, "tests": tests,
                "outcome": outcome, "why": why}) + "\n")


@pytest.mark.parametrize("target, variable, name", every(),
                         ids=[" ".join(filter(None, (t, n)))
                              for t, _, n in every()])
def test_result_is_that_of_stock(target, variable, name):
    for tree in ("stock", "openssh"):
        if not os.path.exists(os.path.join(BUILD, tree, ".built")):
            pytest.skip(f"no build/{tree}: see \"make {tree}\"")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        both = [pool.submit(outcome, tree, target, variable, name)
                for tree in ("stock", "openssh")]
    results = [b.result() for b in both]
    record(target, name, *results)
    (stock, said, n_stock), (ours, our, n_ours) = results
    print(f"stock {stock}, {n_stock}; ours {ours}, {n_ours}")
    assert ours == stock, f"stock {stock}:\n{said}\nours {ours}:\n{our}"
    assert n_ours == n_stock
    if stock == "failed":
        pytest.skip(f"fails with both here: {said.splitlines()[-2:]}")
    if stock == "skipped":
        pytest.skip(f"no such test here: {reason(said)}")
