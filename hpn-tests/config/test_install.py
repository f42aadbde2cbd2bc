"""make install: beside the system's OpenSSH, in a prefix and a network of its
own."""

import os
import re
import subprocess

import pytest

from loopback import IN_TREE, OURS as TREE, TOP, program, read

INSTALL = os.path.join(TOP, "openssh", "standalone", "install")


def install(prefix, **env):
    return subprocess.run(
        [INSTALL, TREE, prefix, f"{prefix}/sbin", f"{prefix}/etc",
         f"{prefix}/libexec"], capture_output=True, text=True, umask=0o077,
        env={**os.environ, "UPSTREAM": "", **env})


def built_for():
    """The prefix that build/openssh was configured with."""
    return re.search(r"^prefix=(\S+)", read(f"{TREE}/Makefile"), re.M)[1]


def test_destdir_has_all_in_the_prefix(tmp_path):
    prefix = built_for()
    done = install(prefix, DESTDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    root = str(tmp_path) + prefix
    unit = read(f"{root}/lib/systemd/system/sshd-bdp.service")
    assert f"ExecStart={prefix}/sbin/sshd -D" in unit
    assert "@" not in unit.replace("@openssh", "")
    for name in ("bin/ssh", "sbin/sshd", "libexec/sshd-session"):
        assert os.access(f"{root}/{name}", os.X_OK)
    config = read(f"{root}/etc/sshd_config")
    assert "\nPort 2222\n" in config
    assert "\nPidFile /var/run/sshd-bdp.pid\n" in config
    for d, _, _ in os.walk(root):
        assert os.stat(d).st_mode & 0o777 == 0o755, d
    # Nothing is outside the prefix but where sshd confines itself
    outside = [d for d, _, files in os.walk(tmp_path)
               if files and not d.startswith(root)]
    assert outside == []


def test_what_an_administrator_changed_is_kept(tmp_path):
    """His configuration, and root's rights of ssh-keysign."""
    prefix = built_for()
    config = f"{tmp_path}{prefix}/etc/sshd_config"
    keysign = f"{tmp_path}{prefix}/libexec/ssh-keysign"
    os.makedirs(os.path.dirname(config))
    with open(config, "w") as f:
        f.write("# mine\n#Port 22\n")
    for mode in 0o711, 0o4711:
        assert install(prefix, DESTDIR=str(tmp_path)).returncode == 0
        assert os.stat(keysign).st_mode & 0o7777 == mode
        os.chmod(keysign, 0o4711)
    assert read(config) == "# mine\n#Port 22\n"


def test_next_attempt_repairs_one_that_failed(tmp_path):
    """make ends behind its first files; ssh-keysign has root's rights."""
    prefix = built_for()
    keysign = f"{tmp_path}{prefix}/libexec/ssh-keysign"
    stub = tmp_path / "bin" / "make"
    stub.parent.mkdir()
    program(stub, f"mkdir -p {os.path.dirname(keysign)}\n"
            f"install -m 4711 /bin/true {keysign}\nexit 1")
    path = os.environ["PATH"]
    assert install(prefix, DESTDIR=str(tmp_path),
                   PATH=f"{stub.parent}:{path}").returncode != 0
    assert install(prefix, DESTDIR=str(tmp_path)).returncode == 0
    assert os.stat(keysign).st_mode & 0o7777 == 0o711
    assert "\nPort 2222\n" in read(f"{tmp_path}{prefix}/etc/sshd_config")


def test_older_release_replaces_none_unasked(tmp_path):
    prefix = built_for()
    there = tmp_path / prefix.lstrip("/") / "bin" / "ssh"
    there.parent.mkdir(parents=True)
    program(there, "echo OpenSSH_99.1p1, OpenSSL >&2")
    done = install(prefix, DESTDIR=str(tmp_path))
    assert done.returncode != 0
    assert f"OpenSSH 99.1p1 is in {prefix}" in done.stderr
    assert install(prefix, DESTDIR=str(tmp_path), UPSTREAM="x").returncode == 0


@pytest.mark.parametrize("prefix", ["/", "/usr"])
def test_systems_prefix_is_refused(prefix, tmp_path):
    done = install(prefix, DESTDIR=str(tmp_path))
    assert done.returncode != 0
    assert "system's OpenSSH" in done.stderr
    assert os.listdir(tmp_path) == []


def test_installed_sshd_lets_a_user_in(tmp_path):
    """Installed for real, where nobody else sees it: a login on its port."""
    if os.getuid() != 0:
        pytest.skip("no root, who may mount a prefix")
    prefix = built_for()
    script = f"""
        set -eu
        mount -t tmpfs tmpfs {prefix}
        ip link set lo up
        {INSTALL} {TREE} {prefix} {prefix}/sbin {prefix}/etc \
            {prefix}/libexec
        {TREE}/ssh-keygen -q -t ed25519 -N '' -f {tmp_path}/key
        {prefix}/sbin/sshd -t
        {prefix}/sbin/sshd -D -o PidFile=none -o StrictModes=no \\
            -o AuthorizedKeysFile={tmp_path}/key.pub &
        pid=$!
        {prefix}/bin/ssh -p 2222 -i {tmp_path}/key -n \\
            -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no \\
            -o ConnectionAttempts=100 \\
            root@127.0.0.1 'echo in; readlink /proc/$PPID/exe' || s=$?
        kill $pid
        exit ${{s:-0}}
    """
    done = subprocess.run(
        [IN_TREE, "/", "unshare", "-p", "--fork", "--kill-child",
         "--mount-proc", "sh", "-c", script], capture_output=True, text=True,
        timeout=300, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\nin\n" in "\n" + done.stdout
    assert f"{prefix}/libexec/sshd-session" in done.stdout
