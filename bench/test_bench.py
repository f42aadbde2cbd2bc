"""The benchmark: its tables, its files, what it makes of them, and that it
measures."""

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import bench
import compare
import keep
import links
import loop
import project
import results
import runs
import sides
import tables
import virtual
import lab
from loopback import needs_root, wait_until
from measure import Series
from project import BENCH, HERE, TOP, BenchError
from results import Results, Values

README = os.path.join(TOP, "README.md")
SHORT = {"name": "short", "what": "", "rate_mbit": 1000, "rtt_us": 1000,
         "bytes": 10**7, "cc": "cubic"}


def record(side="ours", repetition=1, link=SHORT, kind="goodput", figures=None,
           clock="virtual", tool="ssh", series=None, server=None, **more):
    r = {"kind": kind, "link": link["name"], "tool": tool,
         "direction": "get", "repetition": repetition, **more}
    if side != "raw":
        r.update(client=side, server=server or side)
    return dict(r, schema=results.SCHEMA, id=runs.identity(r), link=link,
                time="2026-01-01T00:00:00Z", clock=clock,
                machine={"kernel": "6.1", "cores": 2, "cpu": "<one>"},
                versions={} if side == "raw" else
                {side: {"version": "OpenSSH", "programs": "0" * 12}},
                figures={"goodput_mb_s": 100.0} if figures is None
                else figures, series=series or {})


def write(path, records):
    for r in records:
        results.append(path, r)
    return str(path)


def tell(program, *arguments, **env):
    """What a program of the bench said: exit status, output, errors."""
    done = subprocess.run(
        [sys.executable, "-B", os.path.join(HERE, program), *arguments],
        cwd=TOP, capture_output=True, text=True, timeout=600,
        env={**os.environ, **env})
    return done.returncode, done.stdout, done.stderr


# The links

def test_links_span_lan_to_satellite():
    """Ten or more, from a LAN to a geostationary satellite, some with loss."""
    table = links.read()
    assert len(table) >= 10
    rtts = [link["rtt_us"] for link in table.values()]
    assert rtts == sorted(rtts) and rtts[0] <= 1000 and rtts[-1] >= 500000
    assert sum("loss" in link for link in table.values()) >= 2
    assert {runs.LONG, runs.SHARED} <= set(table)
    assert links.bdp(table["pacific"]) == 25 * 10**6
    assert links.payload_mb_s(table["lan"]) == pytest.approx(119.55, abs=0.01)
    assert not any("tcp_buffers" in link for link in table.values())


def test_copy_links():
    """1 GB over 1 Gbit/s, with TCP's buffers raised, as our package has them,
    and with the kernel's own; runs.ENDS_MS is among them."""
    table = links.read(links.COPIES)
    assert not set(table) & set(links.read())
    raised = [link["rtt_us"] / 1000 for link in table.values()
              if "tcp_buffers" not in link]
    assert raised == [1, 10, 25, 50, 100, 200, 300]
    for link in table.values():
        assert (link["rate_mbit"], link["bytes"]) == (1000, 10**9)
        assert link["rtt_us"] / 1000 in raised
        run = runs.run("copy", link["name"], "scp", "get", ("ours", "ours"))
        spec = virtual.spec(dict(run, repetition=1), link, sides.OWN)
        assert spec.tcp_buffers == link.get("tcp_buffers")


@pytest.mark.parametrize("line, error", [
    ("a\t1000\t1\t-\tcubic\t-\traised\t24", "8 columns, not 9"),
    ("A b\t1000\t1\t-\tcubic\t-\traised\t24\tx", "is no name"),
    ("a\tfast\t1\t-\tcubic\t-\traised\t24\tx", "could not convert"),
    ("a\t1000\t-1\t-\tcubic\t-\traised\t24\tx", "-1 is not from 0.1"),
    ("a\t1000\tnan\t-\tcubic\t-\traised\t24\tx", "nan is not from 0.1"),
    ("a\t1000\t1\t5\tcubic\t-\traised\t24\tx", "loss is like 0.1%"),
    ("a\t1000\t1\t-\treno\t-\traised\t24\tx", "cc is cubic or bbr"),
    ("a\t1000\t1\t-\tcubic\t-\t64m\t24\tx",
     "raised or package or default, not '64m'"),
    ("a\t90000\t900\t-\tcubic\t-\traised\t24\tx", "a BDP of 10125 MB"),
    ("lan\t1000\t1\t-\tcubic\t-\traised\t24\tx", "lan is there already")])
