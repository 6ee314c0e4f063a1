"""A tile before and after: its error, the spreads of rows and columns, iteration by iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from assay.efficient import Recipe, matrix_imbalance
from workbench.studies.efficient.sinq.controls import Curve, Pair, Tile, short, study
from workbench.studies.efficient.sinq.subject import Subject
from workbench.study import Stat
from workbench.theme import Figure, axis, drawn, styled

BANDS = 48  # rows of a map: taller tiles are drawn as means of neighbouring rows


def bands(values: np.ndarray) -> np.ndarray:
    """Root mean squares over neighbouring rows."""
    parts = np.array_split(np.square(values), min(BANDS, len(values)))
    return np.sqrt(np.stack([part.mean(0) for part in parts]))


def errors_of(tile: Tile, made: torch.Tensor, weigh: str) -> np.ndarray:
    """(h, g) absolute error, in per cent of the tile's root mean square, weighted where that is set and known."""
    off, whole = (made - tile.weight).abs(), tile.weight
    if weigh == "output" and tile.strength is not None:
        off, whole = off * tile.strength, whole * tile.strength
    size = float(whole.square().mean().sqrt())
    return (100 * off / (size if size > 0 else 1.0)).double().numpy()


def where(tile: Tile, layer: str) -> str:
    """The tile, in words."""
    height, width = tile.weight.shape
    return f"{short(layer)}, columns {tile.column} to {tile.column + width - 1} of {height} rows"


def whose_error(weigh: str, tile: Tile) -> str:
    if weigh == "weight":
        return "error of weights"
    return "error weighted by activations" if tile.strength is not None else "error of weights (activations take a run)"


@study.view(
    "Where the error is, before and after",
    equation=r"\hat W = s_1 \odot (q - z) \odot s_2, \quad s_2 = \mu_1",
    tab="Before and after",
)
def before_and_after(
    shown_tile: Tile, quantised_tile: Pair, layer: str, iterations: int, weigh: str, recipe: Recipe
) -> Figure:
    """|error| of every weight of a tile under round-to-nearest and under SINQ; beside it the spreads they come from."""
    tile, pair = shown_tile, quantised_tile
    maps = [errors_of(tile, made, weigh) for made in (pair.plain, pair.dual)]
    top = float(np.quantile(np.concatenate(maps), 0.995)) or 1.0
    plain = tile.weight.double()
    scaled = plain if pair.gated else plain / pair.scales.columns.double()[0] / pair.scales.rows.double()
    columns = tile.column + np.arange(tile.weight.shape[1])
    traces: list[dict[str, Any]] = []
    spreads = []
    for number, (values, shown, role) in enumerate(zip(maps, (plain, scaled), ("reference", "yours"), strict=True)):
        rows = np.linspace(0, len(values) - 1, min(BANDS, len(values)))
        suffix = ("", "2")[number]
        of_columns, of_rows = shown.std(0).numpy(), shown.std(1).numpy()
        spread = float(max(of_columns.max(), of_rows.max()) / max(min(of_columns.min(), of_rows.min()), 1e-12))
        spreads.append(spread)
        least = max(float(min(of_columns.min(), of_rows.min())), 1e-12)
        name = ("round to nearest", f"SINQ, {iterations} iterations")[number]
        traces += [
            {"type": "heatmap", "x": columns, "y": rows, "z": bands(values), "zmin": 0, "zmax": top,
             "coloraxis": "coloraxis", "xaxis": f"x{suffix}", "yaxis": "y", "showlegend": False,
             "hovertemplate": "column %{x}, row %{y:.0f}<br>error %{z:.1f} %<extra>" + name + "</extra>"},
            styled(role, type="scatter", mode="lines", x=columns, y=of_columns / least, xaxis=f"x{suffix}", yaxis="y2",
                   name="spread of columns", showlegend=False, line={"shape": "hvh", "width": 1.5},
                   hovertemplate="column %{x}: %{y:.2f} × the least<extra></extra>"),
            styled(role, type="scatter", mode="lines", x=bands(of_rows[:, None])[:, 0] / least, y=rows,
                   xaxis=f"x{3 + number}", yaxis="y", name="spread of rows", showlegend=False, line={"width": 1.5},
                   hovertemplate="row %{y:.0f}: %{x:.2f} × the least<extra></extra>"),
        ]  # fmt: skip
    totals = [float(np.square(m).sum()) for m in maps]
    change = 100 * (totals[1] / max(totals[0], 1e-30) - 1)
    widest = max(spreads) * 1.1
    margin = {"showgrid": False, "zeroline": False}
    bare = {"showticklabels": False, "ticks": "", "showline": False}
    labels = [
        {"text": text, "xref": "paper", "yref": "paper", "x": x, "y": 1.0, "xanchor": "left", "yanchor": "bottom",
         "yshift": 4}
        for text, x in ((f"Round to nearest: imbalance {spreads[0]:.3g}", 0.0),
                        (f"SINQ, {iterations} iterations: imbalance {spreads[1]:.3g}", 0.53))
    ]  # fmt: skip
    if pair.gated:
        title = "The kurtosis gate rounds this layer to nearest: both are the same"
    elif abs(change) < 0.05:
        title = f"At {iterations} iterations nothing has moved: the squared error is the same"
    else:
        title = f"Squared {whose_error(weigh, tile)} {'falls' if change < 0 else 'rises'} by {abs(change):.0f} %"
    return drawn(
        traces,
        title,
        f"{where(tile, layer)}; {recipe.bits} bits. Error in % of the tile’s r.m.s.; lines: spread over the least one.",
        xaxis=axis("Column", domain=[0, 0.39], **margin),
        xaxis2=axis("Column", domain=[0.53, 0.92], **margin),
        xaxis3=axis("", domain=[0.4, 0.47], range=[0, widest], **bare, **margin),
        xaxis4=axis("", domain=[0.93, 1.0], range=[0, widest], **bare, **margin),
        yaxis=axis("Row", domain=[0, 0.72], range=[len(plain) - 0.5, -0.5], **margin),
        yaxis2=axis("Spread", domain=[0.79, 1.0], range=[0, widest], nticks=3, showgrid=False, zeroline=False),
        coloraxis={"cmin": 0, "cmax": top, "colorbar": {
            "title": {"text": "error (%)", "side": "right"}, "thickness": 10, "len": 0.72, "y": 0.36,
            "outlinewidth": 0}},
        annotations=labels,
        showlegend=False,
        margin={"t": 44},
    )  # fmt: skip


