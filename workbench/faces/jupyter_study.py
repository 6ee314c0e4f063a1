"""A study in hand: what a notebook shows of it, and functions whose signature says what can be set.

from workbench import load

study = load("lif-frequency-matching")
study
study.explore(beta=0.7)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from workbench.faces import markup
from workbench.registry import registry
from workbench.study import PRESETS, Study

__all__ = ["LoadedStudy", "load"]


class LoadedStudy:
    """A study that can be looked at, explored, run and reported.

    Attributes:
        study: the study itself, as it was declared.
        explore: controls and live figures, as `workbench.explore`.
        run: an experiment or all of them, as `workbench.run`.
        export: a report, as `workbench.export`.
    """

    def __init__(self, study: Study) -> None:
        from workbench.batch import run
        from workbench.faces.jupyter import explore
        from workbench.report.exporting import export

        self.study = study
        self.explore = told(explore, study, "Move controls and see figures follow.", ("preset", "runner"))
        self.run = told(
            run, study, "Run one experiment or all of them, and judge the claims.",
            ("experiment", "sweep", "preset", "device", "fresh", "store"),
        )  # fmt: skip
        self.export = told(export, study, "Make a report in one file.", ("to", "format", "preset", "fresh", "force"))

    @property
    def controls(self) -> pd.DataFrame:
        """What can be set: name, default, what is expected, and what it is."""
        rows = [(c.name, *c.beforehand, c.doc) for c in self.study.moving.values()]
        rows += [(a.name, "", f"{a.unit} (sets {a.control})".strip(), a.doc) for a in self.study.aliases.values()]
        return pd.DataFrame(rows, columns=["name", "default", "expected", "what it is"])

    @property
    def experiments(self) -> pd.DataFrame:
        """What can be run: name, seconds at each preset, and what it does."""
        rows = [{"name": e.name, **{f"{p} (s)": e.cost.get(p) for p in PRESETS}, "what it does": e.title}
                for e in self.study.experiments.values()]  # fmt: skip
        return pd.DataFrame(rows)

    @property
    def claims(self) -> pd.DataFrame:
        """What the paper says, and what would count as that."""
        rows = [{"claim": c.id, "the paper says": c.sentence,
                 "counts as that": f"{c.expects.quantity} {c.expects.words}".strip() if c.expects else "needs scale"}
                for c in self.study.claims.values()]  # fmt: skip
        return pd.DataFrame(rows)

    @property
    def views(self) -> pd.DataFrame:
        """What can be seen: name and title."""
        return pd.DataFrame([{"name": v.name, "title": v.title} for v in self.study.views.values()])

    def _tables(self) -> list[tuple[str, pd.DataFrame]]:
        """What the card shows, each with its heading."""
        all_of = [("Controls", self.controls), ("Experiments", self.experiments), ("Claims", self.claims)]
        return [(title, frame) for title, frame in all_of if len(frame)]

    def __dir__(self) -> Iterable[str]:
        return ["claims", "controls", "experiments", "explore", "export", "run", "study", "views"]

    def __repr__(self) -> str:
        study, slug = self.study, self.study.slug
        lines = [study.question, f"{study.paper.title} · {study.paper.venue} {study.paper.url}".rstrip(), ""]
        for title, frame in self._tables():
            lines += [title, frame.fillna("").to_string(index=False, max_colwidth=60), ""]
        return "\n".join([*lines, f'explore("{slug}"), run("{slug}"), export("{slug}")'])

    def _repr_html_(self) -> str:
        study = self.study
        link = f'<a href="{markup.escape(study.paper.url)}">{markup.escape(study.paper.url)}</a>'
        paper = (
            f"{markup.escape(study.paper.title)} · {markup.escape(study.paper.venue)} {link if study.paper.url else ''}"
        )
        parts = [markup.STYLES, markup.heading(study.question, study.summary, level=2)]
        parts.append(markup.boxed(f'<p class="as-small">{paper}</p>'))
        for title, frame in self._tables():
            parts += [markup.boxed("<br>") + markup.heading(title), markup.table(frame)]
        return "".join(parts)


def told(function: Callable[..., Any], study: Study, first: str, own: tuple[str, ...]) -> Callable[..., Any]:
    """A function of a slug and controls as one of this study, whose signature and doc name the controls."""

    @functools.wraps(function)
    def call(*positional: Any, **controls: Any) -> Any:
        return function(study.slug, *positional, **controls)

    given = inspect.signature(function).parameters
    found = [given[name] for name in own]
    if own[0] in ("experiment", "to"):
        found[0] = found[0].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    lines = [first, "", "Args:"]
    for control in study.moving.values():
        if control.name in own:
            continue
        found.append(inspect.Parameter(control.name, inspect.Parameter.KEYWORD_ONLY, default=control.default))
        symbol = f" ({control.symbol})" if control.symbol else ""
        lines.append(f"    {control.name}{symbol}: {control.beforehand[1]}. {control.doc}")
    for alias in study.aliases.values():
        found.append(inspect.Parameter(alias.name, inspect.Parameter.KEYWORD_ONLY, default=None))
        lines.append(f"    {alias.name}: {alias.unit}, sets {alias.control}. {alias.doc}")
    call.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
    call.__doc__ = "\n".join(lines)
    return call


def load(slug: str) -> LoadedStudy:
    """A study in hand.

    Args:
        slug: the study; `-` and `_` are the same.

    Returns:
        what a notebook shows as a card: question, controls with bounds and units, experiments, claims.

    Raises:
        UnknownStudy, StudyError: no such study, or it cannot be imported.
    """
    return LoadedStudy(registry().get(slug))
