"""Each row of the table: its bytes arrived (lab.py sees to that), and what
it requires holds."""

import pytest

from requirements import REQUIREMENTS
from scenarios import ROWS


@pytest.mark.parametrize("row", ROWS, ids=[r.name for r in ROWS])
def test_row_holds(transfers, measured, row):
    measured.until = row.until
    if row.seeds:
        measured.note(f"seeds {', '.join(map(str, row.seeds))}")
    pairs = [(transfers[ours], transfers[raw]) for ours, raw in
             zip(row.transfers, row.references)]
    for name, limit in row.must.items():
        REQUIREMENTS[name].measure(measured, pairs, limit)
