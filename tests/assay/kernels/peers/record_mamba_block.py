"""What a Mamba block of mambapy gives, kept so that tests need it not installed.

    .bench/mambapy/bin/python tests/assay/kernels/peers/record_mamba_block.py

(`make bench` makes that environment) writes `mambapy.npz` beside this file, float32: a block's weights under their
names, its inputs `x` (2, 33, 8) and outputs `y`, and `d_…`, the gradients of the sum of y times `weights` with respect
to x and to each weight.
"""

from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from mambapy.mamba import MambaBlock, MambaConfig

torch.manual_seed(20)
block = MambaBlock(MambaConfig(d_model=8, n_layers=1, d_state=16, dt_min=0.01, dt_max=1.0, pscan=True))
x = torch.randn(2, 33, 8, requires_grad=True)
y = block(x)
weights = torch.randn_like(y)
(y * weights).sum().backward()
kept = {"x": x, "d_x": x.grad, "y": y, "weights": weights}
for name, parameter in block.named_parameters():
    kept |= {name: parameter, f"d_{name}": parameter.grad}
arrays = {name: value.detach().numpy() for name, value in kept.items()}
np.savez_compressed(
    Path(__file__).parent / "mambapy.npz", allow_pickle=False, version=np.array(metadata.version("mambapy")), **arrays
)
