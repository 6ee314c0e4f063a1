"""The list of a store's runs: the same as MLflow tells, and no further than what changed is read."""

import sqlite3
from dataclasses import replace

import pytest
from small_runs import keep, record

from workbench import run_listing
from workbench.job import State
from workbench.run_listing import Listed, RunListing
from workbench.store import StoreError


@pytest.fixture
def listing(fresh_store):
    return RunListing(fresh_store)


def test_it_says_of_every_run_what_mlflow_says(fresh_store, listing, tmp_path, monkeypatch):
    """Runs that ended in every way, with claims, owners and pins; read in parts, as many as one query may have."""
    monkeypatch.setattr(run_listing, "AT_ONCE", 2)
    kept = [keep(fresh_store, tmp_path / f"r{i}", f"k{i}", owner="ann", verdict="fails") for i in range(3)]
    for state in (State.FAILED, State.CANCELLED):
        begun = fresh_store.begin(record(f"{state}", study="other-study"))
        fresh_store.finish(replace(begun, state=state, error="It broke." if state is State.FAILED else ""))
    running = fresh_store.begin(record("running", state=State.RUNNING))
    fresh_store.pin(kept[1].run, "weekly.html")
    fresh_store.pin(kept[1].run, "a pin by ann")
    found = listing.read()
    assert [one.record for one in found] == fresh_store.runs()
    assert {one.record.run: one.pins for one in found if one.pins} == {kept[1].run: ("a pin by ann", "weekly.html")}
    assert next(one for one in found if one.record.run == running.run).record.state is State.RUNNING


def test_what_changed_is_read_and_nothing_else(fresh_store, listing, tmp_path, monkeypatch):
    first = keep(fresh_store, tmp_path / "one", "k1")
    running = fresh_store.begin(record("k2", state=State.RUNNING))
    listing.read()
    asked = []
    read = run_listing.records_in
    monkeypatch.setattr(run_listing, "records_in", lambda tables, runs: asked.append(list(runs)) or read(tables, runs))
    before = listing.version
    assert [one.record.run for one in listing.read()] == [running.run, first.run]
    assert asked == [[]] and listing.version == before
    fresh_store.finish(replace(running, state=State.FAILED, error="It broke."))
    assert listing.version != before
    assert [(one.record.state, one.record.error) for one in listing.read()] == [("failed", "It broke."), ("done", "")]
    assert asked[1] == [running.run]
    fresh_store.forget(first.run)
    fresh_store.pin(running.run, "weekly.html")
    assert listing.read() == [Listed(fresh_store.runs()[0], ("weekly.html",))]
    assert asked[2:] == [[]]


def test_a_run_whose_process_is_gone_is_lost(fresh_store, listing, monkeypatch):
    begun = fresh_store.begin(record("k1", state=State.RUNNING))
    assert listing.read()[0].record.state is State.RUNNING
    fresh_store.live.remove(begun)
    assert [one.record.state for one in listing.read()] == [State.LOST]
    assert [one.record.state for one in listing.read()] == [State.LOST]


def test_runs_of_others_in_the_same_database_are_passed_over(fresh_store, listing, tmp_path):
    ours = keep(fresh_store, tmp_path / "one")
    client = fresh_store.open()
    client.create_run(client.create_experiment("theirs"))
    assert [one.record.run for one in listing.read()] == [ours.run]


def test_a_store_that_is_not_there_yet_is_empty_and_one_that_is_damaged_says_so(tmp_path):
    from workbench.store import Store

    store = Store(tmp_path / "none")
    assert RunListing(store).read() == [] and RunListing(store).version == ()
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "mlflow.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError, match=r"^The store at .* cannot be read: file is not a database\.$"):
        RunListing(store).read()


def test_a_store_without_a_file_is_searched_and_not_again_for_a_while(fresh_store, tmp_path, monkeypatch):
    kept = keep(fresh_store, tmp_path / "one")
    fresh_store.pin(kept.run, "weekly.html")
    listing = RunListing(fresh_store)
    database = fresh_store.tracking.database
    fresh_store.tracking.database = None
    assert listing.read() == [Listed(fresh_store.runs()[0], ("weekly.html",))]
    monkeypatch.setattr(fresh_store.tracking, "search", lambda *_: pytest.fail("asked again"))
    assert len(listing.read()) == 1
    fresh_store.tracking.database = database


def test_no_reader_keeps_a_writer_waiting(fresh_store, listing, tmp_path):
    keep(fresh_store, tmp_path / "one")
    listing.read()
    with sqlite3.connect(fresh_store.tracking.database, timeout=0.2) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.rollback()
