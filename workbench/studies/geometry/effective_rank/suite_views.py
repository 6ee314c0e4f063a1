"""What is seen of the suite: rank beside loss, what is left when training choices are held fixed, and over training."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from assay.geometry import effective_rank, measure_matrix, singular_values
from assay.models import KeptSuite
from assay.statistics import rank_residuals
from workbench.sources import Source
from workbench.studies.geometry.effective_rank.controls import (
    FACTORS,
    METRICS,
    OUTCOMES,
    OwnMatrix,
    held_columns,
    read_matrix,
    study,
)
from workbench.study import Result
from workbench.theme import Figure, axis, drawn, styled


def measures_of(matrix: OwnMatrix) -> dict[str, float]:
    """The metrics of a matrix that the suite has too; ranks in percent of d."""
    found = measure_matrix(matrix.weight)
    raw = found.spectra["raw"]
    percent = 100 / min(found.rows, found.columns)
    measures = {
        "effective rank": percent * raw.effective_rank,
        "variance effective rank": percent * raw.variance_effective_rank,
        "participation ratio": percent * raw.participation_ratio,
        "stable rank": percent * raw.stable_rank,
        "isotropy": found.partition.both,
    }
    more = {"average cosine": found.average_cosine, "isoscore": found.isoscore}
    return measures | {name: value for name, value in more.items() if value is not None}


@study.prepared
def own_measures(matrix: OwnMatrix, second: OwnMatrix | None) -> dict[str, dict[str, float]]:
    """By name, metrics of the checkpoint and of the one beside it."""
    found = {matrix.name: measures_of(matrix)}
    if second is not None:
        name = second.name if second.name != matrix.name else f"{second.name} (beside)"
        found[name] = measures_of(second)
    return found


def own_marks(measures: dict[str, dict[str, float]], metric: str) -> dict[str, Any]:
    """A vertical line at each checkpoint's value, with its name; nothing where it has none."""
    shapes, notes = [], []
    for i, (name, found) in enumerate(measures.items()):
        if metric not in found:
            continue
        x = found[metric]
        shapes.append({"type": "line", "name": "" if i else "yours", "x0": x, "x1": x, "y0": 0, "y1": 1,
                       "yref": "paper"})  # fmt: skip
        notes.append({"text": f"{name} {x:.3g}", "x": x, "y": 1 - 0.08 * i, "yref": "paper", "showarrow": False,
                      "xanchor": "right", "yanchor": "top", "xshift": -4})  # fmt: skip
    return {"shapes": shapes, "annotations": notes}


SHORT_FACTORS = {"batch": "Batch", "weight_decay": "Decay", "rate": "Rate × 10³", "final_share": "Last"}
SHORT = {
    "effective rank": "R(W)", "variance effective rank": "R₂(W)", "participation ratio": "PR(W)",
    "stable rank": "stable", "average cosine": "cosine", "isotropy": "I(W)", "isoscore": "IsoScore",
    "effective rank of H": "R(H)", "average cosine of H": "cosine H", "isoscore of H": "IsoScore H",
    "loss prose": "prose", "loss code": "code", "loss gptq 2": "GPTQ", "loss code tuned": "tuned",
}  # fmt: skip


def level(value: float) -> str:
    return f"{value:g}"


