"""Who the users are: a map of them, how each faction fares, and where their preferences are from."""

from __future__ import annotations

import numpy as np
import pandas as pd

from assay.decisions import Battles, bradley_terry, wins_of
from workbench.studies.decisions.pluralistic_leaderboards.board_views import TOO_LONG, Line
from workbench.studies.decisions.pluralistic_leaderboards.controls import Crowd, study
from workbench.studies.decisions.pluralistic_leaderboards.drawing import colour_groups, percent, short, whose
from workbench.study import Stat
from workbench.theme import Figure, axis, drawn, styled

SHOWN = 800  # users on the map
KINDS = {
    "made": "Made-up users: nobody cast these ballots.",
    "arena": "Users around aggregates of LMArena’s categories: the aggregates are real, the users are not.",
    "battles": "From battles.",
    "ballots": "Ballots that were cast, one a user.",
}


@study.prepared
def layout_of_users(crowd: Crowd) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some judges, their place on the two first principal components of positions, and the share these explain."""
    count = len(crowd.judges)
    rows = np.linspace(0, count - 1, min(count, SHOWN)).astype(int)
    x = crowd.judges.positions.astype(np.float32)
    x = x - x.mean(0)
    values, vectors = np.linalg.eigh(x.T @ x / count)
    share = values[::-1][:2] / max(float(values.sum()), 1e-12)
    return rows, x[rows] @ vectors[:, ::-1][:, :2], share


@study.view("A map of the users", tab="Map")
def user_map(layout_of_users: tuple[np.ndarray, np.ndarray, np.ndarray], line: Line | None, crowd: Crowd) -> Figure:
    """Users near each other rank alike; a larger mark goes further down its ballot for a model above the line."""
    axes = {"xaxis": axis("First component of positions (places)"), "yaxis": axis("Second component (places)")}
    if line is None:
        return drawn([], TOO_LONG.format(models=crowd.m), "", **axes)
    rows, place, share = layout_of_users
    traces = []
    for number, (name, own) in enumerate(colour_groups(crowd.judges)):
        inside = np.flatnonzero(own[rows])
        if not len(inside):
            continue
        rank = line.rank[rows[inside]]
        traces.append(
            styled(f"series_{number + 1}", type="scatter", mode="markers", x=place[inside, 0], y=place[inside, 1],
                   name=name, customdata=rank,
                   marker={"size": (4 + 12 * (rank - 1) / crowd.m).round(1), "opacity": 0.6},
                   hovertemplate="best above the line: her no. %{customdata}<extra>" + name + "</extra>")
        )  # fmt: skip
    swapping = np.flatnonzero(line.swaps[rows])
    if len(swapping):
        traces.append(
            styled("yours", type="scatter", mode="markers", x=place[swapping, 0], y=place[swapping, 1],
                   name=f"would swap all above for {short(crowd.judges.models[line.blocker], 18)}", hoverinfo="skip",
                   marker={"size": 11, "symbol": "circle-open", "line": {"width": 1.5}})
        )  # fmt: skip
    mean = float(line.rank.mean())
    return drawn(
        traces,
        f"The best above the line is a user’s no. {mean:.1f} on average, out of {crowd.m}",
        f"{len(rows):,} of {whose(crowd.judges)}; the components hold {percent(float(share.sum()))} of the variance.",
        **axes,
    )


@study.view("How each faction fares", tab="Factions")
def faction_table(line: Line | None, crowd: Crowd) -> pd.DataFrame | str:
    """Users of each faction: where their best model above the line stands for them, and who would swap."""
    if line is None:
        return TOO_LONG.format(models=crowd.m) + "."
    ballots = crowd.judges
    favourite = np.isin(ballots.orders[:, 0], line.above)
    rows = []
    for g in np.argsort(-np.bincount(ballots.faction, minlength=len(ballots.factions)), kind="stable"):
        own = ballots.faction == g
        if own.any():
            rows.append({
                "faction": ballots.factions[g],
                "users (%)": round(100 * float(own.mean()), 1),
                "no. of best above": round(float(line.rank[own].mean()), 2),
                "favourite above (%)": round(100 * float(favourite[own].mean()), 1),
                "would swap (%)": round(100 * float(line.swaps[own].mean()), 1),
            })  # fmt: skip
    found = pd.DataFrame(rows)
    worst = max(rows, key=lambda row: row["no. of best above"])
    found.attrs["title"] = (
        f"{worst['faction']} fares worst: its best above the line is no. {worst['no. of best above']:.1f}"
        if len(rows) > 1
        else f"The best above the line is a user’s no. {rows[0]['no. of best above']:.1f}"
    )
    kind = "Groups that were found by their ballots" if crowd.found else "Factions"
    found.attrs["subtitle"] = (
        f"{kind}; the last column is for {ballots.models[line.blocker]}. {whose(ballots).capitalize()}, "
        f"line below the first {line.k}."
    )
    return found


@study.view("Whose preferences these are", tab="Source")
def source(crowd: Crowd, file: object) -> str:
    """Where the users are from, what was dropped or broken, and what may not be concluded."""
    both = crowd.judges
    lines = [f"**{KINDS[crowd.kind]}** {len(crowd.builders):,} build leaderboards, {len(both):,} others judge them; "
             f"{crowd.m} models."]  # fmt: skip
    lines += [f"- {note}" for note in both.notes]
    if crowd.kind == "battles" and both.simulated:
        lines.append(
            "- Arenas ask each user for a few comparisons, which leave her order open: these are *simulated users*; "
            "what they say of real ones rests on the categories."
        )
    if not both.complete:
        lines.append("- Models that a user does not rank are tied for her: she is counted for none of them.")
    if crowd.found:
        lines.append("- No factions are given: groups were looked for among the ballots (k-means of positions).")
    if isinstance(file, Battles):
        lines.append("- Bradley–Terry’s leaderboard here is fitted to the battles themselves.")
    if len(both) < 200:
        lines.append(f"- {len(both)} judges are few: γ̂ is a maximum over models and lies too high. Look at the band.")
    return "\n".join(lines)


@study.view("Bradley–Terry’s strengths", tab="Strengths")
def strengths(file: object, crowd: Crowd, ties: str, even: bool) -> Figure | list[Stat]:
    """Strengths with 95 % intervals, of battles; mean places, of ballots."""
    names = np.array(crowd.judges.models)
    if isinstance(file, Battles):
        found = bradley_terry(wins_of(file, ties=ties, even=even), 1e-6)
        order = np.argsort(found.theta)
        values, half, unit = found.theta[order], 1.96 * found.se[order], "Strength θ (logits)"
        labels, over = np.array(file.models)[order], f"{len(file):,} battles"
        gap = float(values[-1] - values[-2])
        title = (
            f"{short(labels[-1])} leads by {gap:.2f} logits: it wins {100 / (1 + np.exp(-gap)):.0f} % against the next"
        )
        said = "battles"
    else:
        positions = crowd.judges.positions + 1.0
        mean, spread = positions.mean(0), positions.std(0) / np.sqrt(len(positions))
        order = np.argsort(-mean)
        values, half, unit = mean[order], 1.96 * spread[order], "Mean place on a ballot (1 is best)"
        labels, over = names[order], whose(crowd.judges)
        title = f"{short(labels[-1])} has the best mean place, {values[-1]:.1f} of {crowd.m}"
        said = "whole ballots, where Bradley–Terry’s order is that of mean places"
    if len(labels) > 40:
        values, half, labels = values[-40:], half[-40:], labels[-40:]
    at = np.arange(len(labels))
    trace = styled("reference", type="scatter", mode="markers", x=values, y=at, showlegend=False,
                   error_x={"type": "data", "array": half}, marker={"size": 8, "opacity": 1},
                   customdata=labels, hovertemplate="%{customdata}<br>%{x:.2f}<extra></extra>")  # fmt: skip
    return drawn(
        [trace],
        title,
        f"95 % intervals over {over}: {said}.",
        xaxis=axis(unit, autorange=True if isinstance(file, Battles) else "reversed"),
        yaxis=axis("", tickvals=list(at), ticktext=[short(str(name)) for name in labels], showgrid=False),
        margin={"l": 170},
    )
