"""What a patch of the series may be, checked on the real sources: upstream's,
and those of Debian's packages."""

import functools
import os
import re
import shutil
import subprocess
import tempfile

import pytest

import trees
from trees import (BASES, DEBIAN, PATCHES, TOP, every_form, forms_of, main_form,
                   overrides, parts, series, wanted, without_line_numbers)

FIELDS = {"Description": ("Description", "Subject"),
          "Author": ("Author", "From"),
          "Forwarded": ("Forwarded",),
          "Last-Update": ("Last-Update",)}
MAIN = [os.path.relpath(main_form(name), PATCHES) for name in series()]


def text(name):
    with open(os.path.join(PATCHES, name)) as f:
        return f.read()


def break_context(path):
    """Makes a line of context one that is nobody's."""
    lines = path.read_text().splitlines(keepends=True)
    hunk = next(i for i, line in enumerate(lines) if line.startswith("@@"))
    lines[hunk + 1] = " not a line of upstream's\n"
    path.write_text("".join(lines))


def part(path, file):
    return parts(text(path))[file]


def applies(tree, hunks):
    """Without fuzz, at whatever lines."""
    return subprocess.run(
        ["patch", "-p1", "-F0", "--dry-run", "-f"], cwd=tree, input=hunks,
        text=True, capture_output=True).returncode == 0


@functools.cache
def pushed(base):
    """What came of pushing each patch on a base, in order: (name, what quilt
    said, the patch before and after refreshing it, and of which files a later
    form's part, which another stands in for, applies there)."""
    with tempfile.TemporaryDirectory() as folder:
        laid = trees.Laid(base, os.path.join(folder, "tree"))
        found = []
        for quilts in laid.names():
            name, path = os.path.basename(quilts), laid.path(quilts)
            instead = [file for file, paths in forms_of(base, name).items()
                       if paths[1:] and applies(laid.tree,
                                                part(paths[1], file))]
            before = path.read_text()
            push = laid.quilt("push", "--fuzz=0", "-v", quilts)
            said = push.stdout + push.stderr
            assert push.returncode == 0, said
            refresh = laid.refresh()
            assert refresh.returncode == 0, refresh.stderr
            found.append((name, said, before, path.read_text(),
                          instead))
        assert [name for name, *_ in found] == list(wanted(base))
        return found


def has_lines_of(base, name, file):
    """Whether the patch's part for a file has the line numbers of that base: of
    the first that takes it, unless Debian's, whose are given to its source
    package."""
    return base not in DEBIAN and base == next(
        b for b in BASES if forms_of(b, name).get(file, [None])[0] ==
        forms_of(base, name)[file][0])


def test_series_lists_every_patch():
    """Each has one main form. Of a base are left out those only that upstream
    had mended by then."""
    assert sorted(MAIN) == sorted(
        p for p in every_form() if p not in overrides())
    left = {base: set(series()) - set(wanted(base)) for base in BASES}
    assert left.pop(BASES[0]) == {"sftp-above.patch",
                                  "sftp-upload-status.patch"}
    assert not any(left.values())


def test_security_patches():
    """In their folder; each says which faults it is for, and where they are
    mended."""
    names = dict(trees.groups())["security"]
    assert sorted(names) == sorted(
        os.listdir(os.path.join(PATCHES, "security")))
    for name in names:
        header = parts(text(f"security/{name}"))[None]
        assert re.search(r"^Bug: CVE-\d{4}-\d+(, CVE-\d{4}-\d+)*$", header,
                         re.M), name
        assert re.search(r"^Mended-In: \d+\.\d+$", header, re.M), name


def test_overrides_are_of_a_base_and_the_series():
    assert set(DEBIAN) < set(BASES)
    known = {folder for folders in trees.FOLDERS.values()
             for folder in folders}
    for path in overrides():
        folder, name = os.path.split(path.replace(".part", ".patch"))
        assert folder in known and name in series(), path


def test_all_patches_are_in_groups():
    groups = trees.groups()
    assert [h for h, names in groups if not h or not names] == []
    assert [h for h, _ in groups[:2]] == ["security", "core"]


@pytest.mark.parametrize("base", BASES)
def test_applies_and_refreshes(base):
    """With no fuzz. Refreshed, a patch differs in line numbers at most, and
    not in them on the base whose it has."""
    for name, said, before, after, _ in pushed(base):
        for word in ("fuzz ", "FAILED"):
            assert word not in said, said
        form = wanted(base)[name]
        assert without_line_numbers(after) == without_line_numbers(form), name
        if base in DEBIAN:
            assert "offset" not in said and after == before, said
        elif base == BASES[0]:
            assert "offset" not in said, said
        for file, hunks in list(parts(after).items())[1:]:
            if has_lines_of(base, name, file):
                assert hunks == parts(form)[file]


