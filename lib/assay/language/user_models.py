"""Latent models of the user's own: checkpoints of the public code, recorded trajectories, any Python object."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from assay.checkpoints import Checkpoint
from assay.checkpoints import open as open_checkpoint
from assay.language.latent_gpt2 import Gpt2Latent, Questions, merged_lora, plain_names
from assay.models.tokens import ByteLevel, read_tokens

__all__ = [
    "Asked", "LanguageModel", "PlainModel", "Recorded", "open_language", "read_questions", "read_recorded",
]  # fmt: skip

LARGEST_FILE = 4 * 2**30  # bytes of a checkpoint that is read whole
LARGEST_TABLE = 2**30  # bytes of recorded trajectories, or of questions


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A checkpoint with its tokens.

    Attributes:
        name: of its folder. model: what runs it. tokens: its vocabulary; None where no tokenizer lies beside it.
        kind: `Coconut` or `CODI`. begin: token after which thinking begins. prefix: what an answer begins with.
    """

    name: str
    model: Gpt2Latent
    tokens: ByteLevel | None
    kind: str
    begin: int
    prefix: str

    @property
    def latents(self) -> int:
        return self.model.latents


@dataclass(frozen=True, eq=False)
class Asked:
    """Questions as a model takes them.

    Attributes:
        prompts: with the mark after which thinking begins. answers: (n, U) tokens, all of one length.
        texts: of answers. left_out: questions whose answer has another number of tokens.
    """

    prompts: Questions
    answers: Tensor
    texts: tuple[str, ...]
    left_out: int


@dataclass(frozen=True, eq=False)
class Recorded:
    """Trajectories that were recorded elsewhere.

    Attributes:
        latents_of: (n, T, d) h. log_p: (n, T, K) of K answers after each step. answer: (n,) the right one, 0 to K − 1.
        group: (n,) prompts that belong together.
    """

    latents_of: Tensor
    log_p: Tensor
    answer: Tensor
    group: np.ndarray

    @property
    def latents(self) -> int:
        return self.latents_of.shape[1]

    def __len__(self) -> int:
        return len(self.latents_of)


