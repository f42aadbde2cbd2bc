"""Specifications: what would be measured otherwise than it says is an error
before anything runs; any rate and RTT is a path; raw TCP has all of it; the
lab knows all fields."""

import os
import re

import pytest

import lab
import scenarios
from checked import SpecError
from spec import (AES, GB, SPEC_FIELDS, bdp, link, raw_name, raw_of,
                  transfer)


def of(path="1g-200ms", **fields):
    return transfer(path, count=10**6, **fields)


@pytest.mark.parametrize("fields, error", [
    # fields and values that don't exist, at each depth
    ({"los": "0.1%"}, "no field 'los'"),
    ({"tool": "spc"}, "tool: no tool 'spc'"),
    ({"changes": [[1, {"rtt_ms": 5}]]}, "changes: fields: no key 'rtt_ms'"),
    # values that can't be
    ({"loss": "0.1"}, "loss: '0.1' is not"),
    ({"rate_mbit": float("nan")}, "rate_mbit: nan is not"),
    ({"pause": [5]}, "pause: [5] is not [bytes, seconds]"),
    ({"reader": {"rate": 5, "every_s": 1}}, "reader: no key 'every_s'"),
    # paths and transfers that can't be
    ({"path": "1g-200"}, "no path '1g-200'"),
    ({"path": "0g-20ms"}, "rate_mbit: 0 is not"),
    ({"rtt_us": 10**7}, "a BDP of 1250 MB"),
    ({"changes": [[2, {"down": 1}], [1, {"down": 0}]]}, "1 s comes after 2 s"),
    ({"tool": "raw"}, "raw has no client: only ssh, scp"),
    ({"tool": "scp", "tree": [2, 3, 4]}, "bytes: the tree has 24"),
    ({"kill": {"end": "client", "at": 10**6}}, "kill: at 1000000 bytes, of")])
def test_wrong_transfer_is_an_error(fields, error):
    with pytest.raises(SpecError) as e:
        of(**fields)
    assert error in str(e.value)


@pytest.mark.parametrize("given, error", [
    ({"must": {"steady": 95}}, "row 'x': must: steady: 95 is not 0 to 1"),
    ({"must": {"after_pause": 0.9}}, "after_pause: needs a transfer with pa"),
    ({"name": "self-is-well"}, "row 'self-is-well': is there already")])
def test_wrong_row_is_an_error(given, error):
    before = list(scenarios.ROWS)
    right = {"name": "x", "level": "netem", "spec": of(),
             "must": {"goodput": 0.9}}
    with pytest.raises(SpecError) as e:
        scenarios.row(**{**right, **given})
    assert error in str(e.value)
    assert scenarios.ROWS == before


# Paths

@pytest.mark.parametrize("name, rate_mbit, rtt_us", [
    ("1g-200ms", 1000, 200000), ("500m-80ms", 500, 80000),
    ("2.3g-1.5s", 2300, 1500000), ("1.5m-0.5ms", 1.5, 500),
    ("300k-2s", 0.3, 2000000), ("10g-200us", 10000, 200)])
def test_name_of_a_path_is_its_rate_and_rtt(name, rate_mbit, rtt_us):
    path = link(name)
    assert (path.rate_mbit, path.rtt_us) == (rate_mbit, rtt_us)
    assert type(path.rate_mbit) is type(rate_mbit)
    spec = transfer(name)
    # slow start, 4 round trips and a second, at least
    assert spec.bytes >= 8 * bdp(path) + rate_mbit * 125000
    assert (spec.cipher == AES) == (spec.bytes > GB)


def test_raw_tcp_has_the_path_of_its_transfer():
    """All of it, and of the rest what it knows."""
    path = {"loss": "1%", "sysctls": {"client": {"tcp_rmem": "1 2 3"}},
            "cc": "bbr", "aqm": 1, "seed": 5, "jitter_percent": 3}
    raw = raw_of(of(**path, channels=3, via="L", shell={"every_s": 1}))
    assert raw.given() == {**path, "rate_mbit": 1000, "rtt_us": 200000,
                           "tool": "raw", "direction": "get",
                           "bytes": 3 * 10**6}
    stalls = {"at": [5], "seconds": [1]}
    assert raw_of(of(via="relay", stalls={"what": "path", **stalls})).stalls
    assert not raw_of(of(stalls={"what": "process", **stalls})).stalls
    # and another name where it is another transfer
    assert raw_name(of(client="stock")) == raw_name(of())
    assert len({raw_name(of(**{n: v})) for n, v in path.items()}) == len(path)


def test_lab_reads_all_fields_and_no_others():
    read = set()
    for name in ("net", "tools", "transfer", "sampler"):
        with open(os.path.join(lab.GUEST, f"{name}.py")) as f:
            text = f.read()
        read |= set(re.findall(
            r"\b(?:spec|p)(?:\.get\(|\[)[\"'](\w+)[\"']", text))
        read |= set(re.findall(r"[\"'](\w+)[\"'] (?:not )?in spec", text))
    # lab/run has the seed; where ssh-keygen is, is no part of a transfer
    assert read - {"keygen"} == set(SPEC_FIELDS) - {"seed"}
