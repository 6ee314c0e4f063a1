"""What is known of the kernels on real cards, kept by the command that runs them there."""

import json
from importlib import resources

__all__ = ["gpu_status"]

NOT_YET = "not yet run on a GPU; agrees with its reference in Triton's interpreter, compiles for sm_80 and sm_90."


def gpu_status() -> dict[str, str]:
    """From kernel to a sentence on the card that it was run on."""
    kept = resources.files("assay.kernels").joinpath("gpu_runs.json")
    runs = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    found = {}
    for kernel in ("lif",):
        run = runs.get(kernel)
        found[kernel] = f"run on {run['card']} on {run['date']}: {run['outcome']}." if run else NOT_YET
    return found
