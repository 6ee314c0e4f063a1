"""What takes longer: every form of facts on the one-layer model, a phase diagram, and the small decoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.language import (
    FORMS,
    name_task,
    read_backwards,
    reversal_scores,
    score_names,
    symbolic_facts,
    train_facts,
    train_names,
)
from assay.models import Decoder, DecoderShape
from workbench.studies.language.identity_bridge.controls import study
from workbench.study import Run, exact, statistical

DECODER_FORMS = ("fwd", "idn", "ocr")
DECODER_WIDTH = 64
LENGTHS = (1, 2, 3)


def one_layer(run: Run, item: dict[str, Any]) -> dict[str, float]:
    """Train one model of one layer and score its reverse questions, in percent."""
    n = item["n"]
    matrix = train_facts(
        n, item["form"], run.rng("first weights", item["seed"]), forward_weight=item["forward_weight"],
        factorised=item["factorised"], init=item["init"], width=item["width"], rate=item["rate"], steps=item["steps"],
        wd=item["decay"], progress=lambda steps: run.progress(steps, "steps"),
    ).matrix[-1]  # fmt: skip
    found = read_backwards(matrix)
    a, b = np.arange(n), n + np.arange(n)
    asked, _, _ = symbolic_facts(n, "fwd")
    forward = reversal_scores(asked @ matrix.T, b, a, b)
    return {
        "reverse": 100 * found["acc"], "in_a": 100 * found["acc_in_a"], "echo": 100 * found["echo"],
        "forward": 100 * forward["acc"], **{name: found[name] for name in ("diagonal", "rest", "margin")},
    }  # fmt: skip


@study.experiment(
    "Train every form of facts",
    tables={
        "cells": {
            "form": exact("str"), "factorised": exact("bool"), "seed": exact("int"), "pairs": exact("int"),
            "reverse": statistical("%"), "in_a": statistical("%"), "echo": statistical("%"),
            "forward": statistical("%"), "diagonal": statistical("nats"), "rest": statistical("nats"),
            "margin": statistical("nats"),
        }
    },
    cost={"quick": 2, "standard": 6, "full": 120},
)  # fmt: skip
def forms(
    run: Run, pairs: int, forward_weight: float, init: float, width: int, weight_decay: float, rate: float, steps: int,
    seeds: int,
) -> None:  # fmt: skip
    """Five forms, both parametrisations, several first weights: what is answered in reverse."""
    items = [
        {"form": form, "factorised": factorised, "seed": seed, "n": pairs, "forward_weight": forward_weight,
         "init": init, "width": width, "decay": weight_decay, "rate": rate, "steps": steps}
        for form in FORMS for factorised in (True, False)
        for seed in range(seeds if factorised else 1)  # one matrix starts at 0, whatever the seed
    ]  # fmt: skip
    for item, found in zip(items, run.map(one_layer, items, "models"), strict=True):
        run.row("cells", form=item["form"], factorised=item["factorised"], seed=item["seed"], pairs=pairs, **found)


@study.experiment(
    "Draw the phase diagram",
    tables={
        "cells": {"init": exact("float"), "decay": exact("float"), "reverse": statistical("%"),
                  "in_a": statistical("%"), "echo": statistical("%"), "forward": statistical("%")}
    },
    cost={"quick": 1, "standard": 3, "full": 60},
)  # fmt: skip
def phases(
    run: Run, form: str, pairs: int, forward_weight: float, width: int, rate: float, steps: int, grid: int, seed: int
) -> None:
    """Initial weights against weight decay, for the form that is chosen."""
    items = [
        {"form": form, "factorised": True, "seed": seed, "n": pairs, "forward_weight": forward_weight,
         "init": float(init), "width": width, "decay": float(decay), "rate": rate, "steps": steps}
        for init in np.geomspace(1e-3, 3.0, grid) for decay in np.linspace(0.0, 0.02, grid)
    ]  # fmt: skip
    wanted = ("reverse", "in_a", "echo", "forward")
    for item, found in zip(items, run.map(one_layer, items, "cells"), strict=True):
        run.row("cells", init=item["init"], decay=item["decay"], **{name: found[name] for name in wanted})


def one_decoder(run: Run, item: dict[str, Any]) -> dict[str, float]:
    """Train one small decoder and score it, in percent."""
    key = (item["length"], item["seed"])  # every form sees the same names and the same first weights
    task = name_task(item["n"], item["length"], run.rng("names", *key))
    shape = DecoderShape(task.tokens, DECODER_WIDTH, item["layers"], 16)
    model = Decoder(shape, run.generator("first weights", *key))
    loss = train_names(
        model, task, item["form"], forward_weight=item["forward_weight"], weight_decay=item["decay"],
        steps=item["steps"], progress=lambda steps: run.progress(steps, "steps"),
    )  # fmt: skip
    return {name: 100 * value for name, value in score_names(model, task).items()} | {"loss": float(loss[-1])}


@study.experiment(
    "Train small decoders",
    tables={
        "cells": {
            "length": exact("int"), "form": exact("str"), "seed": exact("int"), "pairs": exact("int"),
            "forward": statistical("%"), "reverse": statistical("%"), "in_a": statistical("%"),
            "echo": statistical("%"), "loss": statistical("nats"),
        }
    },
    cost={"quick": 5, "standard": 90, "full": 3600},
)  # fmt: skip
def decoders(
    run: Run, forward_weight: float, decoder_pairs: int, decoder_steps: int, layers: int, decoder_decay: float,
    seeds: int,
) -> None:  # fmt: skip
    """Names of 1, 2 and 3 tokens under three forms of facts, from scratch."""
    items = [
        {"length": length, "form": form, "seed": seed, "n": decoder_pairs, "forward_weight": forward_weight,
         "decay": decoder_decay, "steps": decoder_steps, "layers": layers}
        for length in LENGTHS for form in DECODER_FORMS for seed in range(seeds)
    ]  # fmt: skip
    for item, found in zip(items, run.map(one_decoder, items, "decoders"), strict=True):
        run.row("cells", length=item["length"], form=item["form"], seed=item["seed"], pairs=decoder_pairs, **found)
