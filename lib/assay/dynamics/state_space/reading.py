"""Selective state-space layers from checkpoints, whatever the family calls their weights.

Names as published checkpoints have them: the transformers library (Mamba, Mamba-2, Falcon Mamba, Jamba) and the
original mamba repository. Weights are read a layer at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from assay import checkpoints
from assay.checkpoints import Checkpoint
from assay.dynamics.state_space.layer import InnerNorms, SSMLayer

__all__ = ["SSMPlace", "SSMStack", "find_ssm", "load_ssm", "read_ssm_layer"]

RATES = ("A_log", "A")


@dataclass(frozen=True)
class SSMPlace:
    """Where one layer's weights stand.

    Attributes:
        name: such as `backbone.layers.3.mixer`. index: the number in it.
        names: full names by what follows the mixer's name, such as `x_proj.weight`.
        norm: name of the norm's weight in front, or empty. norm_bias: of its bias, or empty.
    """

    name: str
    index: int
    names: Mapping[str, str]
    norm: str
    norm_bias: str


@dataclass(frozen=True, eq=False)
class SSMStack:
    """The selective layers of a checkpoint.

    Attributes:
        opened: the checkpoint. places: its selective layers in order.
        skipped: other layers, in words; empty where the model is selective layers alone.
        notes: sentences to show.
    """

    opened: Checkpoint
    places: tuple[SSMPlace, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.places)

    def layers(self) -> Iterator[SSMLayer]:
        """The layers, each read when it is asked for."""
        return (read_ssm_layer(self.opened, place) for place in self.places)

    def embedding(self) -> Tensor | None:
        """(V, d) input embeddings, float64; None where the checkpoint has none."""
        name = self.opened.parts.embedding
        return None if name is None else self.opened.tensor(name, dtype=torch.float64)


def find_ssm(source: Path | str | Checkpoint) -> SSMStack:
    """Find the selective layers of a checkpoint; their weights are not read.

    Raises:
        ValueError: it cannot be opened, or has no layer with `A_log`.
    """
    opened = source if isinstance(source, Checkpoint) else checkpoints.open(source)
    places, skipped = [], []
    for layer in opened.layers():
        label = f"{layer.stack}.{layer.index}" if layer.stack else str(layer.index)
        rate = next((inner for inner in layer.names if inner.rpartition(".")[2] in RATES), None)
        if rate is None:
            skipped.append(f"{label} ({kind_of(layer.names)})")
            continue
        prefix = rate.rpartition(".")[0]
        start = f"{prefix}." if prefix else ""
        own = {inner.removeprefix(start): name for inner, name in layer.names.items() if inner.startswith(start)}
        norm = next((layer.names[n] for n in ("norm.weight", "input_layernorm.weight") if n in layer.names), "")
        bias = norm.removesuffix("weight") + "bias" if norm else ""
        places.append(
            SSMPlace(
                f"{label}.{prefix}" if prefix else label,
                layer.index,
                own,
                norm,
                bias if bias in layer.names.values() else "",
            )
        )
        # A block of Jamba holds a feed-forward part beside its mixer.
        if any("feed_forward" in inner or inner.startswith("mlp.") for inner in layer.names):
            skipped.append(f"{label} (its feed-forward part)")
    if not places:
        damaged = next((s for n, s in opened.damaged.items() if n.rpartition(".")[2] in RATES), "")
        found = ", ".join(opened.names()[:3])
        raise ValueError(
            damaged or f"{opened.name}: has no layer with A_log, such as layers.0.mixer.A_log; got {found} and others."
        )
    return SSMStack(opened, tuple(places), tuple(skipped), opened.notes)


def kind_of(names: Iterable[str]) -> str:
    """What a layer without A_log is, by its names."""
    text = " ".join(names)
    if "attn" in text or "attention" in text or "Wqkv" in text:
        return "attention"
    return "a feed-forward layer" if "mlp" in text or "feed_forward" in text else "no A_log"


def load_ssm(source: Path | str | Checkpoint) -> list[SSMLayer]:
    """All selective layers of a checkpoint, float64. For large models `find_ssm` reads them one at a time.

    Raises:
        ValueError: as for `find_ssm` and `read_ssm_layer`.
    """
    return list(find_ssm(source).layers())


def read_ssm_layer(opened: Checkpoint, place: SSMPlace) -> SSMLayer:
    """One layer.

    Raises:
        ValueError: a weight is missing, has another shape than the others imply, or is not finite; A is not negative.
    """
    reader = Reader(opened, place)
    rates = "A_log" if "A_log" in place.names else "A"
    A = reader.rates(rates)
    layer = mamba(reader, A) if A.dim() == 2 else mamba2(reader, A)
    return layer


class Reader:
    """A layer's weights by their short names, checked."""

    def __init__(self, opened: Checkpoint, place: SSMPlace) -> None:
        self.opened = opened
        self.place = place
        self.notes: list[str] = []

    @property
    def config(self) -> Mapping[str, Any]:
        """`config.json`; the part for the text of a model of several kinds."""
        inner = self.opened.config.get("text_config")
        return inner if isinstance(inner, Mapping) else self.opened.config

    def has(self, name: str) -> bool:
        return name in self.place.names

    def raw(self, name: str) -> Tensor:
        """A weight in float64, finite.

        Raises:
            ValueError: it is missing, complex, or holds NaN or infinity.
        """
        if name not in self.place.names:
            raise ValueError(f"{self.place.name}.{name}: is missing; expected it beside {', '.join(self.place.names)}.")
        full = self.place.names[name]
        if self.opened.stored(full).read_as.is_complex:
            raise ValueError(
                f"{full}: holds complex numbers; expected real ones. A complex state is a pair of real ones: give A as "
                "2 × 2 blocks of a switching system (npz)."
            )
        value = self.opened.tensor(full, dtype=torch.float64)
        bad = (~torch.isfinite(value)).nonzero()
        if len(bad):
            first = bad[0].tolist()
            what = "NaN" if bool(torch.isnan(value[tuple(first)])) else "inf"
            hint = ": fp16 load? cast before exp" if name == "A_log" else ""
            where = f"channel {first[0]}" if first else "its value"
            raise ValueError(f"{full}: contains {what} ({where}){hint}; expected finite numbers.")
        return value

    def shaped(self, name: str, formula: str, shape: tuple[int, ...], sizes: str) -> Tensor:
        """A weight of a shape that the others imply.

        Raises:
            ValueError: as for `raw`, or another shape.
        """
        value = self.raw(name)
        if tuple(value.shape) != shape:
            raise ValueError(
                f"{self.place.names[name]}: expected [{formula}] = {list(shape)} ({sizes}), got {list(value.shape)}."
            )
        return value

    def bias(self, name: str, count: int, note: str = "") -> Tensor:
        """A bias; zeros where there is none, which a note may say."""
        if self.has(name):
            return self.shaped(name, str(count), (count,), "one a row")
        if note:
            self.notes.append(note)
        return torch.zeros(count, dtype=torch.float64)

    def rates(self, name: str) -> Tensor:
        """A, below zero: from A_log, or as it is stored.

        Raises:
            ValueError: as for `raw`; another number of dimensions; an entry that is not negative or not finite.
        """
        value = self.raw(name)
        if value.dim() not in (1, 2) or not value.numel():
            raise ValueError(f"{self.place.names[name]}: got shape {list(value.shape)}; expected [D, N] or [H].")
        A = -value.exp() if name == "A_log" else value
        bad = (~((A < 0) & torch.isfinite(A))).nonzero()
        if len(bad):
            first = bad[0].tolist()
            got = float(A[tuple(first)])
            raise ValueError(
                f"{self.place.names[name]}: gives A = {got:.3g} in channel {first[0]}; expected −exp(A_log), below 0 "
                "and finite."
            )
        if name == "A":
            self.notes.append("A is stored as it is, not as A_log; all of it is negative.")
        return A

    def norm(self, width: int) -> tuple[Tensor | None, Tensor | None]:
        """Gain and bias of the norm in front."""
        if not self.place.norm:
            self.notes.append("No norm stands in front of it: a bound needs an input radius.")
            return None, None
        found = []
        for name in (self.place.norm, self.place.norm_bias):
            if not name:
                found.append(None)
                continue
            value = self.opened.tensor(name, dtype=torch.float64)
            if tuple(value.shape) != (width,) or not bool(torch.isfinite(value).all()):
                raise ValueError(f"{name}: got shape {list(value.shape)}; expected {width} finite numbers.")
            found.append(value)
        return found[0], found[1]

    def epsilon(self) -> float:
        """Of the norms, as the configuration says."""
        for name in ("layer_norm_epsilon", "rms_norm_eps", "norm_epsilon"):
            if isinstance(value := self.config.get(name), int | float) and value >= 0:
                return float(value)
        return 1e-5

    def limits(self) -> tuple[float, float]:
        """What steps are clamped to."""
        for name in ("time_step_limit", "dt_limit"):
            value = self.config.get(name)
            if isinstance(value, list | tuple) and len(value) == 2:
                low, high = (float(v) for v in value)
                if 0 <= low < high:
                    return low, high
        return 0.0, math.inf


