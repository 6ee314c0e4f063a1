"""What is known of the kernels on real cards, kept by the command that runs them there.

`python tests/assay/kernels/record_gpu.py` compares the kernels with their references on the card at hand and writes
`gpu_runs.json` beside this file. A record is of one source of a kernel: it says nothing once that has changed.
"""

import hashlib
import json
from importlib import resources
from importlib.resources.abc import Traversable

__all__ = ["gpu_status", "source_hash"]

NOT_YET = "not yet run on a GPU; agrees with its reference in Triton's interpreter, compiles for sm_80 and sm_90."
FOLDER: Traversable = resources.files("assay.kernels")
KERNELS = ("balance", "lif", "packed_product", "prefix_support", "selective_scan", "tree_solve")


def source_hash(kernel: str) -> str:
    """SHA-256 of the source of a kernel for GPUs, the same whatever the line ends."""
    return hashlib.sha256(FOLDER.joinpath(f"_{kernel}", "gpu.py").read_text(encoding="utf-8").encode()).hexdigest()


def gpu_status() -> dict[str, str]:
    """From kernel to a sentence on the card that it was run on; `not yet run on a GPU …` where there was none."""
    kept = FOLDER.joinpath("gpu_runs.json")
    runs = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    found = {}
    for kernel in KERNELS:
        run = runs.get(kernel)
        if not run:
            found[kernel] = NOT_YET
        elif run["source"] != source_hash(kernel):
            found[kernel] = f"not yet run on a GPU at this source; another one was on {run['card']} on {run['date']}."
        else:
            found[kernel] = f"run on {run['card']} on {run['date']}: {run['outcome']}."
    return found
