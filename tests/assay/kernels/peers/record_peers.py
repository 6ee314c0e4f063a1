"""What other libraries' LIF neurons give for the same currents, kept so that tests need none of them installed.

Each is run by an interpreter of its own (`make bench` makes them), from the top of the project:

    for peer in snntorch spikingjelly norse; do
        .bench/$peer/bin/python tests/assay/kernels/peers/record_peers.py $peer
    done

It writes `<peer>.npz` beside this file: the currents `x` (T, N), and per case `<case>_spikes` and `<case>_membrane`
(T, N), float32; `<case>_gradient` (T, N) of the sum of spikes times `weights`, where a case has one.
"""

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

Case = tuple[str, Tensor, Tensor, Tensor | None]


def snntorch(x: Tensor, weights: Tensor) -> Iterator[Case]:
    import snntorch

    for reset in ("subtract", "zero", "none"):
        neuron = snntorch.Leaky(beta=0.8, threshold=1.0, reset_mechanism=reset)
        state, spikes, membrane = torch.zeros_like(x[0]), [], []
        for current in x:
            fired, state = neuron(current, state)
            spikes.append(fired)
            membrane.append(state)
        yield reset, torch.stack(spikes), torch.stack(membrane), None


def spikingjelly(x: Tensor, weights: Tensor) -> Iterator[Case]:
    from spikingjelly.activation_based import functional, neuron, surrogate

    for reset, v_reset in (("zero", 0.0), ("subtract", None)):
        for detach in (True, False):
            layer = neuron.LIFNode(
                tau=3.0, decay_input=True, v_threshold=1.0, v_reset=v_reset, surrogate_function=surrogate.ATan(2.0),
                detach_reset=detach, step_mode="m", store_v_seq=True,
            )  # fmt: skip
            functional.reset_net(layer)
            currents = x.clone().requires_grad_()
            spikes = layer(currents)
            (spikes * weights).sum().backward()
            yield f"{reset}_{'detached' if detach else 'whole'}", spikes, layer.v_seq, currents.grad


def norse(x: Tensor, weights: Tensor) -> Iterator[Case]:
    from norse.torch.functional.lif_box import (
        LIFBoxFeedForwardState,
        LIFBoxParameters,
        lif_box_feed_forward_step,
    )
    from norse.torch.functional.reset import reset_subtract, reset_value

    for reset, method in (("zero", reset_value), ("subtract", reset_subtract)):
        kinds = LIFBoxParameters(
            tau_mem_inv=torch.tensor(200.0), v_leak=torch.tensor(0.0), v_th=torch.tensor(1.0),
            v_reset=torch.tensor(0.0), reset_method=method,
        )  # fmt: skip
        state, spikes, membrane = LIFBoxFeedForwardState(v=torch.zeros_like(x[0])), [], []
        for current in x:
            fired, state = lif_box_feed_forward_step(current, state, kinds, dt=0.001)
            spikes.append(fired)
            membrane.append(state.v)
        yield reset, torch.stack(spikes), torch.stack(membrane), None


PEERS = {"snntorch": snntorch, "spikingjelly": spikingjelly, "norse": norse}


def record(peer: str) -> None:
    rng = torch.Generator().manual_seed(20)
    x = 1.0 + 3.0 * torch.randn(64, 16, generator=rng)
    weights = torch.randn(64, 16, generator=rng)
    kept = {"x": x.numpy(), "weights": weights.numpy(), "version": np.array(metadata.version(peer))}
    for case, spikes, membrane, gradient in PEERS[peer](x, weights):
        kept[f"{case}_spikes"] = spikes.detach().numpy()
        kept[f"{case}_membrane"] = membrane.detach().numpy()
        if gradient is not None:
            kept[f"{case}_gradient"] = gradient.numpy()
    np.savez_compressed(Path(__file__).parent / f"{peer}.npz", allow_pickle=False, **kept)


if __name__ == "__main__":
    record(sys.argv[1])
