"""Byte-pair encoding, trained here on text that is at hand.

Source: Sennrich, Haddow & Birch (2016), algorithm 1, over the bytes of words (Radford et al. 2019, section 2.2). A word
is a run of letters, of up to three digits, or of signs, with the space before it; other white space stands alone.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["BytePairs"]

Progress = Callable[[Iterable[Any]], Iterable[Any]]
Pair = tuple[int, int]

WORD = re.compile(r" ?[A-Za-z]+| ?[0-9]{1,3}| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s")
BYTES = 256
END = BYTES  # stands between documents


class BytePairs:
    """A vocabulary: 256 bytes, the end of a document, and one token a merge.

    Attributes:
        merges: (M, 2) the two tokens that token 257 + i joins, in the order in which they were found.
        tokens: V, the size of the vocabulary.
    """

    def __init__(self, merges: ArrayLike) -> None:
        """Take merges as they were kept.

        Raises:
            ValueError: not (M, 2) whole numbers, or a merge of tokens that come later.
        """
        given = np.asarray(merges)
        if given.size == 0:
            given = np.zeros((0, 2), dtype=np.int64)
        if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
            raise ValueError(f"merges: got {given.dtype} of shape {given.shape}; expected whole numbers, (M, 2).")
        self.merges: NDArray[np.int64] = given.astype(np.int64)
        limits = END + 1 + np.arange(len(given))
        if ((self.merges < 0) | (self.merges >= limits[:, None]) | (self.merges == END)).any():
            raise ValueError(
                "merges: a token is joined before it exists; expected merges in the order they were found."
            )
        self.tokens = END + 1 + len(given)
        self.ranks: dict[Pair, int] = {(int(a), int(b)): i for i, (a, b) in enumerate(self.merges)}
        self.words: dict[str, tuple[int, ...]] = {}
        self.spelt: list[bytes] = [bytes([i]) for i in range(BYTES)] + [b""]
        for a, b in self.merges:
            self.spelt.append(self.spelt[a] + self.spelt[b])

    @classmethod
    def trained(cls, documents: Iterable[str], tokens: int, *, progress: Progress | None = None) -> BytePairs:
        """Merge the most frequent pair of neighbours within words until there are so many tokens.

        Of pairs that are as frequent, the one of the smaller tokens is taken, so that the same text gives the same
        vocabulary.

        Args:
            documents: texts.
            tokens: V, at least 257.
            progress: wraps the merges; raising in it stops the work.

        Raises:
            ValueError: too few tokens wanted, or too little text for so many.
        """
        if isinstance(tokens, bool) or int(tokens) != tokens or tokens < END + 1:
            raise ValueError(f"tokens: got {tokens}; expected a whole number of at least {END + 1}.")
        counts = Counter(word for text in documents for word in WORD.findall(text))
        words = [(list(word.encode()), count) for word, count in counts.items()]
        frequency: Counter[Pair] = Counter()
        places: defaultdict[Pair, set[int]] = defaultdict(set)
        for i, (word, count) in enumerate(words):
            for pair in pairwise(word):
                frequency[pair] += count
                places[pair].add(i)
        heap = [(-count, pair) for pair, count in frequency.items()]
        heapq.heapify(heap)
        merges: list[Pair] = []
        wanted: Iterable[int] = range(END + 1, tokens)
        for token in wanted if progress is None else progress(wanted):
            pair = most_frequent(heap, frequency)
            if pair is None:
                raise ValueError(f"tokens: the text has pairs for {token} tokens; expected more text, or fewer tokens.")
            merges.append(pair)
            changed: set[Pair] = set()
            for i in places.pop(pair):
                word, count = words[i]
                joined = merged(word, pair, token)
                for neighbours, sign in ((word, -count), (joined, count)):
                    for beside in pairwise(neighbours):
                        frequency[beside] += sign
                        changed.add(beside)
                        if sign > 0:
                            places[beside].add(i)
                words[i] = (joined, count)
            del frequency[pair]
            for beside in changed:
                if frequency.get(beside, 0) > 0:
                    heapq.heappush(heap, (-frequency[beside], beside))
        return cls(np.array(merges, dtype=np.int64).reshape(-1, 2))

    def encode(self, text: str) -> NDArray[np.int64]:
        """(T,) tokens of a text; `decode` gives it back."""
        found: list[int] = []
        for word in WORD.findall(text):
            found.extend(self.words.get(word) or self._word(word))
        return np.array(found, dtype=np.int64)

    def encode_documents(self, documents: Iterable[str]) -> NDArray[np.int64]:
        """(T,) tokens of documents, one after the other, each followed by the token that ends it."""
        parts = [np.append(self.encode(text), END) for text in documents]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def decode(self, tokens: Sequence[int] | NDArray[np.integer[Any]]) -> str:
        """The text of tokens; bytes that are no UTF-8 show as the replacement sign.

        Raises:
            ValueError: a token outside the vocabulary.
        """
        numbers = [int(token) for token in tokens]
        if numbers and not (min(numbers) >= 0 and max(numbers) < self.tokens):
            raise ValueError(f"tokens: got {min(numbers)} to {max(numbers)}; expected 0 to {self.tokens - 1}.")
        return b"".join(self.spelt[token] for token in numbers).decode(errors="replace")

    def _word(self, word: str) -> tuple[int, ...]:
        """Merge in the order in which merges were found; remembered."""
        parts = list(word.encode())
        while len(parts) > 1:
            ranked = [(self.ranks.get(pair, len(self.ranks)), pair) for pair in pairwise(parts)]
            rank, pair = min(ranked)
            if rank == len(self.ranks):
                break
            parts = merged(parts, pair, END + 1 + rank)
        return self.words.setdefault(word, tuple(parts))


def most_frequent(heap: list[tuple[int, Pair]], frequency: Counter[Pair]) -> Pair | None:
    """The pair of the largest count; entries that are no longer true are dropped. None where no pair is left."""
    while heap:
        count, pair = heapq.heappop(heap)
        if frequency.get(pair, 0) == -count:
            return pair
    return None


def merged(word: list[int], pair: Pair, token: int) -> list[int]:
    """The word with each pair of these neighbours as one token, from the left."""
    joined: list[int] = []
    i = 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            joined.append(token)
            i += 2
        else:
            joined.append(word[i])
            i += 1
    return joined
