"""The study of the Identity Bridge: what is drawn is true of the model, and bad input is told in a sentence."""

import pytest

from workbench.registry import registry
from workbench.snapshot import Snapshot, settle
from workbench.typed_values import ControlError

STUDY = registry().get("identity-bridge")


def shot(**values):
    return Snapshot(STUDY, settle(STUDY, values, preset="quick"))


def title(snapshot, view):
    return snapshot.show(view).title


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"form": "ocr"}, "corner fills: 100 %"),
        ({"form": "idn"}, "but the model echoes"),
        ({"form": "fwd"}, "stays empty"),
        ({"form": "ocr", "factorised": False}, "stays empty"),
        ({"form": "ocr", "moment": 0.0}, "stays empty"),
    ],
)
def test_the_corner_fills_where_it_should(values, said):
    assert said in title(shot(**values), "blocks")


def test_the_toy_says_where_the_norm_is_smallest():
    assert "δ = 0.5;" in title(shot(alpha=1.0, beta=1.0, gamma=0.5), "completion")
    assert "both norms leave the corner at 0" in title(shot(gamma=0.0), "completion")


def test_pairs_of_ones_own_are_written_out_and_shared_names_marked(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b\nAnn,Remington\nRemington,Bob\nCy,Di\nEd,Flo\n")
    snapshot = shot(names=str(path))
    rows = snapshot.show("sentences").content
    assert "Remington" in set(rows["answer"]) and (rows["on both sides"] == "yes").sum() == 6
    assert len(snapshot.show("answers").content) == 4


def test_a_bad_file_of_pairs_names_row_and_column(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b\nAnn,Bob\n,Cy\nDi,Ed\nFlo,Gil\n")
    with pytest.raises(ControlError, match="row 3, column a"):
        shot(names=str(path)).show("sentences")


@pytest.mark.parametrize(
    "values",
    [
        {"init": 3.0, "rate": 8.0},
        {"pairs": 4, "width": 4, "rate": 1.0},
        {"init": 1e-4},
        {"factorised": False, "rate": 8.0},
    ],
)
def test_extreme_values_are_drawn(values):
    snapshot = shot(**values)
    assert all(snapshot.show(view).content is not None for view in ("blocks", "by_step", "spectrum", "answers"))
    loss = snapshot.value("live").trace.loss
    assert loss[-1] < loss[0]


def test_a_rate_that_is_too_large_is_told():
    with pytest.raises(ControlError, match="weights run away by step"):
        shot(pairs=4, width=1).show("blocks")
