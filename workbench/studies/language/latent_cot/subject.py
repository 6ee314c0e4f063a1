"""The model that is reached into, the prompts it thinks about, and what interventions are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.language import (
    KeptLatent,
    Laid,
    Operation,
    Recorded,
    Rollout,
    Words,
    WordTask,
    class_directions,
    class_means,
    class_swap,
    constant,
    gaussian,
    given,
    mean_of_step,
    open_language,
    patch,
    project_out,
    read_latent,
    read_recorded,
    rollout,
    same_class,
    zero,
)
from assay.language.user_models import LanguageModel
from workbench.sources import Source

__all__ = ["Bench", "Subject", "bench_of", "make_operations", "open_subject"]

REFERENCE = 200  # prompts that means, classes and directions are taken from


@dataclass(frozen=True, eq=False)
class Subject:
    """What the study is about; one of three is there.

    Attributes:
        name: of the source. kept: a model that comes along. language: a checkpoint of the user's. recorded:
            trajectories.
    """

    name: str
    kept: KeptLatent | None = None
    language: LanguageModel | None = None
    recorded: Recorded | None = None

    @property
    def latents(self) -> int:
        """T."""
        if self.kept is not None:
            return self.kept.model.latents
        return self.language.latents if self.language is not None else self.recorded.latents if self.recorded else 0

    @property
    def words(self) -> KeptLatent:
        """The kept model.

        Raises:
            ValueError: there is none, or it has no latents.
        """
        if self.kept is None:
            raise ValueError(
                f"model: {self.name} has no planted truth; expected a model that comes along for this view, or run "
                "“Reach into every step”."
            )
        if not self.latents:
            raise ValueError(f"model: {self.name} has no latents to reach into; expected one that thinks.")
        return self.kept


def open_subject(source: Source, slots: str) -> Subject:
    """A model that comes along, a folder with a checkpoint, or recorded trajectories.

    Raises:
        ValueError: none of these.
    """
    if source.path is None:
        kept = read_latent(source.name.removeprefix("latent-"))
        return Subject(source.name, kept=kept if slots == "own" else kept.with_mode(slots))
    if source.path.is_file():
        return Subject(source.name, recorded=read_recorded(source.path))
    return Subject(source.name, language=open_language(source.path))


@dataclass(frozen=True, eq=False)
class Bench:
    """Prompts of a kept model, thought through.

    Attributes:
        task: what is asked. words, laid: n prompts. base: their rollout. labels: (n, T) value of each slot's step.
        reference: other prompts, and their labels, that means and classes are taken from.
    """

    task: WordTask
    words: Words
    laid: Laid
    base: Rollout
    labels: Tensor
    reference: Rollout
    reference_labels: Tensor

    def names(self, tokens: Tensor) -> list[str]:
        """Tokens as people write them."""
        every = self.task.token_names()
        return [every[int(i)] for i in tokens]

    def prompt_text(self, number: int) -> str:
        tail = self.names(self.laid.tail[number])
        return " ".join([*self.names(self.laid.prompt[number])[:-1], *(["…", *tail] if tail else [])])


def labels_of(task: WordTask, words: Words) -> Tensor:
    return task.chain_of_thought(words)[0].repeat_interleave(task.slots, dim=1)


def parsed_word(task: WordTask, text: str) -> Words:
    """A prompt as a person types it.

    Raises:
        ValueError: a permutation that is none, another number of them, or a choice that is missing or unknown.
    """
    names = {name: i for i, name in enumerate(task.group.names)}
    parts = text.replace("|", " ").split()
    letters = [p for p in parts if p not in ("A", "B") and not p.startswith("j=")]
    unknown = [p for p in letters if p not in names]
    if unknown:
        raise ValueError(f"word: {unknown[0]!r} is no permutation of 1234; expected such as 2134.")
    if len(letters) != task.letters:
        raise ValueError(f"word: got {len(letters)} permutations; expected {task.letters}.")
    choices = [p for p in parts if p in ("A", "B") or p.startswith("j=")]
    choice = 0
    if task.paired:
        if len(choices) != 1 or choices[0] not in ("A", "B"):
            raise ValueError("word: expected A or B after the permutations, which says whose product is asked for.")
        choice = "AB".index(choices[0])
    elif task.kind == "skip":
        allowed = [f"j={j}" for j in range(2, task.length)]
        if len(choices) != 1 or choices[0] not in allowed:
            raise ValueError(f"word: expected one of {', '.join(allowed)} after the permutations.")
        choice = int(choices[0][2:])
    elif choices:
        raise ValueError(f"word: got {choices[0]!r}; expected permutations alone.")
    return Words(torch.tensor([[names[p] for p in letters]]), torch.tensor([choice]))


def bench_of(kept: KeptLatent, count: int, seed: int, own: str = "", reference: Rollout | None = None) -> Bench:
    """So many held-out prompts, the user's own one first where there is one."""
    task = kept.task
    words = task.draw(count, torch.Generator().manual_seed(100 + seed), held_out=True)
    if own.strip():
        typed = parsed_word(task, own)
        words = Words(
            torch.cat([typed.letters, words.letters[1:]]), torch.cat([typed.choice, words.choice[1:]])
        )  # fmt: skip
    laid = task.lay(words)
    others = task.draw(REFERENCE, torch.Generator().manual_seed(99), held_out=True)
    if reference is None:
        reference = reference_of(kept)
    return Bench(
        task, words, laid, rollout(kept.model, laid, laid.answer[:, None]), labels_of(task, words), reference,
        labels_of(task, others),
    )  # fmt: skip


