"""Evidence fixtures of latent chains of thought: claim -> verdict -> what the claim's function is given."""

import functools

from given_results import given_result

from workbench.registry import registry

result = functools.partial(given_result, registry().get("latent-cot"))


def flips(spread, noise, prompts=1000):
    """Zeroing, with so large a range of flips over steps."""
    steps = [{"operation": "zero", "step": t, "prompts": prompts, "flip": 50.0 + t} for t in range(1, 5)]
    row = {"operation": "zero", "range": spread, "low": max(0.0, spread - noise), "high": spread + noise, "p": 0.5}
    return {"reach": result("reach", steps=steps, spread=[row])}


def last(gain, noise):
    rows = [{"k": k, "accuracy": 10.0 * k, "solved": 10.0 * k, "prompts": 500} for k in range(5)]
    row = {"gain": gain, "low": gain - noise, "high": gain + noise, "prompts": 500}
    return {"answers": result("answers", answers=rows, last=[row])}


def gap(value, noise):
    rows = [{"effect": e, "gap": value, "low": value - noise, "high": value + noise, "prompts": 500}
            for e in ("total", "direct")]  # fmt: skip
    return {"influences": result("influences", local_gap=rows)}


def routes(locality, noise, f1=1.0, prompts=500):
    rows = [
        {"model": "this", "prompts": prompts, "effect": e, "latents": 4, "locality": locality, "low": locality - noise,
         "high": locality + noise, "far": 1 - locality, "f1": f1 if e == "direct" else 0.5}
        for e in ("total", "direct")
    ]  # fmt: skip
    gaps = [{"effect": "total", "gap": 0.0, "low": 0.0, "high": 0.0, "prompts": 500}]
    return {"influences": result("influences", structure=rows, local_gap=gaps)}


def commits(value, noise, prompts=300):
    rows = [{"model": "early", "readout": r, "gap": value, "low": value - noise, "high": value + noise,
             "prompts": prompts} for r in ("probe", "random")]  # fmt: skip
    return {"commit": result("commit", gaps=rows)}


def held(worse, noise=0.5):
    rows = [
        {
            "model": m,
            "readout": "probe",
            "step": t,
            "worse": worse,
            "worse_low": worse - noise,
            "worse_high": worse + noise,
            "prompts": 300,
        }
        for m in ("late", "early")
        for t in (1, 2)
    ]
    return {"commit": result("commit", steps=rows)}


def taus(*values):
    rows = [{"first": "zero", "second": "mean", "tau": v} for v in values]
    steps = [{"operation": o, "step": 1, "flip": f} for o, f in (("zero", 90.0), ("gaussian_h", 1.0))]
    return {"reach": result("reach", agreement=rows, steps=steps)}


def models(exact=99.9, noise=0.05, accuracy=4.0, wide=1.0, seeds=("chain", "chain-1", "chain-2")):
    rows = [{"model": m, "exact": exact, "exact_low": exact - noise, "exact_high": exact + noise, "prompts": 500,
             "accuracy": 99.0} for m in seeds]  # fmt: skip
    rows += [{"model": m, "accuracy": accuracy, "low": accuracy - wide, "high": accuracy + wide, "prompts": 500}
             for m in ("pause", "none")]  # fmt: skip
    return {"compare": result("compare", models=rows)}


CLAIMS = {
    "1": {"holds": flips(20, 3), "fails": flips(0.5, 1), "inconclusive": flips(5, 3)},
    "3a": {"holds": last(80, 3), "fails": last(1, 1), "inconclusive": last(5, 3)},
    "4a": {"holds": gap(0.3, 0.05), "fails": gap(0.0, 0.02), "inconclusive": gap(0.05, 0.05)},
    "4b": {"holds": routes(0.5, 0.05), "fails": routes(0.99, 0.01), "inconclusive": routes(0.9, 0.05)},
    "4c": {"holds": routes(1, 0, 1.0), "fails": routes(0.5, 0, 0.5), "inconclusive": routes(1, 0, 1.0, prompts=20)},
    "5": {"holds": commits(1.5, 0.2), "fails": commits(0.0, 0.05), "inconclusive": commits(0.2, 0.2)},
    "5b": {"holds": held(99), "fails": held(10), "inconclusive": held(90, 3)},
    "6": {
        "holds": taus(*[0.8, 0.9] * 6), "fails": taus(*[0.0, 0.1] * 6), "inconclusive": taus(*[0.0, 1.0] * 3),
    },
    "B1": {"holds": models(), "fails": models(exact=90), "inconclusive": models(exact=99, noise=0.5)},
    "B2": {"holds": models(), "fails": models(accuracy=50), "inconclusive": models(accuracy=8, wide=2)},
    "B3": {"holds": models(), "fails": models(exact=90), "inconclusive": models(seeds=("chain",))},
}  # fmt: skip