def test_bad_links(tmp_path, line, error):
    path = tmp_path / "links.tsv"
    path.write_text("\t".join(links.COLUMNS) +
                    f"\nlan\t1000\t1\t-\tcubic\t-\traised\t24\tx\n{line}\n")
    with pytest.raises(BenchError, match=error) as e:
        links.read(path)
    assert str(e.value).startswith(f"{path}:3: ")
    path.write_text("lan\n")
    with pytest.raises(BenchError, match="is to name the columns"):
        links.read(path)


# Peers

@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """Where a peer is installed whose programs' names begin with twin."""
    tree = os.path.join(project.BUILD, "stock")
    for folder, name in (("bin", "ssh"), ("bin", "scp"), ("bin", "sftp"),
                         ("sbin", "sshd"), ("libexec", "sshd-session"),
                         ("libexec", "sshd-auth"), ("libexec", "sftp-server")):
        os.makedirs(tmp_path / folder, exist_ok=True)
        os.symlink(os.path.join(tree, name), tmp_path / folder / f"twin{name}")
    return str(tmp_path)


def test_peers_are_parsed(prefix):
    trees, copiers = sides.parse(
        f"twin={prefix}:twin two='cat -u {{source}} {{target}}'")
    assert trees == {"ours": "openssh", "stock": "stock",
                     "twin": "peers/twin"}
    cat = os.path.abspath(shutil.which("cat"))
    assert copiers == {"two": [cat, "-u", "{source}", "{target}"]}
    assert sides.copier_version(copiers["two"])["version"] == \
        "cat -u {source} {target}"
    tree = os.path.join(project.BUILD, "peers", "twin")
    for name in ("ssh", "twinscp", "sshd", "sshd-auth", "sftp-server"):
        assert os.access(os.path.join(tree, name), os.X_OK)
    # the digest is that of the programs, wherever they are
    assert sides.version("peers/twin") == sides.version("stock")
    assert not sides.is_bare("stock")
    bare = os.path.join(prefix, "ssh")
    with open(bare, "w") as f:
        f.write("#!/bin/sh\n"
                "case $* in *NoneEnabled=yes*) exit 0; esac; exit 1\n")
    os.chmod(bare, 0o755)
    assert sides.is_bare(prefix)
    assert sides.version("openssh")["programs"] != \
        sides.version("stock")["programs"]


@pytest.mark.parametrize("peers, error", [
    ("hpn", "'hpn' is not NAME=PREFIX"),
    ("hpn=", "'hpn=' is not NAME=PREFIX"),
    ("../x=/opt", "is not NAME=PREFIX"),
    ("ours=/usr", "ours is there already"),
    ("chain=/usr", "chain is there already"),
    ("a='cat {source} {target}' a=/usr", "a is there already"),
    ("a='cat {source}'", "a: the command has to name {source} and {target}"),
    ("a='nobody-has-it {source} {target}'",
     "a: there is no program 'nobody-has-it'"),
    ("a='cat {source}", "No closing quotation"),
    ("hpn=/nonexistent:hpn", "no hpnssh below /nonexistent")])
def test_bad_peers(peers, error):
    with pytest.raises(BenchError, match=error):
        sides.parse(peers)


# The plan

