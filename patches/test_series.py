"""What a patch of the series may be, checked on the real sources: upstream's,
and those of Debian's packages."""

import os
import re
import shutil
import subprocess

import pytest

import trees
from trees import HERE, TOP, patch_path, quilt, series

LINES_MAX = 120
FILES_MAX = 3
FIELDS = {"Description": ("Description", "Subject"),
          "Author": ("Author", "From"),
          "Forwarded": ("Forwarded",),
          "Last-Update": ("Last-Update",)}


OVERRIDES = [os.path.join(base, name) for base in trees.DEBIAN
             for name in trees.overrides(base)]


def text(name):
    with open(os.path.join(HERE, name)) as f:
        return f.read()


def without_line_numbers(patch):
    return re.sub(r"^@@ .*? @@", "@@", patch, flags=re.M)


@pytest.fixture
def tree(tmp_path):
    return trees.pristine(tmp_path / "tree")


def break_context(path):
    """Makes a line of context one that is nobody's."""
    lines = path.read_text().splitlines(keepends=True)
    hunk = next(i for i, line in enumerate(lines) if line.startswith("@@"))
    lines[hunk + 1] = " not a line of upstream's\n"
    path.write_text("".join(lines))


def check_push(tree, folder, name):
    """It applies with no fuzz and no offset, and refreshing changes nothing
    in it."""
    path = tree / folder / name
    before = path.read_text()
    push = quilt(tree, folder, "push", "--fuzz=0", "-v", name)
    assert push.returncode == 0, push.stdout + push.stderr
    for word in ("fuzz ", "offset", "FAILED"):
        assert word not in push.stdout, push.stdout
    refresh = quilt(tree, folder, "refresh", "-p", "ab", "--no-timestamps",
                    "--no-index")
    assert refresh.returncode == 0, refresh.stderr
    assert path.read_text() == before, f"quilt refresh changes {name}"


def test_series_lists_every_patch():
    assert sorted(series()) == sorted(
        n for n in os.listdir(HERE) if n.endswith(".patch"))


def test_overrides_are_of_a_base_and_the_series():
    for name in os.listdir(HERE):
        if os.path.isdir(os.path.join(HERE, name)) and name != "__pycache__":
            assert name in trees.DEBIAN
            assert set(os.listdir(os.path.join(HERE, name))) <= set(series())


def test_applies_and_refreshes(tree):
    for name in series():
        check_push(tree, "patches", name)


@pytest.mark.parametrize("base", trees.DEBIAN)
def test_applies_to_debian(base, tmp_path):
    """The patches as the source package has them, whose line numbers are its
    tree's, and which say what ours say."""
    tree = trees.debian(base, tmp_path / "tree")
    folder = "debian/patches"
    ours = [f"openssh-bdp/{name}" for name in series()]
    pop = quilt(tree, folder, "pop", "openssh-bdp/modules.patch")
    assert pop.returncode == 0, pop.stdout + pop.stderr
    for name in ours:
        check_push(tree, folder, name)
        source = patch_path(base, os.path.basename(name))
        with open(source) as f:
            assert without_line_numbers((tree / folder / name).read_text()) \
                == without_line_numbers(f.read()), source


@pytest.mark.parametrize("name", OVERRIDES)
def test_override_is_needed(name, tmp_path):
    """There, the patch that it stands in for does not apply."""
    base, patch = os.path.split(name)
    tree = trees.debian(base, tmp_path / "tree")
    before = ("modules.patch", *series())[series().index(patch)]
    quilt(tree, "debian/patches", "pop", f"openssh-bdp/{before}")
    done = subprocess.run(
        ["patch", "-p1", "-F0", "--dry-run", "-f", "-i",
         os.path.join(HERE, patch)],
        cwd=tree, capture_output=True, text=True)
    assert done.returncode != 0, done.stdout


def test_fuzz_is_refused(tree):
    """That the above can fail."""
    name = series()[0]
    break_context(tree / "patches" / name)
    assert quilt(tree, "patches", "push", "--fuzz=0", name).returncode != 0


def test_lay_refuses_fuzz(tmp_path):
    """And says which patch and which hunk it is."""
    base = trees.DEBIAN[0]
    trees.source(base)
    for name in ("debian", "openssh", "patches"):
        shutil.copytree(os.path.join(TOP, name), tmp_path / name)
    name = series()[1]
    break_context(tmp_path / "patches" / name)
    done = subprocess.run(
        [tmp_path / "debian" / "lay", base, tmp_path / "tree"],
        capture_output=True, text=True)
    assert done.returncode != 0
    assert f"patches/{name} does not apply" in done.stderr
    assert "Hunk #1 FAILED" in done.stderr
    assert not [n for n in os.listdir(tmp_path) if n.startswith("tree")]


@pytest.mark.parametrize("name", series() + OVERRIDES)
def test_header(name):
    header = text(name).split("\n---\n")[0]
    for field, spellings in FIELDS.items():
        assert any(re.search(f"^{s}: \\S", header, re.M) for s in spellings), \
            f"no {field}"


@pytest.mark.parametrize("name", series() + OVERRIDES)
def test_is_a_hook(name):
    body = text(name).split("\n---\n")[1]
    files = re.findall(r"^\+\+\+ b/(\S+)", body, re.M)
    changed = [line for line in body.splitlines()
               if re.match(r"[+-](?!\+\+ b/|-- a/)", line)]
    assert len(files) <= FILES_MAX, files
    assert len(changed) <= LINES_MAX, len(changed)
