"""What is run without a model: one system sampled, errors over length, systems that switch or are certified."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import time
from typing import Any

import numpy as np

from assay.dynamics.state_space import (
    METHODS,
    channel_states,
    common_lyapunov,
    gated_delta_vertices,
    held,
    joint_spectral_radius,
    judge_switching,
    legs_matrix,
    lyapunov_matrix,
    pair_has_lyapunov,
    quarter_turn_pair,
    transpose_pair,
)
from workbench.studies.dynamics.ssm_stability.controls import study
from workbench.studies.dynamics.ssm_stability.length_views import rates_of, synthetic_errors
from workbench.studies.dynamics.ssm_stability.switching_views import System, said_of, trajectory_said
from workbench.study import Run, exact, note, numeric, statistical, timing

TRAJECTORIES, TURNS = 24, 80


@study.experiment(
    "Sample one linear system",
    tables={
        "layers": {
            "draw": exact("int"),
            "method": exact("str"),
            "steps": exact("int"),
            "apart": numeric(doc="Largest distance of a state from the linear system’s, over its largest value."),
            "peak": numeric(doc="Largest |h| a over sup|v|."),
        }
    },
    cost={"quick": 0.5, "standard": 1, "full": 10},
)
def sample_system(run: Run, pairs: int, spread: float) -> None:
    """Scans with drawn steps beside dh/dt = −a h + v integrated on its own, by matrix exponentials of held inputs."""
    for draw in run.progress(range(max(4, pairs // 2)), "layers"):
        rng = run.rng("sample", draw)
        T, N = 128, 8
        rates = np.geomspace(1e-2, 1e2, N)
        steps = np.logaddexp(0, rng.normal(-4.6, max(spread, 0.1), T))
        v = rng.standard_normal((T, N))
        exact_states = integrated(rates, steps, v)
        scale = np.abs(exact_states).max(0)
        for method in METHODS:
            h = channel_states(v, steps, rates, method=method)
            run.row(
                "layers", draw=draw, method=method, steps=T, apart=float((np.abs(h - exact_states) / scale).max()),
                peak=float((np.abs(h).max(0) * rates / np.abs(v).max(0)).max()),
            )  # fmt: skip


def integrated(rates: np.ndarray, steps: np.ndarray, v: np.ndarray) -> np.ndarray:
    """States of dh/dt = -a h + v at the ends of intervals of held input: the exponential of [[-a, v], [0, 0]]."""
    T, N = v.shape
    out = np.zeros((T, N))
    both = np.zeros((T, N, 2, 2))
    both[..., 0, 0] = -rates * steps[:, None]
    both[..., 0, 1] = v * steps[:, None]
    jump = held(both, 1.0)
    h = np.zeros(N)
    for t in range(T):
        h = jump[t, :, 0, 0] * h + jump[t, :, 0, 1]
        out[t] = h
    return out


@study.experiment(
    "Follow errors over length",
    tables={
        "regimes": {
            "regime": exact("str", doc="Decay rates: real, spread or integrator."),
            "method": exact("str"),
            "seed": exact("int"),
            "size": exact(),
            "slope": statistical(doc="Of log error over log length, last four fifths of the decades."),
            "samples": exact("int"),
            "over_linear": numeric(doc="Largest measured over the linear bound."),
            "over_uniform": numeric(doc="Largest measured over the bound for any length."),
            "crossing": numeric("tokens", "From which on the bound for any length is the smaller one."),
            "gap": numeric(doc="Linear bound over the other at the end."),
        }
    },
    cost={"quick": 1, "standard": 8, "full": 200},
)
def lengths(run: Run, longest: int, seeds: int, spread: float) -> None:
    """Changes before the softplus, random and one-sided, in layers that forget and in one that does not."""
    items = [
        {"regime": regime, "method": method, "seed": seed, "size": size, "longest": longest, "spread": spread}
        for regime in ("real", "spread", "integrator")
        for method in METHODS
        for seed in range(seeds)
        for size in (1e-3, 1e-1)
    ]
    for item, found in zip(items, run.map(followed_errors, items, "layers"), strict=True):
        run.row("regimes", **{k: v for k, v in item.items() if k not in ("longest", "spread")}, **found)


def followed_errors(run: Run, item: dict[str, Any]) -> dict[str, float]:
    """One layer, one size of change."""
    regime, length = str(item["regime"]), int(item["longest"])
    rng = run.rng("errors", regime, item["method"], item["seed"], item["size"])
    found = synthetic_errors(
        rates_of(regime, 1.0, 8), float(item["spread"]), 1.0, "pre", float(item["size"]), length,
        item["method"], "inf", rng, 4,
    )  # fmt: skip
    late = found.at >= max(8, int(length**0.2))
    slope = float(np.polyfit(np.log(found.at[late]), np.log(np.maximum(found.adversary[late], 1e-300)), 1)[0])
    linear, uniform = (sum(part[-1] for part in found.terms[form]) for form in ("linear", "uniform"))
    return {
        "slope": slope, "samples": found.samples, "over_linear": found.worst["linear"],
        "over_uniform": found.worst["uniform"], "crossing": found.crossing, "gap": float(linear / uniform),
    }  # fmt: skip


@study.experiment(
    "Switch random systems",
    tables={
        "flows": {
            "draw": exact("int"),
            "exact": exact("bool", doc="Whether a common function exists, by the criterion for two states."),
            "found": exact("bool", doc="Whether one was found and passed the check."),
            "rate": numeric(),
        },
        "steps": {
            "draw": exact("int"),
            "states": exact("int"),
            "status": exact("str"),
            "rate": numeric("per step"),
            "grows": numeric("per step", "Largest growth of a product that was found."),
            "alone": numeric("per step", "Largest spectral radius of a matrix alone."),
            "promise": numeric(doc="Largest |h_t| over sqrt(κ) r^t |h_0|, on switched trajectories."),
            "samples": exact("int", doc="States that were compared."),
        },
        "shared": {
            "system": exact("str"),
            "switchings": exact("int"),
            "growth": numeric(doc="Largest norm of a product of exp(Δ A) with drawn steps."),
        },
        "known": {
            "system": exact("str"),
            "alone": numeric(doc="Growth of each matrix alone, per step or turn."),
            "growth": numeric(doc="Growth of a period."),
            "status": exact("str"),
        },
    },
    cost={"quick": 3.5, "standard": 8, "full": 150},
)
def switch(run: Run, pairs: int) -> None:
    """Pairs of stable matrices: which are certified, which refuted, and whether certificates keep their promises."""
    for draw in run.progress(range(pairs), "flows"):
        A = stable_flow(run.rng("flow", draw))
        found = common_lyapunov(A, kind="continuous", refine=False)
        run.row("flows", draw=draw, exact=pair_has_lyapunov(A[0], A[1]), found=found.status == "CERTIFIED",
                rate=found.rate)  # fmt: skip
    for draw in run.progress(range(max(4, pairs // 2)), "steps"):
        rng = run.rng("step", draw)
        n = 2 + draw % 3
        A = rng.standard_normal((2, n, n))
        A *= rng.uniform(0.3, 0.95, 2)[:, None, None] / np.abs(np.linalg.eigvals(A)).max(axis=1)[:, None, None]
        judged = judge_switching(A, max_length=6)
        certificate = judged.certificate
        promise, samples = kept_promise(A, certificate.rate, certificate.kappa, rng)
        run.row(
            "steps", draw=draw, states=n, status=judged.status, rate=certificate.rate, grows=judged.radius.lower,
            alone=float(np.abs(np.linalg.eigvals(A)).max()), promise=promise, samples=samples,
        )  # fmt: skip
    rng = run.rng("shared")
    for name, A in (("HiPPO-LegS, 4 states", legs_matrix(4)), ("a spiral", quarter_turn_pair()[0]),
                    ("diagonal, as in Mamba", -np.diag([0.5, 1.0, 8.0]))):  # fmt: skip
        run.row("shared", system=name, switchings=pairs, growth=shared_growth(A, rng, pairs))
    for name, A, kind in (
        ("two spirals", quarter_turn_pair(), "continuous"),
        ("a shear and its transpose", transpose_pair(), "discrete"),
    ):
        judged = judge_switching(A, kind=kind)
        turn = judged.durations[0] if kind == "continuous" else 1.0
        alone = max(float(np.abs(np.linalg.eigvals(held(M, turn) if kind == "continuous" else M)).max())
                    for M in A)  # fmt: skip
        run.row("known", system=name, alone=alone, growth=judged.growth, status=judged.status)


def stable_flow(rng: np.random.Generator) -> np.ndarray:
    """Two random 2 × 2 matrices, each Hurwitz with some room."""
    found: list[np.ndarray] = []
    while len(found) < 2:
        M = rng.standard_normal((2, 2))
        if np.linalg.eigvals(M).real.max() < -0.02:
            found.append(M)
    return np.stack(found)


def kept_promise(A: np.ndarray, rate: float, kappa: float, rng: np.random.Generator) -> tuple[float, int]:
    """Largest |h_t| over what is promised: random switchings, and the periodic one whose product grows most."""
    n = A.shape[1]
    h = rng.standard_normal((TRAJECTORIES, n))
    start = np.linalg.norm(h, axis=1)
    word = joint_spectral_radius(A, 4).word[::-1]  # the rightmost factor acts first
    worst = 0.0
    for t in range(1, TURNS + 1):
        share = rng.choice([0.0, 1.0], TRAJECTORIES)
        share[: TRAJECTORIES // 3] = word[(t - 1) % len(word)]
        share[-TRAJECTORIES // 4 :] = rng.random(len(share[-TRAJECTORIES // 4 :]))  # convex combinations
        h = np.einsum("bij,bj->bi", (1 - share)[:, None, None] * A[0] + share[:, None, None] * A[1], h)
        promised = np.sqrt(kappa) * rate**t * start
        worst = max(worst, float((np.linalg.norm(h, axis=1) / promised).max()))
    return worst, TRAJECTORIES * TURNS


def shared_growth(A: np.ndarray, rng: np.random.Generator, count: int) -> float:
    """Largest norm, in that of A's own Lyapunov matrix, of products of eight exp(Δ A) with steps from 0.001 to 10."""
    S = np.linalg.cholesky(lyapunov_matrix(A)).T
    inverse = np.linalg.inv(S)
    worst = 0.0
    for _ in range(count):
        product = np.eye(len(A))
        for step in np.exp(rng.uniform(np.log(1e-3), np.log(10), 8)):
            product = held(A, step) @ product
        worst = max(worst, float(np.linalg.norm(S @ product @ inverse, 2)))
    return worst


