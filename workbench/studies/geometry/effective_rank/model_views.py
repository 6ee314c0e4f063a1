"""What is seen of a checkpoint: its spectrum as the gauge moves, what does not move, and what each metric measures."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from assay.geometry import (
    RowFactor,
    decay_exponent,
    effective_rank,
    factor_rows,
    marchenko_pastur_rank,
    marchenko_pastur_singular_values,
    nuclear_rank,
    numerical_rank,
    participation_ratio,
    rank_at,
    spectral_entropy,
    stable_rank,
)
from assay.geometry.isotropy import isoscore_of_variances, mean_pair_cosine
from assay.models import KeptDecoder
from workbench.studies.geometry.effective_rank.controls import (
    GAUGES,
    OwnMatrix,
    States,
    spectrum_under,
    study,
)
from workbench.study import Result, Stat
from workbench.theme import Figure, axis, drawn, styled

CONTINUED = 24  # tokens
SHOWN_TOKENS, SHOWN_STATES = 1024, 256  # whose logits are followed while the gauge moves


@study.prepared
def shown_rows(matrix: OwnMatrix) -> np.ndarray:
    """(m, d) rows whose logits are followed: all of a small vocabulary, evenly spread ones of a large."""
    count = len(matrix.weight)
    return matrix.weight[np.linspace(0, count - 1, min(count, SHOWN_TOKENS)).astype(int)].double().numpy()


@study.prepared
def logits(shown_rows: np.ndarray, final: States) -> np.ndarray:
    """(n, m) logits of the model as it is; of at most 256 states."""
    return final.hidden[:SHOWN_STATES] @ shown_rows.T


@study.prepared
def moved_logits(shown_rows: np.ndarray, final: States, maps: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """(n, m) logits M h of the moved states and W M⁻¹, the moved matrix."""
    return (final.hidden[:SHOWN_STATES] @ maps[0].T) @ (shown_rows @ maps[1]).T


@study.view(
    "The spectrum, as the gauge moves",
    equation=r"R(W) = \exp\Big(-\sum_i p_i \ln p_i\Big),\quad p_i = \frac{s_i}{\sum_j s_j}",
    tab="Gauge",
)
def gauge_spectrum(
    spectrum: np.ndarray,
    stored_spectrum: np.ndarray,
    factor: RowFactor,
    matrix: OwnMatrix,
    second: OwnMatrix | None,
    second_gauges: dict[str, np.ndarray],
    gauge: str,
    power: str,
    move: float,
) -> Figure:
    """Singular values of the moved matrix over those of a random one, with the ranks that are read off them."""
    d = len(spectrum)
    at = np.arange(1, d + 1)
    still = stored_spectrum
    null = marchenko_pastur_singular_values(factor.rows, factor.columns)
    exponent = float(power)
    rank = float(effective_rank(spectrum, power=exponent))
    before = float(effective_rank(still, power=exponent))
    traces = [
        styled("null", type="scatter", mode="lines", x=at, y=null / null[0], name="random matrix of this shape",
               hovertemplate="%{y:.3g} at %{x}<extra>random</extra>"),
        styled("reference", type="scatter", mode="lines", x=at, y=still / still[0], name="the checkpoint as stored",
               hovertemplate="%{y:.3g} at %{x}<extra>as stored</extra>"),
        styled("yours", type="scatter", mode="lines", x=at, y=spectrum / spectrum[0], name="after the gauge move",
               hovertemplate="%{y:.3g} at %{x}<extra>moved</extra>"),
    ]  # fmt: skip
    other = second_gauges.get(gauge)
    if second is not None and other is not None:
        beside = float(effective_rank(other, power=exponent))
        traces.append(styled("series_2", type="scatter", mode="lines", x=np.arange(1, len(other) + 1),
                             y=other / other[0], name=f"{second.name}, R = {beside:.4g} of {len(other)}",
                             hovertemplate=f"%{{y:.3g}} at %{{x}}<extra>{second.name}</extra>"))  # fmt: skip
    marks = {
        "R" if power == "1" else "R₂": rank,
        "participation": float(participation_ratio(spectrum)),
        "stable": float(stable_rank(spectrum)),
    }
    shapes, notes = [], []
    for i, (name, value) in enumerate(marks.items()):
        shapes.append({"type": "line", "name": "cutoff" if i == 0 else "", "x0": value, "x1": value, "y0": 0, "y1": 1,
                       "yref": "paper"})  # fmt: skip
        notes.append({"text": f"{name} {value:.3g}", "x": np.log10(value), "y": 1 - 0.08 * i, "yref": "paper",
                      "showarrow": False, "xanchor": "right" if value > d / 3 else "left", "yanchor": "top",
                      "xshift": -4 if value > d / 3 else 4})  # fmt: skip
    title = f"R = {rank:.4g} of {d} ({100 * rank / d:.1f} %)"
    if abs(move) >= 0.005:
        stays = abs(rank - before) < 1e-3 * before
        title += f": {'the gauge does not move it' if stays else f'it was {before:.4g}'}"
    s = "s" if power == "1" else "s²"
    encoder = ", the input embedding of an encoder" if matrix.embedding else ""
    shown = [spectrum, null, still, *([] if other is None else [other])]
    low = max(min(float(values[-1] / values[0]) for values in shown), 1e-7)
    longest = max(len(values) for values in shown)
    return drawn(
        traces,
        title,
        f"{matrix.key} of {matrix.name}{encoder}, {factor.rows:,} × {factor.columns:,}; {GAUGES[gauge]}; "
        f"shares of {s}.",
        xaxis=axis("Place i of the singular value", type="log", range=[-0.02, float(np.log10(longest)) + 0.05]),
        yaxis=axis("sᵢ / s₁", type="log", range=[float(np.log10(low)) - 0.2, 0.1], exponentformat="power"),
        shapes=shapes,
        annotations=notes,
    )


@study.view("What the gauge leaves alone", tab="Stays")
def unmoved(logits: np.ndarray, moved_logits: np.ndarray, final: States, matrix: OwnMatrix) -> list[Stat]:
    """Logits, likeliest tokens and loss of the same states, after the move."""
    change = float(np.abs(moved_logits - logits).max() / np.abs(logits).max())
    shown, count = logits.shape[1], len(matrix.weight)
    of_tokens = "" if shown == count else f", among {shown:,} of {count:,} tokens"
    same = 100 * float((moved_logits.argmax(axis=1) == logits.argmax(axis=1)).mean())
    found = [
        Stat("largest change of a logit", f"{change:.1e}".replace("-", "−") if change else "0", "of the largest"),
        Stat("likeliest token stays", f"{same:.0f}", f"% of states{of_tokens}"),
    ]
    if final.targets is not None:
        before, after = (loss_of(values, final.targets[: len(values)]) for values in (logits, moved_logits))
        found += [Stat("loss before", f"{before:.6f}", "nats"), Stat("loss after", f"{after:.6f}", "nats")]
    return [*found, Stat("measured on", f"{len(logits):,}", final.said)]


def loss_of(values: np.ndarray, targets: np.ndarray) -> float:
    """Cross entropy, in nats."""
    return float(torch.nn.functional.cross_entropy(torch.from_numpy(values), torch.from_numpy(targets)))


@study.prepared
def continuation(decoder: KeptDecoder) -> tuple[str, np.ndarray, np.ndarray]:
    """A text of the model that comes along, the likeliest token at a time: its beginning, states, and tokens."""
    tokens = decoder.held_out[4:5, :24]
    start = decoder.pairs.decode(tokens[0].tolist())
    states, chosen = [], []
    with torch.no_grad():
        for _ in range(CONTINUED):
            state = decoder.model.states(tokens[:, -decoder.model.shape.context :])[0, -1]
            token = int((decoder.model.unembedding.weight @ state).argmax())
            states.append(state.double().numpy())
            chosen.append(token)
            tokens = torch.cat([tokens, torch.tensor([[token]])], dim=1)
    return start, np.stack(states), np.array(chosen)


@study.view("The text that the model writes", tab="Text")
def text(
    matrix: OwnMatrix,
    decoder: KeptDecoder,
    continuation: tuple[str, np.ndarray, np.ndarray],
    maps: tuple[np.ndarray, np.ndarray],
    unit_rows: bool,
) -> str:
    """A continuation, token by token, from moved states and the moved matrix."""
    start, states, chosen = continuation
    if matrix.weight.shape != decoder.model.unembedding.weight.shape or matrix.name != "small-decoder":
        return "The model that comes along writes a text here, with all its rows; of others only the matrix is read."
    if unit_rows:
        return "Rows at length 1 belong to another model: the one that comes along writes with its own."
    written = ((states @ maps[0].T) @ (matrix.weight.double().numpy() @ maps[1]).T).argmax(axis=1)
    same = int((written == chosen).all())
    told = decoder.pairs.decode(written.tolist())
    said = "The same text at every gauge" if same else "Rounding has changed the text"
    return f"{said}: …{plain(start[-60:])}**{plain(told)}**"


def plain(words: str) -> str:
    """Text on one line, without signs that Markdown reads."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+-.!|~$" else c for c in " ".join(words.split()))


