"""`assay new`: the files of a new study, in a clone of the project, which fail until they are filled.

Each holds the least that its place asks for, in the form that finished studies have. The method raises, so its test,
the study's views and its claims fail, each with a sentence that says what is to be written.
"""

from __future__ import annotations

import re
from pathlib import Path

from workbench.controls import ControlError
from workbench.places import PACKAGE
from workbench.registry import registry

__all__ = ["new_study"]

METHOD = '''"""TITLE: what the paper computes (authors, ICML 2026, section and equation)."""

from __future__ import annotations

import numpy as np

__all__ = ["SNAKE"]


def SNAKE(signal: np.ndarray, strength: float) -> np.ndarray:
    """What it gives, in a line (section, equation).

    Args:
        signal: (samples,), any unit.
        strength: without unit.

    Returns:
        (samples,), the unit of the signal.

    Raises:
        ValueError: what is refused.
    """
    raise NotImplementedError("SNAKE: write the method of the paper here.")
'''
METHOD_TEST = '''"""SNAKE against what is known of it: laws over drawn cases, closed forms, values of the paper."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.FAMILY.SNAKE import SNAKE


@given(st.floats(0, 1))
def test_a_law_of_it_holds(strength):
    signal = np.linspace(0, 1, 16)
    assert SNAKE(signal, strength).shape == signal.shape  # replace by a law that can fail


def test_a_value_of_the_paper_is_met():
    raise NotImplementedError("a value that the paper prints, with its table or figure")
'''
STUDY = '''"""TITLE (authors, ICML 2026, arXiv 0000.00000)."""

from __future__ import annotations

from typing import Any

import numpy as np

IMPORTS
from workbench.study import Above, Evidence, Paper, Result, Study, exact, statistical
from workbench.theme import Figure, axis, drawn, styled

study = Study(
    "SLUG",
    paper=Paper("TITLE", "0000.00000", "Authors"),
    question="What does the paper claim, as a question?",
    summary="The paper in a line.",
)
study.group("Method", r"y = f(x)")
study.number("strength", 0.5, group="Method", bounds=(0, 1), symbol="s", doc="What it does, in a line.")


@study.prepared
def curve(strength: float) -> np.ndarray:
    """What views and experiments share."""
    return SNAKE(np.linspace(0, 1, 200), strength)


@study.view("What the strength does", equation=r"y = f(x)")
def picture(curve: np.ndarray, strength: float) -> Figure:
    """The method's answer over its input."""
    x = np.linspace(0, 1, len(curve))
    return drawn(
        [styled("yours", type="scatter", mode="lines", x=x, y=curve, name="yours")],
        f"The finding, true of what is drawn: at strength {strength:.2f} it reaches {curve.max():.2f}",
        "What is drawn, and of what.",
        xaxis=axis("Input (unit)"),
        yaxis=axis("Answer (unit)"),
    )


@study.experiment(
    "Measure it over seeds", cost={"quick": 1, "standard": 10, "full": 100},
    tables={"scores": {"seed": exact(), "score": statistical("%")}},
)  # fmt: skip
def measure(run: Any, curve: np.ndarray, seeds: int) -> dict[str, Any]:
    """What takes longer than a view."""
    rows = []
    for seed in run.progress(range(seeds), "seed"):
        rng = run.rng(f"measure/{seed}")
        rows.append({"seed": seed, "score": float(curve.mean() + 0 * rng.normal())})
    return {"scores": rows}


@study.claim(1, "What the paper says", expects=Above(0, "mean score", unit="%"))
def first(measure: Result) -> Evidence:
    """How it is judged."""
    scores = measure["scores"]["score"].to_numpy()
    found = cluster_mean(scores, range(len(scores)), rng=np.random.default_rng(0))
    return Evidence(float(found.estimate), (float(found.low), float(found.high)), "seeds", len(scores))


study.needs_scale(2, "What no bench can decide", reason="Why, and the command that would.")


@study.picture
def sketch() -> str:
    """The idea of the paper, in lines of the tokens' colours."""
    raise NotImplementedError("SLUG: draw its picture, an SVG of 300 by 112.")
'''
CLAIMS = '''"""Evidence fixtures of SLUG: claim -> verdict -> what the claim's function is given."""

CLAIMS = {}  # for each judged claim: one case that makes it hold, one that makes it fail, one that leaves it open
'''
NOTEBOOK = '''import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="TITLE", html_head_file="../head.html")


@app.cell
def parameters():
    controls = {}
    preset = "standard"
    seed = 0
    return controls, preset, seed


@app.cell
def _():
    import marimo as mo

    from workbench.faces.marimo import Page

    return Page, mo


@app.cell
def _(Page, controls, mo, preset, seed):
    changed, tell = mo.state(0)
    page = Page("SLUG", controls=controls, preset=preset, seed=seed, tell=tell)
    page.title()
    return changed, page


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The question

    What the paper claims, in three sentences, and what would show that it is wrong.
    """)
    return


@app.cell
def _(page):
    dials = page.dials("strength")
    page.shown(dials)
    return (dials,)


@app.cell
def _(page):
    measure = page.launcher("measure")
    measure
    return (measure,)


@app.cell
def _(changed, dials, measure, page):
    here = page.at(dials.value, changed(), measure)
    here.notes()
    return (here,)


@app.cell
def _(here):
    here.view("picture")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What is expected, what was found

    The prediction first, then the experiment, its verdicts, where it breaks, and your own data.
    """)
    return


@app.cell
def _(here):
    here.claims()
    return


if __name__ == "__main__":
    app.run()
'''
NOTEBOOK_TEST = '''"""The notebook of SLUG: it runs at `quick`, and says what it found."""


def test_it_runs_at_quick_and_its_values_can_be_read(run_at_quick):
    here, shown = run_at_quick("FAMILY/SNAKE.py", strength=0.25)
    assert str(here.judgement("1").verdict) == "holds"
    assert "at strength 0.25 it reaches" in shown
'''
FILES = {
    "lib/assay/FAMILY/SNAKE.py": METHOD,
    "workbench/studies/FAMILY/SNAKE.py": STUDY,
    "notebooks/FAMILY/SNAKE.py": NOTEBOOK,
    "tests/assay/FAMILY/test_SNAKE.py": METHOD_TEST,
    "tests/notebooks/test_SNAKE.py": NOTEBOOK_TEST,
    "tests/workbench/studies/FAMILY/SNAKE_claims.py": CLAIMS,
}
PACKAGES = ("lib/assay/FAMILY", "workbench/studies/FAMILY")