def test_plan_has_each_run_once():
    table, three = links.read(), ["ours", "stock", "twin"]
    quick = runs.plan(table, three, True)
    full = runs.plan(table, three, False)
    ids = [runs.identity(r) for r in full]
    assert len(set(ids)) == len(ids)
    assert {runs.identity(r) for r in quick} <= set(ids)
    for link in table:
        for direction in ("get", "put"):
            found = [r for r in full if r["kind"] == "goodput" and
                     r["link"] == link and r["direction"] == direction and
                     r["repetition"] == 1]
            assert [r["tool"] for r in found].count("raw") == 1
            for tool in runs.TOOLS:
                pairs = {(r["client"], r["server"]) for r in found
                         if r["tool"] == tool}
                assert len(pairs) == 9
        assert any(r["link"] == link and r["tool"] == "raw" for r in quick)
    # what chance has no part in is the same each time
    again = {(r["kind"], r["link"]) for r in quick if r["repetition"] > 1}
    assert again == {("cpu", "loopback"), ("goodput", "leo"),
                     ("goodput", "lte"), ("goodput", "geo")}
    assert {r["kind"] for r in runs.plan(table, three, True, virtual=False)
            if r["repetition"] > 1} == \
        set(virtual.MEASURES) - {"copy"} | {"cpu"}
    # without a cipher: those that can, and nobody else
    assert not any(r.get("cipher") == "none" for r in full)
    bare = [r for r in runs.plan(table, three, False, bare=["twin"])
            if r.get("cipher") == "none"]
    assert {(r["kind"], r["client"], r["server"]) for r in bare} == \
        {("cpu", "twin", "twin")}
    # what a chain is held against: its cipher, tool and direction
    chains = [r for r in full if "chain" in (r.get("client"), r.get("server"))]
    assert {(r["kind"], r["tool"], r["direction"], r["client"], r["server"],
             r["cipher"]) for r in chains} == \
        {("cpu", tool, way, "chain", "chain", cipher) for cipher in runs.CHAIN
         for tool in ("ssh", "scp") for way in ("get", "put")}
    # a file is copied by each with each both ways at one RTT, and else by those
    # of one side, with the package's buffers by ours; once, if chance has no
    # part in it
    copies = runs.plan(table, three, False, only="copy/",
                       copy_links=links.read(links.COPIES))
    assert {r["kind"] for r in copies} == {"copy"}
    assert len({runs.identity(r) for r in copies}) == len(copies)
    assert {r["repetition"] for r in copies} == {1}
    for link in links.read(links.COPIES):
        found = [(r["direction"], r["client"], r["server"]) for r in copies
                 if r["link"] == link]
        count = 3 * 3 * 2 if link == f"1g-{runs.ENDS_MS}ms" else \
            1 if link.endswith("-packages") else 3
        alone = 1 if link.endswith("-packages") else 3
        if links.read(links.COPIES)[link]["rtt_us"] / 1000 in runs.LOADS_MS:
            count += alone * len(runs.LOADS)
        assert len(found) == count
        assert ("get", "ours", "ours") in found
    # a copier does what stock does with a stock server, but for logins
    more = runs.plan(table, three, False, only="/copier/",
                     copy_links=links.read(links.COPIES), copiers=["many"])
    assert {(r["client"], r["server"]) for r in more} == {("many", "stock")}
    by_stock = [r for r in copies if r["client"] == r["server"] == "stock" and
                r.get("load") != "login"]
    assert [(r["link"], r["direction"], r.get("load")) for r in more] == \
        [(r["link"], r["direction"], r.get("load")) for r in by_stock]
    spec = virtual.spec(more[0], links.read(links.COPIES)[more[0]["link"]],
                        sides.OWN, {"many": ["cp", "{source}", "{target}"]})
    assert (spec.tool, spec.client, spec.server, spec.command[0]) == \
        ("copier", "stock", "stock", "cp")
    for r in copies:
        load = runs.LOADS.get(r.get("load"))
        link = links.read(links.COPIES)[r["link"]]
        spec = virtual.spec(r, link, dict(sides.OWN, twin="stock"))
        assert spec.bytes == (load.bytes if load else 10**9)
        assert (spec.tool, bool(spec.tree)) == \
            ("ssh" if r.get("load") == "login" else "scp",
             r.get("load") == "files")
    assert "copy" in {r["kind"] for r in runs.plan(
        table, three, False, virtual=False, only="/2",
        copy_links=links.read(links.COPIES))}
    only = runs.plan(table, three, True, reps=2, only="pacific/ssh")
    assert {r["repetition"] for r in only} == {1, 2}
    assert all("pacific/ssh" in runs.identity(r) for r in only)


# Figures

def test_to_full_rate():
    """A rate that doubles each RTT of 0.1 s, from 1/8 of the link's."""
    link = {"rate_mbit": 1000, "rtt_us": 100000}
    rows, n = [(1.0, 1)], 1.0
    for i in range(20):
        rate = links.payload_mb_s(link) * 1e6 * min(2 ** (i - 3), 1)
        for k in range(10):
            n += rate / 100
            rows.append((1.0 + 0.1 * i + 0.01 * (k + 1), int(n)))
    text = "".join(f"{t:.6f} {n}\n" for t, n in rows)
    assert virtual.to_full_rate_s(Series(text), link) == \
        pytest.approx(0.28, abs=0.021)
    # half the link's rate is not its full rate, ever
    fast = dict(link, rate_mbit=2000)
    assert virtual.to_full_rate_s(Series(text), fast) is None


def test_thinned_series_keeps_its_ends():
    rows = [(1 + i / 100, i) for i in range(1000)]
    kept = virtual.thin(rows, 2.0, 0.5)
    assert [n for _, n in kept] == [100, *range(149, 999, 50), 999]
    assert kept[0] == [0.0, 100] and kept[-1] == [8.99, 999]
    assert 80 < len(virtual.thin(rows, 2.0, 0.005)) <= virtual.POINTS + 2
    assert virtual.thin([(3.0, 7)], 2.0, 0.5) == [[1.0, 7]]
    assert virtual.thin([], 2.0, 0.5) == []


