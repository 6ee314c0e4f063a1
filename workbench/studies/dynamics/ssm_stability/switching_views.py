"""What is seen of a switching system: what its state does, what certifies it or refutes it."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from assay.dynamics.state_space import (
    Judged,
    gated_delta_vertices,
    held,
    judge_switching,
    legs_matrix,
    lyapunov_exponents,
    pair_has_lyapunov,
    quarter_turn_pair,
    read_lpv,
    transpose_pair,
)
from workbench.sources import Source
from workbench.studies.dynamics.ssm_stability.controls import SYSTEMS, study
from workbench.studies.dynamics.ssm_stability.model_views import digits, log_axis
from workbench.study import Result, Stat
from workbench.theme import Figure, axis, drawn, handle, styled

Rows = tuple[tuple[float, ...], ...]
SHOWN_TURNS = 240  # steps of a trajectory in the portrait
AT_ONCE = 3, 4  # states and matrices of a system that is judged while one looks; a larger one takes a run
CORNERS = "top right", "top left", "bottom left", "top center"
LATER = "With {} matrices of {} states this takes a run: “Judge the system at hand”"


@dataclass(frozen=True, eq=False)
class System:
    """A switching system with its name; discrete or continuous; a trajectory of the user's, or None."""

    name: str
    A: np.ndarray
    kind: str
    h: np.ndarray | None
    notes: tuple[str, ...]


@study.prepared
def switching(system: str, vertices: Source | None, time: str, first: Rows, second: Rows) -> System:
    """The system that is looked at: the user's own file before the one chosen."""
    if vertices is not None and vertices.path is not None:
        read = read_lpv(vertices.path)
        return System(vertices.name, read.A, read.kind, read.h, read.unstable)
    keys = np.random.default_rng(0).standard_normal((2, 2))
    keys /= np.linalg.norm(keys, axis=1)[:, None]
    A, kind = {
        "own": (np.array([first, second], dtype=np.float64), time),
        "shear": (transpose_pair(), "discrete"),
        "spirals": (quarter_turn_pair(), "continuous"),
        "legs": (np.stack([legs_matrix(2), 3 * legs_matrix(2)]), "continuous"),
        "delta": (gated_delta_vertices(np.array([0.97, 0.9]), keys, 1.9), "discrete"),
    }[system]
    notes = []
    for i, M in enumerate(A):
        values = np.linalg.eigvals(M)
        worst = float(values.real.max()) if kind == "continuous" else float(np.abs(values).max())
        if worst >= (0 if kind == "continuous" else 1):
            what = "spectral abscissa" if kind == "continuous" else "spectral radius"
            notes.append(f"A{i + 1} alone has {what} {digits(worst)}: it grows without any switching.")
    return System(SYSTEMS[system], A, kind, None, tuple(notes))


@study.prepared
def judged(switching: System, products: int, solver: str, target: float) -> Judged | None:
    """Certified, refuted or open; None where that takes a run."""
    if switching.A.shape[1] > AT_ONCE[0] or len(switching.A) > AT_ONCE[1]:
        return None
    return judge_switching(
        switching.A, kind=switching.kind, max_length=products, solver=solver, target=target or None
    )  # fmt: skip


