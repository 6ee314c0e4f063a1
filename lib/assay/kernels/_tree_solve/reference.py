"""The tree solve in plain PyTorch: nodes one after the other, or a schedule's rounds as whole vectors."""

import torch
from torch import Tensor

from assay.kernels._tree_solve.schedule import Schedule

__all__ = ["rounds_reference", "tree_solve_reference"]


def tree_solve_reference(a: Tensor, b: Tensor, d: Tensor, rhs: Tensor, parent: Tensor) -> Tensor:
    """Solution (n, cells) of coefficients and right-hand sides (n, cells); differentiable, for it changes nothing."""
    pivot, right = list(d.unbind()), list(rhs.unbind())
    up = parent.tolist()
    for i in range(len(up) - 1, -1, -1):
        if up[i] >= 0:
            f = a[i] / pivot[i]
            pivot[up[i]] = pivot[up[i]] - f * b[i]
            right[up[i]] = right[up[i]] - f * right[i]
    x: list[Tensor] = []
    for i, p in enumerate(up):
        x.append(right[i] / pivot[i] if p < 0 else (right[i] - b[i] * x[p]) / pivot[i])
    return torch.stack(x) if x else torch.empty_like(rhs)


def rounds_reference(a: Tensor, b: Tensor, d: Tensor, rhs: Tensor, parent: Tensor, schedule: Schedule) -> Tensor:
    """The same, round by round: each round is one vector operation, siblings of a round are added one by one."""
    pivot, x = d.clone(), rhs.clone()
    rounds = [torch.from_numpy(nodes).to(rhs.device) for nodes in schedule.rounds]
    for nodes in rounds:
        nodes = nodes[parent[nodes] >= 0]
        up = parent[nodes]
        f = a[nodes] / pivot[nodes]
        pivot.index_add_(0, up, -f * b[nodes])
        x.index_add_(0, up, -f * x[nodes])
    for nodes in reversed(rounds):
        up = parent[nodes]
        from_above = torch.where((up >= 0)[:, None], b[nodes] * x[up.clamp(min=0)], torch.zeros_like(x[nodes]))
        x[nodes] = (x[nodes] - from_above) / pivot[nodes]
    return x
