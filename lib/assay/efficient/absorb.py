"""Pre-SINQ: column scales moved into what stands before a layer, so that the float model stays the same.

Source: Müller et al., arXiv 2509.22944, and its released code: t = μ₁ / median μ₁ of the matrices that read the same
states, W ← W diag(1 / t), and t goes into the gain of the norm before them, or into the rows of the matrix whose
outputs they read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.kernels import balance
from assay.models.llama import Llama

__all__ = ["Absorbed", "absorb_scales", "llama_plan"]

ITERATIONS, PASSES = 4, 3


@dataclass(frozen=True)
class Absorbed:
    """Matrices that read the same inputs, and where a scale of these inputs can go.

    Attributes:
        readers: names of matrices (·, D). gain: name of a norm's weight (D,), or of the matrix (D, ·) before them.
        shared: rows of a value matrix are read by this many neighbouring heads of width `head`; 1 elsewhere.
        head: width of a head, where rows are shared.
        bias: name of the bias of the matrix before them, scaled with its rows, or empty.
    """

    readers: tuple[str, ...]
    gain: str
    shared: int = 1
    head: int = 1
    bias: str = ""


def llama_plan(model: Llama) -> tuple[Absorbed, ...]:
    """What can be absorbed in a Llama-like decoder: queries, keys and values; gate and up; down; attention's output."""
    plan = []
    shared = model.shape.heads // model.shape.kv_heads
    for i in range(model.shape.layers):
        place = f"model.layers.{i}."
        attention, feed = f"{place}self_attn.", f"{place}mlp."
        bias = f"{attention}v_proj.bias"
        plan += [
            Absorbed(tuple(f"{attention}{n}_proj.weight" for n in "qkv"), f"{place}input_layernorm.weight"),
            Absorbed((f"{feed}gate_proj.weight", f"{feed}up_proj.weight"), f"{place}post_attention_layernorm.weight"),
            Absorbed((f"{feed}down_proj.weight",), f"{feed}up_proj.weight"),
            Absorbed((f"{attention}o_proj.weight",), f"{attention}v_proj.weight", shared, model.shape.head,
                     bias if bias in model.weights else ""),
        ]  # fmt: skip
    return tuple(plan)


def absorb_scales(
    weights: Mapping[str, Tensor], plan: Sequence[Absorbed], *, iterations: int = ITERATIONS, passes: int = PASSES
) -> dict[str, Tensor]:
    """The weights that change, so that all outputs stay what they were.

    Args:
        weights: of a float model, by name.
        plan: what reads the same inputs, in order.
        iterations: of balancing in a pass. passes: over the whole plan.

    Returns:
        The changed weights; the others are left out.

    Raises:
        ValueError: a name that is not among the weights, or shapes that do not fit.
    """
    changed: dict[str, Tensor] = {}

    def now(name: str) -> Tensor:
        found = changed.get(name, weights.get(name))
        if found is None:
            raise ValueError(f"plan: names {name}, which is not among the weights.")
        return found

    for _ in range(passes):
        for one in plan:
            stacked = torch.cat([now(name).float() for name in one.readers])
            width = stacked.shape[1]
            mu = balance(stacked, len(stacked), width, iterations=iterations).columns[0]
            scale = mu / mu.median()
            if one.shared > 1:  # heads that read the same values can only share a scale
                heads = scale.log().view(-1, one.shared, one.head)
                scale = heads.mean(1, keepdim=True).expand_as(heads).exp().reshape(-1)
            source = now(one.gain)
            lifted = scale.view(-1, one.shared, one.head)[:, 0].reshape(-1) if one.shared > 1 else scale
            if len(source) != len(lifted):
                raise ValueError(f"plan: {one.gain} has {len(source)} rows; expected {len(lifted)}.")
            for name in one.readers:
                changed[name] = now(name) / scale
            changed[one.gain] = source * (lifted if source.dim() == 1 else lifted[:, None])
            if one.bias:
                changed[one.bias] = now(one.bias) * lifted
    return changed