@study.view("Rank and loss over the suite", tab="Suite")
def cloud(
    shown_grid: pd.DataFrame, own_measures: dict[str, dict[str, float]], metric: str, outcome: str, colour: str
) -> Figure:
    """Every run of the grid, coloured by a training choice; a line goes through all, dashed ones through each size."""
    grid = shown_grid
    x, y = grid[metric].to_numpy(float), grid[outcome].to_numpy(float)
    traces = []
    for i, (value, part) in enumerate(grid.groupby(colour)):
        traces.append(styled(f"series_{i + 1}", type="scatter", mode="markers", x=part[metric], y=part[outcome],
                             name=f"{FACTORS[colour].partition(' (')[0].lower()} {level(float(value))}",
                             customdata=part["size"],
                             hovertemplate="%{x:.3g}, %{y:.3f} nats<br>%{customdata}<extra></extra>"))  # fmt: skip
    slopes = []
    for i, (_, part) in enumerate(grid.groupby("size")):
        own_x, own_y = part[metric].to_numpy(float), part[outcome].to_numpy(float)
        slope, start = np.polyfit(own_x, own_y, 1)
        slopes.append(slope)
        ends = np.array([own_x.min(), own_x.max()])
        traces.append(styled("reference", type="scatter", mode="lines", x=ends, y=start + slope * ends,
                             name="within a size", showlegend=i == 0, legendgroup="size", hoverinfo="skip",
                             line={"dash": "dash", "width": 1}))  # fmt: skip
    slope, start = np.polyfit(x, y, 1)
    ends = np.array([x.min(), x.max()])
    traces.append(styled("predicted", type="scatter", mode="lines", x=ends, y=start + slope * ends, name="all runs",
                         hoverinfo="skip"))  # fmt: skip
    rho = rank_correlation(grid, metric, outcome)
    where = "over all runs" if len(slopes) > 1 else "in this size"
    steeper = sum(np.sign(s) == np.sign(slope) for s in slopes)
    return drawn(
        traces,
        f"{METRICS[metric].removesuffix(', % of d')} and {lower(OUTCOMES[outcome])}: ρ = {signed(rho)} {where}",
        f"{len(grid)} runs; in {steeper} of {len(slopes)} sizes the slope has the sign of the whole."
        if len(slopes) > 1
        else f"{len(grid)} runs of one size, {grid['size'].iloc[0]}.",
        xaxis=axis(METRICS[metric]),
        yaxis=axis(f"{OUTCOMES[outcome]} (nats)"),
        **own_marks(own_measures, metric),
    )


def rank_correlation(grid: pd.DataFrame, one: str, other: str) -> float:
    """Spearman's."""
    return float(grid[[one, other]].corr(method="spearman").iloc[0, 1])


def lower(words: str) -> str:
    return words[0].lower() + words[1:]


def signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


@study.view("With training choices held fixed", tab="Residuals")
def residuals(shown_grid: pd.DataFrame, metric: str, outcome: str, held: str, colour: str) -> Figure:
    """Ranks of metric and loss, less what the held columns explain of them."""
    grid = shown_grid
    fixed = held_columns(grid, held)
    if len(set(grid["size"])) == 1:
        fixed.pop("size", None)
    x, y = rank_residuals([grid[metric], grid[outcome]], fixed)
    raw = rank_correlation(grid, metric, outcome)
    rho = float((x @ y) / np.sqrt((x @ x) * (y @ y)))
    values = grid[colour].to_numpy(float)
    traces = [
        styled(f"series_{i + 1}", type="scatter", mode="markers", x=x[values == value], y=y[values == value],
               name=f"{FACTORS[colour].partition(' (')[0].lower()} {level(value)}",
               customdata=grid["size"][values == value],
               hovertemplate="%{x:.1f}, %{y:.1f}<br>%{customdata}<extra></extra>")
        for i, value in enumerate(np.unique(values))
    ]  # fmt: skip
    slope = float((x @ y) / (x @ x))
    ends = np.array([x.min(), x.max()])
    traces.append(styled("predicted", type="scatter", mode="lines", x=ends, y=slope * ends, name="what is left",
                         hoverinfo="skip"))  # fmt: skip
    what = {"all": "size and training choices", "size": "size", "none": "nothing"}[held]
    return drawn(
        traces,
        f"Holding {what} fixed, ρ goes from {signed(raw)} to {signed(rho)}",
        "Residuals of ranks; “Control for training choices” tests them, permuting whole configurations.",
        xaxis=axis(f"Rank of {METRICS[metric].removesuffix(', % of d')}, residual"),
        yaxis=axis(f"Rank of {lower(OUTCOMES[outcome])}, residual"),
    )


