"""Each row of the table: its bytes arrived (lab.py sees to that), and what
it requires holds."""

import pytest

import requirements
from scenarios import ROWS


def pairs_of(transfers, names, references):
    return [(transfers[ours], transfers[raw])
            for ours, raw in zip(names, references)]


def judge(measured, row, seeds, pairs):
    if seeds != (None,):
        measured.note(f"seeds {', '.join(map(str, seeds))}")
    for name, limit in row.must.items():
        getattr(requirements, name)(measured, pairs, limit)


@pytest.mark.parametrize("row", ROWS, ids=[r.name for r in ROWS])
def test_row(transfers, measured, row):
    measured.until = row.until
    pairs = pairs_of(transfers, row.transfers, row.references)
    judge(measured, row, row.seeds, pairs)
    if measured.missed and row.more_seeds:
        more = row.of(row.more_seeds)
        measured.again("with five seeds", transfers, *more)
        judge(measured, row, row.seeds + row.more_seeds,
              pairs + pairs_of(transfers, *more))
    elif measured.missed and row.longer:
        longer = row.of(row.seeds, bytes=row.longer)
        measured.again(f"with {row.spec['bytes'] / 1e6:.0f} MB", transfers,
                       *longer)
        judge(measured, row, row.seeds, pairs_of(transfers, *longer))