@study.experiment(
    "Certify larger systems",
    tables={
        "systems": {
            "system": exact("str"),
            "states": exact("int"),
            "status": exact("str"),
            "rate": numeric(doc="As it was checked."),
            "known": exact(doc="What the identity shows: 1/2 for LegS, the largest decay for a delta rule."),
            "kappa": numeric(),
            "margin": numeric(),
            "took": timing(),
        }
    },
    cost={"quick": 0.5, "standard": 12, "full": 60},
)
def certify(run: Run, largest: int, solver: str) -> None:
    """HiPPO-LegS and gated delta rules of growing size, with random keys."""
    counts = sorted({2, 4, 8, largest} & set(range(2, largest + 1)))
    for n in run.progress(counts, "sizes"):
        rng = run.rng("keys", n)
        keys = rng.standard_normal((3, n))
        keys /= np.linalg.norm(keys, axis=1)[:, None]
        decay = rng.uniform(0.8, 0.98, n)
        for name, A, kind, known in (
            ("HiPPO-LegS", legs_matrix(n)[None], "continuous", 0.5),
            ("gated delta rule", gated_delta_vertices(decay, keys, 1.8), "discrete", float(decay.max())),
        ):
            started = time.perf_counter()
            found = common_lyapunov(A, kind=kind, solver=solver)
            run.row(
                "systems", system=name, states=n, status=found.status, rate=found.rate, known=known, kappa=found.kappa,
                margin=found.margin, took=time.perf_counter() - started,
            )  # fmt: skip


