"""Train the decoder that quantisers are tried on: `python -m assay.models.make_prose_decoder --state FILE`.

128 wide and four blocks deep, so that groups of 64 and of 128 weights fit its rows; embeddings are tied. A run that was
interrupted goes on from its state.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from importlib.metadata import version
from pathlib import Path

import torch
from torch import Tensor

from assay.models.byte_pairs import BytePairs
from assay.models.decoder import Decoder, DecoderShape
from assay.models.kept_decoder import PROSE_DECODER_FOLDER, write_decoder
from assay.models.language_training import Budget, loss_by_window, train_language_model, windows
from assay.models.texts import installed_text, split_documents

__all__ = ["main"]

SHAPE = DecoderShape(tokens=1024, width=128, layers=4, context=128, tied=True)
BUDGET = Budget(steps=1600, batch=32, rate=3e-3, final_share=0.05)
KEPT = 96  # windows of held-out text
COMMAND = "python -m assay.models.make_prose_decoder --state FILE"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m assay.models.make_prose_decoder", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("--state", type=Path, required=True, metavar="FILE", help="where an interrupted run is kept")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    began = time.process_time()
    text = installed_text("prose")
    train, held = split_documents(text)
    pairs = BytePairs.trained(train, SHAPE.tokens)
    held_out = windows(pairs.encode_documents(held), SHAPE.context)
    held_out = held_out[torch.linspace(0, len(held_out) - 1, KEPT).long()]
    model = Decoder(SHAPE, torch.Generator().manual_seed(0))

    def measure(now: Decoder) -> dict[str, float]:
        return {"loss": loss_of(now, held_out)}

    log = train_language_model(
        model, windows(pairs.encode_documents(train), SHAPE.context), BUDGET,
        generator=torch.Generator().manual_seed(1), measure=measure, entries=16, state=given.state, keep_every=50,
    )  # fmt: skip
    write_decoder(model, held_out, pairs, PROSE_DECODER_FOLDER)
    versions = {"python": platform.python_version(), **{name: version(name) for name in ("torch", "numpy", "scipy")}}
    provenance = {
        "command": COMMAND, "text": {"source": text.source, "sha256": text.sha256}, "versions": versions,
        "steps": BUDGET.steps, "tokens": BUDGET.steps * BUDGET.batch * SHAPE.context, "threads": 1,
        "loss": [round(float(x), 4) for x in log.column("loss")], "core-seconds": round(time.process_time() - began),
    }  # fmt: skip
    (PROSE_DECODER_FOLDER / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")
    print(f"loss {log.column('loss')[-1]:.3f} nats a token", flush=True)
    return 0


def loss_of(model: Decoder, text: Tensor) -> float:
    return float(loss_by_window(model, text).mean())


if __name__ == "__main__":
    raise SystemExit(main())