@study.view("What training choices do", tab="Factors")
def factors(shown_grid: pd.DataFrame, metric: str, outcome: str) -> Figure:
    """Mean of metric and loss at every level of each training choice, by size; in the grid nothing else differs."""
    grid = shown_grid
    sizes = sorted(grid["size"].unique(), key=lambda s: [int(n) for n in re.findall(r"\d+", s)])
    traces, layout = [], {}
    width = 1 / len(FACTORS)
    for column, (factor, words) in enumerate(SHORT_FACTORS.items()):
        means = grid.groupby(["size", factor])[list(dict.fromkeys((metric, outcome)))].mean()
        levels = [level(1000 * v if factor == "rate" else v) for v in sorted(grid[factor].unique())]
        for row, quantity in enumerate((metric, outcome)):
            number = 2 * column + row + 1
            place = "" if number == 1 else str(number)
            for depth, own in enumerate((sizes[::2], sizes[1::2])):
                # One trace for several sizes, with gaps between them: few traces draw fast.
                y = [v for size in own for v in (*means.loc[size, quantity], None)]
                traces.append(
                    styled(
                        f"series_{depth + 1}",
                        type="scatter",
                        mode="lines+markers",
                        xaxis=f"x{place}",
                        yaxis=f"y{place}",
                        x=[*levels, None] * len(own),
                        y=y,
                        customdata=[size for size in own for _ in (*levels, None)],
                        name=own[0].partition(", ")[2] if own else "",
                        legendgroup=str(depth),
                        showlegend=number == 1,
                        hovertemplate="%{customdata}: %{y:.3g}<extra></extra>",
                    )
                )
            domain = [column * width + 0.015, (column + 1) * width - 0.015]
            layout[f"xaxis{place}"] = axis(words if row else "", domain=domain, anchor=f"y{place}", type="category")
            title = (METRICS[metric], "Loss (nats)")[row] if column == 0 else ""
            shared = {} if column == 0 else {"matches": "y" if row == 0 else "y2", "showticklabels": False}
            layout[f"yaxis{place}"] = axis(
                title, domain=[0.55, 1] if row == 0 else [0, 0.43], anchor=f"x{place}", **shared
            )  # fmt: skip
    return drawn(
        traces,
        factor_title(grid, metric, outcome),
        f"A line for each size, means over its {len(grid) // max(1, len(sizes))} configurations; hover names the size.",
        **layout,
    )


def factor_title(grid: pd.DataFrame, metric: str, outcome: str) -> str:
    """Which choice moves each most."""

    def spread(quantity: str, factor: str) -> float:
        means = grid.groupby(factor)[quantity].mean()
        return float(means.max() - means.min())

    words = {"batch": "batch", "weight_decay": "weight decay", "rate": "the learning rate", "final_share": "annealing"}
    most = [max(FACTORS, key=lambda f, q=quantity: spread(q, f)) for quantity in (metric, outcome)]
    name = METRICS[metric].removesuffix(", % of d")
    if most[0] == most[1]:
        return f"{words[most[0]].capitalize()} moves both {name} and {lower(OUTCOMES[outcome])} most"
    return f"{words[most[0]].capitalize()} moves {name} most, {words[most[1]]} moves {lower(OUTCOMES[outcome])} most"


@study.view("Do the metrics agree?", tab="Agreement")
def agreement(shown_grid: pd.DataFrame) -> Figure:
    """Spearman’s correlation of every metric with every other, and with losses."""
    grid = shown_grid
    names = METRICS | OUTCOMES
    values = grid[list(names)].corr(method="spearman").to_numpy()
    words = [SHORT[name] for name in names]
    inner = values[: len(METRICS), : len(METRICS)][np.triu_indices(len(METRICS), 1)]
    trace = {
        "type": "heatmap", "x": words, "y": words, "z": values, "zmin": -1, "zmax": 1, "coloraxis": "coloraxis",
        "hovertemplate": "%{y} and %{x}<br>ρ = %{z:.2f}<extra></extra>",
    }  # fmt: skip
    return drawn(
        [trace],
        f"In half of the pairs of metrics ρ is beyond ±{float(np.median(np.abs(inner))):.2f}",
        f"Spearman’s ρ over {len(grid)} runs, metrics and then losses; nothing is held fixed.",
        xaxis=axis("", tickangle=-90, dtick=1),
        yaxis=axis("", autorange="reversed", dtick=1),
        coloraxis={"cmin": -1, "cmax": 1, "colorscale": [[0, "#8c3a0c"], [0.25, "#e59b6c"], [0.5, "#f3f5f4"],
                                                         [0.75, "#7dbfb2"], [1, "#0a5c4d"]],
                   "colorbar": {"title": {"text": "ρ"}, "thickness": 12}},
        margin={"l": 84, "b": 84},
    )  # fmt: skip


