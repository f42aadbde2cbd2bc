"""What a patch of the series may be, checked on the real upstream source."""

import os
import re
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
TARBALL = os.path.join(TOP, "build", "tarball")
LINES_MAX = 120
FILES_MAX = 3
FIELDS = {"Description": ("Description", "Subject"),
          "Author": ("Author", "From"),
          "Forwarded": ("Forwarded",),
          "Last-Update": ("Last-Update",)}


def series():
    with open(os.path.join(HERE, "series")) as f:
        return [line.strip() for line in f if line.strip()]


def text(name):
    with open(os.path.join(HERE, name)) as f:
        return f.read()


def quilt(tree, *args):
    env = {**os.environ, "QUILT_PATCHES": str(tree / "patches"),
           "LC_ALL": "C"}
    return subprocess.run(["quilt", "--quiltrc", "-", *args], cwd=tree,
                          env=env, capture_output=True, text=True)


@pytest.fixture
def tree(tmp_path):
    subprocess.run(["tar", "-xzf", TARBALL, "-C", tmp_path,
                    "--strip-components=1"], check=True)
    subprocess.run(["cp", "-R", HERE, tmp_path / "patches"], check=True)
    return tmp_path


def test_series_lists_every_patch():
    assert sorted(series()) == sorted(
        n for n in os.listdir(HERE) if n.endswith(".patch"))


def test_applies_and_refreshes(tree):
    """Each applies with no fuzz and no offset, and refreshing changes
    nothing in it."""
    for name in series():
        push = quilt(tree, "push", "--fuzz=0", "-v", name)
        assert push.returncode == 0, push.stdout + push.stderr
        for word in ("fuzz ", "offset", "FAILED"):
            assert word not in push.stdout, push.stdout
        refresh = quilt(tree, "refresh", "-p", "ab", "--no-timestamps",
                        "--no-index")
        assert refresh.returncode == 0, refresh.stderr
        assert (tree / "patches" / name).read_text() == text(name), \
            f"quilt refresh changes {name}"


def test_fuzz_is_refused(tree):
    """That the above can fail: a context line that is not upstream's."""
    name = series()[0]
    path = tree / "patches" / name
    lines = path.read_text().splitlines(keepends=True)
    hunk = next(i for i, line in enumerate(lines) if line.startswith("@@"))
    lines[hunk + 1] = " not a line of upstream's\n"
    path.write_text("".join(lines))
    assert quilt(tree, "push", "--fuzz=0", name).returncode != 0


@pytest.mark.parametrize("name", series())
def test_header(name):
    header = text(name).split("\n---\n")[0]
    for field, spellings in FIELDS.items():
        assert any(re.search(f"^{s}: \\S", header, re.M) for s in spellings), \
            f"no {field}"


@pytest.mark.parametrize("name", series())
def test_is_a_hook(name):
    body = text(name).split("\n---\n")[1]
    files = re.findall(r"^\+\+\+ b/(\S+)", body, re.M)
    changed = [line for line in body.splitlines()
               if re.match(r"[+-](?!\+\+ b/|-- a/)", line)]
    assert len(files) <= FILES_MAX, files
    assert len(changed) <= LINES_MAX, len(changed)
