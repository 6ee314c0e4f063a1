"""What the paper claims, as tests that can fail; measured against an adversary, not against random inputs alone.

The paper prints no numbers, and no code was found: its formulas are reconstructed from the abstract, and derived anew.
"""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import numpy as np

from workbench.studies.dynamics.ssm_stability.controls import study
from workbench.study import Above, Below, Evidence, NeedsScale, Result

MILLION = 1_000_000
NO_LAYERS = "The model has no layer that could be attacked."


@study.claim(
    "1a", "Matrices that are each stable can give unbounded trajectories when switched",
    expects=Above(1.0, "growth a period, least of the known systems whose matrices each decay", at_least=2),
)  # fmt: skip
def stable_ones_grow(switch: Result) -> Evidence:
    rows = switch["known"]
    rows = rows[rows["alone"] < 1]
    drawn = switch["steps"]
    own = int(((drawn["alone"] < 1) & (drawn["status"] == "REFUTED")).sum())
    note = f"Of {len(drawn)} random pairs, each stable, {own} were refuted by a product."
    if rows.empty:
        return Evidence.exact(0.0, note)
    return Evidence.exact(float(rows["growth"].min()), note, n=len(rows))


@study.claim(
    "1b", "With one shared A, steps that switch make no trajectory grow",
    expects=Below(1.0, "largest norm of a product of exp(Δ A), in A’s own norm", at_least=100),
)  # fmt: skip
def shared_never_grows(switch: Result) -> Evidence:
    rows = switch["shared"]
    return Evidence.exact(float(rows["growth"].max()), n=int(rows["switchings"].sum()))


@study.claim(
    "2a", "The selective scan is one linear system, sampled at instants that the input chooses",
    expects=Below(1e-9, "largest distance from the system integrated on its own, exact hold", at_least=1000),
)  # fmt: skip
def one_system_sampled(sample_system: Result) -> Evidence:
    rows = sample_system["layers"]
    hold, euler = (rows[rows["method"] == m] for m in ("zoh", "euler"))
    note = f"Of the public code’s step, Δ B x, the distance is {float(euler['apart'].max()):.2g}."
    return Evidence.exact(float(hold["apart"].max()), note, n=int(hold["steps"].sum()))


@study.claim(
    "2b", "The selective scan is bounded: any input, any length",
    expects=Below(1.0, "largest measured over certified, adversary included", at_least=MILLION),
)  # fmt: skip
def bounded(attack: Result) -> Evidence | NeedsScale:
    rows = attack["layers"]
    if rows.empty:
        return NeedsScale(NO_LAYERS)
    worst = rows.loc[rows["tightness"].idxmax()]
    note = f"{int(rows['violations'].sum())} violations; the nearest by {worst['attack']}, {worst['method']}."
    return Evidence.exact(float(worst["tightness"]), note, n=int(rows["samples"].sum()))


@study.claim(
    "2c", "The bound of that one system holds for the step that the public code takes",
    expects=Below(1.0, "largest |h| a over sup|B x|, with Δ B x for the input", at_least=MILLION),
)  # fmt: skip
def hold_bound_for_euler(attack: Result) -> Evidence | NeedsScale:
    rows = attack["layers"]
    if rows.empty:
        return NeedsScale(NO_LAYERS)
    euler, hold = (rows[rows["method"] == m] for m in ("euler", "zoh"))
    data = euler[euler["attack"] == "data"]["without_rho"].max()
    note = f"On data alone {float(data):.3g}; with an exact hold {float(hold['without_rho'].max()):.3g}."
    return Evidence.exact(float(euler["without_rho"].max()), note, n=int(euler["samples"].sum()))


@study.claim(
    "3a", "A change moves the state by at most two terms, linear in length",
    expects=Below(1.0, "largest measured over the linear bound, adversary included", at_least=MILLION),
)  # fmt: skip
def linear_bound(lengths: Result, perturb: Result) -> Evidence:
    drawn, own = lengths["regimes"], perturb["changes"]
    worst = max(float(drawn["over_linear"].max()), float(own["over_linear"].max()) if len(own) else 0.0)
    samples = int(drawn["samples"].sum()) + (int(own["samples"].sum()) if len(own) else 0)
    return Evidence.exact(worst, "On synthetic layers and on the model’s own.", n=samples)


