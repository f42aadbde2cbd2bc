"""What of the series another upstream breaks, patch by patch.

Of each patch all forms are tried, first the main one, on the types that
"types" lays. One "applies" without fuzz, perhaps at other lines. What
applies of one that needs work is applied, for those after it.
"""

import glob
import os
import re

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


def forms(name):
    """(label, path) of each form of a patch, first the main one."""
    folders = dict.fromkeys(f for row in rows("bases") for f in row[2:])
    found = [(None, os.path.join(TOP, "patches", name))]
    found += [(f, os.path.join(TOP, "patches", f, name)) for f in folders]
    return [(label, path) for label, path in found if os.path.exists(path)]


def mended_in(name):
    """The release in which upstream mended what a patch is for, as its header
    has it; None if that is not known of any."""
    found = re.search(rb"^Mended-In: (\S+)$", read(forms(name)[0][1]), re.M)
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


def try_patch(tree, name):
    """Applies it, or what of it applies. (what to say, whether it needs
    work)"""
    tried = []
    for label, path in forms(name):
        good, said = patch(tree, path, 0, "--dry-run")
        if good:
            said = patch(tree, path, 0, "--verbose")[1]
            how = ", at other lines" if "(offset " in said else ""
            of = f", in the form of {label}" if label else ""
            return f"{name}: applies{how}{of}", False
        tried.append((len(troubles(said)), path))
    mended = mended_in(name)
    if mended and numbers(version(tree, name)) >= numbers(mended):
        return f"{name}: left out, upstream mended it in {mended}", False
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
    names = [row[0] for row in rows("series")]
    needs = [f"{name}: upstream has one of that name" for name in ours()
             if os.path.exists(os.path.join(tree, name))]
    for line in needs:
        print(line)
    changed = lay_types(tree, [p for n in names for _, p in forms(n)])
    if changed:
        print(f"types renamed to C99's in {len(changed)} files")
    for name in names:
        said, needs_work = try_patch(tree, name)
        if needs_work:
            needs.append(said)
        print(said, flush=True)
    bad = sum(": needs work" in said for said in needs)
    print(f"{bad} of {len(names)} patches need work")
    return needs


def hooked():
    """{file of upstream's: [patch that changes it, ...]}"""
    found = {}
    for row in rows("series"):
        path = forms(row[0])[0][1]
        for file in re.findall(rb"^--- a/(\S+)", read(path), re.M):
            found.setdefault(file.decode(), []).append(
                row[0].removesuffix(".patch"))
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