@study.prepared
def own_steps(steps_folder: Source | None) -> tuple[tuple[float, float], ...]:
    """Step and effective rank of every checkpoint in a folder of the user's.

    Raises:
        ValueError: no part of it has a number in its name, or one cannot be read.
    """
    if steps_folder is None or steps_folder.path is None:
        return ()
    found = []
    for place in sorted(steps_folder.path.iterdir(), key=lambda p: p.name):
        number = re.search(r"(\d+)", place.name)
        if number is None or place.name.startswith("."):
            continue
        s = singular_values(read_matrix(source_at(place), "").weight)
        found.append((float(number.group(1)), 100 * float(effective_rank(s)) / len(s)))
    if not found:
        raise ValueError(
            f"steps_folder: {steps_folder.name} holds nothing with a number in its name, such as step1000."
        )
    return tuple(sorted(found))


def source_at(place: Path) -> Source:
    return Source("", place.name, "", place)


@study.view("Over training", tab="Training")
def training(
    suite: KeptSuite, own_steps: tuple[tuple[float, float], ...], analyse: Result | None, retrain: Result | None
) -> Figure:
    """Rank and loss of the long runs, of models trained here, and rank of your checkpoints, over steps."""
    traces = []
    for kind, role in ((False, "series_1"), (True, "series_2")):
        name = "parallel blocks" if kind else "blocks in sequence"
        x: list[float | None] = []
        loss: list[float | None] = []
        rank: list[float | None] = []
        for row, step, losses, ranks in zip(suite.rows, suite.step, suite.loss, suite.rank, strict=True):
            if row["kind"] == "long" and row["parallel"] is kind:
                x += [*step, None]
                loss += [*losses, None]
                rank += [*(100 * ranks / row["width"]), None]
        if x:
            traces += [
                styled(role, type="scatter", mode="lines", x=x, y=rank, name=name, legendgroup=role,
                       hovertemplate="R %{y:.1f} %<extra></extra>"),
                styled(role, type="scatter", mode="lines", x=x, y=loss, name=name, legendgroup=role, showlegend=False,
                       yaxis="y2", hovertemplate="loss %{y:.3f}<extra></extra>"),
            ]  # fmt: skip
    if analyse is not None and len(analyse.tables["long"]):
        traces += turns_of(suite, analyse["long"])
    if retrain is not None and len(retrain.tables["log"]):
        log = retrain["log"]
        for axis_name, column in (("y", "rank"), ("y2", "loss")):
            x_all, y_all = [], []
            for _, part in log.groupby("run", sort=False):
                x_all += [*part["step"], None]
                y_all += [*part[column], None]
            traces.append(styled("yours", type="scatter", mode="lines", x=x_all, y=y_all, yaxis=axis_name,
                                 name="trained here", legendgroup="here", showlegend=column == "rank"))  # fmt: skip
    if own_steps:
        steps, ranks = zip(*own_steps, strict=True)
        traces.append(styled("yours", type="scatter", mode="lines+markers", x=steps, y=ranks, name="your checkpoints",
                             hovertemplate="step %{x}<br>R %{y:.1f} %<extra></extra>"))  # fmt: skip
    return drawn(
        traces,
        training_title(analyse),
        "Held-out loss below, effective rank above. Long runs see their text many times."
        + ("" if analyse is None else " Marks are filled where the loss rises late."),
        xaxis=axis("Step", anchor="y2"),
        yaxis=axis("R(W) (% of d)", domain=[0.54, 1]),
        yaxis2=axis("Loss (nats)", domain=[0, 0.46]),
    )