def mamba(reader: Reader, A: Tensor) -> SSMLayer:
    D, N = A.shape
    step = reader.raw("dt_proj.weight")
    if step.dim() != 2 or step.shape[0] != D:
        raise ValueError(
            f"{reader.place.names['dt_proj.weight']}: expected [D, R] with D = {D}, got {list(step.shape)}."
        )
    R = step.shape[1]
    sizes = f"R={R}, N={N}"
    rows = reader.shaped("x_proj.weight", "R+2N, D", (R + 2 * N, D), sizes)
    in_proj = reader.raw("in_proj.weight")
    if in_proj.dim() != 2 or in_proj.shape[0] != 2 * D:
        got = list(in_proj.shape)
        raise ValueError(f"{reader.place.names['in_proj.weight']}: expected [2D, d] with 2D = {2 * D}, got {got}.")
    d = in_proj.shape[1]
    in_bias = reader.bias("in_proj.bias", 2 * D)
    conv = reader.raw("conv1d.weight")
    if conv.dim() != 3 or conv.shape[:2] != (D, 1):
        got = list(conv.shape)
        raise ValueError(f"{reader.place.names['conv1d.weight']}: expected [D, 1, K] with D = {D}, got {got}.")
    gain, shift = reader.norm(d)
    inner = inner_norms(reader, R, N)
    empty = torch.zeros(0, dtype=torch.float64)
    return SSMLayer(
        name=reader.place.name, index=reader.place.index, family="mamba", A=A,
        skip=reader.bias("D", D, "It has no skip D; none is used."), gain=gain, shift=shift,
        in_x=in_proj[:D], in_z=in_proj[D:], in_x_bias=in_bias[:D], in_z_bias=in_bias[D:],
        conv=conv[:, 0], conv_bias=reader.bias("conv1d.bias", D, "The convolution has no bias; zeros are used."),
        B=rows[R : R + N], C=rows[R + N :], BC_bias=empty, BC_conv=empty, BC_conv_bias=empty,
        step_low=rows[:R], step=step,
        step_bias=reader.bias("dt_proj.bias", D, "The step has no bias; zeros are used."),
        out=reader.shaped("out_proj.weight", "d, D", (d, D), f"d={d}"), out_bias=reader.bias("out_proj.bias", d),
        limits=reader.limits(), inner=inner, epsilon=reader.epsilon(), notes=tuple(reader.notes),
    )  # fmt: skip


