"""The leaderboard with its line: whom it leaves out, what jumps when it is built in another way, and γ̂ at every cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.decisions import (
    StabilityBand,
    bootstrap_stability,
    stability_curve,
    support_of_prefixes,
    theoretical_factor,
)
from workbench.studies.decisions.pluralistic_leaderboards.controls import Crowd, study
from workbench.studies.decisions.pluralistic_leaderboards.drawing import colour_groups, percent, short, whose
from workbench.studies.decisions.pluralistic_leaderboards.methods import METHODS, SHORT, Built
from workbench.study import Stat
from workbench.theme import Figure, axis, drawn, styled

ROWS = 30  # of a leaderboard that are drawn
WORK = 20_000_000  # steps that an interval may take while one waits
TOO_LONG = "With {models} models this takes a run: “Build every leaderboard”"


@dataclass(frozen=True, eq=False)
class Line:
    """What a line below the first k of a leaderboard does.

    Attributes:
        shown: (m,) the leaderboard.
        above: (k,) models. best: (n,) for each judge, which of them she likes best, −1 where she ranks none.
        rank: (n,) where that one stands on her ballot, from 1; m + 1 where she ranks none.
        support: (m,) share of judges who prefer a model to everything above. blocker: the model with most of it.
        swaps: (n,) who would swap everything above for it.
    """

    shown: np.ndarray
    above: np.ndarray
    best: np.ndarray
    rank: np.ndarray
    support: np.ndarray
    blocker: int
    swaps: np.ndarray

    @property
    def k(self) -> int:
        """How many stand above."""
        return len(self.above)

    @property
    def share(self) -> float:
        """Share of judges who would swap."""
        return float(self.support[self.blocker])


def line_of(shown: np.ndarray, crowd: Crowd, cut: int) -> Line:
    """What a line below the first so many of a leaderboard does to the judges."""
    positions = crowd.judges.positions
    own = shown[:cut].astype(np.intp)
    among = positions[:, own]
    first = among.argmin(1)
    rank = among[np.arange(len(among)), first].astype(int) + 1
    support = support_of_prefixes(crowd.judges.orders, shown)[:, cut - 1] / len(positions)
    blocker = int(support.argmax())
    best = np.where(rank <= crowd.m, own[first], -1)
    return Line(shown, own, best, rank, support, blocker, positions[:, blocker] + 1 < rank)


@study.prepared
def line(board: Built | None, crowd: Crowd, cut: int) -> Line | None:
    """What the line does; None where the leaderboard takes a run."""
    return None if board is None else line_of(board.ranking, crowd, cut)


def rival(method: str, usual: Built, plural: Built) -> tuple[str, np.ndarray]:
    """What a leaderboard is compared with: Bradley–Terry's, or, when it is that, Algorithm 3's."""
    if method == "bradley-terry":
        return "monotone", plural.ranking
    return "bradley-terry", usual.ranking


def moves(shown: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(m,) for each row of a leaderboard, how many places higher its model stands than on the other."""
    place = np.empty(len(other), int)
    place[other] = np.arange(len(other))
    return place[shown] - np.arange(len(shown))


def arrow(moved: int) -> str:
    return f" ▲{moved}" if moved > 0 else f" ▼{-moved}" if moved < 0 else ""