METRIC_ROWS = {
    "R (s)": effective_rank,
    "R₂ (s²)": lambda s: effective_rank(s, power=2),
    "participation ratio (s²)": participation_ratio,
    "stable rank (s²)": stable_rank,
    "nuclear rank (s)": nuclear_rank,
    "numerical rank, 10⁻³ s₁": numerical_rank,
    "directions for 90 % (s²)": lambda s: rank_at(s, 0.9),
    "directions for 99 % (s²)": lambda s: rank_at(s, 0.99),
    "entropy over ln r (s)": spectral_entropy,
    "decay exponent (s²)": lambda s: decay_of(s),
}


def decay_of(s: np.ndarray) -> float:
    """Exponent of the decay over ranks; NaN where values are 0 or too few."""
    return decay_exponent(s).alpha if len(s) >= 5 and s[-1] > 0 else float("nan")


@study.view("Cut, flatten or spike the spectrum", equation=r"s_i \to b_i\, s_i^{\gamma}", tab="By hand")
def hand_spectrum(spectrum: np.ndarray, by_hand: np.ndarray) -> Figure:
    """The spectrum in the gauge that is set, and as it was changed by hand."""
    at = np.arange(1, len(spectrum) + 1)
    before, after = float(effective_rank(spectrum)), float(effective_rank(by_hand))
    still = np.allclose(by_hand, spectrum / spectrum[0])
    shown = np.where(by_hand > 0, by_hand, np.nan)
    traces = [
        styled("reference", type="scatter", mode="lines", x=at, y=spectrum / spectrum[0], name="in the gauge set"),
        styled("yours", type="scatter", mode="lines", x=at, y=shown, name="by hand"),
    ]
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    bottom = np.log10(max(1e-8, min(low, float(spectrum[-1] / spectrum[0]), high / 10)))
    return drawn(
        traces,
        "Move a dial to change the spectrum" if still else f"R goes from {before:.4g} to {after:.4g}",
        f"Stable rank goes from {float(stable_rank(spectrum)):.3g} to {float(stable_rank(by_hand)):.3g}.",
        xaxis=axis("Place i of the singular value"),
        yaxis=axis("sᵢ / s₁ as stored", type="log", range=[bottom - 0.2, float(np.log10(high)) + 0.2],
                   exponentformat="power"),
    )  # fmt: skip


