"""keep.py FILE: puts what README.md, there and here, needs of a file of the
bench into results/, where it is committed: all figures, the series of one
picture, and the picture of the goodput, or else those of copies, if there are
several RTTs."""

import os
import sys

import results
from project import HERE, BenchError, main as run_main
from runs import LONG
from tables import ends


def trimmed(record):
    """Without the series that no picture shows."""
    shown = record["link"]["name"] == LONG and record["repetition"] == 1 and \
        record["kind"] == "goodput" and record["direction"] == "get"
    return record if shown else dict(record, series={})


def main(argv):
    if not argv or not os.path.basename(argv[0]).endswith(".jsonl"):
        raise BenchError("NAME=word is missing: what to keep")
    import pictures
    records = [trimmed(r) for r in results.load(argv[0])]
    folder = os.path.join(HERE, "results")
    os.makedirs(folder, exist_ok=True)
    kept = os.path.join(folder, os.path.basename(argv[0]))
    if os.path.exists(kept):
        os.unlink(kept)
    for record in records:
        results.append(kept, record)
    data = results.Results(records)
    figures = {kept.replace(".jsonl", ".svg"):
               pictures.goodput(data) or pictures.copy(data),
               os.path.join(folder, "commands.svg"): pictures.commands(data)}
    if not any(figures.values()) and len(ends(data)) == 1:
        raise BenchError(f"{argv[0]} has neither goodput nor copies")
    # letters as such: smaller, and they can be searched
    with pictures.plt.rc_context({"svg.fonttype": "none"}):
        for path, figure in figures.items():
            if figure:
                pictures.save(figure, path, results.digest(kept))


if __name__ == "__main__":
    run_main("bench-keep", main, sys.argv[1:])
