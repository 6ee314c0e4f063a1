"""What runs found: methods over worlds, the independent re-run, guarantees, questions, and coalitions out of sight."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import numpy as np
import pandas as pd

from assay.decisions import WeightedProfile, comparison_law, solid_shortfall, theoretical_factor
from workbench.studies.decisions.pluralistic_leaderboards.claims import SORTED
from workbench.studies.decisions.pluralistic_leaderboards.controls import study
from workbench.studies.decisions.pluralistic_leaderboards.methods import SHORT
from workbench.study import Result
from workbench.theme import Figure, axis, drawn, styled


def rows_of(result: Result | None, table: str) -> pd.DataFrame | None:
    """The rows that are there so far; None before the first."""
    return result[table] if result is not None and len(result.tables[table]) else None


@study.view("Every leaderboard", tab="All methods")
def all_boards(boards: Result | None) -> pd.DataFrame | str:
    """Each method on these users: its worst prefix, how many are unstable, and what it asks of users."""
    curves, runs = rows_of(boards, "curves"), rows_of(boards, "runs")
    if curves is None or runs is None:
        return "Appears when every leaderboard is built: γ̂ with intervals, and the questions that were asked."
    found = []
    for run in runs.itertuples():
        own = curves[(curves["method"] == run.method).to_numpy()]
        worst = own.iloc[int(own["gamma"].to_numpy().argmax())]
        found.append({
            "method": SHORT[run.method],
            "largest γ̂": round(worst["gamma"], 2),
            "95 %": f"{worst['low']:.2f} to {worst['high']:.2f}",
            "at k": int(worst["k"]),
            "for": worst["blocker"],
            "cuts above 1": int((own["gamma"] > 1).sum()),
            "surely": int((own["low"] > 1).sum()),
            "users asked": int(run.asked),
            "median questions": int(run.median),
        })  # fmt: skip
    table = pd.DataFrame(found).sort_values("largest γ̂", kind="stable").reset_index(drop=True)
    stable = int((table["cuts above 1"] == 0).sum())
    world = boards["world"].iloc[0]  # pyright: ignore[reportOptionalSubscript]
    table.attrs["title"] = f"{stable} of {len(table)} methods are stable at every cut"
    table.attrs["subtitle"] = (
        f"{world['judges']:,} {'simulated ' if world['simulated'] else ''}users judge, {world['models']} models. "
        "“Surely”: the lower bound over users is above 1."
    )
    return table


@study.view("γ̂ at every cut, all methods", tab="All cuts")
def all_cuts(boards: Result | None, method: str) -> Figure:
    """Every method's γ̂ on these users; the one that is set with its interval over users."""
    axes = {"xaxis": axis("Cut k (models above the line)"),
            "yaxis": axis("γ̂ = k × largest share that would swap", rangemode="tozero")}  # fmt: skip
    rows = rows_of(boards, "curves")
    if rows is None:
        return drawn([], "γ̂ at every cut, all methods", "Appears when every leaderboard is built.", **axes)
    traces, largest = [], {}
    mine = rows[(rows["method"] == method).to_numpy()]
    if len(mine):
        traces = [
            styled("yours_band", type="scatter", mode="lines", x=mine["k"], y=mine["high"], showlegend=False,
                   hoverinfo="skip"),
            styled("yours_band", type="scatter", mode="lines", x=mine["k"], y=mine["low"], fill="tonexty",
                   name="95 % over users", hoverinfo="skip"),
        ]  # fmt: skip
    for number, name in enumerate(other for other in SHORT if other != method):
        own = rows[(rows["method"] == name).to_numpy()]
        if len(own):
            largest[name] = float(own["gamma"].max())
            traces.append(styled(f"series_{number + 1}", type="scatter", mode="lines", x=own["k"], y=own["gamma"],
                                 name=SHORT[name], hovertemplate="γ̂ %{y:.2f} at k = %{x}<extra>" + SHORT[name]
                                 + "</extra>"))  # fmt: skip
    if len(mine):
        largest[method] = float(mine["gamma"].max())
        traces.append(styled("yours", type="scatter", mode="lines", x=mine["k"], y=mine["gamma"], name=SHORT[method],
                             customdata=mine["blocker"],
                             hovertemplate="γ̂ %{y:.2f} at k = %{x}<br>%{customdata}<extra></extra>"))  # fmt: skip
    best, worst = min(largest, key=lambda n: largest[n]), max(largest, key=lambda n: largest[n])
    return drawn(
        traces,
        f"{SHORT[best]} stays lowest, at most {largest[best]:.2f}; {SHORT[worst]} reaches {largest[worst]:.2f}",
        "Judged by users who built nothing; above 1 a group of 1/k can reject the prefix. Algorithm 1 is built for the "
        "cut that is set.",
        **axes,
        shapes=[{"type": "line", "name": "dagger", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1}],
    )


