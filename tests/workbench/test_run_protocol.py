"""Runs in this process: streams from seed and name, nested progress, kept items, and a stop at any step."""

import functools

import numpy as np
import pytest
import torch

from workbench.results import exact
from workbench.run_protocol import Cancelled, LocalRun, decode, encode

TABLES = {"rows": {"i": exact("int")}}


def test_streams_follow_from_seed_and_name_and_nothing_else():
    torch.manual_seed(1)
    one = LocalRun(7)
    first = one.rng("train", 1).normal(size=3), torch.randn(3, generator=one.generator("train", 1))
    one.rng("other")
    again = LocalRun(7)
    np.testing.assert_array_equal(first[0], again.rng("train", 1).normal(size=3))
    torch.testing.assert_close(first[1], torch.randn(3, generator=again.generator("train", 1)), rtol=0, atol=0)
    for other in (LocalRun(8).rng("train", 1), one.rng("train", 2), one.rng("train1"), one.rng("train", "1")):
        assert not np.array_equal(first[0], other.normal(size=3))


def test_nested_progress_rises_to_one():
    said: list[tuple[float, str]] = []
    run = LocalRun(on_progress=lambda f, m: said.append((f, m)))
    for _ in run.progress(range(4), "outer"):
        for _ in run.progress(range(3), "inner"):
            run._said = 0.0
    fractions = [f for f, _ in said]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert fractions[0] == 0.0 and any(0 < f < 1 for f in fractions)


def test_a_stop_reaches_progress_rows_and_checks_and_keeps_what_was_done():
    stop = False
    run = LocalRun(0, TABLES, stopped=lambda: stop)

    def climb() -> None:
        nonlocal stop
        for i in run.progress(range(10)):
            run.row("rows", i=i)
            stop = i == 3

    with pytest.raises(Cancelled):
        climb()
    assert list(run.tables["rows"].frame.i) == [0, 1, 2, 3]
    with pytest.raises(Cancelled):
        run.check()


def square(calls: list[int], run: LocalRun, item: int) -> dict[str, object]:
    calls.append(item)
    return {"square": item**2, "noise": run.rng("item", item).normal(size=2)}


def test_finished_items_are_kept_and_not_run_again(tmp_path):
    calls: list[int] = []
    function = functools.partial(square, calls)
    stop_after = 2
    run = LocalRun(0, items=tmp_path / "items", stopped=lambda: len(calls) >= stop_after)
    with pytest.raises(Cancelled):
        list(run.map(function, [1, 2, 3, 4], "items"))
    stop_after = 99
    again = LocalRun(0, items=tmp_path / "items")
    outcomes = list(again.map(function, [1, 2, 3, 4], "items"))
    assert calls == [1, 2, 3, 4]
    for damaged in (tmp_path / "items").iterdir():
        damaged.write_text("{")
    list(LocalRun(0, items=tmp_path / "items").map(function, [1], "items"))
    assert calls == [1, 2, 3, 4, 1]
    fresh = list(LocalRun(0).map(functools.partial(square, []), [1, 2, 3, 4], "items"))
    for kept, made in zip(outcomes, fresh, strict=True):
        assert kept["square"] == made["square"]
        np.testing.assert_array_equal(kept["noise"], made["noise"])


def cube(run: LocalRun, item: int) -> dict[str, int]:
    return {"cube": item**3}


def test_two_maps_over_the_same_items_do_not_share_what_is_kept(tmp_path):
    for _ in range(2):
        run = LocalRun(0, items=tmp_path)
        squares = list(run.map(functools.partial(square, []), [2, 3]))
        assert list(run.map(cube, [2, 3])) == [{"cube": 8}, {"cube": 27}]
        assert [outcome["square"] for outcome in squares] == [4, 9]


def test_a_progress_left_early_does_not_disturb_the_one_around_it():
    said: list[float] = []
    run = LocalRun(on_progress=lambda fraction, _: said.append(fraction))
    for _ in run.progress(range(3)):
        for _ in run.progress(range(3)):
            break
        run._said = 0.0
    assert said == sorted(said) and said[-1] == 1.0


def test_outcomes_survive_json_with_dtype_and_shape():
    value = {"a": np.arange(6, dtype=np.int16).reshape(2, 3), "b": [1, 2.5, None, "x"], "c": np.float32(0.1)}
    again = decode(encode(value))
    np.testing.assert_array_equal(again["a"], value["a"])
    assert again["a"].dtype == np.int16 and again["b"] == value["b"] and again["c"] == float(np.float32(0.1))
    with pytest.raises(ValueError, match="objects"):
        encode(np.array([object()]))


def test_unknown_tables_and_file_names_with_folders_are_refused(tmp_path):
    run = LocalRun(0, TABLES, directory=tmp_path)
    with pytest.raises(ValueError, match="expected one of rows"):
        run.row("other", i=1)
    for name in ("../x", "a/b", "", ".."):
        with pytest.raises(ValueError, match="plain file name"):
            run.file(name)
