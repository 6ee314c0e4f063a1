"""Evidence fixtures of SINQ: claim -> verdict -> what the claim's function is given."""

import functools

import numpy as np
from given_results import given_result

from workbench.registry import registry

result = functools.partial(given_result, registry().get("sinq"))


def compared(rival, method, share, noise=0.0, bits=(2, 3, 4), blocks=12):
    """A method that closes a share of its rival's gap; noise goes both ways from block to block."""
    units, rows = [], []
    for b in bits:
        for i in range(blocks):
            own = share + (noise if i % 2 else -noise)
            for name, value in ((rival, 2.2), (method, 2.0 + 0.2 * (1 - own))):
                units.append({"method": name, "bits": b, "group": 64, "unit": i, "block": i, "value": value,
                              "floating": 2.0})  # fmt: skip
        rows += [{"method": name, "bits": b, "group": 64, "measure": "perplexity"} for name in (rival, method)]
    text = [{"said": "a text", "units": blocks, "tokens": 128 * blocks, "again": ""}]
    return {"quality": result("quality", units=units, methods=rows, text=text)}


def gaps(rival, method, above=0.5):
    return {
        "holds": compared(rival, method, above + 0.2, 0.02),
        "fails": compared(rival, method, above - 0.2, 0.02),
        "inconclusive": compared(rival, method, above, 0.2),
    }


def layers(rhos, ratios=(1.0,), count=12):
    rows = [
        {"layer": f"layers.{i}.a", "number": i, "state": "quantised", "known": True, "rho": rhos[i % len(rhos)],
         "rho_shuffled": 0.0, "rtn_output": 2.0, "sinq_output": 2.0 * ratios[i % len(ratios)], "oracle_output": 1.5,
         "shuffled_output": 2.5}
        for i in range(count)
    ]  # fmt: skip
    return {"survey": result("survey", layers=rows)}


def exact(value, cases=5000):
    row = {"check": "absorbed", "value": value, "bound": 1e-4, "cases": cases, "note": "Logits."}
    return {"checks": result("checks", checks=[row])}


def turns(name, form, ratios, count=9):
    rows = []
    for i in range(count):
        value = ratios[i % len(ratios)]
        rows.append({name: form, "turn": i, "seconds": value, "ratio": value})
    return rows


def products(*ratios, count=9):
    rows = turns("form", "two scales", ratios, count)
    return {"times": result("times", products=rows, matrix=[{"rows": 1000, "columns": 100, "extra": 0.1}])}


def quantising(*ratios, count=9):
    return {"times": result("times", quantising=turns("method", "sinq", ratios, count))}


def beside(*ratios, count=9):
    rows = [{**row, "over_sinq": row["ratio"]} for row in turns("method", "hqq", ratios, count)]
    return {"times": result("times", quantising=rows)}


def paths(*kinds, count=8):
    """Layers whose error falls with imbalance (+1), rises (−1)."""
    rows = []
    for i in range(count):
        kind = kinds[i % len(kinds)]
        for k, imbalance in zip((1, 4, 16), (3.0, 2.0, 1.1), strict=True):
            rows.append({"layer": f"l{i}", "iterations": k, "imbalance": imbalance,
                         "error": 100 + kind * 5 * np.log(imbalance)})  # fmt: skip
    return {"survey": result("survey", steps=rows)}


CLAIMS = {
    "1a": gaps("rtn", "sinq"),
    "1b": gaps("rtn", "sinq"),
    "1c": gaps("rtn", "sinq"),
    "1d": gaps("hqq", "sinq"),
    "1e": gaps("hadamard", "sinq"),
    "2a": {
        "holds": layers((0.3, 0.4)), "fails": layers((-0.3, -0.4)), "inconclusive": layers((-0.4, 0.4)),
    },
    "2b": {
        "holds": layers((0.0,), (0.8, 0.85)), "fails": layers((0.0,), (1.2, 1.3)),
        "inconclusive": layers((0.0,), (0.7, 1.4)),
    },
    "3a": {"holds": exact(1e-5), "fails": exact(1e-2), "inconclusive": exact(1e-5, cases=10)},
    "3b": {"holds": products(1.01, 1.03), "fails": products(1.4, 1.5), "inconclusive": products(1.0, 1.5, 1.0, 1.6)},
    "3c": {"holds": quantising(1.05, 1.1), "fails": quantising(1.5, 1.6),
           "inconclusive": quantising(1.05, 1.1, count=2)},
    "3d": {"holds": beside(2.0, 2.1), "fails": beside(1.0, 1.1), "inconclusive": beside(2.0, 2.1, count=3)},
    "4a": gaps("nf", "sinq-nf", 0.0),
    "4b": gaps("awq", "asinq", 0.0),
    "5": {"holds": paths(1.0), "fails": paths(-1.0), "inconclusive": paths(1.0, -1.0)},
}  # fmt: skip
