"""docs/compatibility.md is what the results give."""

import page


def test_page():
    with open(page.PAGE) as f:
        assert f.read() == page.page(page.read())


def test_results():
    """Of peers of the table, and none is slower with ours."""
    rows = page.read()
    assert len(rows) > 40 and page.measured(rows) <= page.wanted()
    for r in rows:
        assert r["ours"] >= 0.95 * r["stock"], r
