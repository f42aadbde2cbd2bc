"""proxied.py SPEC: uploads through a proxy that takes 100 ms each way, all of
it on one host (run by test_proxied.py, inside lab/run). Leaves in
$LAB_OUT/result.json of each upload MB/s from the first byte to the last."""

import json
import os
import subprocess
import sys

HPN_TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(HPN_TESTS, "lab", "guest")]
import net                              # noqa: E402
import tools                            # noqa: E402

FRONT = 2222
MARKS = f"{tools.LAB}/marks"    # seconds, of the first byte and of the last
TAKE = f"head -c 1 > /dev/null; cat /proc/uptime > {MARKS}; " \
    f"cat > /dev/null; cat /proc/uptime >> {MARKS}"


def upload(argv, size):
    source = tools.on("server", ["head", "-c", str(size), "/dev/zero"],
                      stdout=subprocess.PIPE)
    ssh = tools.on("server", [*argv, "server", TAKE], stdin=source.stdout)
    source.stdout.close()
    if ssh.wait() != 0:
        raise SystemExit(f"{argv}: exit status {ssh.returncode}")
    first_s, last_s = (float(line.split()[0]) for line in
                       tools.read(MARKS).splitlines())
    return size / (last_s - first_s) / 1e6


def main():
    spec = json.loads(sys.argv[1])
    net.Path(spec)
    tools.configure_client(spec)
    tools.start_sshd("server", spec["server"], spec)
    tools.on("server", [sys.executable, f"{tools.HERE}/relay.py",
                        f"0.0.0.0:{FRONT}", "127.0.0.1:22", "[]", "0.1"],
             stdout=subprocess.DEVNULL)
    tools.wait_until("the proxy", lambda: tools.listens("server", FRONT))
    rates = {}
    for name, (tree, times) in spec["clients"].items():
        ssh = tools.ssh_argv(dict(spec, client=tree), "-p", str(FRONT))
        rates[name] = [upload(ssh, spec["bytes"]) for _ in range(times)]
    tools.on("server", [*ssh, "-M", "-S", tools.MASTER, "-N", "server"],
             stdin=subprocess.DEVNULL)
    tools.wait_until("the master", lambda: os.path.exists(tools.MASTER))
    rates["shared"] = [upload([*ssh, "-S", tools.MASTER], spec["bytes"])
                       for _ in range(times)]
    with open(tools.out("result.json"), "w") as f:
        json.dump(rates, f)
    os._exit(0)                         # not after those that still run


main()
