"""What the transfers carry: a file that is nearly all holes, so that 20 GB of
it need no room, with a stamp in each block, so that a byte lost, doubled or
moved changes its SHA-256."""

import functools
import hashlib

BLOCK = 256 << 10                       # bytes


def stamp(i):
    return hashlib.sha256(str(i).encode()).digest() * 8


def make(path, size):
    with open(path, "wb") as f:
        for i in range(size // BLOCK):
            f.seek(i * BLOCK)
            f.write(stamp(i))
        f.truncate(size)


@functools.lru_cache(maxsize=None)
def digest(size):
    """SHA-256 of what make() writes, in hex."""
    whole = hashlib.sha256()
    hole = bytes(BLOCK - len(stamp(0)))
    for i in range(size // BLOCK):
        whole.update(stamp(i))
        whole.update(hole)
    whole.update(bytes(size % BLOCK))
    return whole.hexdigest()