def turns_of(suite: KeptSuite, long: pd.DataFrame) -> list[dict[str, Any]]:
    """Where each long run's rank falls most, and where its loss is lowest; those whose loss rises late are filled."""
    runs = [
        (step, losses, 100 * ranks / row["width"])
        for row, step, losses, ranks in zip(suite.rows, suite.step, suite.loss, suite.rank, strict=True)
        if row["kind"] == "long"
    ]
    marks: dict[str, list[tuple[float, float, str, bool]]] = {"y": [], "y2": []}
    for (step, losses, ranks), found in zip(runs, long.itertuples(), strict=True):
        lag = f"{found.lag:+,.0f} steps [{found.lag_low:+,.0f}, {found.lag_high:+,.0f}]".replace("-", "−")
        for place, at, values in (("y", found.drop_step, ranks), ("y2", found.best_step, losses)):
            marks[place].append((at, float(np.interp(at, step, values)), f"{found.run}<br>{lag}", found.degraded))
    names = {"y": "steepest fall of the rank", "y2": "lowest loss"}
    said = {"y": "R falls most here", "y2": "loss is lowest here"}
    return [
        styled("printed", type="scatter", mode="markers", x=[m[0] for m in own], y=[m[1] for m in own], yaxis=place,
               name=names[place], customdata=[m[2] for m in own],
               marker={"size": 9, "symbol": [("diamond" if m[3] else "diamond-open") if place == "y2" else
                                             ("triangle-down" if m[3] else "triangle-down-open") for m in own]},
               hovertemplate=said[place] + "<br>%{customdata} from lowest loss to fall<extra></extra>")
        for place, own in marks.items()
    ]  # fmt: skip


def training_title(analyse: Result | None) -> str:
    """Which long runs degrade, and whether they are those of low rank."""
    if analyse is None or not len(analyse.tables["long"]):
        return "Rank and loss over training"
    rows = analyse["long"]
    low, worse = rows["low"], rows["degraded"]
    found = f"{int(worse.sum())} of {len(rows)} long runs degrade late"
    return (
        f"{found}; {int((low & ~worse).sum())} of low rank do not"
        if len(rows[low])
        else f"{found}; none has a low rank"
    )


@study.view("Raw and partial correlation", tab="Statistics")
def statistics(analyse: Result | None, held: str) -> pd.DataFrame | str:
    """Every metric with every outcome: raw, with training choices held fixed, and what it adds to a prediction."""
    if analyse is None or not len(analyse.tables["metrics"]):
        return "Appears when training choices are controlled for: partial correlations and incremental R²."
    rows = analyse["metrics"]
    rows = rows[rows["metric"].isin(list(METRICS))]
    found = pd.DataFrame({
        "metric": [SHORT[m] for m in rows["metric"]],
        "loss": [SHORT[o] for o in rows["outcome"]],
        "raw ρ": rows["raw"].round(3).to_numpy(),
        "partial ρ": rows["partial"].round(3).to_numpy(),
        "95 %": [f"{a:.2f} to {b:.2f}".replace("-", "−") for a, b in zip(rows["partial_low"], rows["partial_high"],
                                                                        strict=True)],
        "p": rows["p"].round(4).to_numpy(),
        "ΔR²": rows["gain"].round(4).to_numpy(),
        "95 % of ΔR²": [f"{a:.3f} to {b:.3f}".replace("-", "−") for a, b in zip(rows["gain_low"], rows["gain_high"],
                                                                               strict=True)],
    })  # fmt: skip
    own = rows[(rows["metric"] == "effective rank") & (rows["outcome"] == "loss prose")].iloc[0]
    found.attrs["title"] = f"R(W) and loss: ρ = {signed(own['raw'])} raw, {signed(own['partial'])} partial"
    fixed = {"all": "size and training choices", "size": "size alone", "none": "nothing"}[held]
    found.attrs["subtitle"] = f"Held fixed: {fixed}. Intervals over {own['configurations']} configurations."
    return found