@study.view(
    "The leaderboard, and whom it leaves out",
    equation=r"\hat{\gamma}(W_k) = k \cdot \max_{a \notin W_k} \Pr_i[a \succ_i W_k]",
    selects={"y": "cut"},
    tab="Leaderboard",
)
def leaderboard(line: Line | None, crowd: Crowd, usual: Built, plural: Built, method: str) -> Figure:
    """Above the line: whose best model each is. Below: who prefers a model to all above. Drag the line."""
    ballots = crowd.judges
    if line is None:
        return drawn([], TOO_LONG.format(models=crowd.m), METHODS[method], xaxis=axis("Users (%)"), yaxis=axis(""))
    k, m, shown = line.k, crowd.m, line.shown
    first = 0 if m <= ROWS else min(max(0, k - ROWS // 2), m - ROWS)
    rows = np.arange(first, min(m, first + ROWS))
    other, ranking = rival(method, usual, plural)
    moved = moves(shown, ranking)
    where = ballots.positions + 1
    traces = []
    for number, (name, own) in enumerate(colour_groups(ballots)):
        chosen = np.bincount(line.best[own & (line.best >= 0)], minlength=m)
        above = 100 * chosen[shown[rows[rows < k]]] / len(ballots)
        outside = shown[rows[rows >= k]]
        below = 100 * (where[own][:, outside] < line.rank[own, None]).sum(0) / len(ballots)
        traces.append(
            styled(f"series_{number + 1}", type="bar", orientation="h", x=[*above, *below], y=rows + 1, name=name,
                   customdata=[ballots.models[a] for a in shown[rows]],
                   hovertemplate="%{customdata}<br>%{x:.1f} % of all users<extra>" + name + "</extra>")
        )  # fmt: skip
    limit = 100 / k
    low, high = k + 0.5, rows[-1] + 1.5
    bars = np.where(np.isin(rows, rows[rows < k]), 0, 100 * line.support[shown[rows]])
    tops = np.bincount(line.best[line.best >= 0], minlength=m)[shown[:k]] * 100 / len(ballots)
    widest = max(float(bars.max()), float(tops.max()), 1.0)
    reach = 1.12 * max(widest, min(limit, 1.6 * widest))
    shapes = [
        {"type": "line", "name": "yours", "xref": "paper", "x0": 0, "x1": 1, "y0": low, "y1": low},
    ]
    notes = [
        {"text": f"above the line: the top {k}", "xref": "paper", "x": 1, "xanchor": "right", "y": low,
         "yanchor": "bottom", "yshift": 2},
    ]  # fmt: skip
    if limit <= reach:
        shapes.append({"type": "line", "name": "dagger", "x0": limit, "x1": limit, "y0": low, "y1": high})
        notes.append({"text": f"limit 1/k = {limit:.3g} %", "x": limit, "y": high, "xanchor": "left",
                      "yanchor": "bottom", "xshift": 4})  # fmt: skip
    at = int(np.flatnonzero(shown == line.blocker)[0])
    if at in rows and line.share:
        notes.append({"text": f"<b>{percent(line.share)} would swap for it</b>", "x": 100 * line.share, "y": at + 1,
                      "xanchor": "left", "xshift": 6})  # fmt: skip
    words = [f"{short(ballots.models[a])}{arrow(int(moved[row]))}" for row, a in zip(rows, shown[rows], strict=True)]
    return drawn(
        traces,
        finding(line, ballots.models),
        f"{METHODS[method]}; judged by {whose(ballots)}. Arrows: places gained or lost against {SHORT[other]}"
        + (f"; rows {rows[0] + 1} to {rows[-1] + 1} of {m}." if len(rows) < m else "."),
        barmode="stack",
        bargap=0.25,
        xaxis=axis("Users (%). Above the line: whose best it is. Below: who prefers it to all above", range=[0, reach]),
        yaxis=axis("", range=[high, rows[0] + 0.5], tickvals=list(rows + 1),
                   ticktext=[f"{row + 1}  {word}  " for row, word in zip(rows, words, strict=True)], showgrid=False),
        shapes=shapes,
        annotations=notes,
        margin={"l": 190},
    )  # fmt: skip


def finding(line: Line, models: tuple[str, ...]) -> str:
    """Who would swap everything above the line, against the limit."""
    name = models[line.blocker]
    limit = f"1/{line.k} is {100 / line.k:.3g} %"
    if line.share * line.k > 1:
        return f"{percent(line.share)} would swap everything above the line for {name}; {limit}"
    if not line.share:
        return f"Nobody would swap the top {line.k} for any other model"
    return f"At most {percent(line.share)} would swap everything above the line, for {name}; {limit}"


@study.view("The most wronged model", tab="Most wronged")
def wronged(line: Line | None, crowd: Crowd, usual: Built, plural: Built) -> list[Stat] | str:
    """Who it is, how many want it, and where it stands on other leaderboards."""
    if line is None:
        return TOO_LONG.format(models=crowd.m) + "."
    names = crowd.judges.models
    place = {key: int(np.flatnonzero(r == line.blocker)[0]) + 1
             for key, r in (("here", line.shown), ("bt", usual.ranking), ("a3", plural.ranking))}  # fmt: skip
    gamma = line.share * line.k
    told = [
        Stat("most wronged model", names[line.blocker] if line.share else "none"),
        Stat("would swap all above for it", f"{100 * line.share:.1f}", "%"),
        Stat("limit, 1/k", f"{100 / line.k:.1f}", "%"),
        Stat("γ̂, unstable above 1", f"{gamma:.2f}"),
        Stat("its place here", place["here"]),
        Stat("with Bradley–Terry", place["bt"]),
        Stat("with Algorithm 3", place["a3"]),
    ]
    if line.swaps.any():
        counts = np.bincount(crowd.judges.faction[line.swaps], minlength=len(crowd.judges.factions))
        most = int(counts.argmax())
        told.append(Stat("of those who would", f"{100 * counts[most] / counts.sum():.0f}",
                         f"% are of {crowd.judges.factions[most]}"))  # fmt: skip
    return told


@study.view("Rows that jump", selects={"y": "cut"}, tab="Jumps")
def jumps(line: Line | None, crowd: Crowd, usual: Built, plural: Built, method: str) -> Figure:
    """Places on one leaderboard and on the other; those that cross the line stand out."""
    axes = {"xaxis": axis("", range=[-0.6, 1.6], tickvals=[0, 1], ticktext=["", ""]), "yaxis": axis("Place")}
    if line is None:
        return drawn([], TOO_LONG.format(models=crowd.m), METHODS[method], **axes)
    other, ranking = rival(method, usual, plural)
    pair = [(SHORT[other], ranking), (SHORT[method], line.shown)]
    if method == "bradley-terry":
        pair.reverse()
    left, right = (np.argsort(r) + 1 for _, r in pair)
    k, names = line.k, crowd.judges.models
    kept = np.flatnonzero((left <= ROWS) | (right <= ROWS)) if crowd.m > ROWS else np.arange(crowd.m)
    crosses = (left <= k) != (right <= k)
    traces = []
    for role, mask, name in (("reference", ~crosses, "stays on its side"), ("yours", crosses, "crosses the line")):
        own = [a for a in kept if mask[a]]
        if own:
            traces.append(
                styled(role, type="scatter", mode="lines+markers", x=[0, 1, None] * len(own),
                       y=[v for a in own for v in (left[a], right[a], None)], name=name,
                       marker={"size": 7, "line": {"width": 0}, "symbol": "circle"}, line={"width": 2},
                       customdata=[names[a] for a in own for _ in range(3)],
                       hovertemplate="%{customdata}: place %{y}<extra></extra>")
            )  # fmt: skip
    notes = []
    for a in kept:
        for x, place, anchor in ((0, left[a], "right"), (1, right[a], "left")):
            if crosses[a] or crowd.m <= 10:
                notes.append({"text": short(names[a], 18), "x": x, "y": int(place), "xanchor": anchor,
                              "xshift": -8 if x == 0 else 8})  # fmt: skip
    lowest = int(max(left[kept].max(), right[kept].max())) if len(kept) else k
    swapped = int(crosses.sum()) // 2
    return drawn(
        traces,
        f"{swapped} of the top {k} change when {SHORT['bradley-terry']} gives way to {pair[1][0]}" if swapped
        else f"The top {k} holds the same models, perhaps in another order",
        f"Left {pair[0][0]}, right {pair[1][0]}, built from the same users.",
        xaxis=axis("", range=[-0.75, 1.75], tickvals=[0, 1], ticktext=[pair[0][0], pair[1][0]], showgrid=False),
        yaxis=axis("Place", range=[lowest + 0.7, 0.3], showgrid=False),
        shapes=[{"type": "line", "name": "yours", "xref": "paper", "x0": 0, "x1": 1, "y0": k + 0.5, "y1": k + 0.5}],
        annotations=notes,
        margin={"l": 60},
    )  # fmt: skip


@study.prepared
def band(board: Built | None, crowd: Crowd, seed: int) -> StabilityBand | None:
    """γ̂ of the leaderboard at every cut, with an interval over judges."""
    if board is None:
        return None
    resamples = int(np.clip(WORK / crowd.judges.orders.size, 20, 200))
    return bootstrap_stability(crowd.judges.orders, board.ranking, np.random.default_rng([seed, 4]), resamples)


@study.view("γ̂ at every cut", selects={"x": "cut"}, tab="Every cut")
def every_cut(
    band: StabilityBand | None, crowd: Crowd, usual: Built, plural: Built, method: str, cut: int, eps: float
) -> Figure:  # fmt: skip
    """How far each prefix is from what a group of 1/k could reject; above 1 it is unstable."""
    k = np.arange(1, crowd.m)
    traces = []
    if band is not None:
        traces += [
            styled("yours_band", type="scatter", mode="lines", x=k, y=band.high, showlegend=False, hoverinfo="skip"),
            styled("yours_band", type="scatter", mode="lines", x=k, y=band.low, fill="tonexty", name="95 % over users",
                   hoverinfo="skip"),
        ]  # fmt: skip
    others = {"bradley-terry": stability_curve(crowd.judges.orders, usual.ranking)[0],
              "monotone": stability_curve(crowd.judges.orders, plural.ranking)[0]}  # fmt: skip
    for name, curve in others.items():
        if name != method:
            role = "reference" if name == "bradley-terry" else "series_1"
            traces.append(styled(role, type="scatter", mode="lines", x=k, y=curve, name=SHORT[name],
                                 hovertemplate="γ̂ %{y:.2f} at k = %{x}<extra>" + SHORT[name] + "</extra>"))  # fmt: skip
    factor = theoretical_factor(eps)
    if band is None:
        title, said = TOO_LONG.format(models=crowd.m), ""
    else:
        traces.append(styled("yours", type="scatter", mode="lines", x=k, y=band.gamma, name=SHORT[method],
                             customdata=[crowd.judges.models[a] for a in band.blocker],
                             hovertemplate="γ̂ %{y:.2f} at k = %{x}<br>%{customdata}<extra></extra>"))  # fmt: skip
        over, sure = int((band.gamma > 1).sum()), int((band.low > 1).sum())
        title = (
            f"{SHORT[method]} is unstable at {over} of {len(k)} cuts" + (f", {sure} of them surely" if sure else "")
            if over
            else f"{SHORT[method]} is stable at every cut: γ̂ is at most {band.gamma.max():.2f}"
        )
        said = f"Band: {band.resamples} resamples of {whose(crowd.judges)}. "
    return drawn(
        traces,
        title,
        said + f"Above 1 a group of 1/k can reject the prefix; Theorem 3.1 promises {factor:.3g}, far off this scale.",
        xaxis=axis("Cut k (models above the line)"),
        yaxis=axis("γ̂ = k × largest share that would swap", rangemode="tozero"),
        shapes=[
            {"type": "line", "name": "dagger", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1},
            {"type": "line", "name": "yours", "x0": cut, "x1": cut, "y0": 0, "y1": 1, "yref": "paper"},
        ],
    )


@study.picture
def picture(usual: Built, plural: Built, crowd: Crowd) -> str:
    """γ̂ over the cut: Bradley–Terry in grey crosses the threshold, Algorithm 3 in cobalt stays below."""
    curves = [stability_curve(crowd.judges.orders, one.ranking)[0] for one in (usual, plural)]
    top = max(1.2, float(max(c.max() for c in curves)))
    x = np.linspace(16, 284, crowd.m - 1)

    def path(curve: np.ndarray) -> str:
        return " ".join(f"{a:.1f},{102 - 90 * b / top:.1f}" for a, b in zip(x, curve, strict=True))

    at = 102 - 90 / top
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 112">'
        f'<line x1="16" x2="284" y1="{at:.1f}" y2="{at:.1f}" stroke="var(--as-ref-soft, #ccd3d3)" '
        'stroke-dasharray="4 4"/>'
        f'<polyline points="{path(curves[0])}" fill="none" stroke="var(--as-ref-soft, #ccd3d3)" stroke-width="3"/>'
        f'<polyline points="{path(curves[1])}" fill="none" stroke="var(--as-accent, #2a4bd0)" stroke-width="3"/>'
        "</svg>\n"
    )
