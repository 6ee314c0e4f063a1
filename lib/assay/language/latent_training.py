"""Training a decoder to think in latent slots: a staged curriculum (Coconut), self-distillation (CODI), and controls.

Stage s of the curriculum replaces the first s steps of the chain of thought by latents (Hao et al. 2024, section 3); a
stage is left when its loss and held-out accuracy say so, and by its limit of iterations otherwise. CODI: a student that
thinks in latents and a teacher that thinks in words share their weights; the states of all blocks at the token before
the answer are pulled together (Shen et al. 2025, section 3.2, eq. 2). Words are drawn afresh for every batch. With one
thread a run repeats bit for bit, also when it was interrupted.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from assay.language.latent_decoder import LatentDecoder
from assay.language.word_task import Laid, WordTask
from assay.models.decoder import DecoderShape

__all__ = ["METHODS", "LatentRecipe", "Stage", "held_out_accuracy", "train_latent", "untrained"]

METHODS = ("coconut", "supervised", "codi", "pause", "cot", "none")
Progress = Callable[[Iterable[Any]], Iterable[Any]]

WARM_UP = 50  # iterations of every stage
CLIP = 1.0
CHECK_EVERY = 50
HELD_OUT = 512  # words of a check
LEAVE_LOSS = 0.02
LEAVE_ACCURACY = 0.99
LAST_ACCURACY = 0.998  # of the last stage


@dataclass(frozen=True)
class LatentRecipe:
    """What is trained, and how.

    Attributes:
        task: words. method: `coconut` (staged), `supervised` (staged, each latent also predicts its step), `codi`,
            `pause` (staged, one token in all slots), `cot` (steps in words), `none` (answer alone).
        width, layers: of the decoder. seed: of weights and words.
        batch: words an iteration. rate: AdamW's, after a warm-up in every stage.
        limit: most iterations of a stage.
        drop: share of a step's slots that is zeroed in training when a step has several, so that any one must do.
        factor: weight of CODI's distillation.

    Raises:
        ValueError: a value out of range.
    """

    task: WordTask
    method: str = "coconut"
    width: int = 96
    layers: int = 2
    seed: int = 0
    batch: int = 128
    rate: float = 1e-3
    limit: int = 6000
    drop: float = 0.0
    factor: float = 1.0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method: got {self.method!r}; expected one of {', '.join(METHODS)}.")
        for name in ("width", "layers", "batch", "limit"):
            value = getattr(self, name)
            if isinstance(value, bool) or int(value) != value or value < 1:
                raise ValueError(f"{name}: got {value}; expected a whole number of at least 1.")
        if not 0 < self.rate < float("inf"):
            raise ValueError(f"rate: got {self.rate}; expected a number above 0.")
        if not 0 <= self.drop < 1:
            raise ValueError(f"drop: got {self.drop}; expected a number from 0 to below 1.")

    @property
    def shape(self) -> DecoderShape:
        return DecoderShape(self.task.tokens, self.width, self.layers, context=32, tied=True, spread=self.width**-0.5)

    @property
    def mode(self) -> str:
        """How the model runs its slots."""
        return {"supervised": "coconut", "cot": "explicit", "none": "pause"}.get(self.method, self.method)

    @property
    def stages(self) -> tuple[int, ...]:
        """Steps that are latent, stage by stage."""
        if self.method in ("coconut", "supervised", "pause"):
            return tuple(range(self.task.step_count + 1))
        return {"codi": (self.task.step_count,), "cot": (0,), "none": (self.task.step_count,)}[self.method]

    @property
    def latents(self) -> int:
        """T, slots that the finished model runs."""
        return 0 if self.method == "none" else self.task.latents


@dataclass(frozen=True)
class Stage:
    """What happened in a stage.

    Attributes:
        steps: steps that were latent. iterations: done. loss: mean of the last iterations, nats a token.
        accuracy: share of right answers on held-out words. left: by its criterion, not by its limit.
        seconds: of one thread.
    """

    steps: int
    iterations: int
    loss: float
    accuracy: float
    left: bool
    seconds: float


def untrained(recipe: LatentRecipe) -> LatentDecoder:
    """A model with its first weights."""
    return LatentDecoder(recipe.shape, recipe.mode, recipe.task.end, torch.Generator().manual_seed(recipe.seed))


def train_latent(
    recipe: LatentRecipe, *, state: Path | None = None, keep_every: int = 500, progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> tuple[LatentDecoder, list[Stage]]:  # fmt: skip
    """Train a model; it comes back in evaluation mode, with its stage log.

    Args:
        recipe: what and how.
        state: a file that is written every `keep_every` iterations and after each stage, and read first where it is
            there; removed at the end.
        keep_every: iterations.
        progress: wraps the iterations of a stage; raising in it stops the work.
        say: takes a line after each stage.

    Raises:
        ValueError: a state of another run, or a loss that is no longer finite.
    """
    model = untrained(recipe)
    generator = torch.Generator().manual_seed(1000 + recipe.seed)
    held = recipe.task.draw(HELD_OUT, torch.Generator().manual_seed(7), held_out=True)
    laid = recipe.task.lay(held)
    run = Run(recipe, model, generator, state)
    run.read()
    while len(run.log) < len(recipe.stages):
        steps = recipe.stages[len(run.log)]
        last = len(run.log) == len(recipe.stages) - 1
        began = time.process_time()
        numbers: Iterable[int] = range(run.iteration, recipe.limit)
        left = False
        for i in numbers if progress is None else progress(numbers):
            run.step(i, steps)
            if (i + 1) % CHECK_EVERY == 0:
                loss = run.recent()
                accuracy = held_out_accuracy(model, recipe, laid, steps)
                wanted = LAST_ACCURACY if last else LEAVE_ACCURACY
                if loss < LEAVE_LOSS and accuracy >= wanted:
                    left = True
                    break
            if state is not None and (i + 1) % keep_every == 0:
                run.seconds += time.process_time() - began
                began = time.process_time()
                run.write()
        run.seconds += time.process_time() - began
        accuracy = held_out_accuracy(model, recipe, laid, steps)
        run.log.append(Stage(steps, run.iteration, run.recent(), accuracy, left, round(run.seconds, 1)))
        if say is not None:
            say(f"{run.log[-1]}")
        run.begin_stage()
        if state is not None:
            run.write()
    if state is not None:
        state.unlink(missing_ok=True)
    return model.eval(), run.log


class Run:
    """A training in progress."""

    def __init__(
        self, recipe: LatentRecipe, model: LatentDecoder, generator: torch.Generator, place: Path | None
    ) -> None:
        self.recipe, self.model, self.generator, self.place = recipe, model, generator, place
        self.log: list[Stage] = []
        self.begin_stage()

    def begin_stage(self) -> None:
        """A fresh optimiser, as Coconut resets it."""
        self.iteration, self.seconds = 0, 0.0
        self.losses: list[float] = []
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), lr=self.recipe.rate, weight_decay=0.01, betas=(0.9, 0.95), fused=True
        )

    def recent(self) -> float:
        part = self.losses[-CHECK_EVERY:]
        return sum(part) / max(1, len(part))

    def step(self, i: int, steps: int) -> None:
        recipe = self.recipe
        for group in self.optimiser.param_groups:
            group["lr"] = recipe.rate * min(1.0, (i + 1) / WARM_UP)
        words = recipe.task.draw(recipe.batch, self.generator, held_out=False)
        loss = self.loss(recipe.task.lay(words), steps)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise ValueError(
                f"rate: the loss is no longer finite at iteration {i}; expected less than {recipe.rate:g}."
            )
        self.losses = [*self.losses[-CHECK_EVERY:], value]
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimiser.step()
        self.iteration = i + 1

    def loss(self, laid: Laid, steps: int) -> Tensor:
        recipe, model = self.recipe, self.model
        if recipe.method == "codi":
            return distilled_loss(model, laid, recipe)
        slots = 0 if recipe.method == "none" else steps * recipe.task.slots
        dropped = slot_drops(len(laid), steps, recipe, self.generator) if recipe.drop and slots else None
        hidden, latents, cache = think(model, laid.prompt, slots, dropped)
        tokens, asked = after_thinking(laid, steps)
        states = hidden
        if tokens.shape[1] > 1:
            more, _ = model.read(model.embed(tokens[:, :-1]), cache)
            states = torch.cat([hidden, more], dim=1)
        loss = functional.cross_entropy(model.unembed(states[:, asked]).flatten(0, 1), tokens[:, asked].flatten())
        if recipe.method == "supervised" and latents:
            named = model.unembed(torch.stack(latents, dim=1))
            targets = laid.steps[:, :steps].repeat_interleave(recipe.task.slots, dim=1)
            loss = loss + functional.cross_entropy(named.flatten(0, 1), targets.flatten())
        return loss

    def described(self) -> dict[str, Any]:
        return asdict(self.recipe)

    def read(self) -> None:
        """Take up a run where it was left.

        Raises:
            ValueError: the state of another run.
        """
        if self.place is None or not self.place.exists():
            return
        held = torch.load(self.place, weights_only=True)
        if held["run"] != self.described():
            raise ValueError(f"state: {self.place.name} belongs to another run; expected that of this one.")
        self.model.load_state_dict(held["model"])
        self.log = [Stage(**entry) for entry in held["log"]]
        self.begin_stage()
        if held["iteration"]:
            self.optimiser.load_state_dict(held["optimiser"])
        self.generator.set_state(held["generator"])
        self.iteration, self.losses, self.seconds = held["iteration"], held["losses"], held["seconds"]

    def write(self) -> None:
        assert self.place is not None
        draft = self.place.with_suffix(f".{os.getpid()}.part")
        torch.save(
            {
                "run": self.described(), "model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(),
                "generator": self.generator.get_state(), "log": [asdict(entry) for entry in self.log],
                "iteration": self.iteration, "losses": self.losses, "seconds": self.seconds,
            },
            draft,
        )  # fmt: skip
        draft.replace(self.place)


def think(
    model: LatentDecoder, prompt: Tensor, slots: int, dropped: Tensor | None = None
) -> tuple[Tensor, list[Tensor], Any]:
    """State (n, 1, d) at the last position, the latents fed, each (n, d), and the cache, after a prompt and slots."""
    hidden, cache = model.read(model.embed(prompt))
    hidden = hidden[:, -1:]
    latents: list[Tensor] = []
    for t in range(slots):
        h = model.latent_map(hidden)
        latents.append(h[:, 0])
        if dropped is not None:
            h = h.masked_fill(dropped[:, t, None, None], 0.0)
        hidden, cache = model.read(h, cache)
    return hidden, latents, cache


def after_thinking(laid: Laid, steps: int) -> tuple[Tensor, Tensor]:
    """Tokens after the latents (remaining steps, given tail, answer), and which of them are asked for."""
    tokens = torch.cat([laid.steps[:, steps:], laid.tail, laid.answer[:, None]], dim=1)
    asked = torch.ones(tokens.shape[1], dtype=torch.bool)
    remaining = laid.steps.shape[1] - steps
    asked[remaining : remaining + laid.tail.shape[1]] = False
    return tokens, asked


def slot_drops(count: int, steps: int, recipe: LatentRecipe, generator: torch.Generator) -> Tensor:
    """(n, T) True where a slot is zeroed: at most one of the slots of a step."""
    slots = recipe.task.slots
    which = torch.randint(slots, (count, steps), generator=generator)
    drop = torch.rand((count, steps), generator=generator) < recipe.drop
    chosen = functional.one_hot(which, slots).bool() & drop[..., None]
    return chosen.flatten(1)


def distilled_loss(model: LatentDecoder, laid: Laid, recipe: LatentRecipe) -> Tensor:
    """CODI: answers of student and teacher, the teacher's steps, and the distance of their states before the answer.

    Smooth L1 of the student's states to the teacher's, each block's over the deviation of the teacher's (eq. 2).
    """
    end = torch.full((len(laid), 1), model.mark)
    tokens = torch.cat([laid.prompt, laid.steps, end], dim=1)
    teacher: list[Tensor] = []
    states, _ = model.read(model.embed(tokens), layers=teacher)
    first = laid.prompt.shape[1] - 1
    targets = torch.cat([laid.steps, laid.answer[:, None]], dim=1)
    predicting = torch.cat([states[:, first : first + laid.steps.shape[1]], states[:, -1:]], dim=1)
    loss = functional.cross_entropy(model.unembed(predicting).flatten(0, 1), targets.flatten())
    _, _, cache = think(model, laid.prompt, recipe.task.latents)
    student: list[Tensor] = []
    hidden, _ = model.read(model.embed(end), cache, layers=student)
    loss = loss + functional.cross_entropy(model.unembed(hidden[:, -1]), laid.answer)
    apart = [
        functional.smooth_l1_loss(mine[:, -1], its[:, -1].detach()) / its[:, -1].detach().std()
        for mine, its in zip(student, teacher, strict=True)
    ]
    return loss + recipe.factor * torch.stack(apart).mean()


@torch.no_grad()
def held_out_accuracy(model: LatentDecoder, recipe: LatentRecipe, laid: Laid, steps: int) -> float:
    """Share of right answers when remaining steps are written by the model itself, greedily."""
    slots = 0 if recipe.method == "none" else steps * recipe.task.slots
    hidden, _, cache = think(model, laid.prompt, slots)
    if recipe.method == "codi":
        hidden, cache = model.read(model.embed(torch.full((len(laid), 1), model.mark)), cache)
    for _ in range(laid.steps.shape[1] - steps):
        hidden, cache = model.read(model.embed(model.unembed(hidden).argmax(dim=-1)), cache)
    if laid.tail.shape[1]:
        hidden, cache = model.read(model.embed(laid.tail), cache)
    return float((model.unembed(hidden[:, -1]).argmax(dim=-1) == laid.answer).double().mean())