def test_ratios_pair_repetitions():
    a, b = Values({1: 3.0, 2: 1.0, 3: 5.0}), Values({1: 1.0, 2: 2.0, 4: 9.0})
    assert (a.median, a.least, a.most, a.count) == (3.0, 1.0, 5.0, 3)
    assert a.ratio_to(b).by_repetition == {1: 3.0, 2: 0.5}
    assert Values({1: 1.0}).ratio_to(Values({2: 1.0})) is None
    assert Values({1: 1.0}).ratio_to(Values({1: 0.0})) is None


def test_a_figure_that_is_not_there():
    data = Results([record(figures={"to_full_rate_s": 1.0}),
                    record(repetition=2, figures={"to_full_rate_s": None})])
    assert data.figure("to_full_rate_s") is None
    assert data.figure("goodput_mb_s") is None
    assert data.of_side("stock", "to_full_rate_s") is None


# The file

def test_file_is_read_as_written(tmp_path):
    path = tmp_path / "a.jsonl"
    write(path, [record(), record("stock")])
    assert [r["client"] for r in results.load(path)] == ["ours", "stock"]


@pytest.mark.parametrize("change, error", [
    ({"schema": 2}, "schema 2, not 1"),
    ({"figures": {"mb_s": "fast"}}, "mb_s is no number: 'fast'"),
    ({"link": None}, "link is missing or no dict"),
    ({"extra": 1}, "unknown: extra")])
def test_bad_records(tmp_path, change, error):
    path = tmp_path / "a.jsonl"
    with pytest.raises(ValueError, match=error):
        write(path, [dict(record(), **change)])
    path.write_text(json.dumps(record()) + "\n" +
                    json.dumps(dict(record(), **change)) + "\n")
    for program, arguments in (("report.py", [path]),
                               ("compare.py", [path, README])):
        status, out, err = tell(program, *arguments)
        assert (status, out) == (1, "")
        assert re.search(f"^[a-z-]+: {path}:2: no record of the bench: .*",
                         err) and err.count("\n") == 1


def test_bad_files(tmp_path):
    cut = tmp_path / "cut.jsonl"
    cut.write_text(json.dumps(record()) + "\n" + '{"schema": 1, "id"')
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    for arguments, error in (
            ([cut], f"{cut}:2: no record"), ([empty], "no runs"),
            (["/nonexistent"], "No such file"), ([README], f"{README}:1: ")):
        status, _, err = tell("report.py", *arguments)
        assert status == 1 and error in err and err.count("\n") == 1


@pytest.mark.parametrize("env, error", [
    ({"REPS": "0"}, "REPS is a number from 1"),
    ({"REPS": "many"}, "REPS is a number from 1"),
    ({"NAME": "../x"}, "NAME is letters"),
    ({"ONLY": "no-such"}, "no run has 'no-such' in its name"),
    ({"PEERS": "hpn"}, "'hpn' is not NAME=PREFIX")])
def test_bad_options(env, error):
    status, out, err = tell("bench.py", **env)
    assert (status, out) == (1, "")
    assert err.startswith("bench: ") and error in err and err.count("\n") == 1


# Compare

def goodputs(*values, **more):
    return [record(repetition=i, figures={"goodput_mb_s": v}, **more)
            for i, v in enumerate(values, 1)]


def test_compare_beyond_the_spread():
    old = Results(goodputs(90.0, 100.0, 110.0))
    assert compare.compare(old, Results(goodputs(111, 120, 130)))[0] == [
        "better   +20.0%  goodput/short/ssh/get/ours/ours goodput_mb_s: "
        "100 (90..110) -> 120 (111..130)"]
    assert compare.compare(old, Results(goodputs(60, 70, 89)))[0][0] \
        .startswith("worse    -30.0%")
    # within it, or within a percent
    assert compare.compare(old, Results(goodputs(109, 120, 130))) == ([], 1)
    assert compare.compare(Results(goodputs(100.0)),
                           Results(goodputs(100.9))) == ([], 1)
    memory = [Results([record(figures={"client_rss_bytes": n})])
              for n in (10**7, 2 * 10**7)]
    assert compare.compare(*memory)[0][0].startswith("worse   +100.0%")


