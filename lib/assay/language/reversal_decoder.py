"""The Identity Bridge on a small decoder: names of one or several tokens, trained from scratch on a form of facts.

Source: Ma et al. (2026), arXiv 2602.02470, section 4: loss on the answer's tokens alone, each fact's loss times its
weight over the mean weight, AdamW (0.9, 0.95), warm-up over 3 % of the steps and then a constant rate; greedy answers
that must match exactly. Their model is a pretrained one of 10⁹ weights; this one has never seen a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from assay.language.reversal_facts import roles_of
from assay.models import Decoder, adamw

__all__ = ["NameTask", "name_task", "score_names", "train_names"]

PAD, FORTH, BACK, SAME, NAMES_FROM = 0, 1, 2, 3, 4
WARM_UP = 0.03
CLIP = 1.0
PROMPTS = {
    "forward": ("a", (PAD, FORTH), "b"), "bridge": ("a", (FORTH, BACK), "a"), "self_a": ("a", (PAD, SAME), "a"),
    "self_b": ("b", (PAD, SAME), "b"), "test": ("b", (PAD, BACK), "a"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class NameTask:
    """Pairs of names as tokens.

    Attributes:
        a: (n, k) tokens of the first names. b: (n, k) of the second. tokens: V.
    """

    a: Tensor
    b: Tensor
    tokens: int

    def prompts(self, role: str) -> tuple[Tensor, Tensor]:
        """(n, k + 2) name and relation, and (n, k) the answer, for a role of facts or `test`."""
        subject, relation, answer = PROMPTS[role]
        names = {"a": self.a, "b": self.b}
        relations = torch.tensor(relation).expand(len(self.a), 2)
        return torch.cat([names[subject], relations], dim=1), names[answer]


def name_task(n: int, length: int, rng: np.random.Generator) -> NameTask:
    """2n different names of so many tokens, out of an alphabet of 2n; of one token, each has a token of its own.

    Raises:
        ValueError: fewer than 2 pairs, or a length outside 1 to 3.
    """
    if n < 2 or not 1 <= length <= 3:
        raise ValueError(f"n, length: got {n}, {length}; expected at least 2 pairs and 1 to 3 tokens.")
    size = 2 * n
    codes = rng.choice(size**length, size=size, replace=False)
    digits = np.stack([codes // size**i % size for i in range(length)], axis=1) + NAMES_FROM
    names = torch.from_numpy(digits.astype(np.int64))
    return NameTask(names[:n], names[n:], size + NAMES_FROM)


def answer_logits(model: Decoder, prompt: Tensor, answer: Tensor) -> Tensor:
    """(B, k, V) logits where the k tokens of an answer are said, the earlier ones given."""
    return model(torch.cat([prompt, answer[:, :-1]], dim=1))[:, prompt.shape[1] - 1 :]


def train_names(
    model: Decoder,
    task: NameTask,
    form: str,
    *,
    forward_weight: float = 6.0,
    rate: float = 3e-3,
    weight_decay: float = 0.3,
    steps: int = 300,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> np.ndarray:
    """Train in place on all facts at once; gives the (steps,) loss, nats a token.

    Raises:
        ValueError: an unknown form, or a loss that is no longer finite.
    """
    roles = roles_of(form)
    facts = [task.prompts(role) for role in roles]
    prompt, answer = (torch.cat(parts) for parts in zip(*facts, strict=True))
    n = len(task.a)
    weight = torch.tensor([forward_weight if role == "forward" else 1.0 for role in roles]).repeat_interleave(n)
    weight = weight / weight.mean()
    optimiser = adamw(model, rate, weight_decay)
    loss = np.empty(steps)
    model.train()
    for step in range(steps) if progress is None else progress(range(steps)):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / max(1.0, WARM_UP * steps))
        logits = answer_logits(model, prompt, answer)
        each = functional.cross_entropy(logits.transpose(1, 2), answer, reduction="none").mean(dim=1)
        value = (each * weight).mean()
        loss[step] = value.item()
        if not np.isfinite(loss[step]):
            raise ValueError(f"rate: got {rate:g}, with which the loss is not finite at step {step}; expected less.")
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
    model.eval()
    return loss


@torch.no_grad()
def score_names(model: Decoder, task: NameTask) -> dict[str, float]:
    """Shares 0 to 1: `forward` and `reverse` answered exactly, `echo` of the name asked about, and `in_a`.

    `in_a` takes the likeliest of all first names, by the summed log-probability of its tokens.
    """
    n, k = task.a.shape
    prompt, wanted = task.prompts("forward")
    forward = (answer_logits(model, prompt, wanted).argmax(-1) == wanted).all(dim=1)
    prompt, _ = task.prompts("test")
    said = prompt
    for _ in range(k):
        said = torch.cat([said, model(said)[:, -1].argmax(-1, keepdim=True)], dim=1)
    answer = said[:, prompt.shape[1] :]
    every = answer_logits(model, prompt.repeat_interleave(n, 0), task.a.repeat(n, 1)).log_softmax(-1)
    chosen = every.gather(-1, task.a.repeat(n, 1)[..., None]).sum(dim=(1, 2)).view(n, n).argmax(dim=1)
    return {
        "forward": float(forward.float().mean()),
        "reverse": float((answer == task.a).all(dim=1).float().mean()),
        "echo": float((answer == task.b).all(dim=1).float().mean()),
        "in_a": float((chosen == torch.arange(n)).float().mean()),
    }
