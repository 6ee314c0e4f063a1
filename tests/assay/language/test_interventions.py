"""Interventions: nothing where nothing is done, strict causality, caches as full passes, planted graphs recovered."""

import functools

import numpy as np
import pytest
import torch

from assay.language import (
    Plan,
    WordTask,
    class_directions,
    class_means,
    constant,
    early_stop,
    edges_of,
    gaussian,
    given,
    graph_f1,
    influence,
    interchange_answers,
    intervene,
    mahalanobis,
    mean_of_step,
    necessity,
    optimal_constants,
    patch,
    planted_edges,
    principal_graph,
    project_out,
    read_latent,
    rollout,
    same_class,
    structure,
    swap,
    uniform_structure,
    zero,
)
from assay.language.latent_decoder import LatentDecoder
from assay.language.word_model import WordModel
from assay.models.decoder import DecoderShape

COUNT = 60
TASK = WordTask("chain", 6)


@functools.cache
def thought(name, count=COUNT):
    kept = read_latent(name)
    words = kept.task.draw(count, torch.Generator().manual_seed(3), held_out=True)
    laid = kept.task.lay(words)
    return kept, words, laid, rollout(kept.model, laid, laid.answer[:, None], at_a_time=25)


@functools.cache
def untrained(mode="coconut", latents=5):
    task = WordTask("late", 4)
    shape = DecoderShape(task.tokens, 32, 2, context=32, tied=True, spread=0.2)
    model = LatentDecoder(shape, mode, task.end, torch.Generator().manual_seed(1)).eval()
    words = task.draw(30, torch.Generator().manual_seed(2), held_out=False)
    laid = task.lay(words)
    return WordModel(model, latents), laid, rollout(WordModel(model, latents), laid, laid.answer[:, None], at_a_time=11)


def uncached(model, prompt, tail, latents, change):
    """Logits at the answer, by full passes without a cache; `change` maps slots to inputs."""
    decoder = model.decoder
    x = decoder.embed(prompt)
    for t in range(1, latents + 1):
        h = decoder.latent_map(decoder.read(x)[0][:, -1:])
        h = change.get(t, h[:, 0])[:, None]
        if decoder.mode == "pause":
            h = decoder.latent_map(h)
        x = torch.cat([x, h], dim=1)
    if tail.shape[1]:
        x = torch.cat([x, decoder.embed(tail)], dim=1)
    return decoder.unembed(decoder.read(x)[0][:, -1])


def test_the_decoder_over_a_cache_is_the_plain_decoder():
    """Against `Decoder`, which knows no cache: all at once, one by one, and forked."""
    model, laid, _ = untrained()
    decoder = model.decoder
    tokens = laid.prompt
    whole = decoder.decoder.states(tokens)
    at_once, _ = decoder.read(decoder.embed(tokens))
    assert torch.allclose(at_once, whole, atol=1e-5)
    cache, parts = None, []
    for i in range(tokens.shape[1]):
        state, cache = decoder.read(decoder.embed(tokens[:, i : i + 1]), cache)
        parts.append(state)
    assert torch.allclose(torch.cat(parts, dim=1), whole, atol=1e-5)
    _, cache = decoder.read(decoder.embed(tokens[:, :4]))
    forked = cache.forked(torch.tensor([0, 0, 0]))
    rest = decoder.embed(tokens[:, 4:])[:, None].expand(-1, 3, -1, -1)
    state, after = decoder.read(rest[:, :, :2], forked)
    again, _ = decoder.read(rest[:, :2, 2:], after.forked(torch.tensor([2, 1])))
    assert torch.allclose(state, whole[:, None, 4:6].expand(-1, 3, -1, -1), atol=1e-5)
    assert torch.allclose(again, whole[:, None, 6:].expand(-1, 2, -1, -1), atol=1e-5)


@pytest.mark.parametrize("mode", ["coconut", "codi", "explicit", "pause"])
def test_forks_equal_full_passes(mode):
    model, laid, base = untrained(mode)
    gen = torch.Generator().manual_seed(5)
    new = torch.randn(base.latents.shape, generator=gen)
    op = given(new)
    T = model.latents
    tail = laid.tail
    if mode == "codi":
        tail = torch.cat([torch.full((len(laid), 1), model.decoder.mark), tail], dim=1)
    plans = [Plan({1: op}, T), Plan({3: op}, T), Plan({2: op, 4: op}, T, hold=frozenset({3})), Plan({T: op}, T)]
    out = intervene(base, plans, keep_logits=True)
    changes = [{1: new[:, 0]}, {3: new[:, 2]}, {2: new[:, 1], 3: base.latents[:, 2], 4: new[:, 3]}, {T: new[:, T - 1]}]
    for logits, change in zip(out.logits, changes, strict=True):
        assert torch.allclose(logits[:, 0], uncached(model, laid.prompt, tail, T, change), atol=1e-4)
    assert torch.allclose(base.answer_logits[:, 0], uncached(model, laid.prompt, tail, T, {}), atol=1e-4)
    if mode == "pause":
        assert not out.flipped.any() and out.kl.abs().max() < 1e-6