def test_compare_real_time():
    """Another machine is not a change: twice as fast, both of them."""
    def run(ours, stock):
        return Results([record(side, 1, {"name": "loopback"}, "cpu",
                               {"cpu_s_per_gb": v}, "real", cipher="aes")
                        for side, v in (("ours", ours), ("stock", stock))])
    assert compare.compare(run(4.0, 4.0), run(2.0, 2.0)) == ([], 1)
    lines, _ = compare.compare(run(4.0, 4.0), run(3.0, 2.0))
    assert lines == ["worse    +50.0%  cpu/loopback/ssh/get/ours/ours/aes "
                     "cpu_s_per_gb, of stock: 1 -> 1.5"]


def test_compare_files(tmp_path):
    old = write(tmp_path / "old.jsonl", goodputs(100.0))
    new = write(tmp_path / "new.jsonl", goodputs(50.0))
    status, out, _ = tell("compare.py", old, new)
    assert status == 0 and "\n1 of 1 figures changed beyond their" in out
    other = write(tmp_path / "other.jsonl", goodputs(
        50.0, link=dict(SHORT, rtt_us=2000)))
    later, binary = tmp_path / "later.jsonl", tmp_path / "binary.jsonl"
    later.write_text(open(old).read().replace('"schema":1', '"schema":2'))
    binary.write_bytes(bytes(range(256)))
    for arguments, error in ((("",), "OLD=file is missing"),
                             (("/no/such",), "/no/such: No such file"),
                             ((old, "/no/such"), "/no/such: No such file"),
                             ((later, new), f"{later}:1: no record of the "
                              "bench: schema 2, not 1"),
                             ((old, binary), f"{binary}:1: no record"),
                             ((old, other), "short is another link"),
                             ((old, old), "both OLD and NEW")):
        status, _, err = tell("compare.py", *arguments)
        assert status == 1 and error in err and err.count("\n") == 1


# The report

def measured():
    """A benchmark of three links and a peer, made up."""
    table = links.read()
    found = []
    for repetition in (1, 2, 3):
        for i, side in enumerate(("raw", "stock", "ours", "hpn")):
            more = {"tool": "raw"} if side == "raw" else {}
            for name in ("lan", "leo", "pacific"):
                rate = links.payload_mb_s(table[name]) / (i + 1)
                found.append(record(side, repetition, table[name], figures={
                    "goodput_mb_s": rate * (1 + repetition / 50),
                    "to_full_rate_s": None, "peak_window_bytes": 2**21,
                    "client_rss_bytes": 8e6 + i, "server_rss_bytes": 9e6},
                    series={"arrived_bytes": [[t / 10, t * 10**6]
                                              for t in range(30)],
                            "in_flight_bytes": [[0, 0], [3, 10**6]]}, **more))
            figures = {"mb_s": 400.0 - i, "client_cpu_s_per_gb": 1.0,
                       "server_cpu_s_per_gb": 1.0 + i, "cpu_s_per_gb": 2.0 + i}
            found.append(record(side, repetition, {"name": "loopback"}, "cpu",
                                figures, "real", cipher="aes", **more))
    return found


def test_tables_show_what_was_measured():
    data = Results(measured())
    rows = tables.headline(data)
    assert rows[0][5:] == ["raw TCP", "stock", "ours", "hpn", "of raw"]
    assert [row[0] for row in rows[1:]] == ["lan", "leo", "pacific"]
    assert rows[1][1:6] == ["1 Gbit/s", "1", "-", "cubic", "124 (122..127)"]
    assert rows[2][3:5] == ["0.1%", "bbr"] and rows[1][-1] == "33%"
    used = {row[2]: row[3:] for row in tables.cpu(data)[1:]}
    assert list(used) == ["raw TCP", "stock", "ours", "hpn"]
    assert used["ours"] == ["4.00", "1.33", "398", "-", "-"]
    brief = tables.headline(data, brief=True)
    assert brief[1][4:] == ["124", "62.2", "41.4", "31.1", "33%", "4%"]
    # a peer that was not measured has no column
    few = Results([r for r in data.records if r.get("client") != "hpn"])
    assert tables.headline(few)[0][5:] == ["raw TCP", "stock", "ours",
                                           "of raw"]
    assert len(tables.pairings(few)) == 1       # nor have pairs that weren't
    # a chain has CPU time, and nothing else
    chain = Results(data.records + [record(
        "chain", 1, {"name": "loopback"}, "cpu", {"cpu_s_per_gb": 2.0}, "real",
        cipher=data.select(kind="cpu").records[0]["cipher"])])
    assert "bare chain" in [row[2] for row in tables.cpu(chain)]
    assert tables.other(chain) == tables.other(data)


def test_labels_keep_apart():
    from pictures import spread
    assert spread([0.9, 0.5, 0.1], 0.1) == [0.9, 0.5, 0.1]
    assert spread([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.6, 0.5, 0.4])
    at = spread([0.60, 0.58, 0.51, 0.1], 0.1)
    assert all(a - b > 0.0999 for a, b in zip(at, at[1:]))


