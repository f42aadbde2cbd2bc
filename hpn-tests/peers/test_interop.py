"""Clients and servers that others wrote, with stock OpenSSH and with ours at
the other end: 64 MiB each way, the same bytes, and no slower."""

import json
import os
import subprocess

import pytest

import lab
import payload
import peers
from loopback import PORT, root_place                   # noqa: F401
from spec import link, raw_of, transfer

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = os.environ.get("INTEROP") == "all"
RESULTS = os.path.join(peers.BUILD, "interop")
BYTES = 64 << 20
LINK = link("500m-100ms")
LEAST = 0.95                            # of stock's goodput
ROWS = [(role, name, mode) for role, table in peers.ROLES.items()
        for name, peer in table.items()
        for mode in (peer.modes if ALL else peer.quick)]


def row_id(row):
    return "-".join(row).translate(str.maketrans(" ", "_", "',"))


def raw(direction, cpu):
    """Plain TCP's MB/s on the same path."""
    return lab.run(raw_of(transfer(LINK, direction, BYTES)),
                   f"interop-raw-{direction}", cpu).goodput()


def in_lab(role, name, modes, cpu):
    spec = dict(lab.with_paths(LINK), role=role, peer=name, modes=modes,
                bytes=BYTES, cache=peers.CACHE)
    return lab.in_lab(os.path.join(HERE, "guest.py"), spec,
                      row_id(("interop", role, name)), 900, "4G", cpu)


@pytest.fixture(scope="session")
def results(request):
    """By role and peer, the Future of its modes' results; by direction that
    of raw TCP's goodput. All that the selected tests want, two at a time."""
    wanted = {}
    for item in request.session.items:
        if "results" not in getattr(item, "fixturenames", ()):
            continue
        role, name, mode = item.callspec.params["peer"]
        modes = wanted.setdefault((role, name), [])
        if not peers.absent(role, name) and mode not in modes:
            modes.append(mode)
    pool = lab.Pool()
    yield {**{d: pool.submit(raw, d) for d in peers.DIRECTIONS},
           **{key: pool.submit(in_lab, *key, modes)
              for key, modes in wanted.items() if modes}}
    pool.executor.shutdown(cancel_futures=True)


@pytest.fixture
def peer(request):
    role, name, mode = request.param
    if why := peers.absent(role, name):
        pytest.skip(why)
    return role, name, mode


each = pytest.mark.parametrize("peer", ROWS, ids=map(row_id, ROWS),
                               indirect=True)


@pytest.mark.parametrize("tree", peers.TREES)
@each
def test_bytes_arrive_intact(place, peer, tree):          # noqa: F811
    """On loopback, at full speed, both ways."""
    role, name, mode = peer
    table = peers.ROLES[role][name]
    home = place.folder
    words = {"home": home, "host": "127.0.0.1", "port": PORT}
    peers.prepare(home)
    payload.make(f"{home}/source", BYTES)
    if role == "client":
        build = os.path.join(peers.BUILD, tree)
        place.sshd(build, f"Subsystem sftp {build}/sftp-server")
    else:
        place.start(peers.command(table.serves, **words),
                    stdin=subprocess.DEVNULL)
        place.wait_for_port(PORT)
    for direction, argv in zip(peers.DIRECTIONS, table.modes[mode]):
        copy = f"{home}/{direction}"
        done = place.run(peers.command(argv, tree=tree, copy=copy,
                                       source=f"{home}/source", **words))
        assert done.returncode == 0, done.stderr
        summed = place.run(["sha256sum", copy]).stdout.split()[0]
        assert summed == payload.digest(BYTES), direction
        os.unlink(copy)
    os.unlink(f"{home}/source")


@pytest.mark.level("check" if ALL else "netem")
@pytest.mark.parametrize("direction", peers.DIRECTIONS)
@each
def test_goodput_not_below_stock(results, peer, direction):
    role, name, mode = peer
    result = results[role, name].result()
    stock, ours = (result[mode][direction][tree] for tree in peers.TREES)
    assert "error" not in stock, stock
    assert "error" not in ours, ours
    row = {"role": role, "peer": name, "mode": mode, "direction": direction,
           "version": peers.ROLES[role][name].version(),
           "stock": round(stock["goodput"], 2),
           "ours": round(ours["goodput"], 2),
           "raw": round(results[direction].result(), 2)}
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, row_id((*peer, direction)) + ".json"),
              "w") as f:
        json.dump(row, f)
    print(f"stock {row['stock']} MB/s, ours {row['ours']}, "
          f"raw TCP {row['raw']}")
    assert ours["goodput"] >= LEAST * stock["goodput"]
