"""What runs found: throughput, memory, gradients over windows, steps without a spike, and both kinds of training."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import numpy as np
import pandas as pd

from assay.dynamics.cables import Circuit, drive_of
from assay.kernels import cable_steps
from workbench.studies.dynamics.heliox.controls import study
from workbench.study import Result
from workbench.theme import Figure, axis, drawn, styled

BYTES = 120  # a compartment and step that goes through memory: eight loads, two stores, and its gates
COPY = 10e9  # bytes a second that one core of a usual processor moves
ROLES = {"exact": "yours", "frozen": "series_2", "differences": "reference"}
CIRCUIT_MS, CIRCUIT_DT = 30.0, 0.25


def rows_of(result: Result | None, table: str) -> pd.DataFrame | None:
    """The rows that are there so far; None before the first."""
    return result[table] if result is not None and len(result.tables[table]) else None


@study.view("Throughput over cells", tab="Throughput")
def throughput(solvers: Result | None) -> Figure:
    """Compartment-steps a second of each solver, from one cell to many side by side, on one thread."""
    axes = {"xaxis": axis("Cells side by side", type="log"), "yaxis": axis("Compartment-steps (million/s)", type="log")}
    rows = rows_of(solvers, "speed")
    if rows is None:
        return drawn([], "Throughput over cells", "Appears when the solvers are timed.", **axes)
    found, best = [], {}
    names = {"fused steps": "yours", "tree solve": "series_1", "solve in rounds": "series_2", "dense solve": "series_3"}
    for name, role in names.items():
        own = rows[(rows["solver"] == name).to_numpy()]
        if own.empty:
            continue
        grouped = own.groupby("cells")["rate"]
        middle, low, high = grouped.median(), grouped.min(), grouped.max()
        best[name] = middle
        found.append(
            styled(role, type="scatter", mode="lines+markers", x=middle.index.to_numpy(), y=middle.to_numpy(),
                   name=name, error_y={"type": "data", "array": (high - middle).to_numpy(),
                                       "arrayminus": (middle - low).to_numpy()},
                   hovertemplate="%{y:.3g} million/s at %{x} cells<extra>" + name + "</extra>")
        )  # fmt: skip
    cells = [float(rows["cells"].min()), float(rows["cells"].max())]
    found.append(styled("predicted", type="scatter", mode="lines", x=cells, y=[COPY / BYTES / 1e6] * 2,
                        name="if every step went through memory", hoverinfo="skip"))  # fmt: skip
    fused = best["fused steps"]
    return drawn(
        found,
        f"Side by side, {cells[1]:,.0f} cells run {fused.iloc[-1] / fused.iloc[0]:.0f} times as fast as one: "
        f"{fused.iloc[-1]:.0f} million/s",
        "One thread, float64, median and range of turns. Fused steps hold channels, gates and solve; the others solve "
        f"alone. Dashed: {BYTES} bytes a compartment at 10 GB/s.",
        **axes,
    )


@study.view("What training keeps in memory", tab="Memory")
def memory(solvers: Result | None) -> Figure:
    """Bytes that each way to a gradient keeps from the way forward."""
    axes = {"xaxis": axis(""), "yaxis": axis("Kept for the way back (MB)", type="log")}
    rows = rows_of(solvers, "memory")
    if rows is None:
        return drawn([], "What training keeps in memory", "Appears when the solvers are timed.", **axes)
    labels = [f"{r.steps} steps, {r.cells} cell{'s' if r.cells > 1 else ''}" for r in rows.itertuples()]
    found = [
        styled(role, type="bar", x=labels, y=rows[column].to_numpy(), name=name,
               hovertemplate="%{y:.3g} MB<extra>" + name + "</extra>")
        for column, name, role in (("autograd", "autograd", "reference_bars"), ("tape", "exact adjoint", "yours_bars"),
                                   ("frozen", "frozen adjoint", "series_2"))
    ]  # fmt: skip
    ratio = rows["autograd"] / rows["tape"]
    return drawn(
        found, f"The exact adjoint keeps {ratio.min():.0f} to {ratio.max():.0f} times less than autograd",
        f"{rows['nodes'].iloc[0]} compartments with sodium and potassium; the paper’s page has about 32 GB become 6.",
        barmode="group", **axes,
    )  # fmt: skip


@study.view("Both adjoints over windows", tab="Over windows")
def over_windows(gradients: Result | None) -> Figure:
    """Cosine of the frozen and the exact gradient, for each window and each density of sodium."""
    axes = {"xaxis": axis("Window (ms)", type="log"), "yaxis": axis("Cosine of frozen and exact", range=[-1.08, 1.08])}
    rows = rows_of(gradients, "cases")
    if rows is None:
        return drawn([], "Both adjoints over windows", "Appears when the gradients are checked.", **axes)
    found = []
    for number, (sodium, own) in enumerate(rows.groupby("sodium")):
        mean = own.groupby("window")["cosine"].mean()
        low, high = own.groupby("window")["cosine"].min(), own.groupby("window")["cosine"].max()
        found.append(
            styled(f"series_{number + 1}", type="scatter", mode="lines+markers", x=mean.index.to_numpy(),
                   y=mean.to_numpy(), name=f"sodium {sodium:g} S/cm²",
                   error_y={"type": "data", "array": (high - mean).to_numpy(), "arrayminus": (mean - low).to_numpy()},
                   hovertemplate="cosine %{y:.2f} at %{x} ms<extra></extra>")
        )  # fmt: skip
    windows = sorted(rows["window"].unique())
    return drawn(
        found, f"The frozen gradient’s cosine with the exact one lies between {rows['cosine'].min():.2f} and "
        f"{rows['cosine'].max():.2f}",
        f"Exact agrees with differences to {rows['apart'].max():.1g}. Bars: least and most of "
        f"{rows['repeat'].nunique()} repeats.",
        xaxis=axis("Window (ms)", type="log", tickvals=windows, ticktext=[f"{w:g}" for w in windows]),
        yaxis=axes["yaxis"],
        shapes=[{"type": "line", "name": "flat", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0}],
    )  # fmt: skip


@study.view("Steps without a spike", tab="Spike-free")
def spike_free_steps(spikes: Result | None) -> Figure:
    """Share of steps at which nobody fires, over the number of cells."""
    axes = {"xaxis": axis("Cells", type="log"), "yaxis": axis("Steps without a spike (%)", range=[0, 103])}
    rows = rows_of(spikes, "crowds")
    if rows is None:
        return drawn([], "Steps without a spike", "Appears when they are counted.", **axes)
    mean = rows.groupby("cells")[["free", "hertz"]].mean()
    rate = float(mean["hertz"].mean())
    cells = mean.index.to_numpy()
    found = [
        styled("predicted", type="scatter", mode="lines", x=cells, y=100 * (1 - rate * 0.025e-3) ** cells,
               name=f"if all fired apart at {rate:.0f} Hz"),
        styled("yours", type="scatter", mode="markers", x=cells, y=mean["free"].to_numpy(), name="measured",
               hovertemplate="%{y:.1f} % with %{x} cells<extra></extra>"),
    ]  # fmt: skip
    return drawn(found, f"Of {cells[-1]} cells nobody fires at {mean['free'].iloc[-1]:.0f} % of the steps",
                 f"Steps of 0.025 ms, {rate:.0f} Hz a cell; {rows['repeat'].nunique()} repeats.", **axes)  # fmt: skip


def curves(rows: pd.DataFrame, modes: tuple[str, ...]) -> list[dict[str, object]]:
    """Loss by step, one line for each way to a gradient: geometric means over repeats."""
    found = []
    for mode in modes:
        own = rows[(rows["mode"] == mode).to_numpy()]
        if len(own):
            mean = np.exp(np.log(np.maximum(own["loss"], 1e-14)).groupby(own["step"]).mean())
            found.append(styled(ROLES[mode], type="scatter", mode="lines", x=mean.index.to_numpy(), y=mean.to_numpy(),
                                name=mode, hovertemplate="%{y:.3g} mV² at step %{x}<extra></extra>"))  # fmt: skip
    return found


@study.view("What training reaches", tab="Training")
def training(fit: Result | None) -> Figure:
    """Loss of the fitted densities by exact gradients, by frozen ones and by differences."""
    axes = {"xaxis": axis("Step of Adam"), "yaxis": axis("Mean square error (mV²)", type="log")}
    rows, ends = rows_of(fit, "fits"), rows_of(fit, "ends")
    if rows is None:
        return drawn([], "What training reaches", "Appears when the densities are fitted.", **axes)
    title = f"{rows['step'].max()} steps so far"
    if ends is not None and {"exact", "frozen"} <= set(ends["mode"]):
        last = np.exp(np.log(np.maximum(ends["last"], 1e-14)).groupby(ends["mode"]).mean())
        title = f"Exact gradients reach {last['exact']:.2g} mV², frozen ones {last['frozen']:.2g} mV²"
    return drawn(curves(rows, ("differences", "frozen", "exact")), title,
                 f"Sodium, potassium and leak of the whole neuron; mean of {rows['repeat'].nunique()} starts.",
                 **axes)  # fmt: skip


@study.view("Where fits end", tab="Fits")
def fits(fit: Result | None) -> pd.DataFrame | str:
    """Each fit: its error, its error at another current, and its densities over the teacher's."""
    rows = rows_of(fit, "ends")
    if rows is None:
        return "Appears when the densities are fitted: errors on the fitted trace and on another, and densities."
    table = rows.rename(columns={
        "first": "error before (mV²)", "last": "error after (mV²)", "held_out": "at 1.25 × the current (mV²)",
        "sodium": "sodium over teacher’s", "potassium": "potassium", "leak": "leak",
    }).round(4)  # fmt: skip
    own = rows[(rows["mode"] == "exact").to_numpy()]
    table.attrs["title"] = f"Exact gradients lower the error {float((own['first'] / own['last']).median()):.3g}-fold"
    table.attrs["subtitle"] = "Several sets of densities can fit one trace; the other current judges them."
    return table


