"""Evidence fixtures of the pluralistic leaderboards: claim -> verdict -> what the claim's function is given."""

import functools

from given_results import given_result

from assay.decisions import hidden_coalition
from workbench.registry import registry

result = functools.partial(given_result, registry().get("pluralistic-leaderboards"))


def profiles(first, twin=1.2, fair=0.0, count=3):
    rows = [
        {"profile": name, "gamma": gamma, "blocker": "y"}
        for name, gamma in (("sixty-forty", first), ("twin", twin), ("twin-fair", fair))
    ][:count]
    return {"constructs": result("constructs", profiles=rows)}


def built(largest, runs=18):
    rows = [
        {"profile": "sixty-forty", "method": "monotone", "repeat": i, "largest": largest if i == 0 else 0.4}
        for i in range(runs)
    ]
    return {"constructs": result("constructs", built=rows)}


def committees(gamma, runs=24):
    rows = [
        {"eps": 0.05, "k": 2, "repeat": i, "gamma": gamma, "best": 0.3, "factor": 39.2, "rest": 1} for i in range(runs)
    ]
    return {"guarantees": result("guarantees", committees=rows)}


def lotteries(exact, found=(0.5,), runs=9):
    rows = [{"k": 1, "repeat": i, "exact": exact, "found": found[i % len(found)]} for i in range(runs)]
    return {"guarantees": result("guarantees", lotteries=rows)}


def worlds(method, phi=0.1, repeats=12, **columns):
    """One row a repeat; a column may be a list that is gone through in turn."""
    rows = []
    for i in range(repeats):
        own = {name: v[i % len(v)] if isinstance(v, list) else v for name, v in columns.items()}
        rows.append({"phi": phi, "repeat": i, "method": method, "prefixes": 19, **own})
    return rows


def compared(*rows):
    return {"compare": result("compare", worlds=[row for part in rows for row in part])}


def votes(low, high, kind="battles"):
    return {"boards": result(
        "boards", world=[{"kind": kind, "simulated": True, "judges": 1000, "models": 5}],
        curves=[{"method": "bradley-terry", "k": 4, "gamma": (low + high) / 2, "low": low, "high": high}],
    )}  # fmt: skip


def again(*largest, repeats=4):
    rows = [
        {"phi": 0.5, "method": method, "repeat": i, "largest": largest[i % len(largest)], "kept": 0.4}
        for i in range(repeats)
        for method in ("bradley-terry", "checkpoints")
    ]
    return {"rerun": result("rerun", worlds=rows)}


def asked(*medians, repeats=6):
    rows = [
        {"algorithm": name, "k": 5, "models": 20, "repeat": i, "asked": 3000, "median": medians[i % len(medians)],
         "most": 90}
        for i in range(repeats) for name in ("committee", "checkpoints", "monotone")
    ]  # fmt: skip
    return {"budgets": result("budgets", users=rows)}


def growth(*slopes, repeats=4):
    rows = [
        {"algorithm": "committee", "k": k, "models": 20, "repeat": i, "median": 40.0 * k ** slopes[i % len(slopes)]}
        for i in range(repeats) for k in (5, 10, 20)
    ]  # fmt: skip
    return {"budgets": result("budgets", users=rows)}


def gaps(a2, a3):
    return compared(worlds("checkpoints", largest=a2), worlds("monotone", largest=a3))


PAIRS = {k: hidden_coalition(k) for k in (2, 3, 4)}

CLAIMS = {
    "1a": {"holds": profiles(1.2), "fails": profiles(0.8), "inconclusive": profiles(1.2, count=1)},
    "1b": {"holds": profiles(1.2), "fails": profiles(1.2, fair=1.0), "inconclusive": profiles(1.2, count=2)},
    "2": {"holds": built(0.9), "fails": built(1.2), "inconclusive": built(0.9, runs=4)},
    "3a": {"holds": committees(1.5), "fails": committees(40.0), "inconclusive": committees(1.5, runs=3)},
    "3b": {
        "holds": {"printed_factors": {0.01: 18.97, 0.05: 39.2}},
        "fails": {"printed_factors": {0.01: 19.5, 0.05: 39.2}},
        "inconclusive": {"printed_factors": {0.01: 18.97}},
    },
    "3c": {"holds": lotteries(0.9), "fails": lotteries(1.2), "inconclusive": lotteries(0.9, runs=2)},
    "3d": {
        "holds": lotteries(0.9, (0.7, 0.8)),
        "fails": lotteries(0.9, (1.4, 1.5)),
        "inconclusive": lotteries(0.9, (0.6, 1.6)),
    },
    "4": {
        "holds": compared(worlds("checkpoints", ratio=0.4)),
        "fails": compared(worlds("checkpoints", ratio=1.3)),
        "inconclusive": compared(worlds("checkpoints", ratio=0.4, repeats=2)),
    },
    "5a": {
        "holds": compared(worlds("bradley-terry", surely=[6, 8])),
        "fails": compared(worlds("bradley-terry", surely=[0, 1])),
        "inconclusive": compared(worlds("bradley-terry", surely=[0, 0, 8])),
    },
    "5b": {"holds": votes(1.1, 1.5), "fails": votes(0.4, 0.8), "inconclusive": votes(0.8, 1.3)},
    "5c": {
        "holds": compared(worlds("monotone", surely=0, largest=0.6, repeats=60)),
        "fails": compared(worlds("monotone", surely=[2, 0], largest=1.4, repeats=60)),
        "inconclusive": compared(worlds("monotone", surely=[1, *[0] * 9], largest=1.1, repeats=40)),
    },
    "5d": {
        "holds": gaps([0.8, 0.9], [0.6, 0.65]),
        "fails": gaps([0.6, 0.65], [0.8, 0.9]),
        "inconclusive": gaps([0.5, 0.9], [0.7, 0.7]),
    },
    "R": {"holds": again(0.6, 0.65), "fails": again(1.5, 1.55), "inconclusive": again(0.6, 1.5)},
    "6a": {"holds": asked(38.0, 40.0), "fails": asked(200.0, 210.0), "inconclusive": asked(20.0, 160.0)},
    "6b": {"holds": growth(1.0, 1.05), "fails": growth(1.6, 1.7), "inconclusive": growth(0.6, 2.0)},
    "7a": {
        "holds": {"hidden_pairs": PAIRS},
        "fails": {"hidden_pairs": PAIRS | {3: (PAIRS[3][1], PAIRS[3][1])}},
        "inconclusive": {"hidden_pairs": {2: PAIRS[2], 3: PAIRS[3]}},
    },
}
