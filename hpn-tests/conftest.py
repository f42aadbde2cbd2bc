"""Starts the transfers that the selected tests will want, two at a time, and
hands them out as they end. A test names its rows with
@pytest.mark.rows(...) or in the parameter "row"."""

import pytest

import lab
from rows import ROWS


def rows_of(item):
    names = [n for mark in item.iter_markers("rows") for n in mark.args]
    call = getattr(item, "callspec", None)
    return names + (list(call.params.get("rows", [])) if call else [])


def pytest_configure(config):
    config.addinivalue_line("markers", "rows(*names): transfers it needs")


class Transfers:
    def __init__(self, names):
        self.pool = lab.Pool()
        self.futures = {n: self.pool.start(ROWS[n], f"test-{n}")
                        for n in names}

    def __getitem__(self, name):
        return self.futures[name].result()


@pytest.fixture(scope="session")
def transfers(request):
    names = dict.fromkeys(n for item in request.session.items
                          for n in rows_of(item))
    started = Transfers(names)
    yield started
    started.pool.executor.shutdown(cancel_futures=True)