@study.view("The circuit", tab="Circuit")
def circuit_now(circuit: Circuit, driven_place: int, drive: float) -> Figure:
    """Every neuron over 30 ms while one is driven from 2 ms on."""
    count = round(CIRCUIT_MS / CIRCUIT_DT) if len(circuit.cable) < 2000 else 60
    leak = np.add.reduceat(circuit.cable.leak / circuit.cable.per_area, circuit.soma)
    current = np.where(np.arange(count) * CIRCUIT_DT >= 2.0, drive * leak[driven_place], 0.0)
    v = cable_steps(
        circuit.cable, drive_of(circuit.soma[driven_place], current, CIRCUIT_DT), circuit.synapses,
        start=circuit.cable.leak_reversal[:, None], record=circuit.soma,
    ).v[:, :, 0]  # fmt: skip
    moved = v[-1] - v[0]
    order = np.argsort(-np.abs(moved))[:40]
    t = np.arange(0, count + 1, 2) * CIRCUIT_DT
    trace = {"type": "heatmap", "z": v[::2, order].T, "x": t, "y": [circuit.names[i] for i in order], "zmin": -70,
             "zmax": 20, "colorscale": "Viridis", "colorbar": {"title": {"text": "mV"}, "thickness": 10},
             "hovertemplate": "%{y}: %{z:.1f} mV at %{x:.1f} ms<extra></extra>"}  # fmt: skip
    name = circuit.names[driven_place]
    many = int((np.abs(moved) > 1).sum())
    return drawn(
        [trace], f"{name} moves {many} of {len(circuit.names)} neurons by more than 1 mV in {t[-1]:.0f} ms",
        f"{len(circuit.weight):,} graded synapses and {len(circuit.synapses.gap) // 2:,} gap junctions; the 40 neurons "
        "that move most.",
        xaxis=axis("Time (ms)"), yaxis=axis("", autorange="reversed", showgrid=False), margin={"l": 70},
    )  # fmt: skip


