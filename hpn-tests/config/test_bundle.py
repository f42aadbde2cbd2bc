"""The bundle, as a user who isn't root has it: unpacked in a folder that has
nothing but a shell and the libraries that it asks for."""

import glob
import os
import re
import shutil
import subprocess

import pytest

from loopback import BUILD, OURS, PORT, TOP, read, root_place  # noqa: F401

WHERE = "/some where/else"
USER = 1234
# What a system's file may have: options that only the system's ssh has, too
CONFIG = f"""
Host far
    HostName 127.0.0.1
    Port {PORT}
    User root
Host *
    BatchMode yes
    IdentityFile ~/key
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
    GSSAPIAuthentication yes
    GSSAPIDelegateCredentials no
    GSSAPIKeyExchange no
    GSSAPIKexAlgorithms gss-group14-sha256-,gss-nistp256-sha256-
"""


def ldd(program):
    """{name: path} of the libraries that the loader takes, and of itself."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True,
                            check=True).stdout
    return {os.path.basename(path): path
            for path in re.findall(r"(/\S+) \(0x", listed)}


class Root:
    """An empty system with the bundle."""

    def __init__(self, place, folder):
        self.place, self.folder = place, str(folder)
        made = glob.glob(f"{BUILD}/bundle/*.tar.gz")
        if not made:
            pytest.skip("no build/bundle: see make bundle")
        self.bundle = f"{WHERE}/{os.path.basename(made[0])[:-7]}"
        for name in ("bin", "lib", "lib64"):
            os.makedirs(f"{self.folder}/usr/{name}")
            os.symlink(f"usr/{name}", f"{self.folder}/{name}")
        os.makedirs(self.folder + WHERE)
        subprocess.run(["tar", "-xzf", made[0], "-C", self.folder + WHERE],
                       check=True)
        # The loader, and what the bundle says it wants
        here = self.folder + self.bundle
        self.libraries = dict(line.split() for line in
                              read(f"{here}/LIBRARIES").splitlines())
        for name, path in ldd(f"{here}/bin/ssh").items():
            if name in self.libraries or "ld-" in name:
                self.copy_in(path)
        for program in ("sh", "readlink", "dirname"):
            self.has(program)
        for name in ("etc/ssh", "home/user", "dev"):
            os.makedirs(f"{self.folder}/{name}")
        self.write("/etc/passwd", f"user:x:{USER}:{USER}::/home/user:/bin/sh\n")
        self.write("/etc/ssh/ssh_config", CONFIG)
        shutil.copy(place.path("user"), f"{self.folder}/home/user/key")
        for name in ("/home/user", "/home/user/key"):
            os.chown(self.folder + name, USER, USER)
        os.mknod(f"{self.folder}/dev/null", 0o20666, os.makedev(1, 3))
        os.chmod(f"{self.folder}/dev/null", 0o666)
        os.chmod(self.folder, 0o755)

    def copy_in(self, path):
        os.makedirs(os.path.dirname(self.folder + path), exist_ok=True)
        shutil.copy(path, self.folder + path)

    def has(self, program):
        path = f"/usr/bin/{program}"
        self.copy_in(path)
        for library in ldd(path).values():
            self.copy_in(library)

    def write(self, name, text, mode=0o644):
        with open(self.folder + name, "w") as f:
            f.write(text)
        os.chmod(self.folder + name, mode)

    def run(self, *argv, path="/bin"):
        """As the user, who has no more than a home and a PATH."""
        return self.place.run(
            [shutil.which("chroot"), f"--userspec={USER}:{USER}", "--groups=",
             self.folder, "/bin/sh", "-c", 'cd; exec "$@"', "sh", *argv],
            env={"HOME": "/home/user", "PATH": path})

    def does(self, *argv, **kwargs):
        done = self.run(*argv, **kwargs)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def read(self, name):
        with open(f"{self.folder}/home/user/{name}", "rb") as f:
            return f.read()


@pytest.fixture
def root(place, tmp_path):
    place.sshd(OURS, f"Subsystem sftp {OURS}/sftp-server")
    return Root(place, tmp_path / "root")


def tree(folder):
    """A file, and a folder with one."""
    (folder / "tree").mkdir()
    data = os.urandom(300000)
    for name in ("file", "tree/file"):
        (folder / name).write_bytes(data)
    return data


def test_bundle_copies_by_its_own_ssh(root, tmp_path):
    """By its own ssh, if another one is in PATH: called by its path, from PATH,
    through a link, or from a path with a blank over a jump host; with the
    system's ssh_config, silently."""
    data = tree(tmp_path)
    root.write("/usr/bin/ssh", "#!/bin/sh\necho not this one >&2; exit 9\n",
               0o755)
    os.symlink(f"{root.bundle}/bin/scp", f"{root.folder}/usr/bin/my-scp")
    bin = f"{root.bundle}/bin"
    root.does(f"{bin}/scp", f"far:{tmp_path}/file", "one")
    root.does("scp", "-r", f"far:{tmp_path}/tree", "two", path=f"{bin}:/bin")
    root.does("my-scp", f"far:{tmp_path}/file", "three")
    root.does("scp", "-X", "streams=2", "one", f"far:{tmp_path}/back",
              path=f"/bin:{bin}")
    root.write("/home/user/batch", f"get {tmp_path}/file four\n")
    root.does(f"{bin}/sftp", "-q", "-b", "batch", "far")
    shutil.copytree(root.folder + root.bundle, f"{root.folder}/my tools")
    root.does("/my tools/bin/scp", "-J", "far", f"far:{tmp_path}/file", "five")
    for name in ("one", "two/file", "three", "four", "five"):
        assert root.read(name) == data, name
    assert (tmp_path / "back").read_bytes() == data
    assert os.stat(f"{root.folder}/home/user/one").st_uid == USER
    done = root.run("scp", "-S", "/bin/ssh", "one", "far:two",
                    path=f"{bin}:/bin")
    assert "not this one" in done.stderr        # who asks for it gets it


