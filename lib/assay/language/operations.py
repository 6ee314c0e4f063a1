"""What can be done to a latent: the interventions of the paper, and controls that tell content from damage.

Source: Li et al. (2026), section 3 and appendix (zero, mean, mean of a step, Gaussian noise); interchange of donors
after Geiger et al. (2021), "Causal Abstractions of Neural Networks", section 3; optimal constants after Li & Janson
(2024), "Optimal ablation for interpretability", section 2. Each function gives an operation for a
`Plan`, or what one is made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from assay.language.interventions import Operation, Rollout

__all__ = [
    "OPERATIONS", "class_directions", "class_means", "class_swap", "constant", "gaussian", "given", "mahalanobis",
    "mean_of_step", "mean_overall", "noise_scale", "optimal_constants", "patch", "project_out", "same_class", "swap",
    "zero",
]  # fmt: skip

OPERATIONS = {
    "zero": "zero", "mean": "mean of all latents", "mean_step": "mean of the step", "gaussian_h": "noise added",
    "gaussian": "noise alone", "gaussian_mu": "mean plus noise", "gaussian_mu_step": "mean of the step plus noise",
    "counterfactual": "class mean of another value", "project_out": "probe direction removed",
    "swap": "another prompt’s latent", "within_class": "latent of the same value", "optimal": "optimal constant",
    "patch": "another prompt’s, in a subspace",
}  # fmt: skip


def zero() -> Operation:
    """h' = 0: the slot is emptied; far from anything that a final norm puts out."""
    return lambda h, t, rows: torch.zeros_like(h)


def mean_overall(base: Rollout) -> Tensor:
    """(T, d) the mean over all steps and prompts, the same at each step."""
    return base.latents.mean(dim=(0, 1)).expand(base.latents.shape[1], -1)


def mean_of_step(base: Rollout) -> Tensor:
    """(T, d) the mean over prompts at each step."""
    return base.latents.mean(dim=0)


def constant(values: Tensor) -> Operation:
    """h' = a constant of the step, (T, d)."""
    return lambda h, t, rows: values[t - 1].expand_as(h)


def noise_scale(base: Rollout, scale: float) -> float:
    """σ = scale · mean‖h‖ / √d, so that noise of scale 1 has the latents' typical length."""
    return scale * float(base.latents.norm(dim=-1).mean()) / base.latents.shape[-1] ** 0.5


def gaussian(base: Rollout, scale: float, generator: torch.Generator, about: Tensor | None, *, add: bool) -> Operation:
    """h' = h + σ e where `add`, else about + σ e, about (T, d) or None for 0; e is drawn once a prompt and step."""
    drawn = torch.randn(base.latents.shape, generator=generator) * noise_scale(base, scale)

    def noisy(h: Tensor, t: int, rows: slice) -> Tensor:
        middle = h if add else torch.zeros_like(h) if about is None else about[t - 1]
        return middle + drawn[rows, t - 1]

    return noisy


def given(values: Tensor) -> Operation:
    """h' = values of the prompt and step, (n, T, d)."""
    return lambda h, t, rows: values[rows, t - 1]


def swap(base: Rollout, donors: Tensor) -> Operation:
    """h' = h_t of a donor prompt at the same step; donors (n,) are numbers of prompts.

    Raises:
        ValueError: donors of another shape, or numbers that are no prompt's.
    """
    if donors.shape != (len(base),) or donors.min() < 0 or donors.max() >= len(base):
        raise ValueError(f"donors: got shape {tuple(donors.shape)}; expected ({len(base)},) numbers of prompts.")
    return given(base.latents[donors])


def project_out(directions: Tensor, strength: float) -> Operation:
    """h' = h − λ (h·v) v / ‖v‖², with a direction v for each step, (T, d).

    Raises:
        ValueError: a direction of no length.
    """
    length = directions.square().sum(dim=-1)
    if not bool((length > 0).all()):
        raise ValueError("directions: one has no length; expected a direction for each step.")

    def removed(h: Tensor, t: int, rows: slice) -> Tensor:
        v = directions[t - 1]
        return h - strength * (h @ v)[:, None] * v / length[t - 1]

    return removed


def patch(values: Tensor, subspace: Tensor) -> Operation:
    """h' = (I − P) h + P h_donor: values (n, T, d) of donors, P onto the span of the rows of `subspace` (T, k, d)."""
    bases = torch.linalg.qr(subspace.transpose(-1, -2)).Q  # orthonormal, whatever was given

    def patched(h: Tensor, t: int, rows: slice) -> Tensor:
        q = bases[t - 1]
        return h + (values[rows, t - 1] - h) @ q @ q.T

    return patched