@study.claim(
    "3b", "The effect of a change grows linearly with length in a layer that forgets",
    expects=Above(0.5, "slope of log error over log length, adversary", at_least=3),
)  # fmt: skip
def grows_with_length(lengths: Result) -> Evidence:
    rows = lengths["regimes"]
    by_seed = rows[rows["regime"] == "real"].groupby("seed")["slope"].mean().to_numpy(float)
    integrator = float(rows[rows["regime"] == "integrator"]["slope"].mean())
    note = f"Where nothing decays the slope is {integrator:.2f}: there the linear bound is the right one."
    if len(by_seed) < 2:
        return Evidence(float(by_seed[0]), (float(by_seed[0]) - 1, float(by_seed[0]) + 1), "seeds", 1, note)
    mean = float(by_seed.mean())
    half = 4.3 * float(by_seed.std(ddof=1)) / len(by_seed) ** 0.5  # Student's t for three seeds, wide for more
    return Evidence(mean, (mean - half, mean + half), "seeds", len(by_seed), note)


@study.claim(
    "3c", "A bound that does not grow with length holds as well (ours, not the paper’s)",
    expects=Below(1.0, "largest measured over the bound for any length", at_least=MILLION),
)  # fmt: skip
def uniform_bound(lengths: Result, perturb: Result) -> Evidence:
    drawn, own = lengths["regimes"], perturb["changes"]
    parts = [float(drawn["over_uniform"].max())]
    parts += [float(own[name].max()) for name in ("over_uniform", "output_over")] if len(own) else []
    samples = int(drawn["samples"].sum()) + (int(own["samples"].sum()) if len(own) else 0)
    forgets = drawn[drawn["regime"] == "real"]
    crossing, gap = float(forgets["crossing"].max()), float(forgets["gap"].median())
    note = f"From {crossing:.3g} tokens on it is the smaller; {gap:.0f}× at the end."
    return Evidence.exact(max(parts), note, n=samples)


@study.claim(
    "4a", "Where a common quadratic function is found, the system is stable as it promises",
    expects=Below(1.0, "largest |h| over what is promised, on switched trajectories", at_least=1000),
)  # fmt: skip
def promise_kept(switch: Result) -> Evidence:
    rows = switch["steps"]
    certified = rows[rows["status"] == "CERTIFIED"]
    note = f"{len(certified)} of {len(rows)} random systems are certified."
    if certified.empty:
        return Evidence.exact(0.0, note)
    return Evidence.exact(float(certified["promise"].max()), note, n=int(certified["samples"].sum()))


@study.claim(
    "4b", "The program finds a common function exactly where one exists",
    expects=Above(0.98, "agreement with the exact criterion for two states", at_least=40),
)  # fmt: skip
def solver_agrees(switch: Result) -> Evidence:
    rows = switch["flows"]
    share = float((rows["exact"] == rows["found"]).mean())
    return Evidence.exact(share, f"{int(rows['exact'].sum())} of {len(rows)} pairs have one.", n=len(rows))


@study.claim(
    "5a", "Constants read off the weights bound what the layer does",
    expects=Below(1.0, "largest x, B, C, step or gate over its constant, adversary included", at_least=MILLION),
)  # fmt: skip
def constants_hold(attack: Result) -> Evidence | NeedsScale:
    rows = attack["layers"]
    if rows.empty:
        return NeedsScale(NO_LAYERS)
    return Evidence.exact(float(rows["constants"].max()), n=int(rows["samples"].sum()))


@study.claim(
    "5b", "What the weights alone promise is near to what an adversary reaches (within a factor of ten)",
    expects=Below(1.0, "decades from the largest state reached to its bound, middle channel", at_least=16),
)  # fmt: skip
def constants_are_near(attack: Result) -> Evidence | NeedsScale:
    rows = attack["channels"]
    rows = rows[(rows["method"] == "euler") & (rows["reached"] > 0)]
    if rows.empty:
        return NeedsScale(NO_LAYERS)
    decades = np.log10(rows["certified"].to_numpy(float) / rows["reached"].to_numpy(float))
    where = f"{len(rows)} channels of {rows['layer'].nunique()} layers"
    note = f"From {decades.min():.1f} to {decades.max():.1f} decades over {where}."
    return Evidence.exact(float(np.median(decades)), note, n=len(rows))


study.needs_scale(
    "6", "The guarantees extend to a network of many layers",
    reason="The bounds are for one layer; the paper leaves networks open, and products over layers promise nothing.",
)  # fmt: skip
