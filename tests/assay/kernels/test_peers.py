"""The LIF scan against three other libraries, step for step, by outputs kept with `peers/record_peers.py`.

- snnTorch 1.0 `Leaky(beta, reset_mechanism=r)` for `subtract` and `none` is `lif(x, beta, reset=r,
  delayed_reset=True)`. For `zero` it clears the state before it decays, so its spikes are those of
  `lif(x, beta, reset="zero")`, and its membrane is the one before that reset. It fires above the threshold, not at it.
- SpikingJelly `LIFNode(tau, decay_input=True, v_reset=r)` is `lif(x, 1 - 1 / tau, scale_input=True)` with reset
  `zero` for r = 0 and `subtract` for None; `ATan(a)` is `atan` with alpha a, and `detach_reset` means the same.
- norse `lif_box_feed_forward_step(tau_mem_inv, dt, v_leak=0)` is `lif(x, 1 - dt tau_mem_inv, scale_input=True)` with
  reset `zero` for `reset_value` to 0 and `subtract` for `reset_subtract`.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from assay.kernels import lif

PEERS = Path(__file__).parent / "peers"
CASES = [
    ("snntorch", "subtract", {"beta": 0.8, "reset": "subtract", "delayed_reset": True}),
    ("snntorch", "zero", {"beta": 0.8, "reset": "zero"}),
    ("snntorch", "none", {"beta": 0.8, "reset": "none", "delayed_reset": True}),
    *[
        (
            "spikingjelly",
            f"{reset}_{name}",
            {"beta": 1 - 1 / 3, "scale_input": True, "reset": reset, "detach_reset": detach, "alpha": 2.0},
        )
        for reset in ("zero", "subtract")
        for name, detach in (("detached", True), ("whole", False))
    ],
    *[("norse", reset, {"beta": 0.8, "scale_input": True, "reset": reset}) for reset in ("zero", "subtract")],
]


@pytest.mark.parametrize(("peer", "case", "kinds"), CASES, ids=[f"{peer}-{case}" for peer, case, _ in CASES])
def test_it_goes_step_for_step_with(peer, case, kinds):
    kinds = dict(kinds)
    with np.load(PEERS / f"{peer}.npz", allow_pickle=False) as kept:
        x = torch.from_numpy(kept["x"]).requires_grad_()
        spikes, membrane = lif(x, kinds.pop("beta"), **kinds)
        assert 0.05 < kept[f"{case}_spikes"].mean() < 0.95
        np.testing.assert_array_equal(spikes.detach(), kept[f"{case}_spikes"])
        theirs = kept[f"{case}_membrane"]
        if (peer, case) == ("snntorch", "zero"):
            theirs = theirs * (1 - kept["zero_spikes"])
        np.testing.assert_allclose(membrane.detach(), theirs, rtol=2e-6, atol=2e-6)
        if f"{case}_gradient" in kept:
            (spikes * torch.from_numpy(kept["weights"])).sum().backward()
            np.testing.assert_allclose(x.grad, kept[f"{case}_gradient"], rtol=1e-5, atol=1e-6)
