"""Evidence fixtures of the kitchen-sink study: claim -> verdict -> what the claim's function is given."""

import numpy as np
import pandas as pd

from workbench.results import Result, Table, exact, statistical


def wave(height):
    return pd.DataFrame({"t": [0.0, 0.5], "y": [height, -height]})


def climb(heights):
    return Result({"heights": Table({"height": statistical("V")}, [{"height": h} for h in heights])}, complete=True)


def repeats(means):
    columns = {"seed": exact("int"), "mean": statistical("V")}
    return Result({"means": Table(columns, [{"seed": i, "mean": m} for i, m in enumerate(means)])}, complete=True)


CLAIMS = {
    "1": {
        "holds": {"wave": pd.concat([wave(1.0)] * 5), "amplitude": 1.0},
        "fails": {"wave": pd.concat([wave(0.5)] * 5), "amplitude": 1.0},
        "inconclusive": {"wave": wave(1.0), "amplitude": 1.0},
    },
    "4": {"holds": {"amplitude": 1.0}, "fails": {"amplitude": -1.0}, "inconclusive": {"amplitude": 0.05}},
    "2": {
        "holds": {"climb": climb([0.1, 0.2])},
        "fails": {"climb": climb([0.1, 0.9])},
        "inconclusive": {"climb": climb([0.1])},
    },
    "3": {
        "holds": {"repeats": repeats([0.01, 0.0, -0.01])},
        "fails": {"repeats": repeats([1.0, 1.01, 0.99])},
        "inconclusive": {"repeats": repeats(list(np.linspace(-1, 1, 3)))},
    },
}
