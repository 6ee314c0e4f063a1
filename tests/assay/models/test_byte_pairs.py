"""Byte pairs: text comes back, merges are those of the plain algorithm, and a vocabulary can be kept."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models import BytePairs
from assay.models.byte_pairs import END, WORD

TEXT = ["low lower lowest newer newest wide wider widest", "the lowest of the newer ones, and 1024 wide\n\n  ones!"] * 3
PAIRS = BytePairs.trained(TEXT, 285)


def plain_merges(documents: list[str], count: int) -> list[tuple[int, int]]:
    """Count all pairs anew before every merge."""
    words = Counter(word for text in documents for word in WORD.findall(text))
    parts = {word: list(word.encode()) for word in words}
    merges = []
    for token in range(END + 1, END + 1 + count):
        pairs: Counter[tuple[int, int]] = Counter()
        for word, n in words.items():
            for pair in pairwise(parts[word]):
                pairs[pair] += n
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for word, old in parts.items():
            new, i = [], 0
            while i < len(old):
                if tuple(old[i : i + 2]) == best:
                    new.append(token)
                    i += 2
                else:
                    new.append(old[i])
                    i += 1
            parts[word] = new
    return merges


def test_merges_are_those_of_the_plain_algorithm():
    assert [tuple(pair) for pair in PAIRS.merges] == plain_merges(TEXT, len(PAIRS.merges))


@given(st.text(max_size=300))
def test_any_text_comes_back(text):
    assert PAIRS.decode(PAIRS.encode(text)) == text


@settings(max_examples=30)
@given(st.lists(st.text(alphabet="ab c", min_size=1, max_size=40), min_size=3, max_size=8), st.integers(258, 262))
def test_small_vocabularies_agree_too(documents, tokens):
    found = BytePairs.trained([*documents, "aabbccabcacb"], tokens)
    documents = [*documents, "aabbccabcacb"]
    assert [tuple(pair) for pair in found.merges] == plain_merges(documents, tokens - END - 1)
    assert all(found.decode(found.encode(text)) == text for text in documents)


def test_frequent_words_become_one_token_and_documents_end():
    assert len(PAIRS.encode(" lowest")) == 1
    tokens = PAIRS.encode_documents(["low", "wide"])
    assert (tokens == END).sum() == 2 and tokens[-1] == END
    assert PAIRS.decode(tokens) == "lowwide"


def test_a_kept_vocabulary_encodes_the_same():
    again = BytePairs(PAIRS.merges.astype(np.int16))
    assert again.tokens == PAIRS.tokens == 285
    np.testing.assert_array_equal(again.encode(TEXT[1]), PAIRS.encode(TEXT[1]))
    assert BytePairs([]).tokens == 257 and BytePairs([]).decode(BytePairs([]).encode("é")) == "é"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: BytePairs.trained(TEXT, 256), "tokens: got 256"),
        (lambda: BytePairs.trained(["ab"], 300), "expected more text"),
        (lambda: BytePairs([[1.5, 2.0]]), "merges: got float64"),
        (lambda: BytePairs([[1, 257]]), "joined before it exists"),
        (lambda: BytePairs([[256, 1]]), "joined before it exists"),
        (lambda: PAIRS.decode([285]), "tokens: got 285"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