def test_report_opens_alone(tmp_path):
    """Opens from disk with nothing beside it; each picture is there."""
    path = write(tmp_path / "a.jsonl", measured())
    folder = tmp_path / "page"
    status, out, err = tell("report.py", path, folder)
    assert (status, err) == (0, "")
    assert tables.text(tables.headline(Results(measured()), brief=True)) in out
    page = (folder / "report.html").read_text()
    assert not re.search(r"(src|href)=.?(?!data:)[^\"d]", page)
    assert "&lt;one&gt;" in page and "<one>" not in page
    assert page.count("<img") == 4
    for image in re.findall(r'base64,([^"]*)"', page):
        assert b"<svg" in base64.b64decode(image)
    for name in ("goodput", "window", "memory", "cpu"):
        assert (folder / f"{name}.png").read_bytes()[:8] == \
            b"\x89PNG\r\n\x1a\n"
    # what was not measured is left out
    path = write(tmp_path / "b.jsonl", [record(), record("stock")])
    assert tell("report.py", path, folder)[0] == 0


def copied():
    """A benchmark of copies, made up: stock takes 4 ms for each of the RTT."""
    found = []
    for link in links.read(links.COPIES).values():
        narrow = "tcp_buffers" in link
        for direction in ("get", "put"):
            for client in ("stock", "ours"):
                for server in ("stock", "ours"):
                    slow = narrow or "stock" == (
                        client if direction == "get" else server)
                    found.append(record(
                        client, 1, link, "copy", server=server, tool="scp",
                        figures={"command_s": 8 + link["rtt_us"] / 4e3 * slow},
                        direction=direction))
                    if (client, server, direction) not in (
                            ("stock", "stock", "get"), ("ours", "ours", "get")):
                        continue
                    found += [record(
                        client, 1, link, "copy", server=server, tool=load.tool,
                        figures={"command_s": link["rtt_us"] / 1e5},
                        direction=direction, load=key)
                        for key, load in runs.LOADS.items()]
    return Results(found)


def test_commands_show_multiples_of_the_limit():
    """Ten round trips, made up, of what physics wants: one, and the bytes at
    the link's rate."""
    rows = tables.commands(copied())
    assert rows[0] == ["", "limit", "stock", "ours", "ours, packages",
                       "stock, defaults", "ours, defaults"]
    assert [row[0] for row in rows[1:]] == [
        "ssh host command", "scp of 1 KB", "scp of 1 MB", "scp of 100 MB",
        "scp of 1 GB", "scp -r of 1,000 files"]
    assert rows[1][1:] == ["0.20"] + ["2.00 (10.0)"] * 5
    assert rows[4][1:3] == ["1.04", "2.00 (1.9)"]
    assert rows[5][1:4] == ["8.56", "58.0 (6.8)", "8.00 (0.9)"]
    # without loads there is no table
    whole = copied().select(load=None)
    assert len(tables.commands(whole)) == 1
    assert tables.copies(whole) == tables.copies(copied())
    # nor if there are only copiers
    alone = Results([record("many", kind="copy", tool="copier", server="stock",
                            load=load, figures={"command_s": 2.0})
                     for load in ("1k", "1m")])
    assert tables.commands(alone) == [["", "limit"]]
    assert len(tables.copiers(alone)) == 1 + 2


def test_copies_show_seconds_by_rtt():
    rows = tables.copies(copied())
    assert rows[0] == ["RTT, ms", "stock", "ours", "ours, packages",
                       "stock, defaults", "ours, defaults"]
    assert [row[0] for row in rows[1:]] == ["1", "10", "25", "50", "100",
                                            "200", "300"]
    assert rows[6][1:] == ["58.0", "8.00", "58.0", "58.0", "58.0"]
    assert rows[2][3:] == [tables.NEVER] * 3
    assert tables.ends(copied()) == [
        ["patched", "neither", "client", "server", "both"],
        ["download", "17.2", "125", "17.2", "125"],
        ["upload", "17.2", "17.2", "125", "125"]]
    # a pair that was not measured: no table, and no picture without a copy
    few = Results([r for r in copied().records if r["server"] == "ours"])
    assert len(tables.ends(few)) == 1
    assert len(tables.copies(Results(measured()))) == 1


