"""What can be moved: the facts, the one-layer model and its training, the 2 × 2 toy, the small decoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.language import (
    OneLayerTrace,
    Pair,
    names_on_both_sides,
    read_pairs,
    train_facts,
)
from workbench.sources import Source
from workbench.study import Paper, Study

__all__ = ["FORM_NAMES", "LIVE_PAIRS", "Live", "made_pairs", "study"]

LIVE_PAIRS = 20  # of the model that is trained at once, behind what is drawn
LIVE_STEPS = 600
FORM_NAMES = {
    "fwd": "Forward only", "idn": "Forward, A is A, B is B", "idn_a": "Forward, A is A",
    "ocr": "Forward, bridge, B is B", "ocr_no_b": "Forward, bridge",
}  # fmt: skip

study = Study(
    "identity-bridge",
    paper=Paper(
        title="Breaking the Reversal Curse in Autoregressive Language Models via Identity Bridge",
        arxiv="2602.02470",
        authors="Ma, Huang, Zhu, Sojoudi",
    ),
    question="Do facts that a thing is itself teach a model to read a relation backwards, and in which form?",
    summary="Facts A → A, and the corner of a weight matrix that they fill",
)

study.group("Facts", equation=r"a \xrightarrow{r_+} b,\qquad b \xrightarrow{r_-} a\;?")
study.choice("form", "ocr", choices=FORM_NAMES, label="Trained on", group="Facts",
             doc="Which facts are trained; the bridge reads: the wife of A’s husband is A.")  # fmt: skip
study.integer("pairs", 20, bounds=(4, 200), symbol="n", label="Pairs", group="Facts",
              doc="How many pairs (a, b); drawn at once are at most 20.")  # fmt: skip
study.number("forward_weight", 6.0, bounds=(1.0, 12.0), step=0.5, label="Weight of forward", group="Facts",
             doc="Of a forward fact’s loss; all others weigh 1.")  # fmt: skip
study.data(
    "names", optional=True, label="Your pairs", group="Facts", rare=True, suffixes=(".csv",),
    needs="a CSV with columns a and b, at least 4 pairs",
    doc="Pairs of yours, written into the sentences and the table of answers.",
)  # fmt: skip

study.group("One-layer model", equation=r"f(X) = W_O W_V^{\top} \sum_{t \in X} e_t")
study.flag("factorised", True, label="Factorised", group="One-layer model",
           doc="Train W_O and W_V; otherwise their product itself, from 0.")  # fmt: skip
study.number("init", 0.01, bounds=(1e-4, 3.0), log=True, label="Initial weights", group="One-layer model",
             doc="Standard deviation of the first W_O and W_V.")  # fmt: skip
study.integer("width", 43, bounds="width_bounds", symbol="m", label="Width", group="One-layer model", rare=True,
              doc="Columns of W_O and W_V.")  # fmt: skip
study.number("weight_decay", 0.0, bounds=(0.0, 0.05), step=0.001, label="Weight decay", group="One-layer model",
             rare=True, doc="Pull to 0, of the one-layer model.")  # fmt: skip
study.number("rate", 4.0, bounds=(0.05, 8.0), log=True, label="Rate", group="One-layer model", rare=True,
             doc="Of gradient descent, on all facts at once; large first weights get a smaller one.")  # fmt: skip
study.number("moment", 1.0, bounds=(0.0, 1.0), step=0.02, label="Moment", group="One-layer model",
             doc="Which moment of training is drawn: 0 before the first step, 1 after the last.")  # fmt: skip

study.group("Two by two", equation=r"M = \begin{pmatrix} \alpha & \delta \\ \beta & \gamma \end{pmatrix}")
study.number("alpha", 1.0, bounds=(0.0, 2.0), step=0.05, symbol="α", group="Two by two",
             doc="What facts of A make: the answer A to A.")  # fmt: skip
study.number("beta", 1.0, bounds=(0.1, 2.0), step=0.05, symbol="β", group="Two by two",
             doc="What forward facts make: the answer B to A.")  # fmt: skip
study.number("gamma", 1.0, bounds=(0.0, 2.0), step=0.05, symbol="γ", group="Two by two",
             doc="What facts of B make: the answer B to B.")  # fmt: skip
study.number("delta", 0.0, bounds=(-1.0, 2.0), step=0.05, symbol="δ", group="Two by two",
             doc="The free entry, the answer A to B; move the line.")  # fmt: skip

study.group("Effort")
study.integer("steps", 750, bounds=(50, 20_000), effort=True, group="Effort", label="Steps, one layer",
              doc="Of gradient descent, in the runs; what is drawn at once takes at most 600.")  # fmt: skip
study.integer("grid", 5, bounds=(2, 20), effort=True, group="Effort", label="Grid",
              doc="Rows and columns of the phase diagram.")  # fmt: skip
study.integer("decoder_pairs", 20, bounds=(4, 100), effort=True, group="Effort", label="Pairs, decoder",
              doc="That the small decoder learns.")  # fmt: skip
study.integer("decoder_steps", 300, bounds=(10, 5000), effort=True, group="Effort", label="Steps, decoder",
              doc="Of AdamW, on all facts at once.")  # fmt: skip
study.integer("layers", 2, bounds=(1, 4), effort=True, group="Effort", label="Layers, decoder", rare=True,
              doc="Of the small decoder, 64 wide.")  # fmt: skip
study.number("decoder_decay", 0.3, bounds=(0.0, 0.5), step=0.05, group="Effort", effort=True, rare=True,
             label="Weight decay, decoder", doc="Of AdamW, on matrices; the paper’s is 0.3.")  # fmt: skip
study.presets(
    quick={"steps": 300, "grid": 3, "decoder_pairs": 6, "decoder_steps": 30, "layers": 2, "decoder_decay": 0.3,
           "seeds": 3},
    standard={"steps": 750, "grid": 6, "decoder_pairs": 20, "decoder_steps": 300, "layers": 2, "decoder_decay": 0.3,
              "seeds": 5},
    full={"steps": 6000, "grid": 15, "decoder_pairs": 40, "decoder_steps": 1500, "layers": 4, "decoder_decay": 0.3,
          "seeds": 10},
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Live:
    """The one-layer model that is trained at once.

    Attributes:
        trace: what training left behind. pairs: names of its pairs.
    """

    trace: OneLayerTrace
    pairs: list[Pair]

    @property
    def n(self) -> int:
        """How many pairs."""
        return len(self.pairs)

    @property
    def names(self) -> list[str]:
        """(2n,) names in the order of their tokens."""
        return [a for a, _ in self.pairs] + [b for _, b in self.pairs]


def made_pairs(n: int) -> list[Pair]:
    """Names that are nobody’s: A1 and B1, and so on."""
    return [(f"A{i + 1}", f"B{i + 1}") for i in range(n)]


@study.prepared
def width_bounds(pairs: int) -> tuple[int, int]:
    return 1, 2 * pairs + 3


@study.prepared
def people(names: Source | None, pairs: int) -> list[Pair]:
    return made_pairs(pairs) if names is None or names.path is None else read_pairs(names.path)[:pairs]


@study.prepared
def overlap(people: list[Pair]) -> list[str]:
    return names_on_both_sides(people)


@study.prepared
def live(
    people: list[Pair], form: str, forward_weight: float, factorised: bool, init: float, width: int,
    weight_decay: float, rate: float, steps: int, seed: int,
) -> Live:  # fmt: skip
    """A model of at most 20 pairs, kept at some thirty moments."""
    pairs = people[:LIVE_PAIRS]
    steps = min(steps, LIVE_STEPS)
    trace = train_facts(
        len(pairs), form, np.random.default_rng(seed), forward_weight=forward_weight, factorised=factorised, init=init,
        width=width, rate=rate, steps=steps, wd=weight_decay, moments=[0, *np.geomspace(1, steps, 30).astype(int)],
    )  # fmt: skip
    return Live(trace, pairs)