@study.view("Which methods stay stable?", tab="Over worlds")
def over_worlds(compare: Result | None) -> Figure:
    """Share of prefixes whose γ̂ is above 1, for each method and dispersion, with 95 % over worlds."""
    axes = {"xaxis": axis("Prefixes with γ̂ above 1 (%)", rangemode="tozero"), "yaxis": axis("")}
    rows = rows_of(compare, "worlds")
    if rows is None:
        return drawn([], "Which methods stay stable?", "Appears when methods are compared over worlds.", **axes)
    share = 100 * rows["above"] / rows["prefixes"]
    order = share.groupby(rows["method"]).mean().sort_values(ascending=False, kind="stable")
    traces = []
    places = {str(name): place for place, name in enumerate(order.index)}
    phis = sorted(rows["phi"].unique())
    for number, phi in enumerate(phis):
        part = rows[(rows["phi"] == phi).to_numpy()]
        own = (100 * part["above"] / part["prefixes"]).groupby(part["method"])
        mean, spread = own.mean(), own.std(ddof=1).fillna(0.0)
        names = [str(name) for name, _ in own]
        half = 1.96 * spread / np.sqrt(part["repeat"].nunique())
        at = [places[name] + 0.22 * (number - (len(phis) - 1) / 2) for name in names]
        traces.append(
            styled(f"series_{number % 8 + 1}", type="scatter", mode="markers", x=mean.to_numpy(), y=at,
                   error_x={"type": "data", "array": half.to_numpy(),
                            "arrayminus": np.minimum(half.to_numpy(), mean.to_numpy())},
                   name=f"φ = {phi:g}", customdata=[SHORT[n] for n in names],
                   hovertemplate="%{customdata}<br>%{x:.1f} % of prefixes<extra>φ = " + f"{phi:g}</extra>")
        )  # fmt: skip
    bt, best = float(order.get("bradley-terry", 0.0)), order.index[-1]
    return drawn(
        traces,
        f"Bradley–Terry is unstable at {bt:.0f} % of cuts, {SHORT[best]} at {order.iloc[-1]:.0f} %",
        f"Means over {rows['repeat'].nunique()} worlds at each φ, judged by users who built nothing.",
        xaxis=axis("Prefixes with γ̂ above 1 (%)", rangemode="tozero"),
        yaxis=axis("", tickvals=list(range(len(order))), ticktext=[SHORT[n] for n in order.index], showgrid=False),
        margin={"l": 130},
    )


RUN_METHODS = {"bradley-terry": "series_1", "checkpoints": "series_2", "monotone": "series_3"}


@study.view("Either outcome: the independent re-run", tab="Re-run")
def either_outcome(rerun: Result | None, phi: float) -> Figure:
    """γ̂ in a world shaped as LMArena’s beside what the re-run reports, at the nearest of its three dispersions."""
    axes = {"xaxis": axis("Cut k (models above the line)"), "yaxis": axis("γ̂", rangemode="tozero")}
    rows = rows_of(rerun, "curves")
    if rows is None:
        return drawn([], "The paper and an independent re-run disagree",
                      "Appears when the re-run is repeated: the paper has Bradley–Terry unstable at k = 4 and 5, the "
                      "re-run nowhere.", **axes)  # fmt: skip
    phis = np.array(sorted(rows["phi"].unique()))
    near = float(phis[np.abs(phis - phi).argmin()])
    traces, told = [], []
    for method, role in RUN_METHODS.items():
        own = rows[((rows["phi"] == near) & (rows["method"] == method)).to_numpy()]
        traces += [
            styled(role, type="scatter", mode="lines", x=own["k"], y=own["gamma"], name=f"{SHORT[method]}, here",
                   line={"dash": "solid"}),
            styled(role, type="scatter", mode="markers", x=own["k"], y=own["kept"], name=f"{SHORT[method]}, re-run",
                   marker={"size": 8}),
        ]  # fmt: skip
        told.append((SHORT[method], float(own["gamma"].max()), float(own["kept"].max())))
    over = [name for name, _, kept in told if kept > 1]
    here = [name for name, own, _ in told if own > 1]
    said = "; ".join(f"{name} {own:.2f} here, {kept:.2f} there" for name, own, kept in told)
    return drawn(
        traces,
        f"At φ = {near:g}, above 1 here: {', '.join(here) or 'none'}; in the re-run: {', '.join(over) or 'none'}",
        f"Largest γ̂: {said}. The paper reports violations of Bradley–Terry at k = 4 and 5 on votes that are not here.",
        **axes,
        shapes=[{"type": "line", "name": "dagger", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1}],
    )


