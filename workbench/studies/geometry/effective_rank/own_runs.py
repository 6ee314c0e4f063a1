"""A table of runs of the user's own: any columns may be the metric, the outcome, what is held fixed, and the group."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import difflib
from dataclasses import dataclass

import numpy as np
import pandas as pd

from assay.statistics import incremental_r2, partial_spearman, rank_residuals
from workbench.sources import Source
from workbench.studies.geometry.effective_rank.controls import grid_of, place_of, runs_file, study
from workbench.studies.geometry.effective_rank.suite_views import signed
from workbench.study import Result, Run, exact, numeric, statistical
from workbench.theme import Figure, axis, drawn, styled

FEWEST_ROWS, FEWEST_GROUPS, FOLDS = 20, 4, 5
LABELS = 8  # a column of at most so many different numbers is held as labels, so that no effect need be monotone

study.group("Runs of your own")
study.data(
    "own_runs", samples=("rank-suite",), label="Table", group="Runs of your own", rare=True,
    suffixes=(".csv", ".parquet"), needs="a table with a row for each trained model",
    doc="Trained models, one a row. The sample is the grid of the suite.",
)  # fmt: skip
study.text(
    "own_metric", "effective rank", label="Metric column", group="Runs of your own", rare=True,
    doc="What should say something of the outcome.",
)  # fmt: skip
study.text(
    "own_outcome", "loss prose", label="Outcome column", group="Runs of your own", rare=True,
    doc="Loss, or a score.",
)  # fmt: skip
study.text(
    "own_held", "width, layers, batch, weight_decay, rate, final_share", label="Held fixed", group="Runs of your own",
    rare=True, doc="Columns of training choices, with commas between them.",
)  # fmt: skip
study.text(
    "own_group", "config", label="Group column", group="Runs of your own", rare=True,
    doc="Runs of one configuration; they are permuted, resampled and held out together.",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class OwnRuns:
    """Columns of a table by their part.

    Attributes:
        metric, outcome: (n,). held: (n,) each, labels or numbers. groups: (n,). gaps: rows that were left out.
    """

    metric: np.ndarray
    outcome: np.ndarray
    held: dict[str, np.ndarray]
    groups: np.ndarray
    gaps: int


def read_table(source: Source) -> pd.DataFrame:
    """The rows of a table; of the suite, its grid.

    Raises:
        ValueError: it cannot be read.
    """
    place = place_of(source)
    if place.is_dir():
        return grid_of(pd.read_csv(runs_file(source)))
    try:
        return pd.read_parquet(place) if place.suffix == ".parquet" else pd.read_csv(place)
    except (OSError, ValueError, pd.errors.ParserError):
        raise ValueError(f"own_runs: {source.name} cannot be read as a table; expected CSV or Parquet.") from None


def numbers_of(table: pd.DataFrame, control: str, name: str) -> np.ndarray:
    """(n,) a column as numbers; NaN in gaps.

    Raises:
        ValueError: text in it, or the same value in all rows.
    """
    column = table[name]
    values = pd.to_numeric(column, errors="coerce").to_numpy(float)
    if (words := column[np.isnan(values) & column.notna().to_numpy()]).size:
        raise ValueError(f"{control}: column {name} holds {words.iloc[0]!r}; expected numbers.")
    return np.where(np.isfinite(values), values, np.nan)


@study.prepared
def own_table(own_runs: Source, own_metric: str, own_outcome: str, own_held: str, own_group: str) -> OwnRuns:
    """The columns that were named; rows with gaps in them are left out.

    Raises:
        ValueError: a column that is not there, is named twice, holds text where numbers are needed or one value only;
            fewer than 20 rows, or fewer than 4 groups.
    """
    table = read_table(own_runs)
    held = [name.strip() for name in own_held.split(",") if name.strip()]
    named = {"own_metric": [own_metric.strip()], "own_outcome": [own_outcome.strip()], "own_held": held,
             "own_group": [own_group.strip()]}  # fmt: skip
    for control, names in named.items():
        for name in names:
            if name not in table:
                near = difflib.get_close_matches(name, map(str, table.columns), 3, 0.4) or list(table.columns[:6])
                raise ValueError(
                    f"{control}: {own_runs.name} has no column {name!r}; expected one as {', '.join(near)}."
                )
    every = [name for names in list(named.values())[:3] for name in names]
    if twice := [name for name in every if every.count(name) > 1]:
        raise ValueError(f"own_held: got {twice[0]} twice among metric, outcome and held; expected it once.")
    metric, outcome = (numbers_of(table, control, named[control][0]) for control in ("own_metric", "own_outcome"))
    whole = ~np.isnan(metric) & ~np.isnan(outcome) & table[[*held, *named["own_group"]]].notna().all(axis=1).to_numpy()
    kept = table[whole]
    if len(kept) < FEWEST_ROWS:
        raise ValueError(f"own_runs: got {len(kept)} rows without gaps; expected at least {FEWEST_ROWS}.")
    groups = kept[named["own_group"][0]].astype(str).to_numpy()
    if (count := len(np.unique(groups))) < FEWEST_GROUPS:
        raise ValueError(
            f"own_group: got {count} groups; expected at least {FEWEST_GROUPS}, as they are held out whole."
        )
    for control, names in list(named.items())[:3]:
        if same := [name for name in names if len(kept[name].unique()) < 2]:
            raise ValueError(f"{control}: column {same[0]} has the same value in all rows; expected one that varies.")
    return OwnRuns(metric[whole], outcome[whole], {n: as_held(kept[n]) for n in held}, groups, int((~whole).sum()))


def as_held(column: pd.Series) -> np.ndarray:
    """(n,) labels, or numbers where there are many different ones."""
    many = pd.api.types.is_numeric_dtype(column) and column.nunique() > LABELS
    return column.to_numpy(float) if many else column.astype(str).to_numpy()


@study.experiment(
    "Control your own runs",
    tables={
        "own": {
            "metric": exact("str"),
            "outcome": exact("str"),
            "raw": numeric(doc="Spearman’s correlation."),
            "partial": numeric(doc="With what is held fixed taken out."),
            "low": statistical(),
            "high": statistical(),
            "p": statistical(doc="Permuting groups."),
            "gain": statistical(doc="Incremental R² on groups that were held out."),
            "gain_low": statistical(),
            "gain_high": statistical(),
            "base": statistical(doc="R² of what is held fixed alone."),
            "n": exact("int", doc="Rows."),
            "groups": exact("int"),
            "gaps": exact("int", doc="Rows left out."),
        }
    },
    cost={"quick": 1, "standard": 3, "full": 6},
)
def own_statistics(run: Run, own_table: OwnRuns, own_metric: str, own_outcome: str, resamples: int) -> None:
    """Raw and partial rank correlation and incremental R², over groups of a table of the user's."""
    x, y, groups = own_table.metric, own_table.outcome, own_table.groups
    rng = run.rng("own")
    one = partial_spearman(x, y, own_table.held, rng=rng, clusters=groups, permutations=resamples, resamples=resamples)
    raw = partial_spearman(x, y, {}, rng=rng, clusters=groups, permutations=1, resamples=100).rho
    count = len(np.unique(groups))
    gain = incremental_r2(
        y, own_table.held, {"metric": x}, groups, rng=rng, folds=min(FOLDS, count // 2), resamples=resamples
    )
    (low, high), (gain_low, gain_high) = one.interval.around, gain.interval.around
    run.row(
        "own", metric=own_metric.strip(), outcome=own_outcome.strip(), raw=raw, partial=one.rho,
        low=low, high=high, p=one.p, gain=gain.delta, gain_low=gain_low, gain_high=gain_high, base=gain.base,
        n=len(x), groups=count, gaps=own_table.gaps,
    )  # fmt: skip


@study.view("Runs of your own, with choices held fixed", tab="Your runs")
def own_residuals(own_table: OwnRuns, own_metric: str, own_outcome: str, own_statistics: Result | None) -> Figure:
    """Ranks of metric and outcome, less what the held columns explain of them."""
    n = len(own_table.metric)
    columns = (own_table.metric, own_table.outcome)
    x, y = rank_residuals(columns, own_table.held)
    raw, size = float(np.corrcoef(rank_residuals(columns, {}))[0, 1]), float(np.sqrt((x @ x) * (y @ y)))
    partial = float(x @ y) / size if size > 1e-6 * n else 0.0
    said = f"{n} rows in {len(np.unique(own_table.groups))} groups; {own_table.gaps} with gaps left out."
    if own_statistics is not None and len(own_statistics.tables["own"]):
        row = own_statistics["own"].iloc[0]
        said += (
            f" Partial ρ from {signed(row['low'])} to {signed(row['high'])}, p = {row['p']:.3g}; "
            f"R² gains {signed(row['gain'])} ({signed(row['gain_low'])} to {signed(row['gain_high'])})."
        )
    return drawn(
        [styled("yours", type="scatter", mode="markers", x=x, y=y, name="runs", customdata=own_table.groups,
                hovertemplate="%{x:.1f}, %{y:.1f}<br>%{customdata}<extra></extra>")],
        f"Holding {len(own_table.held)} columns fixed, ρ goes from {signed(raw)} to {signed(partial)}",
        said,
        xaxis=axis(f"Rank of {own_metric.strip()}, residual"),
        yaxis=axis(f"Rank of {own_outcome.strip()}, residual"),
        showlegend=False,
    )  # fmt: skip
