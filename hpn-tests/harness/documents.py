"""Documents with parts that a program writes from data, each between a line
<!-- NAME: written by PROGRAM --> and a line <!-- to here -->."""

import re
import sys


def filled(page, parts):
    """The document's text with its parts, {name: text}, as they are now."""
    for name, text in parts.items():
        page, count = re.subn(
            rf"(<!-- {name}: written by .* -->\n)(?s:.*?)(<!-- to here -->\n)",
            lambda marks: f"{marks[1]}\n{text}\n{marks[2]}", page)
        if count != 1:
            sys.exit(f"{count} places for {name!r}, not one")
    return page


def update(documents):
    """Writes the parts of each document, {path: parts}. With --check it writes
    nothing, and exits with the paths of those that would change."""
    stale = []
    for path, parts in documents.items():
        with open(path) as f:
            page = f.read()
        if (new := filled(page, parts)) == page:
            continue
        stale.append(path)
        if "--check" not in sys.argv:
            with open(path, "w") as f:
                f.write(new)
    if stale and "--check" in sys.argv:
        sys.exit(f"{sys.argv[0]} would change {', '.join(stale)}")