def test_picture_of_copies(tmp_path):
    path = write(tmp_path / "copy.jsonl", copied().records)
    status, out, err = tell("report.py", path, tmp_path / "page")
    assert (status, err) == (0, "")
    for rows in (tables.copies(copied()), tables.ends(copied())):
        assert tables.text(rows) in out
    assert (tmp_path / "page" / "report.html").read_text().count("<img") == 2
    for name in ("copy", "commands"):
        picture = (tmp_path / "page" / f"{name}.svg").read_text()
        assert f"of {results.digest(path)}" in picture


def test_all_figures_are_kept(tmp_path):
    """All figures are kept, and the series of the window's picture."""
    found = [record(link=links.read()[name], repetition=n, series={"x": [1]})
             for name in ("lan", "pacific") for n in (1, 2)]
    kept = [keep.trimmed(r) for r in found]
    assert [bool(r["series"]) for r in kept] == [False, False, True, False]
    assert [r["figures"] for r in kept] == [r["figures"] for r in found]
    for path, error in (("", "NAME=word is missing"),
                        ("/nonexistent.jsonl", "No such file")):
        status, _, err = tell("keep.py", path)
        assert status == 1 and error in err and err.count("\n") == 1


# For real

def test_a_run(prefix):
    """Three sides log in over the lab; what was measured stays, and is not
    measured again."""
    path = os.path.join(BENCH, "test.jsonl")
    if os.path.exists(path):
        os.unlink(path)
    env = {"QUICK": "1", "NAME": "test", "PEERS": f"twin={prefix}:twin",
           "ONLY": "setup/", "REPS": "1"}
    status, out, err = tell("bench.py", **env)
    assert (status, err) == (0, ""), out + err
    records = results.load(path)
    assert sorted(r["client"] for r in records) == ["ours", "stock", "twin"]
    data = Results(records)
    stock, twin = (data.of_side(s, "first_byte_rtt") for s in
                   ("stock", "twin"))
    if lab.virtual_time():
        assert 5 < stock.median < 20
        assert twin.median == pytest.approx(stock.median, rel=0.02)
    before = os.path.getsize(path)
    status, out, _ = tell("bench.py", **env)
    assert status == 0 and "0 runs to measure, 3 are in" in out
    assert os.path.getsize(path) == before
    os.unlink(path)


def test_a_copier(prefix):
    """It copies with a stock server, and has a table beside stock's scp."""
    path = os.path.join(BENCH, "copier.jsonl")
    if os.path.exists(path):
        os.unlink(path)
    scp = os.path.join(prefix, "bin", "twinscp")
    env = {"NAME": "copier", "ONLY": "copy/1g-1ms/ get/1k/",
           "PEERS": f'many="{scp} -S {{ssh}} -F {{config}} {{source}} '
                    '{target}"'}
    status, out, err = tell("bench.py", **env)
    assert (status, err) == (0, ""), out + err
    data = Results(results.load(path))
    rows = tables.copiers(data)
    assert rows[0][3:] == ["stock", "ours", "many"]
    (what, rtt_ms, buffers, stock, ours, many), = rows[1:]
    assert (what, rtt_ms, buffers, ours) == \
        ("scp of 1 KB, down", "1", "raised", tables.NEVER)
    assert float(many) == pytest.approx(float(stock), rel=0.05)
    assert "many" not in tables.text(tables.copies(data))
    # one that fails is told, and the others are there
    env["PEERS"] = 'bad="false {source} {target}"'
    status, out, err = tell("bench.py", **env)
    assert status == 1 and "copier/get/1k/bad/stock/1: FAILED" in out
    assert err == "bench: 1 of 1 runs failed\n"
    os.unlink(path)


def test_another_benchmark(tmp_path):
    """What differs in more than what was measured is not appended to."""
    table = {"short": SHORT}
    versions = record()["versions"]
    here = dict(record(), machine=bench.machine())
    path = write(tmp_path / "a.jsonl", [here])
    assert bench.measured_before(path, versions, table) == {here["id"]}
    assert bench.measured_before("/nonexistent", versions, table) == set()
    for change, what in (({"link": dict(SHORT, bytes=1)}, "short"),
                         ({"machine": {"cores": 1000}}, "machine"),
                         ({"versions": {"ours": {"programs": "x"}}}, "ours")):
        path = write(tmp_path / f"{what}.jsonl", [dict(here, **change)])
        with pytest.raises(BenchError, match=f"runs of another {what}: "):
            bench.measured_before(path, versions, table)