def test_nothing_done_changes_nothing():
    _, _, base = untrained()
    T = base.latents.shape[1]
    same = given(base.latents)
    plans = [Plan({t: same}, s, end=e) for t in range(1, T + 1) for s in range(t, T + 1) for e in (True, False)]
    out = intervene(base, plans)
    assert out.kl.abs().max() < 1e-5 and not out.flipped.any()
    assert torch.allclose(out.log_p, out.base_log_p, atol=1e-5)
    assert torch.allclose(out.base_log_p[0], out.base_log_p[0])


def test_one_by_one_is_as_in_a_batch():
    model, laid, base = untrained()
    for i in (0, 12, 29):
        alone = rollout(model, laid[slice(i, i + 1)], base.targets[i : i + 1])
        assert torch.allclose(alone.latents[0], base.latents[i], atol=1e-5)
        assert torch.allclose(alone.answer_logits[0], base.answer_logits[i], atol=1e-4)


def test_an_intervention_never_changes_what_was_read_before():
    """h_t is read at slot t, not earlier: acting on it leaves the reading after slot t − 1 as it was."""
    _, _, base = untrained()
    T = base.latents.shape[1]
    with pytest.raises(ValueError, match=r"^read: got 2; expected step 3 or later"):
        intervene(base, [Plan({3: zero()}, 2)])
    # Two plans that differ only later read the same.
    out = intervene(base, [Plan({2: zero()}, 3), Plan({2: zero(), 4: zero()}, 3), Plan({2: zero()}, T)])
    assert torch.allclose(out.kl[0], out.kl[1], atol=1e-5) and not torch.allclose(out.kl[0], out.kl[2], atol=1e-3)


def test_kl_by_hand():
    """p = (½, ½), q = (0.9, 0.1): 0.5108 nats, base first; the other way round it is 0.3681."""
    from assay.language.interventions import Readings

    readings = Readings(1, torch.zeros(1, 1, dtype=torch.long), False)
    readings.take([0], torch.tensor([[[[0.5, 0.5]], [[0.9, 0.1]]]]).log())
    assert float(readings.kl) == pytest.approx(0.5108, abs=1e-4)
    readings.take([0], torch.tensor([[[[0.9, 0.1]], [[0.5, 0.5]]]]).log())
    assert float(readings.kl) == pytest.approx(0.3681, abs=1e-4)


def test_the_chain_is_a_chain():
    """Zeroing flips 23/24, swaps give the exact counterfactual, direct effects are one line; total ones a triangle."""
    kept, words, laid, base = thought("chain", 400)
    T = kept.task.latents
    assert base.correct.double().mean() >= 0.99
    donors = torch.roll(torch.arange(400), 1)
    out = necessity(base, {"zero": zero(), "swap": swap(base, donors)})
    flips = out.flipped.double().mean(dim=1).view(2, T)
    assert (flips[0] - 23 / 24).abs().max() < 4 * (23 / 24 / 24 / 400) ** 0.5
    for t in range(1, T + 1):
        exact = interchange_answers(kept.task, words, donors, t)
        assert (out.predicted[T + t - 1, :, 0] == exact).double().mean() >= 0.985
    assert (base.next_logits[:, :T].argmax(-1) == laid.steps).double().mean() >= 0.99
    for operation in (zero(), swap(base, donors)):
        direct, total = (influence(base, operation, effect=effect) for effect in ("direct", "total"))
        assert structure(direct.matrix).locality > 0.999
        assert graph_f1(principal_graph(direct.matrix).edges, planted_edges(kept.task)) == 1.0
        assert structure(total.matrix).locality < 0.6
        assert graph_f1(principal_graph(total.matrix).edges, planted_edges(kept.task)) < 0.7
    stop = early_stop(base)
    assert (np.diff(stop.solved) >= 0).all() and stop.accuracy[:-1].max() < 0.15 and stop.accuracy[-1] >= 0.99


def test_a_pause_model_feels_nothing():
    _, _, _, base = thought("pause")
    out = necessity(base, {"zero": zero(), "swap": swap(base, torch.roll(torch.arange(COUNT), 1))})
    assert not out.flipped.any() and out.kl.abs().max() < 1e-6
    assert np.nan_to_num(influence(base, zero()).matrix).max() < 1e-6
    assert base.correct.double().mean() < 0.2


