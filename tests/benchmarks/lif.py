"""One side of the LIF benchmark: reads the name of a case a line, runs it once, answers with the seconds it took.

Run by `run.py` with the interpreter of the library that is named. Float32, 128 steps, 61,440 neurons: 30 MiB, below
the size from which glibc asks the kernel for fresh pages at every allocation.
"""

import sys
from importlib import metadata

import torch
from answering import Case, answer

STEPS, NEURONS, THREADS = 128, 61_440, 2


def assay(x: torch.Tensor) -> dict[str, Case]:
    sys.path.insert(0, "lib")
    from assay.kernels import lif

    beta = 1 - 1 / 3
    spikes, membrane, copied = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
    asks, weights = x.clone().requires_grad_(), torch.rand_like(x)

    def there_and_back() -> None:
        asks.grad = None
        lif(asks, beta, scale_input=True, reset="zero", return_membrane=False).backward(weights)

    return {
        "copy": lambda: copied.copy_(x),
        "spikes": lambda: lif(x, beta, return_membrane=False, out=spikes),
        "membrane": lambda: lif(x, beta, out=(spikes, membrane)),
        "delayed": lambda: lif(x, beta, delayed_reset=True, out=(spikes, membrane)),
        "both ways": there_and_back,
    }


def snntorch(x: torch.Tensor) -> dict[str, Case]:
    import snntorch as library

    neuron = library.Leaky(beta=1 - 1 / 3)

    def forward() -> None:
        with torch.no_grad():
            state, spikes, membrane = torch.zeros_like(x[0]), [], []
            for current in x:
                fired, state = neuron(current, state)
                spikes.append(fired)
                membrane.append(state)

    return {"delayed": forward}


def spikingjelly(x: torch.Tensor) -> dict[str, Case]:
    from spikingjelly.activation_based import functional, neuron, surrogate

    layer = neuron.LIFNode(
        tau=3.0, detach_reset=True, surrogate_function=surrogate.ATan(2.0), step_mode="m", store_v_seq=False
    )
    asks, weights = x.clone().requires_grad_(), torch.rand_like(x)

    def there_and_back() -> None:
        functional.reset_net(layer)
        asks.grad = None
        layer(asks).backward(weights)

    return {"both ways": there_and_back}


IN_A_ROW = 4  # a case follows itself: its memory is warm and no other library's threads are still spinning


def serve(library: str) -> None:
    torch.set_num_threads(THREADS)
    x = 1.5 * torch.randn(STEPS, NEURONS, generator=torch.Generator().manual_seed(0))
    cases = {"assay": assay, "snntorch": snntorch, "spikingjelly": spikingjelly}[library](x)
    name = "numba" if library == "assay" else library
    answer(cases, f"{name} {metadata.version(name)}, torch {torch.__version__.split('+')[0]}", in_a_row=IN_A_ROW)


if __name__ == "__main__":
    serve(sys.argv[1])