@study.view("Every metric at once", tab="Metrics")
def hand_metrics(spectrum: np.ndarray, by_hand: np.ndarray, gauge: str) -> pd.DataFrame:
    """Each metric before and after the change by hand: what moves it, and what it does not see."""
    rows = []
    for name, measure in METRIC_ROWS.items():
        before, after = measure(spectrum), measure(by_hand)
        change = f"{100 * (after / before - 1):+.0f} %".replace("-", "−") if before and np.isfinite(after) else ""
        rows.append({"metric": name, "before": rounded(before), "after": rounded(after), "change": change})
    found = pd.DataFrame(rows)
    found.attrs["title"] = "What each metric sees of the change"
    found.attrs["subtitle"] = f"Gauge: {GAUGES[gauge]}. In brackets, what shares are taken of."
    return found


def rounded(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}")


@study.prepared
def own_gauges(matrix: OwnMatrix, factor: RowFactor, final: States) -> dict[str, np.ndarray]:
    """Singular values of the checkpoint in every gauge that it has."""
    return gauge_columns(matrix, factor, final.covariance)


@study.prepared
def second_gauges(second: OwnMatrix | None) -> dict[str, np.ndarray]:
    """The same of the checkpoint beside it."""
    return {} if second is None else gauge_columns(second, factor_rows(second.weight), None)


@study.view("Every metric in every gauge", tab="Gauges")
def gauge_table(
    matrix: OwnMatrix,
    second: OwnMatrix | None,
    own_gauges: dict[str, np.ndarray],
    second_gauges: dict[str, np.ndarray],
) -> pd.DataFrame:
    """The checkpoint as it is stored, in all gauges; the one beside it in those that it has."""
    columns = dict(own_gauges)
    if second is not None:
        columns |= {f"{second.name}: {name}": s for name, s in second_gauges.items()}
    columns = {name.replace(" and ", " + "): s for name, s in columns.items()}
    rows = [
        {"metric": name, **{gauge: rounded(measure(s)) for gauge, s in columns.items()}}
        for name, measure in METRIC_ROWS.items()
    ]
    rows.append(
        {"metric": "R, % of d", **{g: rounded(100 * float(effective_rank(s)) / len(s)) for g, s in columns.items()}}
    )
    found = pd.DataFrame(rows)
    raw = columns["raw"]
    r, stable = float(effective_rank(raw)), float(stable_rank(raw))
    found.attrs["title"] = f"The same matrix has rank {r:.4g} and rank {stable:.3g}, as you ask"
    tail = f" {' '.join(matrix.notes)}" if matrix.notes else ""
    found.attrs["subtitle"] = f"{matrix.key}, stored as {matrix.dtype}{', tied' if matrix.tied else ''}.{tail}"
    return found


