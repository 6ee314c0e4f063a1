"""Studies: names that do not fit are refused when the study is loaded."""

import pytest

from workbench.study import Above, Alias, ControlError, Evidence, Paper, Study, StudyError, exact


def new(**traits) -> Study:
    study = Study("case", paper=Paper("T", "0000.00000"), question="q?", **traits)
    study.number("beta", 0.5, bounds=(0, 1), doc="d")
    return study


def test_names_decide_what_is_reached():
    study = new()
    study.number("other", 0.5, bounds=(0, 1), doc="d")

    @study.prepared
    def curve(beta):
        return beta

    @study.experiment("Run", tables={"t": {"x": exact()}})
    def sweep(run, curve, seeds):
        return None

    @study.view("V")
    def picture(sweep, other):
        return "x"

    @study.claim(1, "c", expects=Above(0))
    def claim(sweep):
        return Evidence.exact(1)

    study.check()
    assert study.reached_controls("picture") == ("seed", "seeds", "beta", "other")
    assert study.reached_controls("sweep") == ("seed", "seeds", "beta")
    assert study.reached_controls("curve") == ("beta",)
    assert study.reached_experiments("claim:1") == ("sweep",)


def unknown(study):
    @study.view("V")
    def picture(gamma):
        return "x"


def circle(study):
    @study.prepared
    def a(b):
        return b

    @study.prepared
    def b(a):
        return a


def asks_for_view(study):
    @study.view("V")
    def one(beta):
        return "x"

    @study.view("W")
    def two(one):
        return "x"


def run_in_view(study):
    @study.view("V")
    def picture(run):
        return "x"


def experiment_without_run(study):
    @study.experiment("E", tables={})
    def sweep(beta):
        return {}


def prepared_on_experiment(study):
    @study.experiment("E", tables={})
    def sweep(run):
        return {}

    @study.prepared
    def curve(sweep):
        return 1


def selects_nothing(study):
    @study.view("V", selects={"x": "gamma"})
    def picture(beta):
        return "x"


def circle_through_choices(study):
    study.choice("part", choices="parts", doc="d")

    @study.prepared
    def parts(part):
        return [part]


def two_modules(study):
    def one():
        return "x"

    def two():
        return "y"

    two.__module__ = "elsewhere"
    study.view("One")(one)
    study.view("Two")(two)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (two_modules, "views come from several modules"),
        (unknown, "asks for 'gamma', which is not in the study"),
        (circle, "which is a circle"),
        (asks_for_view, "asks for 'one'"),
        (run_in_view, "asks for `run`"),
        (experiment_without_run, "does not ask for `run`"),
        (prepared_on_experiment, "make it a second stage"),
        (selects_nothing, "selects 'gamma'"),
        (circle_through_choices, "which is a circle"),
    ],
)
def test_names_that_do_not_fit_are_refused(build, sentence):
    study = new()
    build(study)
    with pytest.raises(StudyError, match=sentence):
        study.check()


def test_views_stand_in_the_order_given():
    study = new()
    two_modules(study)
    with pytest.raises(StudyError, match="its views are one, two; the order has two"):
        study.order("two")
    study.order("two", "one")
    study.check()
    assert list(study.views) == ["two", "one"]


def test_a_name_is_taken_once():
    study = new()
    with pytest.raises(StudyError, match="taken"):
        study.flag("beta", True, doc="d")
    with pytest.raises(StudyError, match="taken"):
        study.alias("beta", Alias("seed", lambda beta: beta, lambda seed: seed))

    @study.claim(1, "c", expects=Above(0))
    def one(beta):
        return Evidence.exact(1)

    with pytest.raises(StudyError, match="twice"):
        study.needs_scale(1, "c", reason="r")


def test_presets_set_effort_controls_only():
    study = new()
    with pytest.raises(StudyError, match="not an effort control"):
        study.presets(quick={"beta": 0.1})
    with pytest.raises(StudyError, match="no preset"):
        study.presets(fast={"seeds": 1})
    with pytest.raises(ControlError, match="seeds: got 0"):
        study.presets(quick={"seeds": 0})


def test_terms_change_with_expectations_and_presets_only():
    def made(bound=0.0, seeds=1, title="c"):
        study = new()
        study.presets(quick={"seeds": seeds})

        @study.claim(1, title, expects=Above(bound))
        def one(beta):
            return Evidence.exact(1)

        return study.terms_hash

    assert made() == made(title="in other words")
    assert len({made(), made(bound=0.1), made(seeds=2)}) == 3


def test_a_member_names_what_it_needs():
    study = new()
    with pytest.raises(StudyError, match="not allowed"):

        @study.view("V")
        def picture(*values):
            return "x"
