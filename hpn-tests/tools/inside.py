"""inside.py JOB: the steps of one tool on one path, in the lab (run by
test_jobs.py, inside lab/run). Leaves $LAB_OUT/result.json: the steps; by ends
the seconds of each; what went wrong; and the seconds that raw TCP takes for a
step's bytes."""

import dataclasses
import json
import os
import shlex
import subprocess
import sys
import time

HPN_TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(HPN_TESTS, "lab", "guest")]
import net                              # noqa: E402
import steps                            # noqa: E402
import tools                            # noqa: E402
from tools import LAB                   # noqa: E402

BIN = f"{LAB}/bin"
# Of the tools; ssh, scp and sftp are found in the first
ENVIRONMENT = {
    "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes", "BORG_RSH": "ssh",
    "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
    "GIT_AUTHOR_NAME": "a", "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
    "LC_ALL": "C.UTF-8", "RSYNC_RSH": "ssh",
}


def wrap(tree):
    """ssh, scp and sftp of a tree, as commands of the search path."""
    os.makedirs(BIN, exist_ok=True)
    for name, way in (("ssh", ""), ("scp", f" -S {tree}/ssh"),
                      ("sftp", f" -S {tree}/ssh")):
        tools.script(f"bin/{name}",
                     f'{tree}/{name} -F {LAB}/ssh_config{way} "$@"')


def timed(step):
    """Elapsed seconds of a step."""
    with open(tools.out("client.log"), "ab+") as log:
        log.write(f"{shlex.join(step.argv)}\n".encode())
        log.flush()
        start_s = time.monotonic()
        # "ip netns exec" would have mounts of its own
        done = subprocess.run(
            ["nsenter", "--net=/run/netns/client", *step.argv],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        seconds = time.monotonic() - start_s
        log.seek(-min(log.tell(), 500), os.SEEK_END)
        said = log.read().decode(errors="replace")
    if done.returncode != 0:
        raise steps.StepError(
            f"{step.name}: exit status {done.returncode}: {said}")
    return seconds


def with_ends(job, client, server, result):
    """Seconds of each step, between these trees."""
    for folder in (steps.HERE, steps.THERE):
        steps.clear(folder)
        os.makedirs(folder)
    wrap(client)
    sshd = tools.start_sshd("server", server, {
        # Those that would compress would be measured by what is in the files
        "sshd_options": ["Compression no"]})
    seconds = {}
    try:
        for step in steps.TOOLS[job["tool"]](job):
            seconds[step.name] = timed(step)
            result["steps"][step.name] = dataclasses.asdict(step)
            if step.name == job["last"]:
                break
    except steps.StepError as e:
        result["errors"].append(f"{client}, {server}: {str(e)[-1000:]}")
    tools.stop_server(sshd, 22, "sshd-session", "ssh", "sshfs")
    return seconds


def plain_tcp(count, job):
    """Seconds from connect to the last of count bytes."""
    zeros = tools.script("zeros", f"head -c {count} /dev/zero")
    sink = tools.script("sink", f"sh -c 'cat > {LAB}/arrived'")
    server = tools.on("server", ["socat", "-b", "262144",
                                 f"TCP-LISTEN:{tools.PORT},reuseaddr",
                                 f"EXEC:{zeros},nofork"])
    tools.wait_until("socat", lambda: tools.listens("server", tools.PORT))
    start_s = time.monotonic()
    subprocess.run(["ip", "netns", "exec", "client", "socat",
                    f"TCP:{job['address']}:{tools.PORT}",
                    f"EXEC:{sink},nofork"], check=True)
    seconds = time.monotonic() - start_s
    server.wait()
    assert os.path.getsize(f"{LAB}/arrived") == count
    return seconds


def main():
    job = json.loads(sys.argv[1])
    os.makedirs("/dev/shm", exist_ok=True)
    net.sh("mount -t tmpfs tmpfs /dev/shm")
    job["address"] = net.address(job, "server")
    os.environ.update(ENVIRONMENT, PATH=f"{BIN}:{job['search']}")
    net.Path(job)
    tools.configure_client(job)
    result = {"seconds": {}, "steps": {}, "errors": []}
    for name, (client, server) in job["ends"].items():
        result["seconds"][name] = with_ends(job, client, server, result)
    result["tcp"] = {name: plain_tcp(step["moved"], job)
                     for name, step in result["steps"].items()
                     if step["moved"]}
    tools.leave(result)


main()
