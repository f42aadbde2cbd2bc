"""Machines that lack a program."""

import os


def without(folder, *programs):
    """A PATH with all that this one has but programs."""
    folder.mkdir()
    for where in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(where) if os.path.isdir(where) else ():
            if name not in programs and not os.path.lexists(folder / name):
                os.symlink(os.path.join(where, name), folder / name)
    return str(folder)