def same_class(pool: Tensor, pool_labels: Tensor, own: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
    """(n, T, d) latents of other prompts whose step has the same value; the prompt's own where there is none.

    Args:
        pool: (m, T, d) latents to take from. pool_labels: (m, T) their values.
        own: (n, T, d) latents of the prompts. labels: (n, T).
        generator: of the draw.
    """
    out = own.clone()
    for t in range(own.shape[1]):
        alike = (labels[:, t, None] == pool_labels[None, :, t]).double()
        found = alike.sum(dim=1) > 0
        if bool(found.any()):
            chosen = torch.multinomial(alike[found], 1, generator=generator)[:, 0]
            out[found, t] = pool[chosen, t]
    return out


def class_means(latents: Tensor, labels: Tensor, classes: int) -> Tensor:
    """(T, C, d) mean of (n, T, d) latents for each value of (n, T) labels; the step's mean where there is none."""
    out = latents.mean(dim=0)[:, None].repeat(1, classes, 1)
    for t in range(latents.shape[1]):
        hot = functional.one_hot(labels[:, t], classes).to(latents.dtype)
        count = hot.sum(dim=0)
        out[t, count > 0] = (hot.T @ latents[:, t])[count > 0] / count[count > 0, None]
    return out


def class_directions(means: Tensor, count: int) -> Tensor:
    """(T, k, d) leading directions between the class means (T, C, d) of each step: where a value can be read from."""
    return torch.linalg.svd(means - means.mean(dim=1, keepdim=True), full_matrices=False).Vh[:, :count]


def class_swap(means: Tensor, wanted: Tensor) -> Operation:
    """h' = mean latent of a wanted class: means (T, C, d), wanted (n, T) classes."""
    return lambda h, t, rows: means[t - 1, wanted[rows, t - 1]]


def optimal_constants(
    base: Rollout, *, steps: int = 40, rate: float = 0.05,
    progress: Callable[[Iterable[Any]], Iterable[Any]] | None = None,
) -> Tensor:  # fmt: skip
    """(T, d) argmin_c E −log p(target | do(h_t ← c)), by Adam from the step's mean, on the first chunk of prompts.

    Zero and mean overstate what a slot is needed for: they also break what follows. The best constant does not.
    """
    model, total = base.model, base.latents.shape[1]
    count, encoded = base.rows[0].stop, base.states[0]
    targets = base.targets[:count]
    found = mean_of_step(base).clone()
    slots: Sequence[int] = range(1, total + 1)
    for t in slots if progress is None else progress(slots):
        with torch.no_grad():
            state = encoded
            for s in range(1, t):
                state = model.advance(state, base.latents[:count, s - 1, None])
        value = found[t - 1].clone().requires_grad_(True)
        optimiser = torch.optim.Adam([value], lr=rate)
        best, best_loss = value.detach().clone(), float("inf")
        for _ in range(steps):
            now = model.advance(state, value.expand(count, 1, -1))
            for _ in range(t, total):
                now = model.advance(now, model.latent(now))
            logits = model.readout(now, targets, end=True)[:, 0]
            loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            if float(loss.detach()) < best_loss:
                best, best_loss = value.detach().clone(), float(loss.detach())
            optimiser.zero_grad()
            if not loss.requires_grad:
                break  # a model that reads no slot
            loss.backward(inputs=[value])
            optimiser.step()
        found[t - 1] = best
    return found


def mahalanobis(base: Rollout, changed: Tensor, t: int, ridge: float = 1e-3) -> Tensor:
    """(n,) distance of changed latents (n, d) from the step's: how far off the model's own latents an intervention is.

    The covariance gets `ridge` times its mean variance on its diagonal. 1 is typical: divided by √d.
    """
    own = base.latents[:, t - 1].double()
    centred = own - own.mean(dim=0)
    covariance = centred.T @ centred / max(1, len(own) - 1)
    d = own.shape[1]
    covariance += (ridge * covariance.trace() / d + 1e-12) * torch.eye(d, dtype=torch.float64)
    away = changed.double() - own.mean(dim=0)
    return ((away @ torch.linalg.inv(covariance)) * away).sum(dim=1).clamp(min=0).sqrt() / d**0.5
