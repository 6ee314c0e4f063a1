"""The neuron at work: its membrane at a moment, its traces, and both gradients of a loss."""

from __future__ import annotations

import numpy as np

from assay.dynamics.cables import Tree, drive_of, spike_times
from assay.kernels import CableRun, cable_steps
from workbench.studies.dynamics.heliox.controls import Student, loss_of, study
from workbench.study import Stat
from workbench.theme import Figure, axis, drawn, styled

NAMES = ("sodium", "potassium", "leak")
BINS = 8  # of the current, whose gradients are compared with differences


def farthest(tree: Tree) -> int:
    """The compartment that is farthest from the root along the tree."""
    own = tree.compartments
    return int(own[tree.distance[own].argmax()])


@study.view("The membrane at a moment", tab="Membrane")
def membrane_at(seen: CableRun, tree: Tree, dt: float, instant: float) -> Figure:
    """Voltage of every compartment at the moment that is set, on the neuron seen from the front."""
    step = min(round(instant / dt), len(seen.voltages) - 1)
    v = seen.voltages[step, :, 0]
    own = tree.compartments
    if len(own) > 3000:
        own = own[:: -(-len(own) // 3000)]
    span = float(np.ptp(seen.voltages[:, tree.compartments, 0]))
    low, high = (-80.0, 40.0) if span > 40 else (float(seen.voltages.min()), float(seen.voltages.max()) + 1e-3)
    size = np.clip(2 + 3.2 * np.sqrt(tree.radius[own]), 3, 16)
    trace = {
        "type": "scatter", "mode": "markers", "x": tree.xyz[own, 0], "y": tree.xyz[own, 1], "showlegend": False,
        "customdata": tree.distance[own], "text": v[own],
        "hovertemplate": "%{text:.1f} mV<br>%{customdata:.0f} µm from the root<extra></extra>",
        "marker": {"size": size, "color": v[own], "cmin": low, "cmax": high, "colorscale": "Viridis",
                   "line": {"width": 0}, "colorbar": {"title": {"text": "mV"}, "thickness": 10}},
    }  # fmt: skip
    up = float((v[tree.compartments] > -20).mean())
    title = (
        f"At {step * dt:.1f} ms {100 * up:.0f} % of the membrane is above −20 mV" if up
        else f"At {step * dt:.1f} ms the membrane lies between {v.min():.0f} and {v.max():.0f} mV"
    )  # fmt: skip
    return drawn(
        [trace], title, f"{tree.name}, {len(tree.compartments):,} compartments; the current enters at the soma.",
        xaxis=axis("x (µm)", scaleanchor="y", showgrid=False, zeroline=False),
        yaxis=axis("y (µm)", showgrid=False, zeroline=False),
    )  # fmt: skip


@study.view("Traces", selects={"x": "instant"}, tab="Traces")
def traces(seen: CableRun, tree: Tree, dt: float, window: float, instant: float, scheme: str) -> Figure:
    """Voltage at the soma and at the farthest tip; drag the line to a moment."""
    t = np.arange(len(seen.voltages)) * dt
    keep = np.unique(np.linspace(0, len(t) - 1, min(len(t), 1500)).astype(int))
    tip = farthest(tree)
    soma = seen.voltages[:, tree.soma, 0]
    lines = [
        styled("reference", type="scatter", mode="lines", x=t[keep], y=seen.voltages[keep, tip, 0],
               name=f"tip, {tree.distance[tip]:.0f} µm away"),
        styled("yours", type="scatter", mode="lines", x=t[keep], y=soma[keep], name="soma"),
    ]  # fmt: skip
    fired = spike_times(soma, dt, -20.0)
    often = f"{len(fired)} spike{'s' if len(fired) != 1 else ''}"
    title = f"The soma fires {often}, first at {fired[0]:.2f} ms" if len(fired) else (
        f"The soma does not fire; it reaches {soma.max():.0f} mV"
    )  # fmt: skip
    cut = f" Only the first {t[-1]:.1f} of {window:g} ms are simulated while you wait." if t[-1] < window - dt else ""
    at = min(instant, float(t[-1]))
    return drawn(
        lines, title, f"{'Implicit Euler' if scheme == 'euler' else 'Crank–Nicolson'}, steps of {dt:g} ms.{cut}",
        xaxis=axis("Time (ms)", range=[0, float(t[-1])]), yaxis=axis("Voltage (mV)"),
        shapes=[{"type": "line", "name": "yours", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper"}],
    )  # fmt: skip


def angle(a: np.ndarray, b: np.ndarray) -> float:
    """Degrees between two arrows; 0 where one has no length."""
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.degrees(np.arccos(np.clip(a @ b / size, -1, 1)))) if size > 0 else 0.0


@study.view(
    "Which way the gradient points",
    equation=r"\nu \leftarrow (\partial y^+ / \partial y)^{\top}\nu - w\,\partial I / \partial y",
    tab="Arrow",
)  # fmt: skip
def arrow(student: Student, adjoint: str, loss: str) -> Figure:
    """Downhill in sodium and potassium by the exact and by the frozen adjoint, each as long as the other."""
    exact, frozen = (-student.densities(g) for g in (student.exact, student.frozen))
    axes = {
        "xaxis": axis("Downhill in log sodium", range=[-1.3, 1.3], zeroline=True),
        "yaxis": axis("Downhill in log potassium", range=[-1.3, 1.3], zeroline=True, scaleanchor="x"),
    }
    pair = [(v[:2], float(np.linalg.norm(v[:2]))) for v in (exact, frozen)]
    if not all(size > 0 for _, size in pair):
        return drawn([], "Without both channels, or without a loss, there is no arrow to compare",
                     "Switch sodium and potassium on, or ask for two spikes.", **axes)  # fmt: skip
    between = angle(exact, frozen)
    ratio = float(np.linalg.norm(frozen) / np.linalg.norm(exact))
    found, notes = [], []
    for (v, size), name, mine, far in zip(
        pair, ("exact", "frozen"), (adjoint != "frozen", adjoint == "frozen"), (1.1, 1.25), strict=True
    ):
        x, y = v / size
        found.append(
            styled("yours" if mine else "reference", type="scatter", mode="lines+markers", x=[0, x], y=[0, y],
                   name=name,
                   marker={"size": [0, 14], "symbol": "arrow", "angleref": "previous", "line": {"width": 0}},
                   hovertemplate=f"{name}<extra></extra>")
        )  # fmt: skip
        notes.append({"text": name, "x": far * x, "y": far * y, "showarrow": False})
    what = "The trace’s loss" if loss == "trace" else "The spikes’ loss"
    return drawn(
        found, f"The frozen gradient turns {between:.0f}° away from the exact one",
        f"{what} is {student.loss:.3g}{' mV²' if loss == 'trace' else ''}; the frozen gradient is {ratio:.2g} times as "
        "long. Angle over all three densities.",
        **axes, annotations=notes, showlegend=False,
    )  # fmt: skip


@study.view("Do gradients agree with differences?", tab="Agreement")
def agreement(student: Student, adjoint: str, dt: float, loss: str, surrogate: str, width: float) -> Figure:
    """Gradients of the current in eight pieces of the window, against central differences of the same loss."""
    own = student
    edges = np.linspace(0, own.drive.steps, BINS + 1).astype(int)
    h = 1e-4
    current = np.repeat(own.drive.current, 2 * BINS, 2)
    for j in range(BINS):
        current[edges[j] : edges[j + 1], 0, 2 * j] += h
        current[edges[j] : edges[j + 1], 0, 2 * j + 1] -= h
    theta = "euler" if own.drive.theta == 1 else "crank-nicolson"
    v = cable_steps(own.cable, drive_of(own.drive.nodes, current, dt, theta), record=own.run.record).v
    value, _ = loss_of(loss, v, own.target, surrogate, width)
    differences = (value[0::2] - value[1::2]) / (2 * h)
    found, scale = [], 1e-300
    apart = {}
    for name, g in (("exact", own.exact), ("frozen", own.frozen)):
        pieces = np.add.reduceat(g.current[:, 0, 0], edges[:-1])
        apart[name] = float(np.linalg.norm(pieces - differences) / max(float(np.linalg.norm(differences)), 1e-300))
        scale = max(scale, float(np.abs(pieces).max()), float(np.abs(differences).max()))
        mine = (adjoint == "frozen") == (name == "frozen")
        found.append(styled("yours" if mine else "series_2", type="scatter", mode="markers", x=differences, y=pieces,
                            name=name, hovertemplate="%{x:.3g} and %{y:.3g}<extra></extra>"))  # fmt: skip
    line = [-1.05 * scale, 1.05 * scale]
    found.insert(0, styled("null", type="scatter", mode="lines", x=line, y=line, name="equal", hoverinfo="skip"))
    unit = "mV²/nA" if loss == "trace" else "1/nA"
    if loss == "spikes":
        title = "Spikes have no derivative: differences are 0 or jump, surrogates give a slope"
    else:
        title = f"Exact lies on differences to {apart['exact']:.1g}; frozen is off by {100 * apart['frozen']:.0f} %"
    return drawn(
        found, title, f"{BINS} pieces of the current into the soma, {own.drive.steps} steps.",
        xaxis=axis(f"By differences ({unit})", range=line), yaxis=axis(f"By the adjoint ({unit})", range=line),
    )  # fmt: skip


@study.view("How gradients grow backwards", tab="Growth")
def growth(student: Student, dt: float, adjoint: str, tree: Tree) -> Figure:
    """Largest gradient of any voltage, step by step backwards; a spike's upstroke multiplies it."""
    t = np.arange(student.drive.steps) * dt
    found, gain = [], {}
    for name, g in (("exact", student.exact), ("frozen", student.frozen)):
        size = np.maximum(g.size[:, 0], 1e-18)
        gain[name] = float(size.max() / max(size[-1], 1e-18))
        mine = (adjoint == "frozen") == (name == "frozen")
        found.append(styled("yours" if mine else "reference", type="scatter", mode="lines", x=t, y=size, name=name))
    top = max(float(np.log10(max(g.size.max(), 1e-17))) for g in (student.exact, student.frozen))
    clipped = student.exact.clipped + student.frozen.clipped
    return drawn(
        found, f"Backwards, exact grows {gain['exact']:.2g}-fold, frozen {gain['frozen']:.2g}-fold",
        f"{clipped} steps were clipped." if clipped else "Nothing was clipped.",
        xaxis=axis("Time (ms)"), yaxis=axis("Largest |∂L/∂V| (loss/mV)", type="log", range=[top - 9, top + 0.5]),
    )  # fmt: skip


@study.view("The gradient in numbers", tab="Gradient")
def gradient_numbers(student: Student, adjoint: str, loss: str) -> list[Stat]:
    """Gradients by the logarithm of each density, and what their tapes keep."""
    unit = "mV²" if loss == "trace" else ""
    exact, frozen = student.densities(student.exact), student.densities(student.frozen)
    told = [Stat("loss", f"{student.loss:.4g}", unit)]
    for name, a, b in zip(NAMES, exact, frozen, strict=True):
        told += [Stat(f"{name}, exact", f"{a:.4g}", unit), Stat(f"{name}, frozen", f"{b:.4g}", unit)]
    told.append(Stat("tape, exact", f"{student.run.tape_bytes / 1e6:.2f}", "MB"))
    told.append(Stat("tape, frozen", f"{student.run.voltages.nbytes / 1e6:.2f}", "MB"))
    return told
