"""What of the series another upstream breaks, patch by patch.

Of each patch all forms are tried, the newest base's first, on the types that
"types" lays. One "applies" without fuzz, perhaps at other lines. What
applies of one that needs work is applied, for those after it.
"""

import glob
import os
import re
import tempfile

from sources import Error, read, run

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OLD_TYPES = re.compile(rb"\bu_int(8|16|32|64)_t\b")


def rows(name):
    with open(os.path.join(TOP, "patches", name)) as f:
        return [line.split() for line in f
                if line.strip() and not line.startswith("#")]


def version(tree, source):
    """As version.h tells it."""
    try:
        text = read(os.path.join(tree, "version.h")).decode()
    except FileNotFoundError:
        raise Error(f"{source} has no OpenSSH in it") from None
    return "".join(re.findall(r'^#define SSH_(?:VERSION|PORTABLE)\s+"(.*)"',
                              text, re.M))


def forms(folder):
    """{name: [(base, path), ...]} of each patch: as the bases take it, where
    they differ, the newest first. folder has them afterwards."""
    found = {row[0]: [] for row in rows("series")}
    for base, *_ in rows("bases"):
        to = os.path.join(folder, base)
        os.mkdir(to)
        done = run(os.path.join(HERE, "forms"), base, to)
        if done.returncode:
            raise Error(done.stdout.strip())
        for name in done.stdout.split():
            path = os.path.join(to, name)
            if all(read(path) != read(other) for _, other in found[name]):
                found[name].append((base, path))
    return {name: of for name, of in found.items() if of}


def mended_in(path):
    """The release in which upstream mended what a patch is for, as its header
    has it; None if that is not known of any."""
    found = re.search(rb"^Mended-In: (\S+)", read(path), re.M)
    return found and found[1].decode()


def numbers(text):
    """(10, 5) of OpenSSH_10.5p1"""
    return tuple(map(int, re.search(r"(\d+)\.(\d+)", text).groups()))


def lay_types(tree, paths):
    """As "types" does it for a base with old ones, if there is such a base.
    The names of the files that changed."""
    if not any(row[1] == "c99" for row in rows("bases")):
        return []
    files = {name.decode() for path in paths for name in re.findall(
        rb"^\+\+\+ b/([^/\s]+\.[ch])$", read(path), re.M)} - {"defines.h"}
    changed = []
    for name in sorted(files):
        path = os.path.join(tree, name)
        if os.path.exists(path):
            old = read(path)
            new = OLD_TYPES.sub(rb"uint\1_t", old)
            if new != old:
                changed.append(name)
                with open(path, "wb") as f:
                    f.write(new)
    return changed


def patch(tree, path, fuzz, *options):
    """(whether it applies, what patch said)"""
    done = run("patch", "-p1", "-f", f"-F{fuzz}", "--no-backup-if-mismatch",
               "-r", "-", *options, "-i", path, cwd=tree)
    return done.returncode == 0, done.stdout


def troubles(said):
    """Which hunks of which file, one a line."""
    file, found = "", []
    for line in said.splitlines():
        named = re.match(r"(?:checking|patching) file (\S+)", line)
        if named:
            file = named[1]
        elif re.match(r"Hunk .*(FAILED|with fuzz)", line):
            found.append(f"    {file}: {line}")
        elif line.startswith("can't find file"):
            found.append(f"    {line}")
        elif re.match(r"\|\+\+\+ b/", line):
            found[-1:] = [f"    {line[len('|+++ b/'):].split()[0]}: "
                          "upstream has no such file"]
    return found


def try_patch(tree, name, forms):
    """Applies it, or what of it applies. (what to say, whether it needs
    work)"""
    mended = mended_in(forms[0][1])
    if mended and numbers(version(tree, name)) >= numbers(mended):
        return f"{name}: left out, upstream mended it in {mended}", False
    tried, newest = [], rows("bases")[0][0]
    for base, path in forms:
        good, said = patch(tree, path, 0, "--dry-run")
        if good:
            said = patch(tree, path, 0, "--verbose")[1]
            how = ", at other lines" if "(offset " in said else ""
            of = "" if base == newest else f", in the form of {base}"
            return f"{name}: applies{how}{of}", False
        tried.append((len(troubles(said)), path))
    path = min(tried)[1]                # where the least fails
    good, said = patch(tree, path, 2, "--dry-run")
    if good:
        patch(tree, path, 2)
        head = f"{name}: needs work: applies with fuzz only:"
    else:
        said = patch(tree, path, 0)[1]
        head = f"{name}: needs work:"
    return "\n".join([head, *troubles(said)]), True


def ours():
    """Names of our modules, which lie flat in upstream's tree."""
    return sorted(os.path.basename(p)
                  for p in glob.glob(f"{TOP}/openssh/*/*.[ch]"))


def try_series(tree):
    """Tries the series on a tree, which it changes, and prints what it finds
    as it goes. Returns what there is to do: patches that need work, and names
    that clash."""
    with tempfile.TemporaryDirectory() as folder:
        return try_forms(tree, forms(folder))


def try_forms(tree, found):
    """try_series() with what forms() found."""
    needs = [f"{name}: upstream has one of that name" for name in ours()
             if os.path.exists(os.path.join(tree, name))]
    for line in needs:
        print(line)
    changed = lay_types(tree, [p for of in found.values() for _, p in of])
    if changed:
        print(f"types renamed to C99's in {len(changed)} files")
    for name, of in found.items():
        said, needs_work = try_patch(tree, name, of)
        if needs_work:
            needs.append(said)
        print(said, flush=True)
    bad = sum(": needs work" in said for said in needs)
    print(f"{bad} of {len(found)} patches need work")
    return needs


def hooked():
    """{file of upstream's: [patch that changes it, ...]}"""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, of in forms(folder).items():
            for file in re.findall(rb"^--- a/(\S+)", read(of[0][1]), re.M):
                found.setdefault(file.decode(), []).append(
                    name.removesuffix(".patch"))
    return found


def changes(old, new):
    """[(hooked file, lines added, lines removed, patches)] of those that
    differ between two of upstream's trees."""
    found = []
    for file, names in sorted(hooked().items()):
        lines = run("diff", "-N", os.path.join(old, file),
                    os.path.join(new, file)).stdout.splitlines()
        added, removed = (sum(line.startswith(c) for line in lines)
                          for c in "><")
        if added or removed:
            found.append((file, added, removed, names))
    return found
