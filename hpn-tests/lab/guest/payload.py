"""What the transfers carry: files that are nearly all holes, so that 20 GB of
them need no room, with a stamp in each block, so that a byte lost, doubled or
moved changes their SHA-256."""

import functools
import hashlib
import os

BLOCK = 256 << 10                       # bytes


def stamp(i):
    return hashlib.sha256(str(i).encode()).digest() * 8


def make(path, size, holes=True, first=0):
    """Without holes it has the same content. first: its first block's stamp"""
    zeros = b"" if holes else bytes(BLOCK - len(stamp(0)))
    with open(path, "wb") as f:
        for i in range(-(-size // BLOCK)):
            f.seek(i * BLOCK)
            f.write(stamp(first + i) + zeros)
        f.truncate(size)


def make_tree(path, dirs, files, size):
    """Makes `dirs` directories of `files` files each, no two alike."""
    for i in range(dirs):
        os.makedirs(f"{path}/{i}")
        for k in range(files):
            make(f"{path}/{i}/{k}", size,
                 first=(i * files + k) * (size // BLOCK + 1))


@functools.lru_cache(maxsize=None)
def digest(size):
    """SHA-256 of what make() writes, in hex."""
    whole = hashlib.sha256()
    hole = bytes(BLOCK - len(stamp(0)))
    for i in range(size // BLOCK):
        whole.update(stamp(i))
        whole.update(hole)
    whole.update((stamp(size // BLOCK) + hole)[:size % BLOCK])
    return whole.hexdigest()
