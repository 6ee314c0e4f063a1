"""What the paper claims, as tests that can fail, on one layer and on small decoders.

Numbers of the paper are of Llama-3.2-1B-Instruct; they are quoted, and not claimed from here.
"""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np
import pandas as pd

from assay.statistics import student_interval, wilson_interval
from workbench.studies.language.identity_bridge.controls import study
from workbench.study import Above, Below, Evidence, Result, Within

SURE = 90  # reverse questions over all seeds that a share must rest on


def cells(result: Result, form: str, factorised: bool = True) -> pd.DataFrame:
    rows = result["cells"]
    return rows[(rows["form"] == form) & (rows["factorised"] == factorised)]


def decoded(result: Result, form: str, length: int = 1) -> pd.DataFrame:
    rows = result["cells"]
    return rows[(rows["form"] == form) & (rows["length"] == length)]


def share(rows: pd.DataFrame, column: str, note: str = "") -> Evidence:
    """A mean share in percent, with Wilson's interval over all questions of all seeds."""
    n = int(rows["pairs"].sum())
    mean = float(rows[column].mean())
    low, high = wilson_interval(min(1.0, max(0.0, mean / 100)), n)
    return Evidence(mean, (min(100 * low, mean), max(100 * high, mean)), "questions", n, note)


def difference(first: pd.DataFrame, second: pd.DataFrame, column: str, note: str = "") -> Evidence:
    """Mean difference over seeds, with Student's interval; of a single seed nothing can be said."""
    gaps = (first.set_index("seed")[column] - second.set_index("seed")[column]).dropna().to_numpy(float)
    mean = float(gaps.mean())
    low, high = student_interval(gaps) if len(gaps) > 1 else (-100.0, 100.0)
    return Evidence(mean, (max(-100.0, min(low, mean)), min(100.0, max(high, mean))), "seeds", len(gaps), note)


@study.claim(
    "1", "Forward facts alone teach no reverse answer",
    expects=Below(10.0, "reverse questions right, all tokens, one layer", unit="%", at_least=SURE), printed=0.0,
)  # fmt: skip
def cursed(forms: Result) -> Evidence:
    rows = cells(forms, "fwd")
    return share(rows, "reverse", f"Forward {rows['forward'].mean():.0f} % right.")


@study.claim(
    "1b", "Among A alone, forward facts leave chance",
    expects=Within(-10.0, 10.0, "right among A, less chance", unit="%", at_least=SURE),
)  # fmt: skip
def at_chance(forms: Result) -> Evidence:
    rows = cells(forms, "fwd")
    chance = 100 / float(rows["pairs"].iloc[0])
    found = share(rows, "in_a")
    low, high = found.interval
    return Evidence(found.estimate - chance, (low - chance, high - chance), "questions", found.n,
                    f"Chance is {chance:.1f} %.")  # fmt: skip


@study.claim(
    "2", "Identity facts let a one-layer model learn the reverse",
    expects=Above(50.0, "right with bridge and B is B, less forward only", unit="%", at_least=3),
)  # fmt: skip
def bridged(forms: Result) -> Evidence:
    rows = cells(forms, "ocr")
    return difference(rows, cells(forms, "fwd"), "reverse", f"Right {rows['reverse'].mean():.0f} %.")


@study.claim(
    "2a", "All three known blocks are needed: without B is B the corner stays empty",
    expects=Above(50.0, "right with B is B, less without", unit="%", at_least=3),
)  # fmt: skip
def three_needed(forms: Result) -> Evidence:
    rows = cells(forms, "ocr_no_b")
    return difference(cells(forms, "ocr"), rows, "reverse", f"Without: {rows['reverse'].mean():.0f} %.")


@study.claim(
    "2b", "It is implicit bias: with W_OV itself trained, the reverse corner tells no pair from another",
    expects=Below(1e-9, "largest difference of diagonal and rest, all forms", unit="nats", at_least=3),
)  # fmt: skip
def bias(forms: Result) -> Evidence:
    rows = forms["cells"]
    rows = rows[~rows["factorised"]]
    return Evidence.exact(float(np.abs(rows["diagonal"] - rows["rest"]).max()), n=rows["form"].nunique())


@study.claim(
    "2c", "Beyond one layer: a small decoder learns the reverse from bridge facts",
    expects=Above(10.0, "right with bridge and B is B, less forward only, 1-token names", unit="%", at_least=3),
)  # fmt: skip
def decoder_bridged(decoders: Result) -> Evidence:
    ocr = decoded(decoders, "ocr")
    note = f"Forward {ocr['forward'].mean():.0f} % right; among A {ocr['in_a'].mean():.0f} %."
    return difference(ocr, decoded(decoders, "fwd"), "reverse", note)


study.needs_scale(
    "3", "Llama-3.2-1B-Instruct answers about half of 100 reverse questions (abstract, version 2), from about none",
    reason="It takes full fine-tuning of a pretrained model of 10⁹ weights for 250 epochs, on a GPU.",
)  # fmt: skip


@study.claim(
    "4", "Form matters: “the name of Alice is Alice” leads to the echo",
    expects=Above(90.0, "reverse questions answered by the name asked about, one layer", unit="%", at_least=SURE),
)  # fmt: skip
def echoes(forms: Result) -> Evidence:
    rows = cells(forms, "idn")
    note = f"Right over all tokens {rows['reverse'].mean():.0f} %, among A alone {rows['in_a'].mean():.0f} %."
    return share(rows, "echo", note)


@study.claim(
    "4b", "Form matters on a small decoder too",
    expects=Above(0.0, "right with the bridge, less with names alone, 1-token names", unit="%", at_least=3),
)  # fmt: skip
def decoder_form(decoders: Result) -> Evidence:
    idn = decoded(decoders, "idn")
    note = f"With names alone {idn['echo'].mean():.0f} % echo."
    return difference(decoded(decoders, "ocr"), idn, "reverse", note)


@study.claim(
    "5", "Shorter names generalise better",
    expects=Above(0.0, "right with 1-token names, less 3-token names, small decoder", unit="%", at_least=3),
)  # fmt: skip
def shorter(decoders: Result) -> Evidence:
    rows = decoders["cells"]
    rows = rows[rows["form"] == "ocr"]
    means = ", ".join(f"{v:.0f} %" for v in rows.groupby("length")["reverse"].mean())
    return difference(
        decoded(decoders, "ocr"), decoded(decoders, "ocr", length=3), "reverse", f"By length: {means}."
    )  # fmt: skip


study.needs_scale(
    "5b", "It holds for parents and children as for husbands and wives",
    reason="To one-hot tokens and decoders from scratch all relations are the same; it takes a pretrained model.",
)  # fmt: skip


@study.claim(
    "6", "The working recipe does not echo",
    expects=Below(5.0, "reverse questions answered by the name asked about, one layer", unit="%", at_least=SURE),
)  # fmt: skip
def no_echo(forms: Result) -> Evidence:
    return share(cells(forms, "ocr"), "echo")


@study.claim(
    "6b", "A small decoder under the working recipe does not echo",
    expects=Below(5.0, "reverse questions answered by the name asked about, 1-token names", unit="%", at_least=SURE),
)  # fmt: skip
def decoder_no_echo(decoders: Result) -> Evidence:
    return share(decoded(decoders, "ocr"), "echo")
