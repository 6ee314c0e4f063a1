"""One side of the benchmark of spectra: reads a case's name a line, runs it once, answers with the seconds it took.

A float32 matrix in the shape of SmolLM2's unembedding, 49,152 × 576, with a decaying spectrum and a mean row.
"""

import logging
import sys
from importlib import metadata

import numpy as np
import torch
from answering import Case, answer

TOKENS, WIDTH, THREADS = 49_152, 576, 2


def matrix() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    decay = torch.linspace(0, -0.7, WIDTH).exp()
    return 0.1 * torch.randn(TOKENS, WIDTH, generator=generator) * decay + 0.09 * torch.randn(
        WIDTH, generator=generator
    )


def assay(weight: torch.Tensor) -> dict[str, Case]:
    sys.path.insert(0, "lib")
    from assay.geometry import measure_matrix, measure_spectrum, singular_values

    double = weight.double()
    assert np.allclose(singular_values(weight), torch.linalg.svdvals(double).numpy(), rtol=1e-8)
    return {
        "spectrum": lambda: singular_values(weight),
        "metrics": lambda: measure_matrix(weight),
        "of the spectrum": lambda: measure_spectrum(singular_values(weight)),
        "svdvals": lambda: torch.linalg.svdvals(double),
    }


def weightwatcher(weight: torch.Tensor) -> dict[str, Case]:
    logging.disable(logging.CRITICAL)
    import weightwatcher as library

    layer = torch.nn.Linear(WIDTH, TOKENS, bias=False)
    layer.weight.data = weight
    model = torch.nn.Sequential(layer)
    watcher = library.WeightWatcher(model=model, log_level="ERROR")
    return {"metrics": lambda: watcher.analyze(plot=False)}


def serve(library: str) -> None:
    torch.set_num_threads(THREADS)
    cases = {"assay": assay, "weightwatcher": weightwatcher}[library](matrix())
    name = "numpy" if library == "assay" else library
    answer(cases, f"{name} {metadata.version(name)}, torch {torch.__version__.split('+')[0]}")


if __name__ == "__main__":
    serve(sys.argv[1])
