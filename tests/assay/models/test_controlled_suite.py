"""The design of the suite is orthogonal, its text is one, and its rows can be kept, read and collected."""

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from assay.models import make_suite, suite_recipes, suite_row, suite_text
from assay.models.controlled_suite import BUDGET, CONTEXT, L18, Recipe
from assay.models.kept_suite import read_suite, write_suite

RECIPES = suite_recipes()


def test_every_level_meets_every_other_equally_often():
    for a, b in combinations(range(5), 2):
        met = Counter((row[a], row[b]) for row in L18)
        assert len(set(met.values())) == 1 and len(met) == len({r[a] for r in L18}) * len({r[b] for r in L18})


def test_the_suite_is_108_runs_and_others_each_with_a_name_of_its_own():
    assert len({recipe.name for recipe in RECIPES}) == len(RECIPES)
    assert Counter(recipe.kind for recipe in RECIPES) == {"grid": 108, "repeat": 9, "tied": 9, "long": 8}
    grid = [recipe for recipe in RECIPES if recipe.kind == "grid"]
    sizes = Counter((recipe.width, recipe.layers) for recipe in grid)
    assert len(sizes) == 6 and set(sizes.values()) == {18}
    for recipe in grid:
        assert recipe.budget.steps * recipe.batch * CONTEXT == BUDGET


@pytest.fixture(scope="module")
def text():
    return suite_text()


TINY = Recipe("grid", 0, 16, 1, 4, 3e-3, 0.0, 0.5, 0, tokens=8192)


@pytest.fixture(scope="module")
def rows(text):
    return [suite_row(recipe, text) for recipe in (TINY, TINY)]


@pytest.mark.slow
def test_text_is_the_same_from_kept_merges_and_what_is_held_out_was_hardly_trained_on(text):
    again = suite_text(text.pairs.merges)
    assert (again.train == text.train).all() and all((again.held_out[n] == t).all() for n, t in text.held_out.items())
    trained = {tuple(window.tolist()) for window in text.train}
    again = [tuple(window.tolist()) in trained for window in text.held_out["prose"]]
    assert np.mean(again) < 0.03, "docstrings share set phrases, and little more"


@pytest.mark.slow
def test_a_row_repeats_and_learns_something(rows):
    one, other = rows
    for name, value in one.items():
        if name != "seconds":
            np.testing.assert_array_equal(value, other[name], err_msg=name)
    assert one["loss prose"] < np.log(1024) - 0.1 and one["loss full"] == pytest.approx(one["loss prose"], abs=0.1)
    assert 1 < one["stable rank"] <= one["participation ratio"] <= one["variance effective rank"]
    assert one["variance effective rank"] <= one["effective rank"] <= 16
    assert len(one["spectrum"]) == len(one["states"]) == 16 and len(one["step"]) == 17
    assert one["rank by step"][-1] == pytest.approx(one["effective rank"], rel=1e-9)


@pytest.mark.slow
def test_rows_are_kept_read_and_collected(rows, text, tmp_path):
    place = tmp_path / "row.npz"
    make_suite.write_row(place, rows[0], text)
    row = make_suite.read_row(place)
    assert all(row[name] == value for name, value in rows[0].items() if not isinstance(value, np.ndarray))
    write_suite([row, row], tmp_path / "suite", {"command": "c"})
    suite = read_suite(tmp_path / "suite")
    assert len(suite) == 2 and suite.provenance == {"runs": 2, "command": "c"}
    for name, value in suite.rows[1].items():
        assert type(value) is type(row[name]), name
        assert value == (pytest.approx(row[name], rel=1e-8) if isinstance(value, float) else row[name]), name
    np.testing.assert_allclose(suite.spectrum[1], row["spectrum"], rtol=1e-6)
    np.testing.assert_allclose(suite.rank[0], row["rank by step"], rtol=1e-6)
    np.testing.assert_array_equal(suite.merges, text.pairs.merges)

    rows_folder = tmp_path / "rows"
    rows_folder.mkdir()
    for name in (RECIPES[0].name, RECIPES[7].name):
        make_suite.write_row(rows_folder / f"{name}.npz", rows[0], text)
    assert make_suite.collect(rows_folder, tmp_path / "two") == 2
    said = json.loads((tmp_path / "two" / "provenance.json").read_text())
    assert said["runs"] == 2 and said["text"]["prose"]["source"].startswith("SciPy") and "torch" in said["versions"]
    (rows_folder / f"{RECIPES[7].name}.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="cannot be read as a row"):
        make_suite.collect(rows_folder, tmp_path / "two")


def test_what_is_refused(tmp_path, capsys):
    with pytest.raises(ValueError, match="got 0 rows"):
        make_suite.collect(tmp_path)
    with pytest.raises(ValueError, match="cannot be read as a suite"):
        read_suite(tmp_path)
    for part in ("0/2", "3/2", "x"):
        assert make_suite.main(["--rows", str(tmp_path), "--part", part]) == 2
    assert "expected I/N" in capsys.readouterr().err


def test_the_kept_suite_is_whole_and_belongs_to_these_recipes():
    suite = read_suite()
    assert len(suite) >= 108
    by_name = {recipe.name: recipe for recipe in RECIPES}
    for row, spectrum, states, step, rank in zip(
        suite.rows, suite.spectrum, suite.states, suite.step, suite.rank, strict=True
    ):
        kept = Recipe(**{name: row[name] for name in Recipe.__dataclass_fields__})
        recipe = by_name[kept.name]
        assert replace(kept, share=recipe.share) == recipe
        assert kept.share == pytest.approx(recipe.share, rel=1e-8), "nine digits are kept"
        assert len(spectrum) == len(states) == recipe.width and (np.diff(spectrum) <= 0).all()
        assert all(a < b for a, b in pairwise(step)) and step[-1] == recipe.budget.steps
        p = spectrum / spectrum.sum()
        assert np.exp(-(p * np.log(p)).sum()) == pytest.approx(row["effective rank"], rel=1e-5)
        assert rank[-1] == pytest.approx(row["effective rank"], rel=1e-5)
