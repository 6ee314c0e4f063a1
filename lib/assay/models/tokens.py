"""Text as the tokens of a checkpoint: byte-level BPE of GPT-2's kind, and BERT's word pieces.

Sources: Radford et al. (2019), section 2.2 (bytes as letters); Devlin et al. (2019), section 3 (word pieces).
Vocabulary and merges come from `tokenizer.json`, `vocab.txt` or the metadata of a GGUF file. A word is cut as GPT-2
cuts it, with digits one by one; where a vocabulary was made with another cut, some words get other tokens, and the same
text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from assay.checkpoints import Checkpoint
from assay.checkpoints.folder import json_object
from assay.checkpoints.gguf_file import GgufFile

__all__ = ["ByteLevel", "WordPieces", "read_tokens"]

WORD = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+|[0-9]| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+|.", re.DOTALL)
LONGEST_WORD = 100


def letters() -> dict[int, str]:
    """A printable letter for every byte, as GPT-2 has them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(others)}


class ByteLevel:
    """A vocabulary of byte strings with merges.

    Attributes:
        tokens: V.
    """

    def __init__(self, vocabulary: Sequence[str], merges: Sequence[tuple[str, str]]) -> None:
        """Take a vocabulary, in the order of its numbers, and merges, in the order in which they were found."""
        self.tokens = len(vocabulary)
        self.number = {token: i for i, token in enumerate(vocabulary)}
        self.rank = {pair: i for i, pair in enumerate(merges)}
        self.letter = letters()
        self.known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Numbers of the tokens of a text.

        Raises:
            ValueError: a byte that the vocabulary lacks.
        """
        found: list[int] = []
        for word in WORD.findall(text):
            own = self.known.get(word)
            if own is None:
                own = self.known[word] = self._word(word)
            found += own
        return found

    def _word(self, word: str) -> list[int]:
        parts = [self.letter[b] for b in word.encode()]
        while len(parts) > 1:
            ranks = [self.rank.get(pair, len(self.rank)) for pair in pairwise(parts)]
            best = min(ranks)
            if best == len(self.rank):
                break
            i = ranks.index(best)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        try:
            return [self.number[part] for part in parts]
        except KeyError as error:
            raise ValueError(f"tokenizer: lacks {error.args[0]!r}; expected a vocabulary with every byte.") from None


class WordPieces:
    """BERT's vocabulary: words in lower case without accents, cut in the longest pieces that are known."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Take a vocabulary in the order of its numbers.

        Raises:
            ValueError: it lacks [CLS], [SEP] or [UNK].
        """
        self.number = {token: i for i, token in enumerate(vocabulary)}
        self.tokens = len(vocabulary)
        lacks = [mark for mark in ("[CLS]", "[SEP]", "[UNK]") if mark not in self.number]
        if lacks:
            raise ValueError(f"vocabulary: lacks {lacks[0]}; expected BERT's marks.")

    def encode(self, text: str) -> list[int]:
        """[CLS], the pieces, [SEP]."""
        bare = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
        found = [self.number["[CLS]"]]
        for word in re.findall(r"\w+|[^\w\s]", bare):
            found += self._word(word)
        return [*found, self.number["[SEP]"]]

    def _word(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD:
            return [self.number["[UNK]"]]
        pieces, start = [], 0
        while start < len(word):
            end = len(word)
            while end > start and ("##" * (start > 0) + word[start:end]) not in self.number:
                end -= 1
            if end == start:
                return [self.number["[UNK]"]]
            pieces.append(self.number["##" * (start > 0) + word[start:end]])
            start = end
        return pieces


def read_tokens(opened: Checkpoint) -> ByteLevel | WordPieces:
    """The vocabulary that lies with a checkpoint.

    Raises:
        ValueError: none is there, or one of another kind.
    """
    if opened.kind == "GGUF":
        return from_gguf(Path(opened.deciding[0]))
    folder = opened.folder or opened.root.parent
    if (folder / "tokenizer.json").is_file():
        return from_json(folder / "tokenizer.json")
    if (folder / "vocab.txt").is_file():
        return WordPieces((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
    raise ValueError(f"{opened.name}: has no tokenizer.json beside it; expected one to read text with.")


def from_gguf(path: Path) -> ByteLevel:
    file = GgufFile(path)
    kind = str(file.metadata.get("tokenizer.ggml.model", "none"))
    if kind != "gpt2":
        raise ValueError(f"{path.name}: its tokenizer is {kind[:20]}; expected gpt2, byte-level BPE.")
    merges = [tuple(line.split(" ", 1)) for line in file.texts("tokenizer.ggml.merges")]
    return ByteLevel(file.texts("tokenizer.ggml.tokens"), [(a, b) for a, b in merges])


def from_json(path: Path) -> ByteLevel | WordPieces:
    held = json_object(path)
    model: dict[str, Any] = held.get("model") or {}
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, dict):
        raise ValueError(f"{path.name}: holds no vocabulary; expected BPE or WordPiece.")
    extra = {str(t["content"]): int(t["id"]) for t in held.get("added_tokens", ()) if "content" in t and "id" in t}
    numbered = sorted({**extra, **vocabulary}.items(), key=lambda item: item[1])
    ordered = [token for token, _ in numbered]
    if model.get("type") == "WordPiece":
        return WordPieces(ordered)
    merges = [tuple(m.split(" ", 1)) if isinstance(m, str) else tuple(m) for m in model.get("merges", ())]
    alphabet = letters()
    if model.get("type", "BPE") != "BPE" or not all(alphabet[b] in vocabulary for b in (33, 32, 255)):
        raise ValueError(f"{path.name}: is no byte-level BPE; expected that, or WordPiece.")
    return ByteLevel(ordered, [(a, b) for a, b in merges])
