"""What runs found: forms of facts side by side, the phase diagram, decoders by the length of names."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false, reportGeneralTypeIssues=false

from __future__ import annotations

from typing import Any

import pandas as pd

from workbench.studies.language.identity_bridge.controls import FORM_NAMES, study
from workbench.study import Result
from workbench.theme import Figure, axis, drawn, styled


def spread(values: pd.Series) -> dict[str, Any]:
    """Whiskers from the lowest to the highest seed, around the mean."""
    return {"mean": float(values.mean()), "up": float(values.max() - values.mean()),
            "down": float(values.mean() - values.min())}  # fmt: skip


def bars(role: str, x: list[str], groups: list[pd.Series], name: str) -> dict[str, Any]:
    found = [spread(values) for values in groups]
    return styled(
        role, type="bar", x=x, y=[f["mean"] for f in found], name=name,
        error_y={"type": "data", "array": [f["up"] for f in found], "arrayminus": [f["down"] for f in found]},
        hovertemplate="%{x}: %{y:.1f} %<extra>" + name + "</extra>",
    )  # fmt: skip


@study.view("Forms of facts, one layer", tab="Forms")
def compared(forms: Result | None) -> Figure:
    """Reverse questions over all tokens, among A, and echoes, by form; whiskers reach over all seeds."""
    labels = {"xaxis": axis("Trained on", type="category"), "yaxis": axis("Reverse questions (%)", range=[0, 105])}
    if forms is None or not len(forms["cells"]):
        return drawn([], "Run “Train every form of facts” to compare them",
                     "Five forms, both parametrisations, several first weights.", **labels)  # fmt: skip
    rows = forms["cells"]
    own = rows[rows["factorised"]]
    present = [form for form in FORM_NAMES if (own["form"] == form).any()]
    right = {form: float(own[own["form"] == form]["reverse"].mean()) for form in present}
    best = max(right, key=lambda form: right[form])
    single = rows[~rows["factorised"]]["reverse"].max()
    other = f"; at best {single:.0f} % where W_OV itself is trained." if single == single else "."
    traces = []
    for role, column, name in (("yours_bars", "reverse", "right, all tokens"),
                               ("reference_bars", "in_a", "right, among A"),
                               ("series_3", "echo", "echo")):  # fmt: skip
        groups = [own[own["form"] == form][column] for form in present]
        traces.append(bars(role, [FORM_NAMES[form] for form in present], groups, name))
    return drawn(
        traces, f"{FORM_NAMES[best]}: {right[best]:.0f} % of reverse questions are right, the most of all forms",
        f"{int(rows['pairs'].iloc[0])} pairs, {own['seed'].nunique()} seeds, W_O and W_V trained{other}",
        barmode="group", legend={"orientation": "h", "y": 1.1}, **labels,
    )  # fmt: skip


@study.view("Initial weights and weight decay", tab="Phases", selects={"y": "init", "x": "weight_decay"})
def phase_diagram(phases: Result | None, form: str) -> Figure:
    """Reverse accuracy over all tokens; click a cell to train it."""
    labels = {"xaxis": axis("Weight decay (per step and rate)"), "yaxis": axis("Initial weights", type="log")}
    if phases is None or not len(phases["cells"]):
        return drawn([], "Run “Draw the phase diagram” to see where the corner fills",
                     "Initial weights against weight decay.", **labels)  # fmt: skip
    table = phases["cells"].pivot_table(index="init", columns="decay", values="reverse")
    small, large = float(table.iloc[0, 0]), float(table.iloc[-1, 0])
    return drawn(
        [{"type": "heatmap", "x": table.columns.tolist(), "y": table.index.tolist(), "z": table.to_numpy().tolist(),
          "zmin": 0, "zmax": 100, "colorscale": "Viridis", "colorbar": {"title": {"text": "Right (%)"}},
          "hovertemplate": "decay %{x:.4f}, init %{y:.3g}: %{z:.0f} %<extra></extra>"}],
        f"Without decay {small:.0f} % are right from the smallest weights, {large:.0f} % from the largest",
        f"{FORM_NAMES[form]}; reverse questions over all tokens.", **labels,
    )  # fmt: skip


@study.view("Small decoders, by the length of names", tab="Names")
def lengths(decoders: Result | None) -> Figure:
    """Reverse questions answered exactly by decoders trained from scratch; whiskers reach over all seeds."""
    labels = {"xaxis": axis("Tokens in a name", type="category"), "yaxis": axis("Reverse answers (%)", range=[0, 105])}
    if decoders is None or not len(decoders["cells"]):
        return drawn([], "Run “Train small decoders” to see whether it holds beyond one layer",
                     "Names of 1, 2 and 3 tokens, three forms of facts.", **labels)  # fmt: skip
    rows = decoders["cells"]
    present = [form for form in FORM_NAMES if (rows["form"] == form).any()]
    sizes = sorted(rows["length"].unique())
    traces = [
        bars(f"series_{i + 1}", [str(k) for k in sizes],
             [rows[(rows["form"] == form) & (rows["length"] == k)]["reverse"] for k in sizes], FORM_NAMES[form])
        for i, form in enumerate(present)
    ]  # fmt: skip
    means = rows.groupby(["form", "length"])["reverse"].mean()
    top_form, top_length = means.idxmax()
    title = (
        f"At most {means.max():.0f} %: {FORM_NAMES[top_form]}, names of length {top_length}"
        if means.max() > 0
        else "No form of facts lets a small decoder answer in reverse"
    )
    return drawn(
        traces, title,
        f"{int(rows['pairs'].iloc[0])} pairs, {rows['seed'].nunique()} seeds; forward {rows['forward'].mean():.0f} % "
        f"right, echoes {rows['echo'].mean():.0f} %.",
        barmode="group", legend={"orientation": "h", "y": 1.1}, **labels,
    )  # fmt: skip
