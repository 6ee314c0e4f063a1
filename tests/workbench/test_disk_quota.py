"""The quota: a store that is full says so, and what makes room takes what is missed least."""

import os
import shutil
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import keep, record

from workbench.collect_runs import collect
from workbench.controls import ControlError
from workbench.disk_quota import Room, quota, size_of
from workbench.job import State
from workbench.sizes import size_text, size_typed
from workbench.store import StoreError

BIG = tuple(i / 7 for i in range(20_000))


def big(store, folder, key, **fields):
    time.sleep(0.002)  # an order of their own
    return keep(store, folder / f"work-{time.monotonic_ns()}", key, heights=BIG, **fields)


def left(store):
    return {run.run for run in store.runs()}


def test_a_full_store_keeps_no_further_run_and_says_what_to_do(fresh_store, tmp_path, monkeypatch):
    ended = big(fresh_store, tmp_path, "k1")
    monkeypatch.setenv("ASSAY_QUOTA", "300 KB")
    fresh_store.room = Room(fresh_store.folder)
    with pytest.raises(
        StoreError, match=r"holds .* of the 300 kB that it may \(ASSAY_QUOTA\); `assay gc` makes room\.$"
    ):
        fresh_store.begin(record("k2"))
    assert fresh_store.find("a-study", "climb", "k1").record == ended
    assert len(fresh_store.runs()) == 1
    monkeypatch.setenv("ASSAY_QUOTA", "much")
    with pytest.raises(StoreError, match=r"ASSAY_QUOTA: got 'much'; expected a size"):
        fresh_store.begin(record("k2"))
    monkeypatch.setenv("ASSAY_QUOTA", "0")
    assert fresh_store.begin(record("k2")).run


def test_what_is_missed_least_goes_first_and_what_is_needed_stays(fresh_store, tmp_path):
    store, kept = fresh_store, {}
    kept["oldest"] = big(store, tmp_path, "k1", preset="full").run  # the best evidence
    kept["pinned"] = big(store, tmp_path, "k2").run
    kept["replaced"] = big(store, tmp_path, "k3").run
    kept["old"] = big(store, tmp_path, "k4").run
    failed = store.begin(record("k5"))
    (tmp_path / "told").mkdir()
    (tmp_path / "told" / "log.txt").write_text("x" * 10_000)
    store.finish(replace(failed, state=State.FAILED, error="It broke."), tmp_path / "told")
    kept["newer"] = big(store, tmp_path, "k3").run
    running = store.begin(record("k6", state=State.RUNNING))
    store.pin(kept["pinned"], "report.html")
    everything = {*kept.values(), failed.run, running.run}

    plan = collect(store, 0, try_only=True)
    order = [failed.run, kept["replaced"], kept["old"], kept["newer"], kept["oldest"]]
    assert [run.run for run in plan.runs] == order and left(store) == everything, "nothing went"
    assert plan.needed == size_of(store.files(kept["pinned"]))

    size = store.room.held()
    found = collect(store, size - 20_000)
    assert [run.run for run in found.runs] == order[:2] and left(store) == everything - set(order[:2])
    assert found.after <= size - 20_000 and store.find("a-study", "climb", "k3").record.run == kept["newer"]
    found = collect(store, 0)
    assert left(store) == {kept["pinned"], running.run} and found.needed > 0
    assert store.find("a-study", "climb", "k2") is not None and store.find("a-study", "climb", "k4") is None
    assert collect(store, 0).runs == []
    store.unpin(kept["pinned"], "report.html")
    collect(store, 0)
    assert left(store) == {running.run}


def test_what_belongs_to_no_run_goes_once_it_is_old(fresh_store, tmp_path):
    store = fresh_store
    ended = big(store, tmp_path, "k1")
    stray = store.folder / "artifacts" / ("0" * 32)
    half = store.files(ended.run).parent / "artifacts.part"
    damaged = store.folder / "index" / "a-study" / "climb-k9.damaged"
    for place in (stray, half):
        shutil.copytree(store.files(ended.run), place)
    damaged.write_text("{")
    assert collect(store, None).leftovers == [damaged], "the others may be on their way in"
    for place in (stray, half):
        os.utime(place, (1, 1))
    found = collect(store, None)
    assert set(found.leftovers) == {stray, half} and found.before - found.after > 2 * len(BIG)
    assert abs(store.room.held() - found.after) < 100_000
    assert not stray.exists() and not half.exists() and store.find("a-study", "climb", "k1").record == ended


@given(st.integers(0, 9 * 10**14))
def test_sizes_are_read_as_they_are_written(size):
    text = size_text(size)
    assert size_typed("size", text) == pytest.approx(size, rel=0.006)


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("20GB", 20e9), ("1.5 kb", 1500), ("7 B", 7), ("3", 3), ("2T", 2e12), ("4 GiB", 2**32), ("1 kib", 1024)],
)
def test_sizes_are_typed_in_many_ways(text, size):
    assert size_typed("size", text) == size


@pytest.mark.parametrize("text", ["", "much", "-1 GB", "1 PB", "1e3", "1 G B", "1 iB", "nan", "inf"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ControlError, match=r"size: got .*; expected a size, such as 20 GB or 500 MB, or 0"):
        size_typed("size", text)


def test_the_quota_is_said_by_the_environment(monkeypatch):
    monkeypatch.delenv("ASSAY_QUOTA", raising=False)
    assert quota() == 20 * 10**9
    monkeypatch.setenv("ASSAY_QUOTA", "0")
    assert quota() is None