@study.view(
    "What iterations do",
    equation=r"I(W) = \frac{\max \sigma}{\min \sigma}",
    selects={"x": "iterations"},
    tab="Iterations",
)
def over_iterations(curve: Curve, shown_tile: Tile, layer: str, iterations: int, weigh: str, bits: str) -> Figure:
    """Imbalance of the tile, and its error over that of round-to-nearest; the line is the iteration that is set."""
    weighted = weigh == "output" and curve.output is not None
    error = curve.output if weighted and curve.output is not None else curve.weight
    other = curve.weight if weighted else curve.output
    traces = [
        styled("series_1", type="scatter", mode="lines+markers", x=curve.at, y=curve.imbalance, name="imbalance",
               yaxis="y2", marker={"size": 5}, hovertemplate="k = %{x}: imbalance %{y:.3g}<extra></extra>"),
        styled("yours", type="scatter", mode="lines+markers", x=curve.at, y=error, marker={"size": 6},
               name=whose_error(weigh, shown_tile), hovertemplate="k = %{x}: %{y:.1f} %<extra></extra>"),
    ]  # fmt: skip
    if other is not None:
        traces.append(
            styled("reference", type="scatter", mode="lines", x=curve.at, y=other,
                   name="error of weights" if weighted else "error weighted by activations",
                   hovertemplate="k = %{x}: %{y:.1f} %<extra></extra>")
        )  # fmt: skip
    fallen, best = 100 - error[-1], int(np.argmin(error))
    lowest = min([*error, *(other or error)])
    highest = max([*error, *(other or error)])
    return drawn(
        traces,
        f"Imbalance falls from {curve.imbalance[0]:.3g} to {curve.imbalance[-1]:.3g}; the error "
        + (f"falls by {fallen:.0f} %" if fallen > 0 else f"rises by {-fallen:.0f} %"),
        f"{where(shown_tile, layer)}; {bits} bits. Least error at k = {curve.at[best]}; 100 % is round-to-nearest.",
        xaxis=axis("Iterations k", range=[-1, 65]),
        yaxis=axis("Squared error (% of RTN)", range=[min(0.97 * lowest, 95), 1.03 * max(highest, 102)]),
        yaxis2=axis("Imbalance", overlaying="y", side="right", type="log", showgrid=False),
        shapes=[
            {"type": "line", "name": "yours", "x0": iterations, "x1": iterations, "y0": 0, "y1": 1, "yref": "paper"}
        ],
        margin={"r": 64},
    )  # fmt: skip


