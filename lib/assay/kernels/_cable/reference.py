"""Cables over time in plain PyTorch: a loop of differentiable tree solves, another way to gradients."""

import torch
from torch import Tensor

from assay.kernels._cable.problem import Cable, Drive, Synapses
from assay.kernels._tree_solve import tree_solve

__all__ = ["cable_reference", "rates_reference"]


def phi(u: Tensor) -> Tensor:
    near = u.abs() < 1e-3
    safe = torch.where(near, torch.ones_like(u), u)
    return torch.where(near, 1 - u / 2 + u * u / 12 - u**4 / 720, safe / torch.expm1(safe))


def rates_reference(v: Tensor) -> tuple[Tensor, ...]:
    """α and β of m, h and n in 1/ms, at voltages in mV."""
    return (
        phi(-(v + 40) / 10), 4 * torch.exp(-(v + 65) / 18), 0.07 * torch.exp(-(v + 65) / 20),
        1 / (1 + torch.exp(-(v + 35) / 10)), 0.1 * phi(-(v + 55) / 10), 0.125 * torch.exp(-(v + 65) / 80),
    )  # fmt: skip


def cable_reference(
    cable: Cable, synapses: Synapses, drive: Drive, v: Tensor, gate: Tensor, s: Tensor, record: Tensor,
    leaves: dict[str, Tensor] | None = None,
) -> Tensor:  # fmt: skip
    """Voltages (T + 1, records, cells) from states (n, cells), (3, n, cells) and (s, cells); float64.

    Args:
        leaves: tensors in the place of `sodium`, `potassium`, `leak`, `conductance`, `gap` or `current`, which may ask
            for gradients.
    """
    own = leaves or {}

    def of(name: str, holder: object) -> Tensor:
        return own[name] if name in own else torch.as_tensor(getattr(holder, name))

    parent, a, b = (torch.as_tensor(x) for x in (cable.parent, cable.a, cable.b))
    axial, per_area, el = (torch.as_tensor(x) for x in (cable.axial, cable.per_area, cable.leak_reversal))
    gna, gk, gl = (of(name, cable) for name in ("sodium", "potassium", "leak"))
    g, gap, current = of("conductance", synapses), of("gap", synapses), of("current", drive)
    pre, post, gap_pre, gap_post, nodes = (
        torch.as_tensor(x) for x in (synapses.pre, synapses.post, synapses.gap_pre, synapses.gap_post, drive.nodes)
    )
    e, k = torch.as_tensor(synapses.reversal)[:, None], torch.as_tensor(synapses.rate)[:, None]
    below = torch.as_tensor(cable.parent >= 0)
    up = parent.clamp(min=0)
    capacity = torch.as_tensor(cable.capacitance) * 1e-3 / (drive.theta * drive.dt)
    found = [v[record]]
    for t in range(drive.steps):
        m, h, n = gate
        na, kk = gna[:, None] * m**3 * h, gk[:, None] * n**4
        d = (capacity + gl + axial)[:, None] + na + kk
        gap_v = torch.where(below[:, None], v[up] - v, 0.0)
        r = -na * (v - cable.sodium_reversal) - kk * (v - cable.potassium_reversal) - gl[:, None] * (v - el[:, None])
        r = r - b[:, None] * gap_v
        r = r.index_add(0, up[below], (a[:, None] * gap_v)[below])
        r = r.index_add(0, nodes, current[t] * per_area[nodes, None])
        y = (g * per_area[post])[:, None] * s
        d, r = d.index_add(0, post, y), r.index_add(0, post, -y * (v[post] - e))
        z = (gap * per_area[gap_post])[:, None].expand(-1, v.shape[1])
        d, r = d.index_add(0, gap_post, z), r.index_add(0, gap_post, -z * (v[gap_post] - v[gap_pre]))
        v = v + tree_solve(a, b, d, r, parent) / drive.theta
        am, bm, ah, bh, an, bn = rates_reference(v)
        alpha, beta = torch.stack([am, ah, an]), torch.stack([bm, bh, bn])
        end = alpha / (alpha + beta)
        gate = end + (gate - end) * torch.exp(-drive.dt * cable.quicker * (alpha + beta))
        rest = torch.sigmoid((synapses.threshold - v[pre]) / synapses.slope).clamp(min=1e-12)
        s = 1 - rest + (s - 1 + rest) * torch.exp(-drive.dt * k / rest)
        found.append(v[record])
    return torch.stack(found)