def read_recorded(path: Path) -> Recorded:
    """An .npz with h (n, T, d), logits_at (n, T, K) or logp (n, T, K), y (n,) and, where there is one, group (n,).

    Raises:
        ValueError: not such a file: what came, and what was expected.
    """
    if path.stat().st_size > LARGEST_TABLE:
        raise ValueError(f"model: {path.name} has {path.stat().st_size:,} bytes; expected at most {LARGEST_TABLE:,}.")
    try:
        with np.load(path, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
    except (OSError, ValueError, EOFError):
        raise ValueError(f"model: {path.name} cannot be read; expected an .npz of recorded trajectories.") from None
    h = arrays.get("h")
    if h is None or h.ndim != 3 or h.dtype.kind != "f" or not h.size:
        came = "none" if h is None else list(h.shape)
        raise ValueError(f"h: expected [n,T,d], got {came}.")
    n, total, _ = h.shape
    scores = arrays.get("logits_at", arrays.get("logp"))
    if scores is None or scores.ndim != 3 or scores.shape[:2] != (n, total) or scores.shape[2] < 2:
        came = "none" if scores is None else list(scores.shape)
        raise ValueError(f"logits_at: expected [{n},{total},K] with K of at least 2, got {came}.")
    y = arrays.get("y")
    if y is None or y.shape != (n,) or y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= scores.shape[2]:
        came = "none" if y is None else f"{list(y.shape)} of {y.dtype}"
        raise ValueError(f"y: expected [{n}] whole numbers from 0 to {scores.shape[2] - 1}, got {came}.")
    if not np.isfinite(h).all() or not np.isfinite(scores).all():
        raise ValueError("h: expected finite numbers in h and logits_at; got some that are not.")
    group = arrays.get("group", np.arange(n))
    if group.shape != (n,):
        raise ValueError(f"group: expected [{n}], got {list(group.shape)}.")
    log_p = torch.from_numpy(scores.astype(np.float32)).log_softmax(dim=-1)
    return Recorded(torch.from_numpy(h.astype(np.float32)), log_p, torch.from_numpy(y.astype(np.int64)), group)


def open_language(folder: Path) -> LanguageModel:
    """A folder with GPT-2's `config.json`, tokenizer files, and weights of the public Coconut or CODI code.

    Coconut: a file `checkpoint_N` of `torch.save`, or safetensors; `c_thought` and `max_latent_stage` in config.json
    say how many slots there are (2 and 3 where they are not said). CODI: `model.safetensors` or `pytorch_model.bin`;
    `num_latent` (6), `lora_alpha` (32). Files are never unpickled.

    Raises:
        ValueError: what is missing or does not fit, by name.
    """
    try:
        config: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ValueError(f"model: {folder.name} has no config.json that can be read; expected that of GPT-2.") from None
    if not isinstance(config, dict) or not isinstance(config.get("n_head"), int):
        raise ValueError("config.json: has no n_head; expected the configuration of a GPT-2.")
    opened = weights_of(folder)
    size = sum(opened.stored(name).numel * 4 for name in opened.names())
    if size > LARGEST_FILE:
        raise ValueError(f"model: holds {size:,} bytes in float32; expected at most {LARGEST_FILE:,}.")
    raw = {name: opened.tensor(name, dtype=torch.float32) for name in opened.names()}
    codi = any(name.startswith("codi.") for name in raw)
    if not codi and not any(name.startswith("base_causallm.") for name in raw):
        raise ValueError(
            f"model: {folder.name} has neither base_causallm.* (Coconut) nor codi.* (CODI); expected one of them."
        )
    plain = plain_names(merged_lora(raw, float(config.get("lora_alpha", 32))))
    if "wte.weight" not in plain:
        raise ValueError("wte.weight: is missing; expected the embedding of a GPT-2.")
    vocabulary, base = len(plain["wte.weight"]), int(config.get("base_vocab_size", 50257))
    if vocabulary != base + 3:
        raise ValueError(f"checkpoint vocab {vocabulary}, expected base+3 = {base + 3}: latent tokens missing.")
    projection = {n.removeprefix("prj."): v for n, v in raw.items() if n.startswith("prj.")} if codi else None
    if projection is not None:
        check_projection(projection, plain["wte.weight"].shape[1], config.get("prj_dim"))
    slots = (
        int(config.get("num_latent", 6)) if codi
        else int(config.get("c_thought", 2)) * int(config.get("max_latent_stage", 3))
    )  # fmt: skip
    model = Gpt2Latent(
        plain, heads=int(config["n_head"]), latents=slots, end=base + 2 if codi else base + 1, projection=projection
    )
    return LanguageModel(
        folder.name, model, tokens_of(folder), "CODI" if codi else "Coconut", base + 1 if codi else base,
        "The answer is: " if codi else "### ",
    )  # fmt: skip


def weights_of(folder: Path) -> Checkpoint:
    """The file of weights in a folder."""
    found = sorted(folder.glob("checkpoint_*"), key=lambda p: int(re.sub(r"\D", "", p.name) or 0))
    for path in [*reversed(found), folder / "model.safetensors", folder / "pytorch_model.bin"]:
        if path.is_file():
            return open_checkpoint(path)
    raise ValueError(
        f"model: {folder.name} has no weights; expected checkpoint_N, model.safetensors or pytorch_model.bin."
    )


def check_projection(projection: dict[str, Tensor], width: int, inner: int | None) -> None:
    for name in ("1.weight", "1.bias", "3.weight", "3.bias"):
        if name not in projection:
            raise ValueError(f"prj.{name}: is missing; expected CODI's projection.")
    wide = inner or width
    if projection["1.weight"].shape != (wide, width):
        came = list(projection["1.weight"].shape)
        raise ValueError(f"prj.1.weight: expected [{wide},{width}], got {came}: set prj_dim.")


def tokens_of(folder: Path) -> ByteLevel | None:
    """GPT-2's tokens, from tokenizer.json, or from vocab.json and merges.txt."""
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        lines = (folder / "merges.txt").read_text(encoding="utf-8").splitlines()
        pairs = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
        ordered = sorted(vocabulary, key=vocabulary.__getitem__)
        return ByteLevel(ordered, [(a, b) for a, b in pairs])
    if (folder / "tokenizer.json").is_file():
        found = read_tokens(open_checkpoint(folder))
        return found if isinstance(found, ByteLevel) else None
    return None


def read_questions(language: LanguageModel, path: Path, count: int) -> Asked:
    """So many questions of a .jsonl with question and answer, as tokens; answers of the commonest length alone.

    Raises:
        ValueError: no tokenizer, a line that is no question, or fewer than two that can be used.
    """
    if language.tokens is None:
        raise ValueError(
            f"model: {language.name} has no tokenizer; expected vocab.json and merges.txt beside the weights."
        )
    if path.stat().st_size > LARGEST_TABLE:
        raise ValueError(f"questions: {path.name} is too large; expected at most {LARGEST_TABLE:,} bytes.")
    prompts, answers, texts = [], [], []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                question, answer = str(row["question"]), str(row["answer"]).rpartition("####")[2].strip()
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"questions: line {number} has no question and answer; expected JSON with both."
                ) from None
            mark = "\n" if language.kind == "Coconut" else ""
            prompts.append((*language.tokens.encode(question.strip() + mark), language.begin))
            answers.append(tuple(language.tokens.encode(language.prefix + answer.replace(",", ""))))
            texts.append(answer)
            if len(prompts) >= count:
                break
    lengths = [len(a) for a in answers]
    common = max(set(lengths), key=lengths.count) if lengths else 0
    kept = [i for i, length in enumerate(lengths) if length == common]
    if len(kept) < 2:
        raise ValueError(f"questions: got {len(kept)} that can be used; expected at least 2.")
    return Asked(
        Questions(tuple(prompts[i] for i in kept)), torch.tensor([answers[i] for i in kept]),
        tuple(texts[i] for i in kept), len(lengths) - len(kept),
    )  # fmt: skip