def test_operations_do_what_they_say():
    kept, words, laid, base = thought("chain")
    labels = laid.steps
    n, T, d = base.latents.shape
    h = base.latents[:, 1]
    every = slice(0, n)
    assert not zero()(h, 2, every).any()
    mean = mean_of_step(base)
    assert torch.allclose(constant(mean)(h, 2, every), h.mean(dim=0).expand(n, -1))
    noise = gaussian(base, 0.5, torch.Generator().manual_seed(0), None, add=True)
    typical = float(base.latents.norm(dim=-1).mean())
    assert float((noise(h, 2, every) - h).norm(dim=1).mean()) == pytest.approx(0.5 * typical, rel=0.05)
    assert torch.equal(noise(h, 2, every), noise(h, 2, every))
    v = torch.randn(T, d, generator=torch.Generator().manual_seed(1))
    assert (project_out(v, 1.0)(h, 2, every) @ v[1]).abs().max() < 1e-3
    assert torch.equal(project_out(v, 0.0)(h, 2, every), h)
    donors = torch.roll(torch.arange(n), 1)
    lent = base.latents[donors]
    assert torch.equal(swap(base, donors)(h, 2, every), lent[:, 1])
    whole = torch.eye(d).expand(T, d, d)
    assert torch.allclose(patch(lent, whole)(h, 2, every), lent[:, 1], atol=1e-4)
    means = class_means(base.latents, labels, 24)
    for c in labels[:, 0].unique():
        assert torch.allclose(means[0, c], base.latents[labels[:, 0] == c, 0].mean(dim=0), atol=1e-5)
    some = class_directions(means, 5)
    patched = patch(lent, some)(h, 2, every)
    assert torch.allclose((patched - lent[:, 1]) @ some[1].T, torch.zeros(n, 5), atol=1e-3)
    alike = same_class(base.latents, labels, base.latents, labels, torch.Generator().manual_seed(2))
    for t in range(T):
        found = (alike[:, t, None] == base.latents[None, :, t]).all(dim=2)
        assert found.any(dim=1).all() and (labels[found.double().argmax(dim=1), t] == labels[:, t]).all()
    away = mahalanobis(base, base.latents[:, 0], 1)
    assert 0.3 < float(away.mean()) < 1.5 < float(mahalanobis(base, 5 * base.latents[:, 0], 1).mean())
    del kept, words


def test_the_best_constant_hurts_least():
    _, _, _, base = thought("chain", 200)
    best = optimal_constants(base, steps=15)
    T = base.latents.shape[1]
    ops = {"zero": zero(), "mean": constant(mean_of_step(base)), "best": constant(best)}
    loss = -necessity(base, ops).log_p.double().mean(dim=1).view(3, T)
    assert (loss[2] <= loss[1] + 1e-6).all() and (loss[2] < loss[0]).all()
    assert (loss[2] > 2.5).all()  # ln 24 = 3.18: no constant gives the answer


def test_scores_of_known_matrices():
    for T in (2, 4, 6, 9):
        uniform = np.triu(np.ones((T, T)), 1)
        scores, null = structure(uniform), uniform_structure(T)
        for name in ("locality", "span", "early_out", "late_in"):
            assert getattr(scores, name) == pytest.approx(getattr(null, name))
        chain = structure(np.diag(np.ones(T - 1), 1))
        assert (chain.locality, chain.span) == (1, 1)
        assert chain.early_out == pytest.approx(1 / (T - 1)) and chain.late_in == pytest.approx(1 / (T - 1))
    assert np.isnan(structure(np.zeros((3, 3))).locality)
    assert len(edges_of(4)) == 10
    W = np.array([[np.nan, 1.0, 0.05, 0.2], [np.nan, np.nan, 0.5, 0.0], [np.nan, np.nan, np.nan, 0.4]])
    assert principal_graph(W, 0.1).edges == {(1, 2), (1, 4), (2, 3), (3, 4)}
    assert principal_graph(W, 0.1, top=1).edges == {(1, 2), (2, 3), (3, 4)}


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda b: intervene(b, []), "plans: got none"),
        (lambda b: intervene(b, [Plan({7: zero()}, 5)]), r"intervention step 7 out of 1\.\.5\."),
        (lambda b: intervene(b, [Plan({0: zero()}, 5)]), r"intervention step 0 out of 1\.\.5\."),
        (lambda b: intervene(b, [Plan({}, 5)]), "do: got no step"),
        (lambda b: intervene(b, [Plan({2: zero()}, 5, hold=frozenset({2}))]), "hold: step 2 is changed too"),
        (lambda b: swap(b, torch.arange(3)), "donors: got shape"),
        (lambda b: influence(b, zero(), effect="both"), "effect: got 'both'"),
        (lambda b: influence(b, zero(), read="mind"), "read: got 'mind'"),
        (lambda b: structure(np.zeros((1, 1))), "matrix: got shape"),
        (lambda b: project_out(torch.zeros(5, 32), 1.0), "directions: one has no length"),
        (lambda b: rollout(b.model, [], torch.zeros(0, 1)), "targets: got shape"),
    ],
)
def test_bad_input_gets_a_sentence(act, said):
    with pytest.raises(ValueError, match="^" + said):
        act(untrained()[2])
