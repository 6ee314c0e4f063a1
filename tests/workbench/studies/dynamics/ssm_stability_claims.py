"""Evidence fixtures of the study of stability certificates: claim -> verdict -> what the claim's function is given."""

import functools

from given_results import given_result

from workbench.registry import registry

result = functools.partial(given_result, registry().get("ssm-stability"))
MILLION = 1_000_000


def attack(value, samples=MILLION, channels=64, decades=2.0):
    rows = [
        {"layer": "a", "method": method, "attack": "data", "samples": samples, "tightness": value, "without_rho": value,
         "constants": value}
        for method in ("euler", "zoh")
    ]  # fmt: skip
    own = [
        {"layer": "a", "method": "euler", "channel": d, "reached": 1.0, "certified": 10.0**decades}
        for d in range(channels)
    ]
    return {"attack": result("attack", layers=rows, channels=own)}


def changes(value, samples=MILLION):
    regimes = [
        {"regime": r, "method": "euler", "seed": 0, "samples": samples, "over_linear": value, "over_uniform": value,
         "gap": 100.0, "crossing": 5.0, "slope": 0.1}
        for r in ("real", "integrator")
    ]  # fmt: skip
    own = [{"layer": "a", "change": "pre", "samples": 1, "over_linear": 0.1, "over_uniform": 0.1, "output_over": 0.1}]
    return {"lengths": result("lengths", regimes=regimes), "perturb": result("perturb", changes=own)}


def slopes(*values):
    rows = [
        {"regime": regime, "seed": seed, "slope": slope if regime == "real" else 1.0}
        for seed, slope in enumerate(values)
        for regime in ("real", "integrator")
    ]
    return {"lengths": result("lengths", regimes=rows)}


def switch(**tables):
    return {"switch": result("switch", **tables)}


def known(*growth):
    steps = [{"alone": 0.5, "status": "REFUTED"}]
    return switch(known=[{"alone": 0.9, "growth": g, "status": "REFUTED"} for g in growth], steps=steps)


def flows(right, total=50):
    return switch(flows=[{"exact": i % 2 == 0, "found": (i % 2 == 0) == (i < right)} for i in range(total)])


def sampled(apart, steps=2000):
    rows = [{"method": m, "steps": steps, "apart": apart if m == "zoh" else 1.0} for m in ("zoh", "euler")]
    return {"sample_system": result("sample_system", layers=rows)}


def promised(value, samples=2000):
    return switch(steps=[{"status": "CERTIFIED", "promise": value, "samples": samples}])


CLAIMS = {
    "1a": {"holds": known(9.05, 4.49), "fails": known(0.9, 0.9), "inconclusive": known(9.05)},
    "1b": {
        "holds": switch(shared=[{"growth": 0.97, "switchings": 200}]),
        "fails": switch(shared=[{"growth": 1.2, "switchings": 200}]),
        "inconclusive": switch(shared=[{"growth": 0.97, "switchings": 5}]),
    },
    "2a": {"holds": sampled(1e-14), "fails": sampled(1e-3), "inconclusive": sampled(1e-14, steps=10)},
    "2b": {"holds": attack(0.3), "fails": attack(1.1), "inconclusive": attack(0.3, samples=100)},
    "2c": {"holds": attack(0.9), "fails": attack(200.0), "inconclusive": attack(0.9, samples=100)},
    "3a": {"holds": changes(0.2), "fails": changes(1.5), "inconclusive": changes(0.2, samples=100)},
    "3b": {"holds": slopes(0.9, 0.95, 0.92), "fails": slopes(0.1, 0.12, 0.08), "inconclusive": slopes(0.1, 0.9, 0.5)},
    "3c": {"holds": changes(0.2), "fails": changes(1.5), "inconclusive": changes(0.2, samples=100)},
    "4a": {"holds": promised(0.9), "fails": promised(1.1), "inconclusive": promised(0.9, samples=10)},
    "4b": {"holds": flows(50), "fails": flows(40), "inconclusive": flows(20, total=20)},
    "5a": {"holds": attack(0.99), "fails": attack(1.01), "inconclusive": attack(0.99, samples=100)},
    "5b": {
        "holds": attack(0.3, decades=0.5),
        "fails": attack(0.3),
        "inconclusive": attack(0.3, decades=0.5, channels=4),
    },
}
