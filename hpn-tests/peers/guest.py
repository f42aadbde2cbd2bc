"""guest.py SPEC: all transfers of one peer, in the lab (run by test_interop.py,
inside lab/run). Leaves $LAB_OUT/result.json: by mode, direction and tree,
goodput in MB/s, or what went wrong."""

import hashlib
import json
import os
import subprocess
import sys
import time

HPN_TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(HPN_TESTS, "lab", "guest"))
import net                              # noqa: E402
import payload                          # noqa: E402
import peers                            # noqa: E402
import tools                            # noqa: E402
from tools import COPY                  # noqa: E402

PORT = 22
POLL_S = 0.010


def blocks():
    """Bytes of the copy that there are: it need not grow from its start."""
    try:
        return os.stat(COPY).st_blocks * 512
    except FileNotFoundError:
        return 0


def growth(process):
    """(seconds, bytes) until the process ends."""
    start_s, rows = time.monotonic(), []
    while True:
        ended = process.poll() is not None
        now_s, size = time.monotonic(), blocks()
        if size > 0 and (not rows or size > rows[-1][1]):
            rows.append((now_s, size))
        if ended:
            return rows
        time.sleep(max(POLL_S, (now_s - start_s) / 500))


def move(argv, digest):
    if os.path.exists(COPY):
        os.unlink(COPY)
    with open(tools.out("client.log"), "w+") as log:
        process = tools.on("client", argv, stdin=subprocess.DEVNULL,
                           stdout=log, stderr=log)
        rows = growth(process)
        log.seek(0)
        said = log.read()[-500:]
    if process.returncode != 0:
        return {"error": f"exit status {process.returncode}: {said}"}
    with open(COPY, "rb") as f:
        if hashlib.file_digest(f, "sha256").hexdigest() != digest:
            return {"error": "the copy differs"}
    # MB/s from when the first byte was seen to when the last was
    (first_s, first), (end_s, end) = rows[0], rows[-1]
    return {"goodput": (end - first) / (end_s - first_s) / 1e6}


def start_server(spec, peer, tree, words):
    if spec["role"] == "client":
        return tools.start_sshd("server", os.path.join(peers.BUILD, tree), {
            # Those that would compress, Dropbear and asyncssh, would be
            # measured by how little is in the file
            "sshd_options": ["Compression no"]})
    with open(tools.out("server.log"), "a") as log:
        server = tools.on("server", peers.command(peer.serves, **words),
                          stdout=log, stderr=log)
    tools.wait_until("the server", lambda: server.poll() is not None or
                     tools.listens("server", PORT))
    if server.poll() is not None:
        said = tools.read(tools.out("server.log")).decode()
        raise SystemExit(f"the server did not start: {said[-500:]}")
    return server


def main():
    spec = json.loads(sys.argv[1])
    net.Path(spec)
    tools.configure_client(spec)
    peers.prepare(tools.LAB)
    payload.make(tools.SOURCE, spec["bytes"])
    digest = payload.digest(spec["bytes"])
    words = {"home": tools.LAB, "host": net.address(spec, "server"),
             "port": PORT, "source": tools.SOURCE, "copy": COPY,
             "cache": spec["cache"]}
    result = {mode: {d: {} for d in peers.DIRECTIONS}
              for mode in spec["modes"]}
    peer = peers.ROLES[spec["role"]][spec["peer"]]
    for tree in peers.TREES:
        server = start_server(spec, peer, tree, words)
        for mode in spec["modes"]:
            for direction, argv in zip(peers.DIRECTIONS, peer.modes[mode]):
                result[mode][direction][tree] = move(
                    peers.command(argv, tree=tree, **words), digest)
        tools.stop_server(server, PORT, "sshd-session", "sshd", "dropbear")
    tools.leave(result)


main()
