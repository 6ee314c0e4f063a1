"""What views share: the model, a few prompts, the chosen intervention and its effects, all computed at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.language import Influence, Outcome, Plan, Rollout, influence, intervene
from workbench.sources import Source
from workbench.studies.language.latent_cot.controls import LIVE, study
from workbench.studies.language.latent_cot.subject import (
    Bench,
    Subject,
    bench_of,
    donors_of,
    make_operations,
    open_subject,
    reference_of,
    steps_of,
)


@study.prepared
def subject(model: Source, slots: str) -> Subject:
    return open_subject(model, slots)


@study.prepared
def latents(subject: Subject) -> int:
    """T, latent slots."""
    return subject.latents


@study.prepared
def prompt_bounds(subject: Subject) -> tuple[int, int]:
    return 0, (LIVE if subject.recorded is None else len(subject.recorded)) - 1


@study.prepared
def reference(subject: Subject) -> Rollout | None:
    """Prompts that means and classes are taken from; none where nothing is planted."""
    return reference_of(subject.kept) if subject.kept is not None and subject.latents else None


@study.prepared
def bench(subject: Subject, reference: Rollout | None, seed: int, word: str) -> Bench | None:
    """A few prompts of a model that comes along; none for others, or for one without latents."""
    if reference is None or subject.kept is None:
        return None
    return bench_of(subject.kept, LIVE, seed, word, reference)


@dataclass(frozen=True, eq=False)
class Acted:
    """The chosen intervention at every step, and at the chosen set of steps.

    Attributes:
        outcome: T + 1 plans on n prompts, read at the answer; the last one changes all chosen steps.
        lens: (n, T + 1) what the steps and the answer say without intervention, and then with it at the chosen steps.
        steps: that are changed together. donors: (n,).
    """

    outcome: Outcome
    lens: tuple[np.ndarray, np.ndarray]
    steps: tuple[int, ...]
    donors: np.ndarray


@study.prepared
def acted(
    bench: Bench | None, operation: str, step: int, also: str, scale: float, strength: float, rank: int,
    donor_rule: str, prompt: int, donor: int, seed: int,
) -> Acted | None:  # fmt: skip
    """What the chosen intervention does to answers and to the steps after it."""
    if bench is None:
        return None
    total = bench.task.latents
    donors = donors_of(bench, donor_rule, seed, prompt, donor)
    made = make_operations(bench, donors, scale=scale, strength=strength, rank=rank, seed=seed)[operation]
    steps = steps_of(step, also, total)
    chosen = dict.fromkeys(steps, made)
    plans = [Plan({t: made}, total) for t in range(1, total + 1)] + [Plan(chosen, total)]
    # The step after slot r is what is read there: every step from the first that is changed.
    follow = [Plan({s: made for s in steps if s <= r}, r, end=False) for r in range(steps[0], total)]
    outcome = intervene(bench.base, [*plans, *follow])
    count = len(plans)
    before = np.concatenate(
        [bench.base.next_logits[:, :total].argmax(-1).numpy(), bench.base.answers.numpy()], axis=1
    )  # fmt: skip
    after = before.copy()
    for number, r in enumerate(range(steps[0], total)):
        after[:, r] = outcome.predicted[count + number, :, 0].numpy()
    after[:, -1] = outcome.predicted[count - 1, :, 0].numpy()
    first = outcome.part(slice(0, count))
    return Acted(first, (before, after), steps, donors.numpy())


@study.prepared
def routes(
    bench: Bench | None, operation: str, effect: str, read: str, scale: float, strength: float, rank: int,
    donor_rule: str, prompt: int, donor: int, metric: str, seed: int,
) -> Influence | None:  # fmt: skip
    """Which step acts on which, for the chosen intervention and effect."""
    if bench is None:
        return None
    donors = donors_of(bench, donor_rule, seed, prompt, donor)
    made = make_operations(bench, donors, scale=scale, strength=strength, rank=rank, seed=seed)[operation]
    return influence(bench.base, made, effect=effect, read=read, metric=metric)
