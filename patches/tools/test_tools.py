"""The tools around the series: which form of a patch serves a base, the types
of older trees, what a newer upstream breaks, and the table of changed lines.
On a series of a few lines, made here."""

import gzip
import os
import shutil
import subprocess
import sys

import pytest

import trees
from trees import HERE, TOP

LOOP = "\tint i;\n\tu_int64_t n;\n\n\tn = 1;\n\tsend(n);\n\treturn;\n"
PATCH = """\
Description: a test's
---
--- a/{file}
+++ b/{file}
@@ -1,6 +1,7 @@
 \tint i;
 {context}
\x20
+\thook();
 \tn = 1;
 \tsend(n);
 \treturn;
"""


def patch(file, context="\tuint64_t n;"):
    return PATCH.format(file=file, context=context)


class Project:
    """A copy of the tools, with a series for trees of two files."""

    def __init__(self, top):
        self.top, self.tree = top, top / "tree"
        (top / "openssh").mkdir()
        self.patches = top / "patches"
        (self.patches / "tools").mkdir(parents=True)
        for name in ("forms", "types", "release-check", "rebase.py",
                     "sources.py"):
            shutil.copy(f"{HERE}/{name}", self.patches / "tools")
        self.write("patches/bases", "# name types folders\nnew asis\n"
                   "old c99 older\nolder c99 oldest older\n")
        self.write("debian/bases", "new 1:11.0p1-1\nold 1:10.1p1-1\n"
                   "older 9.2p1-2\n")
        self.write("patches/series",
                   "# core\na.patch\n\n# the rest\nb.patch\n")
        self.write("patches/a.patch", patch("a.c"))
        self.write("patches/b.patch", patch("b.c"))
        self.write("tree/version.h", '#define SSH_VERSION\t"OpenSSH_11.0"\n'
                   '#define SSH_PORTABLE\t"p1"\n')
        for name in ("a.c", "b.c", "c.c", "defines.h"):
            self.write(f"tree/{name}", LOOP)
        # Of the newest base; and what runs the tests of a build
        self.write("openssh/fetch", f"#!/bin/sh\necho {top}/base.tar\n")
        (top / "openssh" / "fetch").chmod(0o755)
        subprocess.run(["tar", "-cf", top / "base.tar", "-C", top, "tree"],
                       check=True)

    def write(self, name, text):
        path = self.top / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def run(self, *command):
        done = subprocess.run([self.top / command[0], *command[1:]],
                              cwd=self.top, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def forms(self, *arguments):
        """{name: text} of the patches as a base takes them."""
        to = self.top / "forms"
        to.mkdir(exist_ok=True)
        status, out, err = self.run("patches/tools/forms", *arguments, to)
        assert status == 0, err
        return {name: (to / name).read_text() for name in out.splitlines()}

    def rebase(self, *arguments):
        """Exit status, what is said of each patch, and errors."""
        status, out, err = self.run("patches/tools/release-check", "--patches",
                                    *arguments)
        return status, out.partition("\n\n")[0].splitlines(), err

    def release(self, said):
        """Exit status, and the page, if the tests say this."""
        self.write("hpn-tests/run.py", "import os, sys\n"
                   "with open('ran', 'w') as f:\n"
                   "    f.write(' '.join([*sys.argv[1:], "
                   "os.environ['BDP_RELEASE'], os.environ['BDP_VERSION']]))\n"
                   f"print({said!r})\n")
        status, out, err = self.run("patches/tools/release-check", self.tree)
        page = self.top / "build" / "release" / "page.md"
        assert out.endswith("\n\n" + page.read_text()), err
        return status, page.read_text().splitlines()


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_first_folder_wins(project):
    """File by file; the rest is the main form's."""
    def part(file, line):
        return patch(file, line).split("---\n", 1)[1]

    header = patch("b.c").split("---\n", 1)[0] + "---\n"
    main = header + part("b.c", "new b") + part("c.c", "new c")
    project.write("patches/b.patch", main)
    project.write("patches/older/b.part", part("c.c", "old c") +
                  part("d.c", "old d"))
    assert project.forms("new") == {"a.patch": patch("a.c"), "b.patch": main}
    assert project.forms("old")["b.patch"] == header + \
        part("b.c", "new b") + part("c.c", "old c") + part("d.c", "old d")
    project.write("patches/oldest/b.part", part("b.c", "oldest b"))
    assert project.forms("older")["b.patch"] == header + \
        part("b.c", "oldest b") + part("c.c", "old c") + part("d.c", "old d")


def test_up_to_a_group(project):
    assert list(project.forms("--to", "core", "new")) == ["a.patch"]
    assert list(project.forms("--to", "the rest", "new")) == \
        ["a.patch", "b.patch"]
    status, out, err = project.run("patches/tools/forms", "--to", "cor", "new",
                                   "tree")
    assert (status, out) == (1, "")
    assert err == 'patches/tools/forms: no group "# cor" in series\n'


@pytest.mark.parametrize("command", ["forms", "types"])
def test_unknown_base(project, command):
    """One line, which has those that there are."""
    status, out, err = project.run(f"patches/tools/{command}", "newer", "tree")
    assert (status, out) == (1, "")
    assert err == \
        "patches/tools/forms: no base newer; there are: new old older\n"


def test_base_without_types(project):
    project.write("patches/bases", "new older\n")
    status, out, err = project.run("patches/tools/forms", "new", "tree")
    assert (status, out) == (1, "") and "has neither asis nor c99" in err


def test_missing_patch(project):
    os.unlink(project.patches / "b.patch")
    status, _, err = project.run("patches/tools/forms", "new", "tree")
    assert status == 1 and err == "patches/tools/forms: no b.patch\n"


@pytest.mark.parametrize("release,bases", [
    ("11.1", ["new", "old", "older"]), ("11.0", ["old", "older"]),
    ("10.2", ["old", "older"]), ("10.1", ["older"]), ("9.10", ["older"]),
    ("9.2", []), ("9.1", []), ("11.1 old older", ["new"])])
def test_only_older_bases_need_it(project, release, bases):
    """A patch is left out of a base whose release has it mended, or which
    Debian has mended."""
    project.write("patches/b.patch", f"Mended-In: {release}\n" + patch("b.c"))
    project.write("patches/older/b.part", patch("b.c").split("---\n", 1)[1])
    assert [base for base in ("new", "old", "older")
            if "b.patch" in project.forms(base)] == bases


def test_security_folder(project):
    """It has main forms."""
    (project.patches / "security").mkdir()
    os.rename(project.patches / "a.patch",
              project.patches / "security" / "a.patch")
    assert project.forms("new")["a.patch"] == patch("a.c")
    assert project.rebase(project.tree)[1][1] == "a.patch: applies"


def test_types_are_renamed_on_an_old_base(project):
    """Of what the series changes, on an old base, but not of defines.h."""
    project.write("patches/b.patch", patch("defines.h") + patch("b.c")[25:])
    status, out, _ = project.run("patches/tools/types", "-n", "old", "tree")
    assert (status, out) == (0, "a.c\nb.c\n")
    assert (project.tree / "a.c").read_text() == LOOP
    assert project.run("patches/tools/types", "old", "tree")[:2] == \
        (0, "a.c\nb.c\n")
    for name in ("a.c", "b.c"):
        assert (project.tree / name).read_text() == \
            LOOP.replace("u_int64_t", "uint64_t")
    for name in ("c.c", "defines.h"):
        assert (project.tree / name).read_text() == LOOP
    assert project.run("patches/tools/types", "old", "tree")[:2] == (0, "")


def test_types_of_a_new_base(project):
    assert project.run("patches/tools/types", "new", "tree")[:2] == (0, "")
    assert (project.tree / "a.c").read_text() == LOOP


def test_rebase_says_what_applies_where(project):
    """Types are laid; one applies, one elsewhere."""
    project.write("tree/b.c", "/* more */\n" + LOOP)
    assert project.rebase(project.tree) == (0, [
        "types renamed to C99's in 2 files", "a.patch: applies",
        "b.patch: applies, at other lines", "0 of 2 patches need work"], "")
    assert "u_int64_t" in (project.tree / "a.c").read_text()


def test_rebase_needs_work(project):
    """And which hunk of which file does."""
    project.write("tree/b.c", "int other;\n" * 7)
    status, out, _ = project.rebase(project.tree)
    assert status == 1
    assert out[1:] == ["a.patch: applies", "b.patch: needs work:",
                       "    b.c: Hunk #1 FAILED at 1.",
                       "1 of 2 patches need work"]


def test_rebase_takes_fuzz_for_work(project):
    project.write("tree/b.c", LOOP.replace("u_int64_t n", "long n"))
    status, out, _ = project.rebase(project.tree)
    assert status == 1
    assert out[2] == "b.patch: needs work: applies with fuzz only:"
    assert "b.c: Hunk #1 succeeded" in out[3] and "fuzz" in out[3]


def test_rebase_tries_other_forms(project):
    project.write("tree/b.c", LOOP.replace("u_int64_t n", "long n"))
    project.write("patches/oldest/b.part", patch("b.c", "\tlong n;"))
    status, out, _ = project.rebase(project.tree)
    assert (status, out[1:]) == (0, [
        "a.patch: applies", "b.patch: applies, in the form of older",
        "0 of 2 patches need work"])


def test_rebase_leaves_out_what_older_bases_need(project):
    """What upstream has mended by itself, from that release on."""
    for release, said in (
            ("11.0", "0 of 2 patches need work"),
            ("11.1", "1 of 2 patches need work")):
        project.write("patches/b.patch", f"Mended-In: {release}\n" +
                      patch("b.c", "\tlong n;"))
        status, out, _ = project.rebase(project.tree)
        assert out[-1] == said and status == (said[0] != "0")
        left_out = "b.patch: left out, upstream mended it in 11.0"
        assert (left_out in out) == (release == "11.0")


def test_rebase_on_what_the_one_before_left(project):
    """What of a patch needs no work is there for the next."""
    project.write("patches/b.patch", patch("a.c", "\tuint64_t n;").replace(
        "+\thook();\n", " \thook();\n+\tmore();\n").replace(
        "-1,6 +1,7", "-1,7 +1,8"))
    project.write("patches/a.patch", patch("a.c") + patch("gone.c")[25:])
    status, out, _ = project.rebase(project.tree)
    assert status == 1
    assert out[1:] == ["a.patch: needs work:",
                       "    gone.c: upstream has no such file",
                       "b.patch: applies", "1 of 2 patches need work"]


def test_rebase_names_taken(project):
    """A module's name that upstream has, too."""
    project.write("openssh/room/c.c", "")
    status, out, _ = project.rebase(project.tree)
    assert status == 1 and "c.c: upstream has one of that name" in out


def git(folder, *arguments):
    subprocess.run(["git", "-C", folder, "-c", "user.name=t", "-c",
                    "user.email=t@localhost", "-c", "commit.gpgsign=false",
                    *arguments], check=True, capture_output=True)


def test_rebase_reads_what_it_is_given(project):
    """A tarball, a repository, a revision of it, and its URL: of the same
    tree, and then of one that needs work."""
    if not shutil.which("git"):
        pytest.skip("no git")
    expected = project.rebase(project.tree)
    tarball = project.top / "t.tar.gz"
    subprocess.run(["tar", "-czf", tarball, "-C", project.top, "tree"],
                   check=True)
    assert project.rebase(tarball) == expected
    git(project.top, "init", "-q", "tree")
    git(project.tree, "add", ".")
    git(project.tree, "commit", "-q", "-m", "one")
    project.write("tree/b.c", "")
    git(project.tree, "commit", "-q", "-a", "-m", "two")
    assert project.rebase(project.tree)[1][-1] == "1 of 2 patches need work"
    assert project.rebase(project.tree, "HEAD~1") == expected
    assert project.rebase(f"file://{project.tree}")[0] == 1
    git(project.tree, "checkout", "-q", "HEAD~1")
    assert project.rebase(f"file://{project.tree}") == expected
    assert not [n for n in os.listdir(project.tree) if n.endswith(".orig")]


@pytest.mark.parametrize("argument,word", [
    (("/does/not/exist",), "can't read /does/not/exist"),
    (("openssh",), "openssh has no OpenSSH in it"),
    (("openssh", "HEAD"), "openssh is no git repository"),
    (("patches/series",), "patches/series: "), ((), "usage: "),
    (("",), "usage: ")])
def test_rebase_without_a_tree(project, argument, word):
    status, out, err = project.rebase(*argument)
    assert status == 1 and not out
    assert err.startswith(f"release-check: {word}") and err.count("\n") == 1


BUILDS = ("test_builds_after_each_patch[new]", "test_unit_tests[new-]",
          "test_rows_under_netem[new-]")
NAMES = ("builds after each patch", "unit tests, upstream's and ours",
         "quick rows under netem")


@pytest.mark.parametrize("bad", [None, *range(3)])
def test_release_check_builds(project, bad):
    """In the newest base's place, if no patch needs work; and each result is
    on the page."""
    words = ["FAILED" if i == bad else "PASSED" for i in range(3)]
    said = "\n".join(f"patches/tools/test_builds.py::{name} {word} [ 33%]"
                     for name, word in zip(BUILDS, words))
    status, page = project.release(said)
    assert status == (bad is not None)
    assert page[:5] == [
        "# OpenSSH_11.0p1, and the series for new", "", "| | |", "|---|---|",
        "| patches that need work | 0 of 2 |"]
    assert page[5:8] == [
        f"| {name} | {'good' if word == 'PASSED' else word} |"
        for name, word in zip(NAMES, words)]
    assert page[-1] == "Nothing."
    folder = project.top / "build" / "release"
    assert (project.top / "ran").read_text().split() == \
        [f"patches/tools/test_builds.py::{name}" for name in BUILDS] + \
        [str(folder), "11.0"]
    listed = subprocess.run(["tar", "-tzf", folder / "tarball"], text=True,
                            capture_output=True, check=True).stdout
    assert "tree/version.h" in listed
    assert os.path.realpath(folder / "tarball").endswith(
        "/openssh-new-tree.tar.gz")


def test_release_takes_the_newest_bases_place(project, monkeypatch):
    """Its tarball is what is laid, without the patches that it has no need
    of."""
    project.write("patches/b.patch", "Mended-In: 11.1\n" + patch("b.c"))
    assert list(project.forms("new")) == ["a.patch", "b.patch"]
    monkeypatch.setenv("BDP_VERSION", "11.1")
    assert list(project.forms("new")) == ["a.patch"]
    (project.top / "tarball").symlink_to(project.top / "base.tar")
    monkeypatch.setenv("BDP_RELEASE", str(project.top))
    assert trees.run(HERE, sys.executable, "-B", "-c", "import trees; "
                     "print(trees.source(trees.BASES[0]))") == \
        f"{project.top}/base.tar\n"


def test_release_check_without_results(project):
    """Tests that did not run are none that passed."""
    status, page = project.release("no tests ran")
    assert status == 1
    assert page[5:8] == [f"| {name} | not run |" for name in NAMES]


def test_release_check_does_not_build_what_needs_work(project):
    """What is left to do is on the page, and what upstream changed."""
    project.write("tree/b.c", "int other;\n" * 7)
    project.write("tree/c.c", "not hooked\n")
    status, page = project.release("")
    assert status == 1 and not (project.top / "ran").exists()
    assert "| patches that need work | 1 of 2 |" in page
    assert page[5:8] == [f"| {name} | not run |" for name in NAMES]
    assert ["b.patch: needs work:", "    b.c: Hunk #1 FAILED at 1."] == \
        page[page.index("```") + 1:][:2]
    assert page[-3:] == ["| file | lines added | removed | patches |",
                         "|---|--:|--:|---|", "| b.c | 7 | 6 | b |"]


def test_release_check_without_the_base(project):
    project.write("openssh/fetch", "#!/bin/sh\necho none >&2; exit 1\n")
    status, page = project.release("")
    assert page[-1] == "Unknown: new can't be had."


def test_headings_are_no_patches():
    """(quilt takes them for comments.)"""
    text = "# core\na.patch\n\nb.patch\n# the rest\nc.patch\n"
    assert trees.series(text) == ["a.patch", "b.patch", "c.patch"]
    assert trees.groups(text) == [("core", ["a.patch", "b.patch"]),
                                  ("the rest", ["c.patch"])]


def test_table_counts(tmp_path):
    path = tmp_path / "a.patch"
    path.write_text(patch("a.c") + patch("b.c").replace("+\thook();\n",
                                                        "-old\n+a\n++b\n")[25:])
    assert trees.changed(path) == (3, 1, ["a.c", "b.c"])


def test_pins_of_bases():
    """Each base's source is pinned; the newest is the one that is built, and
    takes the main form of each patch."""
    pins = {name[len("UPSTREAM-"):] for name in os.listdir(f"{TOP}/openssh")
            if name.startswith("UPSTREAM-")}
    with open(f"{TOP}/openssh/UPSTREAM") as f:
        named = dict(line.strip().split("=") for line in f
                     if not line.startswith("#"))
    assert named["VERSION"] == trees.BASES[0]
    assert named["OLDER"] in trees.BASES[1:]
    assert trees.FOLDERS[named["VERSION"]] == []
    assert set(trees.BASES) == pins | set(trees.DEBIAN)


def test_base_that_cannot_be_had(tmp_path, monkeypatch):
    """Its tests skip, and say what would help. A proxy that nobody answers at
    stands for a network that is down."""
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    trees.fetch.cache_clear()
    try:
        with pytest.raises(pytest.skip.Exception) as skipped:
            trees.Laid("10.5p1", tmp_path / "tree")
    finally:
        trees.fetch.cache_clear()
    assert "OPENSSH_TARBALL=" in str(skipped.value)
    assert "10.5p1" in str(skipped.value)


def lay(*arguments, **env):
    return subprocess.run(
        [f"{TOP}/openssh/lay", *arguments], capture_output=True, text=True,
        env={**trees.without_choice(), **env})


def small_tarball(folder, version):
    path = folder / f"openssh-{version}.tar.gz"
    (folder / "o").mkdir()
    (folder / "o" / "regress").mkdir()
    (folder / "o" / "configure").write_text("")
    subprocess.run(["tar", "-czf", path, "-C", folder, "o"], check=True)
    return path


@pytest.mark.parametrize("version,upto,word", [
    ("9.9p9", "", "no base 9.9p9; there are: "),
    ("10.0p1", "cor", 'no group "# cor" in series')])
def test_lay_says_what_is_missing(tmp_path, version, upto, word):
    """And leaves nothing."""
    path = small_tarball(tmp_path, version)
    done = lay(path, tmp_path / "tree", "openssh", UPTO=upto)
    assert done.returncode != 0
    assert done.stderr.startswith(f"patches/tools/forms: {word}"), done.stderr
    assert not [n for n in os.listdir(tmp_path) if n.startswith("tree")]


def test_lay_makes_configure(tmp_path):
    """A tree between releases comes without."""
    path = tmp_path / "openssh-10.0p1.tar"
    with gzip.open(trees.source("10.0p1")) as f:
        path.write_bytes(f.read())
    subprocess.run(["tar", "--delete", "--wildcards", "-f", path,
                    "openssh-*/configure", "openssh-*/config.h.in"],
                   check=True)
    subprocess.run(["gzip", path], check=True)
    done = lay(f"{path}.gz", tmp_path / "tree", "stock")
    assert done.returncode == 0, done.stderr
    assert os.access(tmp_path / "tree" / "configure", os.X_OK)
    assert (tmp_path / "tree" / "config.h.in").exists()


@pytest.mark.skipif(not os.path.exists(f"{TOP}/Makefile"),
                    reason="no Makefile: see ./bootstrap")
@pytest.mark.parametrize("env,folder", [
    ({}, "build"), ({"UPSTREAM": "10.0p1"}, "build/10.0p1"),
    ({"UPSTREAM": ""}, "build"), ({"UPSTREAM": "10.5p1"}, "build/10.5p1"),
    ({"UPTO": "core"}, "build/core"),
    ({"UPSTREAM": "bookworm", "UPTO": "core"}, "build/bookworm/core")])
def test_builds_of_bases_do_not_collide(env, folder):
    """And tests are told where they are."""
    done = subprocess.run(
        ["make", "-s", "-f", "Makefile", "-f", "-", "bdp-show"], cwd=TOP,
        input="bdp-show:\n\t@echo $(BUILD) $$BDP_BUILD\n", text=True,
        capture_output=True, env={**trees.without_choice(), **env})
    assert done.stdout == f"{folder} {folder}\n", done.stderr


@pytest.mark.skipif(not os.path.exists(f"{TOP}/Makefile"),
                    reason="no Makefile: see ./bootstrap")
def test_another_tarball_is_noticed(tmp_path):
    """One that is given is taken whatever is there; the same one again, or
    none, changes nothing: make would build all again. One that the link leads
    to and is gone is fetched."""
    for name in ("Makefile", "debian/bases", "openssh/UPSTREAM"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(f"{TOP}/{name}", tmp_path / name)
    for name in ("config.status", "configure"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    for name in ("configure.ac", "Makefile.in"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1, 1))
    os.utime(tmp_path / "configure", (2, 2))
    os.utime(tmp_path / "config.status", (3, 3))
    fetch = tmp_path / "openssh" / "fetch"
    fetch.write_text('#!/bin/sh\nt=${OPENSSH_TARBALL:-$PWD/old}\n'
                     '[ -e "$t" ] || : > "$t"\necho "$t"\n')
    fetch.chmod(0o755)
    link = tmp_path / "build" / "tarball"

    def made(goal, given=""):
        subprocess.run(["make", "-s", goal], cwd=tmp_path, check=True,
                       capture_output=True, env={**trees.without_choice(),
                                                 "OPENSSH_TARBALL": given})
        return os.readlink(link), os.lstat(link).st_mtime_ns

    for name in ("old", "new"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1, 1))
    new = str(tmp_path / "new")
    first = made("build/tarball")
    assert first[0] == f"{tmp_path}/old" and made("build/tarball") == first
    second = made("build/tarball", new)
    assert second[0] == new and made("build/tarball", new) == second
    assert made("build/tarball") == second
    third = made("fetch")
    assert third[0] == f"{tmp_path}/old"
    (tmp_path / "old").unlink()         # as where the cache is new
    assert made("build/tarball") == third and (tmp_path / "old").exists()
