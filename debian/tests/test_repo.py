"""make repo: what apt makes of it."""

import os
import shutil
import subprocess

import pytest

DEBIAN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BASE = "1:9.2p1-2+deb12u7"
OURS = BASE + "+bdp2"

for tool in ("reprepro", "gpg", "apt-get"):
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool}", allow_module_level=True)


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def package(folder, version):
    tree = folder / "tree"
    os.makedirs(tree / "DEBIAN")
    (tree / "DEBIAN" / "control").write_text(
        f"Package: openssh-server\nVersion: {version}\nArchitecture: all\n"
        "Section: net\nPriority: optional\n"
        "Maintainer: The openssh-bdp authors <a@openssh-bdp.invalid>\n"
        "Description: none\n")
    name = version.split(":")[1]
    done = run("dpkg-deb", "--root-owner-group", "-b", tree,
               folder / f"openssh-server_{name}_all.deb")
    assert done.returncode == 0, done.stderr
    shutil.rmtree(tree)


class Repo:
    def __init__(self, folder):
        self.folder = folder
        self.dir = folder / "repo"
        self.debs = folder / "debs"
        os.makedirs(self.debs / "bookworm")
        home = folder / "gnupg"
        home.mkdir(mode=0o700)
        self.env = {**os.environ, "GNUPGHOME": str(home),
                    "DEBS": str(self.debs)}
        self.env.pop("KEY", None)

    def new_key(self):
        done = run("gpg", "--batch", "--passphrase", "",
                   "--quick-generate-key", "tests", env=self.env)
        assert done.returncode == 0, done.stderr

    def make(self):
        return run(os.path.join(DEBIAN, "tools", "repo"), str(self.dir),
                   env=self.env)

    def apt(self, *args):
        """apt with that repository and no other, and nothing installed."""
        apt = self.folder / "apt"
        os.makedirs(apt / "lists" / "partial", exist_ok=True)
        os.makedirs(apt / "archives" / "partial", exist_ok=True)
        (apt / "status").touch()
        (apt / "sources.list").write_text(
            f"deb [signed-by={self.dir}/openssh-bdp.asc] file:{self.dir} "
            "bookworm-bdp main\n")
        (apt / "apt.conf").write_text(
            f'Dir::Etc::SourceList "{apt}/sources.list";\n'
            'Dir::Etc::SourceParts "/dev/null";\n'
            'Dir::Etc::PreferencesParts "/dev/null";\n'
            f'Dir::State::Lists "{apt}/lists";\n'
            f'Dir::State::Status "{apt}/status";\n'
            f'Dir::Cache "{apt}";\n'
            'APT::Sandbox::User "";\n'
            'APT::Update::Error-Mode "any";\n')
        return run(*args, env={**self.env, "LC_ALL": "C",
                               "APT_CONFIG": str(apt / "apt.conf")})

    def candidate(self):
        update = self.apt("apt-get", "update")
        assert update.returncode == 0, update.stdout + update.stderr
        policy = self.apt("apt-cache", "policy", "openssh-server").stdout
        return policy.split("Candidate: ")[1].split()[0]


@pytest.fixture
def repo(tmp_path):
    repo = Repo(tmp_path)
    yield repo
    run("gpgconf", "--kill", "all", env=repo.env)


def test_next_version_is_installed(repo):
    repo.new_key()
    package(repo.debs / "bookworm", OURS)
    done = repo.make()
    assert done.returncode == 0, done.stderr
    assert "bookworm-bdp main" in done.stdout
    assert repo.candidate() == OURS
    # The next one replaces it
    (repo.debs / "bookworm" / f"openssh-server_{OURS[2:]}_all.deb").unlink()
    package(repo.debs / "bookworm", "1:9.2p1-2+deb12u8+bdp2")
    assert repo.make().returncode == 0
    assert repo.candidate() == "1:9.2p1-2+deb12u8+bdp2"


def test_altered_is_refused(repo):
    repo.new_key()
    package(repo.debs / "bookworm", OURS)
    assert repo.make().returncode == 0
    release = repo.dir / "dists" / "bookworm-bdp" / "InRelease"
    release.write_text(release.read_text().replace("openssh-bdp", "someone"))
    assert repo.apt("apt-get", "update").returncode != 0


def test_another_key_is_refused(repo):
    repo.new_key()
    package(repo.debs / "bookworm", OURS)
    assert repo.make().returncode == 0
    run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "other",
        env=repo.env)
    done = run("gpg", "--batch", "--armor", "--export", "other", env=repo.env)
    (repo.dir / "openssh-bdp.asc").write_text(done.stdout)
    assert repo.apt("apt-get", "update").returncode != 0


def test_no_key(repo):
    package(repo.debs / "bookworm", OURS)
    done = repo.make()
    assert done.returncode != 0
    assert "no secret key" in done.stderr
    assert not repo.dir.exists()


def test_no_packages(repo):
    repo.new_key()
    done = repo.make()
    assert done.returncode != 0
    assert "debian/tools/build" in done.stderr
    assert not repo.dir.exists()
