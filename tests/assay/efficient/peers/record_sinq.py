"""What the public packages `sinq` and `hqq` make of two matrices, kept so that tests need neither installed.

    python -m venv .bench/sinq
    .bench/sinq/bin/pip install torch==2.13.0 numpy transformers datasets termcolor accelerate torchao
    .bench/sinq/bin/pip install --no-deps sinq==0.2.0 hqq==0.2.8.post1
    .bench/sinq/bin/python tests/assay/efficient/peers/record_sinq.py

writes `sinq.npz` beside this file. `weight` (96, 128) has columns and rows of unequal spread, `square` (64, 128) is cut
in tiles of 32 by 32, `mild` (96, 128) is of low kurtosis, `inputs` (1, 50, 128) are activations. For each
case its codes, scales, zeros and column scales.
"""

from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from hqq.core.quantize import Quantizer as Half
from sinq.awq import compute_awq_scale
from sinq.dual_shift import NF3_CODEBOOK, NF4_CODEBOOK, tiled_quant_rectangle, tiled_quant_square
from sinq.quantizer import rtn8
from sinq.sinkhorn import sinkhorn_log
from sinq.sinqlinear import SINQLinear, sinq_base_quant_config
from torchao.quantization.quantize_.workflows.nf4.nf4_tensor import to_nf4

torch.manual_seed(3)
weight = 0.02 * torch.randn(96, 128) * (0.5 * torch.randn(128)).exp() * (0.2 * torch.randn(96, 1)).exp()
weight[:, 17] *= 12
square = 0.03 * torch.randn(64, 128) * (0.4 * torch.randn(128)).exp()
mild = 0.03 * torch.randn(96, 128) * (0.2 * torch.randn(128)).exp()
inputs = torch.randn(1, 50, 128) * (0.6 * torch.randn(128)).exp()
kept = {"weight": weight, "square": square, "mild": mild, "inputs": inputs, "nf4": NF4_CODEBOOK, "nf3": NF3_CODEBOOK}

for stop in (True, False):
    for order in (1, 4, 16):
        _, mu1, mu2 = sinkhorn_log(weight[:, :64], order, stop_on_increasing_imbalance=stop)
        kept |= {f"mu1_{order}_{stop}": mu1, f"mu2_{order}_{stop}": mu2}


def keep(name, found):
    codes, scale, column, zero = found
    kept.update({f"{name}_q": codes, f"{name}_s1": scale, f"{name}_s2": column, f"{name}_z": zero})


for bits in (2, 3, 4, 5, 6):
    keep(f"sinq_{bits}", tiled_quant_rectangle(weight, [0, 2**bits - 1], 64, method="sinq"))
keep("rtn_4", tiled_quant_rectangle(weight, [0, 15], 64, method="dual"))
for name in ("nf4", "nf3", "hqq"):
    keep(f"sinq_{name}", tiled_quant_rectangle(weight, [0, 7 if name == "nf3" else 15], 64, method=f"sinq_{name}"))
keep("square_4", tiled_quant_square(square, [0, 15], 32, method="sinq"))
awq = compute_awq_scale(weight, inputs, [0, 15], tile=64, method="sinq_awq_l1")
kept["awq"] = awq
keep("awq_4", tiled_quant_rectangle(weight, [0, 15], 64, method="sinq_awq_l1", awq_scale=awq))
kept["rtn_awq"] = compute_awq_scale(weight, inputs, [0, 15], tile=64, method="awq_l2")
scale = kept["sinq_4_s1"]
codes, step, least, shape = rtn8(scale)
kept["aux"] = (codes * step + least).view(shape)

layer = torch.nn.Linear(128, 96, bias=False)
layer.weight.data = mild.clone()
config = sinq_base_quant_config(nbits=4, group_size=64, tiling_mode="1D", method="sinq_nogemlite")
made = SINQLinear(layer, config, del_orig=False, compute_dtype=torch.float32, device="cpu")
kept |= {"layer": made.dequantize(), "layer_out": made(inputs)}
layer.weight = torch.nn.Parameter(weight.clone())
gated = SINQLinear(layer, config, compute_dtype=torch.float32, device="cpu")
kept["gated"] = gated.dequantize()

for bits in (3, 4):
    codes, meta = Half.quantize(weight, nbits=bits, group_size=64, axis=1, bitpack=False, device="cpu")
    kept |= {f"half_{bits}_q": codes, f"half_{bits}_s": meta["scale"], f"half_{bits}_z": meta["zero"]}
kept["torchao_nf4"] = to_nf4(torch.randn(64, 64), 64, 4).nf4

arrays = {name: value.detach().float().numpy() for name, value in kept.items()}
versions = {name: metadata.version(name) for name in ("sinq", "hqq", "torchao", "torch")}
np.savez_compressed(Path(__file__).parent / "sinq.npz", allow_pickle=False, versions=np.array(str(versions)), **arrays)
