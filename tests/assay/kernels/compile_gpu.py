"""Run in a process of its own: compile the GPU kernels for two architectures, no card at hand, and ask ptxas."""

import itertools
import re
import subprocess
import tempfile
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from assay.kernels import gpu

PTXAS = next(Path(triton.__file__).parent.glob("backends/nvidia/bin/ptxas"))
FORWARD = {**dict.fromkeys(("x", "beta", "threshold", "initial", "spikes", "membrane"), "*fp32"), "steps": "i32",
           "neurons": "i32"}  # fmt: skip
BACKWARD = {
    **dict.fromkeys(
        ("x", "beta", "threshold", "initial", "d_spikes", "d_membrane", "d_x", "d_beta", "d_threshold", "d_initial",
         "checkpoints", "chunk_states"), "*fp32",
    ),
    "alpha": "fp32", "turn": "fp32", "steps": "i32", "neurons": "i32", "chunk": "i32",
}  # fmt: skip


def spills(kernel, signature, constants, architecture):
    """Bytes that registers spill, by ptxas."""
    source = ASTSource(kernel, {**signature, **dict.fromkeys(constants, "constexpr")}, constants)
    compiled = triton.compile(
        source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": gpu.WARPS, "enable_fp_fusion": False}
    )
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as ptx:
        ptx.write(compiled.asm["ptx"])
        ptx.flush()
        name = re.search(r"\.target (sm_\w+)", compiled.asm["ptx"]).group(1)
        said = subprocess.run(
            [PTXAS, "-v", f"--gpu-name={name}", ptx.name, "-o", "/dev/null"], capture_output=True, text=True, check=True
        ).stderr
    found = re.findall(r"(\d+) bytes spill (?:stores|loads)", said)
    assert found, said
    return sum(map(int, found))


for architecture in (80, 90):
    for reset, delayed in itertools.product((0, 1, 2), (False, True)):
        common = {"SCALE": True, "RESET": reset, "DELAYED": delayed, "SIZE": gpu.BLOCK}
        assert spills(gpu.forward_kernel, FORWARD, {**common, "WRITE": True}, architecture) == 0
        for kind in (0, 1) if reset == 0 else (reset + 1,):
            more = {**common, "DETACH": False, "READ": True, "OF_NEURON": True, "KIND": kind}
            assert spills(gpu.backward_kernel, BACKWARD, more, architecture) == 0
    print(f"sm_{architecture}: nothing spills")
