"""Run in a process of its own: compile the selective scan for two architectures, no card at hand, and ask ptxas."""

import itertools

from ptxas import spills

from assay.kernels._selective_scan import gpu

SIZES = dict.fromkeys(("steps", "channels", "states", "every"), "i32")


def signature(tensors, **sizes):
    return {**dict.fromkeys(tensors.split(), "*fp32"), **SIZES, **sizes}


CARRY = signature("u delta rates B kept times")
SCAN = signature("u delta rates B C D z kept y state peak norm")
CARRY_BACK = signature("delta rates C z d_y carries times")
BACKWARD = signature(
    "u delta rates B C D z kept carries d_y d_u d_delta d_A d_B d_C d_D d_z chunk_starts chunk_states", chunk="i32"
)
JOIN = {**dict.fromkeys(("rates", "kept", "times", "end", "out"), "*fp32"),
        **dict.fromkeys(("channels", "states", "segments"), "i32")}  # fmt: skip


def kernels(states, back):
    """What runs there or back: kernel, signature, constants and options."""
    padded, options = gpu.tiling(states, back)
    forms = [(gpu.join_kernel, JOIN, {"BACK": back})]
    if back:
        forms += [(kernel, s, {"GATED": True}) for kernel, s in ((gpu.carry_back_kernel, CARRY_BACK),
                                                                 (gpu.backward_kernel, BACKWARD))]  # fmt: skip
    else:
        forms += [(gpu.carry_kernel, CARRY, {}),
                  (gpu.scan_kernel, SCAN, {"GATED": True, "NORMS": False, "LARGEST": False}),
                  (gpu.scan_kernel, SCAN, {"GATED": True, "NORMS": True, "LARGEST": True})]  # fmt: skip
    return [(kernel, s, {**kinds, "SIZE": gpu.BLOCK, "STATES": padded}, options) for kernel, s, kinds in forms]


for architecture in (80, 90):
    for states, back in itertools.product((1, 16, 17), (False, True)):
        for kernel, given, constants, options in kernels(states, back):
            # Triton makes constants of sizes that are 1
            ones = {name for name in given if given[name] == "i32" and states == 1}
            given = {name: kind for name, kind in given.items() if name not in ones}
            found = spills(kernel, given, {**constants, **dict.fromkeys(ones, 1)}, architecture, **options)
            assert found == 0, (kernel, states, found)
    print(f"sm_{architecture}: nothing spills")
