"""What runs found: layer by layer, perplexity over bits, times, and the fate of every tensor."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import numpy as np
import pandas as pd

from assay.efficient import METHODS, Recipe
from workbench.studies.efficient.sinq.controls import short, study
from workbench.studies.efficient.sinq.subject import Subject, fates_of
from workbench.study import Result
from workbench.theme import Figure, axis, drawn, styled

ROLES = {
    "sinq": "yours", "rtn": "reference", "hqq": "series_1", "hadamard": "series_2", "nf": "series_3",
    "sinq-nf": "series_4", "awq": "series_5", "asinq": "series_6", "gptq": "series_7", "clip": "series_8",
}  # fmt: skip
SHORT = {"rtn": "RTN", "hadamard": "Hadamard + RTN", "nf": "NF", "clip": "RTN, ends drawn in",
         "oracle": "From activations", "one-shot": "One shot", "shuffled": "Shuffled scales"}  # fmt: skip


def named(method: str) -> str:
    return SHORT.get(method, METHODS[method])


def rows_of(result: Result | None, table: str) -> pd.DataFrame | None:
    """The rows that are there so far; None before the first."""
    return result[table] if result is not None and len(result.tables[table]) else None


@study.view("Column scales and activations, layer by layer", tab="Over depth")
def over_depth(survey: Result | None) -> Figure:
    """Correlation of column scales with activations for every layer measured, beside shuffled columns."""
    axes = {"xaxis": axis("Layer, in the order of the model"), "yaxis": axis("Spearman’s ρ of −ln μ₁ and ln r.m.s. x",
                                                                           range=[-1.05, 1.05])}  # fmt: skip
    rows = rows_of(survey, "layers")
    if rows is None:
        return drawn([], "Do column scales predict activations?", "Appears when every layer is measured.", **axes)
    rows = rows[rows["known"].to_numpy(bool)]
    if rows.empty:
        return drawn([], "Activations of this model are not known",
                      "It is not run here; an .npz of activations shows them.", **axes)  # fmt: skip
    at = np.arange(1, len(rows) + 1)
    traces = [
        styled("null", type="scatter", mode="markers", x=at, y=rows["rho_shuffled"], name="columns shuffled",
               customdata=rows["layer"], marker={"size": 6},
               hovertemplate="%{customdata}: %{y:.2f}<extra>shuffled</extra>"),
        styled("yours_bars", type="bar", x=at, y=rows["rho"], name="as they are", customdata=rows["layer"],
               hovertemplate="%{customdata}: ρ %{y:.2f}<extra></extra>"),
    ]  # fmt: skip
    above = int((rows["rho"] > 0).sum())
    return drawn(
        traces,
        f"Columns with larger inputs have smaller scales in {above} of {len(rows)} layers",
        f"Mean ρ {rows['rho'].mean():.2f}; with columns shuffled {rows['rho_shuffled'].mean():.2f}.".replace("-", "−"),
        **axes,
    )


@study.view("Output error, layer by layer", tab="Layers")
def ranking(survey: Result | None, weigh: str) -> Figure:
    """Error of every layer under SINQ against round-to-nearest; below the line SINQ loses less."""
    what = "Output" if weigh == "output" else "Weight"
    axes = {"xaxis": axis(f"{what} error, round to nearest (%)", type="log"),
            "yaxis": axis(f"{what} error, SINQ (%)", type="log")}  # fmt: skip
    rows = rows_of(survey, "layers")
    if rows is None:
        return drawn([], "Which layers gain?", "Appears when every layer is measured.", **axes)
    pair = ("rtn_output", "sinq_output") if weigh == "output" else ("rtn_weight", "sinq_weight")
    rows = rows[((rows[pair[0]] > 1e-9) & (rows[pair[1]] > 1e-9)).to_numpy()]
    if rows.empty:
        return drawn([], "Rounding changes none of these layers, or their activations are not known", "", **axes)
    x, y = rows[pair[0]], rows[pair[1]]
    gated = (rows["state"] == "gated").to_numpy()
    ends = [float(min(x.min(), y.min())) * 0.9, float(max(x.max(), y.max())) * 1.1]
    traces = [styled("predicted", type="scatter", mode="lines", x=ends, y=ends, name="the same error",
                     hoverinfo="skip")]  # fmt: skip
    for role, own, name in (("yours", ~gated, "layers"), ("reference", gated, "gated: rounded to nearest")):
        if own.any():
            traces.append(
                styled(role, type="scatter", mode="markers", x=x[own], y=y[own], name=name, marker={"size": 8},
                       customdata=rows["layer"][own],
                       hovertemplate="%{customdata}<br>RTN %{x:.3g} %, SINQ %{y:.3g} %<extra></extra>")
            )  # fmt: skip
    better = int((y < x).sum())
    change = 100 * (float(np.exp(np.log(y / x).mean())) - 1)
    return drawn(
        traces,
        f"SINQ loses less in {better} of {len(rows)} layers, {abs(change):.1f} % {'less' if change < 0 else 'more'} on "
        "average",
        f"{what} error over its square norm; geometric mean. {int(gated.sum())} layers are gated.",
        **axes,
    )  # fmt: skip


@study.view("Does lower imbalance mean lower error?", tab="Imbalance")
def imbalance_and_error(survey: Result | None) -> Figure:
    """Every layer's path over iterations: error against imbalance."""
    axes = {"xaxis": axis("Imbalance (geometric mean over tiles)", type="log"),
            "yaxis": axis("Squared weight error (% of RTN)")}  # fmt: skip
    rows = rows_of(survey, "steps")
    if rows is None:
        return drawn([], "Does lower imbalance mean lower error?", "Appears when every layer is measured.", **axes)
    names = list(dict.fromkeys(rows["layer"]))
    x, y, told = [], [], []
    for name in names:
        own = rows[(rows["layer"] == name).to_numpy()]
        x += [*own["imbalance"], None]
        y += [*own["error"], None]
        told += [f"{name}, {k} iterations" for k in own["iterations"]] + [""]
    last = rows[(rows["iterations"] == 16).to_numpy()]
    traces = [
        styled("reference", type="scatter", mode="lines", x=x, y=y, customdata=told, name="over iterations",
               line={"width": 1}, hovertemplate="%{customdata}: %{y:.1f} %<extra></extra>"),
        styled("yours", type="scatter", mode="markers", x=last["imbalance"], y=last["error"],
               name="after 16 iterations", customdata=last["layer"], marker={"size": 7},
               hovertemplate="%{customdata}: %{y:.1f} %<extra></extra>"),
    ]  # fmt: skip
    low = int((last["error"] < 100).sum())
    return drawn(
        traces,
        f"After 16 iterations the error of weights is {last['error'].mean():.0f} % of round-to-nearest’s, lower in "
        f"{low} of {len(names)} layers",
        "Each grey line is a layer; it starts at 100 % on the right and goes left as columns are balanced.",
        **axes,
    )


