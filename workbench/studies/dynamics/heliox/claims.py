"""What the paper claims, as tests that can fail; and what its public code's gradient is worth."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import numpy as np
import pandas as pd

from assay.statistics import student_interval
from workbench.studies.dynamics.heliox.controls import study
from workbench.study import Above, Below, Evidence, NeedsScale, Result

WORM = 302


def over(values: np.ndarray, units: str, note: str = "", most: float = np.inf) -> Evidence | NeedsScale:
    """A mean with its 95 % interval by Student's t."""
    x = np.asarray(values, float)
    if len(x) < 2:
        return NeedsScale(f"Needs at least two {units}.", "assay run heliox --preset standard")
    low, high = student_interval(x)
    mean = float(x.mean())
    return Evidence(mean, (low, min(high, max(most, mean))), units, len(x), note)


def by_repeat(rows: pd.DataFrame, column: str) -> np.ndarray:
    return rows.groupby("repeat")[column].mean().to_numpy()


study.needs_scale(
    "1a", "Fused kernels for scheduling and gradient are orders of magnitude faster than NEURON",
    reason="Needs a GPU: the kernel for GPUs agrees with its reference in an interpreter, and has not run on a card. "
    "On processors the fused steps gain by taking cells side by side.",
    command="python tests/benchmarks/run.py cables",
)  # fmt: skip


@study.claim(
    "1b", "A hand-written gradient removes the overhead of automatic differentiation",
    expects=Above(10.0, "seconds of autograd over seconds of the adjoint, forwards included", at_least=3),
)  # fmt: skip
def no_overhead(solvers: Result) -> Evidence | NeedsScale:
    rows = solvers["autodiff"]
    note = f"{rows['nodes'].iloc[0]} compartments, {rows['steps'].iloc[0]} steps, 8 cells, float64, on this processor."
    return over(rows["ratio"].to_numpy(), "turns", note)


@study.claim(
    "1c", "The solve scales with the number of cells",
    expects=Above(4.0, "compartment-steps a second, most cells over one", at_least=3),
)  # fmt: skip
def scales(solvers: Result) -> Evidence | NeedsScale:
    rows = solvers["speed"]
    own = rows[(rows["solver"] == "fused steps").to_numpy()]
    most = int(own["cells"].max())
    one, many = (own[(own["cells"] == c).to_numpy()].sort_values("turn")["rate"].to_numpy() for c in (1, most))
    note = f"{most:,} cells: {np.median(many):.0f} million a second on one thread; the paper’s scaling is on GPUs."
    return over(many / one, "turns", note)


@study.claim(
    "2a", "Most steps of a network are free of spikes, so that they cost one check",
    expects=Above(50.0, f"steps without a spike among {WORM} cells", unit="%", at_least=2),
)  # fmt: skip
def spike_free(spikes: Result) -> Evidence | NeedsScale:
    rows = spikes["crowds"]
    own = rows[(rows["cells"] == WORM).to_numpy()]
    one = rows[(rows["cells"] == 1).to_numpy()]
    note = (
        f"Cells fire at {own['hertz'].mean():.0f} Hz on average, steps of 0.025 ms; {one['free'].mean():.1f} % of "
        "steps are free for one cell."
    )
    return over(by_repeat(own, "free"), "repeats", note)


study.needs_scale(
    "2b", "Several streams let spike detection and the assembly of equations overlap",
    reason="Needs a GPU with streams: on a processor there is nothing to overlap.",
)  # fmt: skip


@study.claim(
    "3a", "Training takes a fifth of the memory: about 32 GB become about 6",
    expects=Above(32 / 6, "bytes that autograd saves over bytes of the exact adjoint’s tape", at_least=3),
    printed=32 / 6,
)  # fmt: skip
def less_memory(solvers: Result) -> Evidence:
    rows = solvers["memory"]
    ratios = rows["autograd"] / rows["tape"]
    note = f"The frozen adjoint keeps voltages alone, {(rows['tape'] / rows['frozen']).mean():.0f} times less again."
    return Evidence.exact(float(ratios.min()), note, n=len(rows))