@study.view("Training the circuit", tab="Circuit training")
def circuit_training(train: Result | None) -> Figure:
    """Error of the circuit's voltages over steps, by both adjoints."""
    axes = {"xaxis": axis("Step of Adam"), "yaxis": axis("Mean square error (mV²)", type="log")}
    rows, ends = rows_of(train, "fits"), rows_of(train, "ends")
    if rows is None:
        return drawn([], "Training the circuit", "Appears when the circuit is trained.", **axes)
    title, subtitle = f"{rows['step'].max()} steps so far", ""
    if ends is not None:
        own = ends[(ends["mode"] == "exact").to_numpy()]
        title = (
            f"On other patterns the error falls to {100 * float((own['held_last'] / own['held_first']).mean()):.0f} % "
            "of what it was"
        )
        subtitle = (
            f"{own['synapses'].iloc[0]:,} weights; both gradients’ cosine at the start is {own['cosine'].mean():.3f}; "
            f"the tape keeps {own['tape'].mean():.0f} MB."
        )
    return drawn(curves(rows, ("frozen", "exact")), title, subtitle, **axes)


@study.view("Traces of the trained circuit", tab="Circuit traces")
def circuit_traces(train: Result | None) -> Figure:
    """The driven neuron, and the two that were furthest off: teacher, before and after, on a pattern not trained on."""
    axes = {"xaxis": axis("Time (ms)"), "yaxis": axis("Voltage (mV)")}
    rows = rows_of(train, "traces")
    if rows is None:
        return drawn([], "Traces of the trained circuit", "Appears when the circuit is trained.", **axes)
    name = str(rows.loc[(rows["before"] - rows["teacher"]).abs().idxmax(), "neuron"])
    own = rows[(rows["neuron"] == name).to_numpy()]
    off = {c: float((own[c] - own["teacher"]).abs().max()) for c in ("before", "after")}
    found = [
        styled(role, type="scatter", mode="lines", x=own["t"], y=own[column], name=column)
        for column, role in (("before", "reference"), ("teacher", "predicted"), ("after", "yours"))
    ]
    return drawn(found, f"{name} was up to {off['before']:.1f} mV off, and is {off['after']:.1f} mV off after training",
                 "A pattern of currents that was not trained on.", **axes)  # fmt: skip