@study.view("Quality over bits a weight", tab="Quality")
def pareto(quality: Result | None) -> Figure:
    """Perplexity, or for an encoder retrieval, of each method at its bits a weight, with 95 % over blocks of text."""
    rows, units = rows_of(quality, "methods"), rows_of(quality, "units")
    if rows is None or units is None or quality is None:
        return drawn([], "What do fewer bits cost?", "Appears when methods are compared on text.",
                      xaxis=axis("Bits a weight"), yaxis=axis("Perplexity"))  # fmt: skip
    encoder = rows["measure"].iloc[0] == "retrieval"
    text = quality["text"].iloc[0]
    floating = float(rows["floating"].iloc[0])
    traces = []
    for method in dict.fromkeys(rows["method"]):
        own = rows[(rows["method"] == method).to_numpy()].sort_values("bits_a_weight")
        y = own["value"].to_numpy()
        high, low = np.zeros(len(y)), np.zeros(len(y))
        if not encoder:
            for i, (bits, group) in enumerate(zip(own["bits"], own["group"], strict=True)):
                part = units[
                    ((units["method"] == method) & (units["bits"] == bits) & (units["group"] == group)).to_numpy()
                ]
                low[i], high[i] = interval(part)
        role = ROLES.get(method, "pending")
        error = {
            "type": "data",
            "symmetric": False,
            "array": high - y,
            "arrayminus": y - low,
            "thickness": 1,
            "width": 2,
        }
        traces.append(
            styled(role, type="scatter", mode="lines+markers", x=own["bits_a_weight"], y=y, name=named(method),
                   **({} if encoder or role == "pending" else {"error_y": error}), marker={"size": 8},
                   hovertemplate="%{x:.2f} bits: %{y:.4g}<extra>" + named(method) + "</extra>")
        )  # fmt: skip
    ends = [float(rows["bits_a_weight"].min()) - 0.1, float(rows["bits_a_weight"].max()) + 0.1]
    traces.append(styled("null", type="scatter", mode="lines", x=ends, y=[floating, floating], name="float model",
                         hovertemplate="float: %{y:.4g}<extra></extra>"))  # fmt: skip
    again = f" Its weights were {text['again']} codes before: re-quantised." if text["again"] else ""
    if bool(rows["exact"].to_numpy().any()):
        again += " Some came back exactly, for they lay on such a grid."
    return drawn(
        traces,
        quality_finding(rows, encoder),
        f"{text['said']}; {text['units']} {'sentences' if encoder else 'windows'}, {text['tokens']:,} tokens.{again}",
        xaxis=axis("Bits a weight, scales included"),
        yaxis=axis("Same nearest sentence (share)" if encoder else "Perplexity", type="linear" if encoder else "log"),
    )