def gauge_columns(matrix: OwnMatrix, factor: RowFactor, covariance: np.ndarray | None) -> dict[str, np.ndarray]:
    """Singular values in every gauge that the matrix has."""
    found = {}
    for gauge in GAUGES:
        if ("folded" in gauge and matrix.gain is None) or ("whitened" in gauge and covariance is None):
            continue
        values = spectrum_under(factor, gauge, matrix.gain, covariance)
        if values[0] > 0:
            found[gauge] = values
    return found


@study.view("The matrix in numbers", tab="Numbers")
def numbers(matrix: OwnMatrix, factor: RowFactor) -> list[Stat]:
    """What does not depend on singular values alone, and what shape alone allows."""
    n = factor.rows - factor.zero_rows
    ceiling = marchenko_pastur_rank(factor.rows, factor.columns)
    found = [
        Stat("rows", f"{factor.rows:,}"),
        Stat("d", factor.columns),
        Stat("R of a random matrix", f"{ceiling:.4g}", f"{100 * ceiling / factor.columns:.1f} % of d"),
        Stat("mean row", f"{100 * factor.mean_share:.1f}", "% of |W|²"),
        Stat("average cosine", f"{mean_pair_cosine(factor):.3f}" if n > 1 else "none"),
    ]
    variances = factor.variances()
    if factor.columns > 1 and variances[0] > 0:
        found.append(Stat("IsoScore", f"{isoscore_of_variances(variances):.3f}"))
    return [*found, Stat("rows of zeros", factor.zero_rows), Stat("stored as", matrix.dtype)]


SEES = (
    ("R (paper)", "linear", "little", "strongly", "1 to r"),
    ("R₂, participation ratio", "quadratic, quartic", "strongly", "hardly", "1 to r"),
    ("stable rank", "s₁ alone", "decisive", "no", "1 to r"),
    ("average cosine", "mean of unit rows alone", "decisive", "no", "−1/(n−1) to 1"),
    ("isotropy I", "extreme directions, norms", "strongly", "no", "0 to 1"),
    ("IsoScore", "spread of variances, centred", "no", "a little", "0 to 1"),
    ("decay exponent", "slope of the bulk", "no", "sets the tail", "above 0"),
)


@study.view("What each number sees", tab="Help")
def sees(power: str) -> pd.DataFrame:
    """Which part of a spectrum a metric weighs, and what moves it."""
    found = pd.DataFrame(SEES, columns=["metric", "weight on large s", "moved by the mean row", "by tail, quantisation",
                                        "range"])  # fmt: skip
    found.attrs["title"] = "Ranks that share a name see different things"
    found.attrs["subtitle"] = f"Shares are taken of {'s' if power == '1' else 's²'} where the exponent is set."
    return found


@study.view("Every matrix of the checkpoint", tab="Layers")
def layers(whole_model: Result | None) -> Figure:
    """Effective rank of every matrix, layer by layer."""
    axes: dict[str, Any] = {
        "xaxis": axis("Layer", dtick=1), "yaxis": axis("Effective rank (% of the shorter side)", range=[0, 103]),
    }  # fmt: skip
    if whole_model is None:
        return drawn([], "Effective rank of every matrix", "Appears when every matrix is measured.", **axes)
    rows = whole_model["matrices"]
    rows = rows[rows["rank"] > 0]
    if rows.empty:
        return drawn([], "No matrix of it could be measured", "The table of the run says why.", **axes)
    inner = rows[rows["layer"] >= 0]
    kinds = inner["tensor"].str.replace(r"(^|\.)\d+\.", r"\1", regex=True).str.removesuffix(".weight")
    traces = []
    for i, (kind, part) in enumerate(inner.groupby(kinds, sort=False)):
        traces.append(styled(f"series_{1 + i % 8}", type="scatter", mode="lines+markers", x=part["layer"],
                             y=part["rank"], name=str(kind).split(".", 2)[-1], customdata=part["tensor"],
                             hovertemplate="%{customdata}<br>%{y:.1f} %<extra></extra>"))  # fmt: skip
    traces = traces[:16]
    if inner.empty:
        traces = [styled("yours", type="scatter", mode="markers", x=np.zeros(len(rows)), y=rows["rank"],
                         customdata=rows["tensor"],
                         hovertemplate="%{customdata}<br>%{y:.1f} %<extra></extra>")]  # fmt: skip
    lowest = rows.loc[rows["rank"].idxmin()]
    return drawn(
        traces,
        f"The lowest rank of {len(rows)} matrices is {lowest['rank']:.0f} %",
        f"It is that of {lowest['tensor']}. As stored, shares of s.",
        **axes,
    )