def reference_of(kept: KeptLatent) -> Rollout:
    """Prompts that means and classes are taken from."""
    laid = kept.task.lay(kept.task.draw(REFERENCE, torch.Generator().manual_seed(99), held_out=True))
    return rollout(kept.model, laid, laid.answer[:, None])


def donors_of(bench: Bench, rule: str, seed: int, prompt: int = 0, donor: int = 1) -> Tensor:
    """(n,) a donor for each prompt; with a rule that nothing meets, any other prompt."""
    generator = torch.Generator().manual_seed(200 + seed)
    n = len(bench.words)
    answers = bench.laid.answer
    allowed = ~torch.eye(n, dtype=torch.bool)
    if rule in ("same", "different"):
        wanted = allowed & ((answers[:, None] == answers[None]) == (rule == "same"))
        allowed = torch.where(wanted.any(dim=1, keepdim=True), wanted, allowed)
    chosen = torch.multinomial(allowed.double(), 1, generator=generator)[:, 0]
    if rule == "pick":
        chosen[min(prompt, n - 1)] = min(donor, n - 1)
    return chosen


def make_operations(
    bench: Bench, donors: Tensor, *, scale: float = 0.5, strength: float = 1.0, rank: int = 8, seed: int = 0,
    optimal: Tensor | None = None,
) -> Mapping[str, Operation]:  # fmt: skip
    """Everything that can be done to a latent, by name."""
    base, other = bench.base, bench.reference
    classes = bench.task.group.order
    means = class_means(other.latents, bench.reference_labels, classes)
    step, overall = mean_of_step(other), other.latents.mean(dim=(0, 1)).expand(other.latents.shape[1], -1)
    lent = base.latents[donors]

    def noise(about: Tensor | None, *, add: bool = False) -> Operation:
        return gaussian(base, scale, torch.Generator().manual_seed(300 + seed), about, add=add)

    made: dict[str, Operation] = {
        "zero": zero(), "mean": constant(overall), "mean_step": constant(step), "gaussian_h": noise(None, add=True),
        "gaussian": noise(None), "gaussian_mu": noise(overall), "gaussian_mu_step": noise(step),
        "counterfactual": class_swap(means, bench.labels[donors]), "swap": given(lent),
        "within_class": given(same_class(other.latents, bench.reference_labels, base.latents, bench.labels,
                                         torch.Generator().manual_seed(400 + seed))),
    }  # fmt: skip
    directions = class_directions(means, rank)
    spread = directions[:, 0].square().sum(dim=-1)
    if bool((spread > 0).all()):
        made["project_out"] = project_out(directions[:, 0], strength)
    made["patch"] = patch(lent, directions)
    if optimal is not None:
        made["optimal"] = constant(optimal)
    return made


def steps_of(step: int, also: str, latents: int) -> tuple[int, ...]:
    """The chosen step with the others that are changed at once.

    Raises:
        ValueError: one that is not there.
    """
    chosen = {step}
    for part in also.split(",") if also else []:
        low, _, high = part.partition("-")
        chosen |= set(range(int(low), int(high or low) + 1))
    for one in sorted(chosen):
        if not 1 <= one <= latents:
            raise ValueError(f"also: intervention step {one} out of 1..{latents}.")
    return tuple(sorted(chosen))


def shown_subset(flags: np.ndarray, subset: str) -> np.ndarray:
    """Which prompts count; all of them where none was answered right."""
    return flags if subset == "correct" and flags.any() else np.ones_like(flags)
