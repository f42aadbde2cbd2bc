"""Each row of the table: its bytes arrived (lab.py sees to that), and what
it requires holds."""

import pytest

import requirements
from scenarios import ROWS


@pytest.mark.parametrize("row", ROWS, ids=[r.name for r in ROWS])
def test_row(transfers, measured, row):
    measured.until = row.until
    if row.seeds != (None,):
        measured.note(f"seeds {', '.join(map(str, row.seeds))}")
    pairs = [(transfers[ours], transfers[raw]) for ours, raw in
             zip(row.transfers, row.references)]
    for name, limit in row.must.items():
        getattr(requirements, name)(measured, pairs, limit)