def quality_finding(rows: pd.DataFrame, encoder: bool) -> str:
    """What SINQ and round-to-nearest come to at the fewest bits."""
    bits = int(rows["bits"].min())
    own = rows[(rows["bits"] == bits).to_numpy()].set_index("method")["value"]
    own = own[~own.index.duplicated()]
    if "sinq" not in own or "rtn" not in own:
        return f"At {bits} bits the best is {named(str(own.idxmax() if encoder else own.idxmin()))}"
    best = str(own.idxmax() if encoder else own.idxmin())
    return (
        f"At {bits} bits SINQ has {own['sinq']:.3g}, RTN {own['rtn']:.3g}; best is {named(best)} with {own[best]:.3g}"
    )


def interval(part: pd.DataFrame) -> tuple[float, float]:
    """95 % of a perplexity, over blocks of text, by the spread of block means."""
    means = part.groupby("block")["value"].mean()
    half = 1.96 * float(means.std(ddof=1)) / np.sqrt(len(means)) if len(means) > 1 else 0.0
    return float(np.exp(means.mean() - half)), float(np.exp(means.mean() + half))


@study.view("Gaps to the float model", tab="Gaps")
def gaps(quality: Result | None) -> pd.DataFrame | str:
    """Loss over the float model's, method by method, and the share of round-to-nearest's gap that is closed."""
    rows, units = rows_of(quality, "methods"), rows_of(quality, "units")
    if rows is None or units is None:
        return "Appears when methods are compared on text: each method’s gap to the float model, in nats and in share."
    mean = units.assign(gap=units["value"] - units["floating"]).groupby(["bits", "group", "method"])["gap"].mean()
    found = []
    for row in rows.itertuples():
        own, plain = mean[row.bits, row.group, row.method], mean.get((row.bits, row.group, "rtn"), float("nan"))
        found.append({
            "bits": row.bits, "group": row.group, "method": named(row.method),
            "bits a weight": round(row.bits_a_weight, 3),
            "gap": round(own, 4), "of RTN’s gap closed": f"{100 * (1 - own / plain):.0f} %".replace("-", "−")
            if abs(plain) > 1e-6 else "no gap",
            row.measure: round(row.value, 3), "gated layers": row.gated,
            "came back exactly": "yes" if row.exact else "no",
        })  # fmt: skip
    table = pd.DataFrame(found)
    table.attrs["title"] = "How much of the gap to the float model each method leaves"
    table.attrs["subtitle"] = (
        f"Gap in {'nats a token' if rows['measure'].iloc[0] == 'perplexity' else '1 − cosine'}; the float model has "
        f"{rows['floating'].iloc[0]:.4g}."
    )
    return table