@study.view("Guarantee, committee, and the best of all", tab="Guarantee")
def guarantee(guarantees: Result | None, eps: float) -> Figure:
    """γ̂ of Algorithm 1’s committees between the best committee of all and the factor γ(ε)."""
    axes = {"xaxis": axis("Seats k"), "yaxis": axis("γ̂", type="log")}
    factor = theoretical_factor(eps)
    rows = rows_of(guarantees, "committees")
    if rows is None:
        return drawn([], f"Theorem 3.1 promises γ̂ ≤ {factor:.3g} at ε = {eps:g}",
                      "Appears when the guarantees are tested.", **axes)  # fmt: skip
    rng = np.random.default_rng(0)
    traces = []
    for number, slack in enumerate(sorted(rows["eps"].unique())):
        own = rows[(rows["eps"] == slack).to_numpy()]
        x = own["k"].to_numpy() + 0.16 * (number - 1) + rng.uniform(-0.04, 0.04, len(own))
        traces.append(styled(f"series_{number + 1}", type="scatter", mode="markers", x=x,
                             y=np.maximum(own["gamma"], 0.01), name=f"Algorithm 1, ε = {slack:g}",
                             marker={"size": 6, "opacity": 0.7},
                             hovertemplate="γ̂ %{y:.2f}<extra>ε = " + f"{slack:g}</extra>"))  # fmt: skip
    best = rows.groupby(["k", "repeat"])["best"].first().reset_index()
    traces.append(styled("reference", type="scatter", mode="markers", x=best["k"] - 0.32,
                         y=np.maximum(best["best"], 0.01), name="best committee of all"))  # fmt: skip
    sizes = [float(rows["k"].min()) - 0.5, float(rows["k"].max()) + 0.5]
    traces.append(styled("predicted", type="scatter", mode="lines", x=sizes, y=[factor, factor],
                         name=f"γ(ε) at ε = {eps:g}"))  # fmt: skip
    largest = float(rows["gamma"].max())
    return drawn(
        traces,
        f"The largest γ̂ is {largest:.2f}; the guarantee allows {factor / max(largest, 1e-9):.0f} times that",
        f"{len(rows)} committees on 10 models, judged by 2,000 users who chose nothing; values below 0.01 drawn there.",
        xaxis=axis("Seats k", tickvals=sorted(rows["k"].unique())),
        yaxis=axis("γ̂", type="log", range=[-2.1, np.log10(max(factor, 20)) + 0.2]),
    )


@study.view("Questions to a user", tab="Questions")
def questions(budgets: Result | None) -> Figure:
    """How many users answer how many questions, for each algorithm on 20 models, against sorting them all."""
    axes = {"xaxis": axis("Questions to a user"), "yaxis": axis("Users (%)")}
    rows = rows_of(budgets, "histogram")
    if rows is None:
        return drawn([], "How much is asked of a user?", "Appears when the questions are counted.", **axes)
    traces, medians = [], {}
    last = max(float(rows["questions"].max()), SORTED)
    edges = np.linspace(0, last, 41)
    for number, method in enumerate(("committee", "checkpoints", "monotone")):
        own = rows[(rows["algorithm"] == method).to_numpy()]
        counts, _ = np.histogram(own["questions"], edges, weights=own["users"])
        share = 100 * counts / counts.sum()
        order = np.repeat(own["questions"].to_numpy(), np.maximum(1, own["users"] * 10_000 // own["users"].sum()))
        medians[SHORT[method]] = float(np.median(order))
        traces.append(styled(f"series_{number + 1}", type="scatter", mode="lines", x=edges[:-1] + edges[1] / 2, y=share,
                             name=SHORT[method] + (", k = 5" if method == "committee" else ""),
                             line={"shape": "hvh", "dash": "solid"},
                             hovertemplate="%{y:.1f} % of users<extra></extra>"))  # fmt: skip
    return drawn(
        traces,
        "Median questions: " + ", ".join(f"{value:.0f} for {name}" for name, value in medians.items()),
        f"Sorting 20 models takes about {SORTED:.0f} comparisons (dashed). Each comparison of sets counts their sizes.",
        xaxis=axis("Questions to a user", range=[0, last]),
        yaxis=axis("Users (%)", rangemode="tozero"),
        shapes=[{"type": "line", "name": "dagger", "x0": SORTED, "x1": SORTED, "y0": 0, "y1": 1, "yref": "paper"}],
    )


@study.view("What comparisons cannot see", tab="Coalitions")
def coalitions(hidden_pairs: dict[int, tuple[WeightedProfile, WeightedProfile]]) -> pd.DataFrame:
    """Pairs of profiles that no comparisons of k models tell apart, though one shuts a solid coalition out."""
    rows = []
    for k, (unfair, fair) in hidden_pairs.items():
        first, second = (comparison_law(one, k) for one in (unfair, fair))
        rows.append({
            "k": k,
            "models": k + 1,
            "differ on sets of k": int(np.abs(first - second).sum()),
            "differ on all models": int(np.abs(unfair.counts - fair.counts).sum()),
            "coalition over its quota": round(solid_shortfall(unfair, np.arange(k)), 3),
            "the same in the twin": round(solid_shortfall(fair, np.arange(k)), 3),
        })  # fmt: skip
    table = pd.DataFrame(rows)
    table.attrs["title"] = "Two profiles, the same comparisons of k, and only one is proportional"
    table.attrs["subtitle"] = (
        "Committee x1 … xk, and a coalition solid for y: from 1 of its quota on it is owed a seat. Counts are of users."
    )
    return table