@study.experiment(
    "Judge the system at hand",
    tables={
        "verdict": {
            "system": exact("str"),
            "states": exact("int"),
            "matrices": exact("int"),
            "status": exact("str"),
            "rate": numeric(doc="As it was checked: a step where discrete, per unit of time where continuous."),
            "kappa": numeric(),
            "margin": numeric(doc="Of the check, over the largest entry."),
            "grows": numeric("a factor", "Of the product that grows most."),
            "product": exact("str", doc="The one that refutes, the leftmost factor first."),
            "trajectory": exact("str", doc="Your trajectory against the certificate."),
            "said": note("The verdict in words."),
            "took": timing(),
        }
    },
    cost={"quick": 0.2, "standard": 0.2, "full": 0.2},
)
def judge(run: Run, switching: System, products: int, solver: str, target: float) -> None:
    """The system that is looked at, of any size: certified, refuted by a product, or open."""
    started = time.perf_counter()
    for _ in run.progress(range(1), switching.name):
        found = judge_switching(
            switching.A, kind=switching.kind, max_length=products, solver=solver, target=target or None
        )  # fmt: skip
        certificate = found.certificate
        run.row(
            "verdict", system=switching.name, states=switching.A.shape[1], matrices=len(switching.A),
            status=found.status, rate=certificate.rate, kappa=certificate.kappa, margin=certificate.margin,
            grows=found.radius.lower, product=" · ".join(f"A{i + 1}" for i in found.word),
            trajectory=" ".join(trajectory_said(switching, found)) if switching.h is not None else "",
            said=said_of(switching, found), took=time.perf_counter() - started,
        )  # fmt: skip
