"""The pool: computed once however many wait, within a byte budget, failures not kept."""

import threading
import time

import numpy as np
import pandas as pd
import pytest
import torch

from workbench.pool import Pool, size_of


def test_a_value_is_computed_once_however_many_wait():
    pool, calls, gate = Pool(), [], threading.Event()

    def compute() -> int:
        calls.append(1)
        gate.wait(5)
        return 42

    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(pool.get("k", compute))) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    gate.set()
    for thread in threads:
        thread.join(5)
    assert found == [42] * 8 and len(calls) == 1


def test_the_budget_holds_and_the_least_recently_used_leave_first():
    pool = Pool(budget=3_500_000)
    for name in "abc":
        pool.get(name, lambda: np.zeros(125_000))
    pool.get("a", lambda: pytest.fail("a was kept"))
    pool.get("d", lambda: np.zeros(125_000))
    assert pool.used <= pool.budget
    pool.get("a", lambda: pytest.fail("a was used last"))
    assert pool.get("b", lambda: "made again") == "made again"
    big = pool.get("big", lambda: np.zeros(1_000_000))
    assert big.size == 1_000_000 and pool.used <= pool.budget


def test_a_failure_reaches_who_asked_and_is_not_kept():
    pool = Pool()
    with pytest.raises(ZeroDivisionError):
        pool.get("k", lambda: 1 / 0)
    assert pool.get("k", lambda: "fine") == "fine"


def test_sizes_count_buffers_once():
    array = np.zeros(1000)
    tensor = torch.zeros(1000)
    assert 8000 <= size_of([array, array]) < 9000
    assert 4000 <= size_of({"a": tensor, "b": tensor[10:]}) < 5000
    assert size_of(pd.DataFrame({"x": np.zeros(1000)})) >= 8000