@study.view("What it costs", tab="Times")
def costs(times: Result | None) -> pd.DataFrame | str:
    """Seconds to quantise, and of the product, as medians over turns."""
    rows = rows_of(times, "quantising")
    if rows is None or times is None:
        return "Appears when times are taken: seconds to quantise a matrix by each method, and of the packed product."
    found = [
        {"what": f"quantise, {METHODS[m]}", "median, ms": round(1e3 * part["seconds"].median(), 2),
         "over the first": f"{part['ratio'].median():.2f} ×"}
        for m, part in rows.groupby("method", sort=False)
    ] + [
        {"what": f"product at batch 1, {form}", "median, ms": round(1e3 * part["seconds"].median(), 3),
         "over the first": f"{part['ratio'].median():.2f} ×"}
        for form, part in times["products"].groupby("form", sort=False)
    ]  # fmt: skip
    table = pd.DataFrame(found)
    size = times["matrix"].iloc[0]
    ratio = rows[(rows["method"] == "sinq").to_numpy()]["ratio"].median()
    table.attrs["title"] = f"SINQ takes {ratio:.2f} times as long as round-to-nearest"
    table.attrs["subtitle"] = f"A matrix of {int(size['rows'])} × {int(size['columns'])}, medians, one thread."
    return table


@study.view("What becomes of every tensor", tab="Tensors")
def tensors(
    subject: Subject, pack: Result | None, layers_filter: str, recipe: Recipe, requantise: bool
) -> pd.DataFrame:
    """Quantised, gated, kept or refused, with the reason: as planned, and after a run as it came out."""
    rows = rows_of(pack, "tensors")
    if rows is None:
        found = pd.DataFrame([
            {"tensor": short(f.name), "state": f.state, "reason": f.reason, "parameters": f.parameters}
            for f in fates_of(subject, layers_filter, recipe, requantise)
        ])  # fmt: skip
        done = "will be quantised"
        said = "From names, shapes and stored types; a run reads the values too, and may gate or refuse some."
    else:
        found = pd.DataFrame({
            "tensor": [short(n) for n in rows["tensor"]], "state": rows["state"], "reason": rows["reason"],
            "g": rows["group"], "bits a weight": rows["bits_a_weight"].round(3), "error, %": rows["error"].round(4),
            "parameters": rows["parameters"],
        })  # fmt: skip
        files = pack["files"] if pack is not None else pd.DataFrame()
        done = "were quantised"
        said = "Files: " + ", ".join(f"{f.file} {f.bytes / 1e6:.2f} MB" for f in files.itertuples()) + "."
    inside = found["state"].isin(["quantised", "gated"])
    share = 100 * found["parameters"][inside].sum() / max(found["parameters"].sum(), 1)
    found.attrs["title"] = f"{int(inside.sum())} of {len(found)} tensors {done}: {share:.0f} % of the parameters"
    counts = found["state"].value_counts()
    found.attrs["subtitle"] = said + " " + ", ".join(f"{n} {state}" for state, n in counts.items()) + "."
    return found


@study.view("Was it quantised before?", tab="Before")
def quantised_before(subject: Subject) -> str:
    """Whether the weights lie on a coarse grid already, and what that does to a comparison."""
    if not subject.coded:
        return (
            f"The weights of **{subject.name}** are stored as floats. A checkpoint that was dequantised before cannot "
            "be told from its types; **Compare methods on text** says when weights come back exactly."
        )
    return (
        f"The weights of **{subject.name}** are **{subject.coded}** codes already: every 32 of a row lie on 16 values. "
        "At 4 bits, groups of 32 and zero points that are not rounded, as HQQ’s, give them back exactly, and no second "
        "scale can do better. At 3 or 2 bits, or with larger groups, this is **re-quantisation**, and says little of a "
        "model that was trained in floats."
    )


@study.picture
def sketch() -> str:
    rng = np.random.default_rng(1)
    spread = np.exp(0.25 * rng.standard_normal(28))
    spread[9] = 3.2
    left = "".join(
        f'<rect x="{14 + 4.4 * i:.1f}" y="{92 - 24 * h:.1f}" width="3.2" height="{24 * h:.1f}" '
        f'fill="var(--as-{"accent" if i == 9 else "ink-3"})"/>'
        for i, h in enumerate(spread)
    )
    even = 1 + 0.06 * rng.standard_normal(28)
    right = "".join(
        f'<rect x="{164 + 4.4 * i:.1f}" y="{92 - 24 * h:.1f}" width="3.2" height="{24 * h:.1f}" '
        f'fill="var(--as-{"accent" if i == 9 else "ink-3"})"/>'
        for i, h in enumerate(even)
    )
    return f'<svg viewBox="0 0 300 112" xmlns="http://www.w3.org/2000/svg">{left}{right}</svg>'