def step_lists(system: System, judged: Judged | None, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Steps (n, n) of a switching: the product that refutes where there is one, else one that picks what grows most."""
    if judged is not None and judged.word:
        # The rightmost factor acts first; a flow is drawn in eighths of each time that it is held.
        made = []
        for i, time in zip(reversed(judged.word), reversed(judged.durations), strict=True):
            made += [held(system.A[i], time / 8)] * 8 if system.kind == "continuous" else [system.A[i]]
        return [made[i % len(made)] for i in range(count)]
    if system.kind == "continuous":
        fast = max(float(np.abs(np.linalg.eigvals(M)).max()) for M in system.A)
        steps = [held(M, 0.15 / fast) for M in system.A]
    else:
        steps = list(system.A)
    return [steps[i] for i in rng.integers(len(steps), size=count)]


def greedy(system: System, start: np.ndarray, count: int, P: np.ndarray) -> np.ndarray:
    """(count + 1, n) a trajectory that takes at each step the matrix that leaves the largest norm h'Ph."""
    if system.kind == "continuous":
        fast = max(float(np.abs(np.linalg.eigvals(M)).max()) for M in system.A)
        steps = np.stack([held(M, 0.15 / fast) for M in system.A])
    else:
        steps = system.A
    h, out = start, [start]
    for _ in range(count):
        each = steps @ h
        h = each[int(np.einsum("mi,ij,mj->m", each, P, each).argmax())]
        out.append(h)
    return np.array(out)


def followed(steps: list[np.ndarray], start: np.ndarray, until: float) -> np.ndarray:
    """(T, n) a trajectory, cut where it leaves a circle."""
    h, out = start, [start]
    for step in steps:
        h = step @ h
        out.append(h)
        if np.linalg.norm(h) > until:
            break
    return np.array(out)


def worst_start(steps: list[np.ndarray], n: int) -> np.ndarray:
    """A state that a periodic product stretches most: its leading eigenvector."""
    product = np.eye(n)
    for step in steps:
        product = step @ product
    values, vectors = np.linalg.eig(product)
    lead = vectors[:, int(np.abs(values).argmax())]
    real = lead.real if np.linalg.norm(lead.real) > 1e-6 else lead.imag
    return real / np.linalg.norm(real)


STATUS = {
    "CERTIFIED": "CERTIFIED: no switching makes it grow",
    "REFUTED": "REFUTED: a switching makes it grow",
    "OPEN": "OPEN: neither certified nor refuted",
}


@study.view(
    "The switching lab", tab="Switching lab",
    equation=r"\exists P \succ 0:\; A_i^{\top} P A_i \prec r^2 P \;\Rightarrow\; \|h_t\|_P \le r^t \|h_0\|_P",
)  # fmt: skip
def lab(switching: System, judged: Judged | None) -> Figure:
    """Trajectories under switching, with the ellipse that they cannot leave, or the product that carries them away."""
    A, n = switching.A, switching.A.shape[1]
    if n != 2 or judged is None:
        return norms_figure(switching, judged)
    traces: list[dict[str, Any]] = []
    P = judged.certificate.P
    certified = judged.status == "CERTIFIED"
    # The ellipse of h'Ph through (1, 0) and beyond: its points are L^-T of the circle.
    ring = np.linspace(0, 2 * np.pi, 181)
    circle = np.stack([np.cos(ring), np.sin(ring)])
    ellipse = np.linalg.solve(np.linalg.cholesky(P).T, circle)
    ellipse /= np.linalg.norm(ellipse, axis=0).max()
    grid = np.linspace(-1, 1, 7)
    for i, M in enumerate(A[:4]):
        # A matrix alone: short arrows of where it takes a state.
        x, y = [], []
        for p in grid:
            for q in grid:
                step = (M @ [p, q]) if switching.kind == "continuous" else (M @ [p, q] - [p, q])
                step = 0.12 * step / max(float(np.linalg.norm(step)), 1e-9)
                x += [p, p + step[0], None]
                y += [q, q + step[1], None]
        traces.append(
            styled(f"series_{2 + i}", type="scatter", mode="lines", x=x, y=y, name=f"A{i + 1} alone", opacity=0.55,
                   line={"width": 1}, hoverinfo="skip")
        )  # fmt: skip
    if certified:
        traces.append(
            styled("predicted", type="scatter", mode="lines", x=ellipse[0], y=ellipse[1], hoverinfo="skip",
                   name="ellipse h′Ph, never left outward")
        )  # fmt: skip
        starts = [ellipse[:, k] for k in (0, 60, 120)]
        paths = [greedy(switching, s, SHOWN_TURNS, P) for s in starts]
        label = "switched to grow most"
    elif judged.word:
        period = sum(8 if switching.kind == "continuous" else 1 for _ in judged.word)
        steps = step_lists(switching, judged, SHOWN_TURNS, np.random.default_rng(0))
        start = worst_start(steps[:period], 2) * 0.05
        paths, label = [followed(steps, start, 1.4)], "the product that refutes"
    else:
        paths, label = [greedy(switching, np.array(s), SHOWN_TURNS, P) for s in ((0.5, 0.0), (0.0, 0.5))], (
            "switched to grow most"
        )  # fmt: skip
    for k, path in enumerate(paths):
        path = path[np.linalg.norm(path, axis=1) < 1e3]
        traces.append(
            styled("yours", type="scatter", mode="lines", x=path[:, 0], y=path[:, 1], name=label,
                   showlegend=k == 0, line={"width": 2},
                   hovertemplate="h = (%{x:.3g}, %{y:.3g})<extra></extra>")
        )  # fmt: skip
    return drawn(
        traces,
        STATUS[judged.status],
        said_of(switching, judged),
        xaxis=axis("h₁", range=[-1.35, 1.35], zeroline=True),
        yaxis=axis("h₂", range=[-1.35, 1.35], scaleanchor="x", zeroline=True),
    )


def said_of(system: System, judged: Judged) -> str:
    """The line below a status."""
    rate = judged.certificate.rate
    if judged.status == "CERTIFIED":
        decays = f"r = {digits(rate)} a step" if system.kind == "discrete" else f"rate {digits(rate)} at any step size"
        return f"{system.name}: shrinks in the norm of P by {decays}; κ(P) = {digits(judged.certificate.kappa)}."
    if judged.status == "REFUTED":
        word = " · ".join(f"A{i + 1}" for i in judged.word)
        during = "" if system.kind == "discrete" else (
            " held for " + ", ".join(digits(t) for t in judged.durations)
        )  # fmt: skip
        return f"{system.name}: {word}{during} multiplies a state by {digits(judged.growth)} each time."
    radius = judged.radius
    return (
        f"{system.name}: the best quadratic rate is {digits(rate)}; products of up to {radius.length} factors grow by "
        f"{digits(radius.lower)} a factor at most. That proves nothing either way."
    )


def norms_figure(system: System, judged: Judged | None) -> Figure:
    """A system that is no plane: norms of its trajectories over time, and what is certified of them."""
    rng = np.random.default_rng(0)
    n = system.A.shape[1]
    traces: list[dict[str, Any]] = []
    ends = []
    for k in range(6):
        steps = step_lists(system, judged, 120, rng)
        start = rng.standard_normal(n)
        h = followed(steps, start / np.linalg.norm(start), 1e12)
        size = np.linalg.norm(h, axis=1)
        ends.append(lyapunov_exponents(np.stack(steps))[0])
        traces.append(
            styled("yours", type="scatter", mode="lines", x=np.arange(len(size)), y=np.maximum(size, 1e-12),
                   name="switched", showlegend=k == 0, opacity=0.6,
                   hovertemplate="step %{x}: %{y:.3g}<extra></extra>")
        )  # fmt: skip
    title, said = LATER.format(len(system.A), n), f"{system.name}, {system.kind}."
    if judged is not None:
        title, said = STATUS[judged.status], said_of(system, judged)
        if judged.status == "CERTIFIED" and system.kind == "discrete":
            t = np.arange(121)
            promised = np.sqrt(judged.certificate.kappa) * judged.certificate.rate**t
            traces.append(styled("predicted", type="scatter", mode="lines", x=t, y=promised, name="promised"))
    return drawn(
        traces,
        title,
        f"{said} Largest exponent seen: {digits(max(ends))} a step.",
        xaxis=axis("Step"),
        yaxis=log_axis("|h| (log; start 1)"),
    )


def range_for(A: np.ndarray) -> float:
    """A round number that entries stay well inside of: a few digits times a power of ten."""
    top = max(1.2 * float(np.abs(A).max()), 0.1)
    power = 10.0 ** np.floor(np.log10(top))
    return min(105.0, float(power * min(k for k in (1, 1.5, 2, 3, 5, 7.5, 10) if k * power >= top)))


@study.view("The two matrices", tab="Matrices", equation=r"A_i = \big(A_i e_1,\; A_i e_2\big)")
def matrices(switching: System, system: str, vertices: Source | None) -> Figure:
    """Where each matrix sends (1, 0) and (0, 1): points to hold and move; of more states, its eigenvalues."""
    A, n = switching.A, switching.A.shape[1]
    continuous = switching.kind == "continuous"
    values = [np.linalg.eigvals(M) for M in A]
    alone = [float(v.real.max()) if continuous else float(np.abs(v).max()) for v in values]
    calm = sum(worst < (0 if continuous else 1) for worst in alone)
    name = "largest real part" if continuous else "spectral radius"
    said = ", ".join(f"A{i + 1} {digits(worst)}" for i, worst in enumerate(alone[:6]))
    title = (
        "Each matrix alone decays" if calm == len(A)
        else "No matrix decays alone" if not calm else f"{calm} of {len(A)} matrices decay alone"
    )  # fmt: skip
    traces: list[dict[str, Any]] = []
    if n != 2:
        for i, v in enumerate(values[:8]):
            traces.append(
                styled(f"series_{1 + i}", type="scatter", mode="markers", x=v.real, y=v.imag, name=f"A{i + 1}",
                       hovertemplate="%{x:.3g} + %{y:.3g} i<extra></extra>")
            )  # fmt: skip
        ring = np.linspace(0, 2 * np.pi, 121)
        edge = {"x": [0, 0], "y": [-1, 1]} if continuous else {"x": np.cos(ring), "y": np.sin(ring)}
        traces.append(styled("null", type="scatter", mode="lines", hoverinfo="skip", name="edge of decay", **edge))
        return drawn(
            traces, title, f"Eigenvalues of {switching.name}; {name}: {said}.",
            xaxis=axis("Real part"), yaxis=axis("Imaginary part", scaleanchor="x"),
        )  # fmt: skip
    own = system == "own" and vertices is None
    for i, M in enumerate(A[:4]):
        for j in range(2):
            x, y = float(M[0, j]), float(M[1, j])
            role = f"series_{2 + i}"
            traces.append(
                styled(role, type="scatter", mode="lines", x=[0, x], y=[0, y], name=f"A{i + 1}", showlegend=j == 0,
                       line={"dash": "solid" if j == 0 else "dot"}, hoverinfo="skip")
            )  # fmt: skip
            point = styled(
                "yours" if own else role, type="scatter", mode="markers+text", x=[x], y=[y], showlegend=False,
                text=[f"A{i + 1} e{j + 1}"], textposition=CORNERS[(2 * i + j) % 4], name=f"A{i + 1} e{j + 1}",
                cliponaxis=False,
                hovertemplate=f"A{i + 1} e{j + 1} = (%{{x:.3g}}, %{{y:.3g}})<extra></extra>",
            )  # fmt: skip
            control = ("first", "second")[i] if own else ""
            traces.append(handle(point, x=(control, 0, j), y=(control, 1, j)) if own else point)
    limit = range_for(A[:4])
    how = "Hold a diamond and move it" if own else "Choose “The two matrices below” to move them"
    return drawn(
        traces,
        title,
        f"{switching.name}; {name}: {said}. {how}.",
        xaxis=axis("First entry of a column", range=[-limit, limit], zeroline=True),
        yaxis=axis("Second entry of a column", range=[-limit, limit], scaleanchor="x", zeroline=True),
    )


@study.view("The system in numbers", tab="System")
def lab_numbers(switching: System, judged: Judged | None) -> list[Stat]:
    """What the solver found, what the check made of it, and what products say."""
    if judged is None:
        m, n = switching.A.shape[:2]
        return [
            Stat("matrices", f"{m}", f"of {n} states, {switching.kind}"),
            *(Stat("note", note) for note in switching.notes[:3]),
        ]
    certificate, radius = judged.certificate, judged.radius
    discrete = switching.kind == "discrete"
    found = [
        Stat("status", judged.status),
        Stat("matrices", f"{len(switching.A)}", f"of {switching.A.shape[1]} states, {switching.kind}"),
        Stat("rate of P, checked", digits(certificate.rate), "a step" if discrete else "per unit of time"),
        Stat("κ(P)", digits(certificate.kappa)),
        Stat("margin of the check", digits(certificate.margin), "of the largest entry"),
        Stat("checked in rational numbers", "yes" if certificate.exact else "no, in float64 rounded outward"),
        Stat("products grow by at least", digits(radius.lower), "a factor"),
    ]
    if discrete:
        upper = min(radius.upper, certificate.rate)
        found.append(Stat("and by at most", digits(upper), "a factor"))
    if judged.word:
        found.append(Stat("product", " · ".join(f"A{i + 1}" for i in judged.word), f"radius {digits(judged.growth)}"))
        found.append(Stat("decided in rational numbers", "yes" if judged.exact else "no, in float64"))
    A = switching.A
    if not discrete and A.shape == (2, 2, 2) and all(np.linalg.eigvals(M).real.max() < 0 for M in A):
        found.append(Stat("exact criterion of two states", "has one" if pair_has_lyapunov(A[0], A[1]) else "has none"))
    if switching.h is not None:
        found.append(Stat("your trajectory", *trajectory_said(switching, judged)))
    found += [Stat("note", note) for note in switching.notes[:3]]
    return found


@study.view("The verdict of a run", tab="Verdict")
def verdict(judge: Result | None) -> list[Stat] | str:
    """What a run found of the system at hand, whatever its size."""
    if judge is None or not len(judge.tables["verdict"]):
        return "Appears when the system at hand is judged; one of many states takes a run."
    row = dict(judge["verdict"].iloc[0])
    found = [
        Stat("status", row["status"]),
        Stat("matrices", str(row["matrices"]), f"of {row['states']} states, {row['system']}"),
        Stat("rate of P, checked", digits(float(row["rate"]))),
        Stat("κ(P)", digits(float(row["kappa"]))),
        Stat("margin of the check", digits(float(row["margin"]))),
        Stat("products grow by at least", digits(float(row["grows"])), "a factor"),
    ]
    if row["product"]:
        found.append(Stat("product", row["product"]))
    if row["trajectory"]:
        found.append(Stat("your trajectory", row["trajectory"]))
    return found


def trajectory_said(system: System, judged: Judged) -> tuple[str, str]:
    """Whether a trajectory (T, n) shrinks in the norm of P as it is promised."""
    assert system.h is not None
    P = judged.certificate.P
    size = np.sqrt(np.einsum("ti,ij,tj->t", system.h, P, system.h))
    ratio = size[1:] / np.maximum(size[:-1], 1e-300)
    allowed = judged.certificate.rate if system.kind == "discrete" else 1.0
    over = int((ratio > allowed * (1 + 1e-9)).sum())
    return f"{over} of {len(ratio)} steps", f"grow by more than {digits(allowed)} in the norm of P"


@study.view("Systems of more states", tab="Sizes")
def sizes(certify: Result | None) -> pd.DataFrame | str:
    """Certificates of known systems by size, with what theory says of them, once they were made."""
    if certify is None or not len(certify.tables["systems"]):
        return "Appears when systems are certified: rates found, what theory says, margins of the check."
    rows = certify["systems"]
    found = rows[["system", "states", "status", "rate", "known", "kappa", "margin"]].copy()
    for name in ("rate", "known", "kappa", "margin"):
        found[name] = [float(f"{v:.4g}") for v in found[name]]
    found["took"] = [f"{t:.2f} s" for t in rows["took"]]
    good = int((rows["status"] == "CERTIFIED").sum())
    found.attrs["title"] = (
        f"{good} of {len(rows)} systems are certified, the largest of {int(rows['states'].max())} states"
    )
    found.attrs["subtitle"] = "Rate: a step where discrete, per unit of time where continuous. Known: by the identity."
    return found