@study.view("Error column by column", equation=r"E\|\Delta W x\|^2 \propto \sum_j \mu_j^2\, E[x_j^2]", tab="Columns")
def by_column(shown_tile: Tile, quantised_tile: Pair, layer: str, weigh: str) -> Figure:
    """Root mean square error of every column of the tile under both, over the spread of the column."""
    tile, pair = shown_tile, quantised_tile
    maps = [np.sqrt(np.square(errors_of(tile, made, weigh)).mean(0)) for made in (pair.plain, pair.dual)]
    columns = tile.column + np.arange(tile.weight.shape[1])
    spread = tile.weight.double().std(0).numpy()
    order = np.argsort(spread)
    widest = int(order[-1])
    traces = [
        styled(role, type="scatter", mode="markers", x=spread, y=values, name=name, customdata=columns,
               marker={"size": 7},
               hovertemplate="column %{customdata}<br>spread %{x:.3g}, error %{y:.1f} %<extra>" + name + "</extra>")
        for role, values, name in (("reference", maps[0], "round to nearest"), ("yours", maps[1], "SINQ"))
    ]  # fmt: skip
    narrow = order[: max(1, len(order) // 2)]
    before, after = (float(np.square(m[narrow]).mean()) for m in maps)
    change = 100 * (after / max(before, 1e-30) - 1)
    return drawn(
        traces,
        "The narrower half of the columns "
        + (f"loses {-change:.0f} % of its error" if change < 0 else f"gains {change:.0f} % of error"),
        f"{where(tile, layer)}; the widest is column {columns[widest]}. R.m.s. of the {whose_error(weigh, tile)}.",
        xaxis=axis("Standard deviation of the column", type="log"),
        yaxis=axis("Error (% of the tile’s r.m.s.)", rangemode="tozero"),
    )


@study.view("Column scales and activations", equation=r"\rho(-\ln \mu_j,\ \ln \mathrm{rms}\, x_j)", tab="Activations")
def scales_and_activations(
    weight: torch.Tensor, strength: torch.Tensor | None, recipe: Recipe, layer: str, grid: tuple[int, int]
) -> Figure | str:
    """Every column of the layer: its scale over the size of what it multiplies."""
    if strength is None:
        return (
            "Activations of this model take a run: **Measure every layer** shows their correlation with column scales, "
            "layer by layer. Activations of your own (npz) show here at once."
        )
    from assay.efficient import sinkhorn_scales

    mu = sinkhorn_scales(weight, recipe).columns[0].double().numpy()
    x, y = strength.double().clamp(min=1e-12).numpy(), mu
    rho, low, high = spearman(-np.log(y), np.log(x))
    traces = [
        styled("yours", type="scatter", mode="markers", x=x, y=y, customdata=np.arange(len(x)),
               marker={"size": 7}, showlegend=False,
               hovertemplate="column %{customdata}<br>μ %{y:.3f}, r.m.s. %{x:.3g}<extra></extra>")
    ]  # fmt: skip
    said = "smaller" if rho > 0 else "larger"
    sure = low > 0 or high < 0
    return drawn(
        traces,
        f"Columns with larger inputs have {said} scales: ρ = {rho:.2f} [{low:.2f}, {high:.2f}]".replace("-", "−")
        if sure
        else f"Column scales say nothing sure of activations here: ρ = {rho:.2f} [{low:.2f}, {high:.2f}]".replace(
            "-", "−"
        ),
        f"{short(layer)}, {len(x)} columns. The claim asks for ρ of −ln μ₁ with ln r.m.s. above 0.",
        xaxis=axis("Root mean square of the input", type="log"),
        yaxis=axis("Column scale μ₁", type="log"),
    )


def spearman(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Rank correlation with its 95 % interval by Fisher's z (Bonett & Wright 2000); 0 where a side is constant."""
    first, second = (np.argsort(np.argsort(v, kind="stable"), kind="stable").astype(float) for v in (a, b))
    if len(a) < 5 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0, -1.0, 1.0
    rho = float(np.corrcoef(first, second)[0, 1])
    z, half = np.arctanh(np.clip(rho, -0.999999, 0.999999)), 1.96 * np.sqrt((1 + rho**2 / 2) / (len(a) - 3))
    return rho, float(np.tanh(z - half)), float(np.tanh(z + half))


@study.view("The layer in numbers", tab="Numbers")
def numbers(
    subject: Subject, weight: torch.Tensor, shown_tile: Tile, quantised_tile: Pair, recipe: Recipe, gated: bool
) -> list[Stat]:
    """Imbalance, errors and bits of the tile and its layer."""
    from assay.efficient import kurtosis

    tile, pair = shown_tile, quantised_tile
    whole = float(tile.weight.square().sum())
    lost = [100 * float((made - tile.weight).square().sum()) / max(whole, 1e-30) for made in (pair.plain, pair.dual)]
    height, width = weight.shape
    balanced = float(pair.scales.trace.min()) if recipe.iterations else matrix_imbalance(tile.weight)
    told = [
        Stat("matrix", f"{height} × {width}"),
        Stat("tile", f"{tile.weight.shape[0]} × {tile.weight.shape[1]}"),
        Stat("imbalance of the tile", f"{matrix_imbalance(tile.weight):.3g}"),
        Stat("after balancing", f"{balanced:.3g}"),
        Stat("weight error, RTN", f"{lost[0]:.3g}", "% of |W|²"),
        Stat("weight error, SINQ", f"{lost[1]:.3g}", "% of |W|²"),
        Stat("bits a weight", f"{recipe.bits_a_weight(height, width, scaled=not gated):.3f}"),
        Stat("kurtosis of the layer", f"{kurtosis(weight):.2f}", "gated" if gated else ""),
    ]
    if subject.coded:
        told.append(Stat("stored as", subject.coded, "quantised again"))
    return told