def test_programs_run_with_the_systems_configuration(root):
    """And say whose they are."""
    ssh, keygen = (f"{root.bundle}/bin/{name}" for name in
                   ("ssh", "ssh-keygen"))
    assert root.does(ssh, "far", "echo in") == "in\n"
    root.does(keygen, "-q", "-t", "ed25519", "-N", "", "-f", "new")
    assert root.read("new.pub").startswith(b"ssh-ed25519 ")
    assert re.fullmatch(r"OpenSSH_[\d.p]+( \S+)? openssh-bdp bundle, "
                        r"OpenSSL \S+ .*\n", root.run(ssh, "-V").stderr)
    assert root.libraries["libc.so.6"].startswith("GLIBC_2.")
    assert not os.path.exists(f"{root.folder}/home/user/.ssh")
    # Only options that vendors add are left alone
    root.write("/etc/ssh/ssh_config", f"{CONFIG}\n    GSSAPIWrong yes\n")
    done = root.run(ssh, "far", "echo in")
    assert done.returncode == 255
    assert "Bad configuration option: gssapiwrong" in done.stderr


def test_rsync_and_git_copy_by_the_bundles_ssh(root, tmp_path):
    for program in ("rsync", "git"):
        if not shutil.which(program, path="/usr/bin"):
            pytest.skip(f"no {program}")
        root.has(program)
    data, ssh = tree(tmp_path), f"'{root.bundle}/bin/ssh'"
    root.does("rsync", "-a", "-e", ssh, f"far:{tmp_path}/tree", ".")
    assert root.read("tree/file") == data
    os.mknod(f"{root.folder}/dev/urandom", 0o20444, os.makedev(1, 9))
    subprocess.run("git init && git add tree && git -c user.name=t "
                   "-c user.email=t@localhost commit -m t", shell=True,
                   cwd=tmp_path, check=True, capture_output=True)
    root.does("git", "-c", f"core.sshCommand={ssh}", "clone", "-q",
              "--template=", f"far:{tmp_path}", "clone")
    assert root.read("clone/tree/file") == data


def test_bundle_follows_an_update_of_a_library(tmp_path):
    """Even if the file is older than the bundle, as a package's often is."""
    (tmp_path / "cc").write_text(f"#!/bin/sh\necho {tmp_path}/lib.a\n")
    (tmp_path / "cc").chmod(0o755)
    seen = []
    for content in ("one", "one", "two"):
        (tmp_path / "lib.a").write_text(content)
        os.utime(tmp_path / "lib.a", (0, 0))
        subprocess.run(["make", "-s", "-C", TOP, f"BUILD={tmp_path}",
                        f"{tmp_path}/bundle.static"], check=True,
                       env={**os.environ,
                            "PATH": f"{tmp_path}:{os.environ['PATH']}"})
        seen.append(os.stat(tmp_path / "bundle.static").st_mtime_ns)
    assert seen[0] == seen[1] < seen[2]
