"""Run in a process of its own: compile the LIF scan for two architectures, no card at hand, and ask ptxas."""

import itertools

from ptxas import spills

from assay.kernels._lif import gpu

FORWARD = {**dict.fromkeys(("x", "beta", "threshold", "initial", "spikes", "membrane"), "*fp32"), "steps": "i32",
           "neurons": "i32"}  # fmt: skip
BACKWARD = {
    **dict.fromkeys(
        ("x", "beta", "threshold", "initial", "d_spikes", "d_membrane", "d_x", "d_beta", "d_threshold", "d_initial",
         "checkpoints", "chunk_states"), "*fp32",
    ),
    "alpha": "fp32", "turn": "fp32", "steps": "i32", "neurons": "i32", "chunk": "i32",
}  # fmt: skip

OPTIONS = {"num_warps": gpu.WARPS, "enable_fp_fusion": False}
for architecture in (80, 90):
    for reset, delayed in itertools.product((0, 1, 2), (False, True)):
        common = {"SCALE": True, "RESET": reset, "DELAYED": delayed, "SIZE": gpu.BLOCK}
        assert spills(gpu.forward_kernel, FORWARD, {**common, "WRITE": True}, architecture, **OPTIONS) == 0
        for kind in (0, 1) if reset == 0 else (reset + 1,):
            more = {**common, "DETACH": False, "READ": True, "OF_NEURON": True, "KIND": kind}
            assert spills(gpu.backward_kernel, BACKWARD, more, architecture, **OPTIONS) == 0
    print(f"sm_{architecture}: nothing spills")
