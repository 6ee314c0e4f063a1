"""Memory while a checkpoint is read, in a process of its own: a few blocks for a report, one tensor for a tensor."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]
MIB = 1024**2
PROBE = """
import json, resource, sys
import torch
from assay import checkpoints
checkpoints.open(sys.argv[2]).report()  # what is imported on the way, and the allocator's first arenas

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before = peak()
opened = checkpoints.open(sys.argv[1])
rows = opened.report()
report = peak() - before
largest = max((opened.stored(name) for name in opened.names()), key=lambda stored: stored.numel)
opened.tensor(largest.name)
print(json.dumps({"rows": len(rows), "report": report, "tensor": peak() - before, "float32": 4 * largest.numel}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["safetensors", "bin"])
def test_a_report_keeps_blocks_and_a_tensor_itself(folder, kind):
    """256 MiB in two shards, bfloat16, largest tensor 32 MiB, which is 64 MiB as float32."""
    shards = [{f"model.layers.{4 * s + i}.w": torch.ones(4096, 4096).bfloat16() for i in range(4)} for s in (0, 1)]
    big, small = folder(*shards, kind=kind), folder({"w": torch.ones(2, 2)}, name="small", kind=kind)
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(big), str(small)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["rows"] == 8 and seen["float32"] == 64 * MIB
    assert seen["report"] < 32 * MIB, "less than the largest tensor: it was read in blocks"
    assert seen["tensor"] < seen["float32"] + 32 * MIB
