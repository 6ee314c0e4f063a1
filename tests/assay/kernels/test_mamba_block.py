"""A Mamba block made of the selective scan gives what mambapy's gives, by outputs kept with `peers/record_mamba_block`.

What the scan takes is made as a layer's code makes it: delta = softplus(W_dt r + b_dt), A = -exp(A_log), the gate
before its silu, rows of x_proj in the order r, B, C.
"""

from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import conv1d, silu, softplus

from assay.kernels import selective_scan

KEPT = Path(__file__).parent / "peers" / "mambapy.npz"


def block(x, w):
    inner, states = w["A_log"].shape
    u, z = (x @ w["in_proj.weight"].T).chunk(2, dim=-1)
    width = w["conv1d.weight"].shape[-1]
    u = conv1d(u.transpose(1, 2), w["conv1d.weight"], w["conv1d.bias"], padding=width - 1, groups=inner)
    u = silu(u[..., : x.shape[1]].transpose(1, 2))
    r, B, C = (u @ w["x_proj.weight"].T).split([w["dt_proj.weight"].shape[1], states, states], dim=-1)
    delta = softplus(r @ w["dt_proj.weight"].T + w["dt_proj.bias"])
    return selective_scan(u, delta, -w["A_log"].exp(), B, C, w["D"], z) @ w["out_proj.weight"].T


def test_outputs_and_gradients_of_all_weights():
    with np.load(KEPT, allow_pickle=False) as file:
        kept = {name: torch.from_numpy(file[name]) for name in file if name != "version"}
    names = [name for name in kept if f"d_{name}" in kept]
    assert len(names) == 10  # the input and nine weights
    leaves = {name: kept[name].requires_grad_() for name in names}
    y = block(leaves["x"], leaves)
    torch.testing.assert_close(y, kept["y"], rtol=1e-5, atol=1e-6)
    (y * kept["weights"]).sum().backward()
    for name in names:
        want = kept[f"d_{name}"]
        assert want.abs().max() > 0
        assert (leaves[name].grad - want).abs().max() <= 1e-5 * want.abs().max(), name