@study.claim(
    "3b", "Gradients train the worm’s circuit, on other patterns of currents too",
    expects=Below(0.5, "mean square error on other patterns, after over before", at_least=2),
)  # fmt: skip
def trains(train: Result) -> Evidence | NeedsScale:
    rows = train["ends"]
    own = rows[(rows["mode"] == "exact").to_numpy()]
    ratio = (own["held_last"] / own["held_first"]).to_numpy()
    note = (
        f"{own['synapses'].iloc[0]:,} weights of {own['cells'].iloc[0]} neurons; fitted error falls to "
        f"{100 * (own['last'] / own['first']).mean():.0f} %. Teacher and student are ours: no worm was recorded."
    )
    return over(ratio, "repeats", note)


study.needs_scale(
    "3c", "Deep networks of detailed neurons, three to five layers, learn MNIST on one GPU",
    reason="Needs a GPU: 60,000 images of some hundred steps through a thousand neurons of several compartments each.",
)  # fmt: skip


@study.claim(
    "3d", "The exact adjoint is the derivative of the steps",
    expects=Below(1e-6, "largest difference to finite differences, over their length", at_least=9),
)  # fmt: skip
def exact_is_exact(gradients: Result) -> Evidence:
    rows = gradients["cases"]
    passive = float(gradients["passive"]["apart"].max())
    note = f"Runs have up to {rows['spikes'].max()} spikes. Without channels frozen and exact differ by {passive:.1g}."
    return Evidence.exact(float(rows["apart"].max()), note, n=len(rows))


@study.claim(
    "3e", "The public code’s frozen adjoint points where the exact one does",
    expects=Above(0.9, "cosine of both gradients by density, mean over windows and sodium", at_least=2),
)  # fmt: skip
def frozen_points(gradients: Result) -> Evidence | NeedsScale:
    rows = gradients["cases"]
    low, high, longer = rows["cosine"].min(), rows["cosine"].max(), rows["longer"].median()
    note = f"From {low:.2f} to {high:.2f}; the frozen one is {longer:.2g} times as long."
    return over(by_repeat(rows, "cosine"), "repeats", note.replace("-", "−"), most=1.0)


@study.claim(
    "3f", "Training by the frozen adjoint reaches what exact gradients reach",
    expects=Below(np.log10(2.0), "log10 of the last loss, frozen over exact", at_least=2),
)  # fmt: skip
def frozen_reaches(fit: Result) -> Evidence | NeedsScale:
    rows = fit["ends"].pivot_table(index="repeat", columns="mode", values="last")
    floor = 1e-12
    apart = np.log10(np.maximum(rows["frozen"], floor) / np.maximum(rows["exact"], floor)).to_numpy()
    same = np.log10(np.maximum(rows["differences"], floor) / np.maximum(rows["exact"], floor)).mean()
    note = f"By finite differences the loss ends at {10**same:.3g} of the exact adjoint’s."
    return over(apart, "repeats", note)


@study.claim(
    "4a", "The schedule is optimal: no order of elimination takes fewer rounds",
    expects=Below(0.5, "most rounds over the optimum of any tree", unit="rounds", at_least=400),
)  # fmt: skip
def optimal(schedules: Result) -> Evidence:
    rows = schedules["trees"]
    named = rows["tree"][(rows["tree"] != "random").to_numpy()].nunique()
    return Evidence.exact(float((rows["rounds"] - rows["optimum"]).max()), f"{named} neurons among them.", n=len(rows))


@study.claim(
    "4b", "The schedule is exact: it solves the same equations",
    expects=Below(1e-10, "largest difference to the dense solution, relative", at_least=30),
)  # fmt: skip
def exact_solve(schedules: Result) -> Evidence:
    rows = schedules["solutions"]
    return Evidence.exact(float(rows["apart"].max()), "In float64, in the order of the rounds.", n=len(rows))
