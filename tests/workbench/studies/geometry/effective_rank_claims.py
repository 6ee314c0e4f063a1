"""Evidence fixtures of the effective-rank study: claim -> verdict -> what the claim's function is given."""

import functools

from given_results import given_result

from workbench.registry import registry

result = functools.partial(given_result, registry().get("effective-rank"))
METRICS = (
    "effective rank", "variance effective rank", "participation ratio", "stable rank", "average cosine", "isotropy",
    "isoscore", "effective rank of H", "average cosine of H", "isoscore of H", "loss prose",
)  # fmt: skip
OUTCOMES = ("loss prose", "loss code", "loss gptq 2", "loss code tuned")


def effects(n=18, **spans):
    """Effects by name, each from low to high."""
    rows = [
        {"effect": name.replace("_", " "), "estimate": (low + high) / 2, "low": low, "high": high,
         "over": "configurations", "n": n}
        for name, (low, high) in spans.items()
    ]  # fmt: skip
    return {"analyse": result("analyse", effects=rows)}


def three(name, inside, outside, across, **others):
    """An effect that lies inside, outside and across the bound of its claim."""
    cases = {"holds": inside, "fails": outside, "inconclusive": across}
    return {verdict: effects(**{name: span, **others}) for verdict, span in cases.items()}


def statistics(span, quantity, n=18, only=None, others=(0.0, 0.0)):
    """Every metric and outcome with the same span, or only one metric with it."""
    low, high = {"partial": ("partial_low", "partial_high"), "gain": ("gain_low", "gain_high")}[quantity]
    rows = []
    for metric in METRICS:
        a, b = span if only in (None, metric) else others
        rows += [
            {"metric": metric, "outcome": outcome, quantity: (a + b) / 2, low: a, high: b, "configurations": n}
            for outcome in OUTCOMES
        ]
    return {"analyse": result("analyse", metrics=rows)}


def three_statistics(quantity, inside, outside, across, **more):
    cases = {"holds": inside, "fails": outside, "inconclusive": across}
    return {verdict: statistics(span, quantity, **more) for verdict, span in cases.items()}


def long(states):
    """Long runs, each of low rank or not and degraded or not."""
    return {"analyse": result("analyse", long=[{"low": low, "degraded": degraded} for low, degraded in states])}


def gauge(ranks, moved=1e-9):
    return {"interventions": result("interventions", points=[
        {"change": "gauge", "rank": rank, "moved": moved} for rank in ranks
    ])}  # fmt: skip


def worlds(found, imagined, tables=40):
    rows = []
    for world, share in (("cause", found), ("common cause", imagined)):
        rows += [{"world": world, "draw": i, "p": 0.001 if i < share * tables else 0.9} for i in range(tables)]
    return {"validate": result("validate", tables=rows)}


UP = {"inside": (1.0, 3.0), "outside": (-3.0, -1.0), "across": (-1.0, 3.0)}

CLAIMS = {
    "1a": three("raw_correlation", (-0.8, -0.5), (0.1, 0.4), (-0.5, 0.2)),
    "1b": three("discordant_pairs", (0.2, 0.4), (0.92, 0.98), (0.05, 0.3)),
    "2a": {
        "holds": long([(True, False)] * 3 + [(False, True)] * 5),
        "fails": long([(True, True)] * 4 + [(False, False)] * 4),
        "inconclusive": long([(True, False)] * 2),
    },
    "3a": three("batch_on_rank", *UP.values()),
    "3b": {
        "holds": effects(batch_below=(0.1, 0.3), batch_above=(0.2, 0.5)),
        "fails": effects(batch_below=(-0.3, -0.1), batch_above=(0.2, 0.5)),
        "inconclusive": effects(batch_below=(-0.1, 0.3), batch_above=(0.2, 0.5)),
    },
    "3c": three("decay_on_rank", *UP.values(), decay_on_loss=(0.0, 0.1)),
    "3d": three("final_rate_on_rank", *UP.values()),
    "3e": three("final_rate_on_loss", *UP.values()),
    "4a": three_statistics("partial", (-0.2, 0.1), (-0.8, -0.4), (-0.5, 0.0)),
    "4b": three_statistics("gain", (-0.02, 0.01), (0.05, 0.1), (-0.01, 0.1)),
    "5a": three_statistics("partial", (-0.4, -0.1), (0.05, 0.3), (-0.3, 0.1)),
    "5b": three_statistics("gain", (0.2, 0.4), (-0.4, -0.2), (-0.1, 0.4), only="loss prose"),
    "6a": three("agreement", (0.6, 0.9), (0.1, 0.4), (0.3, 0.8)),
    "6b": three_statistics("gain", (0.0, 0.03), (0.06, 0.1), (0.0, 0.1)),
    "7a": three("tying_on_rank", *UP.values()),
    "7b": three("tying_on_loss", *UP.values()),
    "G": {
        "holds": gauge((40.0, 20.0, 1.1)),
        "fails": gauge((40.0, 20.0, 10.0)),
        "inconclusive": gauge((40.0, 1.1)),
    },
    "S": {"holds": worlds(1.0, 0.0), "fails": worlds(0.3, 0.3), "inconclusive": worlds(0.9, 0.1)},
}