@study.view("What changing the rank does", tab="Interventions")
def intervened(interventions: Result | None, penalised: Result | None) -> Figure:
    """Loss over effective rank, under gauge moves, cuts and reshaped spectra of one model, and after a penalty."""
    axes: dict[str, Any] = {"xaxis": axis("Effective rank R(W)", type="log"), "yaxis": axis("Loss (nats)")}
    if interventions is None or not len(interventions.tables["points"]):
        return drawn([], "What changing the rank does", "Appears when the rank is changed by hand.", **axes)
    points = interventions["points"]
    words = {"gauge": "gauge move", "cut": "cut to k directions", "reshaped": "s to the power γ"}
    traces = []
    for role, change in (("yours", "gauge"), ("series_2", "cut"), ("series_3", "reshaped")):
        part = points[points["change"] == change].sort_values("rank")
        traces.append(styled(role, type="scatter", mode="lines+markers", x=part["rank"], y=part["loss"],
                             name=words[change], customdata=part["value"],
                             hovertemplate="R %{x:.3g}, loss %{y:.4f}<br>at %{customdata:.3g}"
                                           "<extra></extra>"))  # fmt: skip
    gauge = points[points["change"] == "gauge"]
    said = "The model that comes along; only gauge moves leave its function as it is."
    if penalised is not None and len(penalised.tables["runs"]):
        means = penalised["runs"].groupby("penalised")[["rank", "loss"]].mean()
        if len(means) == 2:
            said += (
                f" A penalty in training took R from {means.loc[False, 'rank']:.0f} to {means.loc[True, 'rank']:.0f} %"
                f" of d, and loss from {means.loc[False, 'loss']:.3f} to {means.loc[True, 'loss']:.3f}."
            )
    return drawn(
        traces,
        f"R goes from {gauge['rank'].max():.3g} to {gauge['rank'].min():.3g} at one loss",
        said,
        **axes,
    )


@study.view("Kept and trained again", tab="Checked")
def checked(retrain: Result | None) -> pd.DataFrame | str:
    """Models that were trained here beside the kept rows of the same recipe."""
    if retrain is None or not len(retrain.tables["runs"]):
        return "Appears when models are trained again: their loss and rank beside the kept ones."
    rows = retrain["runs"]
    found = rows[["run", "tokens", "rank", "kept_rank", "loss", "kept_loss"]].round(4)
    compared = rows[rows["kept_loss"] > 0]
    apart = float((compared["loss"] - compared["kept_loss"]).abs().max()) if len(compared) else 0.0
    found.attrs["title"] = (
        f"Kept and new losses differ by at most {apart:.1g} nats".replace("-", "−")
        if len(compared)
        else "Another budget than the kept runs’: nothing to compare"
    )
    found.attrs["subtitle"] = "Loss and rank as logged in training; other versions of text or libraries change both."
    return found


@study.view("Can the statistics tell?", tab="Validation")
def validation(validate: Result | None) -> Figure:
    """Raw and partial correlation on tables where rank is a cause of loss, and where it only shares its causes."""
    axes: dict[str, Any] = {"xaxis": axis("Raw ρ"), "yaxis": axis("Partial ρ")}
    if validate is None or not len(validate.tables["tables"]):
        return drawn([], "Can the statistics tell a cause?", "Appears when the statistics are validated.", **axes)
    rows = validate["tables"]
    traces = [
        styled(role, type="scatter", mode="markers", x=part["raw"], y=part["partial"], name=name, customdata=part["p"],
               hovertemplate="raw %{x:.2f}, partial %{y:.2f}<br>p = %{customdata:.3f}<extra></extra>")
        for role, world, name in (("reference", "common cause", "only common causes"),
                                  ("yours", "cause", "rank lowers loss"))
        for part in [rows[rows["world"] == world]]
    ]  # fmt: skip
    share = {}
    for world in ("cause", "common cause"):
        p = rows["p"].to_numpy(float)[rows["world"].to_numpy() == world]
        share[world] = 100 * float((p <= 0.05).mean()) if len(p) else 0.0
    return drawn(
        traces,
        f"A cause is found in {share['cause']:.0f} % of tables, imagined in {share['common cause']:.0f} %",
        f"{len(rows)} tables of 108 synthetic runs; both worlds have the same raw correlation on average.",
        **axes,
    )


@study.picture
def picture(grid: pd.DataFrame) -> str:
    """Rank and loss of every run, the largest size in cobalt."""
    x, y = grid["effective rank"].to_numpy(float), grid["loss prose"].to_numpy(float)
    low, high = float(y.min()), float(y.max())
    largest = (grid["width"] == grid["width"].max()).to_numpy()
    dots = "".join(
        f'<circle cx="{20 + 260 * (a - x.min()) / (x.max() - x.min()):.1f}" '
        f'cy="{14 + 84 * (high - b) / (high - low):.1f}" r="3" '
        f'fill="var({"--as-accent, #2a4bd0" if big else "--as-ref-soft, #ccd3d3"})"/>'
        for a, b, big in zip(x, y, largest, strict=True)
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 112">{dots}</svg>\n'