def inner_norms(reader: Reader, R: int, N: int) -> InnerNorms | None:
    """Norms of step, B and C: with weights in Jamba, without in Falcon Mamba, where only the configuration says so."""
    if reader.has("dt_layernorm.weight"):
        step, B, C = (
            reader.shaped(f"{name}_layernorm.weight", size, (count,), f"R={R}, N={N}")
            for name, size, count in (("dt", "R", R), ("b", "N", N), ("c", "N", N))
        )
        return InnerNorms(reader.epsilon(), step, B, C)
    if reader.config.get("model_type") == "falcon_mamba":
        epsilon = reader.config.get("mixer_rms_eps", 1e-6)
        return InnerNorms(float(epsilon) if isinstance(epsilon, int | float) else 1e-6, None, None, None)
    return None


def mamba2(reader: Reader, A: Tensor) -> SSMLayer:
    H = len(A)
    out = reader.raw("out_proj.weight")
    if out.dim() != 2 or out.shape[1] % H:
        raise ValueError(
            f"{reader.place.names['out_proj.weight']}: expected [d, D] with D a multiple of {H} heads, got "
            f"{list(out.shape)}."
        )
    d, D = out.shape
    conv = reader.raw("conv1d.weight")
    if conv.dim() != 3 or conv.shape[1] != 1 or conv.shape[0] <= D or (conv.shape[0] - D) % 2:
        got = list(conv.shape)
        raise ValueError(f"{reader.place.names['conv1d.weight']}: expected [D+2GN, 1, K] with D = {D}, got {got}.")
    GN = (conv.shape[0] - D) // 2
    said = reader.config.get("n_groups", reader.config.get("ngroups"))
    if not isinstance(said, int):
        reader.notes.append(f"No configuration says how many groups there are; 1 group of {GN} states is assumed.")
    G = said if isinstance(said, int) else 1
    if G < 1 or GN % G or H % G:
        raise ValueError(f"n_groups: got {G}; expected a number that divides {H} heads and {GN} rows of B.")
    rows = reader.shaped(
        "in_proj.weight", "2D+2GN+H, d", (2 * D + 2 * GN + H, d), f"D={D}, GN={GN}, H={H}, d={d}"
    )  # fmt: skip
    bias = reader.bias("in_proj.bias", len(rows))
    z, x, BC, dt = (slice(0, D), slice(D, 2 * D), slice(2 * D, 2 * D + 2 * GN), slice(2 * D + 2 * GN, None))
    conv_bias = reader.bias("conv1d.bias", D + 2 * GN, "The convolution has no bias; zeros are used.")
    each = D // H
    gain, shift = reader.norm(d)
    gated = reader.shaped("norm.weight", "D", (D,), f"D={D}") if reader.has("norm.weight") else None
    skip = reader.raw("D") if reader.has("D") else torch.zeros(H, dtype=torch.float64)
    if skip.numel() not in (H, D):
        raise ValueError(f"{reader.place.names['D']}: expected [H] = [{H}] or [D] = [{D}], got {list(skip.shape)}.")
    heads = torch.arange(D) // each
    return SSMLayer(
        name=reader.place.name, index=reader.place.index, family="mamba2",
        A=A[heads, None].expand(D, GN // G).clone(), skip=skip.reshape(-1)[heads] if skip.numel() == H else
        skip.reshape(-1), gain=gain, shift=shift, in_x=rows[x], in_z=rows[z], in_x_bias=bias[x], in_z_bias=bias[z],
        conv=conv[:D, 0], conv_bias=conv_bias[:D], B=rows[BC][:GN], C=rows[BC][GN:], BC_bias=bias[BC],
        BC_conv=conv[D:, 0], BC_conv_bias=conv_bias[D:], step_low=torch.zeros(0, dtype=torch.float64),
        step=rows[dt][heads], step_bias=(reader.bias("dt_bias", H, "The step has no bias; zeros are used.") +
                                         bias[dt])[heads],
        out=out, out_bias=reader.bias("out_proj.bias", d), groups=G, limits=reader.limits(), gated_gain=gated,
        epsilon=reader.epsilon(), notes=tuple(reader.notes),
    )  # fmt: skip