class PlainObject(Protocol):
    """A model of the user's in Python."""

    def embed(self, ids: Tensor) -> Tensor:
        """(B, n, d) inputs of (B, n) tokens."""
        ...

    def step(self, inputs_embeds: Tensor, cache: Any) -> tuple[Tensor, Tensor, Any]:
        """States (B, n, d), logits (B, n, V) and the cache after (B, n, d) inputs; the first cache is None."""
        ...

    def latent_map(self, hidden: Tensor) -> Tensor:
        """(B, d) the next slot's input from the last state."""
        ...


@dataclass(frozen=True)
class PlainState:
    """One cache a fork, and last states (B, F, d) and logits (B, F, V)."""

    caches: tuple[Any, ...]
    hidden: Tensor
    logits: Tensor


@dataclass(frozen=True, eq=False)
class PlainModel:
    """Any object with `embed`, `step` and `latent_map` under the protocol of interventions; prompts are (n, P) tokens.

    Caches are opaque, so forks are copies and run one after the other.

    Attributes:
        source: the object. latents: T. end: tokens that end thinking.
    """

    source: PlainObject
    latents: int
    end: tuple[int, ...] = ()

    def encode(self, prompts: Tensor) -> PlainState:
        hidden, logits, cache = self.source.step(self.source.embed(prompts), None)
        return PlainState((cache,), hidden[:, -1:], logits[:, -1:])

    def latent(self, state: PlainState) -> Tensor:
        return torch.stack([self.source.latent_map(h) for h in state.hidden.unbind(dim=1)], dim=1)

    def advance(self, state: PlainState, h: Tensor) -> PlainState:
        return self._each(state, [h[:, f, None] for f in range(h.shape[1])])[0]

    def fork(self, state: PlainState, parents: Tensor) -> PlainState:
        caches = tuple(copy.deepcopy(state.caches[int(p)]) for p in parents)
        return PlainState(caches, state.hidden[:, parents], state.logits[:, parents])

    def readout(self, state: PlainState, targets: Tensor, *, end: bool) -> Tensor:
        marks = torch.tensor(self.end if end else (), dtype=torch.long).expand(len(targets), -1)
        given = torch.cat([marks, targets[:, :-1]], dim=1)
        if not given.shape[1]:
            return state.logits[:, :, None]
        forks = state.hidden.shape[1]
        _, logits = self._each(self.fork(state, torch.arange(forks)), [self.source.embed(given)] * forks)
        said = torch.cat([state.logits[:, :, None], logits], dim=2)
        return said[:, :, marks.shape[1] :]

    def _each(self, state: PlainState, inputs: list[Tensor]) -> tuple[PlainState, Tensor]:
        found = [
            self.source.step(x, copy.deepcopy(cache)) for x, cache in zip(inputs, state.caches, strict=True)
        ]  # fmt: skip
        logits = torch.stack([logits for _, logits, _ in found], dim=1)
        hidden = torch.stack([states[:, -1] for states, _, _ in found], dim=1)
        return PlainState(tuple(cache for _, _, cache in found), hidden, logits[:, :, -1]), logits
