"""A small Mamba for trying certificates on: the paper's block, with the names that its checkpoints have."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from assay.checkpoints.safetensors_writing import write_safetensors
from assay.kernels import selective_scan

__all__ = ["Mamba", "MambaShape", "write_mamba"]

EPSILON = 1e-5


@dataclass(frozen=True)
class MambaShape:
    """Sizes of a model; the expansion is 2 and the step's rank a sixteenth of the width, as in the paper.

    Attributes:
        vocabulary, width, layers: V, d, and how many blocks.
        states: N, of every channel. kernel: K, taps of the convolution.
    """

    vocabulary: int = 16
    width: int = 64
    layers: int = 2
    states: int = 16
    kernel: int = 4

    @property
    def channels(self) -> int:
        """D, of a block."""
        return 2 * self.width

    @property
    def rank(self) -> int:
        """R, of the step size."""
        return math.ceil(self.width / 16)

    def config(self) -> dict[str, Any]:
        """What `config.json` of the transformers library says of this model."""
        return {
            "model_type": "mamba", "architectures": ["MambaForCausalLM"], "vocab_size": self.vocabulary,
            "hidden_size": self.width, "intermediate_size": self.channels, "expand": 2, "state_size": self.states,
            "conv_kernel": self.kernel, "time_step_rank": self.rank, "num_hidden_layers": self.layers,
            "layer_norm_epsilon": EPSILON, "use_bias": False, "use_conv_bias": True, "hidden_act": "silu",
            "rms_norm": True, "residual_in_fp32": True, "tie_word_embeddings": False,
            "torch_dtype": "float32",
        }  # fmt: skip

    def as_dict(self) -> dict[str, int]:
        """The sizes as plain data."""
        return asdict(self)


class RMSNorm(nn.Module):
    """Root mean square norm with a gain."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON)


class Mixer(nn.Module):
    """The selective state space of a block (Gu and Dao, arXiv 2312.00752, section 3.4), over the fused scan."""

    def __init__(self, shape: MambaShape, generator: torch.Generator) -> None:
        super().__init__()
        D, N, R = shape.channels, shape.states, shape.rank

        def drawn(*size: int, scale: float) -> nn.Parameter:
            return nn.Parameter((2 * torch.rand(*size, generator=generator) - 1) * scale)

        self.states, self.rank = N, R
        self.in_proj = nn.Linear(shape.width, 2 * D, bias=False)
        self.conv1d = nn.Conv1d(D, D, shape.kernel, groups=D, padding=shape.kernel - 1)
        self.x_proj = nn.Linear(D, R + 2 * N, bias=False)
        self.dt_proj = nn.Linear(R, D)
        self.out_proj = nn.Linear(D, shape.width, bias=False)
        self.A_log = nn.Parameter(torch.log(torch.arange(1.0, N + 1)).repeat(D, 1))
        self.D = nn.Parameter(torch.ones(D))
        self.in_proj.weight = drawn(2 * D, shape.width, scale=shape.width**-0.5)
        self.conv1d.weight = drawn(D, 1, shape.kernel, scale=shape.kernel**-0.5)
        self.conv1d.bias = drawn(D, scale=shape.kernel**-0.5)
        self.x_proj.weight = drawn(R + 2 * N, D, scale=D**-0.5)
        self.dt_proj.weight = drawn(D, R, scale=R**-0.5)
        # Steps start between 0.001 and 0.1; the bias is softplus⁻¹ of them.
        steps = torch.exp(torch.rand(D, generator=generator) * math.log(100) + math.log(1e-3))
        self.dt_proj.bias = nn.Parameter(steps + torch.log(-torch.expm1(-steps)))
        self.out_proj.weight = drawn(shape.width, D, scale=(D * shape.layers) ** -0.5)

    def forward(self, u: Tensor) -> Tensor:
        x, z = self.in_proj(u).chunk(2, dim=-1)
        length = x.shape[1]
        x = functional.silu(self.conv1d(x.transpose(1, 2))[..., :length]).transpose(1, 2)
        r, B, C = self.x_proj(x).split((self.rank, self.states, self.states), dim=-1)
        y = selective_scan(x, functional.softplus(self.dt_proj(r)), -self.A_log.exp(), B, C, self.D, z)
        assert isinstance(y, Tensor)
        return self.out_proj(y)


class Block(nn.Module):
    """Norm, mixer, residual."""

    def __init__(self, shape: MambaShape, generator: torch.Generator) -> None:
        super().__init__()
        self.norm = RMSNorm(shape.width)
        self.mixer = Mixer(shape, generator)

    def forward(self, h: Tensor) -> Tensor:
        return h + self.mixer(self.norm(h))


class Mamba(nn.Module):
    """A language model of Mamba blocks; names of its weights are those of the transformers library.

    Args:
        shape: its sizes.
        generator: for the first weights.
    """

    def __init__(self, shape: MambaShape, generator: torch.Generator) -> None:
        super().__init__()
        self.shape = shape
        self.backbone = nn.ModuleDict({
            "embeddings": nn.Embedding(shape.vocabulary, shape.width),
            "layers": nn.ModuleList(Block(shape, generator) for _ in range(shape.layers)),
            "norm_f": RMSNorm(shape.width),
        })  # fmt: skip
        self.lm_head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        with torch.no_grad():
            for weight, scale in ((self.backbone["embeddings"].weight, 1.0), (self.lm_head.weight, shape.width**-0.5)):
                weight.copy_(torch.randn(weight.shape, generator=generator) * scale)  # type: ignore[operator, arg-type]

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (batch, length, vocabulary) of tokens (batch, length)."""
        h = self.backbone["embeddings"](tokens)
        for block in self.backbone["layers"]:  # type: ignore[union-attr]
            h = block(h)
        return self.lm_head(self.backbone["norm_f"](h))


def write_mamba(model: Mamba, folder: Path) -> None:
    """Keep a model as the transformers library would: `config.json` and `model.safetensors`, float32."""
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "model.safetensors", model.state_dict())
    (folder / "config.json").write_text(json.dumps(model.shape.config(), indent=2) + "\n", encoding="utf-8")