@pytest.mark.parametrize("name", overrides())
def test_override_is_needed(name):
    """On a base that it serves, the part that each of its parts stands in for
    does not apply, or there is none. It has no header."""
    path = os.path.join(PATCHES, name)
    patch = os.path.basename(name).replace(".part", ".patch")
    assert parts(text(name))[None] == ""
    for file in list(parts(text(name)))[1:]:
        serves = [base for base in BASES
                  if forms_of(base, patch).get(file, [None])[0] == path]
        assert [base for base in serves for of, *_, instead in pushed(base)
                if of == patch and file not in instead], file


def test_fuzz_is_refused(tmp_path):
    """That the above can fail."""
    laid = trees.Laid(BASES[0], tmp_path / "tree")
    name = laid.names()[0]
    break_context(laid.path(name))
    assert laid.quilt("push", "--fuzz=0", name).returncode != 0


def test_lay_refuses_fuzz(tmp_path):
    """And says which patch and which hunk it is."""
    base = DEBIAN[0]
    trees.source(base)
    for name in ("debian", "openssh", "patches"):
        shutil.copytree(os.path.join(TOP, name), tmp_path / name)
    name = series()[1]
    for path in tmp_path.glob(f"patches/**/{name}"):
        break_context(path)
    done = subprocess.run(
        [tmp_path / "debian" / "tools" / "lay", base, tmp_path / "tree"],
        capture_output=True, text=True)
    assert done.returncode != 0
    assert f"{name} does not apply" in done.stderr
    assert "Hunk #1 FAILED" in done.stderr
    assert not [n for n in os.listdir(tmp_path) if n.startswith("tree")]


@pytest.mark.parametrize("name", MAIN)
def test_header_has_all_fields(name):
    header = text(name).split("\n---\n")[0]
    for field, spellings in FIELDS.items():
        assert any(re.search(f"^{s}: \\S", header, re.M) for s in spellings), \
            f"no {field}"


@pytest.mark.parametrize("name", every_form())
def test_is_a_hook(name):
    """What can be a module in openssh/ is no file that a patch adds."""
    assert not re.search(r"^--- /dev/null", text(name), re.M)


def edits(patches):
    """{(name, other): lines} that a patch changes of those that another one
    before it has added. patches is (name, text) in order, each text with the
    line numbers of the tree that those before it leave."""
    owners, found = {}, {}
    for name, body in patches:
        for part in re.split(r"^--- \S+\n\+\+\+ b/", body, flags=re.M)[1:]:
            file, hunks = part.split("\n", 1)
            # Who added a line of the file; upstream's have no name
            lines = owners.setdefault(file, [None] * 10000)
            for start, hunk in re.findall(
                    r"^@@ -\d\S* \+(\d+).*\n((?:[ +-].*\n|\n)*)", hunks,
                    re.M):
                at = int(start) - 1
                for line in hunk.splitlines():
                    if line.startswith("+"):
                        lines.insert(at, name)
                        at += 1
                    elif line.startswith("-"):
                        if lines[at]:
                            key = name, lines[at]
                            found[key] = found.get(key, 0) + 1
                        del lines[at]
                    else:
                        at += 1
    return found


def test_edits_are_found():
    hunk = "--- a/f\n+++ b/f\n@@ -{0},2 +{0},2 @@\n one\n-{1}\n+{2}\n"
    first, far = hunk.format(7, "two", "2"), hunk.format(17, "two", "2")
    again = hunk.format(7, "2", "II")
    assert edits([("a", first), ("b", far)]) == {}
    assert edits([("a", first), ("b", far + again.split("\n", 2)[2])]) == \
        {("b", "a"): 1}
    assert edits([("a", first), ("b", again), ("c", again)]) == \
        {("b", "a"): 1, ("c", "b"): 1}


def test_no_edits_across_groups():
    """A group ends with lines that no patch of another one has to touch."""
    group = {name: heading for heading, names in trees.groups()
             for name in names}
    found = edits([(name, body.split("\n---\n", 1)[1])
                   for name, body in wanted(BASES[0]).items()])
    assert not [(a, b) for a, b in found if group[a] != group[b]]
