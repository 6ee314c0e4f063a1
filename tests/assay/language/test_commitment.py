"""Two candidates: scores of known cases, probes against their nulls, and what the planted models hold."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.language import (
    WordTask,
    commitment_gap,
    cosine_scores,
    decision_time,
    fit_probe,
    letters_read,
    output_pairs,
    pair_probabilities,
    read_latent,
    rollout,
    running_pair,
    superposition,
    windowed,
)


@settings(max_examples=50, deadline=None)
@given(st.floats(0, 1), st.floats(0.01, 1))
def test_superposition_lies_between_decided_and_even(a, b):
    score = float(superposition(np.array([a, b])))
    assert 0 <= score <= 0.5 and score == pytest.approx(min(a, b) / (a + b))
    assert float(superposition(np.array([b, b]))) == 0.5
    assert score == float(superposition(np.array([b, a])))


def test_decision_times_and_gaps():
    pairs = np.array([[[0.5, 0.5], [0.6, 0.4], [0.9, 0.1]], [[0.5, 0.5]] * 3, [[0.05, 0.95]] * 3])
    assert decision_time(pairs, 0.5).tolist() == [3, 4, 1]
    assert decision_time(pairs, 0.1).tolist() == [2, 4, 1]
    assert commitment_gap(pairs, pairs, 0.5).tolist() == [0, 0, 0]
    early = np.tile([0.95, 0.05], (3, 3, 1))
    assert commitment_gap(early, pairs, 0.5).tolist() == [2, 3, 0]


def test_random_directions_look_undecided():
    """(1 + cos)/2 of random directions is 0.5 − O(1/√d): indecision by construction."""
    rng = torch.Generator().manual_seed(0)
    candidates = torch.randint(24, (500, 2), generator=rng)
    scores = {}
    for d in (16, 64, 1024):
        h = torch.randn(500, d, generator=rng)
        own = cosine_scores(h, torch.randn(24, d, generator=rng), candidates)
        scores[d] = 0.5 - float(superposition(own.double().numpy()).mean())
    assert 0 < scores[1024] < scores[64] < scores[16] < 0.1
    assert scores[64] / scores[1024] == pytest.approx(4, rel=0.4)


def test_a_probe_finds_what_is_there_and_nothing_where_nothing_is():
    g = torch.Generator().manual_seed(1)
    labels = torch.randint(6, (900,), generator=g)
    centres = 3 * torch.randn(6, 20, generator=g)
    h = centres[labels] + torch.randn(900, 20, generator=g)
    train = torch.arange(900) < 600
    assert fit_probe(h, labels, 6, train).accuracy > 0.97
    shuffled = labels[torch.randperm(900, generator=g)]
    assert abs(fit_probe(h, shuffled, 6, train).accuracy - 1 / 6) < 0.08
    probe = fit_probe(h, labels, 6, train)
    assert torch.allclose(probe.log_p(h).exp().sum(1), torch.ones(900), atol=1e-5)
    pairs = torch.stack([labels, (labels + 1) % 6], dim=1)
    assert pair_probabilities(probe.log_p(h), pairs)[:, 0].mean() > 0.97
    assert pair_probabilities(probe.log_p(h), pairs, 1e6).sub(0.5).abs().max() < 1e-3


def test_windows_put_latents_side_by_side():
    h = torch.arange(24.0).view(2, 4, 3)
    assert torch.equal(windowed(h, 3, 2), torch.cat([h[:, 1], h[:, 2]], dim=1))
    assert torch.equal(windowed(h, 1, 2), torch.cat([torch.zeros(2, 3), h[:, 0]], dim=1))


@pytest.mark.parametrize(("name", "both"), [("late", True), ("early", False)])
def test_both_products_are_held_only_where_both_are_needed(name, both):
    """Probed at the last step: a selector that is still to come keeps both products in the latents."""
    kept = read_latent(name)
    words = kept.task.draw(900, torch.Generator().manual_seed(5), held_out=True)
    laid = kept.task.lay(words)
    base = rollout(kept.model, laid, laid.answer[:, None])
    T = kept.task.latents
    pair = running_pair(kept.task, words, letters_read(kept.task, T))
    train = torch.arange(900) < 650
    features = windowed(base.latents, T, 2)
    right = [fit_probe(features, pair[:, lane], 24, train, decay=1e-2).accuracy for lane in (0, 1)]
    if both:
        assert min(right) > 0.9
        said = superposition(output_pairs(base, kept.task, words).double().numpy())
        assert said[(pair[:, 0] != pair[:, 1]).numpy(), -1].mean() > 0.4
    else:
        own = torch.stack([pair[:, 0], pair[:, 1]])[words.choice, torch.arange(900)]
        assert fit_probe(features, own, 24, train, decay=1e-2).accuracy > 0.9
        assert max(right) < 0.75  # each lane is there where it was selected, half of the time


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: superposition(np.array([-0.1, 1])), "pairs: expected two scores"),
        (lambda: superposition(np.array([0.0, 0])), "pairs: expected two scores"),
        (lambda: decision_time(np.ones((1, 2, 2)), 1.5), "delta: got 1.5"),
        (lambda: pair_probabilities(torch.zeros(1, 2), torch.zeros(1, 2, dtype=torch.long), 0), "temperature: got 0"),
        (lambda: running_pair(WordTask("chain", 6), None, (1, 1)), "task: chain has one word"),
        (lambda: fit_probe(torch.zeros(3, 2), torch.zeros(2), 2, torch.ones(3).bool()), "labels: got shape"),
        (lambda: fit_probe(torch.zeros(3, 2), torch.zeros(3).long(), 2, torch.ones(3).bool()), "train: one side"),
        (lambda: fit_probe(torch.zeros(3, 2), torch.full((3,), 5), 2, torch.ones(3).bool()), "labels: got values"),
    ],
)
def test_bad_input_gets_a_sentence(act, said):
    with pytest.raises(ValueError, match="^" + said):
        act()