def test_interrupted_benchmark_keeps_its_runs(tmp_path):
    """By SIGINT, once something was measured."""
    path = os.path.join(BENCH, "stopped.jsonl")
    if os.path.exists(path):
        os.unlink(path)
    env = {**os.environ, "NAME": "stopped", "ONLY": "setup/", "REPS": "1"}
    with subprocess.Popen(
            [sys.executable, "-B", os.path.join(HERE, "bench.py")], env=env,
            cwd=TOP, text=True, stdout=subprocess.PIPE,
            # a shell that started us in the background has it ignored
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            stderr=subprocess.PIPE) as measuring:
        wait_until("a run", lambda: os.path.exists(path))
        measuring.send_signal(signal.SIGINT)
        out, err = measuring.communicate(timeout=300)
    assert measuring.returncode == 1
    count, planned = len(results.load(path)), 4 * len(links.read())
    assert 1 <= count < planned and f"{planned} runs to measure" in out
    assert re.fullmatch(rf"bench: interrupted; {count} runs are in .*\n", err)
    os.unlink(path)


def test_loopback_counts_both_ends(monkeypatch):
    """Each end's CPU time is counted, and its memory; a failure is one."""
    needs_root()
    monkeypatch.setattr(loop, "COUNT", 10**8)
    for direction in ("get", "put"):
        for r in (runs.run("cpu", "loopback", "raw", direction),
                  runs.run("cpu", "loopback", "ssh", direction,
                           ("ours", "stock"), "aes128-ctr"),
                  runs.run("cpu", "loopback", "scp", direction,
                           ("stock", "ours"), "aes128-ctr")):
            figures, _ = loop.measure(r, sides.OWN)
            assert min(figures.values()) > 0, figures
            assert (r["tool"] == "raw") != ("server_rss_bytes" in figures)
    r = runs.run("cpu", "loopback", "ssh", "get", ("ours", "stock"), "nosuch")
    with pytest.raises(loop.LoopError, match="ssh: exit status 255"):
        loop.measure(r, sides.OWN)
    # neither knows how to do without a cipher
    with pytest.raises(loop.LoopError, match="NoneEnabled"):
        loop.measure(dict(r, cipher="none"), sides.OWN)


@pytest.mark.parametrize("tool", ["ssh", "scp"])
@pytest.mark.parametrize("direction", ["get", "put"])
def test_chain_is_measured(monkeypatch, tool, direction):
    needs_root()
    monkeypatch.setattr(loop, "COUNT", 10**8)
    r = runs.run("cpu", "loopback", tool, direction, ("chain", "chain"),
                 "aes128-gcm@openssh.com")
    figures, _ = loop.measure(r, sides.OWN)
    assert min(figures.values()) > 0, figures
    monkeypatch.setitem(runs.CHAIN, r["cipher"], "nosuch")
    with pytest.raises(loop.LoopError, match="nosuch.*: exit status 1"):
        loop.measure(r, sides.OWN)


@pytest.mark.parametrize("cipher", runs.CHAIN.values())
def test_what_was_sealed_is_opened(cipher):
    """What was sealed is opened, and nothing else."""
    def chain(data, *words):
        done = subprocess.run([loop.CHAIN, *words], input=data,
                              capture_output=True)
        return done.stdout, done.returncode, done.stderr.decode()

    plain = os.urandom(200001)
    sealed, status, _ = chain(plain, "seal", cipher)
    # to each packet, of 32 KiB at most, a length of 4 and a tag of 16
    assert status == 0 and len(sealed) >= len(plain) + 7 * 20
    assert plain[:1000] not in sealed
    assert chain(sealed, "open", cipher) == (plain, 0, "")
    assert chain(plain, "copy") == (plain, 0, "")
    assert chain(sealed[:-1], "open", cipher)[1:] == \
        (1, "chain: the last packet is cut short\n")
    changed = bytearray(sealed)
    changed[5] ^= 1
    assert chain(bytes(changed), "open", cipher) == \
        (b"", 1, "chain: a packet is not what was sealed\n")
    assert chain(b"\xff" * 50, "open", cipher)[1:] == \
        (1, "chain: a packet of 4294967295 bytes\n")
    for words in ((), ("seal",), ("seal", "aes-128-cbc"), ("seal", "x")):
        assert chain(b"", *words)[1] == 1


def test_real_time():
    """Meanwhile, and for what is started meanwhile; not afterwards."""
    needs_root()
    if not loop.may_be_real_time():
        pytest.skip("no real-time priority for us here")
    policy = ["python3", "-c", "import os; print(os.sched_getscheduler(0))"]
    before = os.sched_getscheduler(0)
    with loop.real_time():
        child = subprocess.run(policy, capture_output=True, check=True)
    assert child.stdout == b"%d\n" % os.SCHED_FIFO
    assert os.sched_getscheduler(0) == before != os.SCHED_FIFO