def new_study(slug: str, family: str, root: Path | None = None) -> list[Path]:
    """Write the files of a new study.

    Args:
        slug: small letters, digits and hyphens.
        family: the folder of its kind, such as `dynamics`; a new one is made.
        root: the clone of the project; the one that this package lies in when left out.

    Returns:
        the files, in the order in which they are filled.

    Raises:
        ControlError: a name that cannot be, one that is taken, or no clone.
    """
    root = PACKAGE.parent if root is None else root
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", slug):
        raise ControlError("study", f"got {slug!r}; expected small letters, digits and hyphens, such as my-paper")
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", family):
        raise ControlError("family", f"got {family!r}; expected small letters, digits and _, such as dynamics")
    if not all((root / name).is_dir() for name in ("lib/assay", "workbench/studies", "notebooks", "tests")):
        raise ControlError("folder", f"got {str(root)!r}; expected a clone of the project, where studies are written")
    if slug in registry().places:
        raise ControlError("study", f"got {slug!r}, which is there already; `assay show {slug}` shows it")
    title = slug.replace("-", " ").capitalize()
    name = slug.replace("-", "_")
    imports = sorted([f"from assay.{family}.{name} import {name}", "from assay.statistics import cluster_mean"])
    words = {"SNAKE": name, "SLUG": slug, "FAMILY": family, "TITLE": title, "IMPORTS": "\n".join(imports)}

    def filled(text: str) -> str:
        return re.sub("|".join(words), lambda found: words[found[0]], text)

    files = {root / filled(place): filled(text) for place, text in FILES.items()}
    for path in files:
        if path.exists():
            raise ControlError("study", f"got {slug!r}, but {path.relative_to(root)} is there already")
    for package in PACKAGES:
        start = root / filled(package) / "__init__.py"
        if not start.exists():
            files[start] = (
                f'"""{family.replace("_", " ").capitalize()}: what its studies have in common, in a line."""\n'
            )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)
